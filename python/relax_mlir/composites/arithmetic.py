# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise formulas."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import TensorStructInfo
from .kernels import add_kernel
from .tensors import common_shape, number, product

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
    bits = int(dtype.lstrip("uint"))
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
    rest = op.floor_mod(op.abs(x), op.abs(y))
    return op.where(op.less(x, number(0, dtype)), op.negative(rest), rest)
