# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that are made from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..te import tag
from ..tir import expr as _expr
from ..tir.expr import PrimExpr
from .broadcast import add
from .utils import Tensor, shape_of


def _fill(value: Any, dtype: str) -> PrimExpr:
    if isinstance(value, (bool, int, float)):
        return te.const(value, dtype)
    return _expr.cast(dtype, value)


def full(shape: Any, dtype: Any, fill_value: Any) -> Tensor:
    """Return a tensor of one number.

    Parameters
    ----------
    shape : sequence of int or PrimExpr
    dtype : str or numpy.dtype
    fill_value : number or PrimExpr

    Returns
    -------
    Tensor

    Examples
    --------
    >>> full(("n", 2), "float16", 1)
    Tensor(T_full, shape=(n, 2), dtype=float16)
    """
    value = _fill(fill_value, _expr.dtype_of(dtype))
    return te.compute(shape_of(shape), lambda *i: value, name="T_full", tag=tag.ELEMWISE)


def full_like(x: Tensor, fill_value: Any) -> Tensor:
    """Return a tensor of one number, of the shape and data type of another one.

    Parameters
    ----------
    x : Tensor
    fill_value : number or PrimExpr

    Returns
    -------
    Tensor
    """
    return full(x.shape, x.dtype, fill_value)


def eye(n: Any, m: Any = None, k: int = 0, dtype: Any = "float32") -> Tensor:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int or PrimExpr
        The number of rows.
    m : int or PrimExpr, optional
        The number of columns, by default as of rows.
    k : int
        The diagonal: positive above the main one, negative below.
    dtype : str or numpy.dtype

    Returns
    -------
    Tensor
    """
    one, zero = te.const(1, dtype), te.const(0, dtype)
    return te.compute(
        (n, n if m is None else m),
        lambda i, j: _expr.Select((i + k).equal(j), one, zero),
        name="eye",
        tag=tag.INJECTIVE,
    )


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors.

    Parameters
    ----------
    xs : sequence of Tensor
        At least one.

    Returns
    -------
    Tensor
    """
    if not xs:
        raise ValueError("expected at least one tensor in elemwise_sum")
    total = xs[0]
    for x in xs[1:]:
        total = add(total, x)
    return total


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "float32") -> Tensor:
    """Return numbers from `start` on, each `step` more than the last one, below `stop`.

    Parameters
    ----------
    start : number or PrimExpr
        With one argument it is `stop`, and the first number is 0.
    stop : number or PrimExpr, optional
    step : number or PrimExpr
    dtype : str or numpy.dtype

    Returns
    -------
    Tensor

    Examples
    --------
    >>> arange(1, 8, 2, dtype="int64")
    Tensor(T_arange, shape=(4,), dtype=int64)
    """
    first, last = (0, start) if stop is None else (start, stop)
    wanted = _expr.dtype_of(dtype)
    begin, end, by = (_expr.convert(each) for each in (first, last, step))
    count: Any
    numbers = (_expr.IntImm, _expr.FloatImm)
    if all(isinstance(each, numbers) for each in (begin, end, by)):
        if by.value == 0:  # type: ignore[attr-defined]
            raise ValueError("expected a step other than 0 in arange")
        exact = [float(each) if isinstance(each, float) else each for each in (first, last, step)]
        values = [getattr(each, "value", each) for each in exact]
        count = max(-int((values[0] - values[1]) // values[2]), 0)
    elif any(_expr.is_float(each.dtype) for each in (begin, end, by)):
        raise TypeError("expected integers, or constants, so that the size of arange is known")
    else:
        count = _expr.maximum(-((begin - end) // by), 0)
    return te.compute(
        (count,),
        lambda i: _fill(begin, wanted) + _fill(by, wanted) * i.astype(wanted),
        name="T_arange",
        tag=tag.INJECTIVE,
    )


__all__ = [
    "arange",
    "elemwise_sum",
    "eye",
    "full",
    "full_like",
]
