# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators of one tensor: one line each."""

# ruff: noqa: A001 (the names TVM uses)

from ..dialects import relax as _ops
from ._factory import unary as _unary

abs = _unary(_ops.AbsOp, "The absolute value")
ceil = _unary(_ops.CeilOp, "The smallest integer not less")
cos = _unary(_ops.CosOp, "The cosine")
erf = _unary(_ops.ErfOp, "The error function")
exp = _unary(_ops.ExpOp, "The exponential")
floor = _unary(_ops.FloorOp, "The largest integer not greater")
log = _unary(_ops.LogOp, "The natural logarithm")
logical_not = _unary(_ops.LogicalNotOp, "Logical negation")
negative = _unary(_ops.NegativeOp, "The negation")
round = _unary(_ops.RoundOp, "Rounding to the nearest integer, ties to even")
rsqrt = _unary(_ops.RsqrtOp, "1 / sqrt(x)")
sigmoid = _unary(_ops.SigmoidOp, "1 / (1 + exp(-x))")
sign = _unary(_ops.SignOp, "-1, 0 or 1; NaN stays NaN")
sin = _unary(_ops.SinOp, "The sine")
sqrt = _unary(_ops.SqrtOp, "The square root")
tanh = _unary(_ops.TanhOp, "The hyperbolic tangent")
