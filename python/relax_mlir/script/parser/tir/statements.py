# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements of tensor programs: the bodies that they are written to, and branches."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence

from ....tir import stmt as st
from ..expressions import kind_of
from .expressions import ExpressionParser


class StatementParser(ExpressionParser):
    """Parses statements to the body under way, each by the method of its kind."""

    # The bodies under way, innermost last.
    _bodies: list[list[st.Stmt]]
    _is_returned = False

    def span(self, node: ast.AST) -> st.Span:
        """Return where a node is."""
        line, column, *_ = self.source.place(node)
        return st.Span(self.source.filename, line, column)

    def emit(self, stmt: st.Stmt, node: ast.AST) -> None:
        """Append a statement to the body under way."""
        stmt.span = self.span(node)
        self._bodies[-1].append(stmt)

    @contextlib.contextmanager
    def body(self, into: list[st.Stmt]) -> Iterator[None]:
        """Write the statements that are parsed in the ``with`` statement to a body."""
        self._bodies.append(into)
        try:
            yield
        finally:
            self._bodies.pop()

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Parse statements."""
        for node in nodes:
            if self._is_returned:
                raise self.error(node, "expected nothing after the return statement")
            visit = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
            if visit is None:
                message = f"expected a statement of a tensor program, but got {kind_of(node)}"
                raise self.error(node, message)
            visit(node)

    def _visit_pass(self, node: ast.Pass) -> None:
        pass

    # Their effect on names of Python holds anyway.
    _visit_global = _visit_nonlocal = _visit_pass

    def _visit_assert(self, node: ast.Assert) -> None:
        raise self.error(
            node, "expected no assertion: a kernel cannot raise errors; check sizes in Relax"
        )

    def _visit_if(self, node: ast.If) -> None:
        test = self.eval(node.test)
        if isinstance(test, bool):  # decided by Python
            self.statements(node.body if test else node.orelse)
            return
        branch = st.IfThenElse(self.as_condition(node.test, test), [])
        for nodes, body in ((node.body, branch.then_body), (node.orelse, branch.else_body)):
            with self.env.scope(), self.body(body):
                self.statements(nodes)
        self.emit(branch, node)
