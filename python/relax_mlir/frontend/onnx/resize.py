# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of known dimensions: each is a product with a matrix of weights, known at import."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.tensors import cast, normal_axis, product_along, same
from ...core.expr import const
from ...core.ir import Dim
from ..values import Value, known_array, known_sizes, rank_of, shape_of
from .registry import Node, converter
from .stretch import Stretch, scaled_length, stretched


@dataclasses.dataclass(frozen=True)
class _Axis:
    """How one dimension is resized.

    Parameters
    ----------
    size : int
    length : int
        The size of the result.
    scale : float
    roi : tuple of float
        The begin and the end of what is resized, of the whole dimension.
    """

    size: int
    length: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def exact(self) -> float:
        """The size of the result before it is rounded, which places are computed with."""
        return self.scale * self.size


def _half_pixel_symmetric(x: np.ndarray, axis: _Axis) -> np.ndarray:
    adjustment = axis.length / (axis.scale * axis.size)
    offset = axis.size / 2 * (1 - adjustment)
    return offset + (x + 0.5) / axis.scale - 0.5


def _crop(x: np.ndarray, axis: _Axis) -> np.ndarray:
    begin, end = axis.roi
    if axis.exact == 1:
        return np.full(x.shape, (begin + end) * (axis.size - 1) / 2)
    return begin * (axis.size - 1) + x * (end - begin) * (axis.size - 1) / (axis.exact - 1)


def _align_corners(x: np.ndarray, axis: _Axis) -> np.ndarray:
    return x * (axis.size - 1) / (axis.exact - 1) if axis.exact != 1 else x * 0.0


# Where an element of the result is in the input, by coordinate_transformation_mode.
_COORDINATES: dict[str, Callable[[np.ndarray, _Axis], np.ndarray]] = {
    "half_pixel": lambda x, axis: (x + 0.5) / axis.scale - 0.5,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": lambda x, axis: (
        (x + 0.5) / axis.scale - 0.5 if axis.exact > 1 else x * 0.0
    ),
    "align_corners": _align_corners,
    "asymmetric": lambda x, axis: x / axis.scale,
    "tf_crop_and_resize": _crop,
}

_NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1.0 - np.abs(distance))


def _cubic(a: float) -> Callable[[np.ndarray], np.ndarray]:
    def weight(distance: np.ndarray) -> np.ndarray:
        x = np.abs(distance)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))

    return weight


def _weights(node: Node, axis: _Axis) -> np.ndarray:
    """Return the share of each element of the input in each of the result."""
    mode = node.attr("mode", "nearest")
    name = node.attr("coordinate_transformation_mode", "half_pixel")
    if name not in _COORDINATES:
        raise NotImplementedError(f"expected one of {list(_COORDINATES)}, but got {name}")
    places = _COORDINATES[name](np.arange(axis.length, dtype=np.float64), axis)
    if mode == "nearest":
        rounding = _NEAREST[node.attr("nearest_mode", "round_prefer_floor")]
        nearest = np.clip(rounding(places), 0, axis.size - 1).astype(np.int64)
        return np.eye(axis.size)[nearest]
    if mode not in ("linear", "cubic"):
        raise NotImplementedError(f"expected mode nearest, linear or cubic, but got {mode}")
    kernel = _linear if mode == "linear" else _cubic(node.attr("cubic_coeff_a", -0.75))
    # Smaller results without aliases have the kernel as wide as their elements.
    wide = max(1.0, 1.0 / axis.scale) if node.attr("antialias", 0) else 1.0
    reach = math.ceil((1 if mode == "linear" else 2) * wide) + 1
    matrix = np.zeros((axis.length, axis.size))
    excludes = bool(node.attr("exclude_outside", 0))
    for row, place in enumerate(places):
        taps = np.arange(math.floor(place) - reach + 1, math.floor(place) + reach + 1)
        shares = kernel((taps - place) / wide)
        if excludes:
            shares = np.where((taps < 0) | (taps >= axis.size), 0.0, shares)
        np.add.at(matrix[row], np.clip(taps, 0, axis.size - 1), shares / shares.sum())
    return matrix


def _outside(node: Node, axis: _Axis) -> np.ndarray:
    places = _COORDINATES["tf_crop_and_resize"](np.arange(axis.length, dtype=np.float64), axis)
    return np.asarray((places < 0) | (places > axis.size - 1))


def _by_sizes(node: Node, dims: list[int], sizes: list[int]) -> tuple[list[int], list[float]]:
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    scales = [size / dim for size, dim in zip(sizes, dims, strict=True)]
    if policy == "stretch":
        return sizes, scales
    if policy not in ("not_larger", "not_smaller"):
        raise NotImplementedError(f"expected a known keep_aspect_ratio_policy, but got {policy}")
    scale = min(scales) if policy == "not_larger" else max(scales)
    # Halves are rounded up.
    return [math.floor(scale * dim + 0.5) for dim in dims], [scale] * len(dims)


def _resized(node: Node, x: ir.Value, along: list[int], axes: list[_Axis]) -> ir.Value:
    dtype = x.type.dtype
    crops = node.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
    is_nearest = node.attr("mode", "nearest") == "nearest"
    wide = x if is_nearest or dtype in ("float32", "float64") else op.astype(x, "float32")
    for place, axis in zip(along, axes, strict=True):
        if axis.size == axis.length and axis.scale == 1 and not crops:
            continue
        matrix = _weights(node, axis)
        wide = op.take(wide, const(matrix.argmax(1)), place) if is_nearest else product_along(
            wide, matrix, place
        )  # fmt: skip
    result = wide
    if not is_nearest and dtype.startswith(("int", "uint")):
        raise NotImplementedError(f"expected floats for mode {node.attr('mode')}, but got {dtype}")
    if crops:
        value = const(node.attr("extrapolation_value", 0.0), result.type.dtype)
        for place, axis in zip(along, axes, strict=True):
            shape = [1] * rank_of(x)
            shape[place] = axis.length
            result = op.where(const(_outside(node, axis).reshape(shape)), value, result)
    return cast(result, dtype)


def _wanted(
    dims: list[Any], scales: Value, sizes: Value
) -> tuple[list[Any], list[float] | None, list[int]]:
    """Return the sizes of the result, its scales if these are given, and what is not kept."""
    if sizes is not None:
        lengths: list[Any] = known_sizes(sizes, "sizes")
        moved = [i for i, length in enumerate(lengths) if not same(dims[i], length)]
        return lengths, None, moved
    factors = [] if scales is None else known_array(scales, "scales").astype(np.float64).tolist()
    if not factors:
        raise ValueError("expected scales or sizes")
    moved = [i for i, factor in enumerate(factors) if factor != 1]
    lengths = list(dims)
    for i in moved:
        lengths[i] = scaled_length(dims[i], factors[i])
    return lengths, factors, moved


@converter("Resize", since=11, raw=(1, 2, 3))
def _resize(
    node: Node, x: ir.Value, roi: Value = None, scales: Value = None, sizes: Value = None
) -> ir.Value:
    rank = rank_of(x)
    along = [normal_axis(axis, rank) for axis in node.attr("axes", list(range(rank)))]
    extents = [shape_of(x)[axis] for axis in along]
    lengths, factors, moved = _wanted(extents, scales, sizes)
    if node.attr("keep_aspect_ratio_policy", "stretch") != "stretch" or roi is not None:
        moved = list(range(len(along)))
    if node.attr("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize":
        roi = None
    stretches = [
        Stretch(along[i], extents[i], lengths[i], None if factors is None else factors[i])
        for i in moved
    ]
    if any(isinstance(dim, Dim) for one in stretches for dim in (one.size, one.length)):
        return stretched(node, x, stretches)
    dims, lengths = [extents[i] for i in moved], [lengths[i] for i in moved]
    if factors is None:
        lengths, factors = _by_sizes(node, dims, lengths)
    else:
        factors = [factors[i] for i in moved]
    regions = [(0.0, 1.0)] * len(along)
    if roi is not None:
        flat = [float(one) for one in known_array(roi, "a region")]
        regions = list(zip(flat[: len(along)], flat[len(along) :], strict=True))
    axes = [_Axis(dims[k], lengths[k], factors[k], regions[i]) for k, i in enumerate(moved)]
    return _resized(node, x, [along[i] for i in moved], axes)


@converter("Upsample", since=9, raw=(1,))
def _upsample(node: Node, x: ir.Value, scales: Value) -> ir.Value:
    node.refuse("mode", default="nearest")
    factors = [float(factor) for factor in known_array(scales, "scales")]
    dims = shape_of(x)
    for axis, factor in enumerate(factors):
        dim = dims[axis]
        if factor == 1:
            continue
        if not isinstance(dim, int):
            if not factor.is_integer():
                raise NotImplementedError(f"expected a dimension of known size, but got {dim}")
            x = op.repeat(x, int(factor), axis)
            continue
        places = np.floor(np.arange(math.floor(dim * factor)) / factor).astype(np.int64)
        x = op.take(x, const(np.minimum(places, dim - 1)), axis)
    return x
