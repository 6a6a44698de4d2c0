# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of complex numbers, as two tensors: Relax has no data type for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mlir import ir

from .. import op
from .arithmetic import hypot, is_negative
from .tensors import number, shape_of


@dataclasses.dataclass(frozen=True)
class Complex:
    """A tensor of complex numbers.

    Parameters
    ----------
    real, imag : mlir.ir.Value
        Tensors of floats, of the same shape and data type.
    """

    real: ir.Value
    imag: ir.Value

    @property
    def dtype(self) -> str:
        """The data type of the parts."""
        return str(self.real.type.dtype)

    def map(self, function: Callable[[ir.Value], ir.Value]) -> Complex:
        """Return what a function makes of each part."""
        return Complex(function(self.real), function(self.imag))


def of_real(x: ir.Value) -> Complex:
    """Return a tensor of floats as complex numbers."""
    return Complex(x, op.zeros_like(x))


def of_number(value: complex, dtype: str) -> Complex:
    """Return a number as a tensor of rank 0, with parts of a data type."""
    return Complex(number(value.real, dtype), number(value.imag, dtype))


def of_pairs(pairs: ir.Value) -> Complex:
    """Return numbers whose parts are the two elements of the last dimension."""
    last = len(shape_of(pairs)) - 1

    def part(index: int) -> ir.Value:
        one = op.strided_slice(pairs, [last], [index], [index + 1], [1], assume_inbound=True)
        return op.squeeze(one, [last])

    return Complex(part(0), part(1))


def pairs_of(x: Complex) -> ir.Value:
    """Return a tensor of floats with one more dimension, which has the parts."""
    # As a choice of elements, which becomes part of the kernel that computes them.
    axis = len(shape_of(x.real))
    is_real = op.equal(op.arange(0, 2, 1, "int64"), number(0, "int64"))
    return op.where(is_real, op.expand_dims(x.real, axis), op.expand_dims(x.imag, axis))


def of_polar(absolute: ir.Value, angle: ir.Value) -> Complex:
    """Return the numbers with some absolute values and angles."""
    return Complex(op.multiply(absolute, op.cos(angle)), op.multiply(absolute, op.sin(angle)))


def conjugate(x: Complex) -> Complex:
    """Return the conjugates of numbers."""
    return Complex(x.real, op.negative(x.imag))


def add(x: Complex, y: Complex | ir.Value) -> Complex:
    """Return sums; the other numbers may be real."""
    if isinstance(y, Complex):
        return Complex(op.add(x.real, y.real), op.add(x.imag, y.imag))
    real = op.add(x.real, y)
    return Complex(real, _like(x.imag, real))


def _like(imag: ir.Value, real: ir.Value) -> ir.Value:
    """Return an imaginary part in the shape of the real one, which may be broadcast."""
    if imag.type.shape == real.type.shape:
        return imag
    return op.broadcast_to(imag, real.type.shape)


def multiply(x: Complex, y: Complex | ir.Value) -> Complex:
    """Return products; the other factors may be real."""
    return product(x, y, op.multiply)


def product(
    x: Complex, y: Complex | ir.Value, times: Callable[[ir.Value, ir.Value], ir.Value]
) -> Complex:
    """Return what a bilinear operator makes of complex numbers, and of these or real ones."""
    if not isinstance(y, Complex):
        return Complex(times(x.real, y), times(x.imag, y))
    return Complex(
        op.subtract(times(x.real, y.real), times(x.imag, y.imag)),
        op.add(times(x.real, y.imag), times(x.imag, y.real)),
    )


def divide(x: Complex, y: Complex | ir.Value) -> Complex:
    """Return quotients; the divisors may be real. The square of a divisor may overflow."""
    if not isinstance(y, Complex):
        return x.map(lambda part: op.divide(part, y))
    scale = op.maximum(op.abs(y.real), op.abs(y.imag))
    y = y.map(lambda part: op.divide(part, scale))
    square = op.add(op.multiply(y.real, y.real), op.multiply(y.imag, y.imag))
    over = op.multiply(square, scale)
    return multiply(x, conjugate(y)).map(lambda part: op.divide(part, over))


def absolute(x: Complex) -> ir.Value:
    """Return absolute values, also of numbers whose squares overflow or underflow."""
    return hypot(x.real, x.imag)


def angle(x: Complex) -> ir.Value:
    """Return angles, from -pi to pi."""
    return op.atan2(x.imag, x.real)


def exp(x: Complex) -> Complex:
    """Return e to the power of numbers."""
    return of_polar(op.exp(x.real), x.imag)


def log(x: Complex) -> Complex:
    """Return natural logarithms."""
    return Complex(op.log(absolute(x)), angle(x))


def sqrt(x: Complex) -> Complex:
    """Return the square roots whose real part is not negative."""
    half = number(0.5, x.dtype)
    root = op.sqrt(op.multiply(half, op.add(absolute(x), op.abs(x.real))))
    is_zero = op.equal(root, number(0, x.dtype))
    other = op.where(is_zero, x.imag, op.divide(op.multiply(half, x.imag), root))
    is_right = op.greater_equal(x.real, number(0, x.dtype))
    signed = op.where(is_negative(x.imag), op.negative(root), root)
    return Complex(op.where(is_right, root, op.abs(other)), op.where(is_right, other, signed))


def sinh(x: Complex) -> Complex:
    """Return hyperbolic sines."""
    return Complex(
        op.multiply(op.sinh(x.real), op.cos(x.imag)), op.multiply(op.cosh(x.real), op.sin(x.imag))
    )


def cosh(x: Complex) -> Complex:
    """Return hyperbolic cosines."""
    return Complex(
        op.multiply(op.cosh(x.real), op.cos(x.imag)), op.multiply(op.sinh(x.real), op.sin(x.imag))
    )


def tanh(x: Complex) -> Complex:
    """Return hyperbolic tangents: of large numbers the sign of the real part."""
    # The quotient of sinh and cosh, both divided by the square of the latter's real part.
    tangent, wave = op.tanh(x.real), op.tan(x.imag)
    square = op.multiply(wave, wave)
    over = op.add(number(1, x.dtype), op.multiply(op.multiply(tangent, tangent), square))
    real = op.divide(op.multiply(tangent, op.add(number(1, x.dtype), square)), over)
    rest = op.subtract(number(1, x.dtype), op.multiply(tangent, tangent))
    return Complex(real, op.divide(op.multiply(wave, rest), over))


def _turned(function: Callable[[Complex], Complex], x: Complex) -> Complex:
    """Return what a function makes of numbers times i."""
    return function(Complex(op.negative(x.imag), x.real))


def sin(x: Complex) -> Complex:
    """Return sines."""
    turned = _turned(sinh, x)
    return Complex(turned.imag, op.negative(turned.real))


def cos(x: Complex) -> Complex:
    """Return cosines."""
    return _turned(cosh, x)


def tan(x: Complex) -> Complex:
    """Return tangents."""
    turned = _turned(tanh, x)
    return Complex(turned.imag, op.negative(turned.real))


def power(x: Complex, exponent: int) -> Complex:
    """Return a power with an exponent from 1, by repeated squares."""
    result = x if exponent % 2 else None
    while exponent := exponent // 2:
        x = multiply(x, x)
        if exponent % 2:
            result = x if result is None else multiply(result, x)
    assert result is not None
    return result
