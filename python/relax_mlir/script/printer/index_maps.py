# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maps of indices as functions of Python."""

from __future__ import annotations

from typing import Any

from mlir import ir


def index_map(attr: ir.AffineMapAttr) -> str:
    """Return a map of indices as a lambda expression.

    Examples
    --------
    >>> from mlir import ir
    >>> with ir.Context():
    ...     attr = ir.Attribute.parse("affine_map<(i, j) -> (j floordiv 4 + i * 2, j mod 4)>")
    ...     print(index_map(attr))
    lambda d0, d1: (d1 // 4 + d0 * 2, d1 % 4)
    """
    map_: Any = attr.value
    params = ", ".join(f"d{i}" for i in range(map_.n_dims))
    results = [_text(expr) for expr in map_.results]
    comma = "," if len(results) == 1 else ""
    return f"lambda {params}: ({', '.join(results)}{comma})"


# By the name of a kind of expression, an operator of Python and how strongly it binds.
_OPERATORS = {
    "AffineAddExpr": ("+", 1),
    "AffineMulExpr": ("*", 2),
    "AffineFloorDivExpr": ("//", 2),
    "AffineModExpr": ("%", 2),
}


def _text(expr: Any, around: int = 0) -> str:
    """Return an expression, in parentheses where what is around it binds at least as strongly."""
    if isinstance(expr, ir.AffineDimExpr):
        return f"d{expr.position}"
    if isinstance(expr, ir.AffineConstantExpr):
        return str(expr.value)
    if isinstance(expr, ir.AffineCeilDivExpr):
        # Python has no such operator: -(-x // y).
        return f"(0 - (0 - {_text(expr.lhs, 2)}) // {_text(expr.rhs, 2)})"
    sign, strength = _OPERATORS[type(expr).__name__]
    text = f"{_text(expr.lhs, strength - 1)} {sign} {_text(expr.rhs, strength)}"
    return f"({text})" if around >= strength else text
