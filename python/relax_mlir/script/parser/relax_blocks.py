# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relax functions: dataflow blocks, branches, sequences and calls with an effect."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlir import ir

from ...core.expr import Var
from ...core.ir import TupleStructInfo
from ...dialects import relax as _ops
from ...tir import Var as ShapeVar
from .frames import Dataflow, NextOperation, SequenceFrame
from .relax_bindings import BindingParser, as_operand, is_empty

if TYPE_CHECKING:
    from .module import ModuleParser


class BlockParser(BindingParser):
    """Parses statements that hold others.

    Parameters
    ----------
    module : ModuleParser
        The program.
    """

    def __init__(self, module: ModuleParser) -> None:
        super().__init__(module)
        # The value of the last statement that binds no name, in a branch without any.
        self._effect: ir.Value | None = None
        self._outputs: list[tuple[str, Var]] | None = None
        self._is_returned = False

    def _visit_expr(self, node: ast.Expr) -> None:
        value = self.eval(node.value)
        is_without_value = isinstance(node.value, ast.Call) and is_empty(value)
        if value is None or value is Ellipsis or is_without_value:
            return
        if isinstance(value, NextOperation):
            self._next = value, node
            return
        if not isinstance(value, ir.Value):
            raise self.error(
                node, f"expected a call with an effect as a statement, but got {value!r}"
            )
        type_ = value.type
        is_void = isinstance(type_, TupleStructInfo) and not type_.fields
        if not is_void and not _is_impure_call(value):
            raise self.error(
                node,
                f"expected a name for this value of type {type_}, as in x = ...; only a call that "
                "returns nothing, or that may have side effects, is a statement",
            )
        self._effect = value

    def _annotation_of_next(self) -> Callable[[ir.Operation], None]:
        """Return a function that applies ``I.annotate`` to an operation, if it was there."""
        said, self._next = self._next, None

        def apply(op: ir.Operation) -> None:
            if said is not None:
                with self.at(said[1]):
                    said[0].apply(op)

        return apply

    def _visit_with(self, node: ast.With) -> None:
        is_plain = len(node.items) == 1 and node.items[0].optional_vars is None
        entered = self.eval(node.items[0].context_expr) if is_plain else None
        if isinstance(entered, SequenceFrame):
            self._sequence(node)
        else:
            self._dataflow_block(node, entered=entered)

    def _sequence(self, node: ast.With) -> None:
        """Write a sequence of bindings in a scope of its own."""
        annotate = self._annotation_of_next()
        dataflow, self.dataflow = self.dataflow, None
        names: list[str] = []
        with self.at(node):
            value = self.builder._sequence(self._branch(node.body, names))
            annotate(value.owner)
        self.dataflow = dataflow
        self._bind_last(names[0], value)

    def _dataflow_block(
        self, node: ast.With, end: ast.Return | None = None, entered: Any = None
    ) -> None:
        """Write a dataflow block; one that ends the function may hold its return statement."""
        annotate = self._annotation_of_next()
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise self.error(node.items[-1].context_expr, "expected 'with R.dataflow():'")
        if entered is None:
            entered = self.eval(node.items[0].context_expr)
        if not isinstance(entered, Dataflow):
            raise self.error(node.items[0].context_expr, "expected 'with R.dataflow():'")
        if self.dataflow is not None:
            raise self.error(node, "expected a dataflow block outside of another one")
        self._outputs, self.dataflow = None, []
        result = None
        with self.env.scope() as scope:
            with self.at(node):
                with self.builder.dataflow():
                    for statement in node.body if end is None else node.body[:-1]:
                        if self._outputs is not None:
                            message = "expected R.output at the end of the dataflow block"
                            raise self.error(statement, f"{message}, but got more after it")
                        self.statement(statement)
                    if end is not None and end.value is not None:
                        value = self.eval(end.value)
                        with self.at(end):
                            result = self.builder.emit_output(as_operand(value))
                annotate(ir.InsertionPoint.current.block.operations[-1].operation)
            shapes = {name: dim for name, dim in scope.items() if isinstance(dim, ShapeVar)}
        self._leave_dataflow(node, shapes)
        if end is not None and result is not None:
            with self.at(end):
                self.builder.emit_func_output(result)
            self._is_returned = True

    def _leave_dataflow(self, node: ast.With, shapes: dict[str, Any]) -> None:
        """Forget what a dataflow block has bound, but for its outputs and shape variables."""
        names, self.dataflow = self.dataflow or [], None
        for name in names:
            reason = (
                f"'{name}' is bound in the dataflow block of line {node.lineno} and can be used "
                "there only; R.output makes it visible after the block"
            )
            self.env.forget(name, reason)
        for name, dim in shapes.items():
            self.env.bind(name, dim)
        self.last = None
        for name, output in self._outputs or []:
            self.env.bind(name, output.value)
            self.last = (name, output.value)
        self._outputs = None

    def output(self, node: ast.Call) -> None:
        """Make values of a dataflow block visible after it."""
        if self.dataflow is None:
            raise self.error(node, "expected R.output at the end of 'with R.dataflow():'")
        outputs: list[tuple[str, Var]] = []
        for arg in node.args:
            if not isinstance(arg, ast.Name):
                raise self.error(arg, "expected the name of a value of the dataflow block")
            value = self.eval(arg)
            if not isinstance(value, ir.Value) or arg.id not in self.dataflow:
                raise self.error(
                    arg, f"expected a name that the dataflow block binds, but got '{arg.id}'"
                )
            with self.at(arg):
                outputs.append((arg.id, self.builder.emit_output(value)))
        self._outputs = outputs

    def _visit_if(self, node: ast.If) -> None:
        if self.dataflow is not None:
            raise self.error(node, "expected no if statement in a dataflow block")
        if not node.orelse:
            raise self.error(node, "expected an else branch: both branches give a value")
        annotate = self._annotation_of_next()
        cond = self.eval(node.test)
        names: list[str] = []
        with self.at(node):
            cond = as_operand(cond)
            then, otherwise = (self._branch(part, names) for part in (node.body, node.orelse))
            value = self.builder.if_(cond, then, otherwise)
            annotate(value.owner)
        if names[0] != names[1]:
            what = " and ".join(f"'{name}'" if name else "none" for name in names)
            raise self.error(
                node.orelse[-1],
                f"expected both branches to bind the same name last, but got {what}",
            )
        self._bind_last(names[0], value)

    def _bind_last(self, name: str, value: ir.Value) -> None:
        """Bind what branches or a sequence give to the name that they bind, if they bind any."""
        if name:
            self.bind(name, value)
        else:
            self._effect = value

    def _branch(self, statements: list[ast.stmt], names: list[str]) -> Callable[[], Any]:
        """Return a function that writes statements, adds the last name, and returns its value.

        The names that they bind are visible in them only. Without any, the name is empty and the
        value that of the last call.
        """

        def write() -> Any:
            self.last = self._effect = None
            shape_names = set(self.shape_names)
            with self.env.scope():
                self.body(statements)
            self.shape_names = shape_names  # its own are not visible any more
            name, value = self._given()
            if value is None:
                raise self.error(
                    statements[-1], "expected the branch to end with a binding of its value"
                )
            names.append(name)
            return value

        return write

    def _given(self) -> tuple[str, Any]:
        """Return the name and the value of the last binding, or of the last call without one."""
        return ("", self._effect) if self.last is None else self.last


def _is_impure_call(value: ir.Value) -> bool:
    return isinstance(value.owner, (_ops.CallPackedOp, _ops.CallOp))
