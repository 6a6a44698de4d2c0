# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that order elements, or search for them."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...composites.selection import kth, middle
from .elementwise import common_dtype
from .registry import (
    Graph,
    cast,
    converts,
    dtype_of,
    is_float,
    is_tensor,
    normal_axis,
    number,
    part,
    product,
    rank_of,
    shape_of,
)


@converts("isin.Tensor_Tensor")
def _isin(
    graph: Graph, x: ir.Value, tests: ir.Value, assume_unique: bool = False, invert: bool = False
) -> ir.Value:
    dtype, rank = common_dtype(graph), graph.rank_of(0)
    candidates = op.reshape(cast(tests, dtype), [product(graph.shape_of(1))])
    equal = op.equal(op.expand_dims(cast(x, dtype), rank), candidates)
    found = cast(op.max(cast(equal, "uint8"), [rank]), "bool")
    return op.logical_not(found) if invert else found


@converts("histc.default")
def _histogram(
    graph: Graph, x: ir.Value, bins: int = 100, low: float = 0, high: float = 0
) -> ir.Value:
    """Return how many elements are in each of bins of one width; others count nowhere."""
    dtype = dtype_of(x)
    x = op.flatten(x)
    if low == high:
        first, last = op.min(x), op.max(x)
        is_one = op.equal(first, last)
        one = number(1, dtype)
        first = op.where(is_one, op.subtract(first, one), first)
        last = op.where(is_one, op.add(last, one), last)
    else:
        first, last = number(low, dtype), number(high, dtype)
    share = op.divide(op.subtract(x, first), op.subtract(last, first))
    place = cast(op.multiply(share, number(bins, dtype)), "int64")
    place = op.minimum(place, number(bins - 1, "int64"))  # the end belongs to the last one
    counts = op.logical_and(op.greater_equal(x, first), op.less_equal(x, last))
    place = op.where(counts, place, number(bins, "int64"))
    ones = op.ones(shape_of(x), "int64")
    total = op.scatter_elements(op.zeros([bins + 1], "int64"), place, ones, 0, "add")
    return cast(part(total, 0, 0, bins), graph.dtype)


@converts("bucketize.Tensor", "bucketize.Scalar")
def _bucketize(
    graph: Graph, x: Any, boundaries: ir.Value, out_int32: bool = False, right: bool = False
) -> ir.Value:
    return _places(graph, x, boundaries, right, common_dtype(graph))


@converts("searchsorted.Tensor", "searchsorted.Scalar")
def _searchsorted(
    graph: Graph, boundaries: ir.Value, x: Any, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> ir.Value:  # fmt: skip
    if sorter is not None:
        boundaries = op.gather_elements(boundaries, sorter, graph.rank_of(0) - 1)
    if graph.rank_of(0) > 1:
        boundaries = op.expand_dims(boundaries, graph.rank_of(0) - 1)
    return _places(graph, x, boundaries, right or side == "right", common_dtype(graph))


def _places(graph: Graph, x: Any, boundaries: ir.Value, right: bool, dtype: str) -> ir.Value:
    """Return how many boundaries are below each element, or not above it."""
    value, rank = cast(x, dtype), len(graph.shape)
    if rank_of(boundaries) == 1:
        narrow = graph.dtype == "int32"
        return op.bucketize(value, cast(boundaries, dtype), narrow, right)
    if is_tensor(x):
        value = op.expand_dims(value, rank)
    # NaN is above all boundaries.
    beyond = (op.greater if right else op.greater_equal)(cast(boundaries, dtype), value)
    count = op.sum(cast(op.logical_not(beyond), "int64"), [rank])
    return cast(count, graph.dtype)


def _ordered(x: ir.Value, axis: int, descending: bool, count: int | None = None) -> list[ir.Value]:
    """Return the first elements in order, and their places; those that are equal as they come."""
    if rank_of(x) == 0:
        return [x, number(0, "int64")]
    axis = normal_axis(axis, rank_of(x))
    ordered = op.topk(x, count or 0, axis, "both", descending, "int64")
    found = [op.get_item(ordered, i) for i in range(2)]
    if count == 0:
        found = [op.strided_slice(one, [axis], [0], [0], [1]) for one in found]
    return found


@converts("topk.default")
def _topk(
    graph: Graph, x: ir.Value, count: Any, axis: int = -1, largest: bool = True, *_: Any
) -> list[ir.Value]:
    if not isinstance(count, int):
        raise NotImplementedError(f"the first {count} elements, a number that is not known")
    return _ordered(x, axis, largest, count)


@converts("sort.default")
def _sort(graph: Graph, x: ir.Value, axis: int = -1, descending: bool = False) -> list[ir.Value]:
    return _ordered(x, axis, descending)


@converts("sort.stable")
def _sort_stable(
    graph: Graph, x: ir.Value, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> list[ir.Value]:
    return _ordered(x, dim, descending)


@converts("argsort.default")
def _argsort(graph: Graph, x: ir.Value, axis: int = -1, descending: bool = False) -> ir.Value:
    return _ordered(x, axis, descending)[1]


@converts("argsort.stable")
def _argsort_stable(
    graph: Graph, x: ir.Value, stable: bool = True, dim: int = -1, descending: bool = False
) -> ir.Value:
    return _ordered(x, dim, descending)[1]


def _middle(x: ir.Value, axis: int, keep: bool) -> list[ir.Value]:
    """Return the middle element, the lower one of two, and its place; NaN where there is any."""
    axis = normal_axis(axis, rank_of(x))
    chosen = middle(x, axis, True)
    if is_float(dtype_of(x)):
        # NaN is the largest number of all.
        last, at = op.max(x, [axis], True), op.argmax(x, axis, True)
        spoiled = op.isnan(last)
        chosen = [op.where(spoiled, last, chosen[0]), op.where(spoiled, at, chosen[1])]
    return chosen if keep else [op.squeeze(one, [axis]) for one in chosen]


@converts("median.dim")
def _median(graph: Graph, x: ir.Value, axis: int, keepdim: bool = False) -> list[ir.Value]:
    if graph.rank_of(0) == 0:
        return [x, number(0, "int64")]
    return _middle(x, axis, keepdim)


@converts("median.default")
def _median_of_all(graph: Graph, x: ir.Value) -> ir.Value:
    return _middle(op.reshape(x, [product(shape_of(x))]), 0, False)[0]


@converts("kthvalue.default")
def _kth_value(
    graph: Graph, x: ir.Value, count: int, axis: int = -1, keepdim: bool = False
) -> list[ir.Value]:
    if rank_of(x) == 0:
        return [x, number(0, "int64")]
    return kth(x, count, normal_axis(axis, rank_of(x)), keepdim)


@converts("mode.default")
def _mode(graph: Graph, x: ir.Value, axis: int = -1, keepdim: bool = False) -> list[ir.Value]:
    """Return the element that is there most often, of several the smallest, and its last place."""
    rank = rank_of(x)
    if rank == 0:
        return [x, number(0, "int64")]
    axis = normal_axis(axis, rank)
    values, places = _ordered(x, axis, False)
    size = shape_of(x)[axis]
    others = [one for one in range(rank) if one != axis]
    at = op.arange(0, size, 1, "int64")
    at = op.expand_dims(at, others) if others else at
    before = op.take(values, op.arange(-1, size - 1, 1, "int64"), axis, mode="clip")
    begins = op.where(op.not_equal(values, before), at, number(0, "int64"))
    # A run is longest at its end.
    length = op.subtract(at, op.cummax(begins, axis))
    longest = op.argmax(length, axis, keepdims=True)
    found = [op.gather_elements(one, longest, axis) for one in (values, places)]
    return found if keepdim else [op.squeeze(one, [axis]) for one in found]
