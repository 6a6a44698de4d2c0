# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of all groups of functions: axes, dimensions and element types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..core import ir as _ir
from ..te.operation import as_shape
from ..tir import dims as _dims
from ..tir import expr as _expr
from ..tir.expr import ExprLike, IntImm, PrimExpr

Tensor = te.Tensor


def constant(dim: ExprLike) -> int | None:
    """Return the number that a dimension is, or None where it is symbolic.

    Examples
    --------
    >>> constant(4), constant(_dims.from_dim("n * 0 + 2")), constant(_dims.from_dim("n"))
    (4, 2, None)
    """
    if isinstance(dim, int):
        return dim
    expr = _expr.convert(dim)
    if isinstance(expr, IntImm):
        return expr.value
    if not _expr.undefined_vars(expr):
        folded = _expr.simplify(expr)
        return folded.value if isinstance(folded, IntImm) else None
    return None


def is_equal(a: ExprLike, b: ExprLike) -> bool | None:
    """Say whether two dimensions are equal: True, False, or None where it is not known."""
    if _expr.structural_equal(a, b):
        return True
    try:
        return _dims.to_dim(a).prove_equal(_dims.to_dim(b))
    except TypeError:
        return None


def canonical(dim: ExprLike) -> PrimExpr:
    """Return a dimension in its simplest form."""
    expr = _expr.convert(dim)
    if isinstance(expr, (IntImm, _expr.Var)):
        return expr
    try:
        attr: _ir.Dim = _dims.to_dim(expr)
    except TypeError:
        return expr
    if attr.value is not None:
        return _expr.const(attr.value, expr.dtype)
    variables = {variable.name: variable for variable in _expr.undefined_vars(expr)}
    return _dims.from_dim(attr, variables)


def shape_of(shape: Any) -> tuple[PrimExpr, ...]:
    """Return the dimensions that a function was given."""
    return as_shape(shape)


def axis_of(axis: int, ndim: int, what: str = "axis") -> int:
    """Return the position of an axis, which may count from the end.

    Raises
    ------
    ValueError
        If there is no such axis.
    TypeError
        If it is no integer.
    """
    if isinstance(axis, float):
        raise TypeError(f"expected {what} to be an int, but got {axis}")
    number = constant(axis)
    if number is None or not -ndim <= number < ndim:
        raise ValueError(f"expected {what} from {-ndim} to {ndim - 1}, but got {axis}")
    return number % ndim


def axes_of(axis: Any, ndim: int) -> list[int]:
    """Return the positions of axes, in order; all of them for None.

    Raises
    ------
    ValueError
        If there is no such axis, or one is given twice.
    """
    if axis is None:
        return list(range(ndim))
    given = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    axes = [axis_of(each, ndim) for each in given]
    if len(set(axes)) != len(axes):
        raise ValueError(f"expected each axis once, but got {given}")
    return sorted(axes)


def require_float(x: Tensor, name: str) -> None:
    """Raise TypeError unless a tensor is one of floats."""
    if not _expr.is_float(x.dtype):
        raise TypeError(f"expected a tensor of floats in {name}, but got one of {x.dtype}")


def wide_dtype(dtype: str) -> str:
    """Return the data type to compute with: float32 for floats of 16 bits."""
    return "float32" if _expr.is_float(dtype) and _expr.bits(dtype) == 16 else dtype


def with_name(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    """Give a function that was made its name and documentation."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def product(dims: Sequence[ExprLike]) -> PrimExpr:
    """Return the product of dimensions."""
    result: PrimExpr = _expr.const(1, "int64" if _has_wide(dims) else "int32")
    for dim in dims:
        result = _expr.multiply(result, dim)
    return result


def _has_wide(dims: Sequence[ExprLike]) -> bool:
    return any(_expr.convert(dim).dtype == "int64" for dim in dims)


def ravel(indices: Sequence[PrimExpr], shape: Sequence[PrimExpr]) -> PrimExpr:
    """Return the position of an element in a tensor whose elements are counted row by row."""
    position: PrimExpr = _expr.const(0, "int64" if _has_wide(shape) else "int32")
    for index, dim in zip(indices, shape, strict=True):
        position = position * dim + index
    return position


def unravel(position: PrimExpr, shape: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return the indices of an element, given its position."""
    indices: list[PrimExpr] = []
    rest = position
    for number, size in enumerate(reversed(shape)):
        # Of a tensor without elements none is looked for.
        dim = te.const(1, size.dtype) if constant(size) == 0 else size
        is_first = number == len(shape) - 1
        indices.append(rest if is_first else rest % dim)
        if not is_first:
            rest = rest // dim
    return indices[::-1]


def pair(value: Any, count: int, what: str) -> list[int]:
    """Return a number for each spatial dimension, given one for all or one for each.

    Raises
    ------
    ValueError
        If the number of them is wrong.
    """
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    numbers = [constant(each) for each in values]
    if len(numbers) != count or any(number is None for number in numbers):
        raise ValueError(f"expected an integer or {count} of them as {what}, but got {value}")
    return [number for number in numbers if number is not None]
