# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions as dimensions of the dialect, and back.

A variable of the dialect is its name, one of an expression is an object; `shape_var` returns the
object that stands for a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core import ir as _ir
from . import expr as _expr
from .expr import (
    Add,
    And,
    Call,
    Cast,
    ExprLike,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    PrimExpr,
    Select,
    SizeVar,
    Sub,
    Var,
    cast,
    const,
    convert,
)

_shape_vars: dict[str, SizeVar] = {}


def shape_var(name: str) -> Var:
    """Return the variable that stands for a shape variable of the dialect.

    Parameters
    ----------
    name : str

    Returns
    -------
    Var
        Of type int64, the same one each time.
    """
    _ir.shape_var(name)
    return _shape_vars.setdefault(name, SizeVar(name, "int64"))


def _truth(expr: PrimExpr) -> PrimExpr:
    """Return whether an integer is not 0."""
    if isinstance(expr, Cast) and expr.value.dtype == "bool":
        return expr.value
    return _expr.compare(_expr.NE, expr, 0)


def _number(condition: PrimExpr) -> PrimExpr:
    return cast("int64", condition)


_FROM_DIM: dict[str, Callable[..., PrimExpr]] = {
    "add": _expr.add,
    "mul": _expr.multiply,
    "floordiv": _expr.floordiv,
    "mod": _expr.floormod,
    "min": _expr.minimum,
    "max": _expr.maximum,
    "eq": lambda a, b: _number(_expr.compare(_expr.EQ, a, b)),
    "lt": lambda a, b: _number(_expr.compare(_expr.LT, a, b)),
    "le": lambda a, b: _number(_expr.compare(_expr.LE, a, b)),
    "and": lambda a, b: _number(_expr.logical_and(_truth(a), _truth(b))),
    "or": lambda a, b: _number(_expr.logical_or(_truth(a), _truth(b))),
    "not": lambda a: _number(_expr.logical_not(_truth(a))),
    "select": lambda c, a, b: Select(_truth(c), a, b),
}


def from_dim(dim: Any, variables: Mapping[str, ExprLike] | None = None) -> PrimExpr:
    """Return a dimension of the dialect as an expression.

    Parameters
    ----------
    dim : int, str or relax_mlir.Dim
    variables : mapping of str to PrimExpr, optional
        The values of shape variables. For any other one it is `shape_var`.

    Returns
    -------
    PrimExpr
        Of type int64.

    Examples
    --------
    >>> from_dim("n * 4 + min(m, 3)")
    n * 4 + min(m, int64(3))
    """
    attr = dim if isinstance(dim, _ir.Dim) else _ir.Dim(dim)
    return _from_dim(attr, variables or {})


def _from_dim(dim: _ir.Dim, variables: Mapping[str, ExprLike]) -> PrimExpr:
    if dim.value is not None:
        return const(dim.value, "int64")
    if dim.name is not None:
        known = variables.get(dim.name)
        return shape_var(dim.name) if known is None else cast("int64", known)
    operands = [_from_dim(operand, variables) for operand in dim.operands]
    if len(operands) > 2 and dim.kind != "select":
        first, *rest = operands
        for operand in rest:
            first = _FROM_DIM[dim.kind](first, operand)
        return first
    return _FROM_DIM[dim.kind](*operands)


_TO_DIM: dict[type[PrimExpr], Callable[..., _ir.Dim]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: lambda a, b: a.min(b),
    Max: lambda a, b: a.max(b),
    And: lambda a, b: a.logical_and(b),
    Or: lambda a, b: a.logical_or(b),
    Not: lambda a: a.logical_not(),
    _expr.EQ: lambda a, b: a.equal(b),
    _expr.NE: lambda a, b: a.equal(b).logical_not(),
    _expr.LT: lambda a, b: a.less(b),
    _expr.LE: lambda a, b: a.less_equal(b),
    _expr.GT: lambda a, b: b.less(a),
    _expr.GE: lambda a, b: b.less_equal(a),
    Select: lambda c, a, b: c.select(a, b),
}


def to_dim(expr: ExprLike, names: Mapping[Var, Any] | None = None) -> _ir.Dim:
    """Return an expression as a dimension of the dialect.

    Parameters
    ----------
    expr : PrimExpr, int, str or relax_mlir.Dim
    names : mapping of Var to int, str or relax_mlir.Dim, optional
        The values of variables. For any other one it is its name.

    Raises
    ------
    TypeError
        If the dialect has no such dimension.

    Examples
    --------
    >>> print(to_dim(Var("n", "int64") * 2 // 4))
    #relax.expr<n * 2 floordiv 4>
    """
    if isinstance(expr, (_ir.Dim, str)):
        return _ir.Dim(expr)
    table = {id(variable): dim for variable, dim in (names or {}).items()}
    return _to_dim(convert(expr), table)


def _to_dim(expr: PrimExpr, names: Mapping[int, Any]) -> _ir.Dim:
    if isinstance(expr, IntImm):
        return _ir.Dim(expr.value)
    if isinstance(expr, Var) and not _expr.is_float(expr.dtype):
        known = names.get(id(expr))
        return _ir.shape_var(expr.name) if known is None else _ir.Dim(known)
    if isinstance(expr, Cast) and not _expr.is_float(expr.dtype):
        if expr.dtype == "bool" and expr.value.dtype != "bool":
            return _to_dim(expr.value, names).equal(0).logical_not()
        return _to_dim(expr.value, names)
    make = _TO_DIM.get(type(expr))
    if isinstance(expr, Call) and expr.op == "if_then_else":
        make = _TO_DIM[Select]
    if make is None or _expr.is_float(expr.dtype):
        raise TypeError(f"expected a dimension, integers with +, -, *, //, %, but got {expr}")
    return make(*(_to_dim(operand, names) for operand in expr.operands()))


def same_dim(a: PrimExpr, b: PrimExpr, names: Mapping[Var, Any] | None = None) -> bool:
    """Say whether two dimensions are known to be equal for all values of their variables.

    Parameters
    ----------
    a, b : PrimExpr
    names : mapping of Var to int, str or relax_mlir.Dim, optional
        The values of variables. For any other one it is its name.
    """
    if _expr.structural_equal(a, b):
        return True
    try:
        lhs, rhs = to_dim(a, names), to_dim(b, names)
    except (TypeError, ValueError):
        return False
    return lhs == rhs or lhs.prove_equal(rhs) is True


_expr.FUNCTIONS |= {"from_dim": from_dim, "to_dim": to_dim}
