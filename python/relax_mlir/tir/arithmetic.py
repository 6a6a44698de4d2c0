# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on scalar expressions: data types are promoted, and constants folded, as in TVM."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import bits, is_float, is_integer, is_uint, limits, promote
from .nodes import (
    FUNCTIONS,
    ExprLike,
    FloatImm,
    IntImm,
    PrimExpr,
    const,
    convert,
    is_zero,
    require_bool,
)
from .operations import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    CmpOp,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
    cast,
)


def match_types(lhs: ExprLike, rhs: ExprLike) -> tuple[PrimExpr, PrimExpr]:
    """Return two values as ones of the data type that an operation on them computes with."""
    a, b = convert(lhs), convert(rhs)
    for expr in (a, b):
        if expr.dtype in ("handle", "void"):
            raise TypeError(f"expected a number, but got {expr} of type {expr.dtype}")
    dtype = promote(a.dtype, b.dtype)
    return cast(dtype, a), cast(dtype, b)


def _fold(
    a: PrimExpr, b: PrimExpr, compute: Callable[[Any, Any], int | float], dtype: str | None = None
) -> PrimExpr | None:
    """Return the constant that an operation on constants gives, or None."""
    wanted = a.dtype if dtype is None else dtype
    if not (isinstance(a, (IntImm, FloatImm)) and isinstance(b, (IntImm, FloatImm))):
        return None
    if bits(a.dtype) == 16 or a.dtype.startswith("float8"):
        return None  # rounded when it is computed
    try:
        value = compute(a.value, b.value)
    except (ZeroDivisionError, OverflowError):
        return None
    if wanted == "float32" and math.isfinite(value):
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    if not is_float(wanted):
        lowest, highest = limits(wanted)
        if not lowest <= value <= highest:
            return None
    return const(value, wanted)


def _is_const(expr: PrimExpr, value: int) -> bool:
    return isinstance(expr, (IntImm, FloatImm)) and expr.value == value


def add(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the sum."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: x + y)
    if folded is not None:
        return folded
    # Not for floats: -0.0 + 0.0 is 0.0.
    if not is_float(a.dtype):
        if _is_const(a, 0):
            return b
        if _is_const(b, 0):
            return a
    return Add(a, b)


def subtract(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the difference."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: x - y)
    if folded is not None:
        return folded
    return a if _is_const(b, 0) else Sub(a, b)


def multiply(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the product."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: x * y)
    if folded is not None:
        return folded
    if _is_const(a, 1):
        return b
    if _is_const(b, 1):
        return a
    # Not for floats: inf * 0 is nan.
    if not is_float(a.dtype):
        for zero in (a, b):
            if _is_const(zero, 0):
                return zero
    return Mul(a, b)


def negative(value: ExprLike) -> PrimExpr:
    """Return the value with the other sign; unsigned integers wrap around."""
    expr = convert(value)
    if expr.dtype == "bool":
        raise TypeError(f"expected a number, but got {expr} of type bool")
    if isinstance(expr, FloatImm):
        return FloatImm(expr.dtype, -expr.value)
    if is_uint(expr.dtype):
        return Sub(const(0, expr.dtype), expr)
    return multiply(expr, const(-1, expr.dtype))


def _require_divisor(b: PrimExpr) -> None:
    if is_zero(b):
        raise ZeroDivisionError("expected a divisor other than 0")


def _true_divide(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    a, b = match_types(lhs, rhs)
    if is_integer(a.dtype):
        raise TypeError(
            f"expected floats around '/', but got {a} and {b} of type {a.dtype}: write '//' "
            "(floordiv) or truncdiv for integers, or cast them"
        )
    return div(a, b)


def _truncate(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def div(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient; that of integers is rounded towards zero.

    Examples
    --------
    >>> div(-7, 2), div(1.0, 4.0), floordiv(-7, 2), truncmod(-7, 2), floormod(-7, 2)
    (-3, float32(0.25), -4, -1, 1)
    """
    a, b = match_types(lhs, rhs)
    _require_divisor(b)
    folded = _fold(a, b, operator.truediv if is_float(a.dtype) else _truncate)
    if folded is not None:
        return folded
    return a if _is_const(b, 1) else Div(a, b)


def _integers(lhs: ExprLike, rhs: ExprLike, what: str) -> tuple[PrimExpr, PrimExpr]:
    a, b = match_types(lhs, rhs)
    if not is_integer(a.dtype):
        raise TypeError(f"expected integers in {what}, but got {a} and {b} of type {a.dtype}")
    return a, b


def truncdiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient of integers, rounded towards zero."""
    return div(*_integers(lhs, rhs, "truncdiv"))


def truncmod(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the remainder of `truncdiv`, with the sign of the dividend."""
    a, b = _integers(lhs, rhs, "truncmod")
    _require_divisor(b)
    folded = _fold(a, b, lambda x, y: x - _truncate(x, y) * y)
    return Mod(a, b) if folded is None else folded


def floordiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient of integers, rounded towards negative infinity."""
    a, b = _integers(lhs, rhs, "'//' (floordiv)")
    _require_divisor(b)
    folded = _fold(a, b, lambda x, y: x // y)
    if folded is not None:
        return folded
    return a if _is_const(b, 1) else FloorDiv(a, b)


def floormod(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the remainder of `floordiv`, with the sign of the divisor."""
    a, b = _integers(lhs, rhs, "'%' (floormod)")
    _require_divisor(b)
    folded = _fold(a, b, lambda x, y: x % y)
    if folded is not None:
        return folded
    return const(0, a.dtype) if _is_const(b, 1) else FloorMod(a, b)


def ceildiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient of integers, rounded towards positive infinity."""
    a, b = _integers(lhs, rhs, "ceildiv")
    return floordiv(add(a, subtract(b, 1)), b)


def minimum(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the smaller one of two values."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, min)
    return Min(a, b) if folded is None else folded


def maximum(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the larger one of two values."""
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, max)
    return Max(a, b) if folded is None else folded


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def compare(kind: type[CmpOp], lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return a comparison of two values.

    Parameters
    ----------
    kind : type
        EQ, NE, LT, LE, GT or GE.
    lhs, rhs : PrimExpr or number
    """
    a, b = match_types(lhs, rhs)
    folded = _fold(a, b, lambda x, y: int(_COMPARE[kind.symbol](x, y)), "bool")
    return kind(a, b) if folded is None else folded


def logical_and(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return whether both are true."""
    a, b = convert(lhs), convert(rhs)
    require_bool(a)
    require_bool(b)
    for first, second in ((a, b), (b, a)):
        if isinstance(first, IntImm):
            return second if first.value else first
    return And(a, b)


def logical_or(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return whether one is true."""
    a, b = convert(lhs), convert(rhs)
    require_bool(a)
    require_bool(b)
    for first, second in ((a, b), (b, a)):
        if isinstance(first, IntImm):
            return first if first.value else second
    return Or(a, b)


def logical_not(value: ExprLike) -> PrimExpr:
    """Return whether it is false."""
    expr = convert(value)
    require_bool(expr)
    return const(not expr.value, "bool") if isinstance(expr, IntImm) else Not(expr)


def _bitwise(name: str, lhs: ExprLike, rhs: ExprLike, compute: Any) -> PrimExpr:
    a, b = match_types(lhs, rhs)
    if is_float(a.dtype):
        raise TypeError(f"expected integers in {name}, but got {a} and {b} of type {a.dtype}")
    folded = _fold(a, b, compute)
    return Call(a.dtype, name, (a, b)) if folded is None else folded


def bitwise_and(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the bits that are set in both."""
    return _bitwise("bitwise_and", lhs, rhs, lambda x, y: x & y)


def bitwise_or(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the bits that are set in one of both, or in both."""
    return _bitwise("bitwise_or", lhs, rhs, lambda x, y: x | y)


def bitwise_xor(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the bits that are set in one of both only."""
    return _bitwise("bitwise_xor", lhs, rhs, lambda x, y: x ^ y)


def bitwise_not(value: ExprLike) -> PrimExpr:
    """Return the bits that are not set."""
    expr = convert(value)
    if is_float(expr.dtype):
        raise TypeError(f"expected an integer after '~', but got {expr} of type {expr.dtype}")
    return Call(expr.dtype, "bitwise_not", (expr,))


def _shift(name: str, lhs: ExprLike, rhs: ExprLike, compute: Any) -> PrimExpr:
    a, b = _integers(lhs, rhs, name)
    if isinstance(b, IntImm) and not 0 <= b.value < bits(a.dtype):
        raise ValueError(f"expected to shift by 0 to {bits(a.dtype) - 1} bits, but got {b.value}")
    folded = _fold(a, b, compute)
    return Call(a.dtype, name, (a, b)) if folded is None else folded


def shift_left(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the integer with its bits moved to the left."""
    return _shift("shift_left", lhs, rhs, lambda x, y: x << y)


def shift_right(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the integer with its bits moved to the right; the sign stays."""
    return _shift("shift_right", lhs, rhs, lambda x, y: x >> y)


FUNCTIONS |= {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": _true_divide,
    "//": floordiv,
    "%": floormod,
    "<<": shift_left,
    ">>": shift_right,
    "&": bitwise_and,
    "|": bitwise_or,
    "^": bitwise_xor,
    "~": bitwise_not,
    "negative": negative,
    "cast": cast,
    **{kind.symbol: functools.partial(compare, kind) for kind in (EQ, NE, LT, LE, GT, GE)},
}
