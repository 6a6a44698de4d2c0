# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read and write elements at places that tensors or maps give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mlir import ir

from ..tensor import Array
from .elementwise import divide, maximum, minimum
from .table import Args, attribute, axes_of, expect, flat, operator


def _whole(indices: Array) -> Array:
    """Return indices as signed integers; those that are too large as the largest one."""
    if indices.dtype == np.uint64:
        return np.minimum(indices, np.iinfo(np.int64).max).astype(np.int64)
    return indices.astype(np.int64)


def _from_end(indices: Array, size: int) -> Array:
    """Return indices of a dimension of which negative ones count from the end."""
    indices = _whole(indices)
    return np.where(indices < 0, indices + size, indices)


def _expect_element_indices(data: Array, indices: Array, axis: int) -> None:
    """Check that dimensions of indices other than the axis are not larger."""
    for i, (size, number) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if i != axis and number > size:
            raise ValueError(f"expected indices of dimension {i} up to {size}, but got {number}")


def _nearest(indices: Array, size: int) -> Array:
    return np.clip(_from_end(indices, size), 0, size - 1)


# ------------------------------------------------------------------------------
# Gather
# ------------------------------------------------------------------------------


@operator("take", ulps=0)
def _take(op: Any, args: Args, env: Any) -> Array:
    x, indices = (arg.data for arg in args)
    (axis,) = axes_of(attribute(op, "axis", 0), x.ndim)
    size, mode = x.shape[axis], attribute(op, "mode", "clip")
    if size == 0:
        missing = np.nan if mode == "nan" else 0
        return np.full((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), missing, x.dtype)
    if mode == "wrap":
        wide = indices if indices.dtype == np.uint64 else indices.astype(np.int64)
        places = np.mod(wide, np.asarray(size, wide.dtype)).astype(np.int64)
    else:
        places = np.clip(_whole(indices), 0, size - 1)
    taken = np.take(x, places, axis)
    if mode == "nan":
        outside = (places != _whole(indices)).reshape(indices.shape + (1,) * (x.ndim - axis - 1))
        taken = np.where(outside, np.asarray(np.nan, x.dtype), taken)
    return taken


@operator("gather_elements", ulps=0)
def _gather_elements(op: Any, args: Args, env: Any) -> Array:
    data, indices = (arg.data for arg in args)
    (axis,) = axes_of(attribute(op, "axis", 0), data.ndim)
    _expect_element_indices(data, indices, axis)
    if data.shape[axis] == 0:
        return np.zeros(indices.shape, data.dtype)
    places = list(np.indices(indices.shape, sparse=True))
    places[axis] = _nearest(indices, data.shape[axis])
    return data[tuple(places)]


@operator("gather_nd", ulps=0)
def _gather_nd(op: Any, args: Args, env: Any) -> Array:
    data, indices = (arg.data for arg in args)
    batch, length = attribute(op, "batch_dims", 0), indices.shape[-1]
    expect(data.shape[:batch], indices.shape[:batch], "indices with batch dimensions")
    sizes = data.shape[batch : batch + length]
    if 0 in sizes:
        return np.zeros((*indices.shape[:-1], *data.shape[batch + length :]), data.dtype)
    places: list[Array] = list(np.indices(indices.shape[:-1], sparse=True)[:batch])
    places += [_nearest(indices[..., i], size) for i, size in enumerate(sizes)]
    result = data[tuple(places)] if places else data
    # Without places each index stands for all of the data.
    return np.broadcast_to(result, (*indices.shape[:-1], *data.shape[batch + length :]))


@operator("index_tensor", ulps=0)
def _index_tensor(op: Any, args: Args, env: Any) -> Array:
    data, *indices = (arg.data for arg in flat(args))
    sizes = data.shape[: len(indices)]
    shape = np.broadcast_shapes(*(index.shape for index in indices))
    if 0 in sizes:
        return np.zeros((*shape, *data.shape[len(indices) :]), data.dtype)
    return data[tuple(_nearest(i, n) for i, n in zip(indices, sizes, strict=True))]


@operator("reverse_sequence", ulps=0)
def _reverse_sequence(op: Any, args: Args, env: Any) -> Array:
    data, lengths = (arg.data for arg in args)
    (axis,) = axes_of(attribute(op, "seq_axis", 1), data.ndim)
    (batch,) = axes_of(attribute(op, "batch_axis", 0), data.ndim)
    expect((data.shape[batch],), lengths.shape, "seq_lengths of shape")
    result = data.copy()
    moved = np.moveaxis(result, (batch, axis), (0, 1))
    for sequence, length in zip(moved, np.clip(_whole(lengths), 0, data.shape[axis]), strict=True):
        sequence[:length] = sequence[:length][::-1].copy()
    return result


# ------------------------------------------------------------------------------
# Scatter
# ------------------------------------------------------------------------------

_COMBINE: dict[str, Callable[..., Any]] = {
    "update": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": minimum,
    "max": maximum,
    "mean": np.add,
}


def _updates(op: Any, args: Args) -> int:
    return int(args[2].data.size)


@operator(
    "scatter_elements",
    ulps=1,
    backward_error=1,
    backward_error_per_term=1,
    terms=_updates,
    any_zero=True,
)
def _scatter_elements(op: Any, args: Args, env: Any) -> Array:
    data, indices, updates = (arg.data for arg in args)
    (axis,) = axes_of(attribute(op, "axis", 0), data.ndim)
    _expect_element_indices(data, indices, axis)
    expect(indices.shape, updates.shape, "updates of shape")
    reduction = attribute(op, "reduction", "update")
    places = _from_end(indices, data.shape[axis])
    result, counts = data.copy(), np.ones(data.shape, np.int64)
    for index in np.ndindex(indices.shape):
        place = (*index[:axis], int(places[index]), *index[axis + 1 :])
        if 0 <= place[axis] < data.shape[axis]:
            result[place] = _COMBINE[reduction](result[place], updates[index])
            counts[place] += 1
    # The mean counts the element itself and its updates.
    return divide(result, counts.astype(data.dtype)) if reduction == "mean" else result


@operator(
    "scatter_nd",
    ulps=1,
    backward_error=1,
    backward_error_per_term=1,
    terms=_updates,
    any_zero=True,
)
def _scatter_nd(op: Any, args: Args, env: Any) -> Array:
    data, indices, updates = (arg.data for arg in args)
    combine = _COMBINE[attribute(op, "reduction", "update")]
    sizes = data.shape[: indices.shape[-1]]
    rest = data.shape[indices.shape[-1] :]
    expect((*indices.shape[:-1], *rest), updates.shape, "updates of shape")
    result = data.copy()
    for index in np.ndindex(indices.shape[:-1]):
        place = tuple(int(_from_end(i, n)) for i, n in zip(indices[index], sizes, strict=True))
        if all(0 <= i < n for i, n in zip(place, sizes, strict=True)):
            result[place] = combine(result[place], updates[index])
    return result


# ------------------------------------------------------------------------------
# Places that are computed
# ------------------------------------------------------------------------------


@operator("one_hot", ulps=0)
def _one_hot(op: Any, args: Args, env: Any) -> Array:
    indices, on_value, off_value = args
    depth, axis = attribute(op, "depth"), attribute(op, "axis", -1)
    hot = np.expand_dims(indices.data, axis)
    shape = [1] * hot.ndim
    shape[axis] = depth
    is_hot = _whole(hot) == np.arange(depth).reshape(shape)
    return np.where(is_hot, np.asarray(on_value), np.asarray(off_value))


@operator("layout_transform", ulps=0)
def _layout_transform(op: Any, args: Args, env: Any) -> Array:
    x, exprs = args[0].data, attribute(op, "index_map").results
    sizes = [max(int(_evaluate(expr, _Last(x.shape))) + 1, 0) for expr in exprs]
    result = np.full(sizes, attribute(op, "pad_value", 0), x.dtype)
    if x.size:
        places = [_evaluate(expr, np.indices(x.shape)) for expr in exprs]
        result[tuple(np.broadcast_to(place, x.shape) for place in places)] = x
    return result


class _Last:
    """The last indices of a shape, in place of all."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = shape

    def __getitem__(self, axis: int) -> int:
        return self.shape[axis] - 1


def _evaluate(expr: Any, indices: Any) -> Any:
    """Return the value of an expression at indices, or its largest one at the last indices."""
    if isinstance(expr, ir.AffineDimExpr):
        return indices[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    lhs, rhs = _evaluate(expr.lhs, indices), _evaluate(expr.rhs, indices)
    if isinstance(expr, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(expr, ir.AffineMulExpr):
        return lhs * rhs
    if isinstance(expr, ir.AffineModExpr):
        # Blocks are whole.
        return rhs - 1 if isinstance(indices, _Last) else lhs % rhs
    if isinstance(expr, ir.AffineFloorDivExpr):
        return lhs // rhs
    return -(-lhs // rhs)
