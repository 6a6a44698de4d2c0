# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding of ATen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ... import op
from ...core.ir import Dim
from .registry import Graph, converts, dtype_of, number, part, rank_of, shape_of


def pad_constant(x: ir.Value, widths: Sequence[Any], value: Any) -> ir.Value:
    """Return a tensor with a number around it.

    Parameters
    ----------
    x : mlir.ir.Value
    widths : sequence of int or Dim
        Before and after the last dimension, then the one before it, and so on; negative ones take
        elements away.
    value : number
    """
    fill = number(value, dtype_of(x))
    for i in range(len(widths) // 2):
        axis = rank_of(x) - 1 - i
        x = _pad_axis(x, axis, Dim(widths[2 * i]), Dim(widths[2 * i + 1]), fill)
    return x


def _pad_axis(x: ir.Value, axis: int, before: Dim, after: Dim, fill: ir.Value) -> ir.Value:
    if (before.value or 0) < 0 or (after.value or 0) < 0:
        less = [Dim(min(width.value or 0, 0)) for width in (before, after)]
        x = part(x, axis, 0 - less[0], shape_of(x)[axis] + less[1])
        before, after = (Dim(0) if (one.value or 0) < 0 else one for one in (before, after))
    dims = shape_of(x)

    def block(width: Dim) -> list[ir.Value]:
        shape = [*dims[:axis], width, *dims[axis + 1 :]]
        return [] if width.value == 0 else [op.full(shape, fill, dtype_of(x))]

    pieces = [*block(before), x, *block(after)]
    return x if len(pieces) == 1 else op.concat(pieces, axis)


def _repeat_axis(x: ir.Value, axis: int, before: Any, after: Any, mode: str) -> ir.Value:
    extent = shape_of(x)[axis]
    places = op.arange(0 - Dim(before), extent + after, 1, "int64")
    if mode != "reflect":
        return op.take(x, places, axis, mode="wrap" if mode == "circular" else "clip")
    # The way back from the last element begins at the one before it.
    last = number(extent - 1, "int64")
    inside = op.abs(places)
    return op.take(x, op.subtract(last, op.abs(op.subtract(last, inside))), axis)


def _pad_repeated(x: ir.Value, widths: Sequence[Any], mode: str) -> ir.Value:
    for i in range(len(widths) // 2):
        before, after = widths[2 * i : 2 * i + 2]
        if before != 0 or after != 0:
            x = _repeat_axis(x, rank_of(x) - 1 - i, before, after, mode)
    return x


@converts("constant_pad_nd.default")
def _constant(graph: Graph, x: ir.Value, widths: Sequence[Any], value: Any = 0) -> ir.Value:
    return pad_constant(x, widths, value)


@converts("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def _reflection(graph: Graph, x: ir.Value, widths: Sequence[Any]) -> ir.Value:
    return _pad_repeated(x, widths, "reflect")


@converts("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def _replication(graph: Graph, x: ir.Value, widths: Sequence[Any]) -> ir.Value:
    return _pad_repeated(x, widths, "replicate")


@converts("_pad_circular.default")
def _circular(graph: Graph, x: ir.Value, widths: Sequence[Any]) -> ir.Value:
    return _pad_repeated(x, widths, "circular")


@converts("pad.default")
def _pad(
    graph: Graph, x: ir.Value, widths: Sequence[Any], mode: str = "constant", value: Any = None
) -> ir.Value:
    if mode == "constant":
        return pad_constant(x, widths, 0 if value is None else value)
    return _pad_repeated(x, widths, mode)
