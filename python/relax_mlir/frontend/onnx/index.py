# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that take or put elements at places that tensors hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.tensors import cast, normal_axis, number, size_tensor
from ...core.expr import const
from ...core.ir import TensorStructInfo
from ..values import Value, known_sizes, rank_of, shape_of
from .registry import Node, converter


@converter("Gather", raw=(1,))
def _gather(node: Node, x: ir.Value, indices: Value) -> ir.Value:
    axis = normal_axis(node.attr("axis", 0), rank_of(x))
    return gather(node, x, indices, axis)


def gather(node: Node, x: ir.Value, indices: Value, axis: int) -> ir.Value:
    """Return elements at places along an axis, of which negative ones count from the end."""
    extent = shape_of(x)[axis]
    if isinstance(indices, np.ndarray) and (isinstance(extent, int) or not np.any(indices < 0)):
        if isinstance(extent, int):
            if indices.size and not (-extent <= indices.min() <= indices.max() < extent):
                raise ValueError(f"expected indices into {extent} elements, but got {indices}")
            indices = np.where(indices < 0, indices + extent, indices)
        return op.take(x, const(indices), axis)
    places = node.importer.tensor(node.scope, indices)
    zero, dtype = number(0, places.type.dtype), places.type.dtype
    from_end = op.add(places, size_tensor(extent, dtype))
    return op.take(x, op.where(op.less(places, zero), from_end, places), axis)


@converter("GatherElements")
def _gather_elements(node: Node, x: ir.Value, indices: ir.Value) -> ir.Value:
    return op.gather_elements(x, indices, normal_axis(node.attr("axis", 0), rank_of(x)))


@converter("GatherND")
def _gather_nd(node: Node, x: ir.Value, indices: ir.Value) -> ir.Value:
    return op.gather_nd(x, indices, node.attr("batch_dims", 0))


@converter("Scatter", "ScatterElements")
def _scatter_elements(node: Node, x: ir.Value, indices: ir.Value, updates: ir.Value) -> ir.Value:
    node.refuse("reduction", "add", "mul", "min", "max", default="none")
    reduction = node.attr("reduction", "none")
    axis = normal_axis(node.attr("axis", 0), rank_of(x))
    kind = "update" if reduction == "none" else reduction
    return op.scatter_elements(x, indices, updates, axis, kind)


@converter("ScatterND")
def _scatter_nd(node: Node, x: ir.Value, indices: ir.Value, updates: ir.Value) -> ir.Value:
    node.refuse("reduction", "add", "mul", "min", "max", default="none")
    reduction = node.attr("reduction", "none")
    return op.scatter_nd(x, indices, updates, "update" if reduction == "none" else reduction)


@converter("TensorScatter", since=24)
def _tensor_scatter(
    node: Node, past: ir.Value, update: ir.Value, begins: ir.Value | None = None
) -> ir.Value:
    node.refuse("mode", "circular", default="linear")
    rank, dims = rank_of(past), shape_of(update)
    axis = normal_axis(node.attr("axis", -2), rank)
    steps = op.reshape(op.arange(0, dims[axis], 1, "int64"), [-1, *[1] * (rank - axis - 1)])
    if begins is not None:
        first = op.expand_dims(cast(begins, "int64"), list(range(1, rank)))
        steps = op.add(first, steps)
    if node.attr("mode", "linear") == "circular":
        steps = op.floor_mod(steps, size_tensor(shape_of(past)[axis]))
    return op.scatter_elements(past, op.broadcast_to(steps, dims), update, axis)


@converter("OneHot", raw=(1,))
def _one_hot(node: Node, indices: ir.Value, depth: Value, values: ir.Value) -> ir.Value:
    if isinstance(depth, np.ndarray):
        depth = depth.astype("int64")
    count = known_sizes(depth, "a depth")[0]
    rank = rank_of(indices) + 1
    axis = normal_axis(node.attr("axis", -1), rank)
    places = cast(indices, "int64")
    negative = op.less(places, number(0, "int64"))
    places = op.where(negative, op.add(places, size_tensor(count)), places)
    shape: list[Any] = [1] * rank
    shape[axis] = count
    hot = op.equal(op.expand_dims(places, axis), op.reshape(op.arange(0, count, 1, "int64"), shape))
    off, on = (op.take(values, const(np.int64(i)), 0) for i in range(2))
    return op.where(hot, on, off)


@converter("ReverseSequence")
def _reverse_sequence(node: Node, x: ir.Value, lengths: ir.Value) -> ir.Value:
    time, batch = node.attr("time_axis", 0), node.attr("batch_axis", 1)
    dims, rank = shape_of(x), rank_of(x)
    shape = [1] * rank
    shape[batch] = dims[batch]
    length = op.reshape(lengths, shape)
    shape = [1] * rank
    shape[time] = dims[time]
    step = op.reshape(op.arange(0, dims[time], 1, "int64"), shape)
    mirrored = op.subtract(op.subtract(length, number(1, "int64")), step)
    places = op.where(op.less(step, length), mirrored, step)
    return op.gather_elements(x, op.broadcast_to(places, dims), time)


@converter("ArrayFeatureExtractor", domain="ai.onnx.ml", raw=(1,))
def _array_feature_extractor(node: Node, x: ir.Value, indices: Value) -> ir.Value:
    if isinstance(indices, np.ndarray):
        indices = indices.reshape(-1)
    elif rank_of(indices) > 1:
        indices = op.reshape(indices, [-1])
    taken = gather(node, x, indices, rank_of(x) - 1)
    return op.expand_dims(taken, 0) if rank_of(taken) == 1 else taken


@converter("Unique", since=11)
def _unique(node: Node, x: ir.Value) -> Any:
    dtype, axis = x.type.dtype, node.attr("axis", None)
    # NumPy sorts no bfloat16; float32 has all its numbers.
    wide = cast(x, "float32") if dtype == "bfloat16" else x
    if not node.attr("sorted", 1):
        return _unique_in_order(node, wide, axis, dtype)
    flags = [node.wants(i) for i in range(1, 4)]
    found = op.unique(wide, True, flags[0], flags[1], flags[2], axis)
    places = iter(range(1, 4))
    others = [op.get_item(found, next(places)) if flag else None for flag in flags]
    values = node.importer.of_shape(op.get_item(found, 0) if any(flags) else found, "unique")
    return (cast(values, dtype), *others)


def _unique_in_order(node: Node, x: ir.Value, axis: int | None, dtype: str) -> Any:
    """Return different elements in the order in which they come up."""
    found = op.unique(x, True, True, True, True, axis)
    count = node.importer.fresh_dim()
    first, counts = (
        op.match_cast(op.get_item(found, i), TensorStructInfo([count], "int64")) for i in (1, 3)
    )
    inverse = node.importer.of_shape(op.get_item(found, 2), "inverse")
    # Where each one comes up first, sorted: all are different.
    ranked = op.unique(first, True, True, True)
    begins, order, ranks = (
        op.match_cast(op.get_item(ranked, i), TensorStructInfo([count], "int64")) for i in range(3)
    )
    if axis is None:
        x, axis = op.reshape(x, [-1]) if rank_of(x) != 1 else x, 0
    values = cast(op.take(x, begins, normal_axis(axis, rank_of(x))), dtype)
    return values, begins, op.take(ranks, inverse, 0), op.take(counts, order, 0)
