# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types in text of Relay."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from relax_runtime.near_misses import did_you_mean

from ....script.tvm_json import Unread
from .. import ast
from ..saved.json_graph import DEVICE
from . import literals
from .cursor import Cursor
from .lexer import Token
from .scopes import Scopes

_DTYPE = re.compile(
    r"bool|(?:int|uint)(?:1|2|4|8|16|32|64)|float(?:16|32|64)|bfloat16|float8_\w+|float4_\w+"
)
_VECTOR = re.compile(rf"(?:{_DTYPE.pattern})x\d+")
_SCALAR = re.compile(r"bool|(?:u?int|b?float)\d.*")
# Data types without a width.
_WIDTHLESS = {"int": "int32", "uint": "uint32", "float": "float32"}
_KINDS = ("Type", "Shape", "ShapeVar", "BaseType", "Constraint", "AdtHandle", "TypeData")


class TypeParser(Cursor):
    """Reads types.

    Parameters
    ----------
    tokens, source
        See `Cursor`.
    meta : mapping of str to sequence
        The objects of the metadata section, lists by kind.
    type_names : set of str, optional
        The algebraic data types that there are; by default any name is one.
    version : str
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        source: str,
        meta: Mapping[str, Sequence[Any]] | None = None,
        type_names: set[str] | None = None,
        version: str = "0.0.5",
    ) -> None:
        super().__init__(tokens, source)
        self.meta, self.type_names, self.version = meta, type_names, version
        self.type_vars: Scopes[ast.TypeVar] = Scopes()

    def type(self) -> ast.Type:
        """Read a type."""
        if self.at("("):
            return self._tuple_type()
        if self.accept("fn"):
            return self._function_type()
        if self.accept("ref"):
            self.expect("(")
            value = self.type()
            self.expect(")")
            return ast.RefType(value)
        if self.accept("_"):
            return ast.IncompleteType()
        if self.at("meta"):
            return self._meta_type()
        if not self.at("ident"):
            self.fail("a type, such as 'Tensor[(1, 2), float32]'")
        if self.token.text == "Tensor":
            return self._tensor_type()
        if _SCALAR.fullmatch(self.token.text):
            return ast.TensorType((), self._dtype())
        return self._named_type()

    def type_params(self) -> tuple[ast.TypeVar, ...]:
        """Read the type parameters of a definition, if it has some, and bind them."""
        if not self.at("["):
            return ()
        return tuple(self.sequence("[", "]", self._type_param))

    def meta_object(self) -> Any:
        """Read a reference to the metadata section, and return what it refers to."""
        token = self.expect("meta")
        kind, _, index = token.text[len("meta[") : -1].partition("][")
        if kind == DEVICE and kind not in (self.meta or ()):
            return Unread(kind)
        if self.meta is None:
            raise self.error(
                f"expected a metadata section that has {token}, but the text has none; print it "
                "with 'astext(show_meta_data=True)'",
                token,
            )
        objects = self.meta.get(kind)
        if objects is None:
            raise self.error(
                f"expected a kind of object that the metadata section has, but got '{kind}'"
                + did_you_mean(kind, self.meta),
                token,
            )
        if int(index) >= len(objects):
            raise self.error(
                f"expected an index below {len(objects)}, the number of objects '{kind}' in the "
                f"metadata section, but got {int(index)}",
                token,
            )
        return objects[int(index)]

    def _type_param(self) -> ast.TypeVar:
        param = ast.TypeVar(self.expect("ident", "the name of a type parameter").text)
        self.type_vars.bind(param.name, param)
        if self.accept(":") and not (self.at("ident") and self.advance().text in _KINDS):
            self.fail(f"a kind, one of {', '.join(_KINDS)}")
        return param

    def _tuple_type(self) -> ast.Type:
        fields = self.sequence("(", ")", self.type)
        # Parentheses of version 0.0.4 may be just that.
        comma = self.tokens[self.position - 2].kind == ","
        if self.version != "0.0.5" and len(fields) == 1 and not comma:
            return fields[0]
        return ast.TupleType(tuple(fields))

    def _function_type(self) -> ast.Type:
        with self.type_vars.scope():
            type_params = self.type_params()
            params = self.sequence("(", ")", self.type)
            self.expect("->")
            return ast.FuncType(tuple(params), self.type(), type_params)

    def _meta_type(self) -> ast.Type:
        token = self.token
        value = self.meta_object()
        if not isinstance(value, ast.Type):
            raise self.error(f"expected a type, but got {token}, which is {_kind(value)}", token)
        return value

    def _tensor_type(self) -> ast.Type:
        self.advance()
        self.expect("[")
        shape = self.sequence("(", ")", self._dim)
        self.expect(",")
        dtype = self._dtype()
        self.expect("]")
        return ast.TensorType(tuple(shape), dtype)

    def _dtype(self) -> str:
        token = self.expect("ident", "a data type, such as 'float32'")
        if _VECTOR.fullmatch(token.text):
            message = f"{self.span(token)}: tensors of vectors are not supported, but got {token}"
            raise NotImplementedError(message)
        if token.text in _WIDTHLESS:
            return _WIDTHLESS[token.text]
        if not _DTYPE.fullmatch(token.text):
            raise self.error(f"expected a data type, such as 'float32', but got {token}", token)
        return "bool" if token.text == "uint1" else token.text

    def _dim(self) -> ast.TypeDim:
        token = self.token
        if self.accept("?"):
            return ast.ANY
        if self.accept("number"):
            value = literals.number(token.text)
            if isinstance(value, int) and value >= 0:
                return value
        elif self.at("meta"):
            return self._meta_dim()
        elif self.at("ident"):
            var = self.type_vars.find(token.text)
            if var is not None:
                self.advance()
                return var
        raise self.error(f"expected a dimension, such as 2 or '?', but got {token}", token)

    def _meta_dim(self) -> ast.TypeDim:
        token = self.token
        value = self.meta_object()
        if not isinstance(value, int | ast.AnyDim | ast.TypeVar):
            raise NotImplementedError(
                f"{self.span(token)}: dimensions that are expressions are not supported, but got "
                f"{token}, which is {_kind(value)}"
            )
        return value

    def _named_type(self) -> ast.Type:
        token = self.advance()
        args = tuple(self.sequence("[", "]", self.type)) if self.at("[") else ()
        var = self.type_vars.find(token.text)
        if var is not None and not args:
            return var
        if token.text in _WIDTHLESS and not args:
            return ast.TensorType((), _WIDTHLESS[token.text])
        if self.type_names is not None and token.text not in self.type_names:
            known = {
                *self.type_names,
                *self.type_vars.names(),
                "Tensor",
                "float32",
                "int32",
                "bool",
            }
            raise self.error(
                f"expected a type that is defined, but got {token}"
                + did_you_mean(token.text, known),
                token,
            )
        return ast.DataType(token.text, args)


def _kind(value: Any) -> str:
    return repr(value) if not isinstance(value, ast.Expr) else f"a {type(value).__name__}"
