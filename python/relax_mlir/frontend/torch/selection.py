# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements that are chosen by their values: how many there are depends on data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir

from ... import op
from ...composites import tensors
from ...composites.selection import coordinates, true_places
from ...core.ir import Dim
from .registry import Graph, cast, converts, number, product, rank_of, shape_of
from .shapes import as_shape, bound_symbols

# Operators that find out how many elements there are, and so bind that size.
SELECTIONS = {"aten.nonzero.default", "aten.masked_select.default", "aten.index.Tensor"}


def sizes_found(graphs: Sequence[torch.fx.Graph]) -> set[str]:
    """Return the variables of sizes that depend on data and that operators here find out."""
    nodes = (node for graph in graphs for node in graph.nodes if str(node.target) in SELECTIONS)
    return {name for node in nodes for name in bound_symbols(node)}


def _places(graph: Graph, flags: ir.Value) -> ir.Value:
    flat = op.reshape(flags, [-1]) if rank_of(flags) != 1 else flags
    # The number of elements, as the shape variable that PyTorch names.
    (count,) = bound_symbols(graph.node) or [f"{graph.node.name}_count"]
    return true_places(flat, number(-1, "int64"), Dim(f"{count}_and_one"), Dim(count))


@converts("nonzero.default")
def _nonzero(graph: Graph, x: ir.Value) -> ir.Value:
    if rank_of(x) == 0:
        raise NotImplementedError("the places of nonzero elements of a tensor of rank 0")
    places = _places(graph, cast(x, "bool"))
    return op.stack(coordinates(places, tensors.shape_of(x)), 1)


@converts("masked_select.default")
def _masked_select(graph: Graph, x: ir.Value, mask: ir.Value) -> ir.Value:
    shapes = torch.broadcast_shapes(graph.meta(0).shape, graph.meta(1).shape)
    dims = as_shape(shapes)
    flat = op.reshape(op.broadcast_to(x, dims), [-1])
    return op.take(flat, _places(graph, op.broadcast_to(cast(mask, "bool"), dims)), 0)


def select_where(graph: Graph, x: ir.Value, indices: Sequence[Any]) -> ir.Value:
    """Return the elements where a mask is true, as ``x[:, mask]`` does.

    Raises
    ------
    NotImplementedError
        If there are other indices than one mask.
    """
    (axis, mask), *others = ((i, one) for i, one in enumerate(indices) if one is not None)
    if others:
        raise NotImplementedError("a mask together with other indices, in place of one mask")
    if rank_of(mask) == 0:
        raise NotImplementedError("a mask of rank 0")
    dims, end = shape_of(x), axis + rank_of(mask)
    merged = [*dims[:axis], product(dims[axis:end]), *dims[end:]]
    return op.take(op.reshape(x, merged), _places(graph, cast(mask, "bool")), axis)
