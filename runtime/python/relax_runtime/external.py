# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of other libraries that programs call, by the names that programs find them by.

What makes the functions is kept with a program. Those that this package can make by itself need no
compiler where the program runs.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import io
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import tvm_ffi

# The modules that make functions of what codegens wrote: each has a function ``load``.
_LOADERS = {"cublas": "relax_runtime.cublas", "cuda_tile": "relax_runtime.cuda_tile"}

# Held by no other thread in a child of a fork.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )
# How many live objects have registered each name.
_uses: dict[str, int] = {}


class Registered:
    """Functions under names, which are registered as long as this object lives.

    Parameters
    ----------
    functions : mapping of str to callable
        By name.

    Examples
    --------
    >>> kept = Registered({"relax.ext.sample": lambda: 3})
    >>> tvm_ffi.get_global_func("relax.ext.sample")()
    3
    >>> del kept
    >>> tvm_ffi.get_global_func("relax.ext.sample", allow_missing=True) is None
    True
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        registered: list[str] = []
        weakref.finalize(self, _release, registered)
        for name, function in functions.items():
            _register(name, function)
            registered.append(name)


def _register(name: str, function: Callable[..., Any]) -> None:
    with _lock:
        if _uses.get(name, 0) == 0:
            tvm_ffi.register_global_func(name, function, override=True)
        _uses[name] = _uses.get(name, 0) + 1


def _release(names: Iterable[str]) -> None:
    with _lock:
        for name in names:
            _uses[name] -= 1
            if _uses[name] == 0:
                del _uses[name]
                tvm_ffi.remove_global_func(name)


def name_of(codegen: str, symbol: str, suffix: str) -> str:
    """Return the name that programs find a function by.

    Parameters
    ----------
    codegen, symbol : str
    suffix : str
        What tells functions with the same symbol apart.
    """
    return f"relax.ext.{codegen}.{symbol}.{suffix}"


def write(rows: Iterable[tuple[str, str, bytes]]) -> str:
    """Return what makes functions as text, which `read` reads.

    Parameters
    ----------
    rows : iterable of (str, str, bytes)
        Codegens, suffixes of names, and what the codegens wrote.
    """
    return json.dumps([(name, suffix, base64.b64encode(s).decode()) for name, suffix, s in rows])


def read(text: str) -> list[tuple[str, str, bytes]]:
    """Return what `write` wrote.

    Raises
    ------
    ValueError
        If the text is damaged.
    """
    try:
        return [
            (str(name), str(suffix), base64.b64decode(s)) for name, suffix, s in json.loads(text)
        ]
    except (ValueError, TypeError, binascii.Error) as error:
        raise ValueError(f"expected external functions, but got {text[:80]!r}") from error


def link(text: str) -> Registered:
    """Make and register the functions that a program calls.

    Parameters
    ----------
    text : str
        As `write` has it.

    Raises
    ------
    ValueError
        If the text is damaged, or a codegen is none that this package has functions of.
    """
    functions: dict[str, Any] = {}
    for codegen, suffix, state in read(text):
        if codegen not in _LOADERS:
            raise ValueError(
                "expected a program that needs the runtime alone, but got one that calls functions "
                f"of codegen '{codegen}': load it with relax_mlir.load"
            )
        made = importlib.import_module(_LOADERS[codegen]).load(state)
        functions |= {name_of(codegen, symbol, suffix): each for symbol, each in made.items()}
    return Registered(functions)


def pack(programs: list[dict[str, Any]], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return functions as bytes: as data of JSON, with constants by name.

    Parameters
    ----------
    programs : list of dict
    arrays : mapping of str to numpy.ndarray

    Examples
    --------
    >>> unpack(pack([{"symbol": "f"}], {"x": np.zeros(2)}))
    ([{'symbol': 'f'}], {'x': array([0., 0.])})
    """
    text = np.frombuffer(json.dumps(programs).encode(), np.uint8)
    file = io.BytesIO()
    given: dict[str, Any] = {"programs": text, **arrays}
    np.savez(file, **given)
    return file.getvalue()


def unpack(state: bytes) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Return the functions and constants that `pack` has written."""
    with np.load(io.BytesIO(state), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("programs").tobytes()), arrays
