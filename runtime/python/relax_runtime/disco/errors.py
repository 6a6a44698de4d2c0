# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong on workers, as the controller reports it."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tvm_ffi


@tvm_ffi.error.register_error("CollectiveError")
class CollectiveError(RuntimeError):
    """An operator of all workers was given up, as another worker failed or has died."""


class WorkerTracebackError(Exception):
    """The traceback of an exception on a worker, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


@dataclass(frozen=True)
class Failure:
    """What an instruction raised on a worker.

    Attributes
    ----------
    kind : str
        The name of the class of the exception.
    message : str
    traceback : str
        As Python prints it; empty where there is none.
    """

    kind: str
    message: str
    traceback: str = ""

    @staticmethod
    def of(error: BaseException) -> Failure:
        """Return what an exception says."""
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        # A KeyError shows what it has in quotes.
        is_key = isinstance(error, KeyError) and len(error.args) == 1
        message = str(error.args[0] if is_key else error)
        return Failure(type(error).__name__, message, "".join(lines))

    @property
    def is_consequence(self) -> bool:
        """Whether another worker, or another instruction, failed first."""
        return self.kind == CollectiveError.__name__

    @property
    def text(self) -> str:
        """The kind and the message."""
        return f"{self.kind}: {self.message}" if self.message else self.kind


def _class_of(failure: Failure) -> type[Exception] | None:
    """Return the class of an exception that takes a message."""
    if failure.is_consequence:
        return CollectiveError
    found: Any = getattr(builtins, failure.kind, None)
    is_plain = isinstance(found, type) and issubclass(found, Exception)
    return found if is_plain and not issubclass(found, UnicodeError) else None


def error_of(failures: Mapping[int, Failure]) -> Exception:
    """Return the exception that stands for what an instruction raised on workers.

    It is of the class of the first failure that is no consequence of another one; its message
    begins with that, and says what else other workers raised.

    Parameters
    ----------
    failures : mapping of int to Failure
        By the numbers of the workers; one at least.

    Examples
    --------
    >>> error_of({0: Failure("CollectiveError", "worker 1 failed"), 1: Failure("ValueError", "x")})
    ValueError('worker 1: x; worker 0: CollectiveError: worker 1 failed')
    """
    order = sorted(failures, key=lambda worker: (failures[worker].is_consequence, worker))
    root = failures[order[0]]
    made = _class_of(root)
    groups: dict[str, list[int]] = {}
    for worker in order:
        failure = failures[worker]
        is_root = failure.kind == root.kind and made is not None
        groups.setdefault(failure.message if is_root else failure.text, []).append(worker)
    parts = [f"{_workers(workers)}: {text}" for text, workers in groups.items()]
    error = (made or RuntimeError)("; ".join(parts))
    if root.traceback:
        error.__cause__ = WorkerTracebackError(root.traceback)
    return error


def _workers(numbers: list[int]) -> str:
    noun = "worker" if len(numbers) == 1 else "workers"
    return f"{noun} {', '.join(map(str, sorted(numbers)))}"
