# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boxes that overlap with better ones are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.selection import coordinates
from ...composites.tensors import cast, facts, number
from ...core.ir import Dim, TensorStructInfo
from ...script import from_source
from ..values import Value, shape_of
from .registry import Node, converter
from .selection import true_places

# Takes the best box that is left, again and again; -1 where there is none. Boxes are given by
# their lowest and highest coordinates.
_KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def best_boxes(a: T.handle, b: T.handle, c: T.handle, d: T.handle, e: T.handle, f: T.handle):
        batch, classes, boxes, most = T.int64(), T.int64(), T.int64(), T.int64()
        corners = T.match_buffer(a, (batch, boxes, 4), "float32")
        scores = T.match_buffer(b, (batch, classes, boxes), "float32")
        counts = T.match_buffer(c, (batch, classes, boxes), "int8")
        limit = T.match_buffer(d, (), "int64")
        overlap = T.match_buffer(e, (), "float32")
        picked = T.match_buffer(f, (batch, classes, most), "int64")
        left = T.alloc_buffer((boxes,), "int8")
        best = T.alloc_buffer((1,), "int64")
        for i, j in T.grid(batch, classes):
            for k in range(boxes):
                left[k] = counts[i, j, k]
            for step in range(most):
                best[0] = T.int64(-1)
                if step < limit[()]:
                    for k in range(boxes):
                        if left[k] != T.int8(0):
                            if best[0] < T.int64(0):
                                best[0] = k
                            else:
                                if scores[i, j, k] > scores[i, j, best[0]]:
                                    best[0] = k
                picked[i, j, step] = best[0]
                if best[0] >= T.int64(0):
                    left[best[0]] = T.int8(0)
                    for k in range(boxes):
                        high = T.max(T.min(corners[i, best[0], 2], corners[i, k, 2])
                                     - T.max(corners[i, best[0], 0], corners[i, k, 0]),
                                     T.float32(0))
                        wide = T.max(T.min(corners[i, best[0], 3], corners[i, k, 3])
                                     - T.max(corners[i, best[0], 1], corners[i, k, 1]),
                                     T.float32(0))
                        common = high * wide
                        one = ((corners[i, best[0], 2] - corners[i, best[0], 0])
                               * (corners[i, best[0], 3] - corners[i, best[0], 1]))
                        other = ((corners[i, k, 2] - corners[i, k, 0])
                                 * (corners[i, k, 3] - corners[i, k, 1]))
                        both = one + other - common
                        if both > T.float32(0):
                            if common / both > overlap[()]:
                                left[k] = T.int8(0)
"""


def _corners(boxes: ir.Value, is_centre: bool) -> ir.Value:
    """Return boxes as their lowest coordinates, then their highest ones."""
    first, second = (
        op.strided_slice(boxes, [2], [i], [i + 2], [1], assume_inbound=True) for i in (0, 2)
    )
    if not is_centre:
        return op.concat([op.minimum(first, second), op.maximum(first, second)], 2)
    half = op.divide(second, number(2, "float32"))
    return op.concat([op.subtract(first, half), op.add(first, half)], 2)


def _scalar(value: ir.Value | None, default: float) -> ir.Value:
    return number(default, "float32") if value is None else op.reshape(value, [])


def _most(limit: Value, boxes: Any) -> Any:
    """Return how many boxes of a class there may be, as far as it is known."""
    if not isinstance(limit, np.ndarray):
        return boxes
    count = max(int(limit.reshape(())), 0)
    if Dim(boxes).prove_less_equal(count, facts(Dim(boxes))):
        return boxes
    return min(boxes, count) if isinstance(boxes, int) else count


@converter("NonMaxSuppression", since=10, raw=(2,))
def _non_max_suppression(
    node: Node, boxes: ir.Value, scores: ir.Value, limit: Value = None,
    overlap: ir.Value | None = None, threshold: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    if limit is None:
        limit = np.array(0, "int64")
    batch, classes, count = shape_of(scores)
    most = _most(limit, count)
    shape = [batch, classes, most]
    flags = op.ones([batch, classes, count], "int8")
    if threshold is not None:
        flags = op.astype(op.greater(scores, op.reshape(threshold, [])), "int8")
    bound = op.reshape(cast(node.importer.tensor(node.scope, limit), "int64"), [])
    kernel = node.importer.builder.add_kernel(
        next(iter(from_source(_KERNEL).functions.values())), "best_boxes"
    )
    picked = op.call_tir(
        kernel,
        [_corners(boxes, bool(node.attr("center_point_box", 0))), scores, flags, bound,
         _scalar(overlap, 0.0)],
        TensorStructInfo(shape, "int64"),
    )  # fmt: skip
    flat = op.reshape(picked, [-1])
    places = true_places(node, op.greater_equal(flat, number(0, "int64")))
    first, second, _ = coordinates(places, shape)
    return op.stack([first, second, op.take(flat, places, 0)], 1)
