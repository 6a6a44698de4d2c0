# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathering of slices at places that are data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jaxlib.mlir.dialects import stablehlo
from mlir import ir

from ... import op
from .registry import Node, converts
from .values import (
    Size,
    Value,
    as_tensor,
    cast,
    known_sizes,
    number,
    part,
    permuted,
    rank_of,
    reshaped,
    shape_of,
    size_tensor,
)


@converts("stablehlo.gather")
def _gather(node: Node, x: ir.Value, starts: ir.Value) -> ir.Value:
    return _gathered(node, x, starts, node.attr("slice_sizes"))


@converts("stablehlo.dynamic_gather", raw=True)
def _dynamic_gather(node: Node, x: Value, starts: Value, sizes: Value) -> ir.Value:
    return _gathered(node, as_tensor(x), as_tensor(starts), known_sizes(sizes, "slice sizes"))


@dataclasses.dataclass(frozen=True)
class Slices:
    """Slices of a tensor at places that are data, of which each has a row in a tensor of starts.

    Parameters
    ----------
    indexed : list of int
        The dimensions of the tensor that starts are in, in the order of a row.
    batches : list of int
        Those of the tensor that go along with dimensions of the starts.
    index_batches : list of int
        The dimensions of the starts that these go along with.
    index_dim : int
        The dimension of the starts that rows are along.
    sizes : list of int or Dim
        Those of a slice.
    dropped : list of int
        The dimensions of a slice that the result has not.
    """

    indexed: list[int]
    batches: list[int]
    index_batches: list[int]
    index_dim: int
    sizes: Sequence[Size]
    dropped: list[int]

    @property
    def window(self) -> list[int]:
        """The dimensions of the tensor that a slice has in the result."""
        taken = {*self.dropped, *self.batches}
        return [i for i in range(len(self.sizes)) if i not in taken]

    def places(
        self, x: ir.Value, starts: ir.Value, extended: Sequence[int], clamped: bool
    ) -> ir.Value:
        """Return where the elements of slices are, in the first dimensions of a tensor.

        Parameters
        ----------
        x, starts : mlir.ir.Value
        extended : sequence of int
            The dimensions along which slices have more than one element, which are listed.
        clamped : bool
            Whether slices are moved into the tensor. Otherwise those that are partly outside of it
            get places that are.

        Returns
        -------
        mlir.ir.Value
            Of the dimensions of the batch of starts, the extended ones, and those places are in:
            first `batches`, then `indexed` and what else is extended.
        """
        rows, dims = _rows_last(starts, self.index_dim), shape_of(x)
        batch = shape_of(rows)[:-1]
        count = len(extended)
        firsts = [
            op.reshape(part(rows, len(batch), i, i + 1), [*batch, *[1] * count])
            for i in range(len(self.indexed))
        ]
        firsts = [
            self._inside(first, dims[axis], self.sizes[axis], clamped)
            for first, axis in zip(firsts, self.indexed, strict=True)
        ]
        full = [*batch, *(self.sizes[axis] for axis in extended)]
        columns = [self._batch_column(axis, full) for axis in self.index_batches]
        for axis in _order(self, extended):
            column = firsts[self.indexed.index(axis)] if axis in self.indexed else None
            columns.append(self._column(column, axis, extended, len(batch)))
        wide = [op.expand_dims(_broadcast(column, full), len(full)) for column in columns]
        return wide[0] if len(wide) == 1 else op.concat(wide, len(full))

    def _inside(self, first: ir.Value, dim: Size, extent: Size, clamped: bool) -> ir.Value:
        room = size_tensor(dim - extent, "int64")
        if clamped:
            return op.minimum(op.maximum(first, number(0, "int64")), room)
        fits = op.logical_and(
            op.greater_equal(first, number(0, "int64")), op.less_equal(first, room)
        )
        return op.where(fits, first, size_tensor(dim, "int64"))

    def _batch_column(self, axis: int, full: Sequence[Size]) -> ir.Value:
        place = axis if axis < self.index_dim else axis - 1
        counted = op.arange(0, full[place], 1, "int64")
        return op.reshape(counted, [full[place], *[1] * (len(full) - place - 1)])

    def _column(
        self, first: ir.Value | None, axis: int, extended: Sequence[int], batch: int
    ) -> ir.Value:
        if axis not in extended:
            assert first is not None
            return first
        behind = len(extended) - list(extended).index(axis) - 1
        steps = op.arange(0, self.sizes[axis], 1, "int64")
        steps = op.reshape(steps, [self.sizes[axis], *[1] * behind])
        return steps if first is None else op.add(first, steps)


def _order(slices: Slices, extended: Sequence[int]) -> list[int]:
    return [*slices.indexed, *(axis for axis in extended if axis not in slices.indexed)]


def _rows_last(starts: ir.Value, index_dim: int) -> ir.Value:
    starts = cast(starts, "int64")
    rank = rank_of(starts)
    if index_dim == rank:
        return op.expand_dims(starts, rank)
    return permuted(starts, [*(i for i in range(rank) if i != index_dim), index_dim])


def _broadcast(x: ir.Value, dims: Sequence[Size]) -> ir.Value:
    return x if shape_of(x) == list(dims) else op.broadcast_to(x, list(dims))


def _gathered(node: Node, x: ir.Value, starts: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    numbers = stablehlo.GatherDimensionNumbers(node.raw_attr("dimension_numbers"))
    slices = Slices(
        list(numbers.start_index_map),
        list(numbers.operand_batching_dims),
        list(numbers.start_indices_batching_dims),
        int(numbers.index_vector_dim),
        list(sizes),
        list(numbers.collapsed_slice_dims),
    )
    # Along dimensions without starts, slices begin at 0.
    for axis, extent in enumerate(slices.sizes):
        if axis not in slices.indexed and axis not in slices.batches:
            x = part(x, axis, 0, extent)
    offsets = list(numbers.offset_dims)
    if len(slices.indexed) == 1 and slices.dropped == slices.indexed and not slices.batches:
        return _taken(x, starts, slices, offsets)
    return _gathered_nd(node, x, starts, slices, offsets)


def _taken(x: ir.Value, starts: ir.Value, slices: Slices, offsets: list[int]) -> ir.Value:
    axis = slices.indexed[0]
    rows = _rows_last(starts, slices.index_dim)
    batch = rank_of(rows) - 1
    # Places beyond the ends mean the nearest one, as in StableHLO.
    result = op.take(x, op.reshape(rows, shape_of(rows)[:-1]), axis)
    moved = [*range(axis, axis + batch), *range(axis), *range(axis + batch, rank_of(result))]
    return _placed(result, moved, batch, offsets)


def _placed(x: ir.Value, moved: list[int], batch: int, offsets: list[int]) -> ir.Value:
    """Return a tensor with the dimensions of slices at some places, those of the batch at others.

    Parameters
    ----------
    x : mlir.ir.Value
    moved : list of int
        The dimensions of the batch, then those of slices.
    batch : int
        How many there are of the batch.
    offsets : list of int
        The places of the dimensions of slices.
    """
    batches, windows = iter(moved[:batch]), iter(moved[batch:])
    order = [next(windows) if i in offsets else next(batches) for i in range(len(moved))]
    return permuted(x, order)


def _gathered_nd(
    node: Node, x: ir.Value, starts: ir.Value, slices: Slices, offsets: list[int]
) -> ir.Value:
    same = node.importer.dimensions.same
    extended = [
        axis for axis in slices.window if axis in slices.indexed and not same(slices.sizes[axis], 1)
    ]
    places = slices.places(x, starts, extended, clamped=True)
    leading = [*slices.batches, *slices.indexed]
    rest = [axis for axis in range(rank_of(x)) if axis not in leading]
    result = op.gather_nd(permuted(x, [*leading, *rest]), places)
    batch = rank_of(places) - 1 - len(extended)
    # The dimensions of a slice as the result has them: of size 1 where they are not there.
    found = {axis: batch + i for i, axis in enumerate(extended)}
    found |= {axis: batch + len(extended) + i for i, axis in enumerate(rest)}
    present = [axis for axis in slices.window if axis in found]
    result = permuted(result, [*range(batch), *(found[axis] for axis in present)])
    dims = shape_of(result)
    sizes = dict(zip(present, dims[batch:], strict=True))
    result = reshaped(result, [*dims[:batch], *(sizes.get(axis, 1) for axis in slices.window)])
    return _placed(result, list(range(rank_of(result))), batch, offsets)
