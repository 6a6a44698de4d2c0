# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of programs in TVMScript, at their place in the text."""

from __future__ import annotations

# How much of a line is shown.
_LONGEST = 200


class ScriptError(SyntaxError, ValueError):
    """A program in TVMScript is wrong.

    Its text names the file and the line, shows the line and underlines what is wrong.

    Attributes
    ----------
    msg : str
        The error.
    filename : str
    lineno, offset, end_lineno, end_offset : int or None
        The place, counted from 1.
    text : str or None
        The line.
    """

    def __str__(self) -> str:
        if self.lineno is None:
            return str(self.msg)
        column = "" if self.offset is None else f":{self.offset}"
        return f"{self.filename}:{self.lineno}{column}: {self.msg}{self._excerpt()}"

    def _excerpt(self) -> str:
        if not self.text or self.offset is None:
            return ""
        line = self.text.rstrip("\n").expandtabs(1)
        first = self.offset - 1
        last = len(line)
        if self.end_lineno == self.lineno and self.end_offset is not None:
            last = self.end_offset - 1
        carets = "^" * max(1, last - first)
        indent = len(line) - len(line.lstrip())
        if len(line) > _LONGEST:
            indent = max(indent, first - _LONGEST // 2)
            end = indent + _LONGEST
            line, carets = line[:end], carets[: end - first]
        return f"\n  {line[indent:]}\n  {' ' * (first - indent)}{carets}"
