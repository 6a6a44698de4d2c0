# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators of one tensor: one line each.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n",), "float32"))
>>> with bb.function("main", [x]):
...     y = clip(square(x), 0, "n")
...     z = isfinite(y)
...     _ = bb.emit_func_output(z)
>>> print(y.type, z.type)
!relax.tensor<[n], f32> !relax.tensor<[n], i1>
"""

# ruff: noqa: A001, A002 (the names TVM uses)

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.expr import TensorLike, as_prim, as_tensor, build
from ..dialects import relax as _ops
from ._factory import unary as _unary

abs = _unary(_ops.AbsOp, "The absolute value")
acos = _unary(_ops.AcosOp, "The inverse cosine")
acosh = _unary(_ops.AcoshOp, "The inverse hyperbolic cosine")
asin = _unary(_ops.AsinOp, "The inverse sine")
asinh = _unary(_ops.AsinhOp, "The inverse hyperbolic sine")
atan = _unary(_ops.AtanOp, "The inverse tangent")
atanh = _unary(_ops.AtanhOp, "The inverse hyperbolic tangent")
bitwise_not = _unary(_ops.BitwiseNotOp, "The complement of all bits")
ceil = _unary(_ops.CeilOp, "The smallest integer not less")
cos = _unary(_ops.CosOp, "The cosine")
cosh = _unary(_ops.CoshOp, "The hyperbolic cosine")
erf = _unary(_ops.ErfOp, "The error function")
exp = _unary(_ops.ExpOp, "The exponential")
floor = _unary(_ops.FloorOp, "The largest integer not greater")
isfinite = _unary(_ops.IsFiniteOp, "Whether x is neither infinite nor NaN")
isinf = _unary(_ops.IsInfOp, "Whether x is infinite")
isnan = _unary(_ops.IsNanOp, "Whether x is NaN")
log = _unary(_ops.LogOp, "The natural logarithm")
logical_not = _unary(_ops.LogicalNotOp, "Logical negation")
negative = _unary(_ops.NegativeOp, "The negation")
round = _unary(_ops.RoundOp, "Rounding to the nearest integer, ties to even")
rsqrt = _unary(_ops.RsqrtOp, "1 / sqrt(x)")
sigmoid = _unary(_ops.SigmoidOp, "1 / (1 + exp(-x))")
sign = _unary(_ops.SignOp, "-1, 0 or 1; NaN stays NaN")
sin = _unary(_ops.SinOp, "The sine")
sinh = _unary(_ops.SinhOp, "The hyperbolic sine")
sqrt = _unary(_ops.SqrtOp, "The square root")
square = _unary(_ops.SquareOp, "x * x")
tan = _unary(_ops.TanOp, "The tangent")
tanh = _unary(_ops.TanhOp, "The hyperbolic tangent")
trunc = _unary(_ops.TruncOp, "Rounding towards zero")


def clip(x: TensorLike, min: Any, max: Any) -> ir.Value:
    """Return the number nearest to x that is from min to max, element by element.

    Parameters
    ----------
    x : tensor
    min, max : number, PrimExpr or primitive value

    Returns
    -------
    mlir.ir.Value
    """
    return build(_ops.ClipOp, as_tensor(x), as_prim(min), as_prim(max))
