# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of operators that move elements, and of those that create tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import op
from ...composites.take_gradient import scatter_along
from ...core.ir import Dim
from .registry import Contribution, Forward, gradient, no_gradient
from .shapes import dims_of, is_float, product, reshaped, sum_to, zeros_of

# ------------------------------------------------------------------------------
# Shapes
# ------------------------------------------------------------------------------


@gradient("reshape", "flatten", "expand_dims", "squeeze")
def _reshape(f: Forward, g: Any) -> list[Contribution]:
    return [reshaped(g, dims_of(f.operands[0])), *[None] * (len(f.operands) - 1)]


@gradient("broadcast_to")
def _broadcast_to(f: Forward, g: Any) -> list[Contribution]:
    return [sum_to(g, f.operands[0]), None]


@gradient("permute_dims")
def _permute_dims(f: Forward, g: Any) -> list[Contribution]:
    ndim: int = g.type.ndim
    axes = f.attribute("axes") or list(reversed(range(ndim)))
    places = [axis % ndim for axis in axes]
    return [op.permute_dims(g, [places.index(i) for i in range(ndim)])]


# ------------------------------------------------------------------------------
# Parts
# ------------------------------------------------------------------------------


def _part(g: Any, axis: int, begin: Any, end: Any) -> Any:
    return op.strided_slice(g, [axis], [begin], [end], assume_inbound=True)


@gradient("concat")
def _concat(f: Forward, g: Any) -> list[Contribution]:
    axis = f.attribute("axis", 0) % g.type.ndim
    tensors = f.operands
    if len(tensors) == 1 and not hasattr(tensors[0].type, "dtype"):
        tensors = list(tensors[0])
    begin, parts = Dim(0), []
    for tensor in tensors:
        end = begin + dims_of(tensor)[axis]
        parts.append(reshaped(_part(g, axis, begin, end), dims_of(tensor)))
        begin = end
    return parts if len(parts) == len(f.operands) else [parts]


@gradient("stack")
def _stack(f: Forward, g: Any) -> list[Contribution]:
    axis = f.attribute("axis", 0) % g.type.ndim
    tensors = f.operands
    if len(tensors) == 1 and not hasattr(tensors[0].type, "dtype"):
        tensors = list(tensors[0])
    parts = [
        reshaped(_part(g, axis, i, i + 1), dims_of(tensor)) for i, tensor in enumerate(tensors)
    ]
    return parts if len(parts) == len(f.operands) else [parts]


@gradient("split")
def _split(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    fields = f.result.type.fields
    parts = [
        op.zeros(type_.shape, type_.dtype) if part is None else part
        for part, type_ in zip(g, fields, strict=True)
    ]
    return [reshaped(op.concat(parts, f.axis()), dims_of(x))]


@gradient("strided_slice")
def _strided_slice(f: Forward, g: Any) -> list[Contribution]:
    x, begin, end, *rest = f.operands
    axes = f.attribute("axes")
    strides = _values(rest[0], len(axes)) if rest else [Dim(1)] * len(axes)
    begins, ends = _values(begin, len(axes)), _values(end, len(axes))
    ndim, rests = x.type.ndim, [None] * (len(f.operands) - 1)
    dims = dims_of(g)
    for axis, *place in zip(axes, begins, ends, strides, strict=True):
        dims[axis % ndim] = dims_of(x)[axis % ndim]
        g = _placed(g, axis % ndim, dims[axis % ndim], place)
    return [reshaped(g, dims), *rests]


def _values(shape: Any, count: int) -> list[Dim]:
    values = shape.type.values
    if values is None:
        raise ValueError(
            f"Gradient: expected the {count} places of relax.strided_slice as a shape of known "
            f"values, but got {shape.type}"
        )
    return list(values.dims)


def _placed(g: Any, axis: int, size: Dim, place: Sequence[Dim]) -> Any:
    """Return zeros with the elements of a slice along one dimension at their places."""
    begin, end, stride = place
    known: Any = [value.value for value in place]
    extent: Any = size.value
    if stride.value == 1 and None not in (known[0], extent) and 0 <= known[0] <= extent:
        dims = dims_of(g)
        before, after = dims.copy(), dims.copy()
        before[axis], after[axis] = begin, size - begin - dims[axis]
        if after[axis].value is not None:
            dtype = g.type.dtype
            around = [(before, 0), (dims, 1), (after, 2)]
            parts = [
                g if at == 1 else op.zeros(part, dtype)
                for part, at in around
                if at == 1 or part[axis].value != 0
            ]
            return op.concat(parts, axis) if len(parts) > 1 else g
    places = op.arange(0, size, 1, "int64")
    places = op.strided_slice(places, [0], [begin], [end], [stride])
    return scatter_along(g, axis, size, reshaped(places, [dims_of(g)[axis]]))


@gradient("meshgrid")
def _meshgrid(f: Forward, g: Any) -> list[Contribution]:
    count = len(f.operands)
    is_swapped = f.attribute("indexing", "ij") == "xy" and count >= 2
    found: list[Contribution] = []
    for i, (operand, part) in enumerate(zip(f.operands, g, strict=True)):
        axis = 1 - i if is_swapped and i < 2 else i
        others = [each for each in range(count) if each != axis]
        found.append(None if part is None else reshaped(op.sum(part, others), dims_of(operand)))
    return found


@gradient("pad")
def _pad(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    widths, mode = f.attribute("pad_width"), f.attribute("pad_mode", "constant")
    dims = dims_of(x)
    if mode == "constant":
        before = widths[::2]
        ends = [dim + width for dim, width in zip(dims, before, strict=True)]
        axes = list(range(len(dims)))
        return [op.strided_slice(g, axes, before, ends, assume_inbound=True)]
    # Each element goes to the place that it was copied from.
    size = product(dims)
    places = op.nn.pad(op.reshape(op.arange(0, size, 1, "int64"), dims), widths, mode)
    flat = op.zeros([size], g.type.dtype)
    total = op.scatter_elements(flat, op.flatten(places), op.flatten(g), 0, "add")
    return [op.reshape(total, dims)]


@gradient("pixel_shuffle")
def _pixel_shuffle(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    r = f.attribute("upscale_factor")
    *batch, _, height, width = dims_of(x)
    n = len(batch)
    parts = op.reshape(g, [*batch, dims_of(g)[n], height, r, width, r])
    # Dimensions: ..., channel, row, row in the square, column, column in it.
    parts = op.permute_dims(parts, [*range(n + 1), n + 2, n + 4, n + 1, n + 3])
    return [op.reshape(parts, dims_of(x))]


@gradient("reverse_sequence")
def _reverse_sequence(f: Forward, g: Any) -> list[Contribution]:
    axes = f.attribute("seq_axis", 1), f.attribute("batch_axis", 0)
    return [op.reverse_sequence(g, f.operands[1], *axes), None]


@gradient("flip")
def _flip(f: Forward, g: Any) -> list[Contribution]:
    return [op.flip(g, f.axis())]


@gradient("repeat")
def _repeat(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    dims, repeats = dims_of(x), f.attribute("repeats")
    if f.attribute("axis") is None:
        dims = dims_of(f.result)
        total = op.sum(op.reshape(g, [dims[0] // repeats, repeats]), [1])
        return [reshaped(total, dims_of(x))]
    axis = f.axis()
    wide = op.reshape(g, [*dims[: axis + 1], repeats, *dims[axis + 1 :]])
    return [op.sum(wide, [axis + 1])]


@gradient("tile")
def _tile(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    dims, repeats = dims_of(x), f.attribute("repeats")
    rank = max(len(dims), len(repeats))
    dims = [Dim(1)] * (rank - len(dims)) + dims
    repeats = [1] * (rank - len(repeats)) + list(repeats)
    pairs = [part for pair in zip(repeats, dims, strict=True) for part in pair]
    total = op.sum(op.reshape(g, pairs), list(range(0, 2 * rank, 2)))
    return [reshaped(total, dims_of(x))]


@gradient("tril")
def _tril(f: Forward, g: Any) -> list[Contribution]:
    return [op.tril(g, f.operands[1]), None]


@gradient("triu")
def _triu(f: Forward, g: Any) -> list[Contribution]:
    return [op.triu(g, f.operands[1]), None]


# ------------------------------------------------------------------------------
# New tensors
# ------------------------------------------------------------------------------


def _summed(g: Any, fill_value: Any) -> Any:
    if not is_float(fill_value.type):
        return None
    total = g if g.type.dtype == fill_value.type.dtype else op.astype(g, fill_value.type.dtype)
    return sum_to(total, fill_value)


@gradient("full")
def _full(f: Forward, g: Any) -> list[Contribution]:
    return [_summed(g, value) if hasattr(value.type, "dtype") else None for value in f.operands]


@gradient("full_like")
def _full_like(f: Forward, g: Any) -> list[Contribution]:
    return [None, _summed(g, f.operands[1])]


def zero_fields(g: Any, values: Sequence[Any]) -> list[Any]:
    """Return the gradients of the fields of a tuple, with zeros where there is none."""
    return [
        zeros_of(value) if part is None else part for part, value in zip(g, values, strict=True)
    ]


no_gradient("depends on the shape of the operand alone", "zeros_like ones_like eye_like")
no_gradient("has no operand that is a tensor", "zeros ones eye arange")
no_gradient("of integers", "random_bits")
