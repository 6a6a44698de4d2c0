# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of ATen: each dimension after the other.

Places in the input are constants where sizes are known, and else computed when the program runs.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.tensors import product_along
from ...core.expr import const
from ...core.ir import Dim
from .registry import (
    Converter,
    Graph,
    cast,
    converts,
    dtype_of,
    known,
    number,
    rank_of,
    shape_of,
)


@dataclasses.dataclass(frozen=True)
class _Axis:
    """How one dimension is resized.

    Parameters
    ----------
    size, length : int
        The sizes of the input and of the result.
    factor : float or None
        What PyTorch computes places with, in place of the ratio of the sizes.
    """

    size: int
    length: int
    factor: float | None

    @property
    def scale(self) -> float:
        """The distance in the input of neighbours in the result."""
        return 1 / self.factor if self.factor else self.size / self.length

    def places(self, corners: bool) -> np.ndarray:
        """Return where elements of the result are in the input."""
        at = np.arange(self.length, dtype=np.float64)
        if corners:
            return at * ((self.size - 1) / (self.length - 1) if self.length > 1 else 0.0)
        return (at + 0.5) * self.scale - 0.5


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1.0 - np.abs(distance))


def _taps(axis: _Axis, mode: str, corners: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return which elements count for each one of the result, and their shares."""
    places = axis.places(corners)
    if mode == "linear":
        places = np.maximum(places, 0.0)
    first = np.floor(places)
    reach = (0, 1) if mode == "linear" else (-1, 0, 1, 2)
    kernel = _linear if mode == "linear" else functools.partial(_cubic, a=-0.75)
    return [
        (np.clip(first + i, 0, axis.size - 1).astype(np.int64), kernel(places - first - i))
        for i in reach
    ]


def _blend(x: ir.Value, place: int, axis: _Axis, mode: str, corners: bool) -> ir.Value:
    """Return sums of neighbours along a dimension, times their shares."""
    shape = [1] * rank_of(x)
    shape[place] = axis.length
    terms = [
        op.multiply(op.take(x, const(indices), place), const(shares.reshape(shape), dtype_of(x)))
        for indices, shares in _taps(axis, mode, corners)
    ]
    return functools.reduce(op.add, terms)


def _smooth(x: ir.Value, place: int, axis: _Axis, mode: str, corners: bool) -> ir.Value:
    """Return sums with shares whose kernel is as wide as elements of the result."""
    wide = max(1.0, axis.scale)
    base = _linear if mode == "linear" else functools.partial(_cubic, a=-0.5)
    matrix = np.zeros((axis.length, axis.size))
    at = axis.places(corners)
    for row, center in enumerate(at):
        reach = (1.0 if mode == "linear" else 2.0) * wide
        begin = max(int(center - reach + 1), 0)
        end = min(int(center + reach + 1), axis.size)
        shares = base((np.arange(begin, end) - center) / wide)
        matrix[row, begin:end] = shares / shares.sum()
    return product_along(x, matrix, place)


_Resize = Callable[[ir.Value, int, _Axis], ir.Value]
_ResizeDynamic = Callable[[ir.Value, int, Dim], ir.Value]


def _resized(
    graph: Graph,
    x: ir.Value,
    factors: Any,
    resize: _Resize,
    keeps: bool = True,
    dynamic: _ResizeDynamic | None = None,
) -> ir.Value:
    """Resize dimension by dimension; those whose size stays are kept, or if no factor says more.

    Parameters
    ----------
    graph : Graph
    x : mlir.ir.Value
    factors : sequence of float, optional
    resize : callable
        Resizes one dimension of a known size to another.
    keeps : bool
        Whether a dimension is as it was if its size stays, whatever its factor.
    dynamic : callable, optional
        Resizes one dimension of sizes that are not known, by the ratio of the sizes.
    """
    count, rank = len(graph.shape) - 2, len(graph.shape)
    given = list(factors) if factors else [None] * count
    for i, factor in enumerate(given):
        place = rank - count + i
        size, length = shape_of(x)[place], graph.shape[place]
        if size == length and (keeps or factor in (None, 1)):
            continue
        if dynamic and factor is None and None in (size.value, length.value):
            x = dynamic(x, place, length)
            continue
        dims = known([size, length], "a dimension that is resized")
        x = resize(x, place, _Axis(dims[0], dims[1], factor))
    return x


def _nearest_places(axis: _Axis, exact: bool) -> np.ndarray:
    at = np.arange(axis.length, dtype=np.float32)
    scale = np.float32(axis.scale)
    if exact:
        places = np.floor((at + np.float32(0.5)) * scale)
    elif axis.length == 2 * axis.size:  # whatever the factor
        places = at // 2
    else:
        places = np.floor(at * scale)
    return np.minimum(places.astype(np.int64), axis.size - 1)


def _grid(x: ir.Value, place: int, length: Dim, dtype: str) -> tuple[ir.Value, ...]:
    """Return the elements of a result of any size as numbers, its size and that of the input."""
    at = cast(op.arange(0, length, 1, "int64"), dtype)
    return at, number(length, dtype), number(shape_of(x)[place], dtype)


def _elements(x: ir.Value, place: int, at: ir.Value) -> ir.Value:
    """Return elements of a dimension, the last one in place of those beyond it."""
    last = number(shape_of(x)[place] - 1, "int64")
    return op.take(x, op.minimum(cast(at, "int64"), last), place)


def _nearest_dynamic(x: ir.Value, place: int, length: Dim, exact: bool) -> ir.Value:
    at, extent, size = _grid(x, place, length, "float32")
    middle = op.add(at, number(0.5, "float32")) if exact else at
    return _elements(x, place, op.floor(op.multiply(middle, op.divide(size, extent))))


def _blend_dynamic(x: ir.Value, place: int, length: Dim, corners: bool) -> ir.Value:
    """Return sums of two neighbours along a dimension, times their shares."""
    dtype = dtype_of(x)
    at, extent, size = _grid(x, place, length, dtype)
    zero, half, one = (number(value, dtype) for value in (0, 0.5, 1))
    if corners:
        gaps = op.maximum(op.subtract(extent, one), one)
        places = op.multiply(at, op.divide(op.subtract(size, one), gaps))
    else:
        middle = op.multiply(op.add(at, half), op.divide(size, extent))
        places = op.maximum(op.subtract(middle, half), zero)
    first = op.floor(places)
    axes = [i for i in range(rank_of(x)) if i != place]
    share = op.expand_dims(op.subtract(places, first), axes)
    near, far = (_elements(x, place, one) for one in (first, op.add(first, one)))
    return op.add(op.multiply(near, op.subtract(one, share)), op.multiply(far, share))


def _multiple(x: ir.Value, place: int, length: Dim, times: int) -> ir.Value:
    """Return each element of a dimension several times."""
    dims = shape_of(x)
    before, after = dims[: place + 1], dims[place + 1 :]
    copies = op.broadcast_to(op.expand_dims(x, place + 1), [*before, times, *after])
    return op.reshape(copies, [*dims[:place], length, *after])


def _times(size: Dim, length: Dim) -> int | None:
    """Return how many times a dimension is as large as another, where it is known."""
    for times in (2, 3, 4, 8, 16):
        if size.value is None and Dim(size * times).prove_equal(length):
            return times
    return None


def _nearest(graph: Graph, x: ir.Value, factors: Any) -> ir.Value:
    exact, rank = "exact" in graph.kind, len(graph.shape)
    given = list(factors) if factors else [None] * (rank - 2)
    for place in range(2, rank):
        length = graph.shape[place]
        times = _times(shape_of(x)[place], length)
        if times is not None:
            x, given[place - 2] = _multiple(x, place, length, times), None

    def resize(one: ir.Value, place: int, axis: _Axis) -> ir.Value:
        return op.take(one, const(_nearest_places(axis, exact)), place)

    dynamic = functools.partial(_nearest_dynamic, exact=exact)
    return _resized(graph, x, given, resize, keeps=not exact, dynamic=dynamic)


def _interpolation(mode: str, smooth: bool = False) -> Converter:
    def convert(graph: Graph, x: ir.Value, corners: bool, factors: Any) -> ir.Value:
        if graph.dtype == "uint8" or (smooth and corners):
            raise NotImplementedError("elements of uint8, or align_corners with antialias")
        wide = cast(x, "float64" if graph.dtype == "float64" else "float32")
        function = _smooth if smooth else _blend

        def resize(one: ir.Value, place: int, axis: _Axis) -> ir.Value:
            return function(one, place, axis, mode, corners)

        is_linear = mode == "linear" and not smooth
        dynamic = functools.partial(_blend_dynamic, corners=corners) if is_linear else None
        result = _resized(graph, wide, factors, resize, keeps=is_linear, dynamic=dynamic)
        return cast(result, graph.dtype)

    return convert


_INTERPOLATIONS = {
    "upsample_linear1d": _interpolation("linear"),
    "upsample_bilinear2d": _interpolation("linear"),
    "upsample_trilinear3d": _interpolation("linear"),
    "upsample_bicubic2d": _interpolation("cubic"),
    "_upsample_bilinear2d_aa": _interpolation("linear", True),
    "_upsample_bicubic2d_aa": _interpolation("cubic", True),
}
_NEAREST = [f"{kind}{i}d" for kind in ("upsample_nearest", "_upsample_nearest_exact")
            for i in (1, 2, 3)]  # fmt: skip


def _by_scales(graph: Graph, scales: tuple[Any, ...]) -> list[Any] | None:
    """Return what places are computed with, where all are given."""
    given = [scale for scale in scales if scale is not None]
    return list(scales) if given and math.prod(given) else None


@converts(*(f"{name}.vec" for name in _NEAREST))
def _nearest_vec(graph: Graph, x: ir.Value, size: Any, scales: Any = None) -> ir.Value:
    return _nearest(graph, x, scales)


@converts(*(f"{name}.default" for name in _NEAREST))
def _nearest_default(graph: Graph, x: ir.Value, size: Any, *scales: Any) -> ir.Value:
    return _nearest(graph, x, _by_scales(graph, scales))


@converts(*(f"{name}.vec" for name in _INTERPOLATIONS))
def _interpolation_vec(
    graph: Graph, x: ir.Value, size: Any, corners: bool, scales: Any = None
) -> ir.Value:
    return _INTERPOLATIONS[graph.kind](graph, x, corners, scales)


@converts(*(f"{name}.default" for name in _INTERPOLATIONS))
def _interpolation_default(
    graph: Graph, x: ir.Value, size: Any, corners: bool, *scales: Any
) -> ir.Value:
    return _INTERPOLATIONS[graph.kind](graph, x, corners, _by_scales(graph, scales))
