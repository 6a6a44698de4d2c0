# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that compute the places of elements, by functions of Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir

from ..core.constants import scalar_attr
from ..core.expr import TensorLike, as_tensor, build, tensor_type
from ..dialects import relax as _ops

__all__ = ["layout_transform"]


class _Index:
    """An index, or an expression over indices, as a function of Python computes with it."""

    def __init__(self, expr: ir.AffineExpr) -> None:
        self.expr = expr

    def __add__(self, other: Any) -> _Index:
        return _Index(self.expr + _affine(other))

    def __radd__(self, other: Any) -> _Index:
        return _Index(_affine(other) + self.expr)

    def __sub__(self, other: Any) -> _Index:
        return _Index(self.expr - _affine(other))

    def __rsub__(self, other: Any) -> _Index:
        return _Index(_affine(other) - self.expr)

    def __mul__(self, other: Any) -> _Index:
        return _Index(self.expr * _affine(other))

    def __rmul__(self, other: Any) -> _Index:
        return _Index(_affine(other) * self.expr)

    def __floordiv__(self, other: Any) -> _Index:
        return _Index(ir.AffineExpr.get_floor_div(self.expr, _divisor(other)))

    def __mod__(self, other: Any) -> _Index:
        return _Index(ir.AffineExpr.get_mod(self.expr, _divisor(other)))


def _affine(value: Any) -> ir.AffineExpr:
    if isinstance(value, _Index):
        return value.expr
    return ir.AffineExpr.get_constant(int(getattr(value, "value", value)))


def _divisor(value: Any) -> ir.AffineExpr:
    number = None if isinstance(value, _Index) else int(getattr(value, "value", value))
    if number is None or number <= 0:
        raise ValueError(f"expected a positive number as a divisor of indices, but got {number}")
    return ir.AffineExpr.get_constant(number)


def affine_map_of(function: Callable[..., Any], ndim: int | None) -> ir.AffineMap:
    """Return a function of indices as a map of MLIR.

    Parameters
    ----------
    function : callable
        Takes the indices, and returns one or several that it computes with ``+``, ``-``, ``*``,
        ``//`` and ``%``.
    ndim : int or None
        How many indices a function of any number gets; None where that is not known.
    """
    params = inspect.signature(function).parameters.values()
    if any(param.kind is param.VAR_POSITIONAL for param in params):
        if ndim is None:
            raise ValueError("relax.layout_transform: expected a tensor of known rank")
        count = ndim
    else:
        count = len(params)
    result = function(*(_Index(ir.AffineExpr.get_dim(i)) for i in range(count)))
    results = result if isinstance(result, (tuple, list)) else [result]
    return ir.AffineMap.get(count, 0, [_affine(expr) for expr in results])


def layout_transform(
    x: TensorLike,
    index_map: Callable[..., Any] | ir.AffineMap | ir.AffineMapAttr,
    pad_value: Any = None,
    axis_separators: Sequence[int] | None = None,
    input_axis_separators: Sequence[int] | None = None,
) -> ir.Value:
    """Return a tensor with elements at the places that a map computes.

    Parameters
    ----------
    x : tensor
    index_map : function or mlir.ir.AffineMap
        From the indices of an element to those that it has in the result. A function computes
        with ``+``, ``-``, ``*``, ``//`` and ``%``.
    pad_value : number, optional
        The value of elements that nothing is moved to, by default 0.
    axis_separators, input_axis_separators : sequence of int, optional
        Where dimensions are separated in physical memory, of the result and of `x`.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n", 16), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = layout_transform(x, lambda i, j: (j // 4, i, j % 4))
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[4, n, 4], f32>
    """
    tensor = as_tensor(x)
    type_ = tensor_type(tensor)
    with tensor.context:
        if isinstance(index_map, ir.AffineMapAttr):
            attr = index_map
        elif isinstance(index_map, ir.AffineMap):
            attr = ir.AffineMapAttr.get(index_map)
        else:
            ndim = type_.ndim if type_.ndim >= 0 else None
            attr = ir.AffineMapAttr.get(affine_map_of(index_map, ndim))
    if isinstance(pad_value, ir.Value):
        pad_value = getattr(pad_value.owner, "value", None)
        if not isinstance(pad_value, (ir.IntegerAttr, ir.FloatAttr)):
            raise ValueError("relax.layout_transform: expected a pad_value that is known")
    elif pad_value is not None and not isinstance(pad_value, ir.Attribute):
        pad_value = scalar_attr(getattr(pad_value, "value", pad_value), type_.dtype)
    return build(
        _ops.LayoutTransformOp,
        tensor,
        attr,
        pad_value=pad_value,
        axis_separators=list(axis_separators) if axis_separators else None,
        input_axis_separators=list(input_axis_separators) if input_axis_separators else None,
    )
