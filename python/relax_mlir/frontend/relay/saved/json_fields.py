# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of an object of TVM's JSON, each of the type that it has to have."""

from __future__ import annotations

from typing import Any, TypeVar

from ....script.tvm_json import Unread
from .. import ast

T = TypeVar("T")


class Pairs(list[tuple[Any, Any]]):
    """A map of TVM whose keys are objects."""


class Fields(dict[str, Any]):
    """The fields of an object.

    Parameters
    ----------
    fields : dict
    where : str
        Which object they are of, for errors.
    """

    def __init__(self, fields: dict[str, Any], where: str) -> None:
        super().__init__(fields)
        self.where = where

    def one(self, name: str, kind: type[T]) -> T:
        """Return a field, which is of a type.

        Raises
        ------
        RelayError
            If it is missing, or of another type.
        """
        if name not in self:
            raise ast.RelayError(f"expected a field '{name}' {self.where}, but got none")
        return self._checked(self[name], name, kind)

    def maybe(self, name: str, kind: type[T]) -> T | None:
        """Return a field that may be missing or null."""
        return None if self.get(name) is None else self.one(name, kind)

    def many(self, name: str, kind: type[T]) -> list[T]:
        """Return a list of a type; one that is missing is empty."""
        values = self.maybe(name, list) or []
        return [self._checked(value, name, kind) for value in values]

    def expr(self, name: str) -> ast.Expr:
        """Return a field that is an expression; a constructor becomes one."""
        return self._expr(self.one(name, object), name)

    def exprs(self, name: str) -> list[ast.Expr]:
        """Return a list of expressions."""
        return [self._expr(value, name) for value in self.maybe(name, list) or []]

    def types(self, name: str) -> tuple[ast.Type, ...]:
        """Return a list of types."""
        return tuple(self.many(name, ast.Type))

    def attrs(self, name: str) -> dict[str, Any]:
        """Return attributes; those that are missing are empty.

        Raises
        ------
        NotImplementedError
            If they are of a class that is not known.
        """
        value = self.get(name)
        if isinstance(value, Unread):
            raise NotImplementedError(f"attributes that are {value} are not supported")
        # A map without entries has no keys to tell it by.
        return {} if value is None or value == [] else dict(self._checked(value, name, dict))

    def pairs(self, name: str) -> Pairs:
        """Return a map whose keys are objects."""
        return self.maybe(name, Pairs) or Pairs()

    @property
    def span(self) -> ast.Span | None:
        """The place in a source."""
        span = self.get("span")
        return span if isinstance(span, ast.Span) else None

    def _expr(self, value: Any, name: str) -> ast.Expr:
        if isinstance(value, ast.Constructor):
            return ast.ConstructorRef(value)
        return self._checked(value, name, ast.Expr)

    def _checked(self, value: Any, name: str, kind: type[T]) -> T:
        if not isinstance(value, kind):
            got = "null" if value is None else describe(value)
            wanted = _WORDS.get(kind, f"a {kind.__name__}")
            message = f"expected {wanted} as '{name}' {self.where}, but got {got}"
            raise ast.RelayError(message)
        return value


_WORDS: dict[type, str] = {ast.Expr: "an expression of Relay", ast.Type: "a type of Relay"}


def describe(value: Any) -> str:
    """Return in words what an object is."""
    return repr(value) if isinstance(value, Unread) else f"a {type(value).__name__}"
