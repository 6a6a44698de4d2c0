# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes ``break``, ``continue`` and early ``return`` with conditions.

Statements after a jump run if a flag says that there was none. A loop that may end early
becomes a ``while`` loop, whose variable is in memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from . import expr as _expr
from . import stmt as st
from .expr import BufferLoad, Call, IntImm, PrimExpr, Var

_TRUE, _FALSE = IntImm("bool", 1), IntImm("bool", 0)


def without_jumps(function: st.PrimFunc) -> st.PrimFunc:
    """Return a function that jumps nowhere, but for a return at its end.

    Parameters
    ----------
    function : PrimFunc
        Where it has a result, it returns in the end, whatever comes before.

    Examples
    --------
    >>> i, A = Var("i", "int32"), st.Buffer("A", (4,), "int32")
    >>> store = st.BufferStore(A, i, (i,))
    >>> stop = st.IfThenElse(_expr.compare(_expr.EQ, i, 2), [st.Break()])
    >>> loop = st.For(i, IntImm("int32", 0), IntImm("int32", 4), [stop, store])
    >>> [type(stmt).__name__ for stmt in without_jumps(st.PrimFunc("f", [A], [loop])).body][-1]
    'While'
    """
    body = function.body
    ends_well = bool(body) and isinstance(body[-1], st.Return)
    if not any(map(_has_jumps, body[:-1] if ends_well else body)):
        return function
    return dataclasses.replace(function, body=_Jumps(function).run())


def _has_jumps(stmt: st.Stmt) -> bool:
    return any(isinstance(inner, st.Jump) for inner in st.walk([stmt]))


@dataclasses.dataclass
class _Flags:
    """Flags for the jumps of a loop, or of the function.

    Attributes
    ----------
    skip : Buffer
        Whether there was a jump in this iteration.
    stop : Buffer or None
        Whether there is no other iteration.
    """

    skip: st.Buffer
    stop: st.Buffer | None = None


class _Jumps:
    """Rewrites one function.

    Parameters
    ----------
    function : PrimFunc
    """

    def __init__(self, function: st.PrimFunc) -> None:
        self.function = function
        self.result: st.Buffer | None = None
        if function.result is not None:
            self.result = st.Buffer("result", (), function.result, "local")

    def run(self) -> list[st.Stmt]:
        """Return the body."""
        flags = _Flags(_flag("returned"))
        body = self._guarded(self.function.body, [flags])
        if not any(_is_return(stmt) for stmt in st.walk(self.function.body)):
            return body
        begin: list[st.Stmt] = [st.Alloc(flags.skip), _set(flags.skip, _FALSE)]
        if self.result is None:
            return [*begin, *body]
        end = st.Return(BufferLoad(self.result, ()))
        return [st.Alloc(self.result), *begin, *body, end]

    def _guarded(self, stmts: Sequence[st.Stmt], around: list[_Flags]) -> list[st.Stmt]:
        """Return statements, those after a jump on the condition that there was none."""
        done: list[st.Stmt] = []
        for index, stmt in enumerate(stmts):
            if isinstance(stmt, st.Jump):
                return [*done, *self._jump(stmt, around)]
            done += self._rewritten(stmt, around)
            rest = stmts[index + 1 :]
            if rest and _leaves(stmt):
                others = self._guarded(rest, around)
                skipped = BufferLoad(around[-1].skip, ())
                condition = _expr.logical_not(skipped)
                return [*done, st.IfThenElse(condition, others, span=rest[0].span)]
        return done

    def _jump(self, stmt: st.Jump, around: list[_Flags]) -> list[st.Stmt]:
        """Return the assignments to flags that a jump stands for."""
        left = around if isinstance(stmt, st.Return) else around[-1:]
        stmts: list[st.Stmt] = []
        if isinstance(stmt, st.Return) and stmt.value is not None:
            assert self.result is not None
            stmts.append(_set(self.result, stmt.value))
        for flags in left:
            stmts.append(_set(flags.skip, _TRUE))
            if flags.stop is not None and not isinstance(stmt, st.Continue):
                stmts.append(_set(flags.stop, _TRUE))
        for each in stmts:
            each.span = stmt.span
        return stmts

    def _rewritten(self, stmt: st.Stmt, around: list[_Flags]) -> list[st.Stmt]:
        if isinstance(stmt, st.IfThenElse):
            then, other = (self._guarded(body, around) for body in (stmt.then_body, stmt.else_body))
            return [dataclasses.replace(stmt, then_body=then, else_body=other)]
        if isinstance(stmt, st.Block):
            return [dataclasses.replace(stmt, body=self._guarded(stmt.body, around))]
        if isinstance(stmt, st.For | st.While):
            return self._loop(stmt, around)
        return [stmt]

    def _loop(self, loop: st.For | st.While, around: list[_Flags]) -> list[st.Stmt]:
        jumps = list(_own_jumps(loop.body))
        if not jumps:
            return [dataclasses.replace(loop, body=self._guarded(loop.body, around))]
        flags = _Flags(_flag("skip"))
        begin: list[st.Stmt] = [st.Alloc(flags.skip)]
        ends = any(not isinstance(jump, st.Continue) for jump in jumps)
        if ends:
            flags.stop = _flag("stop")
            begin += [st.Alloc(flags.stop), _set(flags.stop, _FALSE)]
        body = [_set(flags.skip, _FALSE), *self._guarded(loop.body, [*around, flags])]
        for stmt in (*begin, body[0]):
            stmt.span = loop.span
        if flags.stop is None:
            return [*begin, dataclasses.replace(loop, body=body)]
        if isinstance(loop, st.While):
            condition = _unless(flags.stop, loop.condition)
            return [*begin, st.While(condition, body, span=loop.span)]
        return [*begin, *_counted(loop, body, flags.stop)]


def _counted(loop: st.For, body: list[st.Stmt], stop: st.Buffer) -> list[st.Stmt]:
    """Return a loop over integers as one that ends on a flag, too."""
    var = loop.var
    place = st.Buffer(var.name, (), var.dtype, "local")
    limit = Var(f"{var.name}_stop", loop.stop.dtype)
    step = _expr.const(1, var.dtype) if loop.step is None else loop.step
    value = BufferLoad(place, ())
    condition = _unless(stop, _expr.compare(_expr.LT, value, limit))
    inner = [st.Let(var, value), *body, _set(place, _expr.add(var, step))]
    stmts: list[st.Stmt] = [
        st.Let(limit, loop.stop),
        st.Alloc(place),
        _set(place, _expr.cast(var.dtype, loop.min)),
        st.While(condition, inner),
    ]
    for stmt in (*stmts, *inner):
        stmt.span = stmt.span or loop.span
    return stmts


def _unless(flag: st.Buffer, condition: PrimExpr) -> PrimExpr:
    """Return a condition that is not asked for where a flag is set."""
    return Call("bool", "if_then_else", (BufferLoad(flag, ()), _FALSE, condition))


def _flag(name: str) -> st.Buffer:
    return st.Buffer(name, (), "bool", "local")


def _set(buffer: st.Buffer, value: PrimExpr) -> st.BufferStore:
    return st.BufferStore(buffer, _expr.cast(buffer.dtype, value), ())


def _is_return(stmt: st.Stmt) -> bool:
    return isinstance(stmt, st.Return)


def _leaves(stmt: st.Stmt) -> bool:
    """Say whether a statement may end the iteration that it is in."""
    if isinstance(stmt, st.For | st.While):
        return any(map(_is_return, st.walk(stmt.body)))
    return any(_own_jumps([stmt]))


def _own_jumps(stmts: Sequence[st.Stmt]) -> list[Any]:
    """Return the jumps that end an iteration of the loop that some statements are the body of."""
    found: list[Any] = []
    for stmt in stmts:
        if isinstance(stmt, st.Jump):
            found.append(stmt)
        elif isinstance(stmt, st.For | st.While):
            found += filter(_is_return, st.walk(stmt.body))
        else:
            for body in st.children(stmt):
                found += _own_jumps(body)
    return found
