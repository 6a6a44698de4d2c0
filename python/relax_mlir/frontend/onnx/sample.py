# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at places that tensors hold."""

from __future__ import annotations

import dataclasses
import functools
import itertools

from mlir import ir

from ... import op
from ..compositions import cubic_weights
from ..values import cast, number, rank_of, shape_of
from .registry import Node, converter

# The names of modes before opset 20.
_MODES = {"bilinear": "linear", "bicubic": "cubic"}
_PADDINGS = ("zeros", "border", "reflection")


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


def _float(value: float) -> ir.Value:
    return number(value, "float32")


def _whole(value: int) -> ir.Value:
    return number(value, "int64")


def _unnormalized(x: ir.Value, size: int, corners: bool) -> ir.Value:
    """Return places from -1 to 1 as places of elements."""
    shifted = op.add(x, _float(1.0))
    if corners:
        return op.multiply(op.divide(shifted, _float(2.0)), _float(size - 1))
    return op.divide(op.subtract(op.multiply(shifted, _float(size)), _float(1.0)), _float(2.0))


def tap(place: ir.Value, weight: ir.Value | None, size: int, padding: str, corners: bool) -> Tap:
    """Return the element at a place, with padding of the image."""
    if padding == "reflection" and size > 1:
        # There and back again: borders are the ends, or half an element beyond them.
        period = 2 * (size - 1) if corners else 2 * size
        turned = op.floor_mod(place, _whole(period))
        last = period if corners else period - 1
        return Tap(op.minimum(turned, op.subtract(_whole(last), turned)), None, weight)
    nearest = op.clip(place, 0, size - 1)
    return Tap(nearest, op.equal(nearest, place) if padding == "zeros" else None, weight)


def _taps(x: ir.Value, size: int, mode: str, padding: str, corners: bool) -> list[Tap]:
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


@converter("GridSample", since=16)
@converter("GridSample", domain="com.microsoft")
def _grid_sample(node: Node, x: ir.Value, grid: ir.Value) -> ir.Value:
    mode, padding = node.attr("mode", "linear"), node.attr("padding_mode", "zeros")
    mode = _MODES.get(mode, mode)
    if mode not in ("nearest", "linear", "cubic") or padding not in _PADDINGS:
        raise NotImplementedError(f"expected known modes, but got {mode} and {padding}")
    rank, corners = rank_of(x), bool(node.attr("align_corners", 0))
    sizes = [dim for dim in shape_of(x)[2:] if isinstance(dim, int) and dim > 0]
    if len(sizes) < rank - 2:
        raise NotImplementedError(f"expected images of known size, but got {shape_of(x)}")
    points, last = cast(grid, "float32"), rank_of(grid) - 1
    taps = []
    for i, size in enumerate(sizes):
        # Points have the last dimension first.
        at = len(sizes) - 1 - i
        one = op.strided_slice(points, [last], [at], [at + 1], [1], assume_inbound=True)
        taps.append(_taps(op.squeeze(one, [last]), size, mode, padding, corners))
    wide = x if mode == "nearest" else cast(x, "float32")
    rows = op.permute_dims(wide, [0, *range(2, rank), 1])
    terms = [term(rows, combination) for combination in itertools.product(*taps)]
    total = functools.reduce(op.add, terms)
    return cast(op.permute_dims(total, [0, rank - 1, *range(1, rank - 1)]), x.type.dtype)


def term(rows: ir.Value, taps: tuple[Tap, ...]) -> ir.Value:
    """Return the elements at one tap of each dimension, times their shares."""
    last = rank_of(rows) - 1
    indices = op.stack([tap.place for tap in taps], last)
    value = op.gather_nd(rows, indices, 1)
    for tap in taps:
        if tap.weight is not None:
            value = op.multiply(value, op.expand_dims(tap.weight, last))
        if tap.inside is not None:
            zero = number(0, value.type.dtype)
            value = op.where(op.expand_dims(tap.inside, last), value, zero)
    return value
