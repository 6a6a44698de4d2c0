# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors, and the floats that NumPy lacks: rounded, encoded and decoded.

A float of any data type is also a number of ``float64``, but for the payload of a NaN. So the
interpreter computes there, and what makes a data type is one function: `round_float`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of a tensor type (GR04).

    Attributes
    ----------
    data : numpy.ndarray
        The elements. Floats may be of ``float64`` whatever `dtype` says, and those that NumPy lacks
        are of ``float32`` or ``float64``.
    dtype : str
        The name of the data type.

    Examples
    --------
    >>> Tensor(np.array([1.0, 2.0]), "bfloat16").shape
    (2,)
    """

    data: Array
    dtype: str
    # The tensor of tvm-ffi that has the same memory, once there is one.
    handle: list[Any] = field(default_factory=list, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.data.shape


@dataclass(frozen=True)
class FloatFormat:
    """A data type of floats.

    Attributes
    ----------
    bits : int
    fraction : int
        How many bits the fraction has.
    bias : int
        That of the exponent.
    largest : float
        The largest finite number.
    has_infinity : bool
        Where not, what is too large becomes NaN.
    is_unsigned_zero : bool
        Whether there is no -0; its bits are those of NaN.
    """

    bits: int
    fraction: int
    bias: int
    largest: float
    has_infinity: bool = True
    is_unsigned_zero: bool = False


FORMATS = {
    "float16": FloatFormat(16, 10, 15, 65504.0),
    "bfloat16": FloatFormat(16, 7, 127, (2 - 2.0**-7) * 2.0**127),
    "float32": FloatFormat(32, 23, 127, (2 - 2.0**-23) * 2.0**127),
    "float64": FloatFormat(64, 52, 1023, float(np.finfo(np.float64).max)),
    "float8_e3m4": FloatFormat(8, 4, 3, 15.5),
    "float8_e4m3": FloatFormat(8, 3, 7, 240.0),
    "float8_e4m3fn": FloatFormat(8, 3, 7, 448.0, has_infinity=False),
    "float8_e4m3fnuz": FloatFormat(8, 3, 8, 240.0, has_infinity=False, is_unsigned_zero=True),
    "float8_e4m3b11fnuz": FloatFormat(8, 3, 11, 30.0, has_infinity=False, is_unsigned_zero=True),
    "float8_e5m2": FloatFormat(8, 2, 15, 57344.0),
    "float8_e5m2fnuz": FloatFormat(8, 2, 16, 57344.0, has_infinity=False, is_unsigned_zero=True),
    # Powers of two, neither sign nor zero.
    "float8_e8m0fnu": FloatFormat(8, 0, 127, 2.0**127, has_infinity=False),
}
_SCALE = "float8_e8m0fnu"
_INT4 = {"int4": (-8, 7), "uint4": (0, 15)}


def is_float(dtype: str) -> bool:
    """Say whether a data type is one of floats.

    Examples
    --------
    >>> is_float("bfloat16"), is_float("uint8")
    (True, False)
    """
    return "float" in dtype


def storage_dtype(dtype: str) -> str:
    """Return the data type of NumPy that holds the elements of a tensor.

    Examples
    --------
    >>> storage_dtype("bfloat16"), storage_dtype("int4")
    ('float32', 'int8')
    """
    if dtype in _INT4:
        return f"{dtype[:-1]}8"
    return "float32" if dtype == "bfloat16" or dtype.startswith("float8") else dtype


# ------------------------------------------------------------------------------
# Integers
# ------------------------------------------------------------------------------


def limits(dtype: str) -> tuple[int, int]:
    """Return the least and the largest number of a data type of integers.

    Examples
    --------
    >>> limits("uint4"), limits("int8")
    ((0, 15), (-128, 127))
    """
    if dtype in _INT4:
        return _INT4[dtype]
    info = np.iinfo(dtype)
    return info.min, info.max


def wrap(data: Array, dtype: str) -> Array:
    """Convert integers to another data type of integers, modulo their number.

    Examples
    --------
    >>> wrap(np.array([7, 8, -9]), "int4").tolist()
    [7, -8, 7]
    """
    if dtype not in _INT4:
        return data.astype(dtype)
    least = _INT4[dtype][0]
    halves = data.astype(np.uint8) & 15
    return ((halves.astype(np.int16) - least) % 16 + least).astype(storage_dtype(dtype))


# ------------------------------------------------------------------------------
# Rounding
# ------------------------------------------------------------------------------


def unit_in_last_place(data: Any, dtype: str) -> Array:
    """Return the distance of neighbours among the numbers of a data type, at each element.

    Examples
    --------
    >>> unit_in_last_place([1.0, 3.0, 0.0], "bfloat16").tolist()
    [0.0078125, 0.015625, 9.183549615799121e-41]
    """
    form = FORMATS[dtype]
    data, least = np.asarray(data, np.float64), 1 - form.bias
    exponent = np.where(data == 0, least, np.frexp(data)[1] - 1)
    return np.ldexp(1.0, np.maximum(exponent, least) - form.fraction)


def overflow_limit(dtype: str) -> float:
    """Return the first number that rounds to one beyond the largest of a data type.

    Examples
    --------
    >>> overflow_limit("float16")
    65520.0
    """
    largest = FORMATS[dtype].largest
    return largest + float(unit_in_last_place(largest, dtype)) / 2


def round_float(data: Any, dtype: str) -> Array:
    """Round numbers to the nearest ones of a data type, ties to even (GR18).

    Parameters
    ----------
    data : array of float64
    dtype : str
        The name of a data type of floats.

    Returns
    -------
    numpy.ndarray
        Of the data type that holds it, see `storage_dtype`.

    Examples
    --------
    >>> round_float([1.001, 1e39, -0.0], "bfloat16").tolist()
    [1.0, inf, -0.0]
    >>> round_float([449.0, 500.0], "float8_e4m3fn").tolist()
    [448.0, nan]
    """
    data = np.asarray(data, np.float64)
    with np.errstate(all="ignore"):
        if dtype in ("float16", "float32", "float64"):
            return data.astype(dtype)
        return _round(data, dtype).astype(np.float32)


def _round(data: Array, dtype: str) -> Array:
    form = FORMATS[dtype]
    if dtype == _SCALE:
        return _round_scale(data)
    unit = unit_in_last_place(data, dtype)
    rounded = np.where(np.isfinite(data), np.rint(data / unit) * unit, data)
    too_large = np.abs(rounded) > form.largest
    beyond = np.copysign(np.inf, data) if form.has_infinity else np.nan
    rounded = np.where(too_large, beyond, rounded)
    return np.where(rounded == 0, 0.0, rounded) if form.is_unsigned_zero else rounded


def _round_scale(data: Array) -> Array:
    """Return the nearest power of two, of two as near the larger one; NaN where none is near."""
    fraction, exponent = np.frexp(data)
    exponent = exponent - 1 + (fraction >= 0.75)
    power = np.ldexp(1.0, np.maximum(exponent, -127))
    is_number = (data > 0) & np.isfinite(data) & (power <= 2.0**127)
    return np.where(is_number, power, np.nan)


# ------------------------------------------------------------------------------
# Bits
# ------------------------------------------------------------------------------


def decode(bits: Array, dtype: str) -> Array:
    """Return the numbers that bits stand for, of a data type that NumPy lacks.

    Examples
    --------
    >>> decode(np.array([0x3F80], "uint16"), "bfloat16").tolist()
    [1.0]
    """
    if dtype == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return _table(dtype)[bits]


def encode(data: Array, dtype: str) -> Array:
    """Return the bits of numbers that `round_float` returned; the inverse of `decode`.

    Examples
    --------
    >>> encode(round_float([1.0, -2.0], "float8_e5m2"), "float8_e5m2").tolist()
    [60, 192]
    """
    if dtype == "bfloat16":
        bits = (data.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return np.where(np.isnan(data), np.uint16(0x7FC0), bits)
    codes = _codes(dtype)
    flat = [codes[_key(number)] for number in data.ravel().tolist()]
    return np.array(flat, np.uint8).reshape(data.shape)


def _key(number: float) -> str:
    return "nan" if number != number else repr(number)


@functools.cache
def _codes(dtype: str) -> dict[str, int]:
    """Return the codes of numbers by their text, in which -0 is not 0."""
    codes: dict[str, int] = {}
    for code, number in enumerate(_table(dtype).tolist()):
        codes.setdefault(_key(number), code)
    return codes


@functools.cache
def _table(dtype: str) -> Array:
    """Return the numbers of an 8-bit float by their code."""
    return np.array([_number(code, dtype) for code in range(256)], np.float32)


def _number(code: int, dtype: str) -> float:
    form = FORMATS[dtype]
    if dtype == _SCALE:
        return float("nan") if code == 0xFF else 2.0 ** (code - 127)
    if form.is_unsigned_zero and code == 0x80:
        return float("nan")
    sign = -1.0 if code & 0x80 else 1.0
    exponent, fraction = (code & 0x7F) >> form.fraction, code & ((1 << form.fraction) - 1)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - form.bias - form.fraction)
    number = (1 + fraction / (1 << form.fraction)) * 2.0 ** (exponent - form.bias)
    if number <= form.largest:
        return sign * number
    return sign * float("inf") if form.has_infinity and fraction == 0 else float("nan")
