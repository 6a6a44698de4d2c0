# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the namespace ``T`` that make expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ..tir import expr as _expr
from ..tir import op as _op
from ..tir.expr import (
    Call,
    PrimExpr,
    StringImm,
    Var,
    convert,
)
from .tir_dtypes import _dtype

__all__ = [
    "Cast",
    "Div",
    "Let",
    "Select",
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "call_extern",
    "call_pure_extern",
    "cast",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "div",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "fabs",
    "floor",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "max",
    "max_value",
    "min",
    "min_value",
    "nearbyint",
    "popcount",
    "pow",
    "power",
    "reinterpret",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "tvm_thread_invariant",
]


def _intrinsic(function: Callable[..., PrimExpr]) -> Callable[..., PrimExpr]:
    """Return a function that may be told the data type of its result, which is known anyway."""

    @functools.wraps(function)
    def intrinsic(*args: Any, dtype: Any = None) -> PrimExpr:
        return function(*args)

    return intrinsic


acos = _intrinsic(_op.acos)
acosh = _intrinsic(_op.acosh)
asin = _intrinsic(_op.asin)
asinh = _intrinsic(_op.asinh)
atan = _intrinsic(_op.atan)
atan2 = _intrinsic(_op.atan2)
atanh = _intrinsic(_op.atanh)
ceil = _intrinsic(_op.ceil)
clz = _intrinsic(_op.clz)
copysign = _intrinsic(_op.copysign)
cos = _intrinsic(_op.cos)
cosh = _intrinsic(_op.cosh)
erf = _intrinsic(_op.erf)
exp = _intrinsic(_op.exp)
exp2 = _intrinsic(_op.exp2)
exp10 = _intrinsic(_op.exp10)
floor = _intrinsic(_op.floor)
fmod = _intrinsic(_op.fmod)
hypot = _intrinsic(_op.hypot)
if_then_else = _intrinsic(_op.if_then_else)
indexdiv = _op.indexdiv
indexmod = _op.indexmod
infinity = _op.infinity
isfinite = _intrinsic(_op.isfinite)
isinf = _intrinsic(_op.isinf)
isnan = _intrinsic(_op.isnan)
ldexp = _intrinsic(_op.ldexp)
likely = _op.likely
log = _intrinsic(_op.log)
log1p = _intrinsic(_op.log1p)
log2 = _intrinsic(_op.log2)
log10 = _intrinsic(_op.log10)
max_value = _op.max_value
min_value = _op.min_value
nearbyint = _intrinsic(_op.nearbyint)
popcount = _intrinsic(_op.popcount)
pow = _intrinsic(_op.pow)  # noqa: A001 (TVM's name)
power = _intrinsic(_op.power)
reinterpret = _op.reinterpret
round = _intrinsic(_op.round)  # noqa: A001 (TVM's name)
rsqrt = _intrinsic(_op.rsqrt)
sigmoid = _intrinsic(_op.sigmoid)
sin = _intrinsic(_op.sin)
sinh = _intrinsic(_op.sinh)
sqrt = _intrinsic(_op.sqrt)
tan = _intrinsic(_op.tan)
tanh = _intrinsic(_op.tanh)
trunc = _intrinsic(_op.trunc)


def Cast(dtype: Any, value: Any) -> PrimExpr:  # noqa: N802 (TVM's name)
    """Return a value as one of another data type."""
    return _expr.cast(_dtype(dtype), value)


def cast(value: Any, dtype: Any) -> PrimExpr:
    """Return a value as one of another data type."""
    return _expr.cast(_dtype(dtype), value)


def Select(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:  # noqa: N802 (TVM's name)
    """Return one of two values, both of which are computed."""
    a, b = _expr.match_types(true_value, false_value)
    return _expr.Select(condition, a, b)


def Let(expr: Any, where: Mapping[Var, Any]) -> PrimExpr:  # noqa: N802 (TVM's name)
    """Return an expression where variables have values."""
    if len(where) != 1:
        raise ValueError(f"expected one variable in T.Let, but got {len(where)}")
    (variable, value), *_ = where.items()
    return _expr.Let(variable, _expr.cast(variable.dtype, value), expr)


def Div(a: Any, b: Any) -> PrimExpr:  # noqa: N802 (TVM's name)
    """Return the quotient; that of integers is rounded towards zero."""
    return _expr.div(a, b)


div = Div


def abs(x: Any) -> PrimExpr:  # noqa: A001 (TVM's name)
    """Return the absolute value."""
    return _op.abs(x)


fabs = abs


def max(a: Any, b: Any) -> PrimExpr:  # noqa: A001 (TVM's name)
    """Return the larger one of two values."""
    return _expr.maximum(a, b)


def min(a: Any, b: Any) -> PrimExpr:  # noqa: A001 (TVM's name)
    """Return the smaller one of two values."""
    return _expr.minimum(a, b)


def all(*conditions: Any) -> PrimExpr:  # noqa: A001 (TVM's name)
    """Return whether all conditions are true."""
    return _op.all(*conditions)


def any(*conditions: Any) -> PrimExpr:  # noqa: A001 (TVM's name)
    """Return whether one condition is true."""
    return _op.any(*conditions)


def logical_and(a: Any, b: Any) -> PrimExpr:
    """Return whether both are true."""
    return _expr.logical_and(a, b)


def logical_or(a: Any, b: Any) -> PrimExpr:
    """Return whether one is true."""
    return _expr.logical_or(a, b)


def logical_not(a: Any) -> PrimExpr:
    """Return whether it is false."""
    return _expr.logical_not(a)


def tvm_thread_invariant(condition: Any) -> PrimExpr:
    """Return the condition, which all threads agree on."""
    return convert(condition)


def call_extern(dtype: Any, func_name: Any = None, *args: Any) -> PrimExpr:
    """Call a C function of the process, with numbers and addresses ``A.data``.

    Parameters
    ----------
    dtype : str
        That of the result.
    func_name : str
        Its symbol.
    *args : PrimExpr
    """
    if not isinstance(func_name, str):
        raise TypeError("expected a data type and the name of a function, as strings")
    converted = [arg if isinstance(arg, PrimExpr) else convert(arg) for arg in args]
    return Call(_dtype(dtype), "call_extern", (StringImm(func_name), *converted))


def call_pure_extern(dtype: Any, func_name: Any = None, *args: Any) -> PrimExpr:
    """Call a C function of the process that has no effect."""
    return call_extern(dtype, func_name, *args)
