# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs a compiled program: executables of bytecode and the virtual machine.

`docs/dev/vm.md` describes the machine, its text assembly and its builtins.
"""

from .executable import ADT, Executable, FunctionInfo
from .profile_report import ProfileEvent, ProfileReport, ProfileRow
from .time_evaluator import BenchmarkResult
from .virtual_machine import Replace, VirtualMachine, VMInstrumentReturnKind

__all__ = [
    "ADT",
    "BenchmarkResult",
    "Executable",
    "FunctionInfo",
    "ProfileEvent",
    "ProfileReport",
    "ProfileRow",
    "Replace",
    "VMInstrumentReturnKind",
    "VirtualMachine",
]
