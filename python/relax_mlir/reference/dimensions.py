# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of expressions over shape variables (GR01), and of the types that contain them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from mlir import ir

from ..core.ir import (
    Dim,
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .values import Shape

#: Shape variables that are bound: to a dimension, or to a shape as a whole.
Dims = Mapping[str, Any]

# Comparisons and connectives are 1 or 0; what is not 0 is true.
_OPERATIONS: dict[str, Callable[..., int]] = {
    "add": lambda *terms: sum(terms),
    "sub": lambda a, b: a - b,
    "mul": lambda *factors: math.prod(factors),
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c else b,
    "not": lambda a: int(not a),
    "and": lambda a, b: int(bool(a) and bool(b)),
    "or": lambda a, b: int(bool(a) or bool(b)),
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
}


class UnboundError(ValueError):
    """A shape variable is used before it is bound."""


def evaluate(expr: Dim, dims: Dims) -> int:
    """Return the value of an expression (GR01).

    Parameters
    ----------
    expr : Dim
    dims : mapping of str to int

    Raises
    ------
    ZeroDivisionError
        If a divisor is 0.
    ValueError
        If the value needs more than 64 bits, or a variable is not bound.

    Examples
    --------
    >>> evaluate(Dim("n * 4 floordiv m"), {"n": 3, "m": 5})
    2
    """
    number = _exact(expr, dims)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"dimension {expr.text}: expected a value of 64 bits, but it is {number}")
    return number


def _exact(expr: Dim, dims: Dims) -> int:
    if expr.kind == "int":
        assert expr.value is not None
        return expr.value
    if expr.kind == "var":
        assert expr.name is not None
        if expr.name not in dims:
            raise UnboundError(f"expected shape variable {expr.name!r} to be bound")
        return int(dims[expr.name])
    operands = [_exact(operand, dims) for operand in expr.operands]
    if expr.kind in ("floordiv", "mod") and operands[1] == 0:
        raise ZeroDivisionError(f"dimension {expr.text}: the divisor is zero")
    return _OPERATIONS[expr.kind](*operands)


def evaluate_all(shape: ShapeExpr, dims: Dims) -> Shape:
    """Return the values of dimensions, evaluated from left to right (SE01)."""
    return Shape(evaluate(dim, dims) for dim in shape.dims)


# ------------------------------------------------------------------------------
# Types
# ------------------------------------------------------------------------------


def resolve(type_: ir.Type, dims: Dims) -> ir.Type:
    """Return a type with the numbers that shape variables are bound to.

    Examples
    --------
    >>> print(resolve(TensorStructInfo(("n", "m"), "float32"), {"n": 3}))
    !relax.tensor<[3, m], f32>
    """
    if isinstance(type_, TensorStructInfo):
        shape = _shape(type_.shape, type_.shape_var, dims)
        if shape is not None:
            return TensorStructInfo(shape, type_.element_type)
        return TensorStructInfo(None, type_.element_type, ndim=type_.ndim)
    if isinstance(type_, ShapeStructInfo):
        shape = _shape(type_.values, type_.var, dims)
        return ShapeStructInfo(ndim=type_.ndim) if shape is None else ShapeStructInfo(shape)
    if isinstance(type_, PrimStructInfo):
        value = None if type_.value is None else _substitute(type_.value, dims)
        return PrimStructInfo(type_.element_type, value)
    if isinstance(type_, TupleStructInfo):
        return TupleStructInfo([resolve(field, dims) for field in type_.fields])
    if isinstance(type_, FuncStructInfo) and type_.derive is None:
        params = [resolve(param, dims) for param in type_.params]
        return FuncStructInfo(params, resolve(type_.ret, dims), type_.is_pure)
    return type_


def _shape(shape: ShapeExpr | None, variable: str | None, dims: Dims) -> Any:
    if variable is not None:
        return dims.get(variable)
    return None if shape is None else [_substitute(dim, dims) for dim in shape.dims]


def _substitute(expr: Dim, dims: Dims) -> Dim:
    known = {name: dims[name] for name in expr.variables if isinstance(dims.get(name), int)}
    return expr.substitute(known)
