# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that the workers of a session share, and which of them a thread is."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import tvm_ffi

from .._ffi import runtime_function

_bytes = runtime_function("disco_bytes")
_communicator = runtime_function("disco_communicator")
_bind = runtime_function("disco_bind")
_unbind = runtime_function("disco_unbind")
_set_thread_share = runtime_function("set_thread_share")

begin = runtime_function("disco_begin")
end = runtime_function("disco_end")
interrupt = runtime_function("disco_interrupt")
mark_dead = runtime_function("disco_mark_dead")


@tvm_ffi.register_object("relax_mlir.Communicator")
class Communicator(tvm_ffi.Object):
    """The block of memory in the runtime."""


def make_file(num_workers: int) -> int:
    """Return the descriptor of a file without a name that holds the block of so many workers."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("relax_mlir.disco")
    else:
        with tempfile.TemporaryFile() as made:
            file = os.dup(made.fileno())
    os.ftruncate(file, int(_bytes(num_workers)))
    return file


def make(num_workers: int, num_groups: int, timeout: float, file: int = -1) -> Any:
    """Return a new communicator, in memory of this process or in a file.

    Raises
    ------
    OSError
        If there is no memory for it.
    ValueError
        If groups of the same size cannot be made.
    """
    return _communicator(num_workers, num_groups, file, timeout, True)


def attach(num_workers: int, num_groups: int, file: int) -> Any:
    """Return the communicator that another process has made in a file."""
    return _communicator(num_workers, num_groups, file, 0.0, False)


def become_worker(communicator: Any, worker: int, num_threads: int) -> None:
    """Make this thread a worker whose kernels run on so many threads."""
    _bind(communicator, worker)
    _set_thread_share(num_threads)


def leave() -> None:
    """Make this thread a worker no more."""
    _set_thread_share(0)
    _unbind()
