# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the packages that relax_mlir depends on, made when it is imported.

A package that is missing or of the wrong version is an ImportError with the command that mends it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re

MLIR_PIP = 'pip install "xtc-mlir-python-bindings==22.1.8.*"'
TVM_FFI_PIP = 'pip install "apache-tvm-ffi>=0.1.14.post0,<0.2"'


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def _check_mlir() -> None:
    if not _has_module("mlir._mlir_libs._mlir"):
        # PyPI's "mlir-python-bindings" is a placeholder without the extension modules.
        raise ImportError(
            f"relax_mlir needs the Python bindings of MLIR 22, which were not found: {MLIR_PIP}",
            name="mlir",
        )
    version = _version("xtc-mlir-python-bindings")
    if version is not None and _numbers(version)[:1] != (22,):
        raise ImportError(
            f"relax_mlir needs the Python bindings of MLIR 22, but got {version}: {MLIR_PIP}",
            name="mlir",
        )


def _check_tvm_ffi() -> None:
    if not _has_module("tvm_ffi"):
        raise ImportError(
            f"relax_mlir needs apache-tvm-ffi, which was not found: {TVM_FFI_PIP}",
            name="tvm_ffi",
        )
    version = _version("apache-tvm-ffi")
    if version is not None and not (0, 1, 14) <= _numbers(version) < (0, 2):
        raise ImportError(
            f"relax_mlir needs apache-tvm-ffi 0.1.14 or newer, below 0.2, but got {version}: "
            f"{TVM_FFI_PIP}",
            name="tvm_ffi",
        )


_check_mlir()
_check_tvm_ffi()
