# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen on shapes: they move elements, and compute none."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.kernels import bind_size
from ...composites.windows import sliding_windows
from ...core.expr import const
from ...core.ir import Dim, ShapeExpr
from .registry import Graph, cast, converts, known, normal_axis, part, product, shape_of
from .shapes import as_shape, bound_symbols


@converts(
    "view.default", "reshape.default", "_unsafe_view.default", "view_copy.default",
    "flatten.using_ints",
    "unflatten.int", "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default",
    "reshape_as.default", "view_as.default", "_reshape_copy.default",
)  # fmt: skip
def _reshape(graph: Graph, x: ir.Value, *_: Any) -> ir.Value:
    return op.reshape(x, graph.shape)


@converts("permute.default", "permute_copy.default")
def _permute(graph: Graph, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    return op.permute_dims(x, axes) if axes else x


@converts("transpose.int")
def _transpose(graph: Graph, x: ir.Value, first: int, second: int) -> ir.Value:
    axes = list(range(graph.rank_of(0)))
    if not axes:
        return x
    axes[first], axes[second] = axes[second], axes[first]
    return op.permute_dims(x, axes)


@converts("t.default", "numpy_T.default")
def _t(graph: Graph, x: ir.Value) -> ir.Value:
    return op.permute_dims(x) if graph.rank_of(0) > 1 else x


@converts("expand.default", "expand_as.default", "broadcast_to.default")
def _expand(graph: Graph, x: ir.Value, *_: Any, **__: Any) -> ir.Value:
    return op.broadcast_to(x, graph.shape)


@converts("copy.default")
def _copy(graph: Graph, _: Any, source: ir.Value, non_blocking: bool = False) -> ir.Value:
    source = cast(source, graph.dtype)
    same = list(map(str, graph.shape_of(1))) == list(map(str, graph.shape))
    return source if same else op.broadcast_to(source, graph.shape)


@converts("cat.default", "concat.default", "concatenate.default")
def _cat(graph: Graph, tensors: Sequence[ir.Value], axis: int = 0) -> ir.Value:
    rank = len(graph.shape)
    # Vectors without elements fit all tensors.
    fitting = [tensor for tensor in tensors if len(shape_of(tensor)) == rank]
    return op.concat([cast(tensor, graph.dtype) for tensor in fitting], normal_axis(axis, rank))


@converts("stack.default")
def _stack(graph: Graph, tensors: Sequence[ir.Value], axis: int = 0) -> ir.Value:
    axis = normal_axis(axis, len(graph.shape))
    rows = [op.expand_dims(cast(tensor, graph.dtype), axis) for tensor in tensors]
    return op.concat(rows, axis)


@converts(
    "chunk.default", "split.Tensor", "split_with_sizes.default", "split.default", "split.sizes",
)  # fmt: skip
def _split(graph: Graph, x: ir.Value, parts: Any, axis: int = 0) -> list[ir.Value]:
    axis = normal_axis(axis, graph.rank_of(0))
    sizes = [as_shape(one.shape)[axis] for one in graph.results]
    numbers = [size.value for size in sizes if size.value is not None]
    if len(sizes) == 1:
        return [x]
    if len(numbers) == len(sizes):
        pieces = op.split(x, list(itertools.accumulate(numbers))[:-1], axis)
        return [pieces[i] for i in range(len(sizes))]
    ends = list(itertools.accumulate(sizes))
    return [part(x, axis, end - size, end) for end, size in zip(ends, sizes, strict=True)]


@converts("unbind.int", "unbind_copy.int")
def _unbind(graph: Graph, x: ir.Value, axis: int = 0) -> list[ir.Value]:
    axis = normal_axis(axis, graph.rank_of(0))
    return [op.squeeze(part(x, axis, i, i + 1), [axis]) for i in range(len(graph.results))]


def _place(place: Any, extent: Dim) -> Dim:
    """Return the first place of a slice, counted from the begin."""
    begin = Dim(0 if place is None else place)
    if begin.value is not None and begin.value < 0:
        begin = extent + begin
    if begin.value is not None and extent.value is not None:
        return Dim(min(max(begin.value, 0), extent.value))
    return begin


@converts("slice.Tensor")
def _slice(
    graph: Graph, x: ir.Value, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> ir.Value:
    axis = normal_axis(axis, graph.rank_of(0))
    if found := bound_symbols(graph.node):
        return _slice_of_data(x, axis, start, end, step, Dim(found[0]))
    extent, size = graph.shape_of(0)[axis], graph.shape[axis]
    if extent == size and step == 1:
        return x
    begin = _place(start, extent)
    last = begin + (size if step == 1 else (size - 1) * step + 1)
    if size.value == 0:
        last = begin
    return op.strided_slice(x, [axis], [begin], [last], [step], assume_inbound=True)


def _slice_of_data(x: ir.Value, axis: int, start: Any, end: Any, step: int, size: Dim) -> ir.Value:
    """Return a slice whose places were found in data, and bind its size."""
    if step != 1:
        raise NotImplementedError(f"a slice by {step} of a size that depends on data")
    extent = shape_of(x)[axis]
    begin = Dim(0) if start is None else _inside(Dim(start), extent)
    last = extent if end is None else _inside(Dim(end), extent)
    bind_size(size, ShapeExpr([last.max(begin) - begin]))
    return part(x, axis, begin, begin + size)


def _inside(place: Dim, extent: Dim) -> Dim:
    """Return a place counted from the begin, and none beyond the end."""
    if place.value is not None and place.value < 0:
        return (extent + place).max(0)
    return place.min(extent)


@converts("narrow.default", "narrow_copy.default")
def _narrow(graph: Graph, x: ir.Value, axis: int, start: Any, length: Any) -> ir.Value:
    return _slice(graph, x, axis, start)


@converts("select.int")
def _select(graph: Graph, x: ir.Value, axis: int, index: Any) -> ir.Value:
    axis = normal_axis(axis, graph.rank_of(0))
    place = _place(index, graph.shape_of(0)[axis])
    return op.squeeze(part(x, axis, place, place + 1), [axis])


@converts("slice_scatter.default")
def _slice_scatter(
    graph: Graph, x: ir.Value, source: ir.Value, axis: int = 0, start: Any = None, end: Any = None,
    step: int = 1,
) -> ir.Value:  # fmt: skip
    axis = normal_axis(axis, len(graph.shape))
    extent, length = graph.shape[axis], graph.shape_of(1)[axis]
    begin = _place(start, extent)
    if step == 1:
        return _replaced(x, cast(source, graph.dtype), axis, begin, begin + length)
    places = op.arange(begin, begin + length * step, step, "int64")
    order = [axis, *(i for i in range(len(graph.shape)) if i != axis)]
    rows, new = (op.permute_dims(one, order) for one in (x, cast(source, graph.dtype)))
    result = op.scatter_nd(rows, op.expand_dims(places, 1), new)
    return op.permute_dims(result, [order.index(i) for i in range(len(order))])


def _replaced(x: ir.Value, source: ir.Value, axis: int, begin: Dim, end: Dim) -> ir.Value:
    """Return a tensor with other elements from begin to end."""
    extent = shape_of(x)[axis]
    pieces = [] if begin.value == 0 else [part(x, axis, 0, begin)]
    pieces.append(source)
    if end != extent:
        pieces.append(part(x, axis, end, extent))
    return source if len(pieces) == 1 else op.concat(pieces, axis)


@converts("select_scatter.default")
def _select_scatter(graph: Graph, x: ir.Value, source: ir.Value, axis: int, index: Any) -> ir.Value:
    axis = normal_axis(axis, len(graph.shape))
    place = _place(index, graph.shape[axis])
    row = op.expand_dims(cast(source, graph.dtype), axis)
    return _replaced(x, row, axis, place, place + 1)


@converts("repeat.default", "tile.default")
def _repeat(graph: Graph, x: ir.Value, repeats: Sequence[Any]) -> ir.Value:
    counts = [Dim(one) for one in repeats]
    numbers = [one.value for one in counts if one.value is not None]
    if len(numbers) == len(counts):
        return op.tile(x, numbers) if numbers else x
    dims = [Dim(1)] * (len(counts) - graph.rank_of(0)) + graph.shape_of(0)
    # Each dimension is one of 1 beside it, broadcast to the number of times.
    pairs = [one for dim in dims for one in (Dim(1), dim)]
    wide = [one for pair in zip(counts, dims, strict=True) for one in pair]
    return op.reshape(op.broadcast_to(op.reshape(x, pairs), wide), graph.shape)


@converts("repeat_interleave.self_int")
def _repeat_interleave(
    graph: Graph, x: ir.Value, repeats: Any, axis: int | None = None, output_size: Any = None
) -> ir.Value:
    dims = graph.shape_of(0) if axis is not None else [product(graph.shape_of(0))]
    axis = 0 if axis is None else normal_axis(axis, len(dims))
    before, after = dims[: axis + 1], dims[axis + 1 :]
    single = op.reshape(x, [*before, 1, *after])
    return op.reshape(op.broadcast_to(single, [*before, repeats, *after]), graph.shape)


@converts("flip.default")
def _flip(graph: Graph, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    for axis in axes if graph.rank_of(0) else []:
        x = op.flip(x, normal_axis(axis, graph.rank_of(0)))
    return x


@converts("roll.default")
def _roll(graph: Graph, x: ir.Value, shifts: Any, axes: Any = ()) -> ir.Value:
    shifts, axes = ([one] if isinstance(one, (int, Dim)) else one for one in (shifts, axes))
    if axes:
        for shift, axis in zip(shifts, axes, strict=True):
            x = _rolled(x, shift, normal_axis(axis, graph.rank_of(0)))
        return x
    flat = _rolled(op.reshape(x, [product(graph.shape)]), shifts[0], 0)
    return op.reshape(flat, graph.shape)


def _rolled(x: ir.Value, shift: Any, axis: int) -> ir.Value:
    extent = shape_of(x)[axis]
    # Nothing is moved where there are no elements.
    begin = -Dim(shift) % extent.max(1)
    if begin.value == 0:
        return x
    return op.concat([part(x, axis, begin, extent), part(x, axis, 0, begin)], axis)


@converts("unfold.default")
def _unfold(graph: Graph, x: ir.Value, axis: int, size: int, step: int) -> ir.Value:
    rank = graph.rank_of(0)
    if rank == 0:
        return op.reshape(x, graph.shape)
    return sliding_windows(x, normal_axis(axis, rank), graph.shape, step)


@converts("diagonal.default")
def _diagonal(
    graph: Graph, x: ir.Value, offset: int = 0, first: int = 0, second: int = 1
) -> ir.Value:
    rank, dims = graph.rank_of(0), graph.shape_of(0)
    first, second = normal_axis(first, rank), normal_axis(second, rank)
    others = [i for i in range(rank) if i not in (first, second)]
    rows, columns = dims[first], dims[second]
    matrices = op.permute_dims(x, [*others, first, second])
    flat = op.reshape(matrices, [*(dims[i] for i in others), rows * columns])
    begin = Dim(offset) if offset >= 0 else columns * -offset
    stride, count = columns + 1, graph.shape[-1]
    places = op.arange(begin, begin + count * stride, stride, "int64")
    return op.take(flat, places, rank - 2)


@converts("as_strided.default", "as_strided_copy.default")
def _as_strided(
    graph: Graph, x: ir.Value, size: Sequence[Any], stride: Sequence[Any], offset: Any = None
) -> ir.Value:
    meta = graph.meta(0)
    dims = known(graph.shape, "the result of as_strided")
    extent = known([product(graph.shape_of(0))], "the tensor of as_strided")[0]
    if not meta.is_contiguous() or meta.storage_offset() != 0:
        raise NotImplementedError("as_strided of a tensor that is a view of another")
    places = np.full(dims, offset or 0, "int64")
    for axis, step in enumerate(stride):
        shape = [1] * len(dims)
        shape[axis] = dims[axis]
        places = places + step * np.arange(dims[axis]).reshape(shape)
    if places.size and places.max() >= extent:
        raise NotImplementedError("as_strided beyond the tensor")
    return op.take(op.reshape(x, [extent]), const(places), 0)


@converts("pixel_shuffle.default", "pixel_unshuffle.default")
def _pixel_shuffle(graph: Graph, x: ir.Value, factor: int) -> ir.Value:
    *batch, channels, height, width = graph.shape_of(0)
    count, wanted = len(batch), graph.shape
    if graph.kind == "pixel_shuffle":
        depth = known([channels], "channels")[0] // (factor * factor)
        parts = [*batch, depth, factor, factor, height, width]
        order = [0, 3, 1, 4, 2]
    else:
        parts = [*batch, channels, wanted[-2], factor, wanted[-1], factor]
        order = [0, 2, 4, 1, 3]
    axes = [*range(count), *(count + axis for axis in order)]
    return op.reshape(op.permute_dims(op.reshape(x, parts), axes), wanted)
