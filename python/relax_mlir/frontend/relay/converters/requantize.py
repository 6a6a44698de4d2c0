# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of quantized tensors: scales, zero points, and products with fixed point numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from mlir import ir

from .... import op
from ....composites.arithmetic import round_away
from ....composites.tensors import cast, normal_axis, number
from ....core.expr import const
from ...values import Value, as_tensor, known_array, rank_of, shape_of

ROUNDINGS = ("UPWARD", "TONEAREST")


def saturated(x: ir.Value, dtype: str) -> ir.Value:
    """Return numbers of the range of an integer type as such."""
    info = np.iinfo(dtype)
    return cast(op.clip(x, int(info.min), int(info.max)), dtype)


def scalar(value: Value, what: str) -> Any:
    """Return a scale or a zero point of a whole tensor as a number.

    Raises
    ------
    DataDependentError
        If it is computed from data.
    ValueError
        If there are several.
    """
    array = known_array(value, what)
    if array.size != 1:
        raise ValueError(f"expected one number as {what}, but got {array.size}")
    return array.reshape(-1)[0].item()


def broadcast_along(value: Value, axis: int, rank: int) -> ir.Value:
    """Return a scale or a zero point in a shape that broadcasts with a tensor.

    Parameters
    ----------
    value : Value
        Of one element, or a vector.
    axis : int
        The dimension of the tensor that the vector has.
    rank : int
        Of the tensor.
    """
    tensor = as_tensor(value)
    if rank_of(tensor) == 0:
        return tensor
    if shape_of(tensor) == [1]:
        return op.reshape(tensor, [])
    if rank_of(tensor) != 1:
        raise ValueError(f"expected a number or a vector, but got rank {rank_of(tensor)}")
    place = normal_axis(axis, rank)
    axes = [i for i in range(rank) if i != place]
    return op.expand_dims(tensor, axes) if axes else tensor


def less_zero(x: Value, zero: Value, axis: int, dtype: str = "int32") -> ir.Value:
    """Return the elements of a quantized tensor less its zero point, or those along an axis."""
    wide = cast(as_tensor(x), dtype)
    if isinstance(zero, np.ndarray) and not zero.any():
        return wide
    return op.subtract(wide, cast(broadcast_along(zero, axis, rank_of(wide)), dtype))


# -- fixed point --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class FixedPoint:
    """Factors as integers and powers of 2: ``integer * 2 ** (shift - 31)``.

    Parameters
    ----------
    integers, shifts : numpy.ndarray
        Of int64.
    """

    integers: np.ndarray
    shifts: np.ndarray

    @staticmethod
    def of(factors: np.ndarray) -> FixedPoint:
        """Return factors with 31 bits each."""
        integers, shifts = [], []
        for factor in np.asarray(factors, np.float64).reshape(-1).tolist():
            share, shift = math.frexp(factor)
            integer = math.floor(abs(share) * 2**31 + 0.5) * (1 if share >= 0 else -1)
            if abs(integer) == 2**31:
                integer, shift = integer // 2, shift + 1
            integers.append(integer)
            shifts.append(shift if factor else 0)
        shape = np.shape(factors)
        return FixedPoint(
            np.array(integers, "int64").reshape(shape), np.array(shifts, "int64").reshape(shape)
        )

    def times(self, x: ir.Value, rounding: str) -> ir.Value:
        """Return the product with a tensor of int32, rounded, as int32.

        Parameters
        ----------
        x : mlir.ir.Value
        rounding : str
            ``UPWARD``: halves towards positive numbers; ``TONEAREST``: away from zero.
        """
        left, right = np.maximum(self.shifts, 0), np.maximum(-self.shifts, 0) + 31
        wide = cast(x, "int64")
        if left.any():
            wide = op.left_shift(wide, const(left))
        wide = op.multiply(wide, const(self.integers))
        half = np.left_shift(np.int64(1), right - 1)
        rounder = const(half)
        if rounding == "TONEAREST":
            is_positive = op.greater_equal(wide, number(0, "int64"))
            rounder = op.where(is_positive, rounder, const(half - 1))
        return cast(op.right_shift(op.add(wide, rounder), const(right)), "int32")


# -- requantization -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Parameters:
    """What the numbers of a quantized tensor stand for: ``scale * (number - zero)``.

    Parameters
    ----------
    scale : Value
        A number, or a vector along `axis`.
    zero : Value
    axis : int
    """

    scale: Value
    zero: Value
    axis: int = -1

    def is_same(self, other: Parameters) -> bool:
        """Say whether both are known, of one element, and equal."""
        arrays = (self.scale, self.zero, other.scale, other.zero)
        if not all(isinstance(one, np.ndarray) and one.size == 1 for one in arrays):
            return False
        return bool(
            self.scale.reshape(()) == other.scale.reshape(())
            and self.zero.reshape(()) == other.zero.reshape(())
        )


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How products are computed and rounded.

    Parameters
    ----------
    rounding : str
        ``UPWARD`` or ``TONEAREST``.
    compute_dtype : str
        ``int64``, for fixed point numbers, or ``float32`` or ``float64``.
    """

    rounding: str = "UPWARD"
    compute_dtype: str = "int64"

    def __post_init__(self) -> None:
        if self.rounding not in ROUNDINGS:
            raise ValueError(f"expected rounding {' or '.join(ROUNDINGS)}, but got {self.rounding}")
        if self.compute_dtype not in ("int64", "float32", "float64"):
            raise ValueError(
                f"expected compute_dtype int64, float32 or float64, but got {self.compute_dtype}"
            )


def _factors(source: Parameters, target: Parameters, rank: int) -> np.ndarray:
    """Return the quotients of scales, in a shape that broadcasts with a tensor."""
    step = np.float64(np.float32(scalar(target.scale, "the scale of the result")))
    if step == 0:
        raise ValueError("expected a scale of the result that is not 0")
    scales = known_array(source.scale, "scales").astype(np.float32).astype(np.float64)
    if scales.size == 1:
        return np.asarray(scales.reshape(()) / step)
    shape = [1] * rank
    shape[normal_axis(source.axis, rank)] = scales.size
    return np.asarray((scales / step).reshape(shape))


def requantized(
    x: Value, source: Parameters, target: Parameters, dtype: str, how: Rounding | None = None
) -> ir.Value:
    """Return a quantized tensor with other parameters.

    Parameters
    ----------
    x : Value
    source : Parameters
        Its own ones.
    target : Parameters
        Those of the result: numbers, not vectors.
    dtype : str
        The data type of the result, into the range of which numbers are saturated.
    how : Rounding, optional

    Raises
    ------
    DataDependentError
        If a scale is computed from data.
    """
    how = how or Rounding()
    tensor = as_tensor(x)
    factors = _factors(source, target, rank_of(tensor))
    if how.compute_dtype != "int64":
        return _by_floats(tensor, source, target, factors, dtype, how)
    numbers = less_zero(tensor, source.zero, source.axis)
    numbers = FixedPoint.of(factors).times(numbers, how.rounding)
    zero = int(scalar(target.zero, "the zero point of the result"))
    if zero:
        numbers = op.add(numbers, number(zero, "int32"))
    return numbers if dtype == "int32" else saturated(numbers, dtype)


def _by_floats(
    x: ir.Value, source: Parameters, target: Parameters, factors: np.ndarray, dtype: str,
    how: Rounding,
) -> ir.Value:  # fmt: skip
    kind = how.compute_dtype
    wide = less_zero(x, source.zero, source.axis, kind)
    wide = op.multiply(wide, const(factors.astype(kind)))
    zero = int(scalar(target.zero, "the zero point of the result"))
    wide = op.add(wide, number(zero, kind)) if zero else wide
    if how.rounding == "UPWARD":
        wide = op.floor(op.add(wide, number(0.5, kind)))
    else:
        wide = round_away(wide)
    numbers = cast(wide, "int32")
    return numbers if dtype == "int32" else saturated(numbers, dtype)


def requantized_unless_same(
    x: Value, source: Parameters, target: Parameters, dtype: str = "int32"
) -> ir.Value:
    """Return a quantized tensor with other parameters, only cast where they are the same."""
    if source.is_same(target):
        return cast(as_tensor(x), dtype)
    return requantized(x, source, target, dtype)


def quantized(x: ir.Value, target: Parameters, dtype: str) -> ir.Value:
    """Return floats as a quantized tensor: the nearest numbers, halves away from zero."""
    rank = rank_of(x)
    rounded = round_away(op.divide(x, broadcast_along(target.scale, target.axis, rank)))
    zero = cast(broadcast_along(target.zero, target.axis, rank), x.type.dtype)
    return saturated(op.add(rounded, zero), dtype)


def dequantized(x: Value, source: Parameters) -> ir.Value:
    """Return what a quantized tensor stands for, as float32."""
    numbers = cast(less_zero(x, source.zero, source.axis), "float32")
    return op.multiply(numbers, broadcast_along(source.scale, source.axis, rank_of(numbers)))
