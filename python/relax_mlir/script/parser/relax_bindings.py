# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relax functions: statements that bind names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mlir import ir

from ... import op as _op
from ...builder.block_builder import BlockBuilder
from ...core.expr import GlobalVar, Var, as_value
from ...core.ir import ShapeStructInfo, TupleStructInfo
from ...dialects import relax as _ops
from ...tir import Var as ShapeVar
from ..annotations import as_annotation, as_dim
from ..operators import argument
from .frames import MetaVar, NextOperation
from .signature import SignatureParser

if TYPE_CHECKING:
    from .module import ModuleParser


class BindingParser(SignatureParser):
    """Parses statements of Relax functions.

    Parameters
    ----------
    module : ModuleParser
        The program.
    """

    def __init__(self, module: ModuleParser) -> None:
        super().__init__(module.source, module.env)
        self.module = module
        self.builder: BlockBuilder = module.builder
        # The name and the value that the last statement bound, for branches.
        self.last: tuple[str, Any] | None = None
        # The names that a dataflow block has bound so far; None outside of one.
        self.dataflow: list[str] | None = None
        # The annotation of the next statement by the one before, and its place.
        self._next: tuple[NextOperation, ast.AST] | None = None

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        method = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(node, _instead(node))
        self.module.note_warnings(node)
        if self._next is not None and not isinstance(node, ast.If | ast.With):
            raise self.error(
                node, "expected an if statement, a dataflow block or I.seq after I.annotate"
            )
        method(node)
        self.module.note_warnings(node)

    def body(self, statements: list[ast.stmt]) -> None:
        """Write statements."""
        for statement in statements:
            self.statement(statement)

    def _visit_pass(self, node: ast.Pass) -> None:
        pass

    # Their effect on names of Python holds anyway.
    _visit_global = _visit_nonlocal = _visit_pass

    def _visit_return(self, node: ast.Return) -> None:
        raise self.error(
            node, "expected the return statement at the end of the function, but got it in a block"
        )

    def _visit_assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            names = " = ".join(map(ast.unparse, node.targets))
            raise self.error(node.targets[1], f"expected one name on the left, but got {names}")
        if isinstance(node.value, ast.Name) and self.env.get(node.value.id) is self.module.names:
            self.env.bind(_name_of(node.targets[0]), self.module.names)
            return
        value = self.eval(node.value)
        if isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Name):
            self._alias(node.targets[0], value)
            return
        self._bind_target(node.targets[0], value)

    def _alias(self, target: ast.Name, value: Any) -> None:
        """Bind another name to a value, which keeps its own."""
        if isinstance(value, ShapeVar):
            self._declare(target, target.id, value)
            return
        self.env.bind(target.id, value)
        if isinstance(value, ir.Value):
            self.last = (target.id, value)
            if self.dataflow is not None:
                self.dataflow.append(target.id)

    def _visit_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.error(node, "expected a value after the annotation")
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "expected a name before the annotation")
        with self.implicit(self.implicit_shape_var):
            given = self.eval(node.annotation)
        with self.at(node.annotation):
            declared = as_annotation(given).struct_info()
        value = argument(self.eval(node.value))
        is_stated = isinstance(value, ir.Value) and value.type == declared
        if isinstance(node.value, ast.Name) and is_stated:
            self._alias(node.target, value)
            return
        if is_empty(value) and isinstance(declared, TupleStructInfo) and not declared.fields:
            self.env.bind(node.target.id, value)  # that of a call without one
            return
        with self.at(node.value):
            if isinstance(value, tuple) and isinstance(declared, ShapeStructInfo):
                value = _op.shape([as_dim(item) for item in value])
            bindable = _op.const(value) if isinstance(value, (bool, int, float)) else value
            result = self.builder.emit(as_operand(bindable), node.target.id, declared)
        self.bind(node.target.id, result)

    def _declare(self, node: ast.AST, name: str, made: ShapeVar) -> None:
        """Have a name stand for a shape variable, as ``n = T.int64()`` says."""
        if made.name not in ("", name):
            raise self.error(
                node, f"expected the name '{made.name}' of the shape variable, but got '{name}'"
            )
        old = self.env.bound(name)
        if isinstance(old, ShapeVar):
            if made.dtype != old.dtype:
                raise self.error(
                    node,
                    f"expected a variable of type {old.dtype}, as before, but got {made.dtype}",
                )
            return
        if old is not None:
            raise self.error(
                node, f"expected a new name for the shape variable, but '{name}' is a value"
            )
        is_shape = made.dtype == "int64"
        variable = self._new_shape_var(name) if is_shape else ShapeVar(name, made.dtype)
        self.env.bind(name, variable)

    def _bind_target(self, target: ast.AST, value: Any) -> None:
        """Bind the names on the left of an assignment."""
        self.assign(target, value, lambda name, item: self._bind_name(target, name, item))

    def _bind_name(self, node: ast.AST, name: str, value: Any) -> None:
        if isinstance(value, ShapeVar):
            self._declare(node, name, value)
            return
        with self.at(node):
            self.bind(name, self._bindable(value))

    def _bindable(self, value: Any) -> Any:
        """Return the value to bind a name to: numbers and tuples become values of the program."""
        if isinstance(value, MetaVar):
            return value.value
        if isinstance(value, (bool, int, float)):
            return _op.const(value)
        if isinstance(value, tuple) and _has_values(value):
            return as_operand(value)
        return value

    def bind(self, name: str, value: Any) -> None:
        """Have a name stand for a value from now on."""
        if isinstance(value, Var):
            value = value.value
        if isinstance(value, ir.Value):
            self._name(value, name)
            self.last = (name, value)
            if self.dataflow is not None:
                self.dataflow.append(name)
        self.env.bind(name, value)

    def _name(self, value: ir.Value, name: str) -> None:
        """Keep a name with the operation of a value, if it has none yet."""
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.location.is_a_name():
            return
        if isinstance(owner, _ops.DataflowOp):
            return
        owner.location = ir.Location.name(name, childLoc=owner.location)


def as_operand(value: Any) -> ir.Value:
    """Return a value of the program for what a program has written."""
    return as_value(argument(value))


def is_empty(value: Any) -> bool:
    """Say whether a value is the empty tuple of Python, which calls without a value return."""
    return isinstance(value, tuple) and not value


def _name_of(node: ast.AST) -> str:
    assert isinstance(node, ast.Name)
    return node.id


def _has_values(value: Any) -> bool:
    """Say whether a tuple holds a value of a program; one of Python values stays one."""
    if isinstance(value, tuple):
        return any(_has_values(field) for field in value)
    return isinstance(value, (ir.Value, Var, GlobalVar))


def _instead(node: ast.stmt) -> str:
    """Return the replacement of a statement that a Relax function cannot have."""
    kind = type(node).__name__
    instead = {
        "For": "a recursive function in place of a for loop",
        "While": "a recursive function in place of a while loop",
        "AugAssign": "a binding such as x = x + y in place of an assignment with an operator",
        "Assert": "R.assert_op in place of assert",
    }
    return f"expected {instead.get(kind, f'no statement of the kind {kind} in a Relax function')}"
