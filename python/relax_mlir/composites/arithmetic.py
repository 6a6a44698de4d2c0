# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import TensorStructInfo
from .kernels import add_kernel
from .tensors import bits_of, common_shape, number, product

# Squares the base for each bit of the exponent; products wrap around.
_POWER = """
@I.ir_module
class Module:
    @T.prim_func
    def integer_power(a: T.handle, b: T.handle, c: T.handle):
        elements = T.int64()
        bases = T.match_buffer(a, (elements,), "{dtype}")
        exponents = T.match_buffer(b, (elements,), "{dtype}")
        powers = T.match_buffer(c, (elements,), "{dtype}")
        base = T.alloc_buffer((1,), "{dtype}")
        left = T.alloc_buffer((1,), "{dtype}")
        for i in range(elements):
            base[0] = bases[i]
            left[0] = exponents[i]
            powers[i] = T.{dtype}(1)
            for bit in range({bits}):
                if left[0] > T.{dtype}(0):
                    if left[0] % T.{dtype}(2) == T.{dtype}(1):
                        powers[i] = powers[i] * base[0]
                    base[0] = base[0] * base[0]
                    left[0] = left[0] // T.{dtype}(2)
"""


def integer_power(x: ir.Value, y: ir.Value) -> ir.Value:
    """Return powers of integers, which wrap around; those of negative exponents are rounded to 0.

    Parameters
    ----------
    x, y : mlir.ir.Value
        Of one integer type, and of dimensions that are known to broadcast.
    """
    dtype, dims = x.type.dtype, common_shape(x, y)
    x, y = (op.broadcast_to(one, dims) for one in (x, y))
    bits = bits_of(dtype)
    source = _POWER.format(dtype=dtype, bits=bits if dtype.startswith("u") else bits - 1)
    count = product(dims)
    flat = [op.reshape(one, [count]) for one in (x, y)]
    kernel = add_kernel(source, f"integer_power_{dtype}")
    powers = op.reshape(op.call_tir(kernel, flat, TensorStructInfo([count], dtype)), dims)
    if dtype.startswith("u"):
        return powers
    # Of negative exponents only 1 and -1 have other ones than 0.
    zero, one, minus = number(0, dtype), number(1, dtype), number(-1, dtype)
    is_odd = op.not_equal(op.bitwise_and(y, one), zero)
    sign = op.where(op.logical_and(op.equal(x, minus), is_odd), minus, one)
    is_unit = op.logical_or(op.equal(x, one), op.equal(x, minus))
    return op.where(op.less(y, zero), op.where(is_unit, sign, zero), powers)


def expm1(x: ir.Value) -> ir.Value:
    """Return exp(x) - 1, with all its digits near 0."""
    dtype = x.type.dtype
    one = const(1.0, dtype)
    plain = op.subtract(op.exp(x), one)
    near = op.multiply(op.tanh(op.multiply(x, const(0.5, dtype))), op.add(op.exp(x), one))
    return op.where(op.less(op.abs(x), one), near, plain)


def log1p(x: ir.Value) -> ir.Value:
    """Return log(1 + x), with all its digits near 0."""
    one = const(1.0, x.type.dtype)
    total = op.add(x, one)
    # What rounding took from the sum is made good by the factor.
    rounded = op.subtract(total, one)
    exact = op.multiply(op.log(total), op.divide(x, rounded))
    same = op.logical_or(op.equal(total, one), op.isinf(x))
    return op.where(same, op.where(op.isinf(x), op.log(total), x), exact)


def round_away(x: ir.Value) -> ir.Value:
    """Return the nearest whole number, of two the one that is farther from 0."""
    whole = op.trunc(x)
    is_far = op.greater_equal(op.abs(op.subtract(x, whole)), number(0.5, x.type.dtype))
    return op.where(is_far, op.add(whole, op.sign(x)), whole)


def truncated_remainder(x: ir.Value, y: ir.Value) -> ir.Value:
    """Return what is left of a division that is rounded towards 0, as ``%`` and ``fmod`` of C."""
    dtype = x.type.dtype
    if dtype.startswith("uint"):
        return op.floor_mod(x, y)
    if dtype.startswith("int"):
        return op.subtract(x, op.multiply(op.divide(x, y), y))
    zero, size = number(0, dtype), op.floor_mod(op.abs(x), op.abs(y))
    rest = op.where(op.less(x, zero), op.negative(size), size)
    # The sign is that of x, which may be -0.
    return op.where(op.equal(size, zero), op.multiply(x, zero), rest)


def is_negative(x: ir.Value) -> ir.Value:
    """Say which elements have the sign minus, as -0.0 has."""
    dtype, zero = x.type.dtype, number(0, x.type.dtype)
    below = op.less(x, zero)
    if not dtype.startswith(("float", "bfloat")):
        return below
    inverse = op.divide(number(1, dtype), x)
    return op.where(op.equal(x, zero), op.less(inverse, zero), below)


def hypot(x: ir.Value, y: ir.Value) -> ir.Value:
    """Return the length of vectors of floats, of which no square overflows or underflows."""
    dtype, sides = x.type.dtype, (op.abs(x), op.abs(y))
    long, short = op.maximum(*sides), op.minimum(*sides)
    unbounded = op.logical_or(op.isinf(sides[0]), op.isinf(sides[1]))
    is_plain = op.logical_and(op.greater(long, number(0, dtype)), op.logical_not(unbounded))
    ratio = op.divide(short, op.where(is_plain, long, number(1, dtype)))
    length = op.multiply(long, op.sqrt(op.add(number(1, dtype), op.multiply(ratio, ratio))))
    return op.where(unbounded, number(float("inf"), dtype), length)


# Of float32 and float64: by the border of log(1 / (1 - x * x)), how the argument of a polynomial is
# made of it, and the coefficients, the highest one first (Giles, "Approximating the erfinv
# function", GPU Computing Gems, 2012).
_ERF_INV: dict[str, list[tuple[float, float, str]]] = {
    "float32": [
        (5.0, 2.5, """2.81022636e-08 3.43273939e-07 -3.5233877e-06 -4.39150654e-06 0.00021858087
            -0.00125372503 -0.00417768164 0.246640727 1.50140941"""),
        (math.inf, 3.0, """-0.000200214257 0.000100950558 0.00134934322 -0.00367342844
            0.00573950773 -0.0076224613 0.00943887047 1.00167406 2.83297682"""),
    ],
    "float64": [
        (6.25, 3.125, """-3.6444120640178196996e-21 -1.685059138182016589e-19
            1.2858480715256400167e-18 1.115787767802518096e-17 -1.333171662854620906e-16
            2.0972767875968561637e-17 6.6376381343583238325e-15 -4.0545662729752068639e-14
            -8.1519341976054721522e-14 2.6335093153082322977e-12 -1.2975133253453532498e-11
            -5.4154120542946279317e-11 1.051212273321532285e-09 -4.1126339803469836976e-09
            -2.9070369957882005086e-08 4.2347877827932403518e-07 -1.3654692000834678645e-06
            -1.3882523362786468719e-05 0.0001867342080340571352 -0.00074070253416626697512
            -0.0060336708714301490533 0.24015818242558961693 1.6536545626831027356"""),
        (16.0, 3.25, """2.2137376921775787049e-09 9.0756561938885390979e-08
            -2.7517406297064545428e-07 1.8239629214389227755e-08 1.5027403968909827627e-06
            -4.013867526981545969e-06 2.9234449089955446044e-06 1.2475304481671778723e-05
            -4.7318229009055733981e-05 6.8284851459573175448e-05 2.4031110387097893999e-05
            -0.0003550375203628474796 0.00095328937973738049703 -0.0016882755560235047313
            0.0024914420961078508066 -0.0037512085075692412107 0.005370914553590063617
            1.0052589676941592334 3.0838856104922207635"""),
        (math.inf, 5.0, """-2.7109920616438573243e-11 -2.5556418169965252055e-10
            1.5076572693500548083e-09 -3.7894654401267369937e-09 7.6157012080783393804e-09
            -1.4960026627149240478e-08 2.9147953450901080826e-08 -6.7711997758452339498e-08
            2.2900482228026654717e-07 -9.9298272942317002539e-07 4.5260625972231537039e-06
            -1.9681778105531670567e-05 7.5995277030017761139e-05 -0.00021503011930044477347
            -0.00013871931833623122026 1.0103004648645343977 4.8499064014085844221"""),
    ],
}  # fmt: skip


def polynomial(x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """Return the values of a polynomial.

    Parameters
    ----------
    x : mlir.ir.Value
        Floats.
    coefficients : sequence of float
        The highest one first.
    """
    first, *others = [number(each, x.type.dtype) for each in coefficients]
    total = first
    for coefficient in others:
        total = op.add(op.multiply(total, x), coefficient)
    return total


def erf_inv(x: ir.Value) -> ir.Value:
    """Return the numbers that erf makes x of; NaN where there is none.

    Parameters
    ----------
    x : mlir.ir.Value
        Floats; those of 16 bits are computed in float32.
    """
    dtype = x.type.dtype
    if dtype not in _ERF_INV:
        return op.astype(erf_inv(op.astype(x, "float32")), dtype)
    one = number(1, dtype)
    rest = op.multiply(op.subtract(one, x), op.add(one, x))
    depth = op.negative(op.log(rest))
    result: ir.Value | None = None
    for place, (border, shift, text) in reversed(list(enumerate(_ERF_INV[dtype]))):
        argument = op.subtract(op.sqrt(depth) if place else depth, number(shift, dtype))
        total = polynomial(argument, [float(each) for each in text.split()])
        if result is None:
            result = total
        else:
            result = op.where(op.less(depth, number(border, dtype)), total, result)
    is_end = op.equal(op.abs(x), one)
    return op.multiply(op.where(is_end, number(math.inf, dtype), result), x)
