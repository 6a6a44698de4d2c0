# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that take elements by indices, and write them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from mlir import ir

from ... import op
from ...core.ir import Dim
from .registry import (
    Graph,
    along,
    cast,
    converts,
    dtype_of,
    is_float,
    normal_axis,
    number,
    product,
    rank_of,
    shape_of,
)
from .selection import select_where


@converts("embedding.default")
def _embedding(graph: Graph, weight: ir.Value, indices: ir.Value, *_: Any) -> ir.Value:
    flat = op.reshape(indices, [product(graph.shape[:-1])])
    return op.reshape(op.take(weight, flat, axis=0), graph.shape)


@converts("index_select.default")
def _index_select(graph: Graph, x: ir.Value, axis: int, indices: ir.Value) -> ir.Value:
    if graph.rank_of(0) == 0:
        return x
    if graph.rank_of(2) == 0:
        indices = op.reshape(indices, [1])
    return op.take(x, indices, normal_axis(axis, graph.rank_of(0)))


@converts("take.default")
def _take(graph: Graph, x: ir.Value, indices: ir.Value) -> ir.Value:
    return op.take(op.reshape(x, [product(graph.shape_of(0))]), indices, 0, mode="wrap")


@dataclasses.dataclass(frozen=True)
class _Indexed:
    """Which dimensions of a tensor have an index, and where those of the indices go.

    Parameters
    ----------
    axes : list of int
        The dimensions that have an index.
    rest : list of int
        The others.
    shape : list of Dim
        The shape of all indices together.
    first : int
        Where their dimensions are in the result.
    """

    axes: list[int]
    rest: list[int]
    shape: list[Dim]
    first: int

    @property
    def order(self) -> list[int]:
        """The dimensions of the tensor, those with an index first."""
        return [*self.axes, *self.rest]

    @property
    def back(self) -> list[int]:
        """The dimensions of what is taken, those of indices first, as the result has them."""
        count = len(self.shape)
        rest = [count + i for i in range(len(self.rest))]
        return [*rest[: self.first], *range(count), *rest[self.first :]]


def _indexed(rank: int, indices: Sequence[Any]) -> _Indexed:
    axes = [i for i, one in enumerate(indices) if one is not None]
    rest = [i for i in range(rank) if i not in axes]
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    shape = _broadcast([shape_of(indices[i]) for i in axes])
    return _Indexed(axes, rest, shape, axes[0] if adjacent else 0)


def _broadcast(shapes: Sequence[Sequence[Dim]]) -> list[Dim]:
    result = [Dim(1)] * max(len(shape) for shape in shapes)
    for shape in shapes:
        for i, dim in enumerate(reversed(shape)):
            # A number says more than an expression.
            if result[-1 - i].value == 1 or (dim.value is not None and dim.value != 1):
                result[-1 - i] = dim
    return result


def _places(indices: Sequence[ir.Value], shape: Sequence[Dim]) -> ir.Value:
    """Return indices as vectors along a last dimension."""
    every = [op.broadcast_to(cast(one, "int64"), list(shape)) for one in indices]
    return op.stack(every, len(shape))


def _is_mask(index: Any) -> bool:
    return index is not None and dtype_of(index) in ("bool", "uint8")


@converts("index.Tensor", "_unsafe_index.Tensor")
def _index(graph: Graph, x: ir.Value, indices: Sequence[Any]) -> ir.Value:
    if any(_is_mask(one) for one in indices):
        return select_where(graph, x, indices)
    given = [one for one in indices if one is not None]
    if not given:
        return x
    plan = _indexed(graph.rank_of(0), indices)
    if len(given) == 1:
        # Negative indices are from the end.
        return op.take(x, given[0], plan.axes[0], mode="wrap")
    rows = x if plan.order == list(range(len(plan.order))) else op.permute_dims(x, plan.order)
    taken = op.gather_nd(rows, _places(given, plan.shape))
    return taken if plan.first == 0 else op.permute_dims(taken, plan.back)


@converts("index_put.default", "_unsafe_index_put.default")
def _index_put(
    graph: Graph, x: ir.Value, indices: Sequence[Any], values: ir.Value, accumulate: bool = False
) -> ir.Value:
    given = [one for one in indices if one is not None]
    values = cast(values, graph.dtype)
    if any(_is_mask(one) for one in given):
        return _put_where(graph, x, indices, values, accumulate)
    rank = graph.rank_of(0)
    plan = _indexed(rank, indices)
    dims = graph.shape_of(0)
    rest = [dims[i] for i in plan.rest]
    wanted = [*rest[: plan.first], *plan.shape, *rest[plan.first :]]
    values = op.broadcast_to(values, wanted)
    if plan.first:
        values = op.permute_dims(values, [plan.back.index(i) for i in range(len(plan.back))])
    moved = plan.order != list(range(rank))
    rows = op.permute_dims(x, plan.order) if moved else x
    kind = "add" if accumulate else "update"
    if graph.dtype == "bool" and accumulate:
        raise NotImplementedError("sums of Booleans")
    result = op.scatter_nd(rows, _places(given, plan.shape), values, kind)
    return op.permute_dims(result, [plan.order.index(i) for i in range(rank)]) if moved else result


def _put_where(
    graph: Graph, x: ir.Value, indices: Sequence[Any], values: ir.Value, accumulate: bool
) -> ir.Value:
    (axis, mask), *others = ((i, one) for i, one in enumerate(indices) if one is not None)
    if others:
        raise NotImplementedError("a mask beside other indices")
    dims, end = graph.shape_of(0), axis + rank_of(mask)
    # In what is put there, one dimension stands for those of the mask.
    behind, rank = len(dims) - end, rank_of(values)
    flags = cast(op.expand_dims(mask, list(range(rank_of(mask), rank_of(mask) + behind)))
                 if behind else mask, "bool")  # fmt: skip
    if rank > behind:
        place = rank - behind - 1
        given = shape_of(values)
        if given[place].value == 1:
            ones = [Dim(1)] * rank_of(mask)
            values = op.reshape(values, [*given[:place], *ones, *given[place + 1 :]])
        else:
            places = op.reshape(cast(mask, "int64"), [product(dims[axis:end])])
            before = op.cumsum(places, 0, exclusive=True)
            taken = op.take(values, before, place, mode="clip")
            values = op.reshape(taken, [*given[:place], *dims[axis:end], *given[place + 1 :]])
    return op.where(flags, op.add(x, values) if accumulate else values, x)


@converts("masked_scatter.default")
def _masked_scatter(graph: Graph, x: ir.Value, mask: ir.Value, source: ir.Value) -> ir.Value:
    mask, size = op.broadcast_to(mask, graph.shape), product(graph.shape)
    before = op.cumsum(cast(op.reshape(mask, [size]), "int64"), 0, exclusive=True)
    flat = op.reshape(source, [product(graph.shape_of(2))])
    taken = op.reshape(op.take(flat, before, 0), graph.shape)
    return op.where(mask, taken, op.broadcast_to(x, graph.shape))


@converts("gather.default")
def _gather(
    graph: Graph, x: ir.Value, axis: int, indices: ir.Value, sparse_grad: bool = False
) -> ir.Value:
    if graph.rank_of(0) == 0 or graph.rank_of(2) == 0:
        return op.broadcast_to(op.reshape(x, [1] * len(graph.shape)), graph.shape)
    return op.gather_elements(x, indices, normal_axis(axis, graph.rank_of(0)))


_REDUCTIONS = {"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max",
               "amin": "min", "mean": "mean"}  # fmt: skip


def _scatter(
    graph: Graph, x: ir.Value, axis: int, indices: ir.Value, source: Any, kind: str
) -> ir.Value:
    source = cast(source, graph.dtype)
    if graph.rank_of(0) == 0:
        # PyTorch takes tensors of rank 0 as vectors of one element.
        data, places, updates = (op.reshape(value, [1]) for value in (x, indices, source))
        return op.reshape(op.scatter_elements(data, places, updates, 0, kind), [])
    dims = shape_of(indices)
    if rank_of(source) == 0:
        source = op.broadcast_to(source, dims)
    for place, (dim, size) in enumerate(zip(dims, shape_of(source), strict=True)):
        if dim != size:
            source = op.strided_slice(source, [place], [0], [dim], [1], assume_inbound=True)
    if graph.dtype == "bool" and kind != "update":
        raise NotImplementedError("reductions of Booleans")
    return op.scatter_elements(x, indices, source, normal_axis(axis, graph.rank_of(0)), kind)


@converts("scatter.src", "scatter.value")
def _scatter_update(
    graph: Graph, x: ir.Value, axis: int, indices: ir.Value, source: Any
) -> ir.Value:
    return _scatter(graph, x, axis, indices, source, "update")


@converts("scatter.reduce", "scatter.value_reduce")
def _scatter_with(
    graph: Graph, x: ir.Value, axis: int, indices: ir.Value, source: Any, reduce: str
) -> ir.Value:
    return _scatter(graph, x, axis, indices, source, _REDUCTIONS[reduce])


@converts("scatter_add.default")
def _scatter_add(graph: Graph, x: ir.Value, axis: int, indices: ir.Value, source: Any) -> ir.Value:
    return _scatter(graph, x, axis, indices, source, "add")


@converts("scatter_reduce.two")
def _scatter_reduce(
    graph: Graph, x: ir.Value, axis: int, indices: ir.Value, source: ir.Value, reduce: str,
    include_self: bool = True,
) -> ir.Value:  # fmt: skip
    if reduce == "mean" and not is_float(graph.dtype):
        raise NotImplementedError(f"means of {graph.dtype}")
    if not include_self and reduce == "mean":
        return _means(graph, x, axis, indices, source)
    if not include_self:
        neutral = _neutral(reduce, graph.dtype)
        x = _scatter(graph, x, axis, indices, neutral, "update")
    return _scatter(graph, x, axis, indices, source, _REDUCTIONS[reduce])


def _means(graph: Graph, x: ir.Value, axis: int, indices: ir.Value, source: ir.Value) -> ir.Value:
    """Return the mean of what goes to each element, which stays where there is nothing."""
    none = op.zeros(shape_of(x), graph.dtype)
    total = _scatter(graph, none, axis, indices, source, "add")
    count = _scatter(graph, none, axis, indices, number(1, graph.dtype), "add")
    least = number(1, graph.dtype)
    return op.where(op.less(count, least), x, op.divide(total, op.maximum(count, least)))


@converts("index_reduce.default")
def _index_reduce(
    graph: Graph, x: ir.Value, axis: int, indices: ir.Value, source: ir.Value, reduce: str, *,
    include_self: bool = True,
) -> ir.Value:  # fmt: skip
    rank = rank_of(source)
    if rank_of(x) != rank or rank == 0:
        raise NotImplementedError("reductions of a tensor of rank 0")
    flat = op.reshape(indices, [product(shape_of(indices))])
    places = op.broadcast_to(along(flat, normal_axis(axis, rank), rank), shape_of(source))
    return _scatter_reduce(graph, x, axis, places, source, reduce, include_self)


@converts("put.default")
def _put_flat(
    graph: Graph, x: ir.Value, indices: ir.Value, source: ir.Value, accumulate: bool = False
) -> ir.Value:
    if graph.dtype == "bool" and accumulate:
        raise NotImplementedError("sums of Booleans")
    flat = op.reshape(x, [product(shape_of(x))])
    count = [product(shape_of(indices))]
    kind = "add" if accumulate else "update"
    places, values = op.reshape(indices, count), op.reshape(source, count)
    return op.reshape(op.scatter_elements(flat, places, values, 0, kind), graph.shape)


def _neutral(reduce: str, dtype: str) -> ir.Value:
    """Return what a reduction of floats begins with."""
    numbers = {"sum": 0.0, "prod": 1.0, "amax": float("-inf"), "amin": float("inf")}
    if reduce not in numbers or not (is_float(dtype) or reduce in ("sum", "prod")):
        raise NotImplementedError(f"reduction {reduce} of {dtype} without the element itself")
    return number(numbers[reduce], dtype)
