# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shape variables that Python knows where a function is written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from mlir import ir

from ...core.ir import (
    Dim,
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from ...core.variables import definitions, walk
from .types import entries
from .writer import Writer


def struct_info_variables(type_: ir.Type) -> Iterator[str]:
    """Yield the shape variables of StructInfo, those of function types too."""
    if isinstance(type_, TensorStructInfo):
        yield from _shape_variables(type_.shape)
    elif isinstance(type_, ShapeStructInfo):
        yield from _shape_variables(type_.values)
    elif isinstance(type_, PrimStructInfo):
        yield from [] if type_.value is None else type_.value.variables
    elif isinstance(type_, TupleStructInfo):
        for field in type_.fields:
            yield from struct_info_variables(field)
    elif isinstance(type_, FuncStructInfo) and type_.derive is None:
        for part in [*type_.params, type_.ret]:
            yield from struct_info_variables(part)


def _shape_variables(shape: ShapeExpr | None) -> Iterator[str]:
    for dim in [] if shape is None else shape.dims:
        yield from dim.variables


def _attribute_variables(attr: ir.Attribute) -> Iterator[str]:
    if isinstance(attr, Dim):
        yield from attr.variables
    elif isinstance(attr, ShapeExpr):
        yield from _shape_variables(attr)
    elif isinstance(attr, ir.TypeAttr):
        yield from struct_info_variables(attr.value)
    elif isinstance(attr, ir.ArrayAttr):
        for item in attr:
            yield from _attribute_variables(item)


def variables_of(function: ir.Operation) -> set[str]:
    """Return the shape variables that a function mentions anywhere."""
    found: set[str] = set()
    for op in walk(function):
        for value in (*op.results, *definitions(op)):
            found.update(struct_info_variables(value.type))
        for _, attr in entries(op.attributes):
            found.update(_attribute_variables(attr))
    type_ = ir.FunctionType(function.attributes["function_type"].value)
    for part in [*type_.inputs, *type_.results]:
        found.update(struct_info_variables(part))
    return found


class Scope:
    """The shape variables that Python knows in a function, or in a closure in it.

    Parameters
    ----------
    writer : Writer
    outer : Scope or None
    """

    def __init__(self, writer: Writer, outer: Scope | None) -> None:
        self.outer = outer
        self._writer = writer
        self._signature: set[str] = set()
        self._declared: set[str] = set()
        # The variables that the signature binds are declared at the start of the body.
        self._first: list[str] = []
        self._here = self._first

    def is_bound(self, name: str) -> bool:
        """Say whether a name of Python stands for a shape variable already."""
        return (
            name in self._signature
            or name in self._declared
            or (self.outer is not None and self.outer.is_bound(name))
        )

    def bind(self, name: str) -> None:
        """Note that the signature has a variable as a text."""
        self._signature.add(name)

    def begin(self) -> None:
        """Begin the body."""
        self._writer.later(lambda: _declarations(self._first))

    def statement(self) -> None:
        """Begin a statement; other variables that it is the first one to use are declared here."""
        here: list[str] = []
        self._here = here
        self._writer.later(lambda: _declarations(here))

    @contextlib.contextmanager
    def branch(self) -> Iterator[None]:
        """Have variables that are declared in the ``with`` statement be known there only."""
        declared = set(self._declared)
        try:
            yield
        finally:
            self._declared = declared

    def use(self, name: str) -> None:
        """Note that a variable is written as a name of Python."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._declared:
                return
            if name in scope._signature:
                if name not in scope._first:
                    scope._first.append(name)
                return
            scope = scope.outer
        self._declared.add(name)
        self._here.append(name)


def _declarations(names: Sequence[str]) -> list[str]:
    return [f"{name} = T.int64()" for name in names]
