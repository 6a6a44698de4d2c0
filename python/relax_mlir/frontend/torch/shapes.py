# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes and types that ``torch.export`` found, as StructInfo."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir

from ...core.ir import Dim, PrimStructInfo, TensorStructInfo, TupleStructInfo


def as_expr(size: Any) -> Dim:
    """Return a size, an int or a torch.SymInt, as an expression over shape variables.

    Raises
    ------
    NotImplementedError
        If the size is computed in a way that shape expressions have no form for.
    """
    return _from_sympy(size.node.expr) if isinstance(size, torch.SymInt) else Dim(int(size))


# The functions of sizes that are not of sympy itself, by their names in torch.utils._sympy.
_FUNCTIONS = {
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "PythonMod": operator.mod,
    "Mod": operator.mod,
    "Max": lambda *values: functools.reduce(Dim.max, values),
    "Min": lambda *values: functools.reduce(Dim.min, values),
}


def _from_sympy(expr: Any) -> Dim:
    if expr.is_Symbol:
        return Dim(str(expr))
    if expr.is_Integer:
        return Dim(int(expr))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp.is_positive:
        return functools.reduce(operator.mul, [_from_sympy(expr.base)] * int(expr.exp))
    operands = [_from_sympy(operand) for operand in expr.args]
    if expr.is_Add:
        return functools.reduce(operator.add, operands)
    if expr.is_Mul:
        return functools.reduce(operator.mul, operands)
    if function := _FUNCTIONS.get(type(expr).__name__):
        return function(*operands)
    raise NotImplementedError(f"expected a size of +, *, //, %, min and max, but got {expr}")


def as_shape(sizes: Sequence[Any]) -> list[Dim]:
    """Return the sizes of a tensor as expressions."""
    return [as_expr(size) for size in sizes]


def as_struct_info(value: Any) -> ir.Type:
    """Return the StructInfo of what a node of a graph computes, as its ``meta["val"]`` has it.

    Raises
    ------
    NotImplementedError
        If it is not a tensor, an integer, a float, a bool or a tuple of them.
    """
    if isinstance(value, torch.Tensor):
        return TensorStructInfo(as_shape(value.shape), value.dtype)
    if isinstance(value, (tuple, list)):
        return TupleStructInfo([as_struct_info(field) for field in value])
    if isinstance(value, bool):
        return PrimStructInfo("bool")
    if isinstance(value, (int, torch.SymInt)):
        return PrimStructInfo("int64", value=as_expr(value))
    if isinstance(value, float):
        return PrimStructInfo("float64")
    raise NotImplementedError(f"expected a tensor, a number or a tuple, but got {type(value)}")
