# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assignments in tensor programs: what names stand for, and elements of buffers.

A number that a name is assigned once is a ``let``; where the name is assigned again, it lives in
memory. Anything else that a name is assigned (a buffer, an axis, a value of Python) it stands for.
"""

from __future__ import annotations

import ast
from typing import Any, ClassVar

from ....tir import expr as tir
from ....tir import stmt as st
from ... import tir_statements as T  # noqa: N812 (as programs call it)
from ..expressions import unpack
from .buffers import BufferParser
from .expressions import describe_value

_NUMBERS = tir.PrimExpr | int | float


def count_assignments(function: ast.FunctionDef) -> dict[str, int]:
    """Return how often each name is assigned to; one with an operator was assigned to before."""
    counts: dict[str, int] = {}
    for child in ast.walk(function):
        targets: list[ast.expr] = []
        if isinstance(child, ast.Assign):
            targets = child.targets
        elif isinstance(child, ast.AugAssign):
            targets = [child.target, child.target]
        elif isinstance(child, ast.AnnAssign):
            targets = [child.target]
        for target in targets:
            if isinstance(target, ast.Name):
                counts[target.id] = counts.get(target.id, 0) + 1
    return counts


class AssignmentParser(BufferParser):
    """Parses assignments."""

    # The methods that bind a name to a description, by its type; that of axes is with the blocks.
    _bindings: ClassVar[dict[type, str]] = {
        T.MetaVar: "_meta_var",
        T.MatchBuffer: "_match_buffer",
        T.Allocation: "_allocate",
        T.Axis: "_axis",
        T.Reshape: "_reshape",
        T.LetFrame: "_let_name",
    }

    # How often each name of the function is assigned to.
    _assigned: dict[str, int]

    # -- statements ---------------------------------------------------------------------------

    def _visit_assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.error(node, "expected one target of an assignment")
        value = self.eval(node.value)
        self._assign(node, node.targets[0], value)

    def _visit_augassign(self, node: ast.AugAssign) -> None:
        value = self.binary(node, self.eval(node.target), self.eval(node.value))
        self._assign(node, node.target, value)

    def _visit_annassign(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "expected a name")
        annotation = self.annotation(node.annotation)
        if isinstance(annotation, T.BufferType) and node.value is not None:
            self._assign(node, node.target, self.eval(node.value))
            return
        dtype = self._dtype_of(node.annotation, annotation)
        is_let = isinstance(annotation, T.LetType)
        if node.value is None:
            self._declare(node, node.target.id, dtype, is_let)
            return
        value = self.as_expr(node.value, self.eval(node.value), dtype)
        value = value if dtype is None else self.cast(node.value, value, dtype)
        self._number(node, node.target.id, value, is_let)

    def annotation(self, node: ast.expr) -> Any:
        """Return a type, which may be written as a string."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = self.parse_text(node.value, node, "a type")
        return self.eval(node)

    def _dtype_of(self, node: ast.expr, annotation: Any) -> str | None:
        """Return the data type that the annotation of a number says, if it says one."""
        if isinstance(annotation, T.LetType | tir.Var):
            return annotation.dtype
        if isinstance(annotation, T.DType):
            return annotation.name
        what = describe_value(annotation)
        message = f"expected a data type such as T.int32, or T.let, but got {what}"
        raise self.error(node, message)

    def _declare(self, node: ast.AnnAssign, name: str, dtype: str | None, is_let: bool) -> None:
        """Make a variable without a value."""
        if is_let:
            raise self.error(node, "expected a value for T.let")
        if dtype == "handle":
            raise self.error(node.annotation, "expected the data type of a number")
        if dtype is not None:
            self.scalar(node, name, dtype)

    # -- targets ------------------------------------------------------------------------------

    def _assign(self, node: ast.stmt, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Subscript):
            buffer = self.eval(target.value)
            self.store(target, buffer, self.indices(target.slice), value, node)
        elif isinstance(target, ast.Tuple | ast.List):
            self._assign_tuple(node, target, value)
        elif isinstance(target, ast.Name):
            self.bind(node, target.id, value)
        else:
            raise self.error(target, "expected a name or an element of a buffer")

    def _assign_tuple(self, node: ast.stmt, target: ast.Tuple | ast.List, value: Any) -> None:
        if isinstance(value, T.MetaVar):
            value = value.value
        if isinstance(value, T.Axis | _NUMBERS) or not hasattr(value, "__iter__"):
            message = f"expected {len(target.elts)} values, but got {describe_value(value)}"
            raise self.error(target, message)
        for element, item in self.apply(target, unpack, target, value):
            if isinstance(element, ast.Starred):
                name = self.name_of(element.value)
                items = [self._named(node, f"{name}_{i}", each) for i, each in enumerate(item)]
                self.env.bind(name, items)
            else:
                self._assign(node, element, item)

    def name_of(self, node: ast.expr) -> str:
        """Return the name that a target is."""
        if not isinstance(node, ast.Name):
            raise self.error(node, "expected the name of a variable")
        return node.id

    def _named(self, node: ast.AST, name: str, value: Any) -> Any:
        """Return one of several values of a name with a star; an axis needs a name of its own."""
        if not isinstance(value, T.Axis):
            return value
        self.bind(node, name, value)
        return self.env[name]

    # -- names --------------------------------------------------------------------------------

    def bind(self, node: ast.AST, name: str, value: Any) -> None:
        """Have a name stand for a value, as an assignment does."""
        current = self.env.bound(name)
        is_number = isinstance(value, _NUMBERS)
        if isinstance(current, T.Scalar):
            if not is_number:
                message = f"expected a number for '{name}', but got {describe_value(value)}"
                raise self.error(node, message)
            self.store(node, current.buffer, (), value)
        elif isinstance(current, st.Buffer) and is_number and current.ndim <= 1:
            self.store(node, current, (0,) * current.ndim, value)
        elif isinstance(current, st.Buffer) and self._is_lost(current, name, value):
            what = "a parameter" if current in self._params else "a buffer"
            message = f"expected '{name}[...] = ...', or a new name: '{name}' is {what}"
            raise self.error(node, message)
        elif type(value) in self._bindings:
            getattr(self, self._bindings[type(value)])(node, name, value)
        elif isinstance(value, tir.Var) and not (value.name and self._assigned.get(name, 0) > 1):
            is_new = not value.name  # n = T.int64()
            self.env.bind(name, tir.Var(name, value.dtype) if is_new else value)
        elif is_number:
            self._number(node, name, self.as_expr(node, value))
        elif isinstance(value, T.Vector) and value.loads():
            raise self.error(node, "expected a vector to be stored where it is loaded")
        elif isinstance(value, T.Evaluate | T.Store | T.ForFrame | T.BlockFrame | T.FuncAttr):
            message = f"expected a value for '{name}', but got {describe_value(value)}"
            raise self.error(node, message)
        else:
            self.env.bind(name, value)  # a buffer, a part of one, or a value of Python

    def _is_lost(self, buffer: st.Buffer, name: str, value: Any) -> bool:
        """Say whether a buffer would lose its own name to a value, as if that were stored to it."""
        return buffer.name == name and type(value) not in self._bindings

    def _number(self, node: ast.AST, name: str, value: tir.PrimExpr, is_let: bool = False) -> None:
        """Name a number: in memory if it changes."""
        if not is_let and self._assigned.get(name, 0) > 1:
            self.store(node, self.scalar(node, name, value.dtype), (), value)
        else:
            self._let(node, name, value)

    def _let(
        self, node: ast.AST, name: str, value: tir.PrimExpr, var: tir.Var | None = None
    ) -> None:
        """Have a name stand for a value: by a new variable if none is given."""
        var = tir.Var(name, value.dtype) if var is None else var
        self.emit(st.Let(var, self.cast(node, value, var.dtype)), node)
        self.env.bind(name, var)

    def _let_name(self, node: ast.AST, name: str, frame: T.LetFrame) -> None:
        self._let(node, name, self.as_expr(node, frame.value), frame.var)

    def _meta_var(self, node: ast.AST, name: str, value: T.MetaVar) -> None:
        self.env.bind(name, value.value)
