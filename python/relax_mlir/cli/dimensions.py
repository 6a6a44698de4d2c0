# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dimensions of a program that a command fixes or bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlir import ir
from relax_runtime.near_misses import did_you_mean

from .._mlir_libs import _relax_mlir as _ext
from ..core.ir import Dim, ShapeExpr, TensorStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import substitute, tir_vars_in_struct_info
from ..core.variables import walk
from .errors import CommandError

Range = tuple[str, int | None, int | None]


def change_dims(module: IRModule, function: str, ranges: Iterable[Range]) -> None:
    """Fix or bound the dimensions of a function, which is changed.

    Parameters
    ----------
    module : IRModule
    function : str
    ranges : iterable of tuple
        Names with their least and largest sizes; equal ones fix a dimension.

    Raises
    ------
    CommandError
        If there is no such dimension, or the program is not valid with it.

    Examples
    --------
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32> {
    ...   relax.return %x : !relax.tensor<[n, m], f32>
    ... }''')
    >>> change_dims(mod, "main", [("n", 4, 4), ("m", 1, 8)])
    >>> print(mod["main"].function_type.value)
    (!relax.tensor<[4, m], f32>) -> !relax.tensor<[4, m], f32>
    """
    operation = function_of(module, function)
    known = _symbols(operation)
    fixed: dict[str, int] = {}
    bounds: dict[str, dict[str, int]] = {"tir_var_lower_bound": {}, "tir_var_upper_bound": {}}
    for name, (least, most) in _joined(ranges).items():
        check_names([name], known)
        if least is not None and least == most:
            fixed[name] = least
            continue
        for key, bound in zip(bounds, (least, most), strict=True):
            if bound is not None:
                bounds[key][name] = bound
    for key, values in bounds.items():
        _add_bounds(operation, key, values)
    if fixed:
        _fix(module, operation, fixed)


def _joined(ranges: Iterable[Range]) -> dict[str, tuple[int | None, int | None]]:
    """Return the least and largest size of each dimension."""
    found: dict[str, tuple[int | None, int | None]] = {}
    for name, least, most in ranges:
        before = found.get(name, (None, None))
        found[name] = (_one(name, before[0], least), _one(name, before[1], most))
    return found


def _one(name: str, old: int | None, new: int | None) -> int | None:
    if old is not None and new is not None and old != new:
        raise CommandError(f"expected one size of dimension '{name}', but got {old} and {new}")
    return old if new is None else new


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise CommandError where a name is not that of a dimension."""
    for name in given:
        if name not in known:
            names = ", ".join(known) or "none"
            raise CommandError(
                f"expected the name of a dimension ({names}), but got '{name}'"
                f"{did_you_mean(name, known)}"
            )


def function_of(module: IRModule, name: str) -> ir.Operation:
    """Return a Relax function of a module.

    Raises
    ------
    CommandError
        If there is none of that name.
    """
    functions = {
        key: op.operation
        for key, op in module.functions.items()
        if op.operation.name == "relax.func" and op.operation.regions[0].blocks
    }
    if name not in functions:
        names = ", ".join(functions) or "none"
        raise CommandError(f"expected the name of a function ({names}), but got '{name}'")
    return functions[name]


def shapes_as_ranges(
    module: IRModule, function: str, shapes: Mapping[str, Sequence[int | str]]
) -> list[Range]:
    """Return what fixes dimensions so that inputs have some shapes.

    Parameters
    ----------
    module : IRModule
    function : str
    shapes : mapping of str to dimensions
        By the names of inputs. The name of a dimension leaves it as it is.

    Raises
    ------
    CommandError
        If an input has not such a shape.
    """
    operation = function_of(module, function)
    names = [name.value for name in operation.attributes["arg_names"]]
    types = dict(zip(names, operation.regions[0].blocks[0].arguments.types, strict=True))
    found: dict[str, int] = {}
    for name, dims in shapes.items():
        if name not in types:
            raise CommandError(
                f"expected the name of an input ({', '.join(names)}), but got '{name}'"
                f"{did_you_mean(name, names)}"
            )
        type_ = types[name]
        if (
            not isinstance(type_, TensorStructInfo)
            or type_.shape is None
            or len(type_.shape.dims) != len(dims)
        ):
            raise CommandError(f"expected a shape of input '{name}', {type_}, but got {dims}")
        for dim, wanted in zip(type_.shape.dims, dims, strict=True):
            size = _size(name, type_, dim, wanted, found)
            if size is not None:
                found[dim.text] = size
    return [(name, size, size) for name, size in found.items()]


def _size(
    name: str, type_: ir.Type, dim: Dim, wanted: int | str, found: Mapping[str, int]
) -> int | None:
    """Return the size of a dimension that a shape fixes, or None where it fixes nothing."""
    if dim.text == str(wanted):
        return None
    is_variable = list(dim.variables) == [dim.text]
    if not is_variable or isinstance(wanted, str) or found.get(dim.text, wanted) != wanted:
        raise CommandError(
            f"expected a shape of input '{name}', {type_}, but got {wanted} for {dim.text}"
        )
    return wanted


def _symbols(function: ir.Operation) -> list[str]:
    types = function.regions[0].blocks[0].arguments.types
    return list(
        dict.fromkeys(str(var.name) for type_ in types for var in tir_vars_in_struct_info(type_))
    )


def _add_bounds(function: ir.Operation, key: str, values: Mapping[str, int]) -> None:
    if not values:
        return
    bounds: dict[str, ir.Attribute] = {}
    if key in function.attributes:
        bounds = {item.name: item.attr for item in function.attributes[key]}
    with function.context:
        integer = ir.IntegerType.get_signless(64)
        bounds |= {name: ir.IntegerAttr.get(integer, value) for name, value in values.items()}
        function.attributes[key] = ir.DictAttr.get(bounds)


def _fix(module: IRModule, function: ir.Operation, values: Mapping[str, int]) -> None:
    with function.context:
        for op in walk(function):
            for block in (block for region in op.regions for block in region.blocks):
                for argument in block.arguments:
                    argument.set_type(substitute(argument.type, values))
            for result in op.results:
                result.set_type(substitute(result.type, values))
            for name in list(op.attributes):
                changed = _substituted(op.attributes[name], values)
                if changed != op.attributes[name]:
                    op.attributes[name] = changed
    try:
        module.verify()
    except ir.MLIRError as error:
        sizes = ", ".join(f"{name} = {size}" for name, size in values.items())
        reason = error.error_diagnostics[0].message if error.error_diagnostics else error.message
        raise CommandError(f"the program is not valid with {sizes}: {reason}") from error


def _substituted(attribute: Any, values: Mapping[str, int]) -> ir.Attribute:
    """Return an attribute with the dimensions in it replaced."""
    if isinstance(attribute, Dim):
        return attribute.substitute(values)
    if isinstance(attribute, ShapeExpr):
        return ShapeExpr([dim.substitute(values) for dim in attribute.dims])
    if isinstance(attribute, ir.TypeAttr):
        type_ = attribute.value
        if not isinstance(type_, ir.FunctionType):
            is_known = _ext.is_struct_info(type_)
            return ir.TypeAttr.get(substitute(type_, values)) if is_known else attribute
        inputs = [substitute(one, values) for one in type_.inputs]
        return ir.TypeAttr.get(
            ir.FunctionType.get(inputs, [substitute(one, values) for one in type_.results])
        )
    if isinstance(attribute, ir.ArrayAttr):
        return ir.ArrayAttr.get([_substituted(one, values) for one in attribute])
    if isinstance(attribute, ir.DictAttr):
        return ir.DictAttr.get({one.name: _substituted(one.attr, values) for one in attribute})
    return attribute
