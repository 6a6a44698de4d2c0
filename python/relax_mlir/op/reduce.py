# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and scans: one line each."""

# ruff: noqa: A001 (the names TVM uses)

from ..dialects import relax as _ops
from ._factory import index_reduction as _index_reduction
from ._factory import reduction as _reduction
from ._factory import scan as _scan

argmax = _index_reduction(_ops.ArgmaxOp, "largest")
argmin = _index_reduction(_ops.ArgminOp, "smallest")
cumprod = _scan(_ops.CumprodOp, "The product")
cumsum = _scan(_ops.CumsumOp, "The sum")
max = _reduction(_ops.MaxOp, "The largest element")
mean = _reduction(_ops.MeanOp, "The mean")
min = _reduction(_ops.MinOp, "The smallest element")
prod = _reduction(_ops.ProdOp, "The product")
std = _reduction(_ops.StdOp, "The standard deviation")
sum = _reduction(_ops.SumOp, "The sum")
variance = _reduction(_ops.VarianceOp, "The variance")
