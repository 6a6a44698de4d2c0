# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise formulas."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.expr import const
from .tensors import number


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
