# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that take the elements that fulfil a condition: how many, the program finds."""

from __future__ import annotations

from mlir import ir

from ... import op
from ...composites import selection
from ...composites.selection import coordinates
from ...composites.tensors import facts, normal_axis, number, size_tensor
from ...core.ir import Dim
from ..values import rank_of, shape_of
from .registry import Node, converter


def true_places(node: Node, flags: ir.Value) -> ir.Value:
    """Return the places of a vector of bool that hold, as int64, in order."""
    return selection.true_places(flags, node.importer.fresh_dim())


def part_by_data(
    node: Node, x: ir.Value, axis: int, begin: ir.Value, end: ir.Value, step: int
) -> ir.Value:
    """Return the elements of one axis between places that the program computes.

    Parameters
    ----------
    node : Node
    x : mlir.ir.Value
    axis : int
    begin, end : mlir.ir.Value
        Of rank 0 and int64; negative ones count from the end, those beyond mean the nearest one.
    step : int
        1 or more.
    """
    extent, zero = size_tensor(shape_of(x)[axis]), number(0, "int64")
    places = op.arange(0, shape_of(x)[axis], 1, "int64")
    first, last = (
        op.minimum(op.maximum(op.where(op.less(one, zero), op.add(one, extent), one), zero), extent)
        for one in (begin, end)
    )
    flags = op.logical_and(op.greater_equal(places, first), op.less(places, last))
    if step > 1:
        rest = op.floor_mod(op.subtract(places, first), number(step, "int64"))
        flags = op.logical_and(flags, op.equal(rest, zero))
    return op.take(x, true_places(node, flags), axis)


@converter("NonZero", since=9)
def _non_zero(node: Node, x: ir.Value) -> ir.Value:
    flags = x
    if x.type.dtype != "bool":
        flags = op.not_equal(x, number(0, x.type.dtype))
    if rank_of(x) == 0:
        # No dimension, and so no row of places.
        found = true_places(node, op.reshape(flags, [1]))
        return op.zeros([0, shape_of(found)[0]], "int64")
    found = true_places(node, op.reshape(flags, [-1]) if rank_of(x) > 1 else flags)
    return op.stack(coordinates(found, shape_of(x)), 0)


@converter("Compress", since=9)
def _compress(node: Node, x: ir.Value, condition: ir.Value) -> ir.Value:
    axis = node.attr("axis", None)
    if axis is None:
        x, axis = op.reshape(x, [-1]) if rank_of(x) != 1 else x, 0
    axis = normal_axis(axis, rank_of(x))
    extent, given = shape_of(x)[axis], shape_of(condition)[0]
    if not Dim(given).prove_less_equal(extent, facts(Dim(given), Dim(extent))):
        if isinstance(extent, int) and isinstance(given, int):
            raise ValueError(f"expected up to {extent} conditions, but got {given}")
        # What goes beyond the dimension has no elements.
        condition = op.strided_slice(condition, [0], [0], [extent], [1])
    return op.take(x, true_places(node, condition), axis)
