# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places of the largest elements of windows, and windows of different sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from .padding import padded
from .tensors import cast, number, rank_of, shape_of


def places_of_largest(
    x: ir.Value,
    pooled: ir.Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilations: Sequence[int],
    numbers: np.ndarray,
) -> ir.Value:
    """Return which element of its image is the largest one of each window, as int64.

    Of several, it is the first one; of several that are not a number, the last one.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, and those of the images.
    pooled : mlir.ir.Value
        The largest elements.
    kernel, strides, dilations : sequence of int
        For each dimension of the images.
    padding : sequence of int
        Before each dimension, then after each.
    numbers : numpy.ndarray
        The number of each element of an image, 0 or more.

    Returns
    -------
    mlir.ir.Value
        Of the dimensions of `pooled`.
    """
    count = len(kernel)
    windows = [int(size) for size in shape_of(pooled)[2:]]
    begins = list(padding[:count])
    ends = []
    for i, begin in enumerate(begins):
        reach = (windows[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1
        ends.append(max(0, reach - numbers.shape[i] - begin))
    widths = list(zip(begins, ends, strict=True))
    wide = padded(x, [(0, 0), (0, 0), *widths], "constant")
    framed = np.pad(numbers, widths, constant_values=-1)
    best, place = None, None
    for cuts in _cuts(windows, kernel, strides, dilations):
        firsts, lasts, steps = zip(*((c.start, c.stop, c.step) for c in cuts), strict=True)
        axes = list(range(2, 2 + count))
        value = op.strided_slice(wide, axes, firsts, lasts, steps, assume_inbound=True)
        at = framed[cuts]
        if best is None or place is None:
            best, place = value, op.broadcast_to(const(at), shape_of(value))
            continue
        better = op.logical_or(op.less(place, number(0, "int64")), _exceeds(value, best))
        better = op.logical_and(const(at >= 0), better)
        best, place = op.where(better, value, best), op.where(better, const(at), place)
    assert place is not None, "a window has an element"
    return place


def _cuts(
    windows: Sequence[int], kernel: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int],
) -> Iterator[tuple[slice, ...]]:  # fmt: skip
    """Return, for each element of a window, where it is in all windows."""
    for offset in itertools.product(*map(range, kernel)):
        firsts = [i * step for i, step in zip(offset, dilations, strict=True)]
        ends = zip(firsts, windows, strides, strict=True)
        lasts = [first + (count - 1) * stride + 1 for first, count, stride in ends]
        yield tuple(slice(*cut) for cut in zip(firsts, lasts, strides, strict=True))


def _exceeds(value: ir.Value, best: ir.Value) -> ir.Value:
    """Say whether an element is larger than the largest one before, or not a number."""
    larger = op.greater(value, best)
    if not value.type.dtype.startswith(("float", "bfloat")):
        return larger
    return op.logical_or(larger, op.isnan(value))


def adaptive_windows(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the begins and the ends of windows that divide a dimension as evenly as can be.

    Examples
    --------
    >>> begins, ends = adaptive_windows(5, 3)
    >>> begins.tolist(), ends.tolist()
    ([0, 1, 3], [2, 4, 5])
    """
    at = np.arange(count)
    return at * size // count, -(-(at + 1) * size // count)


def _places_of_windows(size: int, count: int) -> np.ndarray:
    """Return which elements each window has: the last one of a shorter window comes up again."""
    begins, ends = adaptive_windows(size, count)
    length = int((ends - begins).max(initial=0))
    return np.minimum(begins[:, None] + np.arange(length), ends[:, None] - 1)


def largest_of_adaptive_windows(x: ir.Value, sizes: Sequence[int]) -> ir.Value:
    """Return the largest elements of windows that divide images, along one dimension by another.

    Parameters
    ----------
    x : mlir.ir.Value
        Its last dimensions, those of the images, are known.
    sizes : sequence of int
        How many windows there are along each dimension of the images.
    """
    first = rank_of(x) - len(sizes)
    for axis, size in enumerate(sizes, first):
        places = _places_of_windows(int(shape_of(x)[axis]), size)
        x = op.max(op.take(x, const(places), axis), [axis + 1])
    return x


def adaptive_max_pool(x: ir.Value, sizes: Sequence[int]) -> tuple[ir.Value, ir.Value]:
    """Return the largest elements of windows that divide images, and which elements these are.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, and those of the images, which are known.
    sizes : sequence of int
        How many windows there are along each dimension of the images.

    Returns
    -------
    tuple of mlir.ir.Value
        The elements, and their numbers in their image, as int64: of several the first one; of
        several that are not a number the last one.

    Raises
    ------
    NotImplementedError
        If a dimension of the images is not known.
    """
    batch, images = shape_of(x)[:2], shape_of(x)[2:]
    dims = [dim for dim in images if isinstance(dim, int)]
    if len(dims) < len(images):
        names = ", ".join(map(str, images))
        raise NotImplementedError(f"expected images of known size, but got {names}")
    count = len(dims)
    begins, ends, lengths = [], [], []
    for i, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        begin, end = adaptive_windows(dim, size)
        places = _places_of_windows(dim, size)
        x = op.take(x, const(places), 2 + 2 * i)
        begins.append(begin)
        ends.append(end)
        lengths.append(places.shape[1])
    order = [0, 1, *range(2, 2 + 2 * count, 2), *range(3, 3 + 2 * count, 2)]
    windows = op.reshape(op.permute_dims(x, order), [*batch, *sizes, int(np.prod(lengths))])
    last = rank_of(windows) - 1
    best, at = op.max(windows, [last]), _last_largest(windows, last)
    place, step = number(0, "int64"), int(np.prod(lengths))
    for i, dim in enumerate(dims):
        step //= max(lengths[i], 1)
        offset = op.floor_mod(op.floor_divide(at, number(step, "int64")),
                              number(lengths[i], "int64"))  # fmt: skip
        shape = [1] * i + [sizes[i]] + [1] * (count - 1 - i)
        along = op.add(const(begins[i].reshape(shape)), offset)
        along = op.minimum(along, const(ends[i].reshape(shape) - 1))
        place = op.add(op.multiply(place, number(dim, "int64")), along)
    return best, place


def _last_largest(x: ir.Value, axis: int) -> ir.Value:
    """Return the place of the largest element, of the last one that is not a number."""
    at = cast(op.argmax(x, axis), "int64")
    if not x.type.dtype.startswith(("float", "bfloat")):
        return at
    is_none = op.isnan(x)
    turned = cast(op.argmax(op.astype(op.flip(is_none, axis), "int8"), axis), "int64")
    final = op.subtract(number(int(shape_of(x)[axis]) - 1, "int64"), turned)
    return op.where(op.isnan(op.max(x, [axis])), final, at)
