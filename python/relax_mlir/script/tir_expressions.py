# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the namespace ``T`` that make expressions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..tir import expr as _expr
from ..tir import op as _op
from ..tir.expr import (
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    convert,
    logical_and,
    logical_not,
    logical_or,
)
from .tir_dtypes import _dtype

__all__ = [
    "Cast",
    "Div",
    "Let",
    "Select",
    "address_of",
    "call_extern",
    "call_intrin",
    "call_pure_extern",
    "cast",
    "fabs",
    "logical_and",
    "logical_not",
    "logical_or",
    "prefetch",
    "tvm_thread_invariant",
]
# Those that reduce over axes are of tensor expressions alone.
_REDUCTIONS = ("comm_reducer", "prod", "reduce_axis", "sum")
_FUNCTIONS = [name for name in _op.__all__ if name not in _REDUCTIONS]
__all__ += _FUNCTIONS


def _intrinsic(function: Callable[..., PrimExpr]) -> Callable[..., PrimExpr]:
    """Return a function that may be told the data type of its result, which is known anyway."""
    if "dtype" in inspect.signature(function).parameters:
        return function

    @functools.wraps(function)
    def intrinsic(*args: Any, dtype: Any = None) -> PrimExpr:
        return function(*args)

    return intrinsic


globals().update({name: _intrinsic(getattr(_op, name)) for name in _FUNCTIONS})
Div = _op.div
fabs = _op.abs


def Cast(dtype: Any, value: Any) -> PrimExpr:  # noqa: N802 (TVM's name)
    """Return a value as one of another data type."""
    return _expr.cast(_dtype(dtype), value)


def cast(value: Any, dtype: Any) -> PrimExpr:
    """Return a value as one of another data type."""
    return _expr.cast(_dtype(dtype), value)


def Select(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:  # noqa: N802 (TVM's name)
    """Return one of two values, both of which are computed."""
    a, b = _expr.match_types(true_value, false_value)
    return _expr.Select(condition, a, b)


def Let(expr: Any, where: Mapping[Var, Any]) -> PrimExpr:  # noqa: N802 (TVM's name)
    """Return an expression where variables have values."""
    if len(where) != 1:
        raise ValueError(f"expected one variable in T.Let, but got {len(where)}")
    (variable, value), *_ = where.items()
    return _expr.Let(variable, _expr.cast(variable.dtype, value), expr)


def tvm_thread_invariant(condition: Any) -> PrimExpr:
    """Return the condition, which all threads agree on."""
    return convert(condition)


def call_extern(dtype: Any, func_name: Any = None, *args: Any) -> PrimExpr:
    """Call a C function of the process, with numbers and addresses ``A.data``.

    Parameters
    ----------
    dtype : str
        That of the result.
    func_name : str
        Its symbol.
    *args : PrimExpr
    """
    if not isinstance(func_name, str):
        raise TypeError("expected a data type and the name of a function, as strings")
    converted = [arg if isinstance(arg, PrimExpr) else convert(arg) for arg in args]
    return Call(_dtype(dtype), "call_extern", (StringImm(func_name), *converted))


def call_pure_extern(dtype: Any, func_name: Any = None, *args: Any) -> PrimExpr:
    """Call a C function of the process that has no effect."""
    return call_extern(dtype, func_name, *args)


def address_of(element: Any) -> PrimExpr:
    """Return the address of an element of a buffer, which `prefetch` takes."""
    if not isinstance(element, BufferLoad):
        raise TypeError(f"expected an element of a buffer, but got {element}")
    return Call("handle", "address_of", (element,))


def prefetch(address: Any, rw: Any = 0, locality: Any = 3, cache_type: Any = 1) -> PrimExpr:
    """Hint that an element is about to be needed, as LLVM's intrinsic of that name.

    Parameters
    ----------
    address : PrimExpr
        From ``T.address_of``. It may be out of bounds.
    rw : int
        1 to write, 0 to read.
    locality : int
        From 0, read once, to 3, kept in all caches.
    cache_type : int
        1 for data, 0 for instructions.
    """
    if not (isinstance(address, Call) and address.op == "address_of"):
        raise TypeError("expected T.address_of of an element to prefetch")
    hints = [convert(hint) for hint in (rw, locality, cache_type)]
    for hint, largest, name in zip(hints, (1, 3, 1), ("rw", "locality", "cache_type"), strict=True):
        if not (isinstance(hint, IntImm) and 0 <= hint.value <= largest):
            raise ValueError(f"expected {name} to be from 0 to {largest}, but got {hint}")
    return Call("void", "prefetch", (address, *hints))


def call_intrin(dtype: Any, func_name: Any = None, *args: Any) -> PrimExpr:
    """Call an intrinsic by its name in TVM, such as ``tirx.exp`` or ``tirx.prefetch``."""
    if not isinstance(func_name, str):
        raise TypeError("expected a data type and the name of an intrinsic, as strings")
    name = func_name.removeprefix("tirx.").removeprefix("tir.")
    if name == "prefetch":
        return prefetch(*args)
    if name not in _FUNCTIONS:
        raise ValueError(f"expected the name of an intrinsic, but got '{func_name}'")
    result = globals()[name](*args)
    if result.dtype != _dtype(dtype):
        raise TypeError(f"expected a result of type {_dtype(dtype)}, but got {result.dtype}")
    return result
