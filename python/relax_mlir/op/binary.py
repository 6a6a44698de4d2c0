# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators of several tensors: one line each."""

from __future__ import annotations

from mlir import ir

from ..core.expr import TensorLike, as_tensors, build
from ..dialects import relax as _ops
from ._factory import binary as _binary

add = _binary(_ops.AddOp, "x1 + x2")
atan2 = _binary(_ops.Atan2Op, "The angle of the point (x2, x1)")
bitwise_and = _binary(_ops.BitwiseAndOp, "The bits of both")
bitwise_or = _binary(_ops.BitwiseOrOp, "The bits of either")
bitwise_xor = _binary(_ops.BitwiseXorOp, "The bits that differ")
divide = _binary(_ops.DivideOp, "x1 / x2; of integers, rounded towards zero")
equal = _binary(_ops.EqualOp, "x1 == x2")
floor_divide = _binary(_ops.FloorDivideOp, "floor(x1 / x2)")
floor_mod = _binary(_ops.FloorModOp, "The remainder of floor_divide")
greater = _binary(_ops.GreaterOp, "x1 > x2")
greater_equal = _binary(_ops.GreaterEqualOp, "x1 >= x2")
left_shift = _binary(_ops.LeftShiftOp, "x1 with its bits moved up by x2")
less = _binary(_ops.LessOp, "x1 < x2")
less_equal = _binary(_ops.LessEqualOp, "x1 <= x2")
log_add_exp = _binary(_ops.LogAddExpOp, "log(exp(x1) + exp(x2)), without overflow")
logical_and = _binary(_ops.LogicalAndOp, "x1 and x2")
logical_or = _binary(_ops.LogicalOrOp, "x1 or x2")
logical_xor = _binary(_ops.LogicalXorOp, "x1 or x2, but not both")
maximum = _binary(_ops.MaximumOp, "The larger one; NaN wins")
minimum = _binary(_ops.MinimumOp, "The smaller one; NaN wins")
mod = _binary(_ops.ModOp, "The remainder of floor_divide")
multiply = _binary(_ops.MultiplyOp, "x1 * x2")
not_equal = _binary(_ops.NotEqualOp, "x1 != x2")
power = _binary(_ops.PowerOp, "x1 to the power of x2")
right_shift = _binary(_ops.RightShiftOp, "x1 with its bits moved down by x2")
subtract = _binary(_ops.SubtractOp, "x1 - x2")


def ewise_fma(x1: TensorLike, x2: TensorLike, x3: TensorLike) -> ir.Value:
    """Return x1 * x2 + x3, element by element.

    Parameters
    ----------
    x1, x2, x3 : tensor or array
        Of the same shape and data type.

    Returns
    -------
    mlir.ir.Value
    """
    return build(_ops.EwiseFMAOp, *as_tensors(x1, x2, x3))
