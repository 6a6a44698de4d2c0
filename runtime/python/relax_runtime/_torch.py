# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tvm-ffi without PyTorch, until the program itself imports PyTorch.

tvm_ffi imports torch wherever that is installed, to know its types: seconds, and hundreds of
megabytes, for programs that have no use for it. Here, tvm_ffi finds a stand-in in its place, whose
data types are replaced by those of PyTorch once that is imported.
"""

from __future__ import annotations

import gc
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from typing import Any

_NAME = "torch"
_NO_EXTENSION = "TVM_FFI_DISABLE_TORCH_C_DLPACK"  # a variable of tvm-ffi

_callbacks: list[Callable[[Any], None]] = []


class _Name:
    """The name of a data type of PyTorch, a key of tvm-ffi's table of them."""

    def __init__(self, name: str) -> None:
        self.name = name


class _StandIn(types.ModuleType):
    """Has names of data types while tvm_ffi is imported, later everything that PyTorch has."""

    def __init__(self) -> None:
        super().__init__(_NAME)
        self.is_importing = True
        self.names: list[_Name] = []

    def __getattr__(self, name: str) -> Any:
        if not self.is_importing:
            return getattr(importlib.import_module(_NAME), name)
        if name in ("Tensor", "dtype"):
            return ()  # of which nothing is an instance
        self.names.append(_Name(name))
        return self.names[-1]


class _Finder:
    """Finds PyTorch as the other finders do, and runs the callbacks when it was imported."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _NAME:
            return None
        others = [each for each in sys.meta_path if each is not self and hasattr(each, "find_spec")]
        specs = (each.find_spec(name, path, target) for each in others)
        spec = next((each for each in specs if each is not None), None)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _run_callbacks(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def when_imported(callback: Callable[[Any], None]) -> None:
    """Call a function with PyTorch, at once if it was imported, else when it is."""
    torch = sys.modules.get(_NAME)
    if torch is not None and hasattr(torch, "Tensor"):
        callback(torch)
        return
    _callbacks.append(callback)
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _run_callbacks(torch: types.ModuleType) -> None:
    while _callbacks:
        _callbacks.pop(0)(torch)


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec(_NAME) is not None
    except (ImportError, ValueError):  # ValueError: a module made by hand, without a spec
        return False


def import_tvm_ffi() -> None:
    """Import tvm_ffi, without PyTorch if nobody imported that."""
    if "tvm_ffi" in sys.modules or _NAME in sys.modules or not _is_installed():
        importlib.import_module("tvm_ffi")
        return
    stand_in = _StandIn()
    wanted = os.environ.get(_NO_EXTENSION)
    sys.modules[_NAME] = stand_in
    os.environ[_NO_EXTENSION] = "1"
    try:
        tvm_ffi: Any = importlib.import_module("tvm_ffi")
    finally:
        del sys.modules[_NAME]
        if wanted is None:
            del os.environ[_NO_EXTENSION]
        else:
            os.environ[_NO_EXTENSION] = wanted
        stand_in.is_importing = False
    # A variable of C holds the table of data types.
    holders = gc.get_referrers(*stand_in.names) if stand_in.names else []
    tables = [each for each in holders if isinstance(each, dict)]
    tvm_ffi.core.torch = tvm_ffi._convert.torch = None

    def introduce(torch: Any) -> None:
        tvm_ffi.core.torch = tvm_ffi._convert.torch = torch
        for table in tables:
            for name in list(table):
                data_type = table.pop(name)
                if hasattr(torch, name.name):
                    table[getattr(torch, name.name)] = data_type
        if wanted in (None, "0"):
            extension = tvm_ffi._optional_torch_c_dlpack
            extension._LIB = extension.load_torch_c_dlpack_extension()
            extension.patch_torch_cuda_stream_protocol()

    when_imported(introduce)
