# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of values in Python, each for one value of a function."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mlir import ir

from .options import is_identifier


def location_name(location: ir.Location) -> str | None:
    """Return the name that a location carries, of the value that is defined there."""
    return location.name_str or None if location.is_a_name() else None


def identifier(hint: str) -> str:
    """Return a name in Python that is like `hint`."""
    text = re.sub(r"\W", "_", hint, flags=re.ASCII) or "v"
    if text[0].isdigit():
        text = f"v{text}"
    return text if is_identifier(text) else f"{text}_"


class Names:
    """The names of the values of a function, and of the closures in it.

    Parameters
    ----------
    reserved : iterable of str
        Names that stand for something else.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        self._used = set(reserved)
        self._next: dict[str, int] = {}

    def reserve(self, hint: str) -> str:
        """Return a name like `hint` that nothing else has."""
        base = identifier(hint)
        name, count = base, 0
        while name in self._used:
            count += 1
            name = f"{base}_{count}"
        self._used.add(name)
        return name

    def number(self, prefix: str) -> str:
        """Return the next name of a series: lv, lv1, lv2, ..."""
        count = self._next.get(prefix, 0)
        name = f"{prefix}{count or ''}"
        while name in self._used:
            count += 1
            name = f"{prefix}{count}"
        self._next[prefix] = count + 1
        self._used.add(name)
        return name
