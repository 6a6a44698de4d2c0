# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of tensors: slices, windows, diagonals, layouts, what lengths mask."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from mlir import ir

from .... import op
from ....composites.data_dependent import dynamic_strided_slice
from ....composites.tensors import cast, number, product, same, size, size_tensor
from ....core.expr import const
from ....core.ir import Dim
from ...values import (
    Value,
    as_tensor,
    dtype_of,
    is_known,
    known_ints,
    known_sizes,
    rank_of,
    shape_of,
    sizes,
)
from .operands import along, counted, ints, normal_axes, one_of, places_found, wrapped
from .registry import REQUIRED, converts


def _part(x: ir.Value, axes: Sequence[int], ends: Sequence[int | Dim]) -> ir.Value:
    return op.strided_slice(x, list(axes), [0] * len(axes), list(ends), [1] * len(axes))


@converts("slice_like", axes=None)
def _slice_like(attrs: SimpleNamespace, data: ir.Value, shape_like: ir.Value) -> ir.Value:
    dims, wanted = shape_of(data), shape_of(shape_like)
    axes = list(range(min(len(dims), len(wanted))))
    if attrs.axes is not None and attrs.axes != ():
        axes = normal_axes(ints(attrs.axes), len(dims))
    if not axes and dims:
        raise ValueError("expected axes to slice along, but got none")
    for axis in axes:
        if axis >= len(wanted):
            raise ValueError(f"expected an axis below {len(wanted)}, but got {axis}")
        mine, other = dims[axis], wanted[axis]
        if isinstance(mine, int) and isinstance(other, int) and other > mine:
            raise ValueError(f"expected up to {mine} elements along axis {axis}, but got {other}")
    return _part(data, axes, [wanted[axis] for axis in axes])


# -- strided slices -----------------------------------------------------------------------------


def places_of(value: Any) -> list[int | None]:
    """Return an attribute of places of a slice, which may be left out one by one.

    Raises
    ------
    ValueError
        If it is something else.
    """
    given = value if isinstance(value, (list, tuple)) else ints(value)
    return [None if one is None else ints(one)[0] for one in given]


def bounds(
    dims: Sequence[int | Dim], begin: Sequence[Any], end: Sequence[Any], strides: Sequence[int]
) -> tuple[list[Any], list[Any], list[int]]:
    """Return places for each dimension, of which the last ones may be left out.

    Raises
    ------
    ValueError
        If a stride is 0.
    """
    steps = [*strides, *[1] * (len(dims) - len(strides))]
    if 0 in steps:
        raise ValueError("expected strides other than 0")
    first, last = list(begin), list(end)
    for i, dim in enumerate(dims):
        # A negative stride ends before the first element unless an end is given, as in TVM.
        ends = (0, dim) if steps[i] > 0 else (dim, 0)
        if i >= len(first):
            first.append(ends[0])
        if i >= len(last):
            last.append(ends[1])
        first[i] = ends[0] if first[i] is None else first[i]
        last[i] = ends[1] if last[i] is None else last[i]
    return first, last, steps


def ends_of_sizes(dims: Sequence[int | Dim], begin: Sequence[Any], counts: Sequence[Any]) -> Any:
    """Return places where slices end whose sizes are given; negative ones mean all that is left.

    Raises
    ------
    ValueError
        If a slice begins before the first element.
    """
    if any(isinstance(one, int) and one < 0 for one in begin):
        raise ValueError(f"expected begins of 0 or more with slice_mode size, but got {begin}")
    return [
        dim if isinstance(count, int) and count < 0 else first + count
        for dim, first, count in zip(dims, begin, counts, strict=False)
    ]


def sliced(
    x: ir.Value, attrs: SimpleNamespace, begin: Sequence[Any], end: Sequence[Any],
    strides: Sequence[int],
) -> ir.Value:  # fmt: skip
    """Return a slice, whose mode and axes attributes say."""
    mode = one_of("slice_mode", attrs.slice_mode, "end", "size")
    dims = shape_of(x)
    axes = list(range(len(dims)))
    if attrs.axes:
        axes = normal_axes(ints(attrs.axes), len(dims))
        if len({len(axes), len(begin), len(end)}) != 1:
            raise ValueError(
                f"expected a begin and an end for each of {len(axes)} axes, but got {len(begin)} "
                f"and {len(end)}"
            )
    if max(len(begin), len(end), len(strides)) > len(axes):
        raise ValueError(f"expected places for up to {len(axes)} axes, but got {len(begin)}")
    along_axes = [dims[axis] for axis in axes]
    if mode == "size":
        end, strides = ends_of_sizes(along_axes, begin, end), []
    first, last, steps = bounds(along_axes, begin, end, strides)
    return op.strided_slice(x, axes, first, last, steps) if axes else x


@converts("strided_slice", begin=REQUIRED, end=REQUIRED, strides=None, slice_mode="end", axes=None)
def _strided_slice(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    strides = [] if attrs.strides is None else ints(attrs.strides)
    return sliced(data, attrs, places_of(attrs.begin), places_of(attrs.end), strides)


@converts(
    "dyn.strided_slice", raw=True, begin=None, end=None, strides=None, slice_mode="end", axes=None
)
def _dyn_strided_slice(
    attrs: SimpleNamespace, data: Value, begin: Value, end: Value, strides: Value
) -> ir.Value:
    x = as_tensor(data)
    if not is_known(strides) and attrs.slice_mode != "size":
        return _sliced_by_strides(x, attrs, *(as_tensor(one) for one in (begin, end, strides)))
    steps = known_ints(strides, "strides") if is_known(strides) else []
    if is_known(begin) and is_known(end):
        first, last = (known_sizes(one, "places of a slice") for one in (begin, end))
        return sliced(x, attrs, first, last, steps)
    return _sliced_by_data(x, attrs, as_tensor(begin), as_tensor(end), steps)


def _sliced_by_strides(
    x: ir.Value, attrs: SimpleNamespace, begin: ir.Value, end: ir.Value, strides: ir.Value
) -> ir.Value:
    """Return a slice of which the program computes the strides, too."""
    rank, count = rank_of(x), shape_of(strides)[0]
    if attrs.axes or [shape_of(one) for one in (begin, end)] != [[count], [count]]:
        raise NotImplementedError(
            "expected a begin, an end and a stride for each of the first axes"
        )
    rest = shape_of(x)[count:]
    vectors = [cast(one, "int64") for one in (begin, end, strides)]
    if rest:
        others = [np.zeros(rank - count, "int64"), sizes(rest), np.ones(rank - count, "int64")]
        vectors = [
            op.concat([one, as_tensor(other)], 0)
            for one, other in zip(vectors, others, strict=True)
        ]
    return dynamic_strided_slice(x, *vectors)


def _sliced_by_data(
    x: ir.Value, attrs: SimpleNamespace, begin: ir.Value, end: ir.Value, strides: Sequence[int]
) -> ir.Value:
    """Return a slice whose places the program computes, and so how many elements there are."""
    counts = [shape_of(one)[0] for one in (begin, end)]
    axes = normal_axes(ints(attrs.axes), rank_of(x)) if attrs.axes else list(range(rank_of(x)))
    if not isinstance(counts[0], int) or counts[0] != counts[1] or counts[0] > len(axes):
        raise ValueError(
            f"expected as many begins as ends, for up to {len(axes)} axes, but got {counts[0]} "
            f"and {counts[1]}"
        )
    is_size = one_of("slice_mode", attrs.slice_mode, "end", "size") == "size"
    steps = [*([] if is_size else strides), *[1] * len(axes)][: counts[0]]
    if 0 in steps:
        raise ValueError("expected strides other than 0")
    for i, (axis, step) in enumerate(zip(axes, steps, strict=False)):
        extent = shape_of(x)[axis]
        stop = end
        if is_size:
            is_rest = op.less(end, number(0, dtype_of(end)))
            rest = size_tensor(extent, dtype_of(end))
            stop = op.where(is_rest, rest, op.add(cast(begin, dtype_of(end)), end))
        is_set, _ = _steps(extent, begin, stop, step, i)
        x = op.take(x, places_found(is_set), axis)
        x = op.flip(x, axis) if step < 0 else x
    return x


# -- strided set --------------------------------------------------------------------------------


def _place(value: Value, i: int, extent: ir.Value, low: int, high: int) -> ir.Value:
    """Return an element of a vector as a place from `low` to `extent + high`."""
    if is_known(value):
        place = size_tensor(known_sizes(value, "places")[i])
    else:
        place = cast(op.take(value, const(i, "int64"), 0), "int64")
    bound = op.add(extent, number(high, "int64"))
    return op.minimum(op.maximum(wrapped(place, extent), number(low, "int64")), bound)


def _steps(
    dim: int | Dim, begin: Value, end: Value, stride: int, i: int
) -> tuple[ir.Value, ir.Value]:
    """Return for each element of a dimension whether it is set, and from which place."""
    extent, zero = size_tensor(dim), number(0, "int64")
    is_down = stride < 0
    low, high = (-1, -1) if is_down else (0, 0)
    count = [shape_of(one)[0] for one in (begin, end)]
    last = op.add(extent, number(-1, "int64"))
    first = _place(begin, i, extent, low, high) if i < count[0] else (last if is_down else zero)
    stop = number(-1, "int64") if is_down else extent
    stop = _place(end, i, extent, low, high) if i < count[1] else stop
    places = op.arange(0, dim, 1, "int64")
    gone = op.subtract(first, places) if is_down else op.subtract(places, first)
    before = op.greater(places, stop) if is_down else op.less(places, stop)
    step = number(abs(stride), "int64")
    is_hit = op.equal(op.floor_mod(gone, step), zero)
    is_set = op.logical_and(op.logical_and(op.greater_equal(gone, zero), before), is_hit)
    return is_set, op.floor_divide(gone, step)


@converts("strided_set", raw=True)
def _strided_set(
    _: SimpleNamespace, data: Value, v: Value, begin: Value, end: Value, strides: Value
) -> ir.Value:
    x, new = as_tensor(data), as_tensor(v)
    rank, dims = rank_of(x), shape_of(x)
    if rank_of(new) != rank or dtype_of(new) != dtype_of(x):
        raise ValueError(f"expected new elements like those of {x.type}, but got {new.type}")
    steps = known_ints(strides, "strides")
    steps += [1] * (rank - len(steps))
    if 0 in steps:
        raise ValueError("expected strides other than 0")
    mask = None
    for axis, (dim, stride) in enumerate(zip(dims, steps, strict=True)):
        is_set, places = _steps(dim, begin, end, stride, axis)
        new = op.take(new, places, axis)
        flags = along(is_set, axis, rank)
        mask = flags if mask is None else op.logical_and(mask, flags)
    return new if mask is None else op.where(mask, new, x)


# -- windows, diagonals, lengths ----------------------------------------------------------------


@converts("sliding_window", axis=REQUIRED, window_shape=REQUIRED, strides=REQUIRED)
def _sliding_window(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    dims, axis = shape_of(data), int(attrs.axis)
    window, strides = ints(attrs.window_shape), ints(attrs.strides)
    if not 0 <= axis < len(dims):
        raise ValueError(f"expected an axis from 0 to {len(dims) - 1}, but got {axis}")
    if not len(window) == len(strides) == len(dims) - axis:
        raise ValueError(f"expected a window and strides of {len(dims) - axis} dimensions")
    for i, (width, stride) in enumerate(zip(window, strides, strict=True)):
        extent = dims[axis + i]
        if width < 1 or stride < 1 or (isinstance(extent, int) and extent < width):
            raise ValueError(f"expected a window and stride in {extent}, got {width} by {stride}")
        count = (extent - width) // stride + 1
        begins = op.multiply(counted(count, 0, 2), number(stride, "int64"))
        data = op.take(data, op.add(begins, counted(width, 1, 2)), axis + 2 * i)
    count, rank = len(window), len(dims) + len(window)
    order = [*range(axis), *range(axis, rank, 2), *range(axis + 1, rank, 2)]
    return data if count == 1 else op.permute_dims(data, order)


def _shares(attrs: SimpleNamespace, dims: Sequence[Any], length: Any) -> tuple[ir.Value, ...]:
    """Return where diagonals are in a matrix, and the places of their elements in a vector."""
    zero, k1, k2 = (number(one, "int64") for one in (0, attrs.k1, attrs.k2))
    row, column = counted(dims[0], 0, 2), counted(dims[1], 1, 2)
    k = op.subtract(column, row)
    is_set = op.logical_and(op.greater_equal(k, k1), op.less_equal(k, k2))
    upper = op.greater_equal(k, zero)
    place = op.where(upper, row, column)
    if attrs.k1 != attrs.k2:
        rows, columns, longest = (size_tensor(one) for one in (*dims, length))
        right = op.subtract(longest, op.minimum(op.subtract(columns, k), rows))
        left = op.subtract(longest, op.minimum(columns, op.add(rows, k)))
        shift = op.where(
            upper,
            right if attrs.super_diag_right_align else op.zeros_like(k),
            left if attrs.sub_diag_right_align else op.zeros_like(k),
        )
        line = op.multiply(op.subtract(k2, k), longest)
        place = op.add(op.add(place, shift), line)
    return is_set, place


@converts("matrix_set_diag", k1=0, k2=0, super_diag_right_align=True, sub_diag_right_align=False)
def _matrix_set_diag(attrs: SimpleNamespace, data: ir.Value, diagonal: ir.Value) -> ir.Value:
    dims, given = shape_of(data), shape_of(diagonal)
    lines = [] if attrs.k1 == attrs.k2 else [attrs.k2 - attrs.k1 + 1]
    if attrs.k1 > attrs.k2:
        raise ValueError(f"expected k1 up to k2, but got {attrs.k1} and {attrs.k2}")
    if len(given) != len(dims) - 1 + len(lines) or (lines and same(given[-2], lines[0]) is False):
        raise ValueError(
            f"expected {lines[0] if lines else 1} diagonals for {data.type}, but got "
            f"{diagonal.type}"
        )
    is_set, place = _shares(attrs, dims[-2:], given[-1])
    outer = dims[:-2]
    flat = op.reshape(diagonal, [*outer, product(given[-2:])]) if lines else diagonal
    return op.where(is_set, op.take(flat, place, len(outer)), data)


@converts("sequence_mask", mask_value=0.0, axis=0)
def _sequence_mask(attrs: SimpleNamespace, data: ir.Value, valid_length: ir.Value) -> ir.Value:
    rank, axis = rank_of(data), int(attrs.axis)
    if axis not in (0, 1) or rank < 2:
        raise ValueError(f"expected axis 0 or 1 of rank 2 or more, but got {axis} of rank {rank}")
    steps = counted(shape_of(data)[axis], axis, rank)
    lengths = along(cast(valid_length, "int64"), 1 - axis, rank)
    return op.where(op.less(steps, lengths), data, number(attrs.mask_value, data.type.dtype))


# -- layouts ------------------------------------------------------------------------------------


def _layout(text: str) -> list[tuple[str, int]]:
    """Return the axes of a layout: capitals with 0, and what they are split by with its size."""
    parts = re.findall(r"(\d*)([A-Za-z])", text)
    letters = [letter for _, letter in parts]
    is_well = "".join(f"{n}{letter}" for n, letter in parts) == text and text
    fits = all(bool(n) == letter.islower() for n, letter in parts)
    owned = all(letter.upper() in letters for letter in letters)
    if not (is_well and fits and owned and len(set(letters)) == len(letters)):
        raise ValueError(f"expected a layout such as NCHW or NCHW4c, but got '{text}'")
    return [(letter, int(n or 0)) for n, letter in parts]


def _whole(x: ir.Value, layout: Sequence[tuple[str, int]]) -> tuple[ir.Value, list[str]]:
    """Return a tensor with axes put together that were split, and the letters of its axes."""
    letters = [letter for letter, _ in layout]
    axes = [letter for letter in letters if letter.isupper()]
    dims = dict(zip(letters, shape_of(x), strict=True))
    order = [one for axis in axes for one in (axis, axis.lower()) if one in letters]
    for letter, factor in layout:
        if factor and same(dims[letter], factor) is False:
            raise ValueError(f"expected a dimension of {factor} for {letter}, got {dims[letter]}")
    if order != letters:
        x = op.permute_dims(x, [letters.index(one) for one in order])
    if len(order) > len(axes):
        x = op.reshape(x, [dims[axis] * dims.get(axis.lower(), 1) for axis in axes])
    return x, axes


def _cut(x: ir.Value, axes: Sequence[str], layout: Sequence[tuple[str, int]]) -> ir.Value:
    """Return a tensor with axes split, and zeros where there are not as many elements."""
    factors = dict(layout)
    order: list[str] = []
    shape: list[Any] = []
    for i, axis in enumerate(axes):
        factor, dims = factors.get(axis.lower(), 0), shape_of(x)
        order.append(axis)
        if not factor:
            shape.append(dims[i])
            continue
        count = size((dims[i] + factor - 1) // factor)
        if same(count * factor, dims[i]) is not True:
            zeros = op.zeros(
                [*dims[:i], size(count * factor - dims[i]), *dims[i + 1 :]], dtype_of(x)
            )
            x = op.concat([x, zeros], i)
        order.append(axis.lower())
        shape.extend([count, factor])
    x = op.reshape(x, shape) if len(order) > len(axes) else x
    wanted = [order.index(letter) for letter, _ in layout]
    return x if wanted == list(range(len(order))) else op.permute_dims(x, wanted)


@converts("layout_transform", src_layout=REQUIRED, dst_layout=REQUIRED)
def _layout_transform(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    source, target = _layout(attrs.src_layout), _layout(attrs.dst_layout)
    names = [{letter for letter, factor in one if not factor} for one in (source, target)]
    if names[0] != names[1] or len(source) != rank_of(data):
        raise ValueError(
            f"expected layouts of the axes of {data.type}, but got '{attrs.src_layout}' and "
            f"'{attrs.dst_layout}'"
        )
    if source == target:
        return data
    return _cut(*_whole(data, source), target)
