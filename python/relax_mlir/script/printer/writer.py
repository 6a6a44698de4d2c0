# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines of text with indentation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from .options import Options

# Lines that are known only when everything after them is.
Later = Callable[[], Sequence[str]]


class Writer:
    """Lines of a program.

    Parameters
    ----------
    options : Options
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._depth = 0
        self._lines: list[tuple[int, str | Later]] = []

    def line(self, text: str = "") -> None:
        """Add a line."""
        self._lines.append((self._depth, text))

    def later(self, lines: Later) -> None:
        """Add lines that are asked for at the end."""
        self._lines.append((self._depth, lines))

    @contextlib.contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines that are added in the body of the ``with`` statement."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @property
    def indentation(self) -> str:
        """The indentation of the next line."""
        return " " * (self._depth * self.options.indent_spaces)

    def mark(self) -> int:
        """Return the place of the next line, for `back_to`."""
        return len(self._lines)

    def back_to(self, mark: int) -> None:
        """Forget the lines from a place on."""
        del self._lines[mark:]

    def text(self) -> str:
        """Return all lines."""
        result = []
        for depth, item in self._lines:
            indent = " " * (depth * self.options.indent_spaces)
            texts = [item] if isinstance(item, str) else item()
            result += [f"{indent}{text}" if text else "" for text in texts]
        return "\n".join(result)
