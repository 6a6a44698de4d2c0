# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..te import tag
from ..tir import expr as _expr
from ..tir import op as _op
from ..tir.expr import IterVar, PrimExpr
from .elemwise import truth
from .transform import reshape
from .utils import Tensor, axes_of, constant, is_equal, product, ravel, shape_of, with_name


def reduced_shape(shape: Sequence[PrimExpr], axes: Sequence[int], keepdims: bool) -> list[PrimExpr]:
    """Return a shape without the axes, or with 1 in their places."""
    if keepdims:
        return [te.const(1, dim.dtype) if i in axes else dim for i, dim in enumerate(shape)]
    return [dim for i, dim in enumerate(shape) if i not in axes]


def reduce_axes(data: Tensor, axes: Sequence[int]) -> list[IterVar]:
    """Return a new axis of reduction for each of the axes of a tensor."""
    return [te.reduce_axis((0, data.shape[i]), name=f"k{i}") for i in axes]


def all_indices(
    rank: int,
    axes: Sequence[int],
    reduced: Sequence[IterVar],
    indices: Sequence[PrimExpr],
    keepdims: bool,
) -> list[PrimExpr]:
    """Return the indices of a tensor, from those of the result and of the reduction."""
    own = list(indices)
    result: list[PrimExpr] = []
    for i in range(rank):
        if i in axes:
            result.append(reduced[list(axes).index(i)].var)
            if keepdims:
                own.pop(0)
        else:
            result.append(own.pop(0))
    return result


def comm_reduce(
    data: Tensor,
    axis: Any,
    keepdims: bool,
    reducer: Callable[..., Any],
    name: str,
    element: Callable[[PrimExpr], PrimExpr] | None = None,
) -> Tensor:
    """Return a tensor reduced over axes.

    Parameters
    ----------
    data : Tensor
    axis : int, sequence of int, or None for all
    keepdims : bool
    reducer : callable
        As `te.comm_reducer` returns it.
    name : str
    element : callable, optional
        The function of each element that is reduced.
    """
    axes = axes_of(axis, data.ndim)
    reduced = reduce_axes(data, axes)

    def value(*indices: PrimExpr) -> PrimExpr:
        at = data(*all_indices(data.ndim, axes, reduced, indices, keepdims))
        return reducer(at if element is None else element(at), axis=reduced)

    if not axes:
        return te.compute(
            data.shape, lambda *i: data(*i) if element is None else element(data(*i)), name=name
        )
    shape = reduced_shape(data.shape, axes, keepdims)
    return te.compute(shape, value, name=name, tag=tag.COMM_REDUCE)


def _reduction(
    name: str, what: str, reducer: Callable[..., Any], element: Any = None
) -> Callable[..., Tensor]:
    def function(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        return comm_reduce(data, axis, keepdims, reducer, f"{name}_red", element)

    return with_name(
        function,
        name,
        f"Return {what} over axes.\n\nParameters\n----------\ndata : Tensor\n"
        "axis : int or sequence of int, optional\n    By default all.\nkeepdims : bool\n"
        "    Whether the axes stay, of size 1.\n\nReturns\n-------\nTensor\n",
    )


sum = _reduction("sum", "the sum", _op.sum)
prod = _reduction("prod", "the product", _op.prod)
max = _reduction("max", "the greatest element", _op.max)
min = _reduction("min", "the least element", _op.min)
all = _reduction("all", "whether all elements are true", _op.all, truth)
any = _reduction("any", "whether one element is true", _op.any, truth)


def mean(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean over axes.

    Parameters
    ----------
    data : Tensor
    axis : int or sequence of int, optional
        By default all.
    keepdims : bool
        Whether the axes stay, of size 1.

    Returns
    -------
    Tensor
    """
    count = product([data.shape[i] for i in axes_of(axis, data.ndim)])
    total = sum(data, axis, keepdims)
    return te.compute(
        total.shape,
        lambda *i: _op.div(total(*i), count.astype(total.dtype)),
        name="T_mean",
        tag=tag.ELEMWISE,
    )


def _arg_reduction(
    name: str, what: str, is_better: Callable[[PrimExpr, PrimExpr], PrimExpr], worst: Any
) -> Callable[..., Tensor]:
    def function(
        data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
    ) -> Tensor:
        def combine(lhs: Sequence[PrimExpr], rhs: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
            order = lhs[0] > rhs[0] if select_last_index else lhs[0] < rhs[0]
            # A side without an index yet gives way to any element.
            tie = _expr.logical_and(lhs[1].equal(rhs[1]), order)
            first = _expr.logical_or(is_better(lhs[1], rhs[1]), tie)
            takes_left = _expr.logical_or(rhs[0] < 0, _expr.logical_and(lhs[0] >= 0, first))
            return (
                _expr.Select(takes_left, lhs[0], rhs[0]),
                _expr.Select(takes_left, lhs[1], rhs[1]),
            )

        reducer = te.comm_reducer(
            combine, lambda index, dtype: (te.const(-1, index), worst(dtype)), name=name
        )
        axes = axes_of(axis, data.ndim)
        reduced = reduce_axes(data, axes)
        sizes = [data.shape[i] for i in axes]

        def value(*indices: PrimExpr) -> Any:
            position = ravel([each.var for each in reduced], sizes)
            at = all_indices(data.ndim, axes, reduced, indices, keepdims)
            return reducer((position.astype("int32"), data(*at)), axis=reduced)

        shape = reduced_shape(data.shape, axes, keepdims)
        return te.compute(shape, value, name=f"{name}_red", tag=tag.COMM_REDUCE_IDX)[0]

    return with_name(
        function,
        name,
        f"Return the position of {what} over axes, as int32.\n\nParameters\n----------\n"
        "data : Tensor\naxis : int or sequence of int, optional\n    By default all; positions "
        "count row by row.\nkeepdims : bool\n    Whether the axes stay, of size 1.\n"
        "select_last_index : bool\n    Whether the last one counts where several are equal.\n\n"
        "Returns\n-------\nTensor\n",
    )


argmax = _arg_reduction("argmax", "the greatest element", lambda a, b: a > b, _op._lowest)
argmin = _arg_reduction("argmin", "the least element", lambda a, b: a < b, _op._highest)


def collapse_sum(data: Tensor, target_shape: Any) -> Tensor:
    """Return the sum over the axes that broadcasting added, so that the shape is `target_shape`.

    Parameters
    ----------
    data : Tensor
    target_shape : sequence of int or PrimExpr

    Returns
    -------
    Tensor
    """
    target = shape_of(target_shape)
    extra = data.ndim - len(target)
    if extra < 0:
        raise ValueError(f"expected at most {data.ndim} dimensions, but got {list(target)}")
    axes = list(range(extra))
    for i, dim in enumerate(target):
        own = data.shape[extra + i]
        if is_equal(own, dim):
            continue
        if constant(dim) != 1:
            raise ValueError(f"expected a shape that broadcasts to {data}, not {list(target)}")
        axes.append(extra + i)
    return reshape(sum(data, axes), target) if axes else data


__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "collapse_sum",
    "max",
    "mean",
    "min",
    "prod",
    "sum",
]
