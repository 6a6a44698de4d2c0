# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of images, for all front ends: each dimension after the other.

Where the elements of the result are in the image, and how much the elements around them count, are
formulas of NumPy. Those of known sizes are constants; a program computes the others.
"""

from __future__ import annotations

import dataclasses
import fractions
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim
from .formulas import Traced
from .tensors import (
    cast,
    matmul_along,
    number,
    product_along,
    rank_of,
    same,
    shape_of,
    size,
    size_tensor,
    times_as_large,
)

# An array of NumPy, a number, or a traced tensor.
Numbers = Any

_METHODS = ("nearest_neighbor", "linear", "cubic")

# Which element is the nearest one of a place between elements, which may be off by some slack.
# Places before the first element mean it, however they are rounded.
_ROUNDINGS: dict[str, Callable[[Numbers, float], Numbers]] = {
    "round": lambda x, slack: np.floor(x + 0.5),
    "round_prefer_floor": lambda x, slack: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x, slack: np.floor(x + 0.5),
    "floor": lambda x, slack: np.floor(x + slack),
    "ceil": lambda x, slack: np.ceil(x - slack),
}

# Of a scale as a quotient, so that lengths are expressions.
_LARGEST_DIVISOR = 64


@dataclasses.dataclass(frozen=True)
class Resampling:
    """How images are resized.

    Parameters
    ----------
    method : str
        ``nearest_neighbor``, ``linear`` or ``cubic``.
    mode : str
        Where an element of the result is in the image, by the name of the coordinates.
    rounding : str
        Which element is the nearest one; "" for that of the coordinates.
    alpha : float
        Of the cubic kernel.
    excludes : bool
        Whether elements beyond the image have no share, not even as copies of those at its ends.
    outside : float
        The elements beyond the image, of the coordinates ``tf_crop_and_resize``.
    smooth : bool
        Whether the kernel of smaller results is as wide as their elements, against aliases.
    slack : float
        How far from an element a place may be that still means it.
    dtype : str
        The data type of places.
    divides : bool
        Whether places are divided by scales, as ONNX does, and not multiplied by their inverses.
    """

    method: str
    mode: str
    rounding: str = ""
    alpha: float = -0.5
    excludes: bool = False
    outside: float = 0.0
    smooth: bool = False
    slack: float = 1e-5
    dtype: str = "float32"
    divides: bool = False

    def __post_init__(self) -> None:
        if self.method not in _METHODS:
            raise ValueError(f"expected method {', '.join(_METHODS)}, but got '{self.method}'")
        if self.mode not in _COORDINATES:
            names = ", ".join(_COORDINATES)
            raise ValueError(
                f"expected coordinate_transformation_mode {names}, but got '{self.mode}'"
            )
        if self.rounding and self.rounding not in _ROUNDINGS:
            names = ", ".join(_ROUNDINGS)
            raise ValueError(f"expected rounding_method {names}, but got '{self.rounding}'")

    @property
    def nearest(self) -> str:
        """The name of the rounding."""
        return self.rounding or ("round" if self.mode == "align_corners" else "floor")

    @property
    def repeats(self) -> bool:
        """Whether a result that is a whole number of times as large has each element so often."""
        if self.method != "nearest_neighbor":
            return False
        if self.mode in ("half_pixel", "pytorch_half_pixel"):  # never between two elements
            return self.nearest.startswith("round")
        return self.mode in ("asymmetric", "tf_half_pixel_for_nn") and self.nearest == "floor"


@dataclasses.dataclass(frozen=True)
class Axis:
    """How one dimension is resized.

    Parameters
    ----------
    place : int
        Which one it is.
    size, length : int or Dim
        Its size, and that of the result.
    scale : float, optional
        What places are computed with, by default the quotient of `length` and `size`.
    roi : tuple of float
        The begin and the end of what is resized, of the whole dimension.
    """

    place: int
    size: int | Dim
    length: int | Dim
    scale: float | None = None
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def is_known(self) -> bool:
        """Whether both sizes are known."""
        return isinstance(self.size, int) and isinstance(self.length, int)

    @property
    def times(self) -> int | None:
        """How many times each element is there, if that is a whole number, by the scale too."""
        times = times_as_large(self.length, self.size)
        return times if self.scale in (None, times) else None


class _Frame:
    """The sizes of a dimension as numbers, and the elements of the result by their number."""

    def __init__(self, axis: Axis, how: Resampling) -> None:
        self._how, self._scale, self.roi = how, axis.scale, axis.roi
        self.at = indices(axis.length, how.dtype)
        self.size, self.length = (_size(one, how.dtype) for one in (axis.size, axis.length))
        # The size of the result before it was rounded.
        self.exact = self.length if axis.scale is None else self.size * axis.scale

    def _times(self, x: Numbers, over: Numbers, under: Numbers) -> Numbers:
        return x * over / under if self._how.divides else x * (over / under)

    def back(self, x: Numbers) -> Numbers:
        """Return distances of the result as those of the image."""
        if self._how.divides:
            return x / (self.length / self.size if self._scale is None else self._scale)
        return x * (self.size / self.length if self._scale is None else 1.0 / self._scale)

    def gaps(self, x: Numbers) -> Numbers:
        """Return `x`, in gaps between elements of the result, in those of the image."""
        is_one = self.exact == 1
        count = np.where(is_one, self.exact, self.exact - 1)
        return np.where(is_one, x * 0, self._times(x, self.size - 1, count))

    @property
    def width(self) -> Numbers:
        """How many elements of the image one of the result is wide, but at least 1."""
        return np.maximum(self.size / self.exact, 1.0)


def _size(dim: int | Dim, dtype: str) -> Numbers:
    return np.dtype(dtype).type(dim) if isinstance(dim, int) else Traced(size_tensor(dim, dtype))


def indices(count: int | Dim, dtype: str) -> Numbers:
    """Return the numbers from 0, an array or a traced tensor."""
    if isinstance(count, int):
        return np.arange(count, dtype=dtype)
    return Traced(op.astype(op.arange(0, count, 1, "int64"), dtype))


def _half_pixel(frame: _Frame) -> Numbers:
    return frame.back(frame.at + 0.5) - 0.5


def _pytorch_half_pixel(frame: _Frame) -> Numbers:
    return np.where(frame.exact > 1, _half_pixel(frame), frame.at * 0)


def _half_pixel_symmetric(frame: _Frame) -> Numbers:
    return frame.size / 2 * (1 - frame.length / frame.exact) + _half_pixel(frame)


def _crop(frame: _Frame) -> Numbers:
    begin, end = frame.roi
    last = frame.size - 1
    part = np.where(
        frame.exact == 1,
        frame.at * 0 + (end - begin) * last / 2,
        frame.gaps(frame.at * (end - begin)),
    )
    return part + begin * last


# Where an element of the result is in the image.
_COORDINATES: dict[str, Callable[[_Frame], Numbers]] = {
    "half_pixel": _half_pixel,
    "align_corners": lambda frame: frame.gaps(frame.at),
    "asymmetric": lambda frame: frame.back(frame.at),
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": lambda frame: frame.back(frame.at + 0.5),
    "tf_crop_and_resize": _crop,
    "half_pixel_symmetric": _half_pixel_symmetric,
}


def _near(x: Numbers, alpha: float) -> Numbers:
    return ((alpha + 2) * x - (alpha + 3)) * x * x + 1


def _far(x: Numbers, alpha: float) -> Numbers:
    return ((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha


def _kernel(how: Resampling, distance: Numbers) -> Numbers:
    """Return the shares of elements so far away, whose sum may be another than 1."""
    x = np.abs(distance)
    if how.method == "linear":
        return np.maximum(1.0 - x, 0.0)
    return np.where(x <= 1, _near(x, how.alpha), np.where(x < 2, _far(x, how.alpha), x * 0))


def _taps(how: Resampling, frame: _Frame) -> list[tuple[Numbers, Numbers]]:
    """Return which elements count for each one of the result, and their shares."""
    places = _COORDINATES[how.mode](frame)
    first = np.floor(places)
    share, rest = places - first, 1 - (places - first)
    if how.method == "linear":
        begin, shares = 0, [rest, share]
    else:
        near, far = (functools.partial(one, alpha=how.alpha) for one in (_near, _far))
        begin, shares = -1, [far(share + 1), near(share), near(rest), far(rest + 1)]
    elements = [first + (begin + i) for i in range(len(shares))]
    if how.excludes:
        last = frame.size - 1
        inside = [np.logical_and(one >= 0, one <= last) for one in elements]
        shares = [np.where(is_in, one, one * 0) for is_in, one in zip(inside, shares, strict=True)]
        total = functools.reduce(np.add, shares)
        shares = [one / total for one in shares]
    return [(_clipped(one, frame.size), part) for one, part in zip(elements, shares, strict=True)]


def _clipped(elements: Numbers, extent: Numbers) -> Numbers:
    """Return the elements at the ends of the image in place of those beyond it."""
    return np.maximum(np.minimum(elements, extent - 1), 0)


def _elements_around(axis: Axis, how: Resampling, beyond: int | Dim) -> Numbers:
    """Return the elements of the image by their numbers, and some beyond both ends."""
    return indices(size(axis.size + 2 * beyond), how.dtype) - _size(size(beyond), how.dtype)


def _smooth_shares(how: Resampling, axis: Axis, frame: _Frame, beyond: int | Dim) -> Numbers:
    """Return shares of all elements, and of some beyond the image, in those of the result."""
    elements = _elements_around(axis, how, beyond)
    places = _COORDINATES[how.mode](frame)
    if isinstance(elements, np.ndarray) and isinstance(places, np.ndarray):
        shares = _kernel(how, (elements - places[:, None]) / frame.width)
        return shares / shares.sum(1, keepdims=True)
    column = Traced(op.expand_dims(_tensor(places, how.dtype), 1))
    shares = _kernel(how, (elements - column) / frame.width)
    return shares / Traced(op.sum(shares.value, 1, keepdims=True))


def _tensor(numbers: Numbers, dtype: str) -> ir.Value:
    if isinstance(numbers, Traced):
        return cast(numbers.value, dtype)
    return const(np.asarray(numbers).astype(dtype))


def _reach(how: Resampling, axis: Axis) -> int | Dim:
    """Return how far elements count beyond the image, at most."""
    if how.excludes:
        return 0
    support = 1 if how.method == "linear" else 2
    width: int | Dim = (
        1 + axis.size // axis.length
        if axis.scale is None
        else math.ceil(max(1.0, 1.0 / axis.scale))
    )
    return support * width + 1


def _matrix(how: Resampling, axis: Axis, frame: _Frame) -> np.ndarray:
    """Return the share of each element of the image in each of the result, of known sizes."""
    assert isinstance(axis.length, int) and isinstance(axis.size, int)
    matrix = np.zeros((axis.length, axis.size))
    if not how.smooth:
        for elements, shares in _taps(how, frame):
            np.add.at(matrix, (np.arange(axis.length), elements.astype("int64")), shares)
        return matrix
    beyond = _reach(how, axis)
    shares = _smooth_shares(how, axis, frame, beyond)
    elements = _clipped(_elements_around(axis, how, beyond), frame.size)
    np.add.at(matrix.T, elements.astype("int64"), shares.T)
    return matrix


def _blended(x: ir.Value, how: Resampling, axis: Axis, frame: _Frame) -> ir.Value:
    """Return sums of neighbours that the program finds."""
    dtype, others = x.type.dtype, [i for i in range(rank_of(x)) if i != axis.place]
    if how.smooth:
        beyond = _reach(how, axis)
        shares = _tensor(_smooth_shares(how, axis, frame, beyond), dtype)
        if not how.excludes:
            elements = _elements_around(axis, how, beyond)
            x = _taken(x, _clipped(elements, frame.size), axis.place)
        return matmul_along(x, op.permute_dims(shares, [1, 0]), axis.place)
    terms = [
        op.multiply(_taken(x, elements, axis.place), op.expand_dims(_tensor(one, dtype), others))
        for elements, one in _taps(how, frame)
    ]
    return functools.reduce(op.add, terms)


def _taken(x: ir.Value, elements: Numbers, place: int) -> ir.Value:
    """Return elements of a dimension by their numbers."""
    return op.take(x, _tensor(elements, "int64"), place)


def resized_along(x: ir.Value, how: Resampling, axis: Axis) -> ir.Value:
    """Return a tensor with one dimension resized.

    Parameters
    ----------
    x : mlir.ir.Value
    how : Resampling
    axis : Axis
    """
    times = axis.times if how.repeats and not axis.is_known else None
    if times:
        return op.repeat(x, times, axis.place) if times > 1 else x
    frame = _Frame(axis, how)
    if how.method == "nearest_neighbor":
        nearest = _ROUNDINGS[how.nearest](_COORDINATES[how.mode](frame), how.slack)
        return _taken(x, _clipped(nearest, frame.size), axis.place)
    if axis.is_known:
        return product_along(x, _matrix(how, axis, frame), axis.place)
    return _blended(x, how, axis, frame)


def cropped(x: ir.Value, how: Resampling, axes: Sequence[Axis]) -> ir.Value:
    """Return a result with the elements replaced that are beyond the image.

    Parameters
    ----------
    x : mlir.ir.Value
    how : Resampling
        Of the coordinates ``tf_crop_and_resize``.
    axes : sequence of Axis
    """
    value = number(how.outside, x.type.dtype)
    for axis in axes:
        frame = _Frame(axis, how)
        places = _COORDINATES[how.mode](frame)
        outside = np.logical_or(places < 0, places > frame.size - 1)
        if isinstance(outside, Traced) or outside.any():
            others = [i for i in range(rank_of(x)) if i != axis.place]
            x = op.where(op.expand_dims(_tensor(outside, "bool"), others), value, x)
    return x


def scaled_length(extent: int | Dim, scale: float) -> int | Dim:
    """Return a size times a scale, without what is beyond the point.

    Parameters
    ----------
    extent : int or Dim
    scale : float

    Raises
    ------
    NotImplementedError
        If it has no expression.
    """
    if isinstance(extent, int):
        return math.floor(extent * scale)
    quotient = fractions.Fraction(scale)
    if quotient.denominator > _LARGEST_DIVISOR:
        raise NotImplementedError(
            f"expected scales that are quotients of small numbers for a dimension {extent}, but "
            f"got {scale}: give sizes, or known dimensions"
        )
    return size(extent * quotient.numerator // quotient.denominator)


def resized(
    x: ir.Value, sizes: Sequence[Any], how: Resampling, roi: Sequence[float] | None = None,
    dtype: str | None = None,
) -> ir.Value:  # fmt: skip
    """Return images of other sizes, as TVM's operators do.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, and those of the images.
    sizes : sequence of int or Dim
        Of each dimension of the images.
    how : Resampling
    roi : sequence of float, optional
        The begins of a part of the image, then its ends, for ``tf_crop_and_resize``.
    dtype : str, optional
        The data type of the result, by default that of `x`; integers are rounded towards zero.
    """
    count = len(sizes)
    edges = list(roi) if roi else [0.0] * count + [1.0] * count
    axes = [
        Axis(2 + i, extent, sizes[i], roi=(float(edges[i]), float(edges[i + count])))
        for i, extent in enumerate(shape_of(x)[2:])
    ]
    for axis in axes:
        if isinstance(axis.length, int) and axis.length < 1 and not same(axis.size, axis.length):
            raise ValueError(f"expected sizes of 1 or more, but got {axis.length}")
    crops = how.mode == "tf_crop_and_resize"
    result = x
    if how.method != "nearest_neighbor" and x.type.dtype != "float64":
        result = cast(x, "float32")
    for axis in axes:
        if crops or how.mode == "tf_half_pixel_for_nn" or not same(axis.size, axis.length):
            result = resized_along(result, how, axis)
    if crops:
        result = cropped(result, how, axes)
    return cast(result, dtype or x.type.dtype)
