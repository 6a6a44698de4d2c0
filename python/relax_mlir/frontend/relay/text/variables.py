# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The variables of an expression."""

from __future__ import annotations

from collections.abc import Iterator

from .. import ast


def bound_vars(expr: ast.Expr) -> Iterator[ast.Var]:
    """Yield the variables that an expression itself binds, and not those inside."""
    if isinstance(expr, ast.Function):
        yield from expr.params
    elif isinstance(expr, ast.Let):
        yield expr.var
    elif isinstance(expr, ast.Match):
        for clause in expr.clauses:
            yield from ast.pattern_vars(clause.pattern)


def free_vars(root: ast.Expr) -> list[ast.Var]:
    """Return the variables that are used and not bound, in the order of their first use.

    Examples
    --------
    >>> x, y = ast.Var("x"), ast.Var("y")
    >>> [var.name for var in free_vars(ast.Function([x], ast.Tuple([y, x])))]
    ['y']
    """
    used, bound = list[ast.Var](), set[int]()
    for expr in ast.post_order(root):
        bound.update(id(var) for var in bound_vars(expr))
        if isinstance(expr, ast.Var):
            used.append(expr)
    return [var for var in used if id(var) not in bound]
