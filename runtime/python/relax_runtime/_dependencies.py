# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check and import of what the runtime depends on, made when it is imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re

from ._torch import import_tvm_ffi

_PIP = 'pip install "apache-tvm-ffi>=0.1.14.post0,<0.2"'


def version_of(distribution: str) -> str | None:
    """Return the version of an installed package, None if it is not installed as one."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the first three numbers of a version."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def has_module(name: str) -> bool:
    """Say whether a module can be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def _check_tvm_ffi() -> None:
    if not has_module("tvm_ffi"):
        raise ImportError(
            f"relax_runtime needs apache-tvm-ffi, which was not found: {_PIP}", name="tvm_ffi"
        )
    version = version_of("apache-tvm-ffi")
    if version is not None and not (0, 1, 14) <= numbers_of(version) < (0, 2):
        raise ImportError(
            f"relax_runtime needs apache-tvm-ffi 0.1.14 or newer, below 0.2, but got {version}: "
            f"{_PIP}",
            name="tvm_ffi",
        )


_check_tvm_ffi()
import_tvm_ffi()
