# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting, and the largest elements: each element is compared with all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ..compositions import places_in_order
from . import regions
from .registry import Node, converts
from .values import (
    Spread,
    Value,
    as_tensor,
    cast,
    dtype_of,
    ints,
    part,
    permuted,
    rank_of,
    shape_of,
)

# There are as many comparisons as the square of it.
_MOST_ORDERED = 4096


@converts("stablehlo.sort", raw=True)
def _sort(node: Node, *operands: Value) -> Any:
    block = node.regions[0]
    found = regions.sort_key(node, block)
    if found is None:
        raise regions.unsupported(node, block, "an order of one of the operands")
    key, descending = found
    axis = node.attr("dimension", -1) % max(rank_of(operands[0]), 1)
    if not shape_of(operands[0]):
        return operands
    axes = [*(i for i in range(rank_of(operands[0])) if i != axis), axis]
    back = np.argsort(axes).tolist()
    places = _ordered(permuted(as_tensor(operands[key]), axes), descending)
    return tuple(permuted(_in_order(one, axes, axis, places), back) for one in operands)


def _in_order(value: Value, axes: list[int], axis: int, places: ir.Value) -> ir.Value:
    if _counts(value, axis):
        return cast(places, dtype_of(value))
    rows = permuted(as_tensor(value), axes)
    return op.gather_elements(rows, places, len(axes) - 1)


def _counts(value: Value, axis: int) -> bool:
    """Say whether a tensor is known to count along an axis."""
    source = value.source if isinstance(value, Spread) else value
    if not isinstance(source, np.ndarray) or source.dtype.kind not in "iu":
        return False
    extent, rank = shape_of(value)[axis], rank_of(value)
    shape = [1] * (rank - axis)
    if not isinstance(extent, int) or source.size != extent:
        return False
    shape[0] = extent
    return source.shape[-len(shape) :] == tuple(shape) and bool(
        (source.reshape(-1) == np.arange(extent)).all()
    )


def _ordered(rows: ir.Value, descending: bool) -> ir.Value:
    extent = ints(shape_of(rows)[-1:], "a dimension that is ordered")[0]
    if extent > _MOST_ORDERED:
        raise NotImplementedError(
            f"expected up to {_MOST_ORDERED} elements in a row that is ordered, but got {extent}"
        )
    if dtype_of(rows) == "bool":
        rows = cast(rows, "uint8")
    return places_in_order(rows, descending)


@converts("chlo.top_k")
def _top_k(node: Node, x: ir.Value) -> Any:
    return largest(x, node.attr("k"))


def largest(x: ir.Value, count: int) -> tuple[ir.Value, ir.Value]:
    """Return the largest elements of each row in descending order, and their places as int32."""
    last = rank_of(x) - 1
    if count == 1:
        return op.max(x, [last], True), cast(op.argmax(x, last, True), "int32")
    places = part(_ordered(x, True), last, 0, count)
    return op.gather_elements(x, places, last), cast(places, "int32")
