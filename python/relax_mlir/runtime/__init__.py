# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs a compiled program: executables of bytecode and the virtual machine.

`docs/dev/vm.md` describes the machine, its text assembly and its builtins.
"""

from .executable import ADT, Executable, FunctionInfo
from .virtual_machine import VirtualMachine

__all__ = ["ADT", "Executable", "FunctionInfo", "VirtualMachine"]
