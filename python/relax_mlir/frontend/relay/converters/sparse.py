# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on tensors of which only some elements are stored, with their places."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from mlir import ir

from .... import op
from ....composites.tensors import cast, matched, number, same, size_tensor
from ....core.expr import const
from ....core.ir import Dim
from ...values import Value, as_tensor, is_known, rank_of, shape_of
from .data_sizes import size_of, sizes_of
from .index import require_indices
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


def _steps(extents: ir.Value) -> ir.Value:
    """Return how far apart neighbours along each dimension are in a flat tensor."""
    return op.flip(op.cumprod(op.flip(extents, 0), 0, extents.type.dtype, True), 0)


@converts("sparse_reshape")
def _sparse_reshape(
    _: SimpleNamespace, sparse_indices: ir.Value, prev_shape: ir.Value, new_shape: ir.Value
) -> Value:
    require_indices(sparse_indices)
    dtype = sparse_indices.type.dtype
    before, after = cast(prev_shape, dtype), cast(new_shape, dtype)
    count, rank = shape_of(sparse_indices)
    places = matched(sparse_indices, [count, shape_of(before)[0]])
    flat = op.sum(op.multiply(places, op.expand_dims(_steps(before), 0)), [1], True)
    # One new dimension may be -1: it has what the others leave.
    is_left, one = op.less(after, number(0, dtype)), number(1, dtype)
    others = op.maximum(op.prod(op.where(is_left, one, after)), one)
    sizes = op.where(is_left, op.floor_divide(op.prod(before), others), after)
    counted = op.floor_divide(flat, op.expand_dims(_steps(sizes), 0))
    result = op.floor_mod(counted, op.expand_dims(sizes, 0))
    length = shape_of(after)[0]
    if same(length, rank) is not False:
        # Places in the same shape stay, also those outside of it.
        fitting = op.take(sizes, op.arange(0, shape_of(before)[0], 1, "int64"), 0, mode="clip")
        is_same = cast(op.min(cast(op.equal(before, fitting), "uint8")), "bool")
        is_same = op.logical_and(is_same, op.equal(size_tensor(rank), size_tensor(length)))
        kept = op.take(places, op.arange(0, length, 1, "int64"), 1, mode="clip")
        result = op.where(is_same, kept, result)
    return op.tuple(result, cast(sizes, new_shape.type.dtype))


def _rows(shape: Value) -> int | Dim:
    """Return the first of the sizes that an operand says."""
    if is_known(shape):
        return sizes_of(shape, "a shape")[0]
    return size_of(op.take(as_tensor(shape), const(0, "int64"), 0), "a number of rows")


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
    rows = _rows(dense_shape)
    numbers, row = op.arange(0, rows, 1, "int64"), op.take(places, const(0, "int64"), 1)
    hits = op.scatter_elements(op.zeros([rows], "int64"), row, op.ones([count], "int64"), 0, "add")
    is_empty = op.equal(hits, number(0, "int64"))
    # An element for each row comes after the others, and stays where there is no other.
    first = op.expand_dims(numbers, 1)
    others = op.zeros([rows, rank - 1], "int64")
    begins = first if same(rank, 1) else op.concat([first, others], 1)
    order = op.argsort(op.concat([row, numbers], 0), 0, False, "int64")
    is_kept = op.take(op.concat([op.ones([count], "bool"), is_empty], 0), order, 0)
    kept = op.take(order, places_found(is_kept), 0)
    filled = op.broadcast_to(op.reshape(rest, [1]), [rows])
    return op.tuple(
        op.take(op.concat([places, begins], 0), kept, 0),
        op.take(op.concat([values, filled], 0), kept, 0),
        cast(is_empty, "int64"),
    )
