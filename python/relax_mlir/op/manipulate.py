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
from ..core.expr import tuple as make_tuple
from ..core.ir import Dim, DimLike, ShapeExpr
from ..dialects import relax as _ops

__all__ = ["reshape", "split", "strided_slice"]


def _product(dims: Sequence[Dim]) -> Dim:
    return functools.reduce(operator.mul, dims, Dim(1))


def _copied(x: ir.Value, dims: list[Dim]) -> list[Dim]:
    """Return dimensions with each 0 replaced by the dimension that `x` has there.

    Where `x` has a dimension of 0 itself, a 0 is what it says.
    """
    places = [i for i, dim in enumerate(dims) if dim.value == 0]
    source = tensor_type(x).shape
    if not places or source is None or any(dim.value == 0 for dim in source.dims):
        return dims
    if places[-1] >= len(source.dims):
        raise ValueError(
            f"relax.reshape: expected a dimension of 0 where x has one to copy, but got {x.type} "
            f"and dimension {places[-1]}"
        )
    return [source.dims[i] if i in places else dim for i, dim in enumerate(dims)]


def _resolve(x: ir.Value, dims: Sequence[DimLike]) -> list[Dim]:
    """Return dimensions with 0 replaced by those of `x`, and -1 by what is left of its elements."""
    given = [Dim(dim) for dim in dims]
    exprs = _copied(x, given)
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
    # What is copied is on both sides.
    kept = [i for i, dim in enumerate(given) if dim is not exprs[i]]
    others = _product([dim for i, dim in enumerate(exprs) if i not in [*kept, *unknown]])
    if others.value == 0:
        raise ValueError("relax.reshape: expected no dimension of 0 beside one of -1")
    exprs[unknown[0]] = _product([d for i, d in enumerate(source.dims) if i not in kept]) // others
    return exprs


def reshape(x: TensorLike, shape: ShapeLike) -> ir.Value:
    """Return the same elements in another shape.

    Parameters
    ----------
    x : tensor
    shape : shape, or sequence of int, str or Dim
        One dimension may be -1: it is what is left of the elements of `x`, whose shape must be
        known then. A dimension of 0 is the one that `x` has at that place, unless `x` has a
        dimension of 0 itself.

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


def split(x: TensorLike, indices_or_sections: int | Sequence[int | Dim], axis: int = 0) -> ir.Value:
    """Return the parts of a tensor along an axis, as a tuple.

    Parameters
    ----------
    x : tensor
    indices_or_sections : int, or sequence of int or Dim
        The number of parts of equal size, or where parts begin. Places that are expressions over
        shape variables are in order, from 0 to the dimension, which is checked at run time.
    axis : int

    Returns
    -------
    mlir.ir.Value
        A tuple; `get_item` takes a part.
    """
    if isinstance(indices_or_sections, int):
        return build(_ops.SplitOp, as_tensor(x), sections=indices_or_sections, axis=axis)
    tensor = as_tensor(x)
    places = [_known_or_dim(each) for each in indices_or_sections]
    if all(isinstance(each, int) for each in places):
        return build(_ops.SplitOp, tensor, indices=places, axis=axis)
    return make_tuple(
        *(
            _part(tensor, axis, begin, end)
            for begin, end in zip([0, *places], [*places, None], strict=True)
        )
    )


def _known_or_dim(value: Any) -> int | Dim:
    """Return a place as a number where it is one."""
    value = getattr(value, "value", value) if isinstance(value, ir.OpView) else value
    if isinstance(value, ir.Value):
        value = _place(value)
    if not isinstance(value, Dim):
        return operator.index(getattr(value, "value", value))
    return value if value.value is None else value.value


def _part(x: ir.Value, axis: int, begin: DimLike, end: DimLike | None) -> ir.Value:
    """Return what a tensor has along an axis between two places, to its end without the second."""
    if end is None:
        source = tensor_type(x)
        if source.shape is None:
            raise ValueError(
                f"relax.split: expected a tensor of known shape, but got one of type {x.type}; "
                "insert match_cast"
            )
        end = source.shape.dims[axis]
    return strided_slice(x, [axis], [begin], [end], assume_inbound=True)


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
