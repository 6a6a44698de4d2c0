# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that passes add to a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlir import ir

from .. import op
from ..builder.function_bodies import Names
from ..builder.places import is_private, structure_of
from ..core.expr import GlobalVar
from ..core.ir_module import IRModule
from ..te import call_kernel


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
