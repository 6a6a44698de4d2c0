# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and scans of ATen, and the places of extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlir import ir

from ... import op
from .elementwise import power_by
from .registry import (
    Converter,
    Graph,
    cast,
    converts,
    dtype_of,
    normal_axis,
    number,
    product,
    shape_of,
    wide,
)


def axes_of(graph: Graph, axis: Any) -> list[int]:
    """Return the axes that are reduced, all of them where none is named."""
    rank = graph.rank_of(0)
    if axis is None or axis == []:
        return list(range(rank))
    given = [axis] if isinstance(axis, int) else axis
    return [normal_axis(one, rank) for one in given] if rank else []


def _reduction(operator: Converter) -> Converter:
    def convert(
        graph: Graph, x: ir.Value, axis: Any = None, keepdim: bool = False, dtype: Any = None
    ) -> ir.Value:
        x = cast(x, graph.dtype)
        axes = axes_of(graph, axis)
        return operator(x, axes, keepdim) if axes else x

    return convert


def extreme(operator: Converter, x: ir.Value, axes: Any, keep: bool) -> ir.Value:
    """Return the largest or smallest elements, of Booleans, too."""
    if dtype_of(x) == "bool":
        return cast(operator(cast(x, "uint8"), axes, keep), "bool")
    return operator(x, axes, keep)


def _extremes(operator: Converter) -> Converter:
    return _reduction(lambda x, axes, keep: extreme(operator, x, axes, keep))


def _truth(operator: Converter) -> Converter:
    def convert(graph: Graph, x: ir.Value, axis: Any = None, keepdim: bool = False) -> ir.Value:
        truth, axes = cast(x, "bool"), axes_of(graph, axis)
        return cast(extreme(operator, truth, axes, keepdim) if axes else truth, graph.dtype)

    return convert


converts("sum.default", "sum.dim_IntList")(_reduction(op.sum))
converts("mean.default", "mean.dim")(_reduction(op.mean))
converts("prod.dim_int")(_reduction(op.prod))
converts("amax.default", "max.default")(_extremes(op.max))
converts("amin.default", "min.default")(_extremes(op.min))
converts("any.default", "any.dim", "any.dims")(_truth(op.max))
converts("all.default", "all.dim", "all.dims")(_truth(op.min))


@converts("prod.default")
def _prod(graph: Graph, x: ir.Value, dtype: Any = None) -> ir.Value:
    return op.prod(cast(x, graph.dtype))


def _as_number(x: ir.Value) -> ir.Value:
    return cast(x, "uint8") if dtype_of(x) == "bool" else x


@converts("argmax.default", "argmin.default")
def _place_of_extreme(
    graph: Graph, x: ir.Value, axis: int | None = None, keepdim: bool = False
) -> ir.Value:
    operator = op.argmax if graph.kind == "argmax" else op.argmin
    rank = graph.rank_of(0)
    if rank == 0:
        return number(0, "int64")
    return operator(_as_number(x), None if axis is None else normal_axis(axis, rank), keepdim)


@converts("max.dim", "min.dim")
def _extreme_and_place(
    graph: Graph, x: ir.Value, axis: int, keepdim: bool = False
) -> list[ir.Value]:
    if graph.rank_of(0) == 0:
        return [x, number(0, "int64")]
    axis = normal_axis(axis, graph.rank_of(0))
    largest, place = (op.max, op.argmax) if graph.kind == "max" else (op.min, op.argmin)
    value = extreme(largest, x, [axis], keepdim)
    # Where nobody asks for places, nothing is left of them.
    return [value, place(_as_number(x), axis, keepdim)]


@converts("aminmax.default")
def _aminmax(
    graph: Graph, x: ir.Value, dim: int | None = None, keepdim: bool = False
) -> list[ir.Value]:
    axes = axes_of(graph, dim)
    return [extreme(one, x, axes, keepdim) if axes else x for one in (op.min, op.max)]


def _scan(operator: Converter) -> Converter:
    def convert(graph: Graph, x: ir.Value, axis: int, dtype: Any = None) -> ir.Value:
        x, rank = cast(x, graph.dtype), graph.rank_of(0)
        return operator(x, normal_axis(axis, rank)) if rank else x

    return convert


converts("cumsum.default")(_scan(op.cumsum))
converts("cumprod.default")(_scan(op.cumprod))


def count(graph: Graph, axes: Sequence[int], dtype: str) -> ir.Value:
    """Return the number of elements that are reduced to one."""
    dims = graph.shape_of(0)
    return number(product(dims[axis] for axis in axes), dtype)


def _variance(graph: Graph, x: ir.Value, axis: Any, correction: Any, keep: bool) -> ir.Value:
    axes = axes_of(graph, axis)
    x = wide(x)
    if not axes:
        axes, x, keep = [0], op.expand_dims(x, 0), False
        size = number(1, dtype_of(x))
    else:
        size = count(graph, axes, dtype_of(x))
    variance = op.variance(x, axes, keep)
    correction = 1 if correction is None else correction
    if correction == 0:
        return variance
    zero = number(0, dtype_of(x))
    rest = op.maximum(op.subtract(size, number(correction, dtype_of(x))), zero)
    return op.multiply(variance, op.divide(size, rest))


@converts("var.correction", "std.correction")
def _var(
    graph: Graph, x: ir.Value, axis: Any = None, correction: Any = None, keepdim: bool = False
) -> ir.Value:
    result = _variance(graph, x, axis, correction, keepdim)
    return cast(op.sqrt(result) if graph.kind == "std" else result, graph.dtype)


@converts("var_mean.correction", "std_mean.correction")
def _var_mean(
    graph: Graph, x: ir.Value, axis: Any = None, correction: Any = None, keepdim: bool = False
) -> list[ir.Value]:
    axes = axes_of(graph, axis)
    result = _variance(graph, x, axis, correction, keepdim)
    result = op.sqrt(result) if graph.kind == "std_mean" else result
    return [cast(result, graph.dtype), op.mean(x, axes, keepdim) if axes else x]


@converts("logsumexp.default")
def _logsumexp(graph: Graph, x: ir.Value, axis: Any, keepdim: bool = False) -> ir.Value:
    axes = axes_of(graph, axis)
    if not axes:
        return cast(x, graph.dtype)
    x = cast(x, graph.dtype)
    largest = op.max(x, axes, True)
    # Of an infinity there are no differences.
    base = op.where(op.isfinite(largest), largest, number(0, graph.dtype))
    total = op.log(op.sum(op.exp(op.subtract(x, base)), axes, True))
    result = op.add(total, base)
    return result if keepdim else op.squeeze(result, axes)


@converts("linalg_vector_norm.default")
def _vector_norm(
    graph: Graph, x: ir.Value, order: Any = 2, axis: Any = None, keepdim: bool = False,
    dtype: Any = None,
) -> ir.Value:  # fmt: skip
    axes = axes_of(graph, axis)
    size = op.abs(wide(cast(x, graph.dtype)))
    if not axes:
        axes, size, keepdim = [0], op.expand_dims(size, 0), False
    return cast(norm(size, order, axes, keepdim), graph.dtype)


@converts("dist.default")
def _dist(graph: Graph, x: ir.Value, y: ir.Value, order: Any = 2) -> ir.Value:
    apart = op.abs(op.subtract(wide(cast(x, graph.dtype)), wide(cast(y, graph.dtype))))
    flat = op.reshape(apart, [product(shape_of(apart))])
    return cast(norm(flat, order, [0], False), graph.dtype)


def norm(size: ir.Value, order: float, axes: list[int], keep: bool) -> ir.Value:
    """Return the norm of what has no negative elements."""
    dtype = dtype_of(size)
    if order == 0:
        return op.sum(cast(op.not_equal(size, number(0, dtype)), dtype), axes, keep)
    if order == 1:
        return op.sum(size, axes, keep)
    if math.isinf(order):
        return (op.max if order > 0 else op.min)(size, axes, keep)
    total = op.sum(power_by(size, order), axes, keep)
    return op.sqrt(total) if order == 2 else op.power(total, number(1 / order, dtype))


@converts("norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.Scalar")
def _norm_of(
    graph: Graph, x: ir.Value, order: Any = 2, axis: Any = None, keepdim: bool = False,
    dtype: Any = None,
) -> ir.Value:  # fmt: skip
    return _vector_norm(graph, x, 2 if order is None else order, axis, keepdim)
