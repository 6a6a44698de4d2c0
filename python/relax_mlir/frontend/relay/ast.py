# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay as data: types, expressions, patterns and modules, with TVM's names.

Expressions are a graph: one that is used twice is one object, and is evaluated once. They are
compared by identity; types are compared by what they say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np


@dataclasses.dataclass(frozen=True)
class Span:
    """A place in a source.

    Parameters
    ----------
    source : str
        The name of the file, or of what the text is.
    line, column : int
        Counted from 1.
    """

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


class RelayError(ValueError):
    """A program of Relay is wrong, or has no counterpart.

    Parameters
    ----------
    message : str
    span : Span, optional
        The place in the source, which starts the message.
    """

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(f"{span}: {message}" if span else message)
        self.message, self.span = message, span


# -- types --------------------------------------------------------------------------------------


class Type:
    """A type."""


class AnyDim:
    """A dimension that is known when the program runs; `ANY` is the only one."""

    def __repr__(self) -> str:
        return "?"


ANY = AnyDim()


@dataclasses.dataclass(frozen=True, eq=False)
class TypeVar(Type):
    """A parameter of a polymorphic function or of an algebraic data type."""

    name: str


TypeDim: TypeAlias = "int | AnyDim | TypeVar"


@dataclasses.dataclass(frozen=True)
class TensorType(Type):
    """A tensor.

    Parameters
    ----------
    shape : tuple of int, AnyDim or TypeVar
    dtype : str
        As in ``float32``.
    """

    shape: tuple[TypeDim, ...]
    dtype: str


@dataclasses.dataclass(frozen=True)
class TupleType(Type):
    """A tuple."""

    fields: tuple[Type, ...]


@dataclasses.dataclass(frozen=True)
class FuncType(Type):
    """A function."""

    params: tuple[Type, ...]
    result: Type
    type_params: tuple[TypeVar, ...] = ()


@dataclasses.dataclass(frozen=True)
class RefType(Type):
    """A reference to a value that changes."""

    value: Type


@dataclasses.dataclass(frozen=True)
class DataType(Type):
    """An algebraic data type, with what its parameters are.

    Parameters
    ----------
    name : str
        That of a `TypeDef`.
    args : tuple of Type
    """

    name: str
    args: tuple[Type, ...] = ()


@dataclasses.dataclass(frozen=True)
class IncompleteType(Type):
    """A type that is left out; written ``_``."""


@dataclasses.dataclass(eq=False)
class Constructor:
    """A constructor of an algebraic data type.

    Parameters
    ----------
    name : str
    fields : tuple of Type
    type_name : str
        The name of its `TypeDef`.
    """

    name: str
    fields: tuple[Type, ...]
    type_name: str


@dataclasses.dataclass(eq=False)
class TypeDef:
    """An algebraic data type.

    Parameters
    ----------
    name : str
    params : tuple of TypeVar
    constructors : list of Constructor
        Their tags are their places.
    is_extern : bool
        Whether it is only declared; then it has no constructors.
    """

    name: str
    params: tuple[TypeVar, ...] = ()
    constructors: list[Constructor] = dataclasses.field(default_factory=list)
    is_extern: bool = False


# -- expressions --------------------------------------------------------------------------------


@dataclasses.dataclass(eq=False, kw_only=True)
class Expr:
    """An expression.

    Parameters
    ----------
    span : Span, optional
    """

    span: Span | None = None


@dataclasses.dataclass(eq=False)
class Var(Expr):
    """A parameter, or what a `Let` binds.

    Parameters
    ----------
    name : str
        Without ``%``; several variables may have one name.
    type : Type, optional
    """

    name: str
    type: Type | None = None


@dataclasses.dataclass(eq=False)
class GlobalVar(Expr):
    """A function of the module, by name."""

    name: str


@dataclasses.dataclass(eq=False)
class OpRef(Expr):
    """An operator, by name."""

    name: str


@dataclasses.dataclass(eq=False)
class ConstructorRef(Expr):
    """A constructor as a function."""

    constructor: Constructor


@dataclasses.dataclass(eq=False)
class Constant(Expr):
    """A tensor.

    Parameters
    ----------
    data : numpy.ndarray
        ``bfloat16`` is that of ml_dtypes.
    """

    data: np.ndarray[Any, Any]


@dataclasses.dataclass(eq=False)
class Tuple(Expr):
    """A tuple."""

    fields: Sequence[Expr]


@dataclasses.dataclass(eq=False)
class TupleGetItem(Expr):
    """A field of a tuple."""

    tuple_value: Expr
    index: int


@dataclasses.dataclass(eq=False)
class Call(Expr):
    """A call of an operator, a constructor or a function.

    Parameters
    ----------
    op : Expr
        `OpRef`, `ConstructorRef`, or a value that is a function.
    args : sequence of Expr
    attrs : mapping of str
        Attributes: numbers, bool, str, None, and lists of them.
    type_args : sequence of Type
    """

    op: Expr
    args: Sequence[Expr]
    attrs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    type_args: Sequence[Type] = ()


@dataclasses.dataclass(eq=False)
class Function(Expr):
    """A function, which sees the variables around it.

    Parameters
    ----------
    params : list of Var
    body : Expr
    result : Type, optional
    type_params : tuple of TypeVar
    attrs : mapping of str
    """

    params: list[Var]
    body: Expr
    result: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False)
class Let(Expr):
    """Evaluate a value here, and name it. A function sees its own name."""

    var: Var
    value: Expr
    body: Expr


@dataclasses.dataclass(eq=False)
class If(Expr):
    """One of two expressions."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclasses.dataclass(eq=False)
class RefCreate(Expr):
    """Make a reference."""

    value: Expr


@dataclasses.dataclass(eq=False)
class RefRead(Expr):
    """Read what a reference refers to."""

    ref: Expr


@dataclasses.dataclass(eq=False)
class RefWrite(Expr):
    """Have a reference refer to another value."""

    ref: Expr
    value: Expr


# -- patterns -----------------------------------------------------------------------------------


class Pattern:
    """Of a clause of `Match`."""


@dataclasses.dataclass(eq=False)
class WildcardPattern(Pattern):
    """Takes everything."""


@dataclasses.dataclass(eq=False)
class VarPattern(Pattern):
    """Takes everything, and names it."""

    var: Var


@dataclasses.dataclass(eq=False)
class TuplePattern(Pattern):
    """Takes tuples, the fields of which are taken by patterns."""

    patterns: Sequence[Pattern]


@dataclasses.dataclass(eq=False)
class ConstructorPattern(Pattern):
    """Takes what a constructor made, the fields of which are taken by patterns."""

    constructor: Constructor
    patterns: Sequence[Pattern]


@dataclasses.dataclass(eq=False)
class Clause:
    """A case of `Match`."""

    pattern: Pattern
    body: Expr


@dataclasses.dataclass(eq=False)
class Match(Expr):
    """The body of the first clause that takes a value.

    Parameters
    ----------
    value : Expr
    clauses : sequence of Clause
    complete : bool
        Whether some clause takes each value, which is checked; ``match?`` says that it may not.
    """

    value: Expr
    clauses: Sequence[Clause]
    complete: bool = True


# -- modules ------------------------------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class Module:
    """Functions and algebraic data types by name.

    Parameters
    ----------
    functions : dict of str to Function
        Without ``@``.
    types : dict of str to TypeDef
    """

    functions: dict[str, Function] = dataclasses.field(default_factory=dict)
    types: dict[str, TypeDef] = dataclasses.field(default_factory=dict)


def pattern_vars(pattern: Pattern) -> Iterator[Var]:
    """Yield the variables that a pattern binds, from left to right."""
    if isinstance(pattern, VarPattern):
        yield pattern.var
    elif isinstance(pattern, TuplePattern | ConstructorPattern):
        for one in pattern.patterns:
            yield from pattern_vars(one)


def bound_vars(expr: Expr) -> Sequence[Var]:
    """Return the variables that an expression binds."""
    if isinstance(expr, Function):
        return expr.params
    if isinstance(expr, Let):
        return (expr.var,)
    if isinstance(expr, Match):
        return [var for clause in expr.clauses for var in pattern_vars(clause.pattern)]
    return ()


def children(expr: Expr) -> Sequence[Expr]:
    """Return the expressions that an expression is made of, in order of evaluation.

    The bodies of functions, branches and clauses are among them; variables that are bound are not.
    """
    if isinstance(expr, Tuple):
        return tuple(expr.fields)
    if isinstance(expr, TupleGetItem):
        return (expr.tuple_value,)
    if isinstance(expr, Call):
        return (expr.op, *expr.args)
    if isinstance(expr, Function):
        return (expr.body,)
    if isinstance(expr, Let):
        return (expr.value, expr.body)
    if isinstance(expr, If):
        return (expr.condition, expr.then, expr.otherwise)
    if isinstance(expr, Match):
        return (expr.value, *(clause.body for clause in expr.clauses))
    if isinstance(expr, RefCreate):
        return (expr.value,)
    if isinstance(expr, RefRead):
        return (expr.ref,)
    if isinstance(expr, RefWrite):
        return (expr.ref, expr.value)
    return ()


def post_order(root: Expr) -> Iterator[Expr]:
    """Yield each expression once, after those that it is made of; as deep as a program may be."""
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        expr, is_done = stack.pop()
        if is_done:
            yield expr
        elif id(expr) not in seen:
            seen.add(id(expr))
            stack.append((expr, True))
            stack.extend((child, False) for child in reversed(children(expr)))


def free_vars(root: Expr) -> list[Var]:
    """Return the variables that are used and not bound, in the order of their first use.

    Examples
    --------
    >>> x, y = Var("x"), Var("y")
    >>> [var.name for var in free_vars(Function([x], Tuple([y, x])))]
    ['y']
    """
    exprs = list(post_order(root))
    bound = {id(var) for expr in exprs for var in bound_vars(expr)}
    return [expr for expr in exprs if isinstance(expr, Var) and id(expr) not in bound]
