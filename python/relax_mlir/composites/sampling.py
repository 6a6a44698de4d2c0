# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at places that tensors hold, and in regions of interest."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim
from .tensors import at_least, cast, number, product, rank_of, shape_of, size_tensor

# Of the cubic kernel of Keys.
_CUBIC = -0.75

MODES = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")


@dataclasses.dataclass(frozen=True)
class Tap:
    """An element that counts along one dimension.

    Parameters
    ----------
    place : mlir.ir.Value
        Its index, of int64.
    inside : mlir.ir.Value or None
        Whether it is in the image; None where it always is.
    weight : mlir.ir.Value or None
        Its share; None for the whole.
    """

    place: ir.Value
    inside: ir.Value | None
    weight: ir.Value | None


def cubic_weights(share: ir.Value) -> list[ir.Value]:
    """Return the shares of four elements in a row in a value between the middle ones.

    Parameters
    ----------
    share : mlir.ir.Value
        How far it is from the second element, from 0 to 1.
    """
    dtype, a = share.type.dtype, _CUBIC

    def polynomial(distance: ir.Value, *factors: float) -> ir.Value:
        total = const(float(factors[0]), dtype)
        for factor in factors[1:]:
            total = op.add(op.multiply(total, distance), const(float(factor), dtype))
        return total

    def far(distance: ir.Value) -> ir.Value:
        return polynomial(distance, a, -5 * a, 8 * a, -4 * a)

    def near(distance: ir.Value) -> ir.Value:
        return polynomial(distance, a + 2, -(a + 3), 0.0, 1.0)

    one = const(1.0, dtype)
    rest = op.subtract(one, share)
    return [far(op.add(share, one)), near(share), near(rest), far(op.add(rest, one))]


def _float(value: float) -> ir.Value:
    return number(value, "float32")


def _whole(value: int) -> ir.Value:
    return number(value, "int64")


def _unnormalized(x: ir.Value, size: int | Dim, corners: bool) -> ir.Value:
    """Return places from -1 to 1 as places of elements."""
    shifted = op.add(x, _float(1.0))
    if corners:
        last = size_tensor(size - 1, "float32")
        return op.multiply(op.divide(shifted, _float(2.0)), last)
    whole = op.multiply(shifted, size_tensor(size, "float32"))
    return op.divide(op.subtract(whole, _float(1.0)), _float(2.0))


def tap(
    place: ir.Value, weight: ir.Value | None, size: int | Dim, padding: str, corners: bool
) -> Tap:
    """Return the element at a place, with padding of the image.

    Parameters
    ----------
    place : mlir.ir.Value
        Of int64.
    weight : mlir.ir.Value or None
        Its share.
    size : int or Dim
        Of the image.
    padding : str
        One of `PADDINGS`.
    corners : bool
        Whether reflection is at the centres of the elements at the ends, not at their borders.
    """
    if padding == "reflection" and size != 1:
        # There and back again: borders are the ends, or half an element beyond them.
        period = 2 * (size - 1) if corners else 2 * size
        # One element has no way to go.
        turned = op.floor_mod(place, size_tensor(at_least(period, 1)))
        last = size_tensor(period if corners else period - 1)
        return Tap(op.minimum(turned, op.subtract(last, turned)), None, weight)
    nearest = _nearest(place, size)
    return Tap(nearest, op.equal(nearest, place) if padding == "zeros" else None, weight)


def _nearest(place: ir.Value, size: int | Dim) -> ir.Value:
    """Return the nearest place in an image."""
    if isinstance(size, int):
        return op.clip(place, 0, size - 1)
    return op.maximum(op.minimum(place, size_tensor(size - 1)), _whole(0))


def _taps(x: ir.Value, size: int | Dim, mode: str, padding: str, corners: bool) -> list[Tap]:
    places = _unnormalized(x, size, corners)
    if mode == "nearest":
        return [tap(op.astype(op.round(places), "int64"), None, size, padding, corners)]
    floor = op.floor(places)
    share, first = op.subtract(places, floor), op.astype(floor, "int64")
    if mode == "linear":
        weights, begin = [op.subtract(_float(1.0), share), share], 0
    else:
        weights, begin = cubic_weights(share), -1
    return [
        tap(op.add(first, _whole(begin + i)), weight, size, padding, corners)
        for i, weight in enumerate(weights)
    ]


def _flat_index(dims: Sequence[Any], places: Sequence[ir.Value]) -> ir.Value:
    """Return the index in a flat tensor of places along its dimensions, which broadcast."""
    index = places[0]
    for dim, place in zip(dims[1:], places[1:], strict=True):
        index = op.add(op.multiply(index, size_tensor(dim, place.type.dtype)), place)
    return index


def _elements(rows: ir.Value, places: Sequence[ir.Value]) -> ir.Value:
    """Return the last dimension of a tensor at places along each other one, which broadcast."""
    *dims, channels = shape_of(rows)
    return op.take(op.reshape(rows, [product(dims), channels]), _flat_index(dims, places), 0)


# Channels that are less than a vector.
_FEW = 16


class Images:
    """Images of which all channels of an element are taken at once.

    Few channels are less than a vector. They are the first dimension then, so that elements of the
    result that are next to each other are lanes, and else the last one.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, and those of the images.
    """

    def __init__(self, x: ir.Value) -> None:
        rank, (batch, channels, *dims) = rank_of(x), shape_of(x)
        self.has_planes = isinstance(channels, int) and channels < _FEW
        order = [1, 0, *range(2, rank)] if self.has_planes else [0, *range(2, rank), 1]
        count = product([batch, *dims])
        shape = [channels, count] if self.has_planes else [count, channels]
        # Vectors have twice as many of the shorter ones.
        is_short = isinstance(count, int) and count < 2**31
        self.index_dtype = "int32" if is_short else "int64"
        planes = x if self.has_planes and batch == 1 else op.permute_dims(x, order)
        self._flat = op.reshape(planes, shape)
        self._batch, self._dims = batch, dims

    def take(self, places: Sequence[ir.Value]) -> ir.Value:
        """Return the elements at places along each dimension of the images.

        Parameters
        ----------
        places : sequence of mlir.ir.Value
            Of integers, with the batch as the first dimension, and in the images.
        """
        dims, places = self._dims, [cast(place, self.index_dtype) for place in places]
        if self._batch != 1:
            batch = op.arange(0, self._batch, 1, self.index_dtype)
            rank = rank_of(places[0])
            image = op.expand_dims(batch, list(range(1, rank))) if rank > 1 else batch
            dims, places = [self._batch, *dims], [image, *places]
        index = _flat_index(dims, places)
        return op.take(self._flat, index, 1 if self.has_planes else 0)

    def for_all_channels(self, x: ir.Value) -> ir.Value:
        """Return what elements have in common so that it broadcasts to what is taken."""
        return x if self.has_planes else op.expand_dims(x, rank_of(x))

    def with_channels(self, taken: ir.Value) -> ir.Value:
        """Return what was taken with the channels as the second dimension."""
        rank = rank_of(taken)
        if self.has_planes:
            order = [1, 0, *range(2, rank)]
            if self._batch == 1:
                return op.reshape(taken, [shape_of(taken)[i] for i in order])
            return op.permute_dims(taken, order)
        return op.permute_dims(taken, [0, rank - 1, *range(1, rank - 1)])


def term(images: Images, taps: tuple[Tap, ...]) -> ir.Value:
    """Return the elements at one tap of each dimension, times their shares.

    Parameters
    ----------
    images : Images
    taps : tuple of Tap
    """
    value = images.take([tap.place for tap in taps])
    for tap in taps:
        if tap.weight is not None:
            value = op.multiply(value, images.for_all_channels(tap.weight))
        if tap.inside is not None:
            zero = number(0, value.type.dtype)
            value = op.where(images.for_all_channels(tap.inside), value, zero)
    return value


def grid_sample(x: ir.Value, grid: ir.Value, mode: str, padding: str, corners: bool) -> ir.Value:
    """Return images sampled at points from -1 to 1.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, and those of the images.
    grid : mlir.ir.Value
        Of the dimensions batch, those of the result, and a coordinate of a point for each
        dimension of the images, the last one first.
    mode : str
        One of `MODES`.
    padding : str
        One of `PADDINGS`.
    corners : bool
        Whether -1 and 1 are the centres of the elements at the ends, not their borders.

    Raises
    ------
    NotImplementedError
        If a mode is unknown.
    ValueError
        If images have no elements.
    """
    if mode not in MODES or padding not in PADDINGS:
        raise NotImplementedError(f"expected known modes, but got {mode} and {padding}")
    sizes = shape_of(x)[2:]
    if 0 in sizes:
        raise ValueError(f"expected images that have elements, but got {x.type}")
    points, last = cast(grid, "float32"), rank_of(grid) - 1
    taps = []
    for i, size in enumerate(sizes):
        # Points have the last dimension first.
        at = len(sizes) - 1 - i
        one = op.strided_slice(points, [last], [at], [at + 1], [1], assume_inbound=True)
        taps.append(_taps(op.squeeze(one, [last]), size, mode, padding, corners))
    wide = x if mode == "nearest" else cast(x, "float32")
    images = Images(wide)
    terms = [term(images, combination) for combination in itertools.product(*taps)]
    return cast(images.with_channels(functools.reduce(op.add, terms)), x.type.dtype)


def affine_points(
    matrices: ir.Value, sizes: Sequence[int | Dim], *, corners: bool = True
) -> ir.Value:
    """Return the points of images that are turned, scaled and moved, as `grid_sample` takes them.

    Parameters
    ----------
    matrices : mlir.ir.Value
        Of each image a row for each coordinate, and a column for each and one for a shift. The
        last dimension of images comes first.
    sizes : sequence of int or Dim
        The dimensions of the result.
    corners : bool
        Whether -1 and 1 are the centres of the elements at the ends, not their borders.

    Returns
    -------
    mlir.ir.Value
        Of the dimensions batch, those of the result, and coordinate.
    """
    count = len(sizes)
    points = affine_coordinates(matrices, sizes, corners=corners)
    return op.permute_dims(points, [0, *range(2, 2 + count), 1])


def affine_coordinates(
    matrices: ir.Value, sizes: Sequence[int | Dim], *, corners: bool = True
) -> ir.Value:
    """Return what `affine_points` does, with the coordinate as the second dimension."""
    points = _points(sizes, corners, matrices.type.dtype)
    return op.reshape(op.matmul(matrices, points), [shape_of(matrices)[0], len(sizes), *sizes])


def _points(sizes: Sequence[int | Dim], corners: bool, dtype: str) -> ir.Value:
    """Return each coordinate of all points of an image, the last one first, and a row of ones."""
    known: list[int] = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes):
        sides = np.meshgrid(*(_even_points(size, corners) for size in known), indexing="ij")
        rows = [*(side.ravel() for side in sides[::-1]), np.ones(math.prod(known))]
        return const(np.stack(rows), dtype)
    count = len(sizes)
    wide = [
        op.expand_dims(each, [i for i in range(count) if i != axis])
        for axis, each in enumerate(_symbolic_points(size, corners, dtype) for size in sizes)
    ]
    rows = [op.broadcast_to(one, sizes) for one in (*wide[::-1], number(1, dtype))]
    return op.reshape(op.stack(rows, 0), [count + 1, product(sizes)])


def _even_points(count: int, corners: bool) -> np.ndarray:
    """Return a number of points from -1 to 1, at equal distances."""
    return np.linspace(-1, 1, count) if corners else (np.arange(count) * 2 + 1) / count - 1


def _symbolic_points(size: int | Dim, corners: bool, dtype: str) -> ir.Value:
    """Return what `_even_points` does, of a size that may be symbolic."""
    steps = at_least(size - 1, 1) if corners else size
    first = steps if corners else size - 1
    twice = op.arange(0, size * 2, 2, "int64")
    wide = "float64" if dtype == "float64" else "float32"
    numerators = cast(op.subtract(twice, size_tensor(first)), wide)
    return cast(op.divide(numerators, size_tensor(steps, wide)), dtype)


# -- deformable convolution ---------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Deformation:
    """How windows of a deformable convolution of images move.

    Parameters
    ----------
    strides, dilations : sequence of int
        For both dimensions.
    begins : sequence of int
        The padding before both dimensions.
    groups : int
        Of the channels.
    offset_groups : int
        Channels of a group are shifted by the same offsets.
    """

    strides: Sequence[int]
    dilations: Sequence[int]
    begins: Sequence[int]
    groups: int = 1
    offset_groups: int = 1

    def places(self, kernel: list[int], axis: int, outer: list[Any]) -> ir.Value:
        """Return where each element of each window is along one dimension."""
        inside = np.indices(kernel)[axis].reshape(-1, 1, 1) * self.dilations[axis]
        begins = op.arange(0, outer[axis], 1, "int64")
        shape = [1, -1, 1] if axis == 0 else [1, 1, -1]
        first = op.reshape(op.multiply(begins, _whole(self.strides[axis])), shape)
        shifted = const((inside - self.begins[axis]).astype("int64"))
        return op.astype(op.add(shifted, first), "float32")


def deform_conv(
    x: ir.Value, weight: ir.Value, offset: ir.Value, mask: ir.Value | None, how: Deformation
) -> ir.Value:
    """Return the convolution of elements that offsets shift; those outside of images are 0.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, height and width.
    weight : mlir.ir.Value
        Of the dimensions output channel, channel of a group, and those of the window.
    offset : mlir.ir.Value
        Of the dimensions batch, offset group and element of the window and coordinate, and those
        of the result.
    mask : mlir.ir.Value or None
        A factor for each element of each window.
    how : Deformation

    Raises
    ------
    NotImplementedError
        If `x` is of another rank, or the size of the window is not known.
    """
    if rank_of(x) != 4:
        raise NotImplementedError(f"expected images of rank 4, but got rank {rank_of(x)}")
    batch, channels = shape_of(x)[:2]
    sizes, kernel = shape_of(x)[2:], [dim for dim in shape_of(weight)[2:] if isinstance(dim, int)]
    if len(kernel) < 2:
        raise NotImplementedError(f"expected a window of known size, but got {weight.type}")
    groups, taken, outer = how.offset_groups, math.prod(kernel), shape_of(offset)[2:]
    shifts = op.reshape(cast(offset, "float32"), [batch * groups, taken, 2, *outer])
    taps = [
        _shifted(op.squeeze(part, [2]), sizes[i], how.places(kernel, i, outer))
        for i, part in enumerate(_halves(shifts))
    ]
    rows = op.reshape(cast(x, "float32"), [batch * groups, channels // groups, *sizes])
    images = Images(rows)
    terms = [term(images, combination) for combination in itertools.product(*taps)]
    values = images.with_channels(functools.reduce(op.add, terms))
    columns = op.reshape(values, [batch * groups, channels // groups, taken, *outer])
    if mask is not None:
        factor = op.reshape(cast(mask, "float32"), [batch * groups, 1, taken, *outer])
        columns = op.multiply(columns, factor)
    return cast(_convolved(how, columns, weight, [batch, channels, taken, *outer]), x.type.dtype)


def _halves(shifts: ir.Value) -> list[ir.Value]:
    return [op.strided_slice(shifts, [2], [i], [i + 1], [1], assume_inbound=True) for i in (0, 1)]


def _shifted(shift: ir.Value, size: int | Dim, places: ir.Value) -> list[Tap]:
    """Return the elements around shifted places; what is outside of the image is 0."""
    at = op.add(shift, places)
    images, taken, height, width = shape_of(at)
    at = op.reshape(at, [images, taken * height, width])
    floor = op.floor(at)
    share, first = op.subtract(at, floor), op.astype(floor, "int64")
    second = op.add(first, number(1, "int64"))
    return [
        tap(first, op.subtract(_float(1.0), share), size, "zeros", True),
        tap(second, share, size, "zeros", True),
    ]


def _convolved(how: Deformation, columns: ir.Value, weight: ir.Value, dims: list[Any]) -> ir.Value:
    batch, channels, taken, *outer = dims
    groups, outputs = how.groups, shape_of(weight)[0]
    rows, places = channels // groups * taken, outer[0] * outer[1]
    left = op.reshape(cast(weight, "float32"), [groups, outputs // groups, rows])
    right = op.reshape(columns, [batch, groups, rows, places])
    return op.reshape(op.matmul(left, right), [batch, outputs, *outer])


# -- regions of interest ------------------------------------------------------------------------


def region_terms(
    x: ir.Value, edges: ir.Value, images: ir.Value, outer: Sequence[int], samples: int,
    is_forced: bool,
) -> list[ir.Value]:  # fmt: skip
    """Return the four elements around each sample of regions, times their shares.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, height and width.
    edges : mlir.ir.Value
        Of each region the first column and row, and the last ones.
    images : mlir.ir.Value
        The image of each region.
    outer : sequence of int
        Rows and columns of bins.
    samples : int
        Of each bin, along both dimensions.
    is_forced : bool
        Whether regions have at least the size of an element.
    """
    taps = [
        _bins(edges, axis, size, samples, is_forced, shape_of(x)[2 + axis])
        for axis, size in enumerate(outer)
    ]
    rows = op.permute_dims(cast(x, "float32"), [0, 2, 3, 1])
    return [region_corner(rows, images, *pair) for pair in itertools.product(*taps)]


def bins_of_samples(
    values: ir.Value, outer: Sequence[int], samples: int, is_mean: bool
) -> ir.Value:
    """Return the mean, or else the largest, of the samples of each bin of each region."""
    count, _, _, channels = shape_of(values)
    values = op.reshape(values, [count, outer[0], samples, outer[1], samples, channels])
    pooled = (op.mean if is_mean else op.max)(values, [2, 4])
    return op.permute_dims(pooled, [0, 3, 1, 2])


def _bins(
    edges: ir.Value, axis: int, bins: int, samples: int, is_forced: bool, extent: Any
) -> list[tuple[ir.Value, ir.Value]]:
    """Return the elements around the samples of one dimension of all regions, with shares."""
    # Regions have the last dimension first.
    begin, end = (
        op.strided_slice(edges, [1], [i], [i + 1], [1], assume_inbound=True)
        for i in (1 - axis, 3 - axis)
    )
    size = op.subtract(end, begin)
    size = op.maximum(size, _float(1.0)) if is_forced else size
    steps = (np.arange(bins * samples) + 0.5) / samples
    each = op.divide(size, _float(bins))
    at = op.add(begin, op.multiply(each, const(steps.astype("float32"))))
    high = size_tensor(extent, "float32")
    inside = op.logical_and(op.greater_equal(at, _float(-1.0)), op.less_equal(at, high))
    last = op.subtract(high, _float(1.0))
    at = op.minimum(op.maximum(at, _float(0.0)), last)
    floor = op.floor(at)
    share = op.subtract(at, floor)
    zero = _float(0.0)
    first, second = floor, op.minimum(op.add(floor, _float(1.0)), last)
    shares = (op.subtract(_float(1.0), share), share)
    return [
        (op.astype(place, "int64"), op.where(inside, weight, zero))
        for place, weight in zip((first, second), shares, strict=True)
    ]


def region_corner(
    rows: ir.Value, images: ir.Value, down: tuple[ir.Value, ir.Value],
    right: tuple[ir.Value, ir.Value],
) -> ir.Value:  # fmt: skip
    """Return elements at rows and columns of images, times both shares.

    Parameters
    ----------
    rows : mlir.ir.Value
        Images with the channels as the last dimension.
    images : mlir.ir.Value
        The image of each region.
    down, right : tuple of mlir.ir.Value
        Of each region, the places along a dimension, of int64, and the shares.
    """
    image = op.expand_dims(cast(images, "int64"), [1, 2])
    places = [image, op.expand_dims(down[0], 2), op.expand_dims(right[0], 1)]
    share = op.multiply(op.expand_dims(down[1], 2), op.expand_dims(right[1], 1))
    return op.multiply(_elements(rows, places), op.expand_dims(share, 3))
