# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variables and patterns in text of Relay, which bind names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from relax_runtime.near_misses import did_you_mean

from .. import ast
from .attribute_parser import AttributeParser
from .lexer import Token
from .scopes import Scopes


class BinderParser(AttributeParser):
    """Reads what binds names, besides types and attributes.

    Parameters
    ----------
    *args, **kwargs
        See `TypeParser`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.variables: Scopes[ast.Var] = Scopes()
        # TVM prints a node where it is used first, even if it is used outside again.
        self.nodes: Scopes[ast.Expr] = Scopes(escapes=True)
        self.constructors: dict[str, ast.Constructor] = {}
        self.calls_of_functions: list[Token] = []
        # How many functions are open, and how many were where variables are bound whose values are
        # being read: only functions inside may use these.
        self.depth = 0
        self.unfinished: dict[int, int] = {}

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope of variables and nodes, and close it."""
        with self.variables.scope(), self.nodes.scope():
            yield

    def variable(self, what: str) -> ast.Var:
        """Read a variable that is bound here, with its type if it has one."""
        token = self.expect("local", what)
        if self.accept("{"):
            while not self.accept("}"):
                self._variable_attribute()
        type_ = self.type() if self.accept(":") else None
        return ast.Var(token.text, type_, span=self.span(token))

    def _variable_attribute(self) -> None:
        if not self.at_attribute():
            self.fail("an attribute of a variable, such as 'virtual_device_=...', or '}'")
        self.attribute({})
        self.accept(",")

    def unknown_constructor(self, token: Token, expected: str) -> ast.RelayError:
        """Return the error that a name is no constructor."""
        hint = did_you_mean(token.text, self.constructors)
        return self.error(f"expected {expected}, but got {token}{hint}", token)

    def check_fields(self, op: ast.ConstructorRef, count: int) -> None:
        """Raise an error unless a constructor has so many fields."""
        wanted = len(op.constructor.fields)
        if count != wanted:
            message = f"expected {wanted} fields of '{op.constructor.name}', but got {count}"
            raise ast.RelayError(message, op.span)

    def pattern(self) -> ast.Pattern:
        """Read a pattern, and bind its variables."""
        if self.accept("_"):
            return ast.WildcardPattern()
        if self.at("local"):
            var = self.variable("a variable")
            self.variables.bind(var.name, var)
            return ast.VarPattern(var)
        if self.at("("):
            return ast.TuplePattern(self.sequence("(", ")", self.pattern))
        token = self.expect("ident", "a pattern: '_', '%x', a constructor or a tuple")
        constructor = self.constructors.get(token.text)
        if constructor is None:
            raise self.unknown_constructor(token, f"a constructor, or a variable '%{token.text}'")
        patterns = self.sequence("(", ")", self.pattern) if self.at("(") else []
        ref = ast.ConstructorRef(constructor, span=self.span(token))
        self.check_fields(ref, len(patterns))
        return ast.ConstructorPattern(constructor, patterns)
