# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements of tensor programs: what ``T.prim_func`` is parsed to and printed from.

A `PrimFunc` is a tree of statements over the expressions of `relax_mlir.tir.expr`.
`relax_mlir.tir.lower` makes a ``func.func`` of it, `relax_mlir.tir.raising` the way back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from .expr import ExprLike, PrimExpr, Var, bits, const, convert, dtype_of, subtract

LOOP_KINDS = ("serial", "parallel", "vectorized", "unroll", "thread_binding")
AXIS_KINDS = ("spatial", "reduce", "scan", "opaque")


class Buffer:
    """Memory of a shape and a data type, row by row.

    Parameters
    ----------
    name : str
    shape : sequence of PrimExpr or int
    dtype : str or numpy.dtype
    scope : str
        "global", "local", or the name of another memory.

    Examples
    --------
    >>> n = Var("n", "int64")
    >>> Buffer("A", (n, 4), "float32")
    Buffer(A, (n, 4), 'float32')
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[ExprLike],
        dtype: Any = "float32",
        scope: str = "global",
    ) -> None:
        self.name = name
        self.shape: tuple[PrimExpr, ...] = tuple(convert(dim) for dim in shape)
        self.dtype: str = dtype_of(dtype)
        self.memory = scope or "global"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes that an element takes."""
        return -(-bits(self.dtype) // 8)

    @property
    def size(self) -> PrimExpr:
        """The number of elements."""
        total: PrimExpr = const(1, self.shape[0].dtype if self.shape else "int32")
        for dim in self.shape:
            total = total * dim
        return total

    @property
    def data(self) -> BufferData:
        """The address of the first element, as an argument of ``T.call_extern``."""
        return BufferData(self)

    def scope(self) -> str:
        """Return the name of the memory."""
        return self.memory

    def __repr__(self) -> str:
        return f"Buffer({self.name}, ({', '.join(map(str, self.shape))}), {self.dtype!r})"


class BufferData(PrimExpr):
    """The address of a buffer.

    Parameters
    ----------
    buffer : Buffer
    """

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.dtype = "handle"


@dataclasses.dataclass(frozen=True)
class Span:
    """A place in Python source: file, line and column, counted from 1."""

    file: str
    line: int
    column: int


@dataclasses.dataclass(eq=False)
class Stmt:
    """A statement; `span` says where it was written, if that is known."""

    span: Span | None = dataclasses.field(default=None, kw_only=True)


@dataclasses.dataclass(eq=False)
class BufferStore(Stmt):
    """``buffer[indices] = value``."""

    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]


@dataclasses.dataclass(eq=False)
class For(Stmt):
    """``for var in T.<kind>(min, stop)``, by steps of `step`."""

    var: Var
    min: PrimExpr
    stop: PrimExpr
    body: list[Stmt]
    kind: str = "serial"
    step: PrimExpr | None = None
    thread: str | None = None
    annotations: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def extent(self) -> PrimExpr:
        """The number of integers from `min` to `stop`."""
        return subtract(self.stop, self.min)


@dataclasses.dataclass(eq=False)
class While(Stmt):
    """``while condition: body``."""

    condition: PrimExpr
    body: list[Stmt]


@dataclasses.dataclass(eq=False)
class IfThenElse(Stmt):
    """``if condition: then_body else: else_body``."""

    condition: PrimExpr
    then_body: list[Stmt]
    else_body: list[Stmt] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Let(Stmt):
    """``var: T.let[dtype] = value``: a name for a value, to the end of the body."""

    var: Var
    value: PrimExpr


@dataclasses.dataclass(eq=False)
class Alloc(Stmt):
    """``buffer = T.alloc_buffer(...)``, to the end of the body."""

    buffer: Buffer


@dataclasses.dataclass(eq=False)
class View(Stmt):
    """``buffer = T.match_buffer(source[a:b, c], shape)``: a part, to the end of the body.

    Without a region it is ``buffer = T.decl_buffer(shape, data=source.data)``: all elements, in
    another shape.

    Attributes
    ----------
    region : list of (PrimExpr, PrimExpr), or None
        Where the part begins on each axis of the source, and how long it is.
    axes : list of int
        Those of the source that are axes of the part; it has one element on any other one.
    """

    buffer: Buffer
    source: Buffer
    region: list[tuple[PrimExpr, PrimExpr]] | None = None
    axes: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Evaluate(Stmt):
    """``T.evaluate(value)``: a call for its effect."""

    value: PrimExpr


@dataclasses.dataclass(eq=False)
class Jump(Stmt):
    """A statement after which the next one is not executed."""


@dataclasses.dataclass(eq=False)
class Break(Jump):
    """``break``: the end of the loop around it."""


@dataclasses.dataclass(eq=False)
class Continue(Jump):
    """``continue``: the end of an iteration of the loop around it."""


@dataclasses.dataclass(eq=False)
class Return(Jump):
    """``return value``, or ``T.ret(value)``: the end of the function."""

    value: PrimExpr | None = None


@dataclasses.dataclass(eq=False)
class Axis:
    """``var = T.axis.<kind>((min, min + extent), binding)``."""

    var: Var
    kind: str
    min: PrimExpr
    extent: PrimExpr
    binding: PrimExpr


@dataclasses.dataclass(eq=False)
class Block(Stmt):
    """``with T.sblock(name)``: a computation of one point of its iteration domain."""

    name: str
    body: list[Stmt]
    axes: list[Axis] = dataclasses.field(default_factory=list)
    init: list[Stmt] = dataclasses.field(default_factory=list)
    predicates: list[PrimExpr] = dataclasses.field(default_factory=list)
    annotations: dict[str, Any] = dataclasses.field(default_factory=dict)


Param: TypeAlias = "Buffer | Var"


@dataclasses.dataclass(eq=False)
class PrimFunc:
    """A function on buffers and scalars.

    Attributes
    ----------
    name : str
    params : list of Buffer or Var
        In the order in which arguments are passed.
    body : list of Stmt
    attrs : dict
        The attributes of ``T.func_attr``.
    private : bool
        Whether only the module sees it.
    tensors : bool
        Whether it works on tensors and returns those that it updates, not on memory.
    declared : bool
        Whether its body is elsewhere. One on tensors returns its last parameter.
    result : str, optional
        The data type of the scalar that it returns.
    """

    name: str
    params: list[Param]
    body: list[Stmt]
    attrs: dict[str, Any] = dataclasses.field(default_factory=dict)
    private: bool = False
    tensors: bool = False
    declared: bool = False
    result: str | None = None
    span: Span | None = None


def walk(stmts: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yield each statement in `stmts`, parents before children.

    Examples
    --------
    >>> i = Var("i", "int64")
    >>> loop = For(i, const(0, "int64"), const(4, "int64"), [Evaluate(i)])
    >>> [type(stmt).__name__ for stmt in walk([loop])]
    ['For', 'Evaluate']
    """
    for stmt in stmts:
        yield stmt
        for body in children(stmt):
            yield from walk(body)


def children(stmt: Stmt) -> list[list[Stmt]]:
    """Return the bodies of a statement."""
    if isinstance(stmt, For | While):
        return [stmt.body]
    if isinstance(stmt, IfThenElse):
        return [stmt.then_body, stmt.else_body]
    if isinstance(stmt, Block):
        return [stmt.init, stmt.body]
    return []
