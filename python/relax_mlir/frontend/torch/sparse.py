# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen on sparse tensors, which become dense ones with the same elements."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .products import addmm, matmul
from .registry import Graph, cast, converts


@converts(
    "to_sparse.default", "to_sparse.sparse_dim", "_to_sparse.default", "_to_sparse.sparse_dim",
    "to_sparse_csr.default", "_to_sparse_csr.default", "to_sparse_csc.default",
    "_to_sparse_csc.default", "to_sparse_bsr.default", "_to_sparse_bsr.default",
    "to_sparse_bsc.default", "_to_sparse_bsc.default", "to_dense.default", "_to_dense.default",
    "_coalesce.default", "coalesce.default",
)  # fmt: skip
def _same_elements(graph: Graph, x: ir.Value, *_: Any, **__: Any) -> ir.Value:
    return cast(x, graph.dtype)


converts("_sparse_mm.default")(matmul)
converts("_sparse_addmm.default")(addmm)
