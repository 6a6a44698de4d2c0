# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes and types that ``torch.export`` found, as StructInfo."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from mlir import ir
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.functions import Max, Min
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ...composites.tensors import facts
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


# What the user calls sizes, by the names that PyTorch gave them.
_names: contextvars.ContextVar[Mapping[str, str] | None] = contextvars.ContextVar(
    "names", default=None
)


@contextlib.contextmanager
def sizes_are_named(sizes: Iterable[Any]) -> Iterator[None]:
    """Call sizes as their ``torch.export.Dim`` is called, in the body of the ``with`` statement.

    Parameters
    ----------
    sizes : iterable of int or torch.SymInt
        Those of the inputs.
    """
    found: dict[str, str] = {}
    for env in {size.node.shape_env for size in sizes if isinstance(size, torch.SymInt)}:
        found |= _names_in(env)
    token = _names.set(found)
    try:
        yield
    finally:
        _names.reset(token)


def _names_in(env: Any) -> dict[str, str]:
    """Return the names of ``Dim`` that PyTorch has kept; a file that is loaded has none."""
    stated = getattr(env, "source_name_to_debug_name", None) or {}
    taken = {str(symbol) for symbol in env.source_to_var.values()}
    found: dict[str, str] = {}
    for source, name in stated.items():
        symbol = env.source_to_var.get(source)
        is_name = re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) and name not in taken
        if is_name and getattr(symbol, "is_Symbol", False):
            found.setdefault(str(symbol), name)
    return found


def symbol_name(symbol: Any) -> str:
    """Return the name of the shape variable for a variable of PyTorch."""
    return (_names.get() or {}).get(str(symbol), str(symbol))


def bound_symbols(node: torch.fx.Node) -> list[str]:
    """Return the variables of sizes that the result of a node has first."""
    return [str(symbol) for symbol in node.meta.get("unbacked_bindings") or ()]


def depends_on_data(size: Any) -> bool:
    """Say whether a size is computed from elements of a tensor, and no operator finds it out."""
    if not isinstance(size, torch.SymInt):
        return False
    return any(str(symbol) not in _found.get() for symbol in free_unbacked_symbols(size))


def relied_on(condition: Any) -> list[tuple[Dim, Dim]]:
    """Return pairs of sizes that are equal where a condition on sizes found in data holds.

    Parameters
    ----------
    condition : torch.SymBool or object
        Others than conditions on such sizes have no pairs, nor have those that sizes differ.
    """
    if not isinstance(condition, torch.SymBool):
        return []
    expr = condition.node.expr
    found = {str(symbol) for symbol in free_unbacked_symbols(condition)}
    if not found or not found <= _found.get():
        return []
    parts = expr.args if type(expr).__name__ == "And" else [expr]
    return [pair for one in parts if one.is_Relational for pair in _equal_sizes(one)]


def _equal_sizes(relation: Any) -> list[tuple[Dim, Dim]]:
    if relation.rel_op not in ("==", "<", "<=", ">", ">="):
        return []
    left, right = _from_sympy(relation.lhs), _from_sympy(relation.rhs)
    if relation.rel_op == "==":
        return [(left, right)]
    less, more = (left, right) if relation.rel_op.startswith("<") else (right, left)
    if len(relation.rel_op) == 1:
        less = less + 1
    return [] if less.prove_less_equal(more, facts(less, more)) else [(less, less.min(more))]


def as_expr(size: Any) -> Dim:
    """Return a size, an int or a torch.SymInt, as an expression over shape variables.

    Raises
    ------
    NotImplementedError
        If the size is computed in a way that shape expressions have no form for.
    """
    if depends_on_data(size):
        raise NotImplementedError(f"size {size}, which depends on data")
    if not isinstance(size, torch.SymInt):
        return Dim(int(size))
    only = _only_value(size)
    return _from_sympy(size.node.expr) if only is None else Dim(only)


def _only_value(size: torch.SymInt) -> int | None:
    """Return the number that a size always is, as ``1 - max(0, 1 - n)`` is 1; None for others.

    PyTorch says of some sizes that they are 2 at least, where it means that they differ from 1.
    """
    expr, ranges = size.node.expr, size.node.shape_env.var_to_range
    if not expr.has(Max, Min):
        return None
    wide = {
        symbol: ValueRanges(min(ranges[symbol].lower, 1), ranges[symbol].upper)
        for symbol in expr.free_symbols
    }
    bounds = bound_sympy(expr, wide)
    return int(bounds.lower) if bounds.is_singleton() else None


# The functions of sizes that are not of sympy itself, by their names in torch.utils._sympy.
_FUNCTIONS = {
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "PythonMod": operator.mod,
    "Mod": operator.mod,
    "Max": lambda *values: functools.reduce(Dim.max, values),
    "Min": lambda *values: functools.reduce(Dim.min, values),
}


# A number as a fraction of sizes. Of larger ones the results of floats may be other numbers.
_Fraction = tuple[Dim, Dim]
_LARGEST = 1 << 16


def _fraction_of_float(value: float) -> _Fraction | None:
    over, under = value.as_integer_ratio()
    return (Dim(over), Dim(under)) if abs(over) * under < _LARGEST else None


def _fraction(expr: Any) -> _Fraction | None:
    """Return a float that is computed of sizes as a fraction; None where that is not exact."""
    kind = type(expr).__name__
    if expr.is_Float:
        return _fraction_of_float(float(expr))
    if kind == "ToFloat":
        return _from_sympy(expr.args[0]), Dim(1)
    if kind == "IntTrueDiv":
        return _from_sympy(expr.args[0]), _from_sympy(expr.args[1])
    if not (expr.is_Mul or kind == "FloatTrueDiv"):
        return None
    factors = [_fraction(factor) for factor in expr.args]
    if kind == "FloatTrueDiv" and factors[1] is not None:
        factors[1] = factors[1][::-1]
    if None in factors:
        return None
    overs, unders = zip(*factors, strict=True)
    return functools.reduce(operator.mul, overs), functools.reduce(operator.mul, unders)


def _rounded(expr: Any, up: bool) -> Dim | None:
    """Return the whole number next to a float that is computed of sizes."""
    fraction = _fraction(expr)
    if fraction is None:
        return None
    over, under = fraction
    if under.value is not None and under.value < 0:
        over, under = over * -1, under * -1
    return (over + under - 1) // under if up else over // under


def _from_sympy(expr: Any) -> Dim:
    if expr.is_Symbol:
        return Dim(symbol_name(expr))
    if expr.is_Integer:
        return Dim(int(expr))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp.is_positive:
        return functools.reduce(operator.mul, [_from_sympy(expr.base)] * int(expr.exp))
    if type(expr).__name__ in ("TruncToInt", "FloorToInt", "CeilToInt"):
        whole = _rounded(expr.args[0], up=type(expr).__name__ == "CeilToInt")
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

    Complex numbers are pairs, as ``torch.view_as_real`` makes them.

    Raises
    ------
    NotImplementedError
        If it is not a tensor, an integer, a float, a bool or a tuple of them.
    """
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            return TensorStructInfo([*as_shape(value.shape), 2], value.dtype.to_real())
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
