# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Affine maps as functions of integers, or of arrays of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir

#: From dimensions and symbols to a number.
Expression = Callable[[Sequence[Any], Sequence[Any]], Any]

_BINARY: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (ir.AffineAddExpr, lambda a, b: a + b),
    (ir.AffineMulExpr, lambda a, b: a * b),
    (ir.AffineModExpr, lambda a, b: a % b),
    (ir.AffineFloorDivExpr, lambda a, b: a // b),
    (ir.AffineCeilDivExpr, lambda a, b: -(-a // b)),
]


def expression(expr: ir.AffineExpr) -> Expression:
    """Return an affine expression as a function."""
    if isinstance(expr, ir.AffineConstantExpr):
        value = expr.value
        return lambda dims, symbols: value
    if isinstance(expr, ir.AffineDimExpr):
        position = expr.position
        return lambda dims, symbols: dims[position]
    if isinstance(expr, ir.AffineSymbolExpr):
        index = expr.position
        return lambda dims, symbols: symbols[index]
    for kind, apply in _BINARY:
        if isinstance(expr, kind):
            left, right = expression(expr.lhs), expression(expr.rhs)
            return lambda dims, symbols: apply(left(dims, symbols), right(dims, symbols))
    raise AssertionError(expr)


def affine_map(map_: ir.AffineMap) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a map as a function of its dimensions, followed by its symbols.

    Examples
    --------
    >>> with ir.Context():
    ...     affine_map(ir.AffineMapAttr.parse("affine_map<(i)[n] -> (i + n, 3)>").value)([1, 2])
    [3, 3]
    """
    count = map_.n_dims
    results = [expression(expr) for expr in map_.results]
    return lambda operands: [result(operands[:count], operands[count:]) for result in results]
