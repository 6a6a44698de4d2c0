# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolution and pooling: loops over the places of a window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tensor import Array
from .elementwise import divide, maximum
from .reduce import lowest
from .table import Args, attribute, cast, expect, operator

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def _arranged(data: Array, layout: str, wanted: str) -> Array:
    """Return a tensor of one layout in another one."""
    return data.transpose([layout.index(letter) for letter in wanted])


def _window(op: Any, count: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return strides, dilations, and padding before and after each spatial dimension."""
    padding = attribute(op, "padding", [0] * (2 * count))
    return (
        attribute(op, "strides", [1] * count),
        attribute(op, "dilation", [1] * count),
        padding[:count],
        padding[count:],
    )


def _part(starts: Sequence[int], strides: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return the index of elements of the last dimensions, from some places on."""
    return (
        ...,
        *(
            slice(start, start + stride * (size - 1) + 1 if size else start, stride)
            for start, stride, size in zip(starts, strides, sizes, strict=True)
        ),
    )


def _behind(*places: Any) -> Any:
    """Return the index of places in the last dimensions."""
    return (..., *places)


# ------------------------------------------------------------------------------
# Convolution
# ------------------------------------------------------------------------------


def _conv_layouts(op: Any, count: int) -> tuple[str, str, str]:
    letters = _LETTERS[count]
    data = attribute(op, "data_layout", "NC" + letters)
    weight = attribute(op, "kernel_layout", "OI" + letters)
    return data, weight, attribute(op, "out_layout") or data


def _conv_terms(op: Any, args: Args) -> int:
    weight = args[1].data
    layout = _conv_layouts(op, weight.ndim - 2)[1]
    return int(weight.size // max(weight.shape[layout.index("O")], 1))


@operator(
    "conv1d",
    "conv2d",
    "conv3d",
    ulps=0.5,
    backward_error=1,
    backward_error_per_term=1,
    terms=_conv_terms,
)
def _conv(op: Any, args: Args, env: Any) -> Array:
    count = args[0].data.ndim - 2
    data_layout, kernel_layout, out_layout = _conv_layouts(op, count)
    letters, groups = _LETTERS[count], attribute(op, "groups", 1)
    dtype = attribute(op, "out_dtype", args[0].dtype)
    data = _arranged(cast(args[0].data, dtype), data_layout, "NC" + letters)
    weight = _arranged(cast(args[1].data, dtype), kernel_layout, "OI" + letters)
    strides, dilation, before, after = _window(op, count)
    expect(weight.shape[1] * groups, data.shape[1], "channels:")
    expect(0, weight.shape[0] % groups, f"output channels modulo {groups}:")
    data = np.pad(data, [(0, 0), (0, 0), *zip(before, after, strict=True)])
    sizes = []
    for i in range(count):
        reach = dilation[i] * (weight.shape[i + 2] - 1) + 1
        sizes.append(_size((data.shape[i + 2] - reach) // strides[i] + 1))
    # Groups of channels are a dimension of their own.
    data = data.reshape(data.shape[0], groups, data.shape[1] // groups, *data.shape[2:])
    weight = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    result = np.zeros((data.shape[0], groups, weight.shape[1], *sizes), data.dtype)
    for place in itertools.product(*map(range, weight.shape[3:])):
        starts = [i * step for i, step in zip(place, dilation, strict=True)]
        part = data[_part(starts, strides, sizes)]
        result += np.einsum("ngi...,goi->ngo...", part, weight[_behind(*place)])
    result = result.reshape(result.shape[0], result.shape[1] * result.shape[2], *sizes)
    return _arranged(result, "NC" + letters, out_layout)


def _size(size: int) -> int:
    if size < 0:
        raise ValueError(f"expected a window that fits into its tensor, but got {size} places")
    return size


# ------------------------------------------------------------------------------
# Pooling
# ------------------------------------------------------------------------------


def _pool_layouts(op: Any, count: int) -> tuple[str, str]:
    layout = attribute(op, "layout", "NC" + _LETTERS[count])
    return layout, attribute(op, "out_layout") or layout


def _pool_sizes(op: Any, shape: Sequence[int]) -> list[int]:
    """Return the spatial dimensions of the result, for those of the data."""
    strides, dilation, before, after = _window(op, len(shape))
    window = attribute(op, "pool_size")
    sizes = []
    for i, size in enumerate(shape):
        rest = size + before[i] + after[i] - dilation[i] * (window[i] - 1) - 1
        if not attribute(op, "ceil_mode", False):
            sizes.append(_size(rest // strides[i] + 1))
            continue
        places = -(-rest // strides[i]) + 1
        # A window that begins in the padding at the end does not count.
        if (places - 1) * strides[i] >= size + before[i]:
            places -= 1
        sizes.append(_size(places))
    return sizes


def _windows(op: Any, data: Array, value: Any) -> tuple[list[Array], Array]:
    """Return the elements at each place of the window, and how many there are in each.

    Elements of the padding and beyond it are `value`; they do not count, with
    `count_include_pad` only those beyond it.
    """
    count = data.ndim - 2
    strides, dilation, before, after = _window(op, count)
    sizes, window = _pool_sizes(op, data.shape[2:]), attribute(op, "pool_size")
    pad_counts = int(attribute(op, "count_include_pad", False))
    around = [(0, 0), (0, 0), *zip(before, after, strict=True)]
    inside = np.pad(np.ones(data.shape, np.int64), around, constant_values=pad_counts)
    data = np.pad(data, around, constant_values=value)
    beyond = [(0, 0), (0, 0)]
    for i in range(count):
        end = strides[i] * (sizes[i] - 1) + dilation[i] * (window[i] - 1) + 1
        beyond.append((0, max(end - data.shape[i + 2], 0)))
    data = np.pad(data, beyond, constant_values=value)
    inside = np.pad(inside, beyond)
    elements, counts = [], np.zeros((*data.shape[:2], *sizes), np.int64)
    for place in itertools.product(*map(range, window)):
        starts = [i * step for i, step in zip(place, dilation, strict=True)]
        part = _part(starts, strides, sizes)
        elements.append(data[part])
        counts += inside[part]
    return elements, counts


def _channels_first(op: Any, args: Args) -> Array:
    """Return the images of a pool with their channels before their spatial dimensions."""
    data = args[0].data
    layout, _ = _pool_layouts(op, data.ndim - 2)
    return _arranged(data, layout, "NC" + _LETTERS[data.ndim - 2])


def _pooled(op: Any, result: Array) -> Array:
    """Return the result of a pool, whose channels come first, in its layout."""
    _, layout = _pool_layouts(op, result.ndim - 2)
    return _arranged(result, "NC" + _LETTERS[result.ndim - 2], layout)


def _pool_terms(op: Any, args: Args) -> int:
    return math.prod(attribute(op, "pool_size"))


@operator("max_pool1d", "max_pool2d", "max_pool3d", ulps=0, any_zero=True)
def _max_pool(op: Any, args: Args, env: Any) -> Array:
    data = _channels_first(op, args)
    elements, _ = _windows(op, data, lowest(args[0].dtype))
    result = elements[0]
    for element in elements[1:]:
        result = maximum(result, element)
    return _pooled(op, result)


@operator(
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    ulps=1,
    backward_error_per_term=1,
    terms=_pool_terms,
)
def _avg_pool(op: Any, args: Args, env: Any) -> Array:
    data = _channels_first(op, args)
    elements, counts = _windows(op, data, 0)
    total = np.zeros_like(elements[0])
    for element in elements:
        total += element
    # The mean of no elements is 0.
    mean = divide(total, np.maximum(counts, 1).astype(total.dtype))
    return _pooled(op, mean)


def _adaptive_parts(op: Any, args: Args) -> list[list[tuple[int, int]]]:
    """Return where the windows along each spatial dimension begin and end."""
    data = args[0].data
    layout, _ = _pool_layouts(op, data.ndim - 2)
    shape = [data.shape[layout.index(letter)] for letter in _LETTERS[data.ndim - 2]]
    sizes = attribute(op, "output_size") or shape
    return [
        [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
        for n, m in zip(shape, sizes, strict=True)
    ]


def _adaptive_terms(op: Any, args: Args) -> int:
    lengths = [[end - begin for begin, end in parts] for parts in _adaptive_parts(op, args)]
    return math.prod(max(dim, default=0) for dim in lengths)


@operator(
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    ulps=1,
    backward_error_per_term=1,
    terms=_adaptive_terms,
)
def _adaptive_avg_pool(op: Any, args: Args, env: Any) -> Array:
    data = _channels_first(op, args)
    parts = _adaptive_parts(op, args)
    result = np.zeros((*data.shape[:2], *map(len, parts)), data.dtype)
    for place in itertools.product(*(range(len(dim)) for dim in parts)):
        ends = [dim[i] for dim, i in zip(parts, place, strict=True)]
        window = data[_behind(*(slice(*end) for end in ends))]
        total = window.sum(axis=tuple(range(2, data.ndim)), dtype=data.dtype)
        counts = np.asarray(math.prod(end - begin for begin, end in ends), data.dtype)
        result[_behind(*place)] = divide(total, counts)
    return _pooled(op, result)
