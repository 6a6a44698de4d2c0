# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling in processes that fork.

A child of ``os.fork()`` has a copy of each context, but only one thread. Threads of pools are not
missed: the contexts of this package share a pool that starts anew in a child, and so do the threads
of the runtime. But a lock of MLIR or LLVM that another thread holds at that moment is held for
ever in the child. So a fork waits until no other thread is in a part of compilation that runs
without the lock of the interpreter, or holds a lock of this package.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Compilations:
    """The threads that compile without the lock of the interpreter."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Forget what other threads do, and what they wait for."""
        self._changed = threading.Condition(threading.Lock())
        self._threads: dict[int, int] = {}
        self._is_forking = False

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Have forks of other threads wait for the body of the ``with`` statement."""
        thread = threading.get_ident()
        with self._changed:
            if thread not in self._threads:
                self._changed.wait_for(lambda: not self._is_forking)
            self._threads[thread] = self._threads.get(thread, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._leave(thread)

    def _leave(self, thread: int) -> None:
        count = self._threads.get(thread, 0) - 1  # none after a fork in the body
        if count > 0:
            self._threads[thread] = count
        else:
            self._threads.pop(thread, None)
        self._changed.notify_all()

    def stop(self) -> None:
        """Wait until no other thread compiles, and let none begin."""
        thread = threading.get_ident()
        self._changed.acquire()
        # A thread that forks while compiling, in a pass or a report, would wait for itself.
        if thread not in self._threads:
            self._changed.wait_for(lambda: not self._is_forking)
            self._is_forking = True
            self._changed.wait_for(lambda: not self._threads)

    def go_on(self) -> None:
        """Let threads compile again."""
        self._is_forking = False
        self._changed.notify_all()
        self._changed.release()


compiling = _Compilations()


def within_compilation(function: _Function) -> _Function:
    """Return a function that compilation calls, perhaps in another thread; it may fork."""

    def call(*args: Any, **keywords: Any) -> Any:
        with compiling():
            return function(*args, **keywords)

    return call  # type: ignore[return-value]


_locks: list[Any] = []


def lock() -> Any:
    """Return a reentrant lock of the package, which no other thread has in a child of a fork."""
    made = threading.RLock()
    _locks.append(made)
    return made


def _before() -> None:
    compiling.stop()
    for each in _locks:
        each.acquire()


def _in_parent() -> None:
    for each in reversed(_locks):
        each.release()
    compiling.go_on()


def _in_child() -> None:
    for each in reversed(_locks):
        each.release()
    compiling.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
