# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of algebraic data types, which are objects with a tag and fields.

So data types may be recursive. Where a pattern takes a value apart, its fields are cast to what the
tag says that they are.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from mlir import ir

from ... import op
from ...builder.block_builder import BlockBuilder
from ...core.expr import prim_value
from ...core.ir import Dim, ObjectStructInfo, PrimStructInfo
from ...script.operators import truth
from .ast import (
    Constructor,
    ConstructorPattern,
    DataType,
    Pattern,
    TuplePattern,
    TupleType,
    Type,
    TypeDef,
    Var,
    VarPattern,
)
from .unification import substituted

Condition: TypeAlias = Callable[[], ir.Value]
"""Writes whether something holds, as a Boolean primitive value."""


@dataclasses.dataclass(frozen=True)
class DataTypes:
    """Makes values of algebraic data types, and takes them apart.

    Parameters
    ----------
    builder : BlockBuilder
    types : mapping of str to TypeDef
    info : callable
        Returns the structural information of a type that a value is cast to.
    fresh : callable
        Returns a new name of a shape variable.
    """

    builder: BlockBuilder
    types: Mapping[str, TypeDef]
    info: Callable[[Type], ir.Type]
    fresh: Callable[[], str]

    def make(self, constructor: Constructor, fields: Sequence[ir.Value]) -> ir.Value:
        """Write a value."""
        return self.builder.emit(op.adt_make(self._number(constructor), fields))

    def tag(self, value: ir.Value, type_: Type) -> Dim | None:
        """Write the tag of a value; None where there is nothing to tell apart."""
        if not isinstance(type_, DataType) or len(self.types[type_.name].constructors) == 1:
            return None
        name = self.fresh()
        self.builder.match_cast(self.builder.emit(op.adt_tag(value)), PrimStructInfo(value=name))
        return Dim(name)

    def test(
        self, pattern: Pattern, value: ir.Value, type_: Type, tag: Dim | None
    ) -> ir.Value | None:
        """Write whether a pattern takes a value that has a tag.

        Returns
        -------
        mlir.ir.Value or None
            A Boolean primitive value; None where the pattern takes each value.
        """
        tests: list[Condition] = []
        if isinstance(pattern, ConstructorPattern) and tag is not None:
            number = self._number(pattern.constructor)
            tests.append(lambda: truth(tag.equal(number)))
        if any(self._is_refutable(part) for part in _patterns(pattern)):
            tests.append(lambda: self._test_parts(pattern, value, type_))
        return self._all(tests) if tests else None

    def bind(
        self, pattern: Pattern, value: ir.Value, type_: Type
    ) -> Iterator[tuple[Var, ir.Value]]:
        """Write the parts of a value that a pattern takes, and yield each with its variable."""
        if isinstance(pattern, VarPattern):
            yield pattern.var, value
        for part, field, field_type in self._parts(pattern, value, type_, _binds):
            yield from self.bind(part, field, field_type)

    def _number(self, constructor: Constructor) -> int:
        return self.types[constructor.type_name].constructors.index(constructor)

    def _is_only(self, constructor: Constructor) -> bool:
        return len(self.types[constructor.type_name].constructors) == 1

    def _is_refutable(self, pattern: Pattern) -> bool:
        if isinstance(pattern, ConstructorPattern) and not self._is_only(pattern.constructor):
            return True
        return any(self._is_refutable(part) for part in _patterns(pattern))

    def _test_parts(self, pattern: Pattern, value: ir.Value, type_: Type) -> ir.Value:
        parts = self._parts(pattern, value, type_, self._is_refutable)
        return self._all([functools.partial(self._test_part, *part) for part in parts])

    def _test_part(self, pattern: Pattern, value: ir.Value, type_: Type) -> ir.Value:
        test = self.test(pattern, value, type_, self.tag(value, type_))
        assert test is not None
        return test

    def _all(self, tests: Sequence[Condition]) -> ir.Value:
        """Write whether all tests hold, each of which is made where those before it do."""
        first, *rest = tests
        holds = self.builder.emit(first())
        if not rest:
            return holds
        return self.builder.if_(holds, lambda: self._all(rest), lambda: prim_value(False))

    def _parts(
        self,
        pattern: Pattern,
        value: ir.Value,
        type_: Type,
        is_needed: Callable[[Pattern], bool],
    ) -> Iterator[tuple[Pattern, ir.Value, Type]]:
        """Write the fields of a value that some of the patterns in a pattern take."""
        patterns = _patterns(pattern)
        if not any(is_needed(part) for part in patterns):
            return
        if isinstance(pattern, ConstructorPattern):
            types = self._field_types(pattern.constructor, type_)
        else:
            assert isinstance(type_, TupleType)
            types = type_.fields
        for i, part in enumerate(patterns):
            if is_needed(part):
                yield part, self._field(pattern, value, i, types[i]), types[i]

    def _field(self, pattern: Pattern, value: ir.Value, index: int, type_: Type) -> ir.Value:
        if not isinstance(pattern, ConstructorPattern):
            return self.builder.emit(value[index])
        field, info = self.builder.emit(op.adt_get(value, index)), self.info(type_)
        return field if info == ObjectStructInfo() else self.builder.match_cast(field, info)

    def _field_types(self, constructor: Constructor, type_: Type) -> Sequence[Type]:
        assert isinstance(type_, DataType)
        by = dict(zip(self.types[type_.name].params, type_.args, strict=True))
        return [substituted(field, by) for field in constructor.fields]


def _patterns(pattern: Pattern) -> Sequence[Pattern]:
    return pattern.patterns if isinstance(pattern, TuplePattern | ConstructorPattern) else ()


def _binds(pattern: Pattern) -> bool:
    """Say whether a pattern names a part of the value."""
    return isinstance(pattern, VarPattern) or any(_binds(part) for part in _patterns(pattern))
