# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make tensors, where Python computes something of their arguments."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.expr import as_prim, build
from ..dialects import relax as _ops
from ._arguments import type_attr

__all__ = ["arange"]


def _is_float(value: ir.Value) -> bool:
    return str(value.type.dtype).startswith("float")


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> ir.Value:
    """Return the numbers from `start`, by `step`, up to but without `end`.

    Parameters
    ----------
    start, end : number, Dim or primitive value
        Without `end` it is `start`, and the numbers begin with 0.
    step : number, Dim or primitive value
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default int64, or float32 if one of the others is a float.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, ShapeStructInfo, Var
    >>> bb = BlockBuilder()
    >>> s = Var("s", ShapeStructInfo(("n",)))
    >>> with bb.function("main", [s]):
    ...     y = arange(0, "n", 2)
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[(n + 1) floordiv 2], i64>
    """
    given = (0, start) if end is None else (start, end)
    numbers = [as_prim(value) for value in (*given, step)]
    is_float = any(_is_float(value) for value in numbers)
    if is_float:
        numbers = [_as_float(value) for value in numbers]
    wanted = dtype or ("float32" if is_float else "int64")
    return build(_ops.ArangeOp, *numbers, type_attr(wanted))


def _as_float(value: ir.Value) -> ir.Value:
    """Return a number as a float of 64 bits."""
    if value.type.dtype == "float64":
        return value
    number = getattr(getattr(value.owner, "value", None), "value", None)
    if number is None:
        raise ValueError(
            f"relax.arange: expected numbers of one data type, but got floats and {value.type}"
        )
    return as_prim(float(number))
