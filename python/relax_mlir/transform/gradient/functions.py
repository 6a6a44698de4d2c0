# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adjoints of functions: of the one that is differentiated, and of those that it calls.

The adjoint of a function that is called takes its arguments and the adjoint of its result, computes
it again, and returns the adjoints of the arguments. It is written once, so it may be recursive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir
from mlir.dialects import func as _func

from ... import op
from ..._mlir_libs import _relax_mlir as _ext
from ...builder.function_bodies import Names
from ...builder.places import structure_of
from ...core.expr import GlobalVar
from ...core.ir import TupleStructInfo
from ...core.ir_module import IRModule
from ...core.variables import defining_op, walk
from ...dialects import relax as _ops
from .registry import Adjoint
from .shapes import is_differentiable
from .structure import adjoint_type, as_adjoint, as_value
from .sweep import Kernels, Sweep, erase_unused, flatten


class Functions:
    """The functions of a module, to which adjoints are added.

    Parameters
    ----------
    module : IRModule
    """

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._adjoints: dict[str, str] = {}
        self._kernels: dict[str, str] = {}
        self.kernels = Kernels(self._add_kernel)

    # -- functions that are called ------------------------------------------------------------

    def call(self, operation: ir.Operation, adjoint: Adjoint, operands: list[Any]) -> list[Any]:
        """Write the adjoint of a call, and return that of each operand."""
        callee, first = _callee(operation), 0 if "callee" in operation.attributes else 1
        function = self.module.functions.get(callee)
        if not isinstance(function, _ops.FuncOp):
            raise ValueError(
                f"Gradient: expected calls of Relax functions, but got one of the kernel '{callee}'"
            )
        name = self._adjoint_of(callee, function)
        of_result = as_value(adjoint, operation.results[0])
        made = op.call(GlobalVar(name), *operands[first:], of_result)
        parts: list[Any] = [None] * first
        fields = iter(range(len(operands)))
        for operand in operands[first:]:
            if not is_differentiable(operand.type):
                parts.append(None)
                continue
            parts.append(as_adjoint(op.get_item(made, next(fields)), operand.type))
        return parts

    def _adjoint_of(self, callee: str, function: Any) -> str:
        known = self._adjoints.get(callee)
        if known is not None:
            return known
        if function.is_pure is not None and not function.is_pure.value:
            raise ValueError(f"Gradient: expected pure functions, but '{callee}' is impure")
        copy = self.copy(function, f"{callee}_adjoint")
        copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        name: str = copy.attributes["sym_name"].value
        self._adjoints[callee] = name
        block = copy.regions[0].blocks[0]
        flatten(block)
        *body, end = (each.operation for each in block.operations)
        wanted = [value for value in block.arguments if is_differentiable(value.type)]
        result_type = copy.attributes["function_type"].value.results[0]
        given = _add_argument(copy, f"{callee}_adjoint", adjoint_type(result_type))
        _set_result(copy, TupleStructInfo([adjoint_type(value.type) for value in wanted]))
        sweep = self.sweep(wanted)
        sweep.mark(body)
        with ir.InsertionPoint(end), copy.location:
            result = end.operands[0]
            sweep.add(result, as_adjoint(given, result.type))
            sweep.run(body)
            end.operands[0] = op.tuple(*(as_value(sweep.adjoint(each), each) for each in wanted))
        erase_unused(block, _ext.is_pure)
        return name

    def sweep(self, wanted: Sequence[Any]) -> Sweep:
        """Return a sweep for gradients of some values."""
        return Sweep(self.kernels, self.call, wanted)

    def copy(self, function: Any, name: str) -> ir.Operation:
        """Add a copy of a function under a name; where it is taken, a number is added."""
        names = Names(self.module.functions)
        copy: ir.Operation = function.operation.clone(ip=ir.InsertionPoint(self.module.body))
        copy = copy.operation
        unique = names.unique(name)
        copy.attributes["sym_name"] = ir.StringAttr.get(unique)
        for attribute in ("relax.captures", "global_symbol"):
            if attribute in copy.attributes:
                del copy.attributes[attribute]
        return copy

    # -- kernels ------------------------------------------------------------------------------

    def _add_kernel(self, kernel: Any, name: str) -> str:
        """Add a kernel to the module, unless there is an equal one, and return its name."""
        structure = structure_of(kernel.operation)
        known = self._kernels.get(structure)
        if known is not None:
            return known
        unique: str = Names(self.module.functions).unique(name)
        copy: Any = kernel.operation.clone(ip=ir.InsertionPoint(self.module.body))
        copy.operation.attributes["sym_name"] = ir.StringAttr.get(unique)
        copy.operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
        assert isinstance(copy.operation.opview, _func.FuncOp)
        self._kernels[structure] = unique
        return unique


def _callee(operation: ir.Operation) -> str:
    """Return the name of the function that is called."""
    if "callee" in operation.attributes:
        name: str = operation.attributes["callee"].value
        return name
    made = defining_op(operation.operands[0])
    if made is not None and made.name == "relax.global_var":
        known: str = made.attributes["name"].value
        return known
    raise ValueError(
        "Gradient: expected calls of functions that are known, but got one of a value of type "
        f"{operation.operands[0].type}; call a function of the module, or a closure where it is "
        "written"
    )


def _add_argument(function: ir.Operation, name: str, type_: ir.Type) -> Any:
    """Add an argument to a function, and return it."""
    block = function.regions[0].blocks[0]
    made = block.add_argument(type_, function.location)
    signature = function.attributes["function_type"].value
    inputs = [*signature.inputs, type_]
    _set_type(function, ir.FunctionType.get(inputs, list(signature.results)))
    attributes = function.attributes
    if "arg_names" in attributes:
        names = [*attributes["arg_names"], ir.StringAttr.get(name)]
        attributes["arg_names"] = ir.ArrayAttr.get(names)
    if "arg_dicts" in attributes:
        kept = [*attributes["arg_dicts"], ir.DictAttr.get({})]
        attributes["arg_dicts"] = ir.ArrayAttr.get(kept)
    return made


def _set_result(function: ir.Operation, type_: ir.Type) -> None:
    signature = function.attributes["function_type"].value
    _set_type(function, ir.FunctionType.get(list(signature.inputs), [type_]))
    if "derive_result" in function.attributes:
        del function.attributes["derive_result"]


def _set_type(function: ir.Operation, type_: ir.Type) -> None:
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def set_result(function: ir.Operation, type_: ir.Type) -> None:
    """Give a function another result type."""
    _set_result(function, type_)


def has_closures(function: ir.Operation) -> bool:
    """Say whether a function writes closures."""
    return any(each.name == "relax.closure" for each in walk(function))
