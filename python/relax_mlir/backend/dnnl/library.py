# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library of oneDNN, opened when it is first needed, with the functions that are called."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from ...runtime import get_num_threads

#: The environment variable that names the library.
VARIABLE = "RELAX_DNNL_LIBRARY"
#: The version of the interface, which is part of the name of the library.
MAJOR = 3

# What OpenMP reads when it is loaded.
_WAIT_POLICY = "OMP_WAIT_POLICY"

_FILE = f"libdnnl.so.{MAJOR}"
# The packages of PyPI that hold the library, by what runs its threads.
_PACKAGES = ("onednn-cpu-gomp", "onednn-cpu-tbb", "onednn-cpu-iomp", "onednn")

_STATUS = {
    1: "out of memory",
    2: "invalid arguments",
    3: "not implemented",
    4: "no implementation is left",
    5: "an error at run time",
}

_POINTER = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_DIMS = ctypes.POINTER(ctypes.c_int64)
_INT = ctypes.c_int

# The arguments of the functions that return a status.
_FUNCTIONS: dict[str, list[Any]] = {
    "dnnl_engine_create": [_OUT, _INT, ctypes.c_size_t],
    "dnnl_stream_create": [_OUT, _POINTER, ctypes.c_uint],
    "dnnl_stream_wait": [_POINTER],
    "dnnl_stream_destroy": [_POINTER],
    "dnnl_memory_desc_create_with_strides": [_OUT, _INT, _DIMS, _INT, _DIMS],
    "dnnl_memory_desc_create_with_tag": [_OUT, _INT, _DIMS, _INT, _INT],
    "dnnl_memory_desc_destroy": [_POINTER],
    "dnnl_memory_create": [_OUT, _POINTER, _POINTER, _POINTER],
    "dnnl_memory_set_data_handle": [_POINTER, _POINTER],
    "dnnl_memory_destroy": [_POINTER],
    "dnnl_post_ops_create": [_OUT],
    "dnnl_post_ops_append_eltwise": [_POINTER, _INT, ctypes.c_float, ctypes.c_float],
    "dnnl_post_ops_append_binary": [_POINTER, _INT, _POINTER],
    "dnnl_post_ops_destroy": [_POINTER],
    "dnnl_primitive_attr_create": [_OUT],
    "dnnl_primitive_attr_set_post_ops": [_POINTER, _POINTER],
    "dnnl_primitive_attr_destroy": [_POINTER],
    "dnnl_matmul_primitive_desc_create": [_OUT, *([_POINTER] * 6)],
    "dnnl_convolution_forward_primitive_desc_create": [
        _OUT,
        _POINTER,
        _INT,
        _INT,
        *([_POINTER] * 4),
        *([_DIMS] * 4),
        _POINTER,
    ],
    "dnnl_reorder_primitive_desc_create": [_OUT, *([_POINTER] * 5)],
    "dnnl_primitive_desc_destroy": [_POINTER],
    "dnnl_primitive_create": [_OUT, _POINTER],
    "dnnl_primitive_execute": [_POINTER, _POINTER, _INT, _POINTER],
    "dnnl_primitive_destroy": [_POINTER],
}


class _Version(ctypes.Structure):
    _fields_ = [("major", _INT), ("minor", _INT), ("patch", _INT)]


class DNNLError(RuntimeError):
    """A call of oneDNN failed."""


@contextlib.contextmanager
def _passive_waits() -> Iterator[None]:
    """Have threads of OpenMP wait without work, unless the environment says how they do.

    The threads of the compiler's own kernels would wait for those that only look at a flag: small
    products take ten times as long then.
    """
    given = os.environ.get(_WAIT_POLICY)
    os.environ.setdefault(_WAIT_POLICY, "passive")
    try:
        yield
    finally:
        if given is None:
            del os.environ[_WAIT_POLICY]


class Library:
    """The functions of the library.

    Parameters
    ----------
    path : str
        Its file.

    Attributes
    ----------
    path : str
    version : tuple of int

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If its interface is that of another version.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._process = os.getpid()
        with _passive_waits():
            self._library = ctypes.CDLL(path)
        try:
            get_version = self._library.dnnl_version
        except AttributeError:
            raise ValueError(f"expected the library of oneDNN, but got {path}") from None
        get_version.restype = ctypes.POINTER(_Version)
        found = get_version().contents
        self.version = (found.major, found.minor, found.patch)
        if found.major != MAJOR:
            text = ".".join(map(str, self.version))
            raise ValueError(f"expected oneDNN {MAJOR}, but {path} is version {text}")
        for name, types in _FUNCTIONS.items():
            getattr(self._library, name).argtypes = types
        self.query_md = self._library.dnnl_primitive_desc_query_md
        self.query_md.argtypes, self.query_md.restype = [_POINTER, _INT, _INT], _POINTER
        self.are_equal = self._library.dnnl_memory_desc_equal
        self.are_equal.argtypes, self.are_equal.restype = [_POINTER, _POINTER], _INT
        self.size_of = self._library.dnnl_memory_desc_get_size
        self.size_of.argtypes, self.size_of.restype = [_POINTER], ctypes.c_size_t
        self.engine = self.create("engine_create", 1, 0)  # the processor
        # Those of OpenMP, which the library is linked with; None for other threads.
        self._set_threads = getattr(self._library, "omp_set_num_threads", None)
        self._get_threads = getattr(self._library, "omp_get_max_threads", None)

    def usable_threads(self) -> int:
        """Return on how many threads primitives may run: as many as kernels of the compiler.

        In a child of fork it is this one alone: OpenMP would wait for those of its parent.
        """
        return get_num_threads() if os.getpid() == self._process else 1

    @contextlib.contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Have primitives run on a number of threads, in this thread and for the time being.

        Those that are made for a number run on the same one.
        """
        if self._set_threads is None or self._get_threads is None:
            yield
            return
        before = self._get_threads()
        self._set_threads(count)
        try:
            yield
        finally:
            self._set_threads(before)

    def call(self, name: str, *args: Any) -> None:
        """Call a function by its name without the prefix.

        Raises
        ------
        DNNLError
            If it fails.
        """
        status = getattr(self._library, f"dnnl_{name}")(*args)
        if status != 0:
            reason = _STATUS.get(status, f"status {status}")
            raise DNNLError(f"oneDNN: dnnl_{name}: {reason}")

    def create(self, name: str, *args: Any) -> int:
        """Return what a function creates: its first argument."""
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *args)
        assert made.value is not None
        return made.value

    def function(self, name: str) -> Any:
        """Return a function that gives a status."""
        return getattr(self._library, f"dnnl_{name}")


def _packaged() -> Iterator[str]:
    """Yield the files of installed packages of PyPI."""
    for package in _PACKAGES:
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        yield from (str(Path(str(file.locate())).resolve()) for file in files if file.name == _FILE)


def _candidates() -> Iterator[str]:
    if given := os.environ.get(VARIABLE):
        yield given
        return
    yield from _packaged()
    yield _FILE


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
        except (OSError, ValueError, DNNLError) as error:
            problems.append(str(error))
    raise RuntimeError(
        f"expected the library of oneDNN {MAJOR}, {_FILE}, but it cannot be opened: "
        f"{'; '.join(problems)}. Install it (pip install onednn-cpu-gomp), or set the "
        f"environment variable {VARIABLE} to its file"
    )


def is_available() -> bool:
    """Say whether the library can be opened."""
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
    return ".".join(map(str, load().version))
