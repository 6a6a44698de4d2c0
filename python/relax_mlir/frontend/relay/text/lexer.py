# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of Relay as tokens, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from ..ast import RelayError, Span

KEYWORDS = frozenset(
    {"let", "fn", "def", "if", "else", "type", "match", "match?", "extern", "free_var"}
    | {"ref", "ref_read", "ref_write"}
)


class Token(NamedTuple):
    """A word of the text.

    Parameters
    ----------
    kind : str
        What it is: ``local`` (``%x``), ``graph`` (``%0``), ``global`` (``@f``), ``ident``,
        ``number``, ``bool``, ``string``, ``meta``, ``version``, ``metadata``, ``end``; keywords and
        punctuation are their own kinds.
    text : str
        Names are without ``%`` and ``@``, strings without quotes.
    start, end : int
        Offsets in the text.
    line, column : int
        Of its start, from 1.
    """

    kind: str
    text: str
    start: int
    end: int
    line: int
    column: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        sigil = {"local": "%", "graph": "%", "global": "@"}.get(self.kind, "")
        if self.kind in ("string", "metadata"):
            return {"string": f'"{self.text}"', "metadata": "a metadata section"}[self.kind]
        return f"'{sigil}{self.text}'"


# A slash belongs to a name unless it begins a comment.
_NAME = r"[A-Za-z_](?:\w|/(?![/*]))*"
_PART = r"\w(?:\w|/(?![/*]))*"
_PATTERN = re.compile(
    rf"""
      (?P<block>/\*)
    | (?P<version>\#\[\s*version\s*=\s*"?(?P<number_of_version>[^]"]*?)"?\s*\])
    | (?P<metadata>\#\[\s*metadata\s*\] | METADATA:)
    | (?P<string>"(?:\\.|[^"\\])*")
    | (?P<meta>meta\[[^]\n]*\]\[\s*\d+\s*\])
    | (?P<number>(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|(?:inf|nan)(?=f))(?:[fiu]\d*)?(?!\w))
    | (?P<local>%{_NAME}(?:(?:\.|::){_PART})*)
    | (?P<graph>%\d+)
    | (?P<global>@{_NAME}(?:(?:\.|::){_PART})*)
    | (?P<partial>match\?)
    | (?P<ident>{_NAME}(?:\.{_NAME})*)
    | (?P<punct>->|=>|==|!=|<=|>=|;;|[-+*/<>=;:,.?(){{}}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE = re.compile(r"(?:[ \t\r\n\f]+|//[^\n]*)*")
_OLD_VERSION = re.compile(r"v(\d+\.\d+\.\d+)(?!\w)")
_SIGNS = re.compile(r"-+(?=\d|(?:inf|nan)f)")
_INDEX = re.compile(r"\d+")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
# After these, a minus is an operator.
_OPERANDS = frozenset({"number", "local", "graph", "global", "ident", "bool", "meta"} | set(")]}"))
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def tokenize(text: str, source: str) -> list[Token]:
    """Return the tokens of a text; the last is of kind ``end``.

    Parameters
    ----------
    text : str
    source : str
        The name of the file, for errors.

    Raises
    ------
    RelayError
        If something is no token, such as a string without an end.

    Examples
    --------
    >>> [token.kind for token in tokenize("%0 = add(%x, 1f);", "<relay>")]
    ['graph', '=', 'ident', '(', 'local', ',', 'number', ')', ';', 'end']
    """
    return list(_Lexer(text, source).tokens())


class _Lexer:
    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.position, self.line, self.line_start = 0, 1, 0
        self.last: Token | None = None

    def tokens(self) -> Iterator[Token]:
        """Yield the tokens up to the end."""
        self._skip_space()
        while self.position < len(self.text):
            token = self._next()
            self._skip_space()
            if token is not None:
                self.last = token
                yield token
        yield self._token("end", "", self.position)

    def _next(self) -> Token | None:
        """Return the next token; None for a comment."""
        special = self._special()
        if special is not None:
            return special
        match = _PATTERN.match(self.text, self.position)
        if match is None:
            self._fail()
        kind, text = str(match.lastgroup), match.group()
        if kind == "block":
            self._skip_comment()
            return None
        if kind == "metadata":
            return self._token("metadata", self.text[match.end() :], len(self.text))
        if kind == "version":
            text = match["number_of_version"].strip()
        return self._token(*_kind(kind, text), match.end())

    def _skip_space(self) -> None:
        """Skip space, and comments up to the ends of lines."""
        match = _SPACE.match(self.text, self.position)
        if match and match.end() > self.position:
            self._advance(match.end())

    def _special(self) -> Token | None:
        """Return a token that depends on the one before."""
        if self.last is None:
            match = _OLD_VERSION.match(self.text, self.position)
            if match:
                return self._token("version", match[1], match.end())
        elif self.last.kind == "." and self.last.end == self.position:
            match = _INDEX.match(self.text, self.position)
            if match:
                return self._token("number", match.group(), match.end())
        if self.text[self.position] != "-":
            return None
        signs = _SIGNS.match(self.text, self.position)
        if signs is None or self._continues():
            return None
        number = _PATTERN.match(self.text, signs.end())
        if number is None or number.lastgroup != "number":
            self._fail()
        sign = "-" if len(signs.group()) % 2 else ""
        return self._token("number", sign + number.group(), number.end())

    def _continues(self) -> bool:
        """Say whether a minus at the current place is an operator."""
        last = self.last
        return last is not None and last.kind in _OPERANDS and last.line == self.line

    def _token(self, kind: str, text: str, end: int) -> Token:
        start, line, column = self.position, self.line, self.position - self.line_start + 1
        self._advance(end)
        return Token(kind, text, start, end, line, column)

    def _advance(self, end: int) -> None:
        """Go on to an offset, and count lines."""
        if "\n" in self.text[self.position : end]:
            self.line += self.text.count("\n", self.position, end)
            self.line_start = self.text.rindex("\n", self.position, end) + 1
        self.position = end

    def _skip_comment(self) -> None:
        """Skip a comment, which may have comments inside."""
        depth, end = 0, self.position
        while True:
            edge = _COMMENT_EDGE.search(self.text, end)
            if edge is None:
                self._fail("a comment that ends with '*/'", "one without an end")
            depth, end = depth + (1 if edge.group() == "/*" else -1), edge.end()
            if depth == 0:
                self._advance(end)
                return

    def _fail(self, expected: str = "", got: str = "") -> NoReturn:
        rest = self.text[self.position : self.position + 40].split()[0]
        if rest.startswith('"'):
            expected, got = "a string that ends with '\"'", "one without an end"
        elif rest.startswith("#"):
            expected, got = "'#[version = \"0.0.5\"]' or '#[metadata]'", repr(rest)
        elif rest.startswith("meta["):
            expected, got = "a reference such as 'meta[relay.Constant][0]'", repr(rest)
        elif rest[0] in "-0123456789":
            expected, got = "a number such as 1, 1i64 or 1.5f", repr(rest)
        span = Span(self.source, self.line, self.position - self.line_start + 1)
        expected = expected or "a word of Relay"
        raise RelayError(f"expected {expected}, but got {got or repr(rest[0])}", span)


def _kind(group: str, text: str) -> tuple[str, str]:
    """Return the kind and the text of a token that a group of the pattern took."""
    if group in ("local", "graph", "global"):
        return group, text[1:]
    if group == "string":
        return group, unescape(text[1:-1])
    if group == "ident" and text in ("True", "False"):
        return "bool", text
    if group in ("punct", "partial") or text in KEYWORDS or text == "_":
        return text, text
    return group, text


def unescape(text: str) -> str:
    """Return a string without TVM's escapes; a backslash before anything else is kept."""
    if "\\" not in text:
        return text

    def byte(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        if code[0] == "x" and len(code) == 3:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code) or (code if code in "\"'?\\" else match.group())

    # TVM escapes bytes, not characters.
    raw = _ESCAPE.sub(byte, text.encode().decode("latin-1"))
    return raw.encode("latin-1").decode("utf-8", "replace")
