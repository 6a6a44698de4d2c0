# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of operators that order elements: each goes back to where it came from."""

from __future__ import annotations

from typing import Any

from ... import op
from .registry import Contribution, Forward, gradient, no_gradient
from .shapes import zeros_of

no_gradient("its result counts elements", "argsort bucketize kth_index")


@gradient("sort")
def _sort(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    axis = f.axis(default=-1)
    places = op.argsort(x, axis, bool(f.attribute("descending", False)), "int64")
    return [op.scatter_elements(zeros_of(x), places, g, axis, "update")]


@gradient("topk")
def _topk(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    axis, kind = f.axis(default=-1), f.attribute("ret_type", "both")
    values = g[0] if kind == "both" else g
    if kind == "indices" or values is None:
        return [None]
    if kind == "both":
        places = op.astype(op.get_item(f.result, 1), "int64")
    else:
        largest = bool(f.attribute("largest", True))
        places = op.topk(x, f.attribute("k", 1), axis, "indices", largest, "int64")
    return [op.scatter_elements(zeros_of(x), places, values, axis, "update")]
