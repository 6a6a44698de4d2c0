# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions: one line each."""

# ruff: noqa: A001 (the names TVM uses)

from ..dialects import relax as _ops
from ._factory import reduction as _reduction

max = _reduction(_ops.MaxOp, "The largest element")
mean = _reduction(_ops.MeanOp, "The mean")
min = _reduction(_ops.MinOp, "The smallest element")
prod = _reduction(_ops.ProdOp, "The product")
sum = _reduction(_ops.SumOp, "The sum")
