# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at places that tensors hold."""

from __future__ import annotations

import dataclasses
import functools
import itertools

from mlir import ir

from ... import op
from ...composites.sampling import Images, cubic_weights
from ...core.ir import Dim
from .registry import Graph, cast, converts, dtype_of, number

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


@dataclasses.dataclass(frozen=True)
class _Axis:
    """One dimension of images.

    Parameters
    ----------
    size : Dim
    padding : int
    corners : bool
        Whether -1 and 1 are the centres of the elements at the ends, not their borders.
    """

    size: Dim
    padding: int
    corners: bool

    def place(self, x: ir.Value) -> ir.Value:
        """Return places from -1 to 1 as places of elements."""
        dtype = dtype_of(x)
        if self.corners:
            half = op.divide(number(self.size - 1, dtype), number(2, dtype))
            return op.multiply(op.add(x, number(1, dtype)), half)
        shifted = op.multiply(op.add(x, number(1, dtype)), number(self.size, dtype))
        return op.divide(op.subtract(shifted, number(1, dtype)), number(2, dtype))

    def padded(self, x: ir.Value) -> ir.Value:
        """Return places in the image for those beyond it, but with zeros around it."""
        dtype = dtype_of(x)
        if self.padding == _ZEROS:
            return x
        if self.padding == _REFLECTION:
            low = number(0 if self.corners else -0.5, dtype)
            span = number(self.size - 1 if self.corners else self.size, dtype)
            there = op.abs(op.subtract(x, low))
            period = op.maximum(op.multiply(span, number(2, dtype)), number(1, dtype))
            turned = op.floor_mod(there, period)
            x = op.add(op.minimum(turned, op.subtract(period, turned)), low)
        last = number(self.size - 1, dtype)
        return op.minimum(op.maximum(x, number(0, dtype)), last)


@dataclasses.dataclass(frozen=True)
class _Tap:
    """An element that counts along one dimension: its place, and its share, None for the whole."""

    place: ir.Value
    weight: ir.Value | None
    axis: _Axis

    def nearest(self) -> ir.Value:
        """Return the nearest place in the image; elements beyond it do not count."""
        dtype = dtype_of(self.place)
        last = number(self.axis.size - 1, dtype)
        return op.minimum(op.maximum(self.place, number(0, dtype)), last)


def _taps(x: ir.Value, axis: _Axis, mode: int) -> list[_Tap]:
    place, one = axis.place(x), number(1, dtype_of(x))
    if mode == _NEAREST:
        return [_Tap(op.round(axis.padded(place)), None, axis)]
    if mode == _BILINEAR:
        place = axis.padded(place)
        first = op.floor(place)
        share = op.subtract(place, first)
        return [_Tap(first, op.subtract(one, share), axis), _Tap(op.add(first, one), share, axis)]
    first = op.floor(place)
    weights = cubic_weights(op.subtract(place, first))
    offsets = [number(i, dtype_of(x)) for i in (-1, 0, 1, 2)]
    return [
        _Tap(axis.padded(op.add(first, offset)), weight, axis)
        for offset, weight in zip(offsets, weights, strict=True)
    ]


def _term(images: Images, taps: tuple[_Tap, ...]) -> ir.Value:
    """Return the elements at one tap of each dimension, times their shares."""
    value = images.take([cast(tap.nearest(), images.index_dtype) for tap in taps])
    dtype = dtype_of(value)
    for tap in taps:
        if tap.weight is not None:
            value = op.multiply(value, cast(images.for_all_channels(tap.weight), dtype))
        if tap.axis.padding == _ZEROS:
            size = number(tap.axis.size, dtype_of(tap.place))
            low = op.greater_equal(tap.place, number(0, dtype_of(tap.place)))
            inside = op.logical_and(low, op.less(tap.place, size))
            value = op.where(images.for_all_channels(inside), value, number(0, dtype))
    return value


@converts("grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default")
def _grid_sample(
    graph: Graph, x: ir.Value, grid: ir.Value, mode: int, padding: int, corners: bool
) -> ir.Value:
    rank = graph.rank_of(0)
    if mode == _BICUBIC and rank != 4:
        raise NotImplementedError("cubic sampling of volumes")
    last, count = rank - 1, rank - 2
    taps = []
    for i, size in enumerate(graph.shape_of(0)[2:]):
        # Points have the last dimension first.
        at = count - 1 - i
        one = op.strided_slice(grid, [last], [at], [at + 1], [1], assume_inbound=True)
        taps.append(_taps(op.squeeze(one, [last]), _Axis(size, padding, corners), mode))
    images = Images(x)
    terms = [_term(images, combination) for combination in itertools.product(*taps)]
    return images.with_channels(functools.reduce(op.add, terms))
