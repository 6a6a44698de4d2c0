# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes in text of Relay."""

from __future__ import annotations

from typing import Any

from .. import ast
from ..saved.json_graph import is_device
from . import literals
from .lexer import KEYWORDS
from .type_parser import TypeParser

# Where a program runs is not part of what it computes.
VIRTUAL_DEVICE = "virtual_device_"


class AttributeParser(TypeParser):
    """Reads attributes, besides types."""

    def at_attribute(self) -> bool:
        """Say whether an attribute comes next: a name and an equals sign."""
        is_name = self.at("ident") or self.token.kind in KEYWORDS
        return is_name and self.after().kind == "="

    def attribute(self, attrs: dict[str, Any]) -> None:
        """Read one attribute into a mapping."""
        token = self.advance()
        self.expect("=")
        if token.text == VIRTUAL_DEVICE:
            self._skip_device()
        elif token.text in attrs:
            raise self.error(f"expected attributes of different names, but got two {token}", token)
        else:
            value = self.attribute_value()
            if not is_device(value):
                attrs[token.text] = value

    def attribute_value(self) -> Any:
        """Read the value of an attribute: a number, bool, string, None, a list, or metadata."""
        if self.at("number"):
            return self._number()
        if self.at("bool"):
            return self.advance().text == "True"
        if self.at("string"):
            return self.advance().text
        if self.at("meta"):
            return self.meta_object()
        if self.at("["):
            return self.sequence("[", "]", self.attribute_value)
        if self.at("("):
            return self._parentheses()
        if self.accept("?"):
            return ast.ANY
        if self.at("ident"):
            text = self.advance().text
            return None if text in ("None", "nullptr") else text
        return self.fail(
            "the value of an attribute: a number, a string, True, False, None or a list"
        )

    def _number(self) -> int | float:
        token = self.advance()
        try:
            return literals.number(token.text)
        except ValueError as error:
            raise self.error(str(error), token) from None

    def _parentheses(self) -> Any:
        """Read a tuple, or one value in parentheses, which are then nothing more."""
        values = self.sequence("(", ")", self.attribute_value)
        comma = self.tokens[self.position - 2].kind == ","
        return values[0] if len(values) == 1 and not comma else values

    def _skip_device(self) -> None:
        """Skip a device: a reference to the metadata, or as TVM prints it without metadata."""
        if self.accept("meta"):
            return
        self.expect("ident", "a device, such as 'meta[VirtualDevice][0]'")
        if not self.at("("):
            return
        depth = 0
        while depth or self.at("("):
            if self.at("end"):
                self.fail("')'")
            kind = self.advance().kind
            depth += (kind == "(") - (kind == ")")
