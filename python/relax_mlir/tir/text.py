# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions as text."""

from __future__ import annotations

from collections.abc import Iterable

from .nodes import FUNCTIONS, Imm, IntImm, PrimExpr, StringImm, Var
from .operations import BinaryOp, Call, Cast, Let, Load, Not
from .reductions import Reduce


class _Writer:
    """Writes an expression as text, the first nodes of a large one."""

    def __init__(self, limit: int = 400) -> None:
        self.limit = limit

    def list(self, exprs: Iterable[PrimExpr]) -> str:
        return ", ".join(self.text(expr) for expr in exprs)

    def text(self, expr: PrimExpr, around: int = 0) -> str:
        """Return text, in parentheses inside of an operator that binds more tightly."""
        self.limit -= 1
        if self.limit < 0:
            return "..."
        if isinstance(expr, Var):
            return expr.name
        if isinstance(expr, Imm):
            return self.imm(expr)
        if isinstance(expr, BinaryOp):
            return self.binary(expr, around)
        if isinstance(expr, Load):
            return f"{expr.source.name}[{self.list(expr.indices)}]"
        if isinstance(expr, Cast):
            return f"Cast({expr.dtype!r}, {self.text(expr.value)})"
        if isinstance(expr, Call):
            return f"{expr.op}({self.list(expr.args)})"
        if isinstance(expr, Let):
            return f"Let({expr.var.name}, {self.list(expr.operands())})"
        if isinstance(expr, Reduce):
            return self.reduce(expr)
        if isinstance(expr, Not):
            return f"not {self.text(expr.a, 8)}"
        return f"{type(expr).__name__}({self.list(expr.operands())})"

    def imm(self, expr: Imm) -> str:
        if isinstance(expr, StringImm):
            return repr(expr.value)
        if expr.dtype == "int32":
            return str(expr.value)
        if expr.dtype == "bool":
            return str(bool(expr.value))
        return f"{expr.dtype}({expr.value})"

    def binary(self, expr: BinaryOp, around: int) -> str:
        if not expr.infix:
            return f"{expr.symbol}({self.list(expr.operands())})"
        # A constant takes its data type from the other operand.
        a, b = (
            str(side.value)
            if isinstance(side, IntImm) and not isinstance(other, IntImm) and side.dtype != "bool"
            else self.text(side, level)
            for side, other, level in (
                (expr.a, expr.b, expr.precedence),
                (expr.b, expr.a, expr.precedence + 1),
            )
        )
        text = f"{a} {expr.symbol} {b}"
        return f"({text})" if expr.precedence < around else text

    def reduce(self, expr: Reduce) -> str:
        combined, source = self.list(expr.combiner.result), self.list(expr.source)
        axes = ", ".join(str(axis.var) for axis in expr.axis)
        return f"reduce({combined}, source=[{source}], axis=[{axes}])"


FUNCTIONS["text"] = lambda expr: _Writer().text(expr)
