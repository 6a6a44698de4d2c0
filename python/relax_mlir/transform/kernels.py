# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that passes add to a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .. import op
from ..builder.block_builder import BlockBuilder
from ..builder.function_bodies import Names
from ..builder.places import is_private, structure_of
from ..core.expr import GlobalVar, Var
from ..core.ir import Dim
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..te import call_kernel
from .registry import PASSES


class Kernels:
    """Adds kernels to a module, and calls them.

    Parameters
    ----------
    module : IRModule
    """

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._names = Names(module.functions)
        self._known: dict[str, str] = {}
        for name, function in module.functions.items():
            operation = function.operation
            if operation.name == "func.func" and is_private(operation):
                self._known.setdefault(structure_of(operation), name)

    def find(self, name: str) -> ir.Operation | None:
        """Return the kernel of a name; None where there is none."""
        found = self._module.functions.get(name)
        if found is None or found.operation.name != "func.func":
            return None
        operation: ir.Operation = found.operation
        return operation

    def add(
        self, kernel: ir.Operation, name: str, attributes: Mapping[str, ir.Attribute] | None = None
    ) -> str:
        """Add a copy of a kernel, private to the module, and return its name.

        Where there is an equal one already, the name is that of it.

        Parameters
        ----------
        kernel : mlir.ir.Operation
        name : str
            Where it is taken, a number is added.
        attributes : mapping of str to mlir.ir.Attribute, optional
            Attributes of the kernel, besides those that it has.
        """
        copy: ir.Operation = kernel.clone(ip=ir.InsertionPoint(self._module.body)).operation
        for key, value in (attributes or {}).items():
            copy.attributes[key] = value
        copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        structure = structure_of(copy)
        known = self._known.get(structure)
        if known is not None:
            copy.erase()
            return known
        unique: str = self._names.unique(name)
        copy.attributes["sym_name"] = ir.StringAttr.get(unique)
        self._known[structure] = unique
        return unique

    def call_te(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> ir.Value:
        """Call a function of tensor expressions as a kernel, as `BlockBuilder.call_te`."""
        made = call_kernel(function, args, kwargs)
        name = self.add(made.kernel.operation, made.name)
        return op.call_tir(GlobalVar(name), made.args, made.out_sinfo, made.tir_vars or None)


@dataclass
class Legalized:
    """The call of a kernel that computes an operation.

    Attributes
    ----------
    kernel : mlir.ir.Operation
        It may be changed.
    places : list of int
        Which of the distinct operands each argument is.
    ints : list of Dim or None
        The integers that are passed behind the arguments.
    module : IRModule
        The module of the kernel.
    """

    kernel: ir.Operation
    places: list[int]
    ints: list[Dim] | None
    module: IRModule

    @staticmethod
    def of(found: ir.Operation) -> Legalized | None:
        """Return the call of the kernel of an operation; None if it is not one of its operands."""
        module = PASSES["LegalizeOps"]()(_alone(found))
        main = module["main"].operation
        calls = [each for each in walk(main) if each.name == "relax.call_tir"]
        params = list(main.regions[0].blocks[0].arguments)
        if len(calls) != 1:
            return None
        call = calls[0].opview
        if any(arg not in params for arg in call.args):
            return None
        ints = call.packed_ints
        return Legalized(
            module[call.callee.value].operation,
            [params.index(arg) for arg in call.args],
            None if ints is None else list(ints.type.values),
            module,
        )


def distinct_operands(found: ir.Operation) -> list[ir.Value]:
    """Return the operands of an operation, each one once."""
    return list(dict.fromkeys(found.operands))


def signature_of(found: ir.Operation) -> str:
    """Return what is the same for operations that compute the same of their operands."""
    types = [str(value.type) for value in (*found.operands, *found.results)]
    distinct = distinct_operands(found)
    places = [distinct.index(value) for value in found.operands]
    all_named = (found.attributes[i] for i in range(len(found.attributes)))
    attributes = sorted(f"{each.name}={each.attr}" for each in all_named)
    return str([found.name, *types, places, *attributes])


def _alone(found: ir.Operation) -> IRModule:
    """Return a module whose function `main` computes an operation of its parameters."""
    builder = BlockBuilder(found.context)
    distinct = distinct_operands(found)
    params = [Var(f"x{place}", value.type) for place, value in enumerate(distinct)]
    with builder.function("main", params):
        copy = found.clone().operation
        for place, value in enumerate(found.operands):
            copy.operands[place] = params[distinct.index(value)].value
        builder.emit_func_output(copy.results[0])
    return builder.get()
