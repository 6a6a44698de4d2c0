# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A place among tokens, and errors there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from ..ast import RelayError, Span
from .lexer import Token

T = TypeVar("T")


class Cursor:
    """A place among tokens.

    Parameters
    ----------
    tokens : sequence of Token
        The last is of kind ``end``.
    source : str
    """

    def __init__(self, tokens: Sequence[Token], source: str) -> None:
        self.tokens, self.source = tokens, source
        # Where it is, and the next token.
        self.position, self.token = 0, tokens[0]
        # Whether the end of a line may end a binding: it does not between parentheses.
        self.lines_end = True

    def after(self) -> Token:
        """Return the token after the next one."""
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def at(self, *kinds: str) -> bool:
        """Say whether the next token is of one of some kinds."""
        return self.token.kind in kinds

    def advance(self) -> Token:
        """Take the next token."""
        token = self.token
        if token.kind != "end":
            self.go_to(self.position + 1)
        return token

    def go_to(self, position: int) -> None:
        """Go to a token by its number."""
        self.position, self.token = position, self.tokens[position]

    def accept(self, *kinds: str) -> Token | None:
        """Take the next token if it is of one of some kinds."""
        return self.advance() if self.at(*kinds) else None

    def expect(self, kind: str, what: str = "") -> Token:
        """Take the next token, which has to be of a kind.

        Parameters
        ----------
        kind : str
        what : str
            What is expected, in words; by default the kind in quotes.

        Raises
        ------
        RelayError
            If it is another one.
        """
        if not self.at(kind):
            self.fail(what or f"'{kind}'")
        return self.advance()

    def starts_line(self) -> bool:
        """Say whether the next token is the first of its line, or the last one of all."""
        return self.position == 0 or self.token.line > self.tokens[self.position - 1].line

    def span(self, token: Token | None = None) -> Span:
        """Return the place of a token, by default of the next one."""
        token = token or self.token
        return Span(self.source, token.line, token.column)

    def error(self, message: str, token: Token | None = None) -> RelayError:
        """Return an error at a token, by default the next one."""
        return RelayError(message, self.span(token))

    def fail(self, expected: str) -> NoReturn:
        """Raise an error that something else was expected than the next token."""
        raise self.error(f"expected {expected}, but got {self.token}")

    def sequence(self, first: str, last: str, parse: Callable[[], T]) -> list[T]:
        """Return what stands between brackets, separated by commas; one may follow the last."""
        self.expect(first)
        lines_end, self.lines_end = self.lines_end, False
        items: list[T] = []
        while not self.at(last):
            items.append(parse())
            if not self.at(last) and not self.accept(","):
                self.fail(f"',' or '{last}'")
        self.advance()
        self.lines_end = lines_end
        return items
