# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions of Python functions that a program calls, kept as they are.

tvm-ffi hands an exception on as text: its kind where it is one of a few, its message, and its
traceback as lines. So `KeyboardInterrupt`, `SystemExit` and all classes of users would come out as
`RuntimeError`. Both ways, from a traceback to lines and back to an exception, are Python functions
that tvm-ffi looks up by name. Here the lines begin with a number, under which the exception itself
waits until the error arrives in Python again.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable
from itertools import count
from types import TracebackType

from tvm_ffi import core

# An error that C++ drops never arrives: no more than so many wait.
_MOST = 8
_waiting: dict[int, BaseException] = {}
_numbers = count()
_LINE = '  File "<exception of relax_mlir>", line {}, in raised\n'
_PATTERN = re.compile(re.escape(_LINE).replace(r"\{\}", r"(\d+)"))


def _candidates(traceback: TracebackType) -> Iterable[Iterable[object]]:
    """Yield places where an exception with a traceback may be, the cheap ones first."""
    yield gc.get_objects(generation=0)
    yield gc.get_objects(generation=1)
    yield gc.get_referrers(traceback)


def _find_exception(traceback: TracebackType) -> BaseException | None:
    """Return the only exception that has a traceback, which is being handed on."""
    for objects in _candidates(traceback):
        found = [
            each
            for each in objects
            if isinstance(each, BaseException) and each.__traceback__ is traceback
        ]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _to_lines(traceback: TracebackType | None) -> str:
    """Turn the traceback of an exception into lines, after the number of the exception."""
    lines: str = _original_to_lines(traceback)
    exception = None if traceback is None else _find_exception(traceback)
    if exception is None:
        return lines
    number = next(_numbers)
    _waiting[number] = exception
    for oldest in list(_waiting)[:-_MOST]:
        _waiting.pop(oldest, None)
    return _LINE.format(number) + lines


def _from_lines(made: BaseException, lines: str) -> BaseException:
    """Return the exception whose number the lines have, else `made` with a traceback of lines."""
    number = _PATTERN.search(lines)
    exception = _waiting.pop(int(number[1]), None) if number else None
    return _original_from_lines(made, lines) if exception is None else exception


_original_to_lines: Callable[[TracebackType | None], str]
_original_from_lines: Callable[[BaseException, str], BaseException]


def install() -> None:
    """Keep exceptions from now on, where this version of tvm-ffi has a place for it."""
    global _original_to_lines, _original_from_lines
    to_lines = getattr(core, "_TRACEBACK_TO_BACKTRACE_STR", None)
    from_lines = getattr(core, "_WITH_APPEND_BACKTRACE", None)
    if to_lines is None or from_lines is None or to_lines is _to_lines:
        return
    _original_to_lines, _original_from_lines = to_lines, from_lines
    core._TRACEBACK_TO_BACKTRACE_STR = _to_lines
    core._WITH_APPEND_BACKTRACE = _from_lines
