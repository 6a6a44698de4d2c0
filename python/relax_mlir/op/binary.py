# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators of two tensors: one line each."""

from ..dialects import relax as _ops
from ._factory import binary as _binary

add = _binary(_ops.AddOp, "x1 + x2")
divide = _binary(_ops.DivideOp, "x1 / x2; of integers, rounded towards zero")
equal = _binary(_ops.EqualOp, "x1 == x2")
floor_divide = _binary(_ops.FloorDivideOp, "floor(x1 / x2)")
greater = _binary(_ops.GreaterOp, "x1 > x2")
greater_equal = _binary(_ops.GreaterEqualOp, "x1 >= x2")
less = _binary(_ops.LessOp, "x1 < x2")
less_equal = _binary(_ops.LessEqualOp, "x1 <= x2")
logical_and = _binary(_ops.LogicalAndOp, "x1 and x2")
logical_or = _binary(_ops.LogicalOrOp, "x1 or x2")
maximum = _binary(_ops.MaximumOp, "The larger one; NaN wins")
minimum = _binary(_ops.MinimumOp, "The smaller one; NaN wins")
mod = _binary(_ops.ModOp, "The remainder of floor_divide")
multiply = _binary(_ops.MultiplyOp, "x1 * x2")
not_equal = _binary(_ops.NotEqualOp, "x1 != x2")
power = _binary(_ops.PowerOp, "x1 to the power of x2")
subtract = _binary(_ops.SubtractOp, "x1 - x2")
