# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at places that tensors hold, and places of images that are turned."""

from __future__ import annotations

from mlir import ir

from ...composites.sampling import affine_points, grid_sample
from ..values import Value, known_sizes, shape_of
from .registry import Node, converter

# The names of modes before opset 20.
_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@converter("GridSample", since=16)
@converter("GridSample", domain="com.microsoft")
def _grid_sample(node: Node, x: ir.Value, grid: ir.Value) -> ir.Value:
    mode, padding = node.attr("mode", "linear"), node.attr("padding_mode", "zeros")
    corners = bool(node.attr("align_corners", 0))
    return grid_sample(x, grid, _MODES.get(mode, mode), padding, corners)


@converter("AffineGrid", since=20, raw=(1,))
def _affine_grid(node: Node, matrices: ir.Value, shape: Value) -> ir.Value:
    sizes = known_sizes(shape, "a shape")[2:]
    count = len(sizes)
    if shape_of(matrices)[1:] != [count, count + 1]:
        raise ValueError(
            f"expected matrices of {count} rows and {count + 1} columns, but got {matrices.type}"
        )
    return affine_points(matrices, sizes, corners=bool(node.attr("align_corners", 0)))
