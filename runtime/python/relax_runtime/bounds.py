# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that are within bounds."""

from __future__ import annotations

import operator
from typing import Any

#: The largest number of 64 bits.
INT64 = 2**63 - 1


def between(what: str, value: Any, least: int, most: int, optional: bool = False) -> int:
    """Return an integer that is within bounds.

    Parameters
    ----------
    what : str
        What it is, for the message.
    value : int
    least, most : int
    optional : bool
        Whether None is taken besides, for the message.

    Raises
    ------
    TypeError
        If it is no integer, or a bool.
    ValueError
        If it is below or above the bounds.

    Examples
    --------
    >>> between("count", 2, 1, 512)
    2
    >>> between("count", 513, 1, 512, optional=True)
    Traceback (most recent call last):
    ...
    ValueError: expected count to be between 1 and 512, or None, but got 513
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        but = " or None" if optional else ""
        raise TypeError(f"expected {what} to be an int{but}, but got {value!r}") from None
    if not least <= number <= most:
        text = str(number) if abs(number) < 10**30 else "one of many digits"
        but = ", or None" if optional else ""
        raise ValueError(f"expected {what} to be between {least} and {most}{but}, but got {text}")
    return number
