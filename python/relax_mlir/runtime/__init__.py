# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of compiled programs: the public names of `relax_runtime`.

Programs that only run compiled programs import that package, which needs no compiler. Sessions of
workers are in `relax_mlir.runtime.disco`, which is imported when it is used.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from relax_runtime import (
    ADT,
    BenchmarkResult,
    Executable,
    FunctionInfo,
    MemoryStats,
    ProfileEvent,
    ProfileReport,
    ProfileRow,
    Replace,
    Tensor,
    VirtualMachine,
    VMInstrumentReturnKind,
    cpu,
    get_num_threads,
    has_device,
    memory_stats,
    recursion_limit,
    release_memory,
    reset_peak_memory,
    set_memory_limit,
    set_num_threads,
    set_recursion_limit,
    synchronize,
    tensor,
)

__all__ = [
    "ADT",
    "BenchmarkResult",
    "Executable",
    "FunctionInfo",
    "MemoryStats",
    "ProfileEvent",
    "ProfileReport",
    "ProfileRow",
    "Replace",
    "Tensor",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "cpu",
    "get_num_threads",
    "has_device",
    "memory_stats",
    "recursion_limit",
    "release_memory",
    "reset_peak_memory",
    "set_memory_limit",
    "set_num_threads",
    "set_recursion_limit",
    "synchronize",
    "tensor",
]


def __getattr__(name: str) -> _Any:
    if name == "disco":
        return _import_module(f"{__name__}.disco")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
