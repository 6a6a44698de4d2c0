# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of the devices.

Each device has a pool. What a program releases is kept there for the next call, so that a program
that runs again at shapes already seen asks the system for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import tvm_ffi

from ._ffi import runtime_function
from .bounds import INT64, between
from .devices import as_device

__all__ = [
    "MemoryStats",
    "memory_stats",
    "release_memory",
    "reset_peak_memory",
    "set_memory_limit",
    "synchronize",
]

_memory_stats = runtime_function("memory_stats")
_reset_peak_memory = runtime_function("reset_peak_memory")
_release_memory = runtime_function("release_memory")
_set_memory_limit = runtime_function("set_memory_limit")
_synchronize = runtime_function("synchronize")


@dataclass(frozen=True)
class MemoryStats:
    """Counters of the memory pool of a device.

    Bytes are those of whole blocks, which are up to an eighth and 512 bytes larger than what is in
    them. Shapes, tuples, strings and closures are counted on ``cpu:0``.

    Attributes
    ----------
    in_use : int
        The bytes of what is alive.
    cached : int
        The bytes that are kept for later.
    peak : int
        The most bytes that were in use at one time, since the start or `reset_peak_memory`. It may
        miss 256 KiB for each thread but one.
    allocations : int
        How many blocks were handed out.
    system_allocations : int
        How often the system was asked for memory.
    system_releases : int
        How often memory went back to the system.
    """

    in_use: int
    cached: int
    peak: int
    allocations: int
    system_allocations: int
    system_releases: int


def memory_stats(device: str | tvm_ffi.Device = "cpu:0") -> MemoryStats:
    """Return the counters of the memory pool of a device.

    Parameters
    ----------
    device : str | tvm_ffi.Device
        A device, or its name, as in ``"cpu:1"``.

    Returns
    -------
    MemoryStats

    Raises
    ------
    RuntimeError
        Where there is no such device.

    Examples
    --------
    >>> stats = memory_stats("cpu:5")
    >>> stats.in_use, stats.system_allocations
    (0, 0)
    """
    return MemoryStats(*_memory_stats(as_device(device)))


def reset_peak_memory(device: str | tvm_ffi.Device = "cpu:0") -> None:
    """Let the peak of a device start again from what is in use now.

    Parameters
    ----------
    device : str | tvm_ffi.Device
        A device, or its name.

    Examples
    --------
    >>> reset_peak_memory("cpu:5")
    >>> stats = memory_stats("cpu:5")
    >>> stats.peak == stats.in_use
    True
    """
    _reset_peak_memory(as_device(device))


def release_memory(device: str | tvm_ffi.Device = "cpu:0") -> None:
    """Return the cached memory of a device to the system.

    The caches of other threads, 8 MiB each at most, follow when they next release something.

    Parameters
    ----------
    device : str | tvm_ffi.Device
        A device, or its name.

    Examples
    --------
    >>> release_memory("cpu:5")
    >>> memory_stats("cpu:5").cached
    0
    """
    _release_memory(as_device(device))


def set_memory_limit(limit: int | None, device: str | tvm_ffi.Device = "cpu:0") -> None:
    """Bound the memory that a device holds while it keeps some for later.

    Where the next allocation would go beyond the limit, blocks that are kept go back to the system
    first, large ones before small ones. Neither what is in use is bounded, nor what other threads
    keep, 8 MiB each at most.

    Parameters
    ----------
    limit : int | None
        Bytes. With None, as at the start, the limit is twice the most that was ever in use, and 64
        MiB.
    device : str | tvm_ffi.Device
        A device, or its name.

    Examples
    --------
    >>> set_memory_limit(256 << 20, "cpu:5")
    >>> set_memory_limit(None, "cpu:5")
    """
    number = -1 if limit is None else between("limit", limit, 0, INT64, optional=True)
    _set_memory_limit(as_device(device), number)


def synchronize(device: str | tvm_ffi.Device) -> None:
    """Wait for all work on a device.

    Parameters
    ----------
    device : str | tvm_ffi.Device
        A device, or its name.

    Examples
    --------
    >>> synchronize("cpu:0")
    """
    _synchronize(as_device(device))
