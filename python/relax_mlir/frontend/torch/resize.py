# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of ATen: each dimension after the other."""

from __future__ import annotations

import math
from typing import Any

from mlir import ir

from ...composites.resize import Axis, Resampling, resized_along
from ...composites.tensors import same, shape_of, size
from .registry import Converter, Graph, cast, converts


def _resized(
    graph: Graph, x: ir.Value, factors: Any, how: Resampling, keeps: bool = True
) -> ir.Value:
    """Resize dimension by dimension; those whose size stays are kept, or if no factor says more.

    Parameters
    ----------
    graph : Graph
    x : mlir.ir.Value
    factors : sequence of float, optional
        What PyTorch computes places with, in place of the ratio of the sizes.
    how : Resampling
    keeps : bool
        Whether a dimension is as it was if its size stays, whatever its factor.
    """
    count, rank = len(graph.shape) - 2, len(graph.shape)
    given = list(factors) if factors else [None] * count
    for place, factor in enumerate(given, rank - count):
        before, after = shape_of(x)[place], size(graph.shape[place])
        if not same(before, after) or not (keeps or factor in (None, 1)):
            x = resized_along(x, how, Axis(place, before, after, factor))
    return x


def _nearest(graph: Graph, x: ir.Value, factors: Any) -> ir.Value:
    exact = "exact" in graph.kind
    if factors and not exact:  # twice as many elements are each one twice, whatever the factor
        pairs = zip(shape_of(x)[2:], graph.shape[2:], factors, strict=True)
        factors = [None if same(before * 2, after) else one for before, after, one in pairs]
    mode = "tf_half_pixel_for_nn" if exact else "asymmetric"
    how = Resampling("nearest_neighbor", mode, "floor", slack=0.0)
    return _resized(graph, x, factors, how, keeps=not exact)


def _interpolation(method: str, smooth: bool = False) -> Converter:
    def convert(graph: Graph, x: ir.Value, corners: bool, factors: Any) -> ir.Value:
        if graph.dtype == "uint8" or (smooth and corners):
            raise NotImplementedError("elements of uint8, or align_corners with antialias")
        dtype = "float64" if graph.dtype == "float64" else "float32"
        how = Resampling(
            method,
            "align_corners" if corners else "half_pixel",
            alpha=-0.5 if smooth else -0.75,
            excludes=smooth,
            smooth=smooth,
            dtype=dtype,
        )
        keeps = method == "linear" and not smooth
        return cast(_resized(graph, cast(x, dtype), factors, how, keeps), graph.dtype)

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
