# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of Relax functions: Python's, with the values that operations have as results."""

from __future__ import annotations

import ast
import functools
from typing import Any

from mlir import ir

from ...core.expr import GlobalVar
from ..calls import call
from ..inspection import inspector
from ..state import SpecialForm
from .expressions import Evaluator

# Syntax that Python has no method for, with its replacement.
_INSTEAD: dict[type[ast.AST], str] = {
    ast.MatMult: "R.matmul in place of the operator @",
    ast.Eq: "R.equal in place of ==",
    ast.NotEq: "R.not_equal in place of !=",
    ast.Not: "R.logical_not in place of not",
    ast.And: "R.logical_and in place of and",
    ast.Or: "R.logical_or in place of or",
    ast.IfExp: "an if statement in place of a conditional expression",
}


class RelaxEvaluator(Evaluator):
    """Evaluates expressions of Relax functions.

    Parameters
    ----------
    source : Source
    env : Environment
    """

    def refuse(self, node: ast.AST, operation: type[ast.AST], *values: Any) -> None:
        """Raise an error if Python has no method of values for an operation."""
        if operation in _INSTEAD and any(isinstance(value, ir.Value) for value in values):
            raise self.error(node, f"expected {_INSTEAD[operation]} for values of a Relax function")

    def member(self, node: ast.Attribute, base: Any) -> Any:
        """Return the attribute of a value; of a tensor, what is read of it."""
        read = inspector(base, node.attr)
        return super().member(node, base) if read is None else read(base)

    def call(self, node: ast.Call, function: Any) -> Any:
        """Call something; a macro or a function of the module too."""
        if isinstance(function, SpecialForm):
            return function.evaluate(self, node)
        if isinstance(function, (GlobalVar, ir.Value)):
            function = functools.partial(call, function)
        return super().call(node, function)
