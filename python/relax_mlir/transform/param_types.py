# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of functions get other types."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from mlir import ir

from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from ..core.expr import Var
from ..core.functions import all_global_vars, referred
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from ..expr_functor import PyExprMutator
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import (
    body_of,
    call_type,
    callees_first,
    has_derived_result,
    name_of,
    param_names,
    set_signature,
    terminator_of,
)


@module_pass(opt_level=1)
class UpdateParamStructInfo:
    """Give parameters of functions other types.

    The types of what is computed of them, of results, and of calls in the module follow. TVM's
    newest versions call this pass `UpdateParamType`.

    Parameters
    ----------
    sinfo_func : callable
        It is called with each parameter of each Relax function, closures included, as a `Var` with
        its name and its type, and returns its new type, or None where it stays as it is.
    ty_func : callable, optional
        The same, under the name of TVM's newest versions.

    Raises
    ------
    TypeError
        If it returns something else.
    PassError
        If an operator does not take operands of the new types.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> from relax_mlir.transform import UpdateParamStructInfo
    >>> def halve(param):
    ...     return TensorStructInfo(param.struct_info.shape, "float16")
    >>> mod = UpdateParamStructInfo(halve)('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> print(mod["main"].ret_struct_info)
    !relax.tensor<[n], f16>
    """

    def __init__(
        self,
        sinfo_func: Callable[[Var], ir.Type | None] | None = None,
        *,
        ty_func: Callable[[Var], ir.Type | None] | None = None,
    ) -> None:
        given = sinfo_func if ty_func is None else ty_func
        if given is None or not callable(given):
            raise TypeError(f"expected a function of a parameter, but got {shown(given)}")
        self._sinfo_func = given

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions, callees before their callers."""
        changed: set[str] = set()
        for function in callees_first(mod.module):
            types = _new_types(function, self._sinfo_func)
            if not types and not any(var.name in changed for var in all_global_vars(function)):
                continue
            before = str(function.attributes["function_type"])
            is_derived = has_derived_result(function)
            _Updater(types, changed).visit_function_(function.opview)
            if is_derived:
                returned = terminator_of(body_of(function)).operands[0].type
                set_signature(function, param_names(function), returned)
            if str(function.attributes["function_type"]) != before:
                changed.add(name_of(function))
        return mod


def _new_types(
    function: ir.Operation, sinfo_func: Callable[[Var], ir.Type | None]
) -> dict[ir.Value, ir.Type]:
    """Return the parameters of a function, and of closures in it, that get other types."""
    found: dict[ir.Value, ir.Type] = {}
    for op in walk(function):
        if op.name not in ("relax.func", "relax.closure"):
            continue
        params = list(op.regions[0].blocks[0].arguments)[op.name == "relax.closure" :]
        names = param_names(op)
        for place, param in enumerate(params):
            name = names[place]
            new = sinfo_func(Var(name or f"arg{place}", param.type))
            if new is not None and _checked(new, name) != param.type:
                found[param] = new
    return found


class _Updater(PyExprMutator):
    """Changes the types of a function, in its place."""

    def __init__(self, types: Mapping[ir.Value, ir.Type], changed: set[str]) -> None:
        super().__init__()
        self._types = types
        self._changed = changed

    def visit_var_def_(self, var: ir.Value) -> ir.Value:
        if var in self._types:
            self.with_struct_info(var, self._types[var])
        return var

    def visit_call_(self, op: ir.OpView) -> Any:
        result = self.visit_expr_post_order(op)
        if isinstance(op, _ops.CallOp) and self._changed.intersection(referred(op.operation)):
            with contextlib.suppress(ValueError):  # the verifier says what does not fit
                self._set_type(op.operation.results[0], call_type(op.operation))
        return result


def _checked(type_: Any, name: str) -> ir.Type:
    if not isinstance(type_, ir.Type) or not _ext.is_struct_info(type_):
        raise TypeError(
            f"expected the StructInfo of parameter '{name}', or None, but got {shown(type_)}"
        )
    return type_


# The name of TVM's newest versions.
UpdateParamType = UpdateParamStructInfo
