# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums and products of all elements up to each one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te
from ..tir import expr as _expr
from ..tir.expr import PrimExpr
from .elemwise import cast
from .transform import reshape, transpose
from .utils import Tensor, axis_of


def scanop(
    data: Tensor,
    binop: Callable[[PrimExpr, PrimExpr], PrimExpr],
    identity_value: Any,
    axis: int | None = None,
    dtype: Any = None,
    exclusive: bool = False,
) -> Tensor:
    """Return for each element what it and those before it along an axis are together.

    Parameters
    ----------
    data : Tensor
    binop : callable
        Returns two elements as one.
    identity_value : number
        The neutral element.
    axis : int, optional
        By default the elements count row by row.
    dtype : str or numpy.dtype, optional
        By default that of `data`.
    exclusive : bool
        Whether the element itself does not count.

    Returns
    -------
    Tensor
    """
    x = data if dtype is None or _expr.dtype_of(dtype) == data.dtype else cast(data, dtype)
    if axis is None:
        x, at = reshape(x, (-1,)), 0
    else:
        at = axis_of(axis, data.ndim)
    order = [at, *(i for i in range(x.ndim) if i != at)]
    rows = x if at == 0 else transpose(x, order)
    length, *rest = rows.shape
    identity = te.const(identity_value, x.dtype)
    state = te.placeholder(rows.shape, x.dtype, name="state")

    def first(_: PrimExpr, *i: PrimExpr) -> PrimExpr:
        zero = te.const(0, length.dtype)
        return identity if exclusive else te.if_then_else(zero < length, rows(zero, *i), identity)

    def next_row(t: PrimExpr, *i: PrimExpr) -> PrimExpr:
        return binop(state(t - 1, *i), rows(t - 1 if exclusive else t, *i))

    init = te.compute((te.const(1, length.dtype), *rest), first, name="scan_init")
    update = te.compute(rows.shape, next_row, name="scan_update")
    result = te.scan(init, update, state, inputs=[rows], name="T_scan")
    if at == 0:
        return result
    return transpose(result, [order.index(i) for i in range(x.ndim)])


def cumsum(
    data: Tensor, axis: int | None = None, dtype: Any = None, exclusive: bool = False
) -> Tensor:
    """Return for each element the sum of it and those before it along an axis.

    Parameters
    ----------
    data : Tensor
    axis : int, optional
        By default the elements count row by row.
    dtype : str or numpy.dtype, optional
        By default that of `data`.
    exclusive : bool
        Whether the element itself does not count.

    Returns
    -------
    Tensor
    """
    return scanop(data, _expr.add, 0, axis, dtype, exclusive)


def cumprod(
    data: Tensor, axis: int | None = None, dtype: Any = None, exclusive: bool = False
) -> Tensor:
    """Return for each element the product of it and those before it along an axis.

    Parameters
    ----------
    data : Tensor
    axis : int, optional
        By default the elements count row by row.
    dtype : str or numpy.dtype, optional
        By default that of `data`.
    exclusive : bool
        Whether the element itself does not count.

    Returns
    -------
    Tensor
    """
    return scanop(data, _expr.multiply, 1, axis, dtype, exclusive)


__all__ = [
    "cumprod",
    "cumsum",
    "scanop",
]
