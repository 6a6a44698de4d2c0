# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on tensors of which only some elements are stored, with their places."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace

from mlir import ir

from .... import op
from ....composites.tensors import cast, number
from ....core.expr import const
from ...values import Value, as_tensor, rank_of, shape_of
from .data_sizes import sizes_of
from .index import coordinates, elements_of, require_indices
from .operands import ints, places_found
from .registry import REQUIRED, converts


def _dense(
    shape: Sequence[object], indices: ir.Value, values: ir.Value, rest: ir.Value
) -> ir.Value:
    require_indices(indices)
    if rank_of(rest) or rank_of(indices) > 2 or rank_of(values) > 1:
        raise ValueError(
            "expected indices of rank 0 to 2, values of rank 0 or 1 and a default of rank 0, but "
            f"got {indices.type}, {values.type} and {rest.type}"
        )
    if rank_of(indices) < 2:
        # A place, or a vector of places in a vector.
        indices = op.reshape(indices, [*(shape_of(indices) or [1]), 1])
    count = shape_of(indices)[0]
    values = op.broadcast_to(values, [count]) if rank_of(values) == 0 else values
    filled = op.full(list(shape), cast(rest, values.type.dtype), values.type.dtype)
    return op.scatter_nd(filled, indices, values)


@converts("sparse_to_dense", output_shape=REQUIRED)
def _sparse_to_dense(
    attrs: SimpleNamespace, sparse_indices: ir.Value, sparse_values: ir.Value,
    default_value: ir.Value,
) -> ir.Value:  # fmt: skip
    return _dense(ints(attrs.output_shape), sparse_indices, sparse_values, default_value)


@converts("dyn.sparse_to_dense", raw=True)
def _dyn_sparse_to_dense(
    _: SimpleNamespace, sparse_indices: Value, sparse_values: Value, default_value: Value,
    output_shape: Value,
) -> ir.Value:  # fmt: skip
    operands = [as_tensor(one) for one in (sparse_indices, sparse_values, default_value)]
    return _dense(sizes_of(output_shape, "a shape"), *operands)


@converts("sparse_reshape", raw=True)
def _sparse_reshape(
    _: SimpleNamespace, sparse_indices: Value, prev_shape: Value, new_shape: Value
) -> Value:
    places = as_tensor(sparse_indices)
    dtype = places.type.dtype
    before, after = elements_of(prev_shape, dtype), elements_of(new_shape, dtype)
    total = number(1, dtype)
    flat = number(0, dtype)
    for i, extent in reversed(list(enumerate(before))):
        flat = op.add(flat, op.multiply(op.take(places, const(i, "int64"), 1), total))
        total = op.multiply(total, extent)
    # One new dimension may be -1: it has what the others leave.
    others = number(1, dtype)
    unknown = [op.less(one, number(0, dtype)) for one in after]
    for is_unknown, one in zip(unknown, after, strict=True):
        others = op.multiply(others, op.where(is_unknown, number(1, dtype), one))
    left = op.divide(total, others)
    sizes = [op.where(flag, left, one) for flag, one in zip(unknown, after, strict=True)]
    shape = cast(op.stack(sizes, 0), as_tensor(new_shape).type.dtype)
    result = op.stack(coordinates(flat, sizes), 1)
    if len(before) == len(after):
        # Places in the same shape stay, also those outside of it.
        equal = [op.equal(one, other) for one, other in zip(before, sizes, strict=True)]
        result = op.where(functools.reduce(op.logical_and, equal), places, result)
    return op.tuple(result, shape)


@converts("sparse_fill_empty_rows", raw=True)
def _sparse_fill_empty_rows(
    _: SimpleNamespace, sparse_indices: Value, sparse_values: Value, dense_shape: Value,
    default_value: Value,
) -> Value:  # fmt: skip
    """Return places, values, and which rows had none, all as int64, as TVM has it."""
    given = [as_tensor(one) for one in (sparse_indices, sparse_values, default_value)]
    require_indices(given[0])
    if any(one.type.dtype.startswith(("float", "bfloat")) for one in given):
        raise ValueError("expected values of integers, which come back as int64, but got floats")
    places, values, rest = (cast(one, "int64") for one in given)
    count, rank = shape_of(places)
    rows = sizes_of(dense_shape, "a shape")[0]
    numbers, row = op.arange(0, rows, 1, "int64"), op.take(places, const(0, "int64"), 1)
    hits = op.scatter_elements(op.zeros([rows], "int64"), row, op.ones([count], "int64"), 0, "add")
    is_empty = op.equal(hits, number(0, "int64"))
    # An element for each row comes after the others, and stays where there is no other.
    first = op.expand_dims(numbers, 1)
    begins = op.concat([first, op.zeros([rows, rank - 1], "int64")], 1) if rank > 1 else first
    order = op.argsort(op.concat([row, numbers], 0), 0, False, "int64")
    is_kept = op.take(op.concat([op.ones([count], "bool"), is_empty], 0), order, 0)
    kept = op.take(order, places_found(is_kept), 0)
    filled = op.broadcast_to(op.reshape(rest, [1]), [rows])
    return op.tuple(
        op.take(op.concat([places, begins], 0), kept, 0),
        op.take(op.concat([values, filled], 0), kept, 0),
        cast(is_empty, "int64"),
    )
