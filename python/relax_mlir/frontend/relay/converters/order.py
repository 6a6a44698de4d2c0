# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that sort, search, and find different elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.tensors import cast, normal_axis, number, size_tensor
from ...values import Value, as_tensor, is_known, rank_of, shape_of
from .data_sizes import size_of
from .operands import dtype_or, of_equal_dims, one_of, scalar_int
from .registry import converts


@converts("sort", axis=-1, is_ascend=True, dtype=None)
def _sort(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return op.sort(data, normal_axis(int(attrs.axis), rank_of(data)), not attrs.is_ascend)


def _order(data: ir.Value, axis: int, is_ascend: bool, dtype: str) -> ir.Value:
    return cast(op.argsort(data, axis, not is_ascend, "int32"), dtype)


@converts("argsort", axis=-1, is_ascend=True, dtype="int32")
def _argsort(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    axis = normal_axis(int(attrs.axis), rank_of(data))
    return _order(data, axis, bool(attrs.is_ascend), dtype_or(attrs.dtype, "int32"))


def _top(attrs: SimpleNamespace, data: ir.Value, k: int) -> Value:
    kind = one_of("ret_type", attrs.ret_type, "both", "values", "indices")
    axis, largest = normal_axis(int(attrs.axis), rank_of(data)), not attrs.is_ascend
    dtype = dtype_or(attrs.dtype, "int32")
    if kind == "values":
        return op.topk(data, k, axis, kind, largest)
    if kind == "indices":
        return cast(op.topk(data, k, axis, kind, largest, "int32"), dtype)
    both = op.topk(data, k, axis, kind, largest, "int32")
    return op.tuple(op.get_item(both, 0), cast(op.get_item(both, 1), dtype))


_TOP: dict[str, Any] = {"axis": -1, "is_ascend": False, "ret_type": "both", "dtype": "int32"}


@converts("topk", k=1, **_TOP)
def _topk(attrs: SimpleNamespace, data: ir.Value) -> Value:
    return _top(attrs, data, int(attrs.k))


@converts("dyn.topk", raw=True, k=None, **_TOP)
def _dyn_topk(attrs: SimpleNamespace, data: Value, k: Value) -> Value:
    x = as_tensor(data)
    if is_known(k):
        return _top(attrs, x, scalar_int(k, "a number of elements"))
    # All of them in order, of which the program takes the first ones.
    axis = normal_axis(int(attrs.axis), rank_of(x))
    extent = shape_of(x)[axis]
    wanted, whole = cast(op.reshape(as_tensor(k), []), "int64"), size_tensor(extent)
    is_all = op.less(wanted, number(1, "int64"))
    count = size_of(op.where(is_all, whole, op.minimum(wanted, whole)), "a number of elements")
    found = _top(attrs, x, -1)
    places = op.arange(0, count, 1, "int64")
    if attrs.ret_type != "both":
        return op.take(found, places, axis)
    return op.tuple(*(op.take(op.get_item(found, i), places, axis) for i in (0, 1)))


@converts("searchsorted", right=False, dtype="int32")
def _searchsorted(attrs: SimpleNamespace, sorted_sequence: ir.Value, values: ir.Value) -> ir.Value:
    rank, right = rank_of(values), bool(attrs.right)
    dtype = dtype_or(attrs.dtype, "int32")
    if rank_of(sorted_sequence) == 1:
        return cast(op.bucketize(values, sorted_sequence, dtype == "int32", right), dtype)
    if rank_of(sorted_sequence) != rank or not rank:
        raise ValueError(
            f"expected a sequence of rank 1 or {rank}, but got {rank_of(sorted_sequence)}"
        )
    outer = [(i, i) for i in range(rank - 1)]
    sorted_sequence, values = of_equal_dims(sorted_sequence, values, outer)
    # The number of elements that are before each value, in its own sequence.
    sequence, value = op.expand_dims(sorted_sequence, rank - 1), op.expand_dims(values, rank)
    is_before = (op.less_equal if right else op.less)(sequence, value)
    return cast(op.sum(cast(is_before, "int64"), [rank]), dtype)


@converts("unique", sorted=True, return_counts=False)
def _unique(attrs: SimpleNamespace, data: ir.Value) -> Value:
    """Return different elements, and of all vectors as many elements as there are.

    What is behind the number of different elements is 0, in place of what TVM leaves open.
    """
    if rank_of(data) != 1:
        raise ValueError(f"expected a vector, but got a tensor of rank {rank_of(data)}")
    count = shape_of(data)[0]
    zeros, zero = op.zeros([count], "int32"), number(0, "int32")
    order = op.argsort(data, 0, False, "int32")
    ordered = op.take(data, order, 0)
    places = op.arange(0, count, 1, "int64")
    before = op.take(ordered, op.subtract(places, number(1, "int64")), 0)
    is_new = op.logical_and(op.greater(places, number(0, "int64")), op.not_equal(ordered, before))
    ranks = op.cumsum(cast(is_new, "int32"), 0)
    last = op.maximum(op.max(ranks, [0], True), number(-1, "int32"))
    total = op.add(last, number(1, "int32"))
    # Elements that are equal are in the order in which they come up.
    far = op.full([count], number(2**31 - 1, "int32"))
    first = op.scatter_elements(far, ranks, order, 0, "min")
    counts = op.scatter_elements(zeros, ranks, op.ones([count], "int32"), 0, "add")
    if not attrs.sorted:
        turned = op.argsort(first, 0, False, "int32")
        numbers = cast(places, "int32")
        ranks = op.take(op.scatter_elements(zeros, turned, numbers, 0), ranks, 0)
        first, counts = op.take(first, turned, 0), op.take(counts, turned, 0)
    is_real = op.less(cast(places, "int32"), total)
    values = op.where(is_real, op.take(data, first, 0), number(0, data.type.dtype))
    inverse = op.scatter_elements(zeros, order, ranks, 0)
    results = [values, op.where(is_real, first, zero), inverse, total]
    return op.tuple(*results, *([counts] if attrs.return_counts else []))
