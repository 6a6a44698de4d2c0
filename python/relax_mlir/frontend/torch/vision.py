# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of torchvision."""

from __future__ import annotations

from mlir import ir

from ... import op
from .registry import Graph, converts, dtype_of, number, part


@converts("roi_align.default", namespace="torchvision")
def _roi_align(
    graph: Graph, x: ir.Value, regions: ir.Value, scale: float, height: int, width: int,
    sampling_ratio: int, aligned: bool,
) -> ir.Value:  # fmt: skip
    dtype = dtype_of(regions)
    images, edges = part(regions, 1, 0, 1), part(regions, 1, 1, 5)
    edges = op.multiply(edges, number(scale, dtype))
    if aligned:  # from the middle of elements
        edges = op.subtract(edges, number(0.5, dtype))
    regions = op.concat([images, edges], 1)
    return op.vision.roi_align(x, regions, (height, width), 1.0, sampling_ratio, aligned)
