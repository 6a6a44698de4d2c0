# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers in text of Relay: their data types, and whether these hold them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_NUMBER = re.compile(r"(-?)(.*?)(?:([fiu])(\d*))?", re.DOTALL)
_NAMES = {"f": "float", "i": "int", "u": "uint"}
_WIDTHS = {"f": (16, 32, 64), "i": (8, 16, 32, 64), "u": (8, 16, 32, 64)}


def scalar(text: str) -> np.ndarray[Any, Any]:
    """Return what a number says as an array of rank 0.

    Parameters
    ----------
    text : str
        Such as ``1`` (int32, or int64 if it needs to be), ``1i64``, ``2u8``, ``1.5f`` (float32),
        ``1.5f64``, ``1.5`` (float32), ``-inff``.

    Raises
    ------
    ValueError
        If there is no such data type, or it does not hold the number.

    Examples
    --------
    >>> scalar("-42i16").dtype.name, scalar("2147483648").dtype.name, float(scalar("3f16"))
    ('int16', 'int64', 3.0)
    """
    sign, digits, kind, width = split(text)
    if kind is None:
        kind, width = _default(digits)
    bits = int(width or 32)
    if bits not in _WIDTHS[kind]:
        widths = ", ".join(f"{kind}{each}" for each in _WIDTHS[kind])
        raise ValueError(f"expected a number with one of the suffixes {widths}, but got {text}")
    dtype = f"{_NAMES[kind]}{bits}"
    return _float(sign + digits, dtype) if kind == "f" else _integer(sign + digits, dtype)


def boolean(value: bool) -> np.ndarray[Any, Any]:
    """Return a bool as an array of rank 0."""
    return np.array(value, "bool")


def number(text: str) -> int | float:
    """Return a number as it is, whatever its data type, as attributes have it.

    Raises
    ------
    ValueError
        If it has an integer's suffix and is none.
    """
    sign, digits, kind, _ = split(text)
    if kind in ("i", "u") or (kind is None and digits.isdecimal()):
        return _whole(sign + digits)
    return float(sign + digits)


def split(text: str) -> tuple[str, str, str | None, str | None]:
    """Return sign, digits, and letter and width of the suffix of a number."""
    match = _NUMBER.fullmatch(text)
    assert match, text
    return match[1], match[2], match[3], match[4]


def _default(digits: str) -> tuple[str, str]:
    if not digits.isdecimal():
        return "f", "32"
    return "i", "32" if int(digits) <= np.iinfo("int32").max else "64"


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ValueError(f"expected an integer before its suffix, but got {digits}") from None


def _integer(digits: str, dtype: str) -> np.ndarray[Any, Any]:
    value, limits = _whole(digits), np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise ValueError(f"expected a number that {dtype} holds, but got {value}")
    return np.array(value, dtype)


def _float(digits: str, dtype: str) -> np.ndarray[Any, Any]:
    value, limit = float(digits), float(np.finfo(dtype).max)
    if np.isinf(value) != ("inf" in digits) or (np.isfinite(value) and abs(value) > limit):
        raise ValueError(f"expected a number that {dtype} holds, but got {digits}")
    return np.array(value, dtype)
