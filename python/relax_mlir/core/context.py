# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts: every new one knows the dialect, and there is one for those who do not care."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import mlir._mlir_libs
from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from . import forks

_ext.register_dialects(mlir._mlir_libs.get_dialect_registry())
mlir._mlir_libs.append_load_on_create_dialect("relax")
# The package in which MLIR looks for the classes of operations.
mlir._mlir_libs._mlir.globals.append_dialect_search_prefix("relax_mlir.dialects")

# Files whose lines say nothing about where a program was written.
_OWN_FILES = (str(Path(__file__).parents[1]), contextlib.__file__)
_lock = forks.lock()
_default: list[ir.Context] = []


def default_context() -> ir.Context:
    """Return the context that is used where no other one is current.

    Returns
    -------
    mlir.ir.Context
        The same one each time, for the life of the process.
    """
    with _lock:
        if not _default:
            _default.append(ir.Context())
        return _default[0]


def load_dialect(context: ir.Context) -> None:
    """Load the dialect into a context that was made before ``import relax_mlir``.

    Parameters
    ----------
    context : mlir.ir.Context
        Any context; one that knows the dialect already stays as it is.
    """
    _ext.load_dialect(context)


def current_context() -> ir.Context:
    """Return the current context of this thread, or the default one, with the dialect in it."""
    context = ir.Context.current
    if context is None:
        return default_context()
    _ext.load_dialect(context)
    return context


def at_place(name: str, line: int = 0, column: int = 0, module: str = "") -> ir.Location:
    """Return a place in what a program comes from; operations in its `with` statement are of it.

    Parameters
    ----------
    name : str
        A file, or a part of something that has no lines, such as a node of a graph.
    line, column : int
    module : str
        The module of a model that the line was called from, such as "layers.0.attention".

    Examples
    --------
    >>> at_place("node 'Gelu_3'")
    loc("node 'Gelu_3'":0:0)
    """
    context = current_context()
    place = ir.Location.file(name, line, column, context=context)
    return ir.Location.fused([place], ir.StringAttr.get(module, context)) if module else place


def current_location() -> ir.Location:
    """Return the current location, or the line of Python that called into this package."""
    if ir.Location.current is not None:
        return ir.Location.current
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    return ir.Location.file(frame.f_code.co_filename, frame.f_lineno, 0, context=current_context())
