# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting, and the largest elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from . import regions
from .registry import Node, converts
from .values import Spread, Value, as_tensor, cast, dtype_of, rank_of, shape_of


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
    places = op.argsort(as_tensor(operands[key]), axis, descending, "int64")
    return tuple(_in_order(one, axis, places) for one in operands)


def _in_order(value: Value, axis: int, places: ir.Value) -> ir.Value:
    if _counts(value, axis):
        return cast(places, dtype_of(value))
    return op.gather_elements(as_tensor(value), places, axis)


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


@converts("chlo.top_k")
def _top_k(node: Node, x: ir.Value) -> Any:
    return largest(x, node.attr("k"))


def largest(x: ir.Value, count: int) -> tuple[ir.Value, ir.Value]:
    """Return the largest elements of each row in descending order, and their places as int32."""
    last = rank_of(x) - 1
    if count == 1:
        return op.max(x, [last], True), cast(op.argmax(x, last, True), "int32")
    found = op.topk(x, count, last)
    return op.get_item(found, 0), op.get_item(found, 1)
