# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``T.prim_func``: signatures, attributes, and statements that are expressions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from mlir import ir

from ....tir import expr as tir
from ....tir import stmt as st
from ....tir.lower import LoweringError, lower
from ... import tir_statements as T  # noqa: N812 (as programs call it)
from ..environment import Environment
from ..expressions import constant_of
from ..source import Source
from .assignments import count_assignments
from .blocks import BlockParser
from .expressions import describe_value


def parse_prim_func(
    node: ast.FunctionDef, source: Source, env: Environment, module: ir.Module
) -> ir.Operation:
    """Parse a function decorated with ``T.prim_func`` to the end of a module.

    Parameters
    ----------
    node : ast.FunctionDef
    source : Source
        The text that holds it.
    env : Environment
        The values of names.
    module : mlir.ir.Module

    Returns
    -------
    mlir.ir.Operation
        The ``func.func``, in destination-passing style.

    Raises
    ------
    ScriptError
        If the function is wrong, at the place.
    """
    function = PrimFuncParser(source, env, module).function(node)
    with module.context, ir.InsertionPoint(module.body):
        try:
            return lower(function)
        except LoweringError as error:
            if error.span is None:
                raise source.error(node, str(error)) from None
            raise source.error_at(error.span.line, error.span.column, str(error)) from None


class PrimFuncParser(BlockParser):
    """Parses one function; the classes that it derives from parse what is in it."""

    _attrs: dict[str, Any]

    def function(self, node: ast.FunctionDef) -> st.PrimFunc:
        """Parse the function."""
        self._bodies, self._blocks, self._loops, self._kinds = [], [], [], []
        self._attrs = {}
        self._assigned = count_assignments(node)
        declared = constant_of(node.body[-1]) is Ellipsis
        body: list[st.Stmt] = []
        with self.env.scope(), self.body(body):
            self._signature(node)
            self.statements(node.body)
        if declared and body:
            raise self.error(node.body[-1], "expected no statements in a declaration")
        if self._result is not None and not declared and not _returns(body):
            raise self.error(node, "expected a return statement at the end")
        return st.PrimFunc(
            node.name,
            self._params,
            body,
            attrs=self._attrs,
            private=_option(node, "private"),
            tensors=_option(node, "tensors"),
            declared=declared,
            result=self._result,
            span=self.span(node),
        )

    # -- signatures ---------------------------------------------------------------------------

    def _signature(self, node: ast.FunctionDef) -> None:
        """Read the parameters and the type of the result."""
        arguments = node.args
        for what in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
            if what is not None:
                raise self.error(what, "expected parameters by position only")
        if arguments.defaults:
            raise self.error(arguments.defaults[0], "expected a parameter without a default")
        self._params = [self._parameter(arg) for arg in (*arguments.posonlyargs, *arguments.args)]
        self._handles = {
            id(param): i
            for i, param in enumerate(self._params)
            if isinstance(param, tir.Var) and param.dtype == "handle"
        }
        self._result = self._return_type(node.returns)

    def _parameter(self, arg: ast.arg) -> Any:
        if arg.annotation is None:
            raise self.error(
                arg,
                f"expected a type for parameter '{arg.arg}': T.Buffer(shape, dtype), T.handle or "
                "a data type such as T.int64",
            )
        annotation = self.annotation(arg.annotation)
        if isinstance(annotation, T.BufferType):
            param: Any = self.buffer(arg, arg.arg, annotation)
        elif isinstance(annotation, T.DType):
            param = tir.Var(arg.arg, annotation.name)
        elif isinstance(annotation, tir.Var):
            param = tir.Var(arg.arg, annotation.dtype)
        else:
            raise self.error(
                arg.annotation,
                f"expected T.Buffer(shape, dtype), T.handle or a data type such as T.int64 for "
                f"parameter '{arg.arg}', but got {describe_value(annotation)}",
            )
        self.env.bind(arg.arg, param)
        return param

    def _return_type(self, node: ast.expr | None) -> str | None:
        """Return the data type of the scalar that a function returns, or None."""
        annotation = None if node is None else self.annotation(node)
        name = getattr(annotation, "name", None)
        if annotation is None or name == "void":
            return None
        if not isinstance(annotation, T.DType) or name == "handle":
            raise self.error(
                node,
                "expected None or the data type of a scalar: a function writes tensors to buffers "
                "that it is passed",
            )
        return annotation.name

    # -- statements that are expressions ------------------------------------------------------

    def _visit_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring is one
            self._effect(node.value, self.eval(node.value))

    def _effect(self, node: ast.AST, value: Any) -> None:
        """Carry out what a statement that is an expression stands for."""
        if isinstance(value, list | tuple):
            for element in value:
                self._effect(node, element)
        elif isinstance(value, T.FuncAttr):
            self._attrs.update(value.attrs)
        elif isinstance(value, T.Hint | T.Where | T.BlockAttr):
            self.say(node, value)
        elif isinstance(value, T.Store):
            self.store(node, value.buffer, value.indices, value.value)
        elif isinstance(value, T.Return):
            self.return_(node, value.value)
        elif isinstance(value, T.Evaluate | tir.PrimExpr):
            computed = value.value if isinstance(value, T.Evaluate) else value
            self.emit(st.Evaluate(self.as_expr(node, computed)), node)
        elif isinstance(value, T.Axis):
            raise self.error(node, "expected a name for the axis")
        elif isinstance(value, T.ForFrame | T.BlockFrame | T.InitFrame):
            raise self.error(node, "expected 'for' or 'with' before this")
        elif not isinstance(value, int | float | str | None):
            what = describe_value(value)
            raise self.error(node, f"expected a statement of a tensor program, but got {what}")


def _returns(stmts: Sequence[st.Stmt]) -> bool:
    """Say whether statements return in any case."""
    last = stmts[-1] if stmts else None
    if isinstance(last, st.IfThenElse):
        return _returns(last.then_body) and _returns(last.else_body)
    return isinstance(last, st.Return) or (isinstance(last, st.Block) and _returns(last.body))


def _option(node: ast.FunctionDef, name: str) -> bool:
    """Return an option of the decorator that is given as a constant."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg == name and isinstance(keyword.value, ast.Constant):
                    return bool(keyword.value.value)
    return False
