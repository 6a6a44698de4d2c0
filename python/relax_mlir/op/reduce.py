# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and scans: one line each.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     spread = variance(x, axis=1, keepdims=True)
...     best = argmax(x, axis=1)
...     total = cumsum(x, dtype="float64")
...     _ = bb.emit_func_output([spread, best, total])
>>> for value in (spread, best, total):
...     print(value.type)
!relax.tensor<[n, 1], f32>
!relax.tensor<[n], i64>
!relax.tensor<[n * 4], f64>
"""

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
