# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The threads that run the parallel loops of kernels.

The process has one pool of them, made when the first kernel needs it and again in the child of a
fork. They look for the next loop for a tenth of a millisecond, then sleep. One loop at a time uses
them: a kernel that another thread calls meanwhile, or that is called inside of such a loop, runs on
the thread that calls it. So programs that call kernels from many threads, one for each request for
instance, never run more threads than they have, and the pool.

Other libraries have pools of their own. While PyTorch or NumPy compute on several threads, and a
program does too, there are more threads than cores: give each its share
(``torch.set_num_threads``), or call kernels from inside of the regions of others after
``set_num_threads(1)``.

A library exported with ``self_contained=True`` has a pool of its own, which only
``RELAX_MLIR_NUM_THREADS`` sets.
"""

from __future__ import annotations

from ._ffi import runtime_function
from .bounds import between

__all__ = ["get_num_threads", "set_num_threads"]

_get_num_threads = runtime_function("get_num_threads")
_set_num_threads = runtime_function("set_num_threads")

# As the runtime has it.
_MOST = 512


def get_num_threads() -> int:
    """Return the number of threads of a parallel loop, including the one that calls the kernel.

    Returns
    -------
    int
        As `set_num_threads` has set it, or the environment variable ``RELAX_MLIR_NUM_THREADS`` when
        the process first looked, or else the processor cores on which the process may run.

    Examples
    --------
    >>> get_num_threads() >= 1
    True
    """
    return int(_get_num_threads())


def set_num_threads(count: int | None) -> None:
    """Set how many threads run a parallel loop, that which calls the kernel included.

    A kernel computes the same with the same number of threads, whatever else runs; with another
    number, sums that it computes in parts may be rounded differently.

    Parameters
    ----------
    count : int | None
        From 1, with which kernels run on the thread that calls them, to 512. With None, what
        `get_num_threads` gives at the start.

    Raises
    ------
    TypeError
        If it is neither an int nor None; True is none.
    ValueError
        If it is below 1 or above 512.

    Examples
    --------
    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    >>> set_num_threads(None)
    """
    number = 0 if count is None else between("count", count, 1, _MOST, optional=True)
    _set_num_threads(number)
