# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers: the dialects arith and math.

Functions of the elementary kind are computed in ``float64`` and rounded once. Where MLIR leaves a
result open (a division by zero, a shift by more than there is, a float that no integer is near) it
is some number, and never an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..constants import elements
from ..operators.elementwise import maximum, minimum
from ..operators.table import saturate
from .prepare import function
from .types import ScalarType, scalar_type

Function = Callable[..., Any]


def _result_type(op: Any) -> ScalarType:
    return scalar_type(op.results[0].type)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def signless(value: Any) -> Any:
    """Return integers with their bits read as unsigned ones."""
    if value.dtype.kind == "b":
        return value.astype(np.uint8)
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value


def _signed(value: Any) -> Any:
    """Return integers as signed ones: a single bit that is set is -1."""
    return -value.astype(np.int8) if value.dtype.kind == "b" else value


def _as_it_is(apply: Function) -> Callable[[Any], Function]:
    return lambda op: apply


def _back(op: Any, value: Any) -> Any:
    dtype = _result_type(op).dtype
    if dtype.kind == "b":
        return (value & 1).astype(bool)
    return value.view(dtype) if value.dtype.itemsize == dtype.itemsize else value.astype(dtype)


# ------------------------------------------------------------------------------
# Constants and choices
# ------------------------------------------------------------------------------


@function("arith.constant")
def _constant(op: Any) -> Function:
    attr = op.attributes["value"]
    if hasattr(attr.type, "element_type") and hasattr(attr.type, "shape"):
        array = elements(attr)
        return lambda: array
    value = _result_type(op).constant(attr.value)
    return lambda: value


@function("arith.select")
def _select(op: Any) -> Function:
    def select(condition: Any, a: Any, b: Any) -> Any:
        if _is_array(condition) and condition.ndim:
            return np.where(condition, a, b)
        return a if condition else b

    return select


# ------------------------------------------------------------------------------
# Integers
# ------------------------------------------------------------------------------


def _divide(a: Any, b: Any) -> Any:
    """Return the quotient, rounded towards zero."""
    quotient = np.floor_divide(a, b)
    is_inexact = (quotient * b != a) & ((a < 0) != (b < 0)) & (b != 0)
    return quotient + is_inexact.astype(quotient.dtype)


def _ceil_divide(a: Any, b: Any) -> Any:
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient * b != a) & (b != 0)).astype(quotient.dtype)


_SIGNED: dict[str, Function] = {
    "addi": operator.add,
    "ceildivsi": _ceil_divide,
    "divsi": _divide,
    "floordivsi": np.floor_divide,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "muli": operator.mul,
    "remsi": np.fmod,
    "shrsi": np.right_shift,
    "subi": operator.sub,
}
_UNSIGNED: dict[str, Function] = {
    "ceildivui": _ceil_divide,
    "divui": np.floor_divide,
    "maxui": np.maximum,
    "minui": np.minimum,
    "remui": np.fmod,
    "shli": np.left_shift,
    "shrui": np.right_shift,
}
_BITWISE: dict[str, Function] = {
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
}


def _integers(apply: Function, view: Function) -> Callable[[Any], Function]:
    def make(op: Any) -> Function:
        if _result_type(op).dtype.kind == "b" or view is signless:
            return lambda a, b: _back(op, apply(view(a), view(b)))
        return apply

    return make


for _name, _apply in _SIGNED.items():
    function(f"arith.{_name}")(_integers(_apply, _signed))
for _name, _apply in _UNSIGNED.items():
    function(f"arith.{_name}")(_integers(_apply, signless))
for _name, _apply in _BITWISE.items():
    function(f"arith.{_name}")(_as_it_is(_apply))

_INTEGER_PREDICATES: list[tuple[Function, Function]] = [
    (operator.eq, signless),
    (operator.ne, signless),
    (operator.lt, _signed),
    (operator.le, _signed),
    (operator.gt, _signed),
    (operator.ge, _signed),
    (operator.lt, signless),
    (operator.le, signless),
    (operator.gt, signless),
    (operator.ge, signless),
]


@function("arith.cmpi")
def _cmpi(op: Any) -> Function:
    compare, view = _INTEGER_PREDICATES[op.attributes["predicate"].value]
    return lambda a, b: compare(view(a), view(b))


# ------------------------------------------------------------------------------
# Floats
# ------------------------------------------------------------------------------


def _rounded(apply: Function) -> Callable[[Any], Function]:
    """Return a function that rounds to the type of the result, which may have few digits."""

    def make(op: Any) -> Function:
        type_ = _result_type(op)
        if type_.needs_rounding:
            return lambda *args: type_.round(apply(*args))
        return apply

    return make


def _number_maximum(a: Any, b: Any) -> Any:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, maximum(a, b)))[()]


def _number_minimum(a: Any, b: Any) -> Any:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, minimum(a, b)))[()]


_FLOATS: dict[str, Function] = {
    "addf": operator.add,
    "divf": np.divide,
    "maximumf": lambda a, b: maximum(a, b)[()],
    "maxnumf": _number_maximum,
    "minimumf": lambda a, b: minimum(a, b)[()],
    "minnumf": _number_minimum,
    "mulf": operator.mul,
    "negf": operator.neg,
    "remf": np.fmod,
    "subf": operator.sub,
}
for _name, _apply in _FLOATS.items():
    function(f"arith.{_name}")(_rounded(_apply))

_ORDERED: list[Function] = [
    operator.eq,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    lambda a, b: (a < b) | (a > b),
]


@function("arith.cmpf")
def _cmpf(op: Any) -> Function:
    predicate = op.attributes["predicate"].value

    def unordered(a: Any, b: Any) -> Any:
        return np.isnan(a) | np.isnan(b)

    if predicate in (0, 15):
        return lambda a, b: unordered(a, b) * False + np.bool_(predicate == 15)
    if predicate in (7, 14):
        return lambda a, b: unordered(a, b) == np.bool_(predicate == 14)
    if predicate < 7:
        return _ORDERED[predicate - 1]
    compare = _ORDERED[predicate - 8]
    return lambda a, b: compare(a, b) | unordered(a, b)


# ------------------------------------------------------------------------------
# Conversions
# ------------------------------------------------------------------------------


def _to_signed(op: Any) -> Function:
    dtype = _result_type(op).dtype
    if dtype.kind == "b":
        return lambda a: (a & a.dtype.type(1)).astype(bool)
    return lambda a: _signed(a).astype(dtype)


def _to_unsigned(op: Any) -> Function:
    dtype = _result_type(op).dtype
    return lambda a: signless(a).astype(dtype)


function("arith.extsi", "arith.trunci", "arith.index_cast")(_to_signed)
function("arith.extui", "arith.index_castui")(_to_unsigned)


@function("arith.extf", "arith.truncf")
def _float_cast(op: Any) -> Function:
    return _result_type(op).round


@function("arith.sitofp")
def _sitofp(op: Any) -> Function:
    type_ = _result_type(op)
    return lambda a: type_.round(_signed(a) if type_.dtype.itemsize > 2 else _wide(_signed(a)))


@function("arith.uitofp")
def _uitofp(op: Any) -> Function:
    type_ = _result_type(op)
    return lambda a: type_.round(signless(a) if type_.dtype.itemsize > 2 else _wide(signless(a)))


def _wide(value: Any) -> Any:
    return value.astype(np.float64)


@function("arith.fptosi", "arith.fptoui")
def _fptoi(op: Any) -> Function:
    dtype = _result_type(op).dtype
    if dtype.kind == "b":
        return lambda a: np.trunc(a) != 0
    target = dtype.name if op.operation.name == "arith.fptosi" else f"u{dtype.name}"
    return lambda a: saturate(np.trunc(_wide(a)), target)[()].view(dtype)


@function("arith.bitcast")
def _bitcast(op: Any) -> Function:
    dtype = _result_type(op).dtype
    return lambda a: a.view(dtype)


# ------------------------------------------------------------------------------
# math
# ------------------------------------------------------------------------------


def _round_half_away(a: Any) -> Any:
    whole = np.trunc(a)
    return whole + np.copysign(np.abs(a - whole) >= 0.5, a)


_MATH: dict[str, Function] = {
    "absf": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "clampf": lambda a, low, high: minimum(maximum(a, low), high),
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "fma": lambda a, b, c: a * b + c,
    "fpowi": np.power,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "powf": np.power,
    "round": _round_half_away,
    "roundeven": np.rint,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}


def _elementary(apply: Function) -> Callable[[Any], Function]:
    def make(op: Any) -> Function:
        type_ = _result_type(op)
        return lambda *args: type_.round(np.asarray(apply(*map(_wide, args))))[()]

    return make


for _name, _apply in _MATH.items():
    function(f"math.{_name}")(_elementary(_apply))
for _name, _apply in {
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "absi": np.abs,
    "ipowi": np.power,
}.items():
    function(f"math.{_name}")(_as_it_is(_apply))


def _counted(count: Callable[[int, int], int]) -> Callable[[Any], Function]:
    """Return a function that counts bits, of a number and its width."""

    def make(op: Any) -> Function:
        dtype = _result_type(op).dtype
        bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize
        apply = np.vectorize(lambda number: count(int(number), bits), otypes=[dtype])
        return lambda a: apply(signless(a))[()]

    return make


function("math.ctpop")(_counted(lambda number, bits: number.bit_count()))
function("math.ctlz")(_counted(lambda number, bits: bits - number.bit_length()))
function("math.cttz")(
    _counted(lambda number, bits: (number & -number).bit_length() - 1 if number else bits)
)
