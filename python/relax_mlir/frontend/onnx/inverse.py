# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inverses of matrices."""

from __future__ import annotations

from mlir import ir

from ... import op
from ...composites.tensors import cast, product
from ...core.ir import TensorStructInfo
from ...script import from_source
from ..values import shape_of
from .registry import Node, converter

# By elimination of one column after the other, with the largest element of each as the pivot.
_KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def inverse(a: T.handle, b: T.handle):
        batch, n = T.int64(), T.int64()
        source = T.match_buffer(a, (batch, n, n), "{dtype}")
        result = T.match_buffer(b, (batch, n, n), "{dtype}")
        left = T.alloc_buffer((n, n), "{dtype}")
        right = T.alloc_buffer((n, n), "{dtype}")
        best = T.alloc_buffer((1,), "int64")
        kept = T.alloc_buffer((1,), "{dtype}")
        for k in range(batch):
            for i, j in T.grid(n, n):
                left[i, j] = source[k, i, j]
                right[i, j] = T.if_then_else(i == j, T.{dtype}(1), T.{dtype}(0))
            for c in range(n):
                best[0] = c
                for i in range(n):
                    if i > c:
                        if T.abs(left[i, c]) > T.abs(left[best[0], c]):
                            best[0] = i
                for j in range(n):
                    kept[0] = left[c, j]
                    left[c, j] = left[best[0], j]
                    left[best[0], j] = kept[0]
                    kept[0] = right[c, j]
                    right[c, j] = right[best[0], j]
                    right[best[0], j] = kept[0]
                kept[0] = left[c, c]
                for j in range(n):
                    left[c, j] = left[c, j] / kept[0]
                    right[c, j] = right[c, j] / kept[0]
                for i in range(n):
                    if i != c:
                        kept[0] = left[i, c]
                        for j in range(n):
                            left[i, j] = left[i, j] - kept[0] * left[c, j]
                            right[i, j] = right[i, j] - kept[0] * right[c, j]
            for i, j in T.grid(n, n):
                result[k, i, j] = right[i, j]
"""


@converter("Inverse", domain="com.microsoft")
def _inverse(node: Node, x: ir.Value) -> ir.Value:
    dims = shape_of(x)
    if len(dims) < 2 or dims[-1] != dims[-2]:
        raise ValueError(f"expected square matrices, but got {[str(dim) for dim in dims]}")
    dtype = "float64" if x.type.dtype == "float64" else "float32"
    matrices = op.reshape(cast(x, dtype), [product(dims[:-2]), *dims[-2:]])
    module = from_source(_KERNEL.format(dtype=dtype))
    kernel = node.importer.builder.add_kernel(next(iter(module.functions.values())), "inverse")
    result = op.call_tir(kernel, [matrices], TensorStructInfo(shape_of(matrices), dtype))
    return cast(op.reshape(result, dims), x.type.dtype)
