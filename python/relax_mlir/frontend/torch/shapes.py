# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes and types that ``torch.export`` found, as StructInfo."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from mlir import ir
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ...core.ir import Dim, PrimStructInfo, TensorStructInfo, TupleStructInfo

# The variables of sizes that depend on data, and that a program finds out.
_found: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar(
    "found", default=frozenset()
)


@contextlib.contextmanager
def sizes_are_found(names: Iterable[str]) -> Iterator[None]:
    """Take sizes that depend on data as shape variables, in the body of the ``with`` statement."""
    token = _found.set(_found.get() | frozenset(names))
    try:
        yield
    finally:
        _found.reset(token)


def bound_symbols(node: torch.fx.Node) -> list[str]:
    """Return the variables of sizes that the result of a node has first."""
    return [str(symbol) for symbol in node.meta.get("unbacked_bindings") or ()]


def depends_on_data(size: Any) -> bool:
    """Say whether a size is computed from elements of a tensor, and no operator finds it out."""
    if not isinstance(size, torch.SymInt):
        return False
    return any(str(symbol) not in _found.get() for symbol in free_unbacked_symbols(size))


def as_expr(size: Any) -> Dim:
    """Return a size, an int or a torch.SymInt, as an expression over shape variables.

    Raises
    ------
    NotImplementedError
        If the size is computed in a way that shape expressions have no form for.
    """
    if depends_on_data(size):
        raise NotImplementedError(f"size {size}, which depends on data")
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


def _truncated(expr: Any) -> Dim | None:
    """Return the whole part of a size times, or divided by, a number; None for anything else."""
    if type(expr).__name__ == "IntTrueDiv":
        size, divisor = (_from_sympy(operand) for operand in expr.args)
        return size // divisor
    factors = list(expr.args) if expr.is_Mul else []
    floats = [float(factor) for factor in factors if factor.is_Float]
    sizes = [factor.args[0] for factor in factors if type(factor).__name__ == "ToFloat"]
    if len(floats) + len(sizes) != len(factors) or len(sizes) != 1 or len(floats) != 1:
        return None
    over, under = floats[0].as_integer_ratio()
    # Only products with small fractions are the same in floats.
    return (_from_sympy(sizes[0]) * over) // under if 0 < over * under < 1 << 16 else None


def _from_sympy(expr: Any) -> Dim:
    if expr.is_Symbol:
        return Dim(str(expr))
    if expr.is_Integer:
        return Dim(int(expr))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp.is_positive:
        return functools.reduce(operator.mul, [_from_sympy(expr.base)] * int(expr.exp))
    if type(expr).__name__ in ("TruncToInt", "FloorToInt"):
        whole = _truncated(expr.args[0])
        if whole is not None:
            return whole
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
