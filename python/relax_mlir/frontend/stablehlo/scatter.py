# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates of slices at places that are data."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir.dialects import stablehlo
from mlir import ir

from ... import op
from . import regions
from .gather import Slices
from .registry import Node, converts
from .values import Value, as_tensor, cast, dtype_of, permuted, rank_of, reshaped, shape_of

_REDUCTIONS = {
    "": "update",
    "add": "add",
    "multiply": "mul",
    "minimum": "min",
    "maximum": "max",
    "or": "max",
    "and": "min",
}


@converts("stablehlo.scatter", raw=True)
def _scatter(node: Node, *operands: Value) -> Any:
    count = len(operands) // 2
    inputs, starts, updates = operands[:count], operands[count], operands[count + 1 :]
    kinds = regions.each(node.regions[0])
    if kinds is None or any(kind not in _REDUCTIONS for kind in kinds):
        raise regions.unsupported(
            node, node.regions[0], "the update, or add, multiply, minimum or maximum with it"
        )
    return tuple(
        _scattered(node, as_tensor(x), as_tensor(starts), as_tensor(update), kind)
        for x, update, kind in zip(inputs, updates, kinds, strict=True)
    )


def _scattered(node: Node, x: ir.Value, starts: ir.Value, update: ir.Value, kind: str) -> ir.Value:
    dtype = dtype_of(x)
    if dtype == "bool":
        return cast(
            _scattered(node, cast(x, "uint8"), starts, cast(update, "uint8"), kind), dtype
        )  # fmt: skip
    if kind in ("and", "or") and dtype != "uint8":
        raise NotImplementedError(f"expected {kind} of conditions, but got {dtype}")
    numbers = stablehlo.ScatterDimensionNumbers(node.raw_attr("scatter_dimension_numbers"))
    slices = _slices(numbers, x, update)
    same, dims = node.importer.dimensions.same, shape_of(x)
    # Slices of which each element has a place of its own.
    extended = [
        axis
        for axis in slices.window
        if not same(slices.sizes[axis], 1 if axis in slices.indexed else dims[axis])
    ]
    places = slices.places(x, starts, extended, clamped=False)
    leading = [*slices.batches, *slices.indexed]
    leading += [axis for axis in extended if axis not in leading]
    rest = [axis for axis in range(len(dims)) if axis not in leading]
    order = [*leading, *rest]
    update = _turned(update, list(numbers.update_window_dims), slices, [*extended, *rest])
    result = op.scatter_nd(permuted(x, order), places, update, _REDUCTIONS[kind])
    return permuted(result, sorted(range(len(order)), key=lambda i: order[i]))


def _turned(update: ir.Value, windows: list[int], slices: Slices, kept: list[int]) -> ir.Value:
    """Return updates with the dimensions of the batch first, then some of the tensor's."""
    batch = [i for i in range(rank_of(update)) if i not in windows]
    found = dict(zip(slices.window, windows, strict=True))
    others = [found[axis] for axis in slices.window if axis not in kept]
    order = [*batch, *(found[axis] for axis in kept)]
    extents = shape_of(update)
    # The others have one element.
    return reshaped(permuted(update, [*order, *others]), [extents[i] for i in order])


def _slices(numbers: Any, x: ir.Value, update: ir.Value) -> Slices:
    """Return the slices that updates are of."""
    batches, dropped = list(numbers.input_batching_dims), list(numbers.inserted_window_dims)
    sizes: list[Any] = [1] * rank_of(x)
    window = [i for i in range(rank_of(x)) if i not in batches and i not in dropped]
    for axis, place in zip(window, numbers.update_window_dims, strict=True):
        sizes[axis] = shape_of(update)[place]
    return Slices(
        list(numbers.scattered_dims_to_operand_dims),
        batches,
        list(numbers.scatter_indices_batching_dims),
        int(numbers.index_vector_dim),
        sizes,
        dropped,
    )


@converts("stablehlo.select_and_scatter", raw=True)
def _select_and_scatter(node: Node, *operands: Value) -> Any:
    raise NotImplementedError(
        "expected a program without gradients of pools, which select_and_scatter is"
    )
