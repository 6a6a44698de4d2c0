# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs of relax-mlir: files of them, the machine that runs them, memory, threads.

The package needs tvm-ffi and NumPy, no compiler. `load` opens what `relax_mlir` saved or exported;
`docs/Deployment.md` is the guide, `docs/dev/vm.md` describes the machine, its text assembly and its
builtins.

Examples
--------
>>> import relax_runtime
>>> ex = relax_runtime.Executable.assemble("function main(x) { ret %0 }")
>>> relax_runtime.VirtualMachine(ex)["main"](3)
3
"""

# _dependencies comes first: it checks what the other modules import, and imports tvm_ffi.
from . import _dependencies as _dependencies
from . import packed as packed
from ._ffi import LIBRARY
from ._version import __version__ as __version__
from .artefact import Section, load, sections
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
from .virtual_machine import CudaGraphs, Replace, VirtualMachine, VMInstrumentReturnKind

__all__ = [
    "ADT",
    "LIBRARY",
    "BenchmarkResult",
    "CudaGraphs",
    "Executable",
    "FunctionInfo",
    "MemoryStats",
    "ProfileEvent",
    "ProfileReport",
    "ProfileRow",
    "Replace",
    "Section",
    "Tensor",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "cpu",
    "get_num_threads",
    "has_device",
    "load",
    "memory_stats",
    "recursion_limit",
    "release_memory",
    "reset_peak_memory",
    "sections",
    "set_memory_limit",
    "set_num_threads",
    "set_recursion_limit",
    "synchronize",
    "tensor",
]
