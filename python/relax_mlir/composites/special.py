# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions, computed in float64: series, and what they tend to for large numbers.

Formulas are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from mlir import ir

from .. import op
from .arithmetic import polynomial
from .tensors import cast, number

_Function = Callable[[ir.Value], ir.Value]

# Recurrences lead to numbers from here on, where asymptotic expansions are exact to the last bits.
_SHIFT = 8

# Of log(erfc(x) exp(x^2) / t) by t = 1 / (1 + x / 2), over 2 t - 1: a least squares fit with
# Chebyshev polynomials, whose error is 1e-13.
_ERFC = (
    -1.3996928776442708e-08, 3.1413620344665446e-08, 8.386938355190947e-08,
    -2.9872774782355225e-07, -5.554368875176832e-08, 1.305968133799813e-06,
    -1.3929944591183305e-06, -2.994945984503913e-06, 8.65198888760678e-06,
    1.671830166505882e-07, -3.0234852723874827e-05, 3.1731668957688903e-05,
    7.141854995830184e-05, -0.00017429860374963552, -9.373957823702871e-05,
    0.0006736778703294303, -0.00014624608489187486, -0.0023458123794016733,
    0.0017589334773601224, 0.008824938548396902, -0.009872689362109494,
    -0.046895610230904286, 0.047343306841817756, 0.6726432239776554, -0.6717940840566918,
)  # fmt: skip
# Of erfc(x) exp(x^2) / t by the same up to 10.1, where erfc is more than 0 in float32: the largest
# relative error is the least, 3e-9.
_SHORT_ERFC = (
    3.444618414505385e-05, -3.504427513689734e-05, -0.00028084166115149856,
    0.00042534174281172454, 0.001516416436061263, -0.003240348771214485, -0.010748271830379963,
    0.018221158534288406, 0.13973543047904968, 0.34358033537864685, 0.5107913613319397,
)  # fmt: skip
# Of sin(pi x) / x by x^2 up to 1/2: the largest relative error is the least, 3e-19.
_SINE = (
    7.694727910685418e-07, -2.190318548305919e-05, 0.00046629968879996004, -0.007370430478768394,
    0.08214588656989333, -0.5992645293187383, 2.550164039877294, -5.167712780049969,
    3.141592653589793,
)  # fmt: skip
# Of lgamma and digamma, over 1 / x^2 (DLMF 5.11.1, 5.11.2).
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
# Of trigamma, over 1 / x^2 (DLMF 5.15.8).
_TRIGAMMA = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)


def _in_float64(function: _Function) -> _Function:
    @functools.wraps(function)
    def compute(x: ir.Value) -> ir.Value:
        return cast(function(cast(x, "float64")), x.type.dtype)

    return compute


def _f64(value: float) -> ir.Value:
    return number(value, "float64")


def _over(value: float, x: ir.Value) -> ir.Value:
    return op.divide(_f64(value), x)


def erfc(x: ir.Value) -> ir.Value:
    """Return 1 - erf(x), to the last bits where that is small."""
    dtype = x.type.dtype
    wide = cast(x, "float64")
    size = op.abs(wide)
    scaled = (_scaled_erfc if dtype == "float64" else _short_scaled_erfc)(size)
    tail = op.multiply(scaled, op.exp(op.negative(op.multiply(size, size))))
    return cast(op.where(op.less(wide, _f64(0)), op.subtract(_f64(2), tail), tail), dtype)


@_in_float64
def erfcx(x: ir.Value) -> ir.Value:
    """Return erfc(x) exp(x^2)."""
    scaled = _scaled_erfc(op.abs(x))
    other = op.subtract(op.multiply(_f64(2), op.exp(op.multiply(x, x))), scaled)
    return op.where(op.less(x, _f64(0)), other, scaled)


def _argument_of_erfc(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    t = _over(1, op.add(_f64(1), op.multiply(x, _f64(0.5))))
    return t, op.subtract(op.multiply(_f64(2), t), _f64(1))


def _scaled_erfc(x: ir.Value) -> ir.Value:
    t, argument = _argument_of_erfc(x)
    return op.multiply(t, op.exp(polynomial(argument, _ERFC)))


def _short_scaled_erfc(x: ir.Value) -> ir.Value:
    """Return 24 bits: of the higher terms, less are enough."""
    t, argument = _argument_of_erfc(x)
    higher = polynomial(cast(argument, "float32"), _SHORT_ERFC[:-2])
    total = cast(higher, "float64")
    for coefficient in _SHORT_ERFC[-2:]:
        total = op.add(op.multiply(total, argument), _f64(coefficient))
    return op.multiply(t, total)


def _shifted(x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """Return arguments of gamma from 8 on, and what they are made of.

    Returns
    -------
    is_negative : mlir.ir.Value
        Whether numbers are reflected.
    y : mlir.ir.Value
        The numbers, or 1 less those that are reflected.
    is_small : mlir.ir.Value
        Whether these are larger by 8 in what follows.
    z : mlir.ir.Value
    """
    is_negative = op.less(x, _f64(0))
    y = op.where(is_negative, op.subtract(_f64(1), x), x)
    is_small = op.less(y, _f64(_SHIFT))
    return is_negative, y, is_small, op.where(is_small, op.add(y, _f64(_SHIFT)), y)


def _sum_of(x: ir.Value, term: _Function) -> ir.Value:
    """Return the sum over `x`, `x + 1` and so on, up to what is added by `_shifted`."""
    terms = [term(op.add(x, _f64(i)) if i else x) for i in range(_SHIFT)]
    return functools.reduce(op.add, terms)


def _to_nearest(x: ir.Value) -> ir.Value:
    """Return how far numbers are from integers."""
    return op.subtract(x, op.round(x))


def _sin_pi(x: ir.Value) -> ir.Value:
    """Return sin(pi x) of numbers up to 1/2."""
    return op.multiply(x, polynomial(op.multiply(x, x), _SINE))


@_in_float64
def lgamma(x: ir.Value) -> ir.Value:
    """Return the logarithm of the absolute value of the gamma function."""
    is_negative, y, is_small, z = _shifted(x)
    inverse = _over(1, z)
    series = op.multiply(inverse, polynomial(op.multiply(inverse, inverse), _STIRLING))
    main = op.subtract(op.multiply(op.subtract(z, _f64(0.5)), op.log(z)), z)
    total = op.add(op.add(main, _f64(0.5 * math.log(2 * math.pi))), series)
    factors = [op.add(y, _f64(i)) if i else y for i in range(_SHIFT)]
    product = op.where(is_small, functools.reduce(op.multiply, factors), _f64(1))
    # One logarithm of what is taken from the sum, and of what that is taken from.
    reflection = _over(math.pi, op.abs(_sin_pi(_to_nearest(x))))
    log = op.log(op.where(is_negative, op.multiply(product, reflection), product))
    total = op.subtract(total, log)
    total = op.where(is_negative, op.negative(total), total)
    return op.where(op.isinf(x), _f64(math.inf), total)


@_in_float64
def digamma(x: ir.Value) -> ir.Value:
    """Return the derivative of the logarithm of the gamma function."""
    is_negative, y, is_small, z = _shifted(x)
    inverse = _over(1, z)
    square = op.multiply(inverse, inverse)
    series = op.multiply(square, polynomial(square, _DIGAMMA))
    total = op.subtract(op.subtract(op.log(z), op.multiply(inverse, _f64(0.5))), series)
    total = op.where(is_small, op.subtract(total, _sum_of(y, lambda one: _over(1, one))), total)
    angle = _to_nearest(x)
    cosine = _sin_pi(op.subtract(_f64(0.5), op.abs(angle)))
    cotangent = op.divide(op.multiply(_f64(math.pi), cosine), _sin_pi(angle))
    reflected = op.subtract(total, cotangent)
    is_pole = op.equal(angle, _f64(0))
    return op.where(is_negative, op.where(is_pole, _f64(math.nan), reflected), total)


@_in_float64
def trigamma(x: ir.Value) -> ir.Value:
    """Return the derivative of digamma."""
    is_negative, y, is_small, z = _shifted(x)
    inverse = _over(1, z)
    square = op.multiply(inverse, inverse)
    series = op.multiply(op.multiply(inverse, square), polynomial(square, _TRIGAMMA))
    total = op.add(op.add(inverse, op.multiply(square, _f64(0.5))), series)
    before = _sum_of(y, lambda one: _over(1, op.multiply(one, one)))
    total = op.where(is_small, op.add(total, before), total)
    sine = _sin_pi(_to_nearest(x))
    reflected = op.subtract(_over(math.pi**2, op.multiply(sine, sine)), total)
    return op.where(is_negative, reflected, total)


# -- modified Bessel functions ------------------------------------------------------------------

# Up to here the power series (DLMF 10.25.2), behind the expansion of large numbers (10.40.1).
_BORDER = 15.0


def _series(order: int) -> list[float]:
    """Return the coefficients over (x / 2)^2, the highest one first."""
    return [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(36, -1, -1)]


def _expansion(order: int) -> list[float]:
    """Return the coefficients over 1 / x, the highest one first."""
    coefficients, term = [1.0], 1.0
    for k in range(1, 21):
        term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k)
        coefficients.append(term)
    return coefficients[::-1]


def _bessel(x: ir.Value, order: int, *, is_scaled: bool) -> ir.Value:
    size = op.abs(x)
    half = op.multiply(size, _f64(0.5))
    small = polynomial(op.multiply(half, half), _series(order))
    if order:
        small = op.multiply(small, half)
    root = op.sqrt(op.multiply(_f64(2 * math.pi), size))
    large = op.divide(polynomial(_over(1, size), _expansion(order)), root)
    if is_scaled:
        small = op.multiply(small, op.exp(op.negative(size)))
    else:  # in two steps, as the exponential overflows before the quotient does
        grown = op.exp(half)
        large = op.multiply(op.multiply(large, grown), grown)
    result = op.where(op.less(size, _f64(_BORDER)), small, large)
    return op.where(op.less(x, _f64(0)), op.negative(result), result) if order else result


@_in_float64
def i0(x: ir.Value) -> ir.Value:
    """Return the modified Bessel function of order 0."""
    return _bessel(x, 0, is_scaled=False)


@_in_float64
def i0e(x: ir.Value) -> ir.Value:
    """Return i0(x) exp(-|x|)."""
    return _bessel(x, 0, is_scaled=True)


@_in_float64
def i1(x: ir.Value) -> ir.Value:
    """Return the modified Bessel function of order 1."""
    return _bessel(x, 1, is_scaled=False)


@_in_float64
def i1e(x: ir.Value) -> ir.Value:
    """Return i1(x) exp(-|x|)."""
    return _bessel(x, 1, is_scaled=True)
