# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices of buffers that are certain to be out of bounds.

What is done on a condition is left out, and so are programs with jumps: they may know more. Loops
count as ones that run, unless they are known not to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import stmt as st
from .expr import Call, IntImm, PrimExpr, Var, convert
from .generic import Affine, IterationSpace, loads


def out_of_bounds(function: st.PrimFunc) -> Iterator[tuple[st.Span | None, str]]:
    """Yield where an index is out of bounds, and a message.

    Parameters
    ----------
    function : PrimFunc

    Examples
    --------
    >>> buffer = st.Buffer("A", (4,))
    >>> store = st.BufferStore(buffer, convert(1.0), (convert(4),))
    >>> for _, message in out_of_bounds(st.PrimFunc("f", [buffer], [store])):
    ...     print(message)
    expected indices of 'A' from 0 to 3, but got 4
    """
    jumps = [stmt for stmt in st.walk(function.body) if isinstance(stmt, st.Jump)]
    if jumps and jumps != function.body[-1:]:
        return
    yield from _Checker().body(function.body)


_Found = Iterator[tuple["st.Span | None", str]]


class _Checker:
    """Visits the statements that are always carried out."""

    def __init__(self) -> None:
        self.extents: list[PrimExpr] = []
        self.known: dict[Var, Affine] = {}
        self.space = IterationSpace([], {})

    def body(self, stmts: Sequence[st.Stmt]) -> _Found:
        """Visit statements."""
        for stmt in stmts:
            visit = _VISIT.get(type(stmt))
            if visit is not None:
                yield from visit(self, stmt)

    def _bind(self, var: Var, affine: Affine | None) -> None:
        """Say what a variable stands for, or that nobody knows."""
        if affine is not None:
            self.known[var] = affine
            self.space = IterationSpace(self.extents, self.known)

    def _for(self, stmt: st.For) -> _Found:
        yield from self._reads(stmt, stmt.min, stmt.stop)
        extent, step = stmt.extent, 1 if stmt.step is None else stmt.step
        if isinstance(step, IntImm) and isinstance(extent, IntImm):
            extent, step = convert(-(-extent.value // step.value)), step.value
        if isinstance(extent, IntImm) and extent.value <= 0:
            return
        first = self.space.affine(stmt.min)
        if first is not None and isinstance(step, int):
            self.extents.append(extent)
            self._bind(stmt.var, first.plus(Affine({len(self.extents) - 1: step})))
        yield from self.body(stmt.body)

    def _block(self, stmt: st.Block) -> _Found:
        for axis in stmt.axes:
            yield from self._reads(stmt, axis.binding)
            self._bind(axis.var, self.space.affine(axis.binding))
        if not stmt.predicates:
            yield from self.body(stmt.body)

    def _let(self, stmt: st.Let) -> _Found:
        yield from self._reads(stmt, stmt.value)
        self._bind(stmt.var, self.space.affine(stmt.value))

    def _store(self, stmt: st.BufferStore) -> _Found:
        yield from self._reads(stmt, stmt.value, *stmt.indices)
        yield from self._misfits(stmt, stmt.buffer, stmt.indices)

    def _evaluate(self, stmt: st.Evaluate) -> _Found:
        value = stmt.value
        if isinstance(value, Call) and value.op == "prefetch":
            (element,) = value.args[0].operands()
            yield from self._reads(stmt, *element.operands())  # it may lie behind the end
        else:
            yield from self._reads(stmt, value)

    def _condition(self, stmt: st.IfThenElse | st.While) -> _Found:
        yield from self._reads(stmt, stmt.condition)

    def _reads(self, stmt: st.Stmt, *exprs: PrimExpr) -> _Found:
        for load, guarded in loads(exprs):
            if not guarded:
                yield from self._misfits(stmt, load.source, load.indices)

    def _misfits(self, stmt: st.Stmt, buffer: Any, indices: Sequence[PrimExpr]) -> _Found:
        for index, size in zip(indices, buffer.shape, strict=True):
            affine = self.space.affine(index)
            found = None if affine is None else self.space.out_of_bounds(affine, size)
            if found is not None:
                message = f"expected indices of '{buffer.name}' from 0 to {size - 1}"
                yield stmt.span, f"{message}, but got {found}"


_VISIT: dict[type, Callable[..., _Found]] = {
    st.For: _Checker._for,
    st.Block: _Checker._block,
    st.Let: _Checker._let,
    st.BufferStore: _Checker._store,
    st.Evaluate: _Checker._evaluate,
    st.IfThenElse: _Checker._condition,
    st.While: _Checker._condition,
}
