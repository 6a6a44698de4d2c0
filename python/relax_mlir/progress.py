# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Progress of compilations."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, TypeAlias

# Shorter compilations print nothing on the terminal.
QUIET_SECONDS = 1.0


@dataclass(frozen=True)
class Progress:
    """The current step of a compilation.

    Attributes
    ----------
    phase : str
        A phase of `relax_mlir.phases`, or "machine code".
    done, total : int
        How many functions and kernels are machine code, and of how many. Both are 0 in other
        phases, which cannot tell.
    seconds : float
        Since the compilation began.

    Examples
    --------
    >>> print(Progress("machine code", 3, 8, 1.25))
    machine code 3/8
    >>> print(Progress("legalize", 0, 0, 0.1))
    legalize
    """

    phase: str
    done: int
    total: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.phase} {self.done}/{self.total}" if self.total else self.phase


ProgressLike: TypeAlias = bool | Callable[[Progress], object] | None


class Reporter:
    """Tells somebody how far a compilation has come.

    Parameters
    ----------
    progress : bool, callable or None
        See `relax_mlir.compile`.
    """

    def __init__(self, progress: ProgressLike) -> None:
        self._start = time.monotonic()
        self._call = progress if callable(progress) else None
        self._line: _Line | None = None
        if progress is True or (progress is None and _is_terminal(sys.stderr)):
            self._line = _Line(sys.stderr, 0.0 if progress else QUIET_SECONDS)
            self._call = self._line.show

    @property
    def is_watched(self) -> bool:
        """Whether anybody is told."""
        return self._call is not None

    def __call__(self, phase: str, done: int = 0, total: int = 0) -> None:
        """Report the next step."""
        if self._call is not None:
            self._call(Progress(phase, done, total, time.monotonic() - self._start))

    def machine_code(self, done: int, total: int) -> None:
        """Report the number of functions that are machine code."""
        self("machine code", done, total)

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._line is not None:
            self._line.clear()


class _Line:
    """A line of a terminal that is written again and again, and is gone at the end."""

    def __init__(self, stream: TextIO, quiet_seconds: float) -> None:
        self._stream = stream
        self._quiet_seconds = quiet_seconds
        self._width = 0

    def show(self, progress: Progress) -> None:
        if progress.seconds >= self._quiet_seconds:
            self._write(f"relax-mlir: {progress} ({progress.seconds:.1f} s)")

    def clear(self) -> None:
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()
