# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that take or put elements at places that tensors hold."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from mlir import ir

from .... import op
from ....composites.tensors import cast, matched, normal_axis, number, product, same, size_tensor
from ....core.expr import const
from ...values import Value, as_tensor, is_known, known_sizes, rank_of, shape_of
from .operands import fields, one_of, places_found
from .registry import REQUIRED, converts


def require_indices(*tensors: ir.Value) -> None:
    """Raise an error unless tensors are of integers.

    Raises
    ------
    ValueError
        If one is not.
    """
    for tensor in tensors:
        if not tensor.type.dtype.startswith(("int", "uint")):
            raise ValueError(f"expected indices of integers, but got {tensor.type.dtype}")


# -- take ---------------------------------------------------------------------------------------


@converts("take", batch_dims=0, axis=None, mode="clip")
def _take(attrs: SimpleNamespace, data: ir.Value, indices: ir.Value) -> ir.Value:
    require_indices(indices)
    mode = one_of("mode", attrs.mode, "clip", "wrap", "fast")
    if attrs.axis is None:
        flat = data if rank_of(data) == 1 else op.reshape(data, [-1])
        return op.take(flat, indices, 0, mode)
    axis, batch = normal_axis(int(attrs.axis), rank_of(data)), int(attrs.batch_dims)
    batch += rank_of(indices) if batch < 0 else 0
    if not 0 <= batch <= min(axis, rank_of(indices)):
        raise ValueError(
            f"expected batch_dims from 0 to the axis {axis} and the rank {rank_of(indices)} of "
            f"indices, but got {attrs.batch_dims}"
        )
    if not batch:
        return op.take(data, indices, axis, mode)
    return _take_of_batch(data, indices, axis, batch, mode)


def _take_of_batch(data: ir.Value, indices: ir.Value, axis: int, batch: int, mode: str) -> ir.Value:
    rank, extent = rank_of(data), size_tensor(shape_of(data)[axis])
    places = cast(indices, "int64")
    zero = number(0, "int64")
    places = op.floor_mod(places, extent) if mode == "wrap" else op.maximum(places, zero)
    between = list(range(batch, axis))
    order = [*range(batch), axis, *between, *range(axis + 1, rank)]
    moved = op.permute_dims(data, order) if between else data
    found = op.gather_nd(moved, op.expand_dims(places, rank_of(places)), batch)
    if not between:
        return found
    new = list(range(batch, rank_of(indices)))
    middle = [len(new) + i for i in between]
    end = range(batch + len(new) + len(between), rank_of(found))
    return op.permute_dims(found, [*range(batch), *middle, *new, *end])


@converts("gather", axis=REQUIRED)
def _gather(attrs: SimpleNamespace, data: ir.Value, indices: ir.Value) -> ir.Value:
    require_indices(indices)
    if rank_of(data) != rank_of(indices):
        raise ValueError(f"expected indices of rank {rank_of(data)}, but got {rank_of(indices)}")
    return op.gather_elements(data, indices, normal_axis(int(attrs.axis), rank_of(data)))


def _places_last(indices: ir.Value, rank: int) -> ir.Value:
    """Return indices whose first dimension holds places with these in the last one."""
    require_indices(indices)
    count = shape_of(indices)[0] if rank_of(indices) else None
    if not isinstance(count, int) or count > rank:
        raise ValueError(f"expected places in up to {rank} dimensions, but got {indices.type}")
    order = [*range(1, rank_of(indices)), 0]
    return op.permute_dims(indices, order) if len(order) > 1 else indices


@converts("gather_nd", batch_dims=0, index_rank=None)
def _gather_nd(attrs: SimpleNamespace, data: ir.Value, indices: ir.Value) -> ir.Value:
    batch = int(attrs.batch_dims)
    return op.gather_nd(data, _places_last(indices, rank_of(data) - batch), batch)


@converts("adv_index", raw=True)
def _adv_index(_: SimpleNamespace, inputs: Value) -> ir.Value:
    data, *indices = fields(inputs)
    require_indices(*indices)
    return op.index_tensor(data, indices)


# -- scatter ------------------------------------------------------------------------------------


@converts("scatter_elements", axis=0, reduction="update")
def _scatter_elements(
    attrs: SimpleNamespace, data: ir.Value, indices: ir.Value, updates: ir.Value
) -> ir.Value:
    require_indices(indices)
    how = one_of("reduction", attrs.reduction, "update", "add", "mul", "mean", "min", "max")
    axis = normal_axis(int(attrs.axis), rank_of(data))
    return op.scatter_elements(data, indices, _first_updates(updates, indices), axis, how)


def _first_updates(updates: ir.Value, indices: ir.Value) -> ir.Value:
    """Return as many of the updates as there are indices along each dimension."""
    mine, wanted = shape_of(updates), shape_of(indices)
    if len(mine) != len(wanted):
        return updates  # the operator says what is wrong
    axes = [i for i in range(len(mine)) if not same(mine[i], wanted[i])]
    if not axes:
        return updates
    ends = [wanted[i] for i in axes]
    part = op.strided_slice(updates, axes, [0] * len(axes), ends, [1] * len(axes))
    return matched(part, wanted)


@converts("scatter_nd", mode="update")
def _scatter_nd(
    attrs: SimpleNamespace, data: ir.Value, indices: ir.Value, updates: ir.Value
) -> ir.Value:
    how = one_of("mode", attrs.mode, "update", "add", "mul", "min", "max")
    return op.scatter_nd(data, _places_last(indices, rank_of(data)), updates, how)


@converts("invert_permutation")
def _invert_permutation(_: SimpleNamespace, data: ir.Value) -> ir.Value:
    require_indices(data)
    count, dtype = shape_of(data)[0], data.type.dtype
    places = cast(op.arange(0, count, 1, "int64"), dtype)
    return op.scatter_elements(op.zeros_like(data), data, places, 0)


# -- places -------------------------------------------------------------------------------------


def coordinates(places: ir.Value, extents: Sequence[ir.Value]) -> list[ir.Value]:
    """Return places in a flat tensor as places along each dimension."""
    result: list[ir.Value] = []
    for extent in reversed(extents):
        result.append(op.floor_mod(places, extent))
        places = op.floor_divide(places, extent)
    return result[::-1]


@converts("argwhere")
def _argwhere(_: SimpleNamespace, condition: ir.Value) -> ir.Value:
    dims = shape_of(condition)
    flags = condition
    if flags.type.dtype != "bool":
        flags = op.not_equal(flags, number(0, flags.type.dtype))
    if len(dims) != 1:
        flags = op.reshape(flags, [product(dims)])
    places = places_found(flags)
    if not dims:
        return op.zeros([shape_of(places)[0], 0], "int32")
    parts = coordinates(places, [size_tensor(dim) for dim in dims])
    return cast(op.stack(parts, 1), "int32")


def elements_of(vector: Value, dtype: str) -> list[ir.Value]:
    """Return the elements of a vector as tensors of rank 0.

    Raises
    ------
    NotImplementedError
        If it is not known how many there are.
    """
    if is_known(vector):
        return [size_tensor(one, dtype) for one in known_sizes(vector, "a shape")]
    count = shape_of(vector)[0]
    if not isinstance(count, int):
        raise NotImplementedError(f"expected a vector of known length, but got {vector.type}")
    return [cast(op.take(vector, const(i, "int64"), 0), dtype) for i in range(count)]


@converts("unravel_index", raw=True)
def _unravel_index(_: SimpleNamespace, indices: Value, shape: Value) -> ir.Value:
    places = as_tensor(indices)
    require_indices(places)
    return op.stack(coordinates(places, elements_of(shape, places.type.dtype)), 0)
