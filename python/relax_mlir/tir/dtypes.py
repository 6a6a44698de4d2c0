# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data types of scalar expressions, by their names in NumPy and TVM."""

from __future__ import annotations

from typing import Any

import numpy as np
from relax_runtime.small_types import is_int4_name

from ..core.dtypes import dtype_name


def dtype_of(dtype: Any) -> str:
    """Return the name of a data type of scalars; "handle" stands for a pointer."""
    if dtype in ("handle", "void"):
        return str(dtype)
    name = dtype_name(dtype)
    if is_int4_name(name):
        raise ValueError(f"expected a data type of 8 bits or more in a kernel, but got {name}")
    return name


def bits(dtype: str) -> int:
    """Return the number of bits of a data type.

    Examples
    --------
    >>> bits("float16"), bits("bool"), bits("float8_e4m3fn")
    (16, 1, 8)
    """
    if dtype == "bool":
        return 1
    if dtype.startswith("float8"):
        return 8
    digits = "".join(letter for letter in dtype if letter.isdigit())
    return int(digits) if digits else 64


def is_float(dtype: str) -> bool:
    """Say whether a data type is one of floating point numbers."""
    return dtype.startswith(("float", "bfloat"))


def is_int(dtype: str) -> bool:
    """Say whether a data type is one of signed integers."""
    return dtype.startswith("int")


def is_uint(dtype: str) -> bool:
    """Say whether a data type is one of unsigned integers; bool is not."""
    return dtype.startswith("uint")


def is_integer(dtype: str) -> bool:
    """Say whether a data type is one of integers, signed or not."""
    return is_int(dtype) or is_uint(dtype)


def widens(from_dtype: str, to_dtype: str) -> bool:
    """Say whether each integer of a data type is one of another data type, too."""
    if not (is_integer(from_dtype) and is_integer(to_dtype)):
        return False
    if is_int(from_dtype) == is_int(to_dtype):
        return bits(from_dtype) <= bits(to_dtype)
    return is_int(to_dtype) and bits(from_dtype) < bits(to_dtype)


def promote(lhs: str, rhs: str) -> str:
    """Return the data type that an operation on two data types computes with.

    Examples
    --------
    >>> promote("float16", "int64"), promote("int8", "uint8"), promote("uint32", "int64")
    ('float16', 'uint8', 'int64')
    """
    if lhs == rhs:
        return lhs
    if is_float(lhs) != is_float(rhs):
        return lhs if is_float(lhs) else rhs
    if bits(lhs) != bits(rhs):
        return lhs if bits(lhs) > bits(rhs) else rhs
    preferred = "float" if is_float(lhs) else "uint"
    return lhs if lhs.startswith(preferred) else rhs


# Finite limits by the name of the data type, where NumPy does not know it.
_FLOAT_MAX = {
    "bfloat16": 3.3895313892515355e38,
    "float8_e3m4": 15.5,
    "float8_e4m3": 240.0,
    "float8_e4m3b11fnuz": 30.0,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 2.0**127,
}


def limits(dtype: str) -> tuple[int | float, int | float]:
    """Return the least and the greatest finite number of a data type."""
    if dtype == "bool":
        return 0, 1
    if is_float(dtype):
        highest = _FLOAT_MAX.get(dtype)
        highest = float(np.finfo(dtype).max) if highest is None else highest
        return (0.0 if dtype == "float8_e8m0fnu" else -highest), highest
    width = bits(dtype)
    return (0, 2**width - 1) if is_uint(dtype) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
