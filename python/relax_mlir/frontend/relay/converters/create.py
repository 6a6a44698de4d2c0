# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make tensors of numbers, and that say how large tensors are."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from mlir import ir

from .... import op
from ....composites.tensors import cast, number, product
from ....core.expr import const
from ....core.ir import Dim
from ...values import (
    Sizes,
    Value,
    as_tensor,
    dtype_of,
    is_known,
    known,
    known_array,
    rank_of,
    shape_of,
)
from .data_sizes import size_of, sizes_of
from .operands import counted, dtype_or, fields, ints, one_of, scalar_size
from .registry import REQUIRED, converts


def _filled(dims: Sequence[int | Dim], value: ir.Value, dtype: str) -> ir.Value:
    if rank_of(value):
        raise ValueError(f"expected a fill value of rank 0, but got rank {rank_of(value)}")
    return op.full(list(dims), cast(value, dtype), dtype)


@converts("zeros", shape=REQUIRED, dtype=REQUIRED)
def _zeros(attrs: SimpleNamespace) -> ir.Value:
    return op.zeros(ints(attrs.shape), attrs.dtype)


@converts("ones", shape=REQUIRED, dtype=REQUIRED)
def _ones(attrs: SimpleNamespace) -> ir.Value:
    return op.ones(ints(attrs.shape), attrs.dtype)


@converts("full", shape=(), dtype=None)
def _full(attrs: SimpleNamespace, fill_value: ir.Value) -> ir.Value:
    return _filled(ints(attrs.shape), fill_value, dtype_or(attrs.dtype, fill_value.type.dtype))


@converts("dyn.zeros", raw=True, shape=None, dtype=REQUIRED)
def _dyn_zeros(attrs: SimpleNamespace, shape: Value) -> ir.Value:
    return op.zeros(sizes_of(shape, "a shape"), attrs.dtype)


@converts("dyn.ones", raw=True, shape=None, dtype=REQUIRED)
def _dyn_ones(attrs: SimpleNamespace, shape: Value) -> ir.Value:
    return op.ones(sizes_of(shape, "a shape"), attrs.dtype)


@converts("dyn.full", raw=True, shape=None, dtype=None)
def _dyn_full(attrs: SimpleNamespace, fill_value: Value, shape: Value) -> ir.Value:
    dtype = dtype_or(attrs.dtype, dtype_of(fill_value))
    return _filled(sizes_of(shape, "a shape"), as_tensor(fill_value), dtype)


@converts("zeros_like")
def _zeros_like(_: SimpleNamespace, data: ir.Value) -> ir.Value:
    return op.zeros_like(data)


@converts("ones_like")
def _ones_like(_: SimpleNamespace, data: ir.Value) -> ir.Value:
    return op.ones_like(data)


@converts("full_like")
def _full_like(_: SimpleNamespace, data: ir.Value, fill_value: ir.Value) -> ir.Value:
    return _filled(shape_of(data), fill_value, data.type.dtype)


# The attributes say the same as the operands.
@converts("arange", raw=True, start=None, stop=None, step=None, dtype=None)
def _arange(attrs: SimpleNamespace, start: Value, stop: Value, step: Value) -> ir.Value:
    dtype = dtype_or(attrs.dtype, dtype_of(stop))
    given = (start, stop, step)
    if any(isinstance(one, Sizes) for one in given):
        first, end, by = (scalar_size(one, "a range") for one in given)
        return cast(op.arange(first, end, by, "int64"), dtype)
    if not all(is_known(one) for one in given):
        return _arange_of_data([as_tensor(one) for one in given], dtype)
    first, end, by = (known_array(one, "a range").astype("float64").item() for one in given)
    count = int(np.ceil((end - first) / by)) if by else 0
    if count <= 0:
        raise ValueError(f"expected a range of elements, but got {first} to {end} by {by}")
    return const((first + np.arange(count) * by).astype(dtype), dtype)


def _arange_of_data(given: Sequence[ir.Value], dtype: str) -> ir.Value:
    """Return a range whose length the program computes."""
    first, last, by = (cast(op.reshape(one, []), "float64") for one in given)
    length = cast(op.ceil(op.divide(op.subtract(last, first), by)), "int64")
    count = size_of(op.maximum(length, number(0, "int64")), "a length")
    places = cast(op.arange(0, count, 1, "int64"), dtype)
    begin, by = (cast(op.reshape(one, []), dtype) for one in (given[0], given[2]))
    return op.add(begin, op.multiply(places, by))


@converts("meshgrid", raw=True, indexing="ij")
def _meshgrid(attrs: SimpleNamespace, data: Value) -> Value:
    return op.meshgrid(fields(data), one_of("indexing", attrs.indexing, "ij", "xy"))


# -- one hot, triangles -------------------------------------------------------------------------


def _hot(
    attrs: SimpleNamespace, indices: ir.Value, on: ir.Value, off: ir.Value, depth: int | Dim
) -> ir.Value:
    rank = rank_of(indices) + 1
    axis = rank - 1 if attrs.axis == -1 else int(attrs.axis)
    if not 0 <= axis < rank:
        raise ValueError(f"expected an axis from -1 to {rank - 1}, but got {attrs.axis}")
    dtype = dtype_or(attrs.dtype, on.type.dtype)
    places = op.expand_dims(cast(indices, "int64"), axis)
    is_on = op.equal(places, counted(depth, axis, rank))
    return op.where(is_on, cast(on, dtype), cast(off, dtype))


@converts("one_hot", depth=1, axis=-1, dtype=None)
def _one_hot(
    attrs: SimpleNamespace, indices: ir.Value, on_value: ir.Value, off_value: ir.Value
) -> ir.Value:
    if attrs.depth < 1:
        raise ValueError(f"expected a depth of 1 or more, but got {attrs.depth}")
    return _hot(attrs, indices, on_value, off_value, int(attrs.depth))


@converts("dyn.one_hot", raw=True, depth=None, axis=-1, dtype=None)
def _dyn_one_hot(
    attrs: SimpleNamespace, indices: Value, on_value: Value, off_value: Value, depth: Value
) -> ir.Value:
    places, on, off = (as_tensor(one) for one in (indices, on_value, off_value))
    return _hot(attrs, places, on, off, size_of(depth, "a depth"))


@converts("trilu", raw=True, upper=True)
def _trilu(attrs: SimpleNamespace, data: Value, k: Value) -> ir.Value:
    x = as_tensor(data)
    if is_known(k):
        return (op.triu if attrs.upper else op.tril)(x, scalar_size(k, "a diagonal"))
    rank, dims = rank_of(x), shape_of(x)
    if rank < 2:
        raise ValueError(f"expected a tensor of rank 2 or more, but got rank {rank}")
    row, column = (counted(dims[rank - 2 + i], i, 2) for i in range(2))
    diagonal = op.subtract(column, row)
    border = op.reshape(cast(k, "int64"), [])
    keep = (op.greater_equal if attrs.upper else op.less_equal)(diagonal, border)
    return op.where(keep, x, number(0, x.type.dtype))


# -- sizes --------------------------------------------------------------------------------------


@converts("shape_of", raw=True, dtype="int32")
def _shape_of(attrs: SimpleNamespace, data: Value) -> Value:
    dims = shape_of(data)
    elements: Any = np.array(0, object)  # as TVM has it of a tensor without dimensions
    if dims:
        elements = np.empty(len(dims), object)
        elements[:] = dims
    return known(elements, dtype_or(attrs.dtype, "int32"))


@converts("ndarray_size", raw=True, dtype="int32")
def _ndarray_size(attrs: SimpleNamespace, data: Value) -> Value:
    count = product(shape_of(data))
    return known(np.array(count, object), dtype_or(attrs.dtype, "int32"))
