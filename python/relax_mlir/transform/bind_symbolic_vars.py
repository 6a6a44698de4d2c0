# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shape variables of functions get values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir

from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from ..core.ir import Dim, DimLike, ShapeExpr
from ..core.ir_module import IRModule
from ..core.struct_info import substitute
from ..core.variables import defined_symbolic_vars, definitions, walk
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import call_type, calls_of, derive_users, name_of, relax_functions

_BOUNDS = {"tir_var_lower_bound": "least", "tir_var_upper_bound": "most"}


@module_pass(opt_level=1)
class BindSymbolicVars:
    """Compile functions for known values of shape variables.

    Parameters
    ----------
    binding_map : mapping of str or Dim to int, str or Dim
        The values by variable: numbers, or expressions over other variables of the function.
        Variables of different functions that have one name are bound alike.
    func_name : str, optional
        The function to change, by default all of the module.

    Raises
    ------
    ValueError
        If there is no such function, if no function binds a variable, or if a value is below 0 or
        outside of the bounds that the function declares.

    Examples
    --------
    >>> from relax_mlir.transform import BindSymbolicVars
    >>> mod = BindSymbolicVars({"n": 4})('''
    ... relax.func @main(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[n * 2, m], f32> {
    ...   %0 = relax.concat %x, %x {axis = 0 : i64}
    ...     : (!relax.tensor<[n, m], f32>, !relax.tensor<[n, m], f32>) -> !relax.tensor<[n * 2, m], f32>
    ...   relax.return %0 : !relax.tensor<[n * 2, m], f32>
    ... }''')
    >>> print(mod["main"].struct_info)
    !relax.func<(!relax.tensor<[4, m], f32>) -> !relax.tensor<[8, m], f32>, pure>
    """  # noqa: E501 (the lines of MLIR)

    def __init__(
        self, binding_map: Mapping[str | Dim, DimLike], func_name: str | None = None
    ) -> None:
        if not isinstance(binding_map, Mapping):
            raise TypeError(f"expected values by variable, but got {shown(binding_map)}")
        self._values = {_variable(key): value for key, value in binding_map.items()}
        self._func_name = func_name
        for name, value in self._values.items():
            if isinstance(value, int) and value < 0:
                raise ValueError(f"expected {name} to be 0 or more, but got {value}")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Bind the variables."""
        functions = self._functions(mod)
        bound = {name_of(each): _defined(each) for each in functions}
        known = {name for names in bound.values() for name in names}
        for name in self._values:
            if name not in known:
                raise ValueError(
                    f"expected a shape variable that a function binds ({', '.join(sorted(known))}),"
                    f" but got '{name}'"
                )
        values = {name: Dim(value) for name, value in self._values.items()}
        for function in functions:
            mine = {name: values[name] for name in values if name in bound[name_of(function)]}
            if mine:
                bind_variables(function, mine)
                _update_calls(mod.module, function)
        return mod

    def _functions(self, mod: IRModule) -> list[ir.Operation]:
        functions = relax_functions(mod.module)
        if self._func_name is None:
            return functions
        found = [each for each in functions if name_of(each) == self._func_name]
        if not found:
            raise ValueError(f"expected the name of a Relax function, but got {self._func_name!r}")
        return found


def _variable(key: Any) -> str:
    name = key.name if isinstance(key, Dim) else key
    if not isinstance(name, str):
        raise TypeError(f"expected a shape variable, but got {shown(key)}")
    return name


def _defined(function: ir.Operation) -> set[str]:
    return {
        str(dim.name)
        for op in walk(function)
        if isinstance(op.opview, (_ops.FuncOp, _ops.ClosureOp, _ops.MatchCastOp))
        for dim in defined_symbolic_vars(op)
    }


def _update_calls(module: ir.Module, function: ir.Operation) -> None:
    """Give the calls of a function the types that they have now."""
    for call in calls_of(module, name_of(function)):
        type_ = call_type(call)
        if type_ == call.results[0].type:
            continue
        call.results[0].set_type(type_)
        caller = call
        while caller.name != "relax.func":
            caller = caller.parent.operation
        derive_users(caller, [call.results[0]])


# ---------------------------------------------------------------------------------------------
# One function
# ---------------------------------------------------------------------------------------------


def bind_variables(function: ir.Operation, values: Mapping[str, Dim]) -> None:
    """Put values in the place of shape variables of a function.

    Parameters
    ----------
    function : mlir.ir.Operation
    values : mapping of str to Dim
    """
    _bind_bounds(function, values)
    for op in walk(function):
        for value in (*definitions(op), *op.results):
            type_ = _in_type(value.type, values)
            if type_ != value.type:
                value.set_type(type_)
        for name in list(op.attributes):
            old = op.attributes[name]
            new = in_attribute(old, values)
            if new != old:
                op.attributes[name] = _as_number(new) if op.name == "relax.prim_value" else new


def _in_type(type_: ir.Type, values: Mapping[str, Dim]) -> ir.Type:
    if isinstance(type_, ir.FunctionType):
        types = [
            [_in_type(each, values) for each in part] for part in (type_.inputs, type_.results)
        ]
        return ir.FunctionType.get(*types, context=type_.context)
    return substitute(type_, values) if _ext.is_struct_info(type_) else type_


def in_attribute(attr: ir.Attribute, values: Mapping[str, Dim]) -> ir.Attribute:
    """Return an attribute of an operation with values in the place of shape variables.

    Parameters
    ----------
    attr : mlir.ir.Attribute
    values : mapping of str to Dim
    """
    with attr.context:
        if isinstance(attr, Dim):
            return attr.substitute(values).simplify()
        if isinstance(attr, ShapeExpr):
            return ShapeExpr([dim.substitute(values).simplify() for dim in attr])
        if isinstance(attr, ir.TypeAttr):
            return ir.TypeAttr.get(_in_type(attr.value, values))
        if isinstance(attr, ir.ArrayAttr):
            return ir.ArrayAttr.get([in_attribute(each, values) for each in attr])
    return attr


def _as_number(attr: ir.Attribute) -> ir.Attribute:
    """Return an expression that is known as the integer that it is."""
    number = attr.value if isinstance(attr, Dim) else None
    if number is None:
        return attr
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, attr.context), number)


def _bind_bounds(function: ir.Operation, values: Mapping[str, Dim]) -> None:
    """Check values against the bounds that a function declares, which it does not need then."""
    for attribute, which in _BOUNDS.items():
        if attribute not in function.attributes:
            continue
        bounds = {item.name: item.attr for item in function.attributes[attribute]}
        for name in set(bounds).intersection(values):
            bound = bounds.pop(name)
            number = values[name].value
            if number is None:
                if values[name].name:
                    bounds.setdefault(str(values[name].name), bound)
            elif number < bound.value if which == "least" else number > bound.value:
                raise ValueError(
                    f"expected {name} of function '{name_of(function)}' to be at {which} "
                    f"{bound.value}, but got {number}"
                )
        function.attributes[attribute] = ir.DictAttr.get(bounds, context=function.context)
