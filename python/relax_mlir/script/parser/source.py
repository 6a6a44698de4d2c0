# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of a program: where it comes from, its syntax tree, and places in it."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
import re
import types
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from mlir import ir

from .diagnostics import ScriptError

TOO_DEEP = "expected an expression that is nested less deeply: give names to parts of it"

Definition = ast.ClassDef | ast.FunctionDef


class Source:
    """A text of Python, with the name of its file.

    Parameters
    ----------
    text : str
    filename : str

    Attributes
    ----------
    tree : ast.Module
        Its syntax tree.

    Raises
    ------
    ScriptError
        If the text is not Python.

    Examples
    --------
    >>> source = Source("x = y", "program.py")
    >>> print(source.error(source.tree.body[0].value, "expected a number"))
    program.py:1:5: expected a number
      x = y
          ^
    """

    def __init__(self, text: str, filename: str) -> None:
        self.filename = filename
        self.lines = text.splitlines()
        try:
            self.tree = ast.parse(text, filename)
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        except RecursionError:  # which says no line: it is likely the longest
            line = max(range(len(self.lines)), key=lambda index: len(self.lines[index])) + 1
            raise self.error_at(line, 1, TOO_DEEP) from None

    def _syntax_error(self, error: SyntaxError) -> ScriptError:
        message = error.msg
        line = self.line(error.lineno or 1)
        if re.match(r"\s*(def|class)\s+\w+\s*\[", line):
            message = "expected Python 3.12 or newer for a list of type parameters after a name"
        place = (error.lineno, error.offset, line, error.end_lineno, error.end_offset)
        return ScriptError(message, (self.filename, *place))

    def line(self, number: int) -> str:
        """Return a line by its number, from 1."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def _column(self, number: int, offset: int) -> int:
        """Return a column, from 1, for an offset in bytes of UTF-8."""
        return len(self.line(number).encode()[:offset].decode(errors="replace")) + 1

    def place(self, node: ast.AST) -> tuple[int, int, int, int]:
        """Return where a node is: line and column of its start and its end, from 1."""
        where: Any = node
        start, end = where.lineno, where.end_lineno or where.lineno
        return (
            start,
            self._column(start, where.col_offset),
            end,
            self._column(end, where.end_col_offset or where.col_offset),
        )

    def error(self, node: ast.AST | None, message: str) -> ScriptError:
        """Return the error that something is wrong at a node.

        Parameters
        ----------
        node : ast.AST or None
            None where there is no place.
        message : str

        Returns
        -------
        ScriptError
            For the caller to raise.
        """
        if node is None or not hasattr(node, "lineno"):
            return ScriptError(message)
        line, column, end_line, end_column = self.place(node)
        return self.error_at(line, column, message, end_line, end_column)

    def error_at(
        self,
        line: int,
        column: int,
        message: str,
        end_line: int | None = None,
        end_column: int | None = None,
    ) -> ScriptError:
        """Return the error that something is wrong at a line and column, from 1."""
        text = self.line(line)
        if end_line is None:
            end_line, end_column = line, column + 1
        return ScriptError(message, (self.filename, line, column, text, end_line, end_column))

    def location(self, node: ast.AST) -> ir.Location:
        """Return the place of a node for an operation, in the current context."""
        line, column, *_ = self.place(node)
        return ir.Location.file(self.filename, line, column)


# The text that is being read, which need not be the one of a file.
_reading: ContextVar[Source | None] = ContextVar("_reading", default=None)


@contextlib.contextmanager
def reading(source: Source) -> Iterator[None]:
    """Find the functions that a text defines in it, in the body of ``with``."""
    token = _reading.set(source)
    try:
        yield
    finally:
        _reading.reset(token)


@functools.lru_cache(maxsize=64)
def _of_text(text: str, filename: str) -> Source:
    return Source(text, filename)


def _of_file(filename: str, what: str, line: int) -> Source:
    """Return the text of a file, of a cell of a notebook, of what doctest runs, or that is read.

    Where the file is not Python as a whole, as a page of documentation is not, it is the definition
    that starts at a line.
    """
    read = _reading.get()
    if read is not None and read.filename == filename:
        return read
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    if not lines:
        raise ScriptError(
            f"expected {what} from a file, but its text is not there (it comes from {filename}): "
            "write it to a file, or give the text to relax_mlir.script.from_source"
        )
    try:
        return _of_text("".join(lines), filename)
    except ScriptError:
        return _of_text(_block(lines, line), filename)


def _block(lines: Sequence[str], line: int) -> str:
    """Return the definition that starts at a line, at the same place as in the file."""
    block = inspect.getblock(lines[line - 1 :])
    is_indented = lines[line - 1][:1].isspace() and line > 1
    above = ["\n"] * (line - 1)
    if is_indented:
        above[-1] = "if True:\n"
    return "".join([*above, *block])


def _matching(source: Source, name: str, kind: type[ast.AST], lines: Sequence[int]) -> Any:
    """Return the definition of a name that covers one of some lines, the innermost."""
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, kind) and getattr(node, "name", None) == name
    ]
    for line in lines:
        around = [node for node in found if _first_line(node) <= line <= (_last_line(node))]
        if around:
            return max(around, key=_first_line)
    return found[-1] if len(found) == 1 else None


def _first_line(node: Any) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _last_line(node: Any) -> int:
    return node.end_lineno or node.lineno


def source_of_function(function: Callable[..., Any]) -> tuple[Source, ast.FunctionDef]:
    """Return the text that holds a Python function, and the function in it.

    Raises
    ------
    ScriptError
        If the text is not there.
    """
    code = function.__code__
    what = f"function '{function.__name__}'"
    source = _of_file(code.co_filename, what, code.co_firstlineno)
    node = _matching(source, function.__name__, ast.FunctionDef, [code.co_firstlineno])
    if node is None:
        raise ScriptError(
            f"expected function '{function.__name__}' at {code.co_filename}:"
            f"{code.co_firstlineno}, but the file has changed since"
        )
    return source, node


def source_of_class(cls: type, frame: types.FrameType) -> tuple[Source, ast.ClassDef]:
    """Return the text that holds a class, and the class in it.

    Parameters
    ----------
    cls : type
    frame : types.FrameType
        Where the class is decorated.

    Raises
    ------
    ScriptError
        If the text is not there.
    """
    codes = [value.__code__ for value in vars(cls).values() if hasattr(value, "__code__")]
    filename = frame.f_code.co_filename
    lines = [code.co_firstlineno for code in codes if code.co_filename == filename]
    first = getattr(cls, "__firstlineno__", None)
    source = _of_file(filename, f"class '{cls.__name__}'", first or frame.f_lineno)
    known = [first] if first is not None else []
    node = _matching(source, cls.__name__, ast.ClassDef, [*known, *lines, frame.f_lineno])
    if node is None:
        raise ScriptError(
            f"expected class '{cls.__name__}' in {filename}, but the file has changed since"
        )
    return source, node
