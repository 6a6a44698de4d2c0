# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of tensor programs: ``with`` statements, axes, and what is said of a block."""

from __future__ import annotations

import ast
import contextlib
from typing import Any

from ....tir import expr as tir
from ....tir import stmt as st
from ... import tir_statements as T  # noqa: N812 (as programs call it)
from .expressions import describe_value
from .loops import LoopParser


class BlockParser(LoopParser):
    """Parses ``with`` statements, and the statements of blocks."""

    # The blocks around, outermost first.
    _blocks: list[st.Block]
    _in_init = False

    def _block(self, node: ast.AST, what: str) -> st.Block:
        """Return the block around a node, of which it says something."""
        if not self._blocks:
            raise self.error(node, f"expected {what} in a block")
        return self._blocks[-1]

    # -- with ---------------------------------------------------------------------------------

    def _visit_with(self, node: ast.With) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.env.scope())
            for item in node.items:
                self._enter(stack, item, self.eval(item.context_expr))
            self.statements(node.body)

    def _enter(self, stack: contextlib.ExitStack, item: ast.withitem, frame: Any) -> None:
        """Enter what one item of a ``with`` statement stands for."""
        node, target = item.context_expr, item.optional_vars
        name = target.id if isinstance(target, ast.Name) else None
        if isinstance(frame, T.ForFrame):
            if target is None:
                raise self.error(node, "expected names for the variables of the loops")
            self.enter_loops(stack, target, frame, "grid")
        elif isinstance(frame, T.BlockFrame):
            if target is not None:
                raise self.error(target, "expected no names for a block")
            self._enter_block(stack, node, st.Block(frame.name, []))
        elif isinstance(frame, T.InitFrame):
            self._enter_init(stack, node)
        elif isinstance(frame, T.LetFrame):
            if name is None and frame.var is None:
                raise self.error(node, "expected a name for the value: with T.LetStmt(value) as x")
            self._let_name(node, name or frame.var.name, frame)
        elif isinstance(frame, T.Allocation):
            if name is None:
                raise self.error(node, "expected a name for the buffer: with T.allocate(...) as A")
            self.bind(node, name, frame)
        elif not isinstance(frame, T.Hint) or frame.name != "attr":  # a hint for other targets
            raise self.error(
                node,
                "expected a block, T.init(), T.LetStmt(value), T.allocate(...) or loops, but got "
                f"{describe_value(frame)}",
            )

    def _enter_block(self, stack: contextlib.ExitStack, node: ast.AST, block: st.Block) -> None:
        self.emit(block, node)
        stack.enter_context(self.body(block.body))
        self._blocks.append(block)
        stack.callback(self._blocks.pop)

    def _enter_init(self, stack: contextlib.ExitStack, node: ast.AST) -> None:
        if self._in_init:
            raise self.error(node, "expected T.init in a block")
        block = self._block(node, "T.init")
        if block.init:
            raise self.error(node, "expected one T.init in a block")
        self._in_init = True
        stack.callback(setattr, self, "_in_init", False)
        stack.enter_context(self.body(block.init))

    # -- what is said of a block --------------------------------------------------------------

    def say(self, node: ast.AST, value: T.Hint | T.Where | T.BlockAttr) -> None:
        """Carry out a statement that says something of the block around it."""
        if isinstance(value, T.Hint) and not value.needs_block:
            return
        block = self._block(node, value.describe())
        if isinstance(value, T.Where):
            block.predicates.append(self.as_condition(node, value.condition))
        elif isinstance(value, T.BlockAttr):
            block.annotations.update(value.attrs)

    def _axis(self, node: ast.AST, name: str, axis: T.Axis) -> None:
        """Name an axis of the block."""
        block = self._block(node, f"T.axis.{axis.kind}")
        binding = self.as_expr(node, axis.binding)
        domain = axis.domain
        if domain is None:  # T.axis.remap
            loop = next((loop for loop in self._loops if loop.var is binding), None)
            if loop is None:
                raise self.error(
                    node, f"expected variables of loops in T.axis.remap, but got {binding}"
                )
            domain = (loop.min, loop.extent)
        start, extent = (self.as_expr(node, end) for end in domain)
        var = tir.Var(name, extent.dtype)
        block.axes.append(st.Axis(var, axis.kind, start, extent, binding))
        self.env.bind(name, var)
