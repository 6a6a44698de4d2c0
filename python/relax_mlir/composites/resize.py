# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of images: each dimension after the other, as sums of neighbours with shares."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from .tensors import cast, number, rank_of, same, shape_of, size_tensor

_METHODS = ("nearest_neighbor", "linear", "cubic")
_EPSILON = 1e-5

# Where the nearest element is, of a place between elements.
_ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round": lambda x: np.sign(x) * np.floor(np.abs(x) + np.float32(0.5)),
    "round_prefer_floor": lambda x: np.ceil(x - np.float32(0.5)),
    "round_prefer_ceil": lambda x: np.floor(x + np.float32(0.5)),
    "floor": lambda x: np.floor(x + np.float32(_EPSILON)),
    "ceil": lambda x: np.ceil(x - np.float32(_EPSILON)),
}


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
    """

    method: str
    mode: str
    rounding: str = ""
    alpha: float = -0.5
    excludes: bool = False
    outside: float = 0.0

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


@dataclasses.dataclass(frozen=True)
class _Axis:
    """How one dimension is resized.

    Parameters
    ----------
    place : int
        Which one it is.
    size, length : int or Dim
        Its size, and that of the result.
    roi : tuple of float
        The begin and the end of what is resized, of the whole dimension.
    """

    place: int
    size: Any
    length: Any
    roi: tuple[float, float]


def _grid(axis: _Axis) -> tuple[np.ndarray, np.float32]:
    at = np.arange(axis.length, dtype=np.float32)
    return at, np.float32(axis.size) / np.float32(axis.length)


def _half_pixel(axis: _Axis) -> np.ndarray:
    at, scale = _grid(axis)
    return (at + np.float32(0.5)) * scale - np.float32(0.5)


def _align_corners(axis: _Axis) -> np.ndarray:
    at, _ = _grid(axis)
    return at * np.float32((axis.size - 1) / (axis.length - 1) if axis.length > 1 else 0)


def _asymmetric(axis: _Axis) -> np.ndarray:
    at, scale = _grid(axis)
    return at * scale


def _pytorch_half_pixel(axis: _Axis) -> np.ndarray:
    return _half_pixel(axis) if axis.length > 1 else np.zeros(axis.length, np.float32)


def _half_pixel_for_nn(axis: _Axis) -> np.ndarray:
    at, scale = _grid(axis)
    return (at + np.float32(0.5)) * scale


def _crop(axis: _Axis) -> np.ndarray:
    at, _ = _grid(axis)
    begin, end = axis.roi
    if axis.length == 1:
        return np.full(1, 0.5 * (begin + end) * (axis.size - 1), np.float32)
    step = (end - begin) * (axis.size - 1) / (axis.length - 1)
    return np.float32(begin * (axis.size - 1)) + at * np.float32(step)


_COORDINATES: dict[str, Callable[[_Axis], np.ndarray]] = {
    "half_pixel": _half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": _half_pixel_for_nn,
    "tf_crop_and_resize": _crop,
}


def _cubic(share: np.ndarray, alpha: float) -> list[np.ndarray]:
    """Return the shares of four elements in a row in a value between the middle ones."""

    def near(x: np.ndarray) -> np.ndarray:
        return np.asarray(((alpha + 2) * x - (alpha + 3)) * x * x + 1)

    def far(x: np.ndarray) -> np.ndarray:
        return np.asarray(((alpha * x - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha)

    return [far(share + 1), near(share), near(1 - share), far(2 - share)]


def _taps(how: Resampling, axis: _Axis) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return which elements count for each one of the result, and their shares."""
    places = _COORDINATES[how.mode](axis).astype(np.float64)
    first = np.floor(places)
    share = places - first
    if how.method == "linear":
        begin, shares = 0, [1 - share, share]
    else:
        begin, shares = -1, _cubic(share, how.alpha)
    indices = [first + begin + i for i in range(len(shares))]
    if how.method == "cubic" and how.excludes:
        inside = [(index >= 0) & (index <= axis.size - 1) for index in indices]
        shares = [np.where(is_in, one, 0.0) for is_in, one in zip(inside, shares, strict=True)]
        total = functools.reduce(np.add, shares)
        shares = [one / total for one in shares]
    return [
        (np.clip(index, 0, axis.size - 1).astype("int64"), one)
        for index, one in zip(indices, shares, strict=True)
    ]


def _resized(x: ir.Value, how: Resampling, axis: _Axis) -> ir.Value:
    """Return a tensor with one dimension resized."""
    if not isinstance(axis.size, int) or not isinstance(axis.length, int):
        return _resized_symbolic(x, how, axis)
    if how.method == "nearest_neighbor":
        places = _ROUNDINGS[how.nearest](_COORDINATES[how.mode](axis))
        indices = np.clip(places, 0, axis.size - 1).astype("int64")
        return op.take(x, const(indices), axis.place)
    shape = [1] * rank_of(x)
    shape[axis.place] = axis.length
    terms = [
        op.multiply(op.take(x, const(indices), axis.place),
                    const(shares.reshape(shape), x.type.dtype))
        for indices, shares in _taps(how, axis)
    ]  # fmt: skip
    return functools.reduce(op.add, terms)


def _places_of_symbolic_length(how: Resampling, axis: _Axis) -> ir.Value:
    """Return where the elements of a result of unknown size are in a dimension."""
    half, one = number(0.5, "float32"), number(1.0, "float32")
    at = op.astype(op.arange(0, axis.length, 1, "int64"), "float32")
    size, length = size_tensor(axis.size, "float32"), size_tensor(axis.length, "float32")
    if how.mode == "align_corners":
        gaps = op.maximum(op.subtract(length, one), one)
        return op.divide(op.multiply(at, op.subtract(size, one)), gaps)
    if how.mode == "asymmetric":
        return op.divide(op.multiply(at, size), length)
    if how.mode in ("half_pixel", "pytorch_half_pixel"):
        middle = op.divide(op.multiply(op.add(at, half), size), length)
        places = op.subtract(middle, half)
        if how.mode == "half_pixel":
            return places
        return op.where(op.greater(length, one), places, number(0.0, "float32"))
    raise NotImplementedError(f"expected a result of known size for {how.mode}")


def _symbolic_places(how: Resampling, axis: _Axis) -> ir.Value:
    """Return where the elements of the result are in a dimension of unknown size."""
    if not isinstance(axis.length, int):
        return _places_of_symbolic_length(how, axis)
    at = np.arange(axis.length, dtype=np.float32)
    size, one = size_tensor(axis.size, "float32"), number(1.0, "float32")
    if how.mode == "align_corners":
        share = at / max(axis.length - 1, 1)
        return op.multiply(op.subtract(size, one), const(share.astype("float32")))
    if how.mode == "asymmetric":
        return op.multiply(size, const((at / axis.length).astype("float32")))
    if how.mode in ("half_pixel", "pytorch_half_pixel") and axis.length > 1:
        middle = ((at + np.float32(0.5)) / axis.length).astype("float32")
        return op.subtract(op.multiply(size, const(middle)), number(0.5, "float32"))
    raise NotImplementedError(f"expected dimensions of known size for {how.mode}")


def _resized_symbolic(x: ir.Value, how: Resampling, axis: _Axis) -> ir.Value:
    """Return a tensor with one dimension of unknown size resized."""
    places = _symbolic_places(how, axis)
    last = op.subtract(size_tensor(axis.size, "float32"), number(1.0, "float32"))

    def element(place: ir.Value) -> ir.Value:
        inside = op.maximum(op.minimum(place, last), number(0.0, "float32"))
        return op.take(x, op.astype(inside, "int64"), axis.place)

    if how.method == "nearest_neighbor":
        if how.nearest == "ceil":
            return element(op.ceil(op.subtract(places, number(_EPSILON, "float32"))))
        if how.nearest == "round_prefer_floor":
            return element(op.ceil(op.subtract(places, number(0.5, "float32"))))
        # Places before the first element mean it, however they are rounded.
        shift = _EPSILON if how.nearest == "floor" else 0.5
        return element(op.floor(op.add(places, number(shift, "float32"))))
    if how.method == "cubic":
        raise NotImplementedError("expected dimensions of known size for method cubic")
    floor = op.floor(places)
    axes = [i for i in range(rank_of(x)) if i != axis.place]
    share = cast(op.expand_dims(op.subtract(places, floor), axes), x.type.dtype)
    first, second = element(floor), element(op.add(floor, number(1.0, "float32")))
    return op.add(first, op.multiply(op.subtract(second, first), share))


def _cropped(x: ir.Value, how: Resampling, axes: Sequence[_Axis]) -> ir.Value:
    """Return a result with the elements replaced that are beyond the image."""
    value = number(how.outside, x.type.dtype)
    for axis in axes:
        places = _crop(axis)
        outside = (places < 0) | (places > axis.size - 1)
        if outside.any():
            shape = [1] * rank_of(x)
            shape[axis.place] = axis.length
            x = op.where(const(outside.reshape(shape)), value, x)
    return x


def resized(
    x: ir.Value, sizes: Sequence[Any], how: Resampling, roi: Sequence[float] | None = None,
    dtype: str | None = None,
) -> ir.Value:  # fmt: skip
    """Return images of other sizes.

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

    Raises
    ------
    NotImplementedError
        If a dimension has to be known.
    """
    count = len(sizes)
    edges = list(roi) if roi else [0.0] * count + [1.0] * count
    axes = [
        _Axis(2 + i, size, sizes[i], (float(edges[i]), float(edges[i + count])))
        for i, size in enumerate(shape_of(x)[2:])
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
            result = _resized(result, how, axis)
    if crops:
        result = _cropped(result, how, axes)
    return cast(result, dtype or x.type.dtype)
