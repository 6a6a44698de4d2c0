# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen on bags of embeddings: sums, means and largest elements of rows of a table."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlir import ir

from ... import op
from ...composites.bags import combined_bags, with_end
from ...core.ir import Dim
from .registry import Graph, cast, converts, dtype_of, number, part, shape_of, wide

_SUM, _MEAN, _MAX = range(3)


@dataclasses.dataclass(frozen=True)
class _Bags:
    """Which bag each index is in.

    Parameters
    ----------
    indices : mlir.ir.Value
        Of the rows of the table.
    bag_of : mlir.ir.Value
        The bag of each index.
    counts : mlir.ir.Value
        Whether an index counts: not where it is the one of the padding.
    size : Dim
        The number of offsets.
    """

    indices: ir.Value
    bag_of: ir.Value
    counts: ir.Value
    size: Dim

    @staticmethod
    def of(indices: ir.Value, offsets: ir.Value, padding: int) -> _Bags:
        """Return those that begin at offsets; one is empty that begins where the next one does."""
        indices = cast(indices, "int64")
        order = op.arange(0, shape_of(indices)[0], 1, "int64")
        begun = op.bucketize(order, cast(offsets, "int64"), right=True)
        bag_of = op.subtract(begun, number(1, "int64"))
        counts = op.not_equal(indices, number(padding, "int64"))
        return _Bags(indices, bag_of, counts, shape_of(offsets)[0])

    def sizes(self, dtype: str) -> ir.Value:
        """Return how many indices count in each bag."""
        none = op.zeros([self.size], dtype)
        places = op.expand_dims(self.bag_of, 1)
        return op.scatter_nd(none, places, cast(self.counts, dtype), "add")


@dataclasses.dataclass(frozen=True)
class _EqualBags:
    """Bags of the same number of indices each, which are rows of a matrix.

    Parameters
    ----------
    indices : mlir.ir.Value
        Of the rows of the table.
    counts : mlir.ir.Value, optional
        Whether an index counts, if some do not.
    """

    indices: ir.Value
    counts: ir.Value | None

    @staticmethod
    def of(indices: ir.Value, offsets: ir.Value, padding: int) -> _EqualBags | None:
        """Return those that begin at offsets, if these are known to be multiples of a length."""
        (size,) = shape_of(offsets)
        begins = offsets.owner
        if getattr(begins, "name", "") != "relax.arange":
            return None
        values = [operand.type.value for operand in begins.operands]
        if any(value is None for value in values):
            return None
        first, _, length = map(Dim, values)
        if first.value != 0 or not (size * length).prove_equal(shape_of(indices)[0]):
            return None
        indices = op.reshape(indices, [size, length])
        return _EqualBags(
            indices,
            None if padding < 0 else op.not_equal(indices, number(padding, dtype_of(indices))),
        )

    @property
    def size(self) -> Dim:
        """The number of bags."""
        return shape_of(self.indices)[0]

    def combined(self, rows: ir.Value, first: float, how: str) -> ir.Value:
        """Return the rows of each bag together, of indices that count."""
        if self.counts is not None:
            after = range(2, len(shape_of(rows)))
            flags = op.expand_dims(self.counts, list(after)) if after else self.counts
            rows = op.where(flags, rows, number(first, dtype_of(rows)))
        return {"add": op.sum, "max": op.max}[how](rows, [1])

    def sizes(self, dtype: str) -> ir.Value:
        """Return how many indices count in each bag."""
        if self.counts is None:
            size, length = shape_of(self.indices)
            return op.broadcast_to(number(length, dtype), [size])
        return op.sum(cast(self.counts, dtype), [1])

    def like_indices(self, factors: ir.Value) -> ir.Value:
        """Return a vector of a number for each index as a tensor of the shape of the indices."""
        return op.reshape(factors, shape_of(self.indices))


@converts("_embedding_bag.default", "_embedding_bag_forward_only.default")
def _embedding_bag(
    graph: Graph, weight: ir.Value, indices: ir.Value, offsets: ir.Value,
    scale_grad_by_freq: bool = False, mode: int = _SUM, sparse: bool = False,
    factors: Any = None, include_last_offset: bool = False, padding: int = -1,
) -> list[ir.Value]:  # fmt: skip
    bags = _EqualBags.of(indices, offsets, padding)
    if bags is not None:
        rows = wide(op.take(weight, bags.indices, 0))
        if factors is not None:
            factors = cast(bags.like_indices(factors), dtype_of(rows))
            rows = op.multiply(rows, op.expand_dims(factors, -1))
        result = cast(_combined(bags, rows, mode), graph.dtype)
        if include_last_offset:  # what comes behind the last one is in no bag
            result = part(result, 0, 0, bags.size - 1)
    else:
        indices, offsets = cast(indices, "int64"), cast(offsets, "int64")
        ends = offsets if include_last_offset else with_end(offsets, indices)
        if factors is not None:
            factors = cast(factors, "float64" if graph.dtype == "float64" else "float32")
        how = ("sum", "mean", "max")[mode]
        result = cast(combined_bags(weight, indices, ends, how, padding, factors), graph.dtype)
    return [result, *graph.unused((1, 2, 3))] if any(map(graph.uses, (1, 2, 3))) else [result]


def _combined(bags: _EqualBags, rows: ir.Value, mode: int) -> ir.Value:
    """Return the sum, the mean or the largest elements of each bag; 0 of an empty one."""
    dtype = dtype_of(rows)
    if mode == _SUM:
        return bags.combined(rows, 0, "add")
    sizes = op.expand_dims(bags.sizes(dtype), 1)
    if mode == _MEAN:
        return op.divide(bags.combined(rows, 0, "add"), op.maximum(sizes, number(1, dtype)))
    largest = bags.combined(rows, float("-inf"), "max")
    return op.where(op.greater(sizes, number(0, dtype)), largest, number(0, dtype))


# -- gradients ----------------------------------------------------------------------------------


@converts("_embedding_bag_backward.default")
def _embedding_bag_backward(
    graph: Graph, g: ir.Value, indices: ir.Value, offsets: ir.Value, bag_of: ir.Value,
    sizes: ir.Value, places: ir.Value, count: Any, scale_grad_by_freq: bool, mode: int,
    sparse: bool, factors: Any, padding: int = -1,
) -> ir.Value:  # fmt: skip
    if mode == _MAX:
        raise NotImplementedError("the gradient of the largest elements of bags")
    if scale_grad_by_freq:
        raise NotImplementedError("the gradient of bags by the frequency of indices")
    bags = _Bags.of(indices, offsets, padding)
    rows = wide(g)
    dtype = dtype_of(rows)
    if mode == _MEAN:
        size = part(bags.sizes(dtype), 0, 0, shape_of(g)[0])
        rows = op.divide(rows, op.expand_dims(op.maximum(size, number(1, dtype)), 1))
    rows = op.take(rows, bags.bag_of, 0)
    if factors is not None:
        rows = op.multiply(rows, op.expand_dims(cast(factors, dtype), 1))
    rows = op.where(op.expand_dims(bags.counts, 1), rows, number(0, dtype))
    begin = op.zeros(graph.shape, dtype)
    total = op.scatter_nd(begin, op.expand_dims(bags.indices, 1), rows, "add")
    return cast(total, graph.dtype)


@converts("_embedding_bag_per_sample_weights_backward.default")
def _factors_backward(
    graph: Graph, g: ir.Value, weight: ir.Value, indices: ir.Value, offsets: ir.Value,
    bag_of: ir.Value, mode: int, padding: int = -1,
) -> ir.Value:  # fmt: skip
    bags = _Bags.of(indices, offsets, padding)
    pairs = op.multiply(wide(op.take(g, bags.bag_of, 0)), wide(op.take(weight, bags.indices, 0)))
    total = op.where(bags.counts, op.sum(pairs, [1]), number(0, dtype_of(pairs)))
    return cast(total, graph.dtype)
