# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of compiled programs: bytecode, the virtual machine, memory, threads.

`docs/dev/vm.md` describes the machine, its text assembly and its builtins.
"""

from .devices import cpu, has_device, tensor
from .executable import ADT, Executable, FunctionInfo
from .memory import (
    MemoryStats,
    memory_stats,
    release_memory,
    reset_peak_memory,
    set_memory_limit,
    synchronize,
)
from .profile_report import ProfileEvent, ProfileReport, ProfileRow
from .recursion import recursion_limit, set_recursion_limit
from .tensor import Tensor
from .threads import get_num_threads, set_num_threads
from .time_evaluator import BenchmarkResult
from .virtual_machine import Replace, VirtualMachine, VMInstrumentReturnKind

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
