# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, and its logarithm."""

from __future__ import annotations

from collections.abc import Callable

from ... import te
from ...tir import op as _op
from ...tir.expr import PrimExpr
from ..elemwise import cast
from ..reduction import max as _max
from ..utils import Tensor, axis_of, require_float, wide_dtype


def _exponentials(x: Tensor, at: int) -> tuple[Tensor, Callable[..., PrimExpr], Tensor]:
    """Return the greatest elements, the differences from them, and the sums of exponentials."""
    top = _max(x, at, keepdims=True)

    def difference(*i: PrimExpr) -> PrimExpr:
        zero = te.const(0, i[at].dtype)
        return x(*i) - top(*i[:at], zero, *i[at + 1 :])

    k = te.reduce_axis((0, x.shape[at]), name="k")
    shape = [*x.shape[:at], *x.shape[at + 1 :]]
    total = te.compute(
        shape,
        lambda *i: te.sum(_op.exp(difference(*i[:at], k.var, *i[at:])), axis=k),
        name="T_softmax_expsum",
    )
    return top, difference, total


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the exponentials of elements divided by their sum along an axis.

    Parameters
    ----------
    x : Tensor
        Of floats; those of 16 bits are computed with as float32.
    axis : int

    Returns
    -------
    Tensor
    """
    require_float(x, "softmax")
    at = axis_of(axis, x.ndim)
    wide = x if wide_dtype(x.dtype) == x.dtype else cast(x, wide_dtype(x.dtype))
    _, difference, total = _exponentials(wide, at)
    return te.compute(
        x.shape,
        lambda *i: (_op.exp(difference(*i)) / total(*i[:at], *i[at + 1 :])).astype(x.dtype),
        name="T_softmax_norm",
        tag="softmax_output",
        attrs={"axis": at},
    )


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the logarithm of `softmax`.

    Parameters
    ----------
    x : Tensor
        Of floats; those of 16 bits are computed with as float32.
    axis : int

    Returns
    -------
    Tensor
    """
    require_float(x, "log_softmax")
    at = axis_of(axis, x.ndim)
    wide = x if wide_dtype(x.dtype) == x.dtype else cast(x, wide_dtype(x.dtype))
    _, difference, total = _exponentials(wide, at)
    return te.compute(
        x.shape,
        lambda *i: (difference(*i) - _op.log(total(*i[:at], *i[at + 1 :]))).astype(x.dtype),
        name="T_log_softmax",
        tag="log_softmax_output",
        attrs={"axis": at},
    )
