# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Discrete Fourier transforms as products with matrices: their lengths and factors."""

from __future__ import annotations

from typing import Any

import numpy as np

LONGEST = 4096
"""The largest length: the matrix has its square of elements, or four times as many."""


def known_length(value: Any, what: str = "a length") -> int:
    """Return a length that is known at import.

    Raises
    ------
    NotImplementedError
        If it is not, or is above `LONGEST`.
    """
    if not isinstance(value, int) or not 0 < value <= LONGEST:
        raise NotImplementedError(
            f"expected {what} from 1 to {LONGEST} that is known at import, but got {value}"
        )
    return value


def turns(rows: int, columns: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of all products of a row and a column, of a turn of a length."""
    angles = np.outer(np.arange(rows), np.arange(columns)) % length * (2 * np.pi / length)
    return np.cos(angles), np.sin(angles)
