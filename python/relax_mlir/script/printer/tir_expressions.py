# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of tensor programs as ``T.prim_func`` writes them."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...tir import expr as _expr
from ...tir import stmt as st
from ...tir.expr import BufferLoad, Call, FloatImm, IntImm, PrimExpr, StringImm, Var
from ...tir.raised_values import KernelName, NotRaisableError
from .types import literal, quote, sequence

# The name of the module while a kernel is written.
_module_name: contextvars.ContextVar[str] = contextvars.ContextVar("module_name")


@contextlib.contextmanager
def calling(module_name: str) -> Iterator[None]:
    """Write calls of kernels by the name of a module in the body of the ``with`` statement."""
    token = _module_name.set(module_name)
    try:
        yield
    finally:
        _module_name.reset(token)


_NAMED = {
    _expr.Min: "T.min",
    _expr.Max: "T.max",
    _expr.Mod: "T.truncmod",
    _expr.Select: "T.Select",
}


def text(expr: PrimExpr) -> str:
    """Return an expression as TVMScript.

    Examples
    --------
    >>> i = Var("i", "int64")
    >>> text(_expr.Cast("float32", i * 2 + 1) * FloatImm("float32", 0.1))
    'T.Cast("float32", i * T.int64(2) + T.int64(1)) * T.float32(0.1)'
    """
    return _text(expr, 0)


def _text(expr: PrimExpr, around: int) -> str:
    leaf = _leaf(expr)
    if leaf is not None:
        return leaf
    if isinstance(expr, _expr.Cast):
        return f'T.Cast("{expr.dtype}", {_text(expr.value, 0)})'
    if isinstance(expr, _expr.Not):
        inner = f"not {_text(expr.a, 3)}"
        return f"({inner})" if around > 3 else inner
    if type(expr) in _NAMED:
        return f"{_NAMED[type(expr)]}({_list(expr.operands())})"
    if isinstance(expr, _expr.Div) and not _expr.is_float(expr.dtype):
        return f"T.truncdiv({_list(expr.operands())})"
    if isinstance(expr, _expr.BinaryOp):
        return _binary(expr, around)
    if isinstance(expr, Call):
        return _call(expr)
    raise NotRaisableError(f"the expression {expr}")


def _leaf(expr: PrimExpr) -> str | None:
    """Return an expression without operators as text, None for any other one."""
    if isinstance(expr, Var):
        return expr.name
    if isinstance(expr, IntImm):
        return _integer(expr)
    if isinstance(expr, FloatImm):
        return f"T.{expr.dtype}({_float(expr)})"
    if isinstance(expr, StringImm):
        return quote(expr.value)
    if isinstance(expr, BufferLoad):
        return element(expr.buffer, expr.indices)
    if isinstance(expr, st.BufferData):
        return f"{expr.buffer.name}.data"
    return None


# The precedence of operators, as in Python.
_PRECEDENCE = {
    _expr.Or: 1,
    _expr.And: 2,
    _expr.Add: 6,
    _expr.Sub: 6,
    _expr.Mul: 7,
    _expr.Div: 7,
    _expr.FloorDiv: 7,
    _expr.FloorMod: 7,
}


def _binary(expr: _expr.BinaryOp, around: int) -> str:
    level = _PRECEDENCE.get(type(expr), 4)
    comparison = isinstance(expr, _expr.CmpOp)
    a = _text(expr.a, level + 1 if comparison else level)
    b = _text(expr.b, level + 1)
    result = f"{a} {expr.symbol} {b}"
    return f"({result})" if level < around else result


def _call(expr: Call) -> str:
    if expr.op == "reinterpret":
        return f'T.reinterpret("{expr.dtype}", {_list(expr.args)})'
    if expr.op == "call_extern" and isinstance(expr.args[0], KernelName):
        return f"{_module_name.get()}.{expr.args[0].value}({_list(expr.args[1:])})"
    if expr.op == "call_extern":
        return f'T.call_extern("{expr.dtype}", {_list(expr.args)})'
    if expr.op == "prefetch":
        return f'T.call_intrin("void", "tirx.prefetch", {_list(expr.args)})'
    return f"T.{expr.op}({_list(expr.args)})"


def _list(exprs: Sequence[PrimExpr]) -> str:
    return ", ".join(text(expr) for expr in exprs)


def _integer(expr: IntImm) -> str:
    if expr.dtype == "int32":
        return str(expr.value)
    if expr.dtype == "bool":
        return f"T.bool({bool(expr.value)})"
    return f"T.{expr.dtype}({expr.value})"


def _float(expr: FloatImm) -> str:
    """Return the shortest number that is the same one in its data type."""
    value = float(expr.value)
    if not np.isfinite(value):
        return quote("nan" if np.isnan(value) else "inf" if value > 0 else "-inf")
    if expr.dtype == "float64":
        return repr(value)
    short = np.format_float_positional if 1e-4 <= abs(value) < 1e16 or not value else None
    number = np.float32(value)
    if float(number) != value:
        return repr(value)
    if short is not None:
        return short(number, unique=True, trim="0")
    return np.format_float_scientific(number, unique=True, trim="0")


def element(buffer: st.Buffer, indices: Sequence[PrimExpr]) -> str:
    """Return an element of a buffer."""
    return f"{buffer.name}[{_list(indices) if indices else '()'}]"


def shape(buffer: st.Buffer) -> str:
    """Return the dimensions of a buffer as a tuple."""
    return sequence([text(dim) for dim in buffer.shape])


def attribute(value: Any) -> str:
    """Return a value of an attribute as Python."""
    return literal(value, _attribute_leaf)


def _attribute_leaf(value: Any) -> str:
    if isinstance(value, IntImm):  # an int of Python would have 64 bits
        return f"T.{value.dtype}({value.value})"
    return text(value) if isinstance(value, PrimExpr) else repr(value)
