# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of tensor programs, and the jumps out of them: break, continue and return."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ....tir import expr as tir
from ....tir import stmt as st
from ... import tir_statements as T  # noqa: N812 (as programs call it)
from ..expressions import unpack
from .assignments import AssignmentParser
from .expressions import describe_value

_LOOPS = (
    "expected a loop over range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll or "
    "T.thread_binding"
)


def _range(start: Any, stop: Any = None, step: Any = None) -> T.ForFrame:
    return T.serial(start, stop, step=step)


class LoopParser(AssignmentParser):
    """Parses loops and jumps."""

    # The loops around, outermost first, and the kinds of the statements that they stand for: one of
    # several variables is "grid".
    _loops: list[st.For]
    _kinds: list[str]
    # The data type of the scalar that the function returns.
    _result: str | None

    # -- for ----------------------------------------------------------------------------------

    def _visit_for(self, node: ast.For) -> None:
        self._refuse_else(node)
        frame = self._loop(node.iter)
        kind = frame.kind if len(frame.ranges) == 1 or frame.kind != "serial" else "grid"
        with self.env.scope(), contextlib.ExitStack() as stack:
            self.enter_loops(stack, node.target, frame, kind)
            self.statements(node.body)

    def _refuse_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise self.error(node.orelse[0], "expected no else after a loop")

    def _loop(self, node: ast.expr) -> T.ForFrame:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and self.env.get(node.func.id) is range
        ):
            frame = self.call(node, _range)
        else:
            frame = self.eval(node)
        if isinstance(frame, range):
            frame = T.serial(frame.start, frame.stop, step=frame.step)
        if not isinstance(frame, T.ForFrame):
            raise self.error(node, f"{_LOOPS}, but got {describe_value(frame)}")
        return frame

    def enter_loops(
        self, stack: contextlib.ExitStack, target: ast.expr, frame: T.ForFrame, kind: str
    ) -> None:
        """Write nested loops, whose variables a target names, and enter the innermost one."""
        names = self._loop_names(target, len(frame.ranges))
        loops: list[st.For] = []
        for (place, name), (start, stop) in zip(names, frame.ranges, strict=True):
            var = tir.Var(name, stop.dtype)
            options = frame.kind, frame.step, frame.thread, frame.annotations
            loops.append(st.For(var, start, stop, [], *options))
            self.emit(loops[-1], place)
            stack.enter_context(self.body(loops[-1].body))
            self.env.bind(name, var)
        self._bind_variables(target, [loop.var for loop in loops])
        stack.enter_context(self._inside(loops, kind))

    def _loop_names(self, target: ast.expr, count: int) -> list[tuple[ast.AST, str]]:
        """Return names of the variables of a loop, and where they stand."""
        if isinstance(target, ast.Name):
            numbered = [f"{target.id}_{i}" for i in range(count)]
            return [(target, name) for name in ([target.id] if count == 1 else numbered)]
        if not isinstance(target, ast.Tuple | ast.List):
            raise self.error(target, "expected the names of variables")
        starred = any(isinstance(element, ast.Starred) for element in target.elts)
        if not starred and len(target.elts) != count:
            raise self.error(
                target,
                f"expected {count} variables, one for each range, but got {len(target.elts)}",
            )
        names: list[tuple[ast.AST, str]] = []
        for element, positions in self.apply(target, unpack, target, range(count)):
            if isinstance(element, ast.Starred):
                name = self.name_of(element.value)
                names.extend((element.value, f"{name}_{i}") for i in range(len(positions)))
            else:
                names.append((element, self.name_of(element)))
        return names

    def _bind_variables(self, target: ast.expr, variables: Sequence[tir.Var]) -> None:
        """Bind the names of a target that stand for several variables."""
        is_one = isinstance(target, ast.Name) and len(variables) == 1
        self.assign(target, variables[0] if is_one else tuple(variables), self.env.bind)

    @contextlib.contextmanager
    def _inside(self, loops: Sequence[st.For], kind: str) -> Iterator[None]:
        """Note the loops whose body is parsed."""
        count = len(self._loops)
        self._loops.extend(loops)
        self._kinds.append(kind)
        try:
            yield
        finally:
            del self._loops[count:]
            self._kinds.pop()

    # -- while, and jumps ---------------------------------------------------------------------

    def _visit_while(self, node: ast.While) -> None:
        self._refuse_else(node)
        loop = st.While(self.as_condition(node.test, self.eval(node.test)), [])
        with self.env.scope(), self.body(loop.body), self._inside([], "serial"):
            self.statements(node.body)
        self.emit(loop, node)

    def _visit_break(self, node: ast.Break) -> None:
        if not self._kinds:
            raise self.error(node, "expected break in a loop")
        if self._kinds[-1] == "grid":
            raise self.error(node, "expected break in a loop of one variable")
        if self._kinds[-1] != "serial":
            raise self.error(node, "expected no break in a loop that is not serial")
        self.emit(st.Break(), node)

    def _visit_continue(self, node: ast.Continue) -> None:
        if not self._kinds:
            raise self.error(node, "expected continue in a loop")
        self.emit(st.Continue(), node)

    def _visit_return(self, node: ast.Return) -> None:
        self.return_(node, None if node.value is None else self.eval(node.value))

    def return_(self, node: ast.AST, value: Any) -> None:
        """Return from the function."""
        if any(kind not in ("serial", "grid") for kind in self._kinds):
            raise self.error(node, "expected no return in a loop that is not serial")
        self._is_returned = len(self._bodies) == 1
        if value is None:
            if self._result is not None:
                raise self.error(node, f"expected a value of type {self._result} to return")
            self.emit(st.Return(), node)
            return
        if self._result is None:
            raise self.error(
                node,
                "expected the data type of the result before this, as in def f(...) -> T.bool",
            )
        self.emit(st.Return(self.cast(node, value, self._result)), node)
