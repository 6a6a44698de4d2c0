# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices, and tensors with slices replaced."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...core.ir import Dim
from .registry import Node, converts
from .values import (
    Rows,
    Size,
    Spread,
    Value,
    as_known,
    as_tensor,
    cast,
    ints,
    known_sizes,
    number,
    part,
    rank_of,
    shape_of,
    size_tensor,
)


@converts("stablehlo.slice", raw=True)
def _slice(node: Node, x: Value) -> Value:
    names = ("start_indices", "limit_indices", "strides")
    return _sliced(x, *(node.attr(name) for name in names))


@converts("stablehlo.real_dynamic_slice", raw=True)
def _real_dynamic_slice(node: Node, x: Value, *places: Value) -> Value:
    steps = ints(known_sizes(places[2], "strides"), "strides")
    if as_known(places[0]) is None and all(step == 1 for step in steps):
        return _moving(node, x, as_tensor(places[0]))
    begins, ends = (known_sizes(one, "a place of a slice") for one in places[:2])
    return _sliced(x, begins, ends, steps)


def _moving(node: Node, x: Value, begins: ir.Value) -> Value:
    """Return a slice that begins where data says, and has a known size."""
    _, first, limit, _ = node.operation.operands
    last = getattr(limit.owner, "operation", None)
    operands = [] if last is None or last.name != "stablehlo.add" else list(last.operands)
    if first not in operands:
        raise NotImplementedError(
            "expected a slice from places that are data to these and a known size, as jax.export "
            "writes it"
        )
    extents = operands[1 - operands.index(first)]
    sizes = known_sizes(node.scope[extents], "a size of a slice")
    value = as_tensor(x)
    for axis, (dim, extent) in enumerate(zip(shape_of(x), sizes, strict=True)):
        if not node.importer.dimensions.same(dim, extent):
            begin = op.reshape(part(begins, 0, axis, axis + 1), [])
            value = _taken(value, cast(begin, "int64"), extent, axis)
    return value


def _sliced(x: Value, begins: Sequence[Size], ends: Sequence[Size], steps: Sequence[int]) -> Value:
    dims = shape_of(x)
    if isinstance(x, Spread) and rank_of(x.source) == 0:
        extents = [(e - b + s - 1) // s for b, e, s in zip(begins, ends, steps, strict=True)]
        return Spread(x.source, tuple(extents))
    axes = [
        i for i, dim in enumerate(dims) if (begins[i], ends[i], steps[i]) != (0, dim, 1)
    ]  # fmt: skip
    if not axes:
        return x
    row = _row(x, begins[0], ends[0]) if axes == [0] and steps[0] == 1 else None
    if row is not None:
        return row
    first, last, step = ([places[i] for i in axes] for places in (begins, ends, steps))
    return op.strided_slice(as_tensor(x), axes, first, last, step, assume_inbound=True)


def _row(x: Value, begin: Any, end: Any) -> ir.Value | None:
    """Return a part that replaced another one."""
    if not isinstance(x, Rows) or begin not in x.parts:
        return None
    last, value = x.parts[begin]
    return value if last == end else None


def _starts(node: Node, x: Value, starts: Sequence[Value], sizes: Sequence[Size]) -> list[Any]:
    """Return where a slice begins, nearest to what is said but inside of the tensor.

    Each is a size where it is known, and a tensor of rank 0 elsewhere.
    """
    dimensions = node.importer.dimensions
    begins: list[Any] = []
    for start, dim, extent in zip(starts, shape_of(x), sizes, strict=True):
        room = dim - extent
        if dimensions.same(room, 0):
            begins.append(0)
        elif as_known(start) is not None:
            begins.append(_clamped(dimensions, known_sizes(start, "a start")[0], room))
        else:
            place, low = cast(as_tensor(start), "int64"), number(0, "int64")
            high = size_tensor(room, "int64")
            begins.append(op.minimum(op.maximum(place, low), high))
    return begins


def _clamped(dimensions: Any, begin: Size, room: Size) -> Size:
    if not dimensions.at_most(0, begin):
        begin = max(begin, 0) if isinstance(begin, int) else begin.max(0)
    if dimensions.at_most(begin, room):
        return begin
    if isinstance(begin, int) and isinstance(room, int):
        return min(begin, room)
    return Dim(room).min(begin)


@converts("stablehlo.dynamic_slice", raw=True)
def _dynamic_slice(node: Node, x: Value, *starts: Value) -> Value:
    sizes = node.attr("slice_sizes")
    begins = _starts(node, x, starts, sizes)
    known = [not isinstance(begin, ir.Value) for begin in begins]
    lows = [b if k else 0 for b, k in zip(begins, known, strict=True)]
    ends = [
        b + n if k else dim for b, n, k, dim in zip(begins, sizes, known, shape_of(x), strict=True)
    ]
    value = _sliced(x, lows, ends, [1] * len(sizes))
    for axis, begin in enumerate(begins):
        if isinstance(begin, ir.Value):
            value = _taken(as_tensor(value), begin, sizes[axis], axis)
    return value


def _taken(x: ir.Value, begin: ir.Value, extent: Size, axis: int) -> ir.Value:
    if extent == 1:
        return op.take(x, op.reshape(begin, [1]), axis)
    return op.take(x, op.add(begin, op.arange(0, extent, 1, "int64")), axis)


@converts("stablehlo.dynamic_update_slice", raw=True)
def _dynamic_update_slice(node: Node, x: Value, update: Value, *starts: Value) -> Value:
    dims, sizes = shape_of(x), shape_of(update)
    begins = _starts(node, x, starts, sizes)
    same = node.importer.dimensions.same
    partial = [i for i, (a, b) in enumerate(zip(dims, sizes, strict=True)) if not same(a, b)]
    if not partial:
        return update
    if partial == [0] and all(isinstance(n, int) for n in (begins[0], dims[0], sizes[0])):
        rows = _with_rows(x, begins[0], begins[0] + sizes[0], as_tensor(update))
        if rows is not None:
            return rows
    tensor, block = as_tensor(x), as_tensor(update)
    if len(partial) == 1:
        return _replaced(tensor, block, partial[0], begins[partial[0]])
    return _overlaid(tensor, block, partial, begins)


def _with_rows(x: Value, begin: int, end: int, update: ir.Value) -> Rows | None:
    """Return a tensor with rows replaced, unless these are a part of those replaced before."""
    base, parts = (x.base, dict(x.parts)) if isinstance(x, Rows) else (x, {})
    if any(b < end and begin < e and (b, e) != (begin, end) for b, (e, _) in parts.items()):
        return None
    parts[begin] = (end, update)
    return Rows(base if isinstance(base, (Spread, np.ndarray)) else as_tensor(base), parts)


def _replaced(x: ir.Value, update: ir.Value, axis: int, begin: Any) -> ir.Value:
    """Return a tensor with a slice along one axis replaced."""
    dim, extent = shape_of(x)[axis], shape_of(update)[axis]
    if isinstance(begin, ir.Value):
        places = op.add(begin, op.arange(0, extent, 1, "int64"))
        if axis == 0:
            return op.scatter_nd(x, op.reshape(places, [extent, 1]), update)
        return _overlaid(x, update, [axis], {axis: begin})
    pieces = [part(x, axis, 0, begin)] if begin != 0 else []
    pieces.append(update)
    if begin + extent != dim:
        pieces.append(part(x, axis, begin + extent, dim))
    return op.concat(pieces, axis)


def _overlaid(x: ir.Value, update: ir.Value, axes: Sequence[int], begins: Any) -> ir.Value:
    """Return a tensor with a block replaced: each element says whether it is in the block."""
    dims, inside = shape_of(x), []
    rank = len(dims)
    for axis in axes:
        extent = shape_of(update)[axis]
        begin = begins[axis]
        start = begin if isinstance(begin, ir.Value) else size_tensor(begin, "int64")
        places = op.subtract(op.arange(0, dims[axis], 1, "int64"), start)
        end = size_tensor(extent, "int64")
        is_in = op.logical_and(
            op.greater_equal(places, number(0, "int64")), op.less(places, end)
        )  # fmt: skip
        shape: list[Size] = [1] * rank
        shape[axis] = dims[axis]
        inside.append(op.reshape(is_in, shape))
        update = op.take(update, places, axis)
    return op.where(functools.reduce(op.logical_and, inside), update, x)
