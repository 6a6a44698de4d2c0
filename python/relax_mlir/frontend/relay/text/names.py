# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names in text of Relay that are each unique."""

from __future__ import annotations

import re


class Names:
    """The names that a text uses."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        # "a" and "a.1" of "a.1.b", which a projection of "%a" would look like.
        self._beginnings: set[str] = set()

    def unique(self, wanted: str) -> str:
        """Return a name like the one that is wanted, which no other name is.

        Examples
        --------
        >>> names = Names()
        >>> [names.unique(wanted) for wanted in ("x", "x", "1", "a b", "input.1", "input")]
        ['x', 'x1', 'v1', 'a_b', 'input.1', 'input1']
        """
        base = re.sub(r"[^\w/.]|\.(?!\w)|/(?=[/*])", "_", wanted, flags=re.ASCII)
        base = base if re.match(r"[A-Za-z_]", base) else f"v{base.lstrip('.')}"
        if self._taken.intersection(_beginnings(base)):
            base = base.replace(".", "_")
        name, count = base, 0
        while name in self._taken or name in self._beginnings or name == "_":
            count += 1
            name = f"{base}{count}"
        self._taken.add(name)
        self._beginnings.update(_beginnings(name))
        return name


def _beginnings(name: str) -> list[str]:
    """Return what stands before each dot of a name."""
    return [name[: match.start()] for match in re.finditer(r"\.", name)]
