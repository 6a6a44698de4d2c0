# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether some clause of a match takes each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .ast import (
    Constructor,
    ConstructorPattern,
    Match,
    Pattern,
    TuplePattern,
    TypeDef,
    WildcardPattern,
)

_Row = Sequence[Pattern]


def uncovered(match: Match, types: Mapping[str, TypeDef]) -> str | None:
    """Return a pattern of values that no clause takes; None where there are none.

    Examples
    --------
    >>> from relax_mlir.frontend.relay import ast
    >>> some, none = ast.Constructor("Some", (), "Option"), ast.Constructor("None", (), "Option")
    >>> option = ast.TypeDef("Option", (), [some, none])
    >>> clause = ast.Clause(ast.ConstructorPattern(some, []), ast.Tuple([]))
    >>> uncovered(ast.Match(ast.Var("x"), [clause]), {"Option": option})
    'None'
    """
    found = _missing([[clause.pattern] for clause in match.clauses], 1, types)
    return None if found is None else found[0]


def _missing(rows: Sequence[_Row], columns: int, types: Mapping[str, TypeDef]) -> list[str] | None:
    """Return what no row takes, a text for each column."""
    if columns == 0:
        return None if rows else []
    heads = [row[0] for row in rows]
    for head in heads:
        if isinstance(head, ConstructorPattern):
            return _missing_constructor(rows, columns, types, types[head.constructor.type_name])
        if isinstance(head, TuplePattern):
            size = len(head.patterns)
            found = _missing(_specialized(rows, None, size), size + columns - 1, types)
            if found is None:
                return None
            return [f"({', '.join(found[:size])})", *found[size:]]
    found = _missing([row[1:] for row in rows], columns - 1, types)
    return None if found is None else ["_", *found]


def _missing_constructor(
    rows: Sequence[_Row], columns: int, types: Mapping[str, TypeDef], type_def: TypeDef
) -> list[str] | None:
    for constructor in type_def.constructors:
        size = len(constructor.fields)
        found = _missing(_specialized(rows, constructor, size), size + columns - 1, types)
        if found is not None:
            fields = f"({', '.join(found[:size])})" if size else ""
            return [constructor.name + fields, *found[size:]]
    return None


def _specialized(
    rows: Sequence[_Row], constructor: Constructor | None, size: int
) -> list[list[Pattern]]:
    """Return the rows that take what a constructor made, or tuples, a column for each field."""
    result = []
    for head, *rest in rows:
        if isinstance(head, ConstructorPattern | TuplePattern):
            if not isinstance(head, ConstructorPattern) or head.constructor is constructor:
                result.append([*head.patterns, *rest])
        else:
            result.append([*(WildcardPattern() for _ in range(size)), *rest])
    return result
