# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library cuBLASLt, opened when it is first needed, with the functions that are called."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: The environment variable that names the library.
VARIABLE = "RELAX_CUBLASLT"

# The newest first.
_FILES = ("libcublasLt.so.13", "libcublasLt.so.12")
# Where packages of PyPI have it.
_FOLDERS = ("nvidia/cu13/lib", "nvidia/cublas/lib")

_STATUS = {
    1: "CUBLAS_STATUS_NOT_INITIALIZED",
    3: "CUBLAS_STATUS_ALLOC_FAILED",
    7: "CUBLAS_STATUS_INVALID_VALUE",
    8: "CUBLAS_STATUS_ARCH_MISMATCH",
    11: "CUBLAS_STATUS_MAPPING_ERROR",
    13: "CUBLAS_STATUS_EXECUTION_FAILED",
    14: "CUBLAS_STATUS_INTERNAL_ERROR",
    15: "CUBLAS_STATUS_NOT_SUPPORTED",
    16: "CUBLAS_STATUS_LICENSE_ERROR",
}

_POINTER = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_INT = ctypes.c_int
_SIZE = ctypes.c_size_t


class Heuristic(ctypes.Structure):
    """An algorithm that the library proposes: ``cublasLtMatmulHeuristicResult_t``."""

    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", _SIZE),
        ("state", _INT),
        ("waves", ctypes.c_float),
        ("reserved", _INT * 4),
    ]


# The arguments of the functions that return a status.
_FUNCTIONS: dict[str, list[Any]] = {
    "cublasLtCreate": [_OUT],
    "cublasLtMatmulDescCreate": [_OUT, _INT, _INT],
    "cublasLtMatmulDescSetAttribute": [_POINTER, _INT, _POINTER, _SIZE],
    "cublasLtMatmulDescDestroy": [_POINTER],
    "cublasLtMatrixLayoutCreate": [_OUT, _INT, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64],
    "cublasLtMatrixLayoutSetAttribute": [_POINTER, _INT, _POINTER, _SIZE],
    "cublasLtMatrixLayoutDestroy": [_POINTER],
    "cublasLtMatmulPreferenceCreate": [_OUT],
    "cublasLtMatmulPreferenceSetAttribute": [_POINTER, _INT, _POINTER, _SIZE],
    "cublasLtMatmulPreferenceDestroy": [_POINTER],
    "cublasLtMatmulAlgoGetHeuristic": [
        *([_POINTER] * 7),
        _INT,
        ctypes.POINTER(Heuristic),
        ctypes.POINTER(_INT),
    ],
    "cublasLtMatmul": [],
}


class CublasError(RuntimeError):
    """A call of cuBLASLt failed."""


class Library:
    """The functions of the library.

    Parameters
    ----------
    path : str
        Its file.

    Attributes
    ----------
    path : str
    version : int
        Such as 130100 for 13.1.0.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is another one.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._library = ctypes.CDLL(path)
        try:
            for name, types in _FUNCTIONS.items():
                getattr(self._library, name).argtypes = types
            get_version = self._library.cublasLtGetVersion
        except AttributeError:
            raise ValueError(f"expected the library cuBLASLt, but got {path}") from None
        get_version.restype = _SIZE
        self.version = int(get_version())
        # Without types of arguments, which takes less time: all are values of ctypes.
        self.matmul = self._library["cublasLtMatmul"]
        self.set_description = self._library["cublasLtMatmulDescSetAttribute"]

    def call(self, name: str, *args: Any) -> None:
        """Call a function by its name without the prefix.

        Raises
        ------
        CublasError
            If it fails.
        """
        check(name, getattr(self._library, f"cublasLt{name}")(*args))

    def create(self, name: str, *args: Any) -> int:
        """Return what a function creates: its first argument."""
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *args)
        assert made.value is not None
        return made.value

    def set(self, kind: str, target: int, attribute: int, value: Any) -> None:
        """Set an attribute of a description, layout or preference to a value of ctypes."""
        reference = ctypes.byref(value)
        self.call(f"{kind}SetAttribute", target, attribute, reference, ctypes.sizeof(value))

    def destroy(self, kind: str, made: int) -> None:
        """Give back what the function of a kind has created."""
        self.call(f"{kind}Destroy", made)


def check(name: str, status: int) -> None:
    """Raise CublasError where a status says that a call failed.

    Parameters
    ----------
    name : str
        The function without the prefix.
    status : int
    """
    if status != 0:
        words = _STATUS.get(status, "an unknown status")
        raise CublasError(f"cublasLt{name}: {words} ({status})")


def _loaded() -> Iterator[str]:
    """Yield the names of the files that this process has open already."""
    if hasattr(os, "RTLD_NOLOAD"):
        for name in _FILES:
            try:
                ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            except OSError:
                continue
            yield name


def _packaged() -> Iterator[str]:
    """Yield the files of packages of PyPI."""
    places = (Path(entry, folder) for entry in sys.path for folder in _FOLDERS)
    paths = (place / name for place in places for name in _FILES)
    yield from (str(path.resolve()) for path in paths if path.is_file())


def _candidates() -> Iterator[str]:
    if given := os.environ.get(VARIABLE):
        yield given
        return
    yield from _loaded()
    yield from _packaged()
    yield from (*_FILES, "libcublasLt.so")


@functools.cache
def load() -> Library:
    """Return the library, which is opened when this is first called.

    Raises
    ------
    RuntimeError
        If there is none, or none can be opened.
    """
    problems = []
    for path in _candidates():
        try:
            return Library(path)
        except (OSError, ValueError) as error:
            problems.append(str(error))
    raise RuntimeError(
        f"expected the library cuBLASLt, {_FILES[0]}, but it cannot be opened: "
        f"{'; '.join(problems)}. Install it (pip install nvidia-cublas), or set the environment "
        f"variable {VARIABLE} to its file"
    )


def is_available() -> bool:
    """Say whether the library can be opened; it needs a GPU when it is called."""
    try:
        load()
    except RuntimeError:
        return False
    return True


def version() -> str:
    """Return the version of the library.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    number = load().version
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
