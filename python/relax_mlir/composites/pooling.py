# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places of the largest elements of windows, and windows of different sizes."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim
from .padding import padded
from .tensors import at_least, cast, number, product, rank_of, shape_of, size_tensor

# The first element of a dimension, the one after the last, and the step.
Cut = tuple[int, int | Dim, int]


def places_of_largest(
    x: ir.Value,
    pooled: ir.Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int | Dim],
    dilations: Sequence[int],
    *,
    by_column: bool = False,
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
    padding : sequence of int or Dim
        Before each dimension, then after each.
    by_column : bool
        Whether elements of an image are counted along its first dimension, not its last one.

    Returns
    -------
    mlir.ir.Value
        Of the dimensions of `pooled`.
    """
    images, windows = shape_of(x)[2:], shape_of(pooled)[2:]
    widths = []
    for i, begin in enumerate(padding[: len(kernel)]):
        reach = (windows[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1
        widths.append((begin, at_least(reach - images[i] - begin, 0)))
    wide = padded(x, [(0, 0), (0, 0), *widths], "constant")
    numbers = _Numbers.of(images, widths, by_column)
    best, place = None, None
    for cuts in _cuts(windows, kernel, strides, dilations):
        value, (at, is_inside) = _part(wide, cuts), numbers.part(cuts)
        if best is None or place is None:
            best, place = value, op.broadcast_to(at, shape_of(value))
            continue
        better = op.logical_or(op.less(place, number(0, "int64")), _exceeds(value, best))
        better = op.logical_and(is_inside, better)
        best, place = op.where(better, value, best), op.where(better, at, place)
    assert place is not None, "a window has an element"
    return place


@dataclasses.dataclass(frozen=True)
class _Numbers:
    """The number of each element of an image, and -1 around it.

    Parameters
    ----------
    elements : numpy.ndarray or mlir.ir.Value
        A tensor where the size of the image is not known.
    """

    elements: np.ndarray | ir.Value

    @staticmethod
    def of(
        image: Sequence[int | Dim], widths: Sequence[tuple[int | Dim, int | Dim]], by_column: bool
    ) -> _Numbers:
        """Return those of an image, with so many elements before and after each dimension."""
        known: list[int] = [dim for dim in image if isinstance(dim, int)]
        count = len(image)
        if len(known) < count:
            numbers = op.arange(0, product(image), 1, "int64")
            if by_column:
                numbers = op.permute_dims(
                    op.reshape(numbers, image[::-1]), list(range(count))[::-1]
                )
            else:
                numbers = op.reshape(numbers, image)
            return _Numbers(padded(numbers, widths, "constant", number(-1, "int64")))
        elements = np.arange(math.prod(known))
        elements = elements.reshape(known[::-1]).T if by_column else elements.reshape(known)
        return _Numbers(np.pad(elements, widths, constant_values=-1))

    def part(self, cuts: Sequence[Cut]) -> tuple[ir.Value, ir.Value]:
        """Return the numbers of one element of each window, and whether it is in the image."""
        if isinstance(self.elements, np.ndarray):
            at = self.elements[tuple(slice(*cut) for cut in cuts)]
            return const(at), const(at >= 0)
        part = _part(self.elements, cuts)
        return part, op.greater_equal(part, number(0, "int64"))


def _part(x: ir.Value, cuts: Sequence[Cut]) -> ir.Value:
    """Return a part of the last dimensions of a tensor."""
    first = rank_of(x) - len(cuts)
    axes = list(range(first, rank_of(x)))
    begins, ends, steps = (list(each) for each in zip(*cuts, strict=True))
    return op.strided_slice(x, axes, begins, ends, steps, assume_inbound=True)


def _cuts(
    windows: Sequence[int | Dim], kernel: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int],
) -> Iterator[list[Cut]]:  # fmt: skip
    """Return, for each element of a window, where it is in all windows."""
    for offset in itertools.product(*map(range, kernel)):
        firsts = [i * step for i, step in zip(offset, dilations, strict=True)]
        ends = zip(firsts, windows, strides, strict=True)
        lasts = [first + (count - 1) * stride + 1 for first, count, stride in ends]
        yield list(zip(firsts, lasts, strides, strict=True))


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


@dataclasses.dataclass(frozen=True)
class _Windows:
    """Windows that divide a dimension as evenly as can be, whose size may be symbolic.

    Parameters
    ----------
    begins, lasts : mlir.ir.Value
        The first and the last element of each window, of int64.
    places : mlir.ir.Value
        All elements of each window: the last one of a shorter window comes up again.
    length : int or Dim
        How many these are.
    """

    begins: ir.Value
    lasts: ir.Value
    places: ir.Value
    length: int | Dim

    @staticmethod
    def of(size: int | Dim, count: int) -> _Windows:
        """Return windows of a dimension."""
        if isinstance(size, Dim):
            return _Windows._symbolic(size, count)
        begins, ends = adaptive_windows(size, count)
        length = int((ends - begins).max(initial=0))
        places = np.minimum(begins[:, None] + np.arange(length), ends[:, None] - 1)
        return _Windows(const(begins), const(ends - 1), const(places), length)

    @staticmethod
    def _symbolic(size: Dim, count: int) -> _Windows:
        at, extent, many = np.arange(count), size_tensor(size), number(count, "int64")
        begins = op.floor_divide(op.multiply(const(at), extent), many)
        lasts = op.floor_divide(
            op.subtract(op.multiply(const(at + 1), extent), number(1, "int64")), many
        )
        # No window has more: it begins in one element, and ends in another one.
        length = (size - 1) // count + 2
        within = op.arange(0, length, 1, "int64")
        places = op.minimum(op.add(op.expand_dims(begins, 1), within), op.expand_dims(lasts, 1))
        return _Windows(begins, lasts, places, length)


def largest_of_adaptive_windows(x: ir.Value, sizes: Sequence[int]) -> ir.Value:
    """Return the largest elements of windows that divide images, along one dimension by another.

    Parameters
    ----------
    x : mlir.ir.Value
        Its last dimensions are those of the images.
    sizes : sequence of int
        How many windows there are along each dimension of the images.
    """
    first = rank_of(x) - len(sizes)
    for axis, count in enumerate(sizes, first):
        x = op.max(op.take(x, _Windows.of(shape_of(x)[axis], count).places, axis), [axis + 1])
    return x


def adaptive_max_pool(x: ir.Value, sizes: Sequence[int]) -> tuple[ir.Value, ir.Value]:
    """Return the largest elements of windows that divide images, and which elements these are.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, and those of the images.
    sizes : sequence of int
        How many windows there are along each dimension of the images.

    Returns
    -------
    tuple of mlir.ir.Value
        The elements, and their numbers in their image, as int64: of several the first one; of
        several that are not a number the last one.
    """
    batch, dims = shape_of(x)[:2], shape_of(x)[2:]
    count = len(dims)
    along = [_Windows.of(dim, one) for dim, one in zip(dims, sizes, strict=True)]
    for i, one in enumerate(along):
        x = op.take(x, one.places, 2 + 2 * i)
    order = [0, 1, *range(2, 2 + 2 * count, 2), *range(3, 3 + 2 * count, 2)]
    lengths = [one.length for one in along]
    windows = op.reshape(op.permute_dims(x, order), [*batch, *sizes, product(lengths)])
    last = rank_of(windows) - 1
    best, at = op.max(windows, [last]), _last_largest(windows, last)
    place = number(0, "int64")
    for i, one in enumerate(along):
        step = size_tensor(product(lengths[i + 1 :]))
        offset = op.floor_mod(op.floor_divide(at, step), size_tensor(one.length))
        shape = [1] * i + [sizes[i]] + [1] * (count - 1 - i)
        index = op.add(op.reshape(one.begins, shape), offset)
        index = op.minimum(index, op.reshape(one.lasts, shape))
        place = op.add(op.multiply(place, size_tensor(dims[i])), index)
    return best, place


def _last_largest(x: ir.Value, axis: int) -> ir.Value:
    """Return the place of the largest element, of the last one that is not a number."""
    at = cast(op.argmax(x, axis), "int64")
    if not x.type.dtype.startswith(("float", "bfloat")):
        return at
    is_none = op.isnan(x)
    turned = cast(op.argmax(op.astype(op.flip(is_none, axis), "int8"), axis), "int64")
    final = op.subtract(size_tensor(shape_of(x)[axis] - 1), turned)
    return op.where(op.isnan(op.max(x, [axis])), final, at)
