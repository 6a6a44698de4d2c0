# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the dialect CHLO."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.arithmetic import erf_inv, polynomial
from .elementwise import broadcasting
from .registry import Function, Node, converts
from .values import Spread, Value, cast, dtype_of, is_float, number, shape_of

# erfc(x) * exp(x * x) for x >= 0.5 as a polynomial of t, where (t + 1) / 2 = 1 / (1 + x / 2), by
# powers of t: fitted at Chebyshev points, 8e-11 of it off at most.
_SCALED_ERFC = [
    0.25539567631081966,
    0.42718584741296545,
    0.2416581941489044,
    0.07897858114477696,
    0.00373289697830309,
    -0.006997465130605851,
    -0.0008472293920462055,
    0.0009820000667547036,
    4.436399961791427e-05,
    -0.00017424822185707972,
    2.336586531838905e-05,
    2.548199485525944e-05,
    -2.2083642279803287e-06,
    8.650174237464307e-06,
    -1.2398597857133402e-05,
    -2.2022713408497523e-05,
    4.827698871689491e-06,
    1.667462674302002e-05,
    6.010821657010618e-06,
]


def _erfc(x: ir.Value) -> ir.Value:
    """Return 1 - erf(x), with its digits where it is small."""
    dtype = dtype_of(x)
    wide = cast(x, "float32") if dtype in ("float16", "bfloat16") else x
    zero, half, one, two = (number(value, dtype_of(wide)) for value in (0, 0.5, 1, 2))
    far = op.abs(wide)
    t = op.subtract(op.divide(two, op.add(one, op.multiply(far, half))), one)
    scaled = polynomial(t, _SCALED_ERFC[::-1])
    tail = op.multiply(op.exp(op.negative(op.multiply(far, far))), scaled)
    tail = op.where(op.less(wide, zero), op.subtract(two, tail), tail)
    near = op.subtract(one, op.erf(wide))
    return cast(op.where(op.less(far, half), near, tail), dtype)


def _is_signed_infinity(sign: int) -> Function:
    def apply(x: ir.Value) -> ir.Value:
        return op.equal(x, number(float("inf") * sign, dtype_of(x)))

    return apply


_UNARY: dict[str, Function] = {
    "acos": op.acos,
    "acosh": op.acosh,
    "asin": op.asin,
    "asinh": op.asinh,
    "atan": op.atan,
    "atanh": op.atanh,
    "conj": lambda x: x,
    "cosh": op.cosh,
    "erf": op.erf,
    "erf_inv": erf_inv,
    "erfc": _erfc,
    "is_inf": op.isinf,
    "is_neg_inf": _is_signed_infinity(-1),
    "is_pos_inf": _is_signed_infinity(1),
    "sinh": op.sinh,
    "square": lambda x: op.multiply(x, x),
    "tan": op.tan,
}


def _register() -> None:
    for name, function in _UNARY.items():

        def convert(node: Node, x: Value, function: Function = function) -> Value:
            return broadcasting(node, function, x)

        converts(f"chlo.{name}", raw=True)(convert)


_register()


@converts("chlo.constant_like", raw=True)
def _constant_like(node: Node, x: Value) -> Any:
    value = node.attr("value")
    dtype = dtype_of(x)
    array = np.array(value, dtype if is_float(dtype) or dtype == "bool" else "int64")
    return Spread(array.astype(dtype), tuple(shape_of(x)))
