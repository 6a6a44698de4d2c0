# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of ``tvm.relax.vm``, for programs of TVM.

Examples
--------
>>> from relax_mlir import vm
>>> ex = vm.build("module {}", "llvm")
>>> list(vm.VirtualMachine(ex, "cpu"))
[]
"""

from .artefact import Executable
from .driver.build import build
from .runtime import VirtualMachine, VMInstrumentReturnKind

__all__ = ["Executable", "VMInstrumentReturnKind", "VirtualMachine", "build"]
