# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Discrete Fourier transforms, of the last dimension.

Known lengths whose prime factors are small take kernels (`fast_fourier`). Another short transform
is one product with a matrix. A longer one, of a length with divisors, is made of shorter ones
(Cooley and Tukey 1965): those of the columns of a matrix with the elements, and then those of its
rows. A length that is known when the program runs only takes one product, with a matrix that is
computed then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim
from . import fast_fourier
from .complex_numbers import Complex, conjugate, multiply, product
from .fast_fourier import is_fast
from .tensors import cast, facts, rank_of, shape_of, size_tensor, transposed

_SHORT = 128
"""Up to this length, one product is as fast as two of shorter transforms."""

_LONGEST = 4096
"""The largest prime factor of a known length: the matrix has its square of elements."""

Size: TypeAlias = int | Dim
Signal: TypeAlias = Complex | ir.Value


def transform(x: Signal, columns: Size | None = None) -> Complex:
    """Return the transform of signals, complex or real: sums over `x * exp(-2 pi i j k / n)`.

    Parameters
    ----------
    x : Complex or mlir.ir.Value
        Of float32 or float64.
    columns : int or Dim, optional
        How many frequencies are wanted, from 0: by default all.

    Raises
    ------
    NotImplementedError
        If the length has a prime factor above 4096.
    """
    *outer, length = shape_of(x.real if isinstance(x, Complex) else x)
    columns = length if columns is None else columns
    if is_fast(length) and isinstance(columns, int):
        return fast_fourier.transform(x).map(lambda part: _first(part, columns))
    inner = _divisor(length)
    if inner is None or not isinstance(length, int) or not isinstance(columns, int):
        return _direct(x, length, columns)
    # Element `b i + j` is in row i and column j, frequency `k + a l` comes from row k of the first
    # transform and column l of the second.
    rows, columns_of_row = inner, length // inner
    by_column = each(x, lambda part: transposed(op.reshape(part, [*outer, rows, columns_of_row])))
    first = transform(by_column)
    turned = multiply(first, _turns(columns_of_row, rows, length, first.dtype))
    wanted = -(-columns // rows)
    second = transform(turned.map(transposed), wanted)
    flat = second.map(lambda part: op.reshape(transposed(part), [*outer, wanted * rows]))
    if wanted * rows == columns:
        return flat
    return flat.map(lambda part: _first(part, columns))


def inverse(x: Complex) -> Complex:
    """Return the sums over `x * exp(2 pi i j k / n)`: the signals, times their length."""
    swapped = transform(Complex(x.imag, x.real))
    return Complex(swapped.imag, swapped.real)


def half(x: ir.Value) -> Complex:
    """Return the frequencies from 0 to `n // 2` of real signals; the others are conjugates."""
    length = shape_of(x)[-1]
    if fast_fourier.has_half(length):
        return fast_fourier.half(x)
    return transform(x, length // 2 + 1)


def inverse_half(x: Complex, length: Size) -> ir.Value:
    """Return real signals, times their length, of the frequencies from 0 to `length // 2`."""
    wanted = length // 2 + 1
    x = x.map(lambda part: _first(part, wanted))
    if fast_fourier.has_half(length):
        return fast_fourier.inverse_half(x, length)
    others = x.map(lambda part: _mirrored(part, length))
    whole = Complex(
        op.concat([x.real, others.real], -1), op.concat([x.imag, op.negative(others.imag)], -1)
    )
    return transform(conjugate(whole)).real


def along(x: Signal, axis: int, apply: Callable[[Any], Any]) -> Any:
    """Return what a transform of the last dimension makes of another one.

    Parameters
    ----------
    x : Complex or mlir.ir.Value
    axis : int
        Counted from the begin.
    apply : callable
        One of the functions of this module.
    """
    order = [*range(rank_of(x.real if isinstance(x, Complex) else x))]
    if axis == order[-1]:
        return apply(x)
    order[axis], order[-1] = order[-1], order[axis]
    return each(
        apply(each(x, lambda part: op.permute_dims(part, order))),
        lambda part: op.permute_dims(part, order),
    )


def resized(x: Signal, length: Size) -> Signal:
    """Return signals whose last dimension is cut to a length, or filled up with zeros."""
    return each(x, lambda part: _resized(part, length))


def _resized(part: ir.Value, length: Size) -> ir.Value:
    *outer, extent = shape_of(part)
    if extent == length:
        return part
    if isinstance(extent, int) and isinstance(length, int) and extent < length:
        zeros = op.zeros([*outer, length - extent], part.type.dtype)
        return op.concat([part, zeros], len(outer))
    if Dim(length).prove_less_equal(extent, facts(length, extent)):
        return _first(part, length)
    raise NotImplementedError(
        f"expected a signal whose length {extent} is known to be at least {length}"
    )


def _mirrored(part: ir.Value, length: Size) -> ir.Value:
    """Return the frequencies between the ends, from high to low."""
    last = rank_of(part) - 1
    count = length - (length // 2 + 1)
    inner = op.strided_slice(part, [last], [1], [count + 1], [1], assume_inbound=True)
    return op.flip(inner, last)


def each(x: Signal, function: Callable[[ir.Value], ir.Value]) -> Signal:
    """Return what a function makes of the parts of signals, of one part if they are real."""
    return x.map(function) if isinstance(x, Complex) else function(x)


def _first(part: ir.Value, count: Size) -> ir.Value:
    dims = shape_of(part)
    if dims[-1] == count:
        return part
    return op.strided_slice(part, [len(dims) - 1], [0], [count], [1], assume_inbound=True)


def _divisor(length: Size) -> int | None:
    """Return the length of the first transforms of two, or None for a single product."""
    if not isinstance(length, int) or length <= _SHORT:
        return None
    divisors = (one for one in range(2, math.isqrt(length) + 1) if length % one == 0)
    return max((one for one in divisors if one <= _SHORT or is_fast(one)), default=None)


def _direct(x: Signal, rows: Size, columns: Size) -> Complex:
    """Multiply the last dimension by a matrix."""
    if isinstance(rows, int) and rows > _LONGEST:
        raise NotImplementedError(
            f"expected a transform whose length has prime factors up to {_LONGEST}, but got {rows}"
        )
    dtype = x.dtype if isinstance(x, Complex) else x.type.dtype
    factors = _turns(rows, columns, rows, dtype)
    if isinstance(x, Complex):
        return product(x, factors, op.matmul)
    return factors.map(lambda part: op.matmul(x, part))


def _turns(rows: Size, columns: Size, length: Size, dtype: str) -> Complex:
    """Return `exp(-2 pi i r c / length)` for each row and column."""
    if isinstance(rows, int) and isinstance(columns, int) and isinstance(length, int):
        cosine, sine = turns(rows, columns, length)
        return Complex(const(cosine, dtype), const(0 - sine, dtype))
    places = op.multiply(
        op.expand_dims(op.arange(0, rows, 1, "int64"), 1), op.arange(0, columns, 1, "int64")
    )
    count = size_tensor(length)
    step = op.divide(const(-2 * np.pi, dtype), cast(count, dtype))
    angles = op.multiply(cast(op.floor_mod(places, count), dtype), step)
    return Complex(op.cos(angles), op.sin(angles))


def turns(rows: int, columns: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of all products of a row and a column, of a turn of a length."""
    places = np.outer(np.arange(rows), np.arange(columns)) % length
    angles = places * (2 * np.pi / length)
    # Those of quarters of a turn are exact: what is real by symmetry has no imaginary part then.
    quarters = np.where(places * 4 % length == 0, places * 4 // length, -1)
    cosine = np.select([quarters == 0, quarters == 2, quarters > 0], [1, -1, 0], np.cos(angles))
    sine = np.select([quarters == 1, quarters == 3, quarters >= 0], [1, -1, 0], np.sin(angles))
    return cosine, sine
