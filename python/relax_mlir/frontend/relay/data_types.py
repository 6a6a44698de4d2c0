# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of algebraic data types: a tuple of the tag, and of the tuple of the fields.

They have the type of any object, so that data types may be recursive. Where a pattern takes one
apart, it is cast to what the tag says that it is.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from mlir import ir

from ... import op
from ...builder.block_builder import BlockBuilder
from ...core.expr import as_value, const
from ...core.ir import ObjectStructInfo, TensorStructInfo, TupleStructInfo
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

_TAG_DTYPE = "int32"


@dataclasses.dataclass(frozen=True)
class DataTypes:
    """Makes values of algebraic data types, and takes them apart.

    Parameters
    ----------
    builder : BlockBuilder
    types : mapping of str to TypeDef
    info : callable
        Returns the structural information of a type that a value is cast to.
    """

    builder: BlockBuilder
    types: Mapping[str, TypeDef]
    info: Callable[[Type], ir.Type]

    def make(self, constructor: Constructor, fields: Sequence[ir.Value]) -> ir.Value:
        """Write a value."""
        value = self.builder.emit(op.tuple(self._tag(constructor), op.tuple(*fields)))
        return self.builder.match_cast(value, ObjectStructInfo())

    def test(self, pattern: Pattern, value: ir.Value, type_: Type) -> ir.Value | None:
        """Write whether a pattern takes a value.

        Returns
        -------
        mlir.ir.Value or None
            A Boolean tensor of rank 0; None where the pattern takes each value.
        """
        if not self._is_refutable(pattern):
            return None
        if isinstance(pattern, ConstructorPattern) and not self._is_only(pattern.constructor):
            return self._test_constructor(pattern, value, type_)
        return self._test_parts(pattern, value, type_)

    def bind(
        self, pattern: Pattern, value: ir.Value, type_: Type
    ) -> Iterator[tuple[Var, ir.Value]]:
        """Write the parts of a value that a pattern takes, and yield each with its variable."""
        if isinstance(pattern, VarPattern):
            yield pattern.var, value
        for part, field, field_type in self._parts(pattern, value, type_, _binds):
            yield from self.bind(part, field, field_type)

    def _tag(self, constructor: Constructor) -> ir.Value:
        tag = self.types[constructor.type_name].constructors.index(constructor)
        return as_value(const(tag, _TAG_DTYPE))

    def _is_only(self, constructor: Constructor) -> bool:
        return len(self.types[constructor.type_name].constructors) == 1

    def _is_refutable(self, pattern: Pattern) -> bool:
        if isinstance(pattern, ConstructorPattern) and not self._is_only(pattern.constructor):
            return True
        return any(self._is_refutable(part) for part in _patterns(pattern))

    def _test_constructor(
        self, pattern: ConstructorPattern, value: ir.Value, type_: Type
    ) -> ir.Value:
        tag = self.builder.emit(self._opened(value)[0])
        is_made_by_it = self.builder.emit(op.equal(tag, self._tag(pattern.constructor)))
        if not any(self._is_refutable(part) for part in pattern.patterns):
            return is_made_by_it
        return self.builder.if_(
            is_made_by_it,
            lambda: self._test_parts(pattern, value, type_),
            lambda: as_value(const(False, "bool")),
        )

    def _test_parts(self, pattern: Pattern, value: ir.Value, type_: Type) -> ir.Value:
        tests = [
            test
            for part in self._parts(pattern, value, type_, self._is_refutable)
            if (test := self.test(*part)) is not None
        ]
        return functools.reduce(lambda a, b: self.builder.emit(op.logical_and(a, b)), tests)

    def _opened(self, value: ir.Value) -> ir.Value:
        info = TupleStructInfo([TensorStructInfo((), _TAG_DTYPE), ObjectStructInfo()])
        return self.builder.match_cast(value, info)

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
            info = TupleStructInfo([self.info(field) for field in types])
            value = self.builder.match_cast(self._opened(value)[1], info)
        else:
            assert isinstance(type_, TupleType)
            types = type_.fields
        for i, part in enumerate(patterns):
            if is_needed(part):
                yield part, self.builder.emit(value[i]), types[i]

    def _field_types(self, constructor: Constructor, type_: Type) -> Sequence[Type]:
        assert isinstance(type_, DataType)
        by = dict(zip(self.types[type_.name].params, type_.args, strict=True))
        return [substituted(field, by) for field in constructor.fields]


def _patterns(pattern: Pattern) -> Sequence[Pattern]:
    return pattern.patterns if isinstance(pattern, TuplePattern | ConstructorPattern) else ()


def _binds(pattern: Pattern) -> bool:
    """Say whether a pattern names a part of the value."""
    return isinstance(pattern, VarPattern) or any(_binds(part) for part in _patterns(pattern))
