# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks through scalar expressions: visiting, replacing, folding and comparing nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._arguments import shown
from .arithmetic import (
    add,
    compare,
    div,
    floordiv,
    floormod,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    subtract,
    truncmod,
)
from .dtypes import bits, is_int, is_uint
from .nodes import FUNCTIONS, ExprLike, Imm, IntImm, PrimExpr, SizeVar, Var, convert
from .operations import (
    Add,
    And,
    Call,
    Cast,
    CmpOp,
    Div,
    FloorDiv,
    FloorMod,
    Let,
    Load,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
    cast,
)
from .reductions import Reduce


def post_order_visit(expr: PrimExpr, visit: Callable[[PrimExpr], object]) -> None:
    """Call a function on each node of an expression once, operands first."""
    seen: set[int] = set()
    stack: list[tuple[PrimExpr, bool]] = [(expr, False)]
    while stack:
        node, done = stack.pop()
        if done:
            visit(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(node.operands()))


def transform(expr: PrimExpr, replace: Callable[[PrimExpr], PrimExpr | None]) -> PrimExpr:
    """Return the expression with nodes replaced.

    Parameters
    ----------
    expr : PrimExpr
    replace : callable
        Returns what takes the place of a node, or None where its operands are looked at.
    """
    done: dict[int, PrimExpr] = {}
    stack = [(expr, False)]
    while stack:
        node, is_ready = stack.pop()
        if id(node) in done:
            continue
        if is_ready:
            old = node.operands()
            new = [done[id(operand)] for operand in old]
            changed = any(a is not b for a, b in zip(old, new, strict=True))
            done[id(node)] = node.rebuild(new) if changed else node
            continue
        result = replace(node)
        if result is not None:
            done[id(node)] = result
        else:
            stack.append((node, True))
            stack.extend((operand, False) for operand in node.operands())
    return done[id(expr)]


def substitute(expr: ExprLike, values: Mapping[Var, ExprLike]) -> PrimExpr:
    """Return the expression with variables replaced, all at once.

    Raises
    ------
    TypeError
        If a key is no variable, as where it is the name of one.

    Examples
    --------
    >>> n = Var("n", "int64")
    >>> substitute(n * 4 + 1, {n: 2})
    int64(9)
    """
    for variable in values:
        if not isinstance(variable, Var):
            raise TypeError(f"expected variables to replace, but got {shown(variable)}")
    table = {id(variable): convert(value) for variable, value in values.items()}

    def replace(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, Var):
            return None
        value = table.get(id(node))
        return node if value is None else cast(node.dtype, value)

    return simplify(transform(convert(expr), replace))


_FOLDERS: dict[type[PrimExpr], Callable[..., PrimExpr]] = {
    Add: add,
    Sub: subtract,
    Mul: multiply,
    Div: div,
    Mod: truncmod,
    FloorDiv: floordiv,
    FloorMod: floormod,
    Min: minimum,
    Max: maximum,
    And: logical_and,
    Or: logical_or,
    Not: logical_not,
}


def simplify(expr: PrimExpr) -> PrimExpr:
    """Return the expression with constants folded."""
    done: dict[int, PrimExpr] = {}

    def visit(node: PrimExpr) -> None:
        old = node.operands()
        new = [done[id(operand)] for operand in old]
        folder = _FOLDERS.get(type(node))
        if isinstance(node, CmpOp):
            done[id(node)] = compare(type(node), *new)
        elif folder is not None:
            try:
                done[id(node)] = folder(*new)
            except ZeroDivisionError:
                done[id(node)] = node.rebuild(new)
        else:
            changed = any(a is not b for a, b in zip(old, new, strict=True))
            done[id(node)] = node.rebuild(new) if changed else node

    post_order_visit(expr, visit)
    return done[id(expr)]


def undefined_vars(expr: PrimExpr) -> list[Var]:
    """Return the variables of an expression that it does not bind itself, each once."""
    found: dict[int, Var] = {}
    bound: set[int] = set()

    def visit(node: PrimExpr) -> None:
        if isinstance(node, Var):
            found[id(node)] = node
        elif isinstance(node, Let):
            bound.add(id(node.var))
        elif isinstance(node, Reduce):
            bound.update(id(axis.var) for axis in node.axis)
            for axis in node.axis:
                for end in (axis.dom.min, axis.dom.extent):
                    post_order_visit(end, visit)

    post_order_visit(expr, visit)
    return [variable for key, variable in found.items() if key not in bound]


def is_non_negative(expr: PrimExpr) -> bool:
    """Say whether an integer is certain not to be negative.

    Examples
    --------
    >>> n, i = SizeVar("n", "int64"), Var("i", "int64")
    >>> is_non_negative(n * 4 + 1), is_non_negative(n - 1), is_non_negative(i)
    (True, False, False)
    """
    known: dict[int, bool] = {}

    def visit(node: PrimExpr) -> None:
        known[id(node)] = _is_natural(node, [known[id(operand)] for operand in node.operands()])

    post_order_visit(expr, visit)
    return known[id(expr)]


def _is_natural(expr: PrimExpr, operands: Sequence[bool]) -> bool:
    """Say whether an integer is not negative, given which of its operands are not."""
    if isinstance(expr, IntImm):
        return expr.value >= 0
    if isinstance(expr, SizeVar) or is_uint(expr.dtype):
        return True
    if isinstance(expr, (Add, Mul, FloorDiv, Div, Min)):
        return all(operands)
    if isinstance(expr, Max):
        return any(operands)
    if isinstance(expr, FloorMod):
        return operands[1]
    if isinstance(expr, Cast):
        wider = is_int(expr.dtype) and bits(expr.dtype) >= bits(expr.value.dtype)
        return wider and is_int(expr.value.dtype) and operands[0]
    return False


def payload(expr: PrimExpr) -> tuple[Any, ...]:
    """Return the properties that distinguish nodes of one class besides their operands."""
    if isinstance(expr, Imm):
        return (expr.value,)
    if isinstance(expr, Load):
        return (id(expr.source),)
    if isinstance(expr, Call):
        return (expr.op,)
    if isinstance(expr, (Let, Reduce)):
        return (id(expr),)
    return ()


def structural_equal(lhs: ExprLike, rhs: ExprLike) -> bool:
    """Say whether two expressions are the same: of the same nodes, of the same variables.

    Constants are compared by their value, not their data type.

    Examples
    --------
    >>> n = Var("n", "int64")
    >>> structural_equal(n + 1, n + 1), structural_equal(n + 1, n), structural_equal(n, Var("n"))
    (True, False, False)
    """
    seen: set[tuple[int, int]] = set()
    pairs = [(convert(lhs), convert(rhs))]
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            if a.value != b.value:
                return False
            continue
        if type(a) is not type(b) or isinstance(a, Var) or a.dtype != b.dtype:
            return False
        if payload(a) != payload(b) or len(a.operands()) != len(b.operands()):
            return False
        pairs.extend(zip(a.operands(), b.operands(), strict=True))
    return True


FUNCTIONS |= {"structural_equal": structural_equal, "substitute": substitute}
