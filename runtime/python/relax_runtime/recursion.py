# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The limit of recursion."""

from __future__ import annotations

from ._ffi import runtime_function
from .bounds import INT64, between

_set_limit = runtime_function("set_recursion_limit")

# That of the runtime, which has no way to ask for it.
_limit = 1000


def set_recursion_limit(limit: int) -> int:
    """Set how deep compiled functions may call themselves, in all threads.

    Parameters
    ----------
    limit : int
        At least 1. A call beyond it raises RecursionError.

    Returns
    -------
    int
        The limit until now.
    """
    global _limit
    number = between("limit", limit, 1, INT64)
    old = int(_set_limit(number))
    _limit = number
    return old


def recursion_limit() -> int:
    """Return the limit of recursion of functions, as `set_recursion_limit` set it.

    Examples
    --------
    >>> recursion_limit()
    1000
    """
    return _limit
