# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inverses of matrices."""

from __future__ import annotations

from mlir import ir

from ...composites.linear_algebra import inverse
from ...composites.tensors import cast
from ..values import shape_of
from .registry import Node, converter


@converter("Inverse", domain="com.microsoft")
def _inverse(_: Node, x: ir.Value) -> ir.Value:
    dims = shape_of(x)
    if len(dims) < 2 or dims[-1] != dims[-2]:
        raise ValueError(f"expected square matrices, but got {[str(dim) for dim in dims]}")
    wide = cast(x, "float64" if x.type.dtype == "float64" else "float32")
    return cast(inverse(wide), x.type.dtype)
