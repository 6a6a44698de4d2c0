# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements, where Python computes something of their arguments."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from mlir import ir

from ..core.expr import Leaf, ShapeLike, TensorLike, Var, as_shape, as_tensor, build, tensor_type
from ..core.ir import Dim, DimLike, ShapeExpr
from ..dialects import relax as _ops

__all__ = ["reshape", "split", "strided_slice"]


def _product(dims: Sequence[Dim]) -> Dim:
    return functools.reduce(operator.mul, dims, Dim(1))


def _resolve(x: ir.Value, dims: Sequence[DimLike]) -> list[Dim]:
    """Return dimensions with -1 replaced by what is left of the elements of `x`."""
    exprs = [Dim(dim) for dim in dims]
    unknown = [index for index, expr in enumerate(exprs) if expr.value == -1]
    if not unknown:
        return exprs
    if len(unknown) > 1:
        raise ValueError(f"relax.reshape: expected one dimension of -1, but got {len(unknown)}")
    source = tensor_type(x).shape
    if source is None:
        raise ValueError(
            f"relax.reshape: expected a tensor of known shape for a dimension of -1, but got "
            f"{x.type}; insert match_cast"
        )
    others = _product([expr for expr in exprs if expr.value != -1])
    if others.value == 0:
        raise ValueError("relax.reshape: expected no dimension of 0 beside one of -1")
    exprs[unknown[0]] = _product(source.dims) // others
    return exprs


def reshape(x: TensorLike, shape: ShapeLike) -> ir.Value:
    """Return the same elements in another shape.

    Parameters
    ----------
    x : tensor
    shape : shape, or sequence of int, str or Dim
        One dimension may be -1: it is what is left of the elements of `x`, whose shape must be
        known then.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = reshape(x, (-1, 2))
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[n * 2, 2], f32>
    """
    tensor = as_tensor(x)
    if not isinstance(shape, (ir.Value, Var, Leaf)):
        if isinstance(shape, str):
            raise TypeError(f"expected a sequence of dimensions, but got {shape!r}")
        dims = shape.dims if isinstance(shape, ShapeExpr) else shape
        shape = _resolve(tensor, dims)
    return build(_ops.ReshapeOp, tensor, as_shape(shape))


def split(x: TensorLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> ir.Value:
    """Return the parts of a tensor along an axis, as a tuple.

    Parameters
    ----------
    x : tensor
    indices_or_sections : int or sequence of int
        The number of parts of equal size, or where parts begin.
    axis : int

    Returns
    -------
    mlir.ir.Value
        A tuple; `get_item` takes a part.
    """
    if isinstance(indices_or_sections, int):
        return build(_ops.SplitOp, as_tensor(x), sections=indices_or_sections, axis=axis)
    return build(_ops.SplitOp, as_tensor(x), indices=list(indices_or_sections), axis=axis)


def _place(value: Any) -> DimLike:
    """Return a place of a slice as a dimension."""
    value = getattr(value, "value", value) if isinstance(value, ir.OpView) else value
    if isinstance(value, ir.Value):
        known = getattr(value.type, "value", None)
        if known is None:
            raise ValueError(
                "relax.strided_slice: expected places of known value, but got one of type "
                f"{value.type}"
            )
        return cast("DimLike", known)
    return int(value) if isinstance(value, (int, np.integer)) else cast("DimLike", value)


def _places(values: Any) -> Any:
    """Return the places of slices as a shape."""
    if isinstance(values, ir.Value) and isinstance(values.owner, _ops.TupleOp):
        values = list(values.owner.operation.operands)
    if isinstance(values, (ir.Value, Var, Leaf, ShapeExpr)):
        return values
    return [_place(value) for value in values]


def _known_axis(axis: Any) -> int:
    known = Dim(axis).value
    if known is None:
        raise ValueError(f"relax.strided_slice: expected axes of known value, but got {axis}")
    return known


def strided_slice(
    x: TensorLike,
    axes: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    assume_inbound: bool = False,
) -> ir.Value:
    """Return the elements from `begin`, by `strides`, up to but without `end`.

    Parameters
    ----------
    x : tensor
    axes : sequence of int
    begin, end : shape, or sequence of int, str, Dim or primitive value
        For each of `axes`. Negative places count from the end of the dimension, and places beyond
        its ends mean the nearest one.
    strides : the same, optional
        Known, and not 0; by default 1.
    assume_inbound : bool
        Whether all places are from 0 to the dimension.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n", 8), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = strided_slice(x, [1], [2], [-1], [2])
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[n, 3], f32>
    """
    numbers = [_known_axis(axis) for axis in _places(axes)]
    return build(
        _ops.StridedSliceOp,
        as_tensor(x),
        as_shape(_places(begin)),
        as_shape(_places(end)),
        axes=numbers,
        strides=None if strides is None else as_shape(_places(strides)),
        assume_inbound=bool(assume_inbound),
    )
