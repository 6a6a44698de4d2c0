# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the runtime library."""

from __future__ import annotations

import ctypes
from pathlib import Path

import tvm_ffi

from . import _exceptions, tensor

LIBRARY = str(Path(__file__).parent / "lib" / "librelax_runtime.so")

# Registers the functions of the runtime; generated code finds the same library.
_library = ctypes.CDLL(LIBRARY)
# tvm-ffi does not know these by itself and would raise RuntimeError instead.
_ERRORS = (
    KeyboardInterrupt,
    MemoryError,
    OSError,
    RecursionError,
    SystemExit,
    TimeoutError,
    ZeroDivisionError,
)
for _error in _ERRORS:
    tvm_ffi.error.register_error(_error.__name__, _error)
_exceptions.install()
tensor.install()


def vm_function(name: str) -> tvm_ffi.Function:
    """Return a function of the virtual machine's library."""
    return tvm_ffi.get_global_func(f"relax_mlir.vm.{name}")


def runtime_function(name: str) -> tvm_ffi.Function:
    """Return a function of the runtime that is no part of the virtual machine."""
    return tvm_ffi.get_global_func(f"relax_mlir.runtime.{name}")


def artefact_function(name: str) -> tvm_ffi.Function:
    """Return a function about files of compiled programs."""
    return tvm_ffi.get_global_func(f"relax_mlir.artefact.{name}")
