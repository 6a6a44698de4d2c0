# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of Relay as a module or an expression."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
from relax_runtime.near_misses import did_you_mean

from .. import ast
from ..saved.json_nodes import load_metadata
from .expr_parser import ExprParser
from .lexer import Token, tokenize

T = TypeVar("T")
Metadata: TypeAlias = Mapping[str, Sequence[Any]]
_VERSIONS = ("0.0.4", "0.0.5")


def parse(
    text: str,
    source: str = "<relay>",
    *,
    module: ast.Module | None = None,
    metadata: Metadata | None = None,
) -> ast.Module:
    """Return the module that a text is.

    Parameters
    ----------
    text : str
        As TVM prints modules, version 0.0.4 or 0.0.5. The header may be left out, and a binding may
        end with its line. An expression becomes the function ``main``, its free variables the
        parameters.
    source : str
        The name of the file, for errors.
    module : Module, optional
        Definitions that the text may use, which become part of the result.
    metadata : mapping of str to sequence, optional
        Objects that ``meta[relay.Constant][0]`` and the like refer to, lists by kind, after those
        of the text. A constant may be an array.

    Raises
    ------
    RelayError
        If the text is none of Relay; the message has line, column and what was expected.
    NotImplementedError
        If it has kernels in TIR, or tensors of vectors.

    Examples
    --------
    >>> module = parse('''
    ... #[version = "0.0.5"]
    ... def @main(%x: Tensor[(2, 3), float32]) {
    ...   %0 = nn.relu(%x);
    ...   add(%0, 1f)
    ... }''')
    >>> module.functions["main"].params[0].type
    TensorType(shape=(2, 3), dtype='float32')
    """
    tokens, version, meta = _read(text, source, metadata)
    base = module or ast.Module()
    parser = _ModuleParser(tokens, source, meta, {*base.types, *_type_names(tokens)}, version)
    return _guarded(parser, lambda: parser.module(base))


def parse_expr(text: str, source: str = "<relay>", *, metadata: Metadata | None = None) -> ast.Expr:
    """Return the expression that a text is.

    Parameters
    ----------
    text : str
        May declare free variables: ``free_var %x: float32; exp(%x)``. Functions ``@f`` and
        algebraic data types need not be known.
    source : str
        The name of the file, for errors.
    metadata : mapping of str to sequence, optional
        See `parse`.

    Raises
    ------
    RelayError
        If the text is no expression of Relay.

    Examples
    --------
    >>> parse_expr("free_var %x: float32; %x * 2f").op
    OpRef(span=Span(source='<relay>', line=1, column=26), name='multiply')
    """
    tokens, version, meta = _read(text, source, metadata)
    parser = ExprParser(tokens, source, meta, None, version)

    def whole() -> ast.Expr:
        if parser.at("def", "type", "extern"):
            parser.fail("an expression (parse reads definitions)")
        expr = parser.expr()
        if not parser.at("end"):
            parser.fail("an operator, ';' or the end of the text")
        return expr

    return _guarded(parser, whole)


def _read(
    text: str, source: str, metadata: Metadata | None
) -> tuple[list[Token], str, Metadata | None]:
    """Return the tokens of the program, its version, and the objects that it may refer to."""
    tokens = tokenize(text, source)
    version, meta = _VERSIONS[-1], metadata and _joined({}, metadata)
    if tokens[0].kind == "version":
        header = tokens.pop(0)
        version = header.text
        if version not in _VERSIONS:
            span = ast.Span(source, header.line, header.column)
            known = " or ".join(_VERSIONS)
            message = f"expected text of Relay, version {known}, but got version '{version}'"
            raise ast.RelayError(message, span)
    if len(tokens) > 1 and tokens[-2].kind == "metadata":
        meta = _joined(_metadata(tokens.pop(-2), source), metadata or {})
    return tokens, version, meta


def _joined(first: Metadata, second: Metadata) -> Metadata:
    """Return the objects of two sections, arrays as constants."""
    return {
        kind: [
            ast.Constant(value) if isinstance(value, np.ndarray) else value
            for value in (*first.get(kind, ()), *second.get(kind, ()))
        ]
        for kind in (*first, *second)
    }


def _metadata(token: Token, source: str) -> Metadata:
    """Return the objects of a metadata section."""
    try:
        return load_metadata(token.text)
    except ast.RelayError as error:
        raise ast.RelayError(error.message, ast.Span(source, token.line, token.column)) from None


def _type_names(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the names of algebraic data types, which may be used before they are defined."""
    for token, name in itertools.pairwise(tokens):
        if token.kind == "type" and name.kind == "ident":
            yield name.text


def _guarded(parser: ExprParser, read: Callable[[], T]) -> T:
    """Return what a parser reads; text that is nested too deeply is an error at its place."""
    try:
        return read()
    except RecursionError:
        raise parser.error("expected expressions that are nested less deeply") from None


class _ModuleParser(ExprParser):
    def module(self, base: ast.Module) -> ast.Module:
        """Read definitions up to the end, which may use others."""
        module = ast.Module(dict(base.functions), dict(base.types))
        for definition in base.types.values():
            self.constructors.update({each.name: each for each in definition.constructors})
        if not self.at("def", "type", "extern", "end", "global"):
            return self._expression(module)
        self._read_types(module)
        while not self.at("end"):
            token = self.token
            if self.at("type", "extern"):
                self._skip_type()
            elif self.accept("def"):
                self._definition(token, module)
            else:
                self._fail_definition()
        self._check_functions(module)
        return module

    def _expression(self, module: ast.Module) -> ast.Module:
        token, body = self.token, self.expr()
        if not self.at("end"):
            self.fail("an operator, ';' or the end of the text")
        if not isinstance(body, ast.Function):
            body = ast.Function(ast.free_vars(body), body, span=self.span(token))
        module.functions["main"] = body
        self._check_functions(module)
        return module

    def _definition(self, token: Token, module: ast.Module) -> None:
        name = self.expect("global", "the name of a function, such as '@main'")
        if self.at("="):
            self._fail_kernel(name)
        if name.text in module.functions:
            raise self.error(f"expected one function {name}, but got another", name)
        module.functions[name.text] = self.function(token)

    def _fail_definition(self) -> NoReturn:
        if self.at("global") and self.after().kind == "=":
            self._fail_kernel(self.token)
        if self.at("metadata", "version"):
            raise self.error(f"expected one {self.token.kind} section, but got another")
        self.fail("'def', 'type' or 'extern type'")

    def _fail_kernel(self, name: Token) -> NoReturn:
        raise NotImplementedError(
            f"{self.span(name)}: functions other than those of Relay (such as kernels in TIR) are "
            f"not supported, but got {name}"
        )

    def _check_functions(self, module: ast.Module) -> None:
        for token in self.calls_of_functions:
            if token.text not in module.functions:
                hint = did_you_mean(token.text, module.functions).replace("'", "'@", 1)
                message = f"expected a function that is defined, but got {token}{hint}"
                raise self.error(message, token)

    # -- algebraic data types -------------------------------------------------------------------

    def _read_types(self, module: ast.Module) -> None:
        """Read the algebraic data types, which functions before them may use."""
        start = self.position
        while not self.at("end"):
            if self.at("extern") or (self.at("type") and self.after().kind == "ident"):
                self._type_definition(module)
            else:
                self.advance()
        self.go_to(start)

    def _type_definition(self, module: ast.Module) -> None:
        is_extern = self.accept("extern") is not None
        self.expect("type")
        name = self.expect("ident", "the name of a type")
        if name.text in module.types:
            raise self.error(f"expected one type {name}, but got another", name)
        with self.type_vars.scope():
            params = self.type_params()
            constructors: list[ast.Constructor] = []
            if self.at("{"):
                if is_extern:
                    self.fail("no constructors, since the type is external")
                constructors = self.sequence("{", "}", lambda: self._constructor(name.text))
            elif not is_extern:
                self.fail("'{' and constructors")
        module.types[name.text] = ast.TypeDef(name.text, params, constructors, is_extern)

    def _constructor(self, type_name: str) -> ast.Constructor:
        name = self.expect("ident", "the name of a constructor")
        if name.text in self.constructors:
            raise self.error(f"expected one constructor {name}, but got another", name)
        fields = tuple(self.sequence("(", ")", self.type)) if self.at("(") else ()
        constructor = ast.Constructor(name.text, fields, type_name)
        self.constructors[name.text] = constructor
        return constructor

    def _skip_type(self) -> None:
        """Go on after a definition of a type, which has been read."""
        self.accept("extern")
        self.expect("type")
        self.expect("ident", "the name of a type")
        while not self.at("def", "type", "extern", "end", "global"):
            self.advance()
