# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mlir import ir

from ...composites.resize import Axis, Resampling, cropped, resized_along, scaled_length
from ...composites.tensors import cast, normal_axis, same
from ...core.ir import Dim
from ..values import Value, known_array, known_sizes, rank_of, shape_of
from .registry import Node, converter

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
    "tf_crop_and_resize",
)  # fmt: skip
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _one_of(node: Node, name: str, choices: Any, default: str) -> str:
    value: str = node.attr(name, default)
    if value not in choices:
        raise NotImplementedError(f"expected {name} to be one of {list(choices)}, but got {value}")
    return value


def _resampling(node: Node) -> Resampling:
    return Resampling(
        _METHODS[_one_of(node, "mode", _METHODS, "nearest")],
        _one_of(node, "coordinate_transformation_mode", _COORDINATES, "half_pixel"),
        _one_of(node, "nearest_mode", _ROUNDINGS, "round_prefer_floor"),
        alpha=node.attr("cubic_coeff_a", -0.75),
        excludes=bool(node.attr("exclude_outside", 0)),
        outside=node.attr("extrapolation_value", 0.0),
        smooth=bool(node.attr("antialias", 0)),
        slack=0.0,
        dtype="float64",
        divides=True,
    )


def _with_aspect_ratio(
    policy: str, dims: list[int | Dim], sizes: list[int | Dim]
) -> tuple[list[int], float]:
    """Return sizes of one scale, which is the second result, from those that are wished."""
    if policy not in ("not_larger", "not_smaller"):
        raise NotImplementedError(f"expected a known keep_aspect_ratio_policy, but got {policy}")
    known = [dim for dim in dims if isinstance(dim, int)]
    wished = [length for length in sizes if isinstance(length, int)]
    if len(known) < len(dims) or len(wished) < len(sizes):
        raise NotImplementedError(
            f"expected known dimensions for keep_aspect_ratio_policy={policy}"
        )
    scales = [length / dim for length, dim in zip(wished, known, strict=True)]
    scale = min(scales) if policy == "not_larger" else max(scales)
    # Halves are rounded up.
    return [math.floor(scale * dim + 0.5) for dim in known], scale


def _axes(node: Node, x: ir.Value, regions: Value, scales: Value, sizes: Value) -> list[Axis]:
    """Return how each dimension is resized, of those that an attribute names."""
    rank = rank_of(x)
    places = [normal_axis(axis, rank) for axis in node.attr("axes", list(range(rank)))]
    dims = [shape_of(x)[place] for place in places]
    factors: list[float | None] = [None] * len(dims)
    lengths: list[int | Dim]
    if sizes is not None:
        lengths = known_sizes(sizes, "sizes")
        policy = node.attr("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            lengths[:], scale = _with_aspect_ratio(policy, dims, lengths)
            factors = [scale] * len(dims)
    elif scales is not None and known_array(scales, "scales").size:
        given: list[float] = known_array(scales, "scales").astype(np.float64).tolist()
        lengths = [scaled_length(*pair) for pair in zip(dims, given, strict=True)]
        factors = list(given)
    else:
        raise ValueError("expected scales or sizes")
    edges = [0.0] * len(dims) + [1.0] * len(dims)
    if regions is not None:
        edges = [float(one) for one in known_array(regions, "a region").flat]
    rois = zip(edges[: len(dims)], edges[len(dims) :], strict=True)
    return [Axis(*each) for each in zip(places, dims, lengths, factors, rois, strict=True)]


def _resized(node: Node, x: ir.Value, how: Resampling, axes: list[Axis]) -> ir.Value:
    dtype, crops = x.type.dtype, how.mode == "tf_crop_and_resize"
    if how.method != "nearest_neighbor" and dtype.startswith(("int", "uint")):
        raise NotImplementedError(f"expected floats for mode {node.attr('mode')}, but got {dtype}")
    is_wide = how.method == "nearest_neighbor" or dtype == "float64"
    result = x if is_wide else cast(x, "float32")
    for axis in axes:
        stays = same(axis.size, axis.length) and axis.scale in (None, 1)
        if not stays or (crops and axis.roi != (0.0, 1.0)):
            result = resized_along(result, how, axis)
    return cast(cropped(result, how, axes) if crops else result, dtype)


@converter("Resize", since=11, raw=(1, 2, 3))
def _resize(
    node: Node, x: ir.Value, roi: Value = None, scales: Value = None, sizes: Value = None
) -> ir.Value:
    how = _resampling(node)
    regions = roi if how.mode == "tf_crop_and_resize" else None
    return _resized(node, x, how, _axes(node, x, regions, scales, sizes))


@converter("Upsample", since=9, raw=(1,))
def _upsample(node: Node, x: ir.Value, scales: Value) -> ir.Value:
    method = _METHODS[_one_of(node, "mode", ("nearest", "linear"), "nearest")]
    how = Resampling(method, "asymmetric", "floor", slack=0.0, dtype="float64", divides=True)
    return _resized(node, x, how, _axes(node, x, None, scales, None))
