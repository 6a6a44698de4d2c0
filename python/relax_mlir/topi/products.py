# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..tir.expr import PrimExpr
from .broadcast import broadcast_shape
from .utils import (
    Tensor,
    axis_of,
    constant,
    is_equal,
)


def matmul(
    a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False, out_dtype: Any = None
) -> Tensor:
    """Return the product of matrices; leading dimensions broadcast.

    Parameters
    ----------
    a, b : Tensor
        Of rank 1 or more; a vector is a row on the left and a column on the right.
    transp_a, transp_b : bool
        Whether the last two dimensions are swapped.
    out_dtype : str or numpy.dtype, optional
        The data type that elements are converted to before they are multiplied.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> matmul(te.placeholder(("b", "n", 4)), te.placeholder((4, 3)))
    Tensor(T_matmul, shape=(b, n, 3), dtype=float32)
    """
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"expected tensors of rank 1 or more, but got {a} and {b}")
    left = [*a.shape[:-2], *([] if a.ndim == 1 else [a.shape[-1 if transp_a else -2]])]
    depth = a.shape[-2 if transp_a and a.ndim > 1 else -1]
    right = [] if b.ndim == 1 else [b.shape[-2 if transp_b else -1]]
    other = b.shape[-1 if transp_b or b.ndim == 1 else -2]
    if is_equal(depth, other) is False:
        raise ValueError(f"expected matrices that fit, but got {a} and {b}: {depth} and {other}")
    rows = left[-1:] if a.ndim > 1 else []
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    k = te.reduce_axis((0, depth), name="k")

    def value(*i: PrimExpr) -> PrimExpr:
        outer = i[: len(batch)]
        row = list(i[len(batch) : len(batch) + len(rows)])
        column = list(i[len(batch) + len(rows) :])
        a_at = [*row, k.var] if not transp_a or a.ndim == 1 else [k.var, *row]
        b_at = [k.var, *column] if not transp_b or b.ndim == 1 else [*column, k.var]
        x, y = _batched(a, outer, a_at), _batched(b, outer, b_at)
        if out_dtype is not None:
            x, y = x.astype(out_dtype), y.astype(out_dtype)
        return te.sum(x * y, axis=k)

    return te.compute([*batch, *rows, *right], value, name="T_matmul", tag="matmul")


def _batched(x: Tensor, outer: Sequence[PrimExpr], inner: Sequence[PrimExpr]) -> PrimExpr:
    """Return an element of a tensor whose leading dimensions broadcast."""
    count = x.ndim - len(inner)
    own = outer[len(outer) - count :] if count else ()
    first = [
        te.const(0, index.dtype) if constant(dim) == 1 else index
        for index, dim in zip(own, x.shape, strict=False)
    ]
    return x(*first, *inner)


def tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Tensor:
    """Return the sum of products over axes of both.

    Parameters
    ----------
    a, b : Tensor
    axes : int, or pair of int or sequence of int
        How many: the last of `a` and the first of `b`. Or which, of each.

    Returns
    -------
    Tensor
    """
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = (
            [axis_of(i, x.ndim) for i in (own if isinstance(own, (list, tuple)) else [own])]
            for x, own in zip((a, b), axes, strict=True)
        )
    if len(left) != len(right) or any(
        is_equal(a.shape[i], b.shape[j]) is False for i, j in zip(left, right, strict=True)
    ):
        raise ValueError(f"expected axes of equal sizes, but got {axes} of {a} and {b}")
    reduced = [te.reduce_axis((0, a.shape[i]), name=f"k{i}") for i in left]
    a_free = [i for i in range(a.ndim) if i not in left]
    b_free = [i for i in range(b.ndim) if i not in right]

    def value(*i: PrimExpr) -> PrimExpr:
        a_at = dict(zip(a_free, i[: len(a_free)], strict=True))
        b_at = dict(zip(b_free, i[len(a_free) :], strict=True))
        a_at.update(zip(left, (each.var for each in reduced), strict=True))
        b_at.update(zip(right, (each.var for each in reduced), strict=True))
        x, y = a(*(a_at[n] for n in range(a.ndim))), b(*(b_at[n] for n in range(b.ndim)))
        return te.sum(x * y, axis=reduced) if reduced else x * y

    shape = [*(a.shape[i] for i in a_free), *(b.shape[i] for i in b_free)]
    return te.compute(shape, value, name="T_tensordot", tag="matmul")
