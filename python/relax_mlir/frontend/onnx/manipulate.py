# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on shapes: they move elements, and compute none."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.padding import pad
from ...composites.tensors import (
    cast,
    facts,
    matched,
    normal_axis,
    number,
    product,
    quotient,
    same,
    size,
    size_tensor,
)
from ...core.expr import const
from ...core.ir import Dim
from ..values import (
    Sizes,
    Value,
    dtype_of,
    is_known,
    known,
    known_array,
    known_ints,
    known_sizes,
    rank_of,
    shape_of,
    sizes,
)
from .folding import part_sizes
from .model import array_of
from .model import dtype_of as dtype_of_onnx
from .registry import Node, converter
from .selection import part_by_data


@converter("Constant", raw=None)
def _constant(node: Node) -> Value:
    names = list(node.attributes)
    if len(names) != 1:
        raise ValueError(f"expected one attribute, but got {names}")
    name = names[0]
    if name == "value":
        return node.importer.array(node.attr("value"))
    dtypes = {"value_int": "int64", "value_ints": "int64", "value_float": "float32",
              "value_floats": "float32"}  # fmt: skip
    if name not in dtypes:
        raise NotImplementedError(f"expected attribute value of numbers, but got {name}")
    return np.array(node.attr(name), dtypes[name])


@converter("Shape", raw=None)
def _shape(node: Node, x: Value) -> Value:
    dims = shape_of(x)
    return sizes(dims[node.attr("start", 0) : node.attr("end", None)])


@converter("Size", raw=None)
def _size(_: Node, x: Value) -> Value:
    return known(np.array(product(shape_of(x)), object), "int64")


@converter("Reshape", raw=(1,))
def _reshape(node: Node, x: ir.Value, shape: Value) -> ir.Value:
    dims, wanted = shape_of(x), known_sizes(shape, "a shape")
    if not node.attr("allowzero", 0):
        if any(dim == 0 and i >= len(dims) for i, dim in enumerate(wanted)):
            raise ValueError(f"expected a 0 for one of {len(dims)} dimensions, but got {wanted}")
        wanted = [dims[i] if dim == 0 else dim for i, dim in enumerate(wanted)]
    return reshape(x, wanted)


def reshape(x: ir.Value, dims: Sequence[int | Dim]) -> ir.Value:
    """Return a tensor in another shape, of which one dimension may be -1."""
    wanted = [size(dim) for dim in dims]
    if wanted.count(-1) == 1:
        others = [dim for dim in wanted if dim != -1]
        if 0 in others:
            raise ValueError("expected no dimension of 0 beside one of -1")
        wanted[wanted.index(-1)] = quotient(shape_of(x), others)
    return op.reshape(x, wanted)


@converter("Flatten")
def _flatten(node: Node, x: ir.Value) -> ir.Value:
    dims, axis = shape_of(x), node.attr("axis", 1)
    axis += len(dims) if axis < 0 else 0
    return op.reshape(x, [product(dims[:axis]), product(dims[axis:])])


@converter("Transpose")
def _transpose(node: Node, x: ir.Value) -> ir.Value:
    axes = node.attr("perm", None) or list(reversed(range(rank_of(x))))
    return x if axes == list(range(rank_of(x))) else op.permute_dims(x, axes)


def axes_of(node: Node, given: Value) -> list[int] | None:
    """Return the axes that an operator gets as an input, or as an attribute before."""
    if given is not None:
        return known_ints(given, "axes")
    axes = node.attr("axes", None)
    return None if axes is None else list(axes)


@converter("Squeeze", raw=(1,))
def _squeeze(node: Node, x: ir.Value, axes: Value = None) -> ir.Value:
    given, dims = axes_of(node, axes), shape_of(x)
    if given is None:
        given = [i for i, dim in enumerate(dims) if dim == 1]
        if any(same(dim, 1) is None for dim in dims):
            raise NotImplementedError("expected axes for a tensor of symbolic dimensions")
    return op.squeeze(x, given) if given else x


@converter("Unsqueeze", raw=(1,))
def _unsqueeze(node: Node, x: ir.Value, axes: Value = None) -> ir.Value:
    given = axes_of(node, axes)
    if given is None:
        raise ValueError("expected axes")
    return op.expand_dims(x, given) if given else x


@converter("Expand", raw=(1,))
def _expand(_: Node, x: ir.Value, shape: Value) -> ir.Value:
    return expand(x, known_sizes(shape, "a shape"))


def expand(x: ir.Value, wanted: Sequence[int | Dim]) -> ir.Value:
    """Return a tensor broadcast to a shape, each to the other.

    Symbolic sizes of which it is not known whether they are equal have to be, as in arithmetic: the
    program checks it when it runs.
    """
    dims = shape_of(x)
    rank = max(len(dims), len(wanted))
    others = [1] * (rank - len(wanted)) + list(wanted)
    inner = zip(dims, others[rank - len(dims) :], strict=True)
    x = matched(x, [other if _is_open(mine, other) else mine for mine, other in inner])
    pairs = zip([1] * (rank - len(dims)) + shape_of(x), others, strict=True)
    return op.broadcast_to(x, [_broadcast(mine, other) for mine, other in pairs])


def _is_open(mine: int | Dim, other: int | Dim) -> bool:
    both = (mine, other)
    return all(isinstance(dim, Dim) for dim in both) and same(mine, other) is None


def _broadcast(mine: int | Dim, other: int | Dim) -> int | Dim:
    if mine == 1:
        return other
    if other == 1 or same(mine, other):
        return mine
    # A number that is not 1 is the size of both, or else the program stops.
    if isinstance(other, int):
        return other
    if isinstance(mine, int):
        return mine
    raise NotImplementedError(f"expected sizes that may be equal, but got {mine} and {other}")


@converter("Concat", raw=None)
def _concat(node: Node, *parts: Value) -> Value:
    tensors = [node.importer.tensor(node.scope, part) for part in parts]
    axis = normal_axis(node.attr("axis"), rank_of(tensors[0]))
    shapes = [shape_of(tensor) for tensor in tensors]
    ranks = [len(dims) for dims in shapes]
    if len(set(ranks)) > 1:
        raise ValueError(f"expected tensors of the same rank, but got ranks {ranks}")
    common = [_known_one(dims) for dims in zip(*shapes, strict=True)]
    fitting = [
        matched(tensor, [*common[:axis], dims[axis], *common[axis + 1 :]])
        for tensor, dims in zip(tensors, shapes, strict=True)
    ]
    return fitting[0] if len(fitting) == 1 else op.concat(fitting, axis)


def _known_one(dims: Sequence[int | Dim]) -> int | Dim:
    """Return the size that tensors have in common, as a number where one says so."""
    return next((dim for dim in dims if isinstance(dim, int)), dims[0])


def part(x: ir.Value, axis: int, begin: int | Dim, end: int | Dim, step: int = 1) -> ir.Value:
    """Return the elements of one axis from begin to end, which are in the tensor."""
    return op.strided_slice(x, [axis], [begin], [end], [step], assume_inbound=True)


def at(x: ir.Value, axis: int, place: int | Dim) -> ir.Value:
    """Return what is at a place of one axis, without the axis."""
    return op.squeeze(part(x, axis, place, place + 1), [axis])


@converter("Slice")
def _slice_by_attributes(node: Node, x: ir.Value) -> ir.Value:
    starts, ends = node.attr("starts"), node.attr("ends")
    axes = node.attr("axes", list(range(len(starts))))
    return _sliced(x, axes, starts, ends, [1] * len(starts))


@converter("Slice", since=10, raw=(1, 2, 3, 4))
def _slice(
    node: Node, x: ir.Value, starts: Value, ends: Value, axes: Value = None, steps: Value = None
) -> ir.Value:
    count = known_ints(sizes(shape_of(starts)), "a number of axes")[0]
    along = list(range(count)) if axes is None else known_ints(axes, "axes")
    strides = [1] * count if steps is None else known_ints(steps, "steps")
    if (is_known(starts) and is_known(ends)) or min(strides, default=1) < 1:
        begins, stops = known_sizes(starts, "starts"), known_sizes(ends, "ends")
        return _sliced(x, along, begins, stops, strides)
    for i, (axis, step) in enumerate(zip(along, strides, strict=True)):
        begin, end = (_element(value, i) for value in (starts, ends))
        x = part_by_data(node, x, normal_axis(axis, rank_of(x)), begin, end, step)
    return x


def _element(value: Value, place: int) -> ir.Value:
    """Return an element of a vector of integers as a tensor of int64."""
    if is_known(value):
        return size_tensor(known_sizes(value, "places")[place])
    return cast(op.take(value, const(np.int64(place)), 0), "int64")


def _sliced(
    x: ir.Value, axes: Sequence[int], begins: Sequence[Any], ends: Sequence[Any],
    steps: Sequence[int],
) -> ir.Value:  # fmt: skip
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        place = normal_axis(axis, rank_of(x))
        extent = shape_of(x)[place]
        if step == 0:
            raise ValueError("expected steps other than 0")
        if isinstance(extent, int) and isinstance(begin, int) and isinstance(end, int):
            x = _slice_known(x, place, extent, slice(begin, end, step))
        else:
            x = _slice_symbolic(x, place, extent, begin, end, step)
    return x


def _slice_known(x: ir.Value, axis: int, extent: int, wanted: slice) -> ir.Value:
    begin, end, step = wanted.start, wanted.stop, wanted.step
    if step < 0 and end < -extent:
        end = None  # before the begin
    indices = range(*slice(begin, end, step).indices(extent))
    if len(indices) == extent and step == 1:
        return x
    if not indices:
        return part(x, axis, 0, 0)
    first, last = indices[0], indices[-1]
    if step < 0:
        x = op.flip(x, axis)
        first, last = extent - 1 - first, extent - 1 - last
    return part(x, axis, first, last + 1, abs(step))


_FAR = 1 << 31


def _slice_symbolic(
    x: ir.Value, axis: int, extent: Any, begin: Any, end: Any, step: int
) -> ir.Value:
    if step < 0:
        if not (isinstance(begin, int) and isinstance(end, int)):
            raise NotImplementedError("expected steps of 1 or more between symbolic places")
        is_whole = (begin == -1 or begin >= _FAR - 1) and end < 1 - _FAR
        if not is_whole:
            raise NotImplementedError("expected a whole symbolic dimension for negative steps")
        x, begin, end, step = op.flip(x, axis), 0, extent, -step
    first, last = _place(begin, extent), _place(end, extent)
    known_facts = facts(extent, first, last)
    if first == 0 and Dim(0).prove_less_equal(last, known_facts):
        last = size(Dim(last).min(extent).simplify(known_facts))
    if first == 0 and last == extent and step == 1:
        return x
    is_inside = (
        Dim(first).prove_less_equal(last, known_facts)
        and Dim(last).prove_less_equal(extent, known_facts)
        and Dim(0).prove_less_equal(first, known_facts)
    )
    return op.strided_slice(x, [axis], [first], [last], [step], assume_inbound=bool(is_inside))


def _place(place: Any, extent: Any) -> Any:
    """Return a place of a slice, counted from the begin where its sign is known."""
    if isinstance(place, int):
        if place >= _FAR - 1:
            return extent
        if place <= -_FAR:
            return 0
        # Before the begin is the begin.
        return size((extent + place).max(0)) if place < 0 and isinstance(extent, Dim) else place
    return place


@converter("Split", raw=(1,))
def _split(node: Node, x: ir.Value, parts: Value = None) -> Any:
    axis = normal_axis(node.attr("axis", 0), rank_of(x))
    given = node.attr("split", None) if parts is None else known_sizes(parts, "sizes of parts")
    count = node.attr("num_outputs", len(node.proto.output))
    return split(x, axis, part_sizes(shape_of(x)[axis], count) if given is None else given)


def split(x: ir.Value, axis: int, lengths: Sequence[Any]) -> tuple[ir.Value, ...]:
    """Return parts of a tensor, one after the other."""
    ends = list(itertools.accumulate(lengths))
    extent = shape_of(x)[axis]
    if not ends or same(ends[-1], extent) is False:
        raise ValueError(f"expected parts of {extent} elements, but got {list(map(str, lengths))}")
    return tuple(
        part(x, axis, end - length, end) for end, length in zip(ends, lengths, strict=True)
    )


@converter("Tile", raw=(1,))
def _tile(_: Node, x: ir.Value, repeats: Value) -> ir.Value:
    counts = known_sizes(repeats, "repeats")
    if all(isinstance(count, int) for count in counts):
        return op.tile(x, counts)
    dims = shape_of(x)
    # Each dimension is one of 1 beside it, broadcast to the number of times.
    pairs = [one for dim in dims for one in (1, dim)]
    wide = [one for pair in zip(counts, dims, strict=True) for one in pair]
    copies = op.broadcast_to(op.reshape(x, pairs), wide)
    return op.reshape(copies, [count * dim for count, dim in zip(counts, dims, strict=True)])


@converter("ConstantOfShape", raw=(0,))
def _constant_of_shape(node: Node, shape: Value) -> ir.Value:
    value = node.attr("value", None)
    element = np.zeros((), "float32")
    if value is not None:
        element = array_of(value, node.importer.folder).reshape(())
    return op.full(known_sizes(shape, "a shape"), const(element, element.dtype.name))


@converter("Range", raw=(0, 1, 2))
def _range(_: Node, start: Value, limit: Value, delta: Value) -> ir.Value:
    dtype = dtype_of(start)
    given = (start, limit, delta)
    if dtype.startswith(("float", "bfloat")) and not any(isinstance(one, Sizes) for one in given):
        places = [known_array(one, "a range").reshape(()) for one in given]
        numbers = [one.astype("float64") for one in places]
        count = max(0, int(np.ceil((numbers[1] - numbers[0]) / numbers[2])))
        return const((numbers[0] + np.arange(count) * numbers[2]).astype(places[0].dtype))
    if any(isinstance(one, np.ndarray) and one.item() != int(one.item()) for one in given):
        raise NotImplementedError("expected whole numbers for a range of symbolic length")
    first, last, step = (known_sizes(one, "a range")[0] for one in given)
    return cast(op.arange(first, last, step, "int64"), dtype)


@converter("EyeLike", raw=(0,))
def _eye_like(node: Node, x: Value) -> ir.Value:
    dtype = dtype_of_onnx(node.attr("dtype")) if node.attr("dtype", 0) else dtype_of(x)
    rows, columns = shape_of(x)
    return op.eye(rows, columns, node.attr("k", 0), dtype)


@converter("Trilu", raw=(1,))
@converter("Trilu", domain="com.microsoft", raw=(1,))
def _trilu(node: Node, x: ir.Value, k: Value = None) -> ir.Value:
    diagonal = 0 if k is None else known_sizes(k, "a diagonal")[0]
    return (op.triu if node.attr("upper", 1) else op.tril)(x, diagonal)


@converter("DepthToSpace")
def _depth_to_space(node: Node, x: ir.Value) -> ir.Value:
    n, c, h, w = shape_of(x)
    block, mode = node.attr("blocksize"), node.attr("mode", "DCR")
    depth = c // (block * block)
    if mode == "DCR":
        parts = op.permute_dims(op.reshape(x, [n, block, block, depth, h, w]), [0, 3, 4, 1, 5, 2])
    else:
        node.refuse("mode", "CRD", default="DCR")
        parts = op.permute_dims(op.reshape(x, [n, depth, block, block, h, w]), [0, 1, 4, 2, 5, 3])
    return op.reshape(parts, [n, depth, h * block, w * block])


@converter("SpaceToDepth")
def _space_to_depth(node: Node, x: ir.Value) -> ir.Value:
    node.refuse("mode", "CRD", default="DCR")
    n, c, h, w = shape_of(x)
    block = node.attr("blocksize")
    parts = op.reshape(x, [n, c, h // block, block, w // block, block])
    order = [0, 3, 5, 1, 2, 4] if node.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    return op.reshape(
        op.permute_dims(parts, order),
        [n, c * block * block, h // block, w // block],
    )


@converter("Pad")
def _pad_by_attributes(node: Node, x: ir.Value) -> ir.Value:
    value = number(node.attr("value", 0.0), x.type.dtype)
    return pad(x, node.attr("pads"), node.attr("mode", "constant"), value)


@converter("Pad", since=11, raw=(1, 3))
def _pad(
    node: Node, x: ir.Value, pads: Value, value: ir.Value | None = None, axes: Value = None
) -> ir.Value:
    rank, given = rank_of(x), known_sizes(pads, "pads")
    along = range(rank) if axes is None else [
        normal_axis(axis, rank) for axis in known_ints(axes, "axes")
    ]  # fmt: skip
    widths: list[Any] = [0] * 2 * rank
    for i, axis in enumerate(along):
        widths[axis], widths[axis + rank] = given[i], given[i + len(given) // 2]
    filled = number(0, x.type.dtype) if value is None else op.reshape(value, [])
    return pad(x, widths, node.attr("mode", "constant"), filled)
