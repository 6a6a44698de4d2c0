# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of commands, as one line of text."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlir import ir

from .._files import other_kind
from ..core.diagnostics import Diagnostic

# Errors whose message says what was expected, and for which the type adds nothing.
_PLAIN = (
    ImportError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


class CommandError(Exception):
    """An error in what a command was given; its text is the whole message."""


def words(error: BaseException) -> str:
    """Return an error as one line.

    Examples
    --------
    >>> words(FileNotFoundError(2, "No such file or directory", "model.onnx"))
    'model.onnx: No such file or directory'
    >>> words(KeyError("x"))
    'KeyError: x'
    """
    if isinstance(error, ir.MLIRError):
        text = "; ".join(map(_place_and_message, error.error_diagnostics)) or error.message
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, SyntaxError):
        place = f"{error.filename}:{error.lineno}:{error.offset}: " if error.lineno else ""
        text = f"{place}{error.msg}"
    elif isinstance(error, KeyError) and error.args:
        text = f"KeyError: {error.args[0]}"
    elif isinstance(error, (CommandError, *_PLAIN)) and str(error):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def _place_and_message(diagnostic: Diagnostic) -> str:
    place = str(diagnostic.location)
    named = place.removeprefix("loc(").removesuffix(")").replace('"', "")
    return diagnostic.message if named == "unknown" else f"{named}: {diagnostic.message}"


def check_readable(path: Path) -> None:
    """Raise CommandError where a path is that of a folder, device or FIFO, which is no input."""
    if kind := other_kind(path):
        raise CommandError(f"{path}: expected a file, but it is {kind}")


def check_output(path: Path | None) -> None:
    """Raise CommandError where a path is not that of a file that can be written or replaced."""
    if path is None:
        return
    if kind := other_kind(path):
        raise CommandError(f"{path}: expected a file to write, but it is {kind}")
    if not path.absolute().parent.is_dir():
        raise CommandError(f"expected the folder {path.absolute().parent} to be there")


def complain(text: str) -> None:
    """Write a line about something wrong to ``sys.stderr``."""
    print(f"relax-mlir: {text}", file=sys.stderr)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Write warnings as lines, without the code that warns, in the body of ``with``."""

    def show(message: Any, *_: object, **__: object) -> None:
        complain(f"warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield
