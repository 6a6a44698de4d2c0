# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that are bound where they are used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Scopes(Generic[T]):
    """A stack of scopes; an inner name hides an outer one.

    Parameters
    ----------
    escapes : bool
        Whether names are still found after their scopes, where nothing else has their name.
    """

    def __init__(self, escapes: bool = False) -> None:
        self._values: dict[str, list[T]] = {}
        self._scopes: list[list[str]] = [[]]
        self._past: dict[str, T] | None = {} if escapes else None

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope, and close it."""
        self._scopes.append([])
        try:
            yield
        finally:
            for name in self._scopes.pop():
                value = self._values[name].pop()
                if self._past is not None:
                    self._past[name] = value

    def bind(self, name: str, value: T) -> None:
        """Bind a name in the innermost scope."""
        self._values.setdefault(name, []).append(value)
        self._scopes[-1].append(name)

    def bind_outside(self, name: str, value: T) -> None:
        """Bind a name outside of all scopes."""
        self._values.setdefault(name, []).insert(0, value)
        self._scopes[0].append(name)

    def find(self, name: str) -> T | None:
        """Return what a name is bound to, None where it is not."""
        values = self._values.get(name)
        if values:
            return values[-1]
        return self._past.get(name) if self._past else None

    def names(self) -> Iterable[str]:
        """Return the names that are bound."""
        return [name for name, values in self._values.items() if values]
