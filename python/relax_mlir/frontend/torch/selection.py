# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements that are chosen by their values, and sizes that elements say: they depend on data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from mlir import ir
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree

from ... import op
from ...composites import tensors
from ...composites.data_dependent import tensor_to_shape
from ...composites.distinct import distinct, named_size, runs
from ...composites.kernels import bind_size
from ...composites.selection import true_places
from ...composites.tensors import matched
from ...core.dtypes import dtype_name
from ...core.ir import Dim, TensorStructInfo
from .registry import Graph, cast, converts, normal_axis, number, product, rank_of, shape_of
from .shapes import as_shape, bound_symbols, depends_on_data

# Operators that find out how many elements there are, and so bind that size.
SELECTIONS = {
    "aten._unique2.default",
    "aten.bincount.default",
    "aten.index.Tensor",
    "aten.masked_select.default",
    "aten.nonzero.default",
    "aten.repeat_interleave.Tensor",
    "aten.repeat_interleave.self_Tensor",
    "aten.slice.Tensor",
    "aten.unique_consecutive.default",
    "aten.unique_dim.default",
}
# Operators that return an element as a number.
_ITEMS = {"aten._local_scalar_dense.default", "aten.item.default"}


def sizes_found(graphs: Sequence[torch.fx.Graph]) -> set[str]:
    """Return the variables of sizes that depend on data and that operators here find out."""
    nodes = [node for graph in graphs for node in graph.nodes]
    found, items = (
        {name for node in nodes if str(node.target) in targets for name in bound_symbols(node)}
        for targets in (SELECTIONS, _ITEMS)
    )
    if not items:
        return found
    sizes = (size for node in nodes for size in _sizes(node))
    used = {str(symbol) for size in sizes for symbol in free_unbacked_symbols(size)}
    return found | (items & used)


def _sizes(node: torch.fx.Node) -> Iterator[Any]:
    """Return the sizes of what a node computes, and those among its arguments."""
    for value in pytree.tree_leaves(node.meta.get("val")):
        yield from value.shape if isinstance(value, torch.Tensor) else ()
    schema = getattr(node.target, "_schema", None)
    for argument, value in zip([] if schema is None else schema.arguments, node.args, strict=False):
        if "int" in str(argument.type):
            given = (one for one in pytree.tree_leaves(value) if isinstance(one, torch.fx.Node))
            yield from (one.meta.get("val") for one in given)


@converts("item.default", "_local_scalar_dense.default")
def _item(graph: Graph, x: ir.Value) -> ir.Value | Dim:
    value = graph.node.meta["val"]
    names = bound_symbols(graph.node)
    if names and isinstance(value, torch.SymInt) and not depends_on_data(value):
        return named_size(x, names[0])
    return op.reshape(cast(x, graph.dtype), [])


def _places(graph: Graph, flags: ir.Value) -> ir.Value:
    flat = op.reshape(flags, [-1]) if rank_of(flags) != 1 else flags
    return true_places(flat, Dim(_count(graph)))


@converts("nonzero.default")
def _nonzero(graph: Graph, x: ir.Value) -> ir.Value:
    if rank_of(x) == 0:
        raise NotImplementedError("the places of nonzero elements of a tensor of rank 0")
    found = TensorStructInfo([rank_of(x), Dim(_count(graph))], "int64")
    return op.permute_dims(op.match_cast(op.nonzero(x), found))


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


@converts("_unique2.default", "unique_consecutive.default")
def _unique(graph: Graph, x: ir.Value, *arguments: Any) -> list[ir.Value]:
    of_runs = graph.kind == "unique_consecutive"
    axis = arguments[2] if of_runs and len(arguments) > 2 else None
    if axis is not None and graph.rank_of(0) > 1:
        raise NotImplementedError(f"the dimension {axis} as one along which rows are compared")
    dims = graph.shape_of(0)
    flat = op.reshape(x, [product(dims)]) if len(dims) != 1 else x
    if of_runs or _is_unwanted(graph.results[1]):
        values, places, counts = runs(flat if of_runs else op.sort(flat, 0), _count(graph))
    else:
        values, places, counts = distinct(flat, _count(graph))
    found = [values, op.reshape(places, dims) if len(dims) != 1 else places, counts]
    return _wanted(graph, found)


@converts("unique_dim.default")
def _unique_rows(graph: Graph, x: ir.Value, axis: int, *_: Any) -> list[ir.Value]:
    place, count = normal_axis(axis, graph.rank_of(0)), Dim(_count(graph))
    found = op.unique(x, True, False, True, True, place)
    dims = graph.shape_of(0)
    rows = dims[place]
    dims[place] = count
    types = [
        TensorStructInfo(dims, graph.dtype),
        TensorStructInfo([rows], "int64"),
        TensorStructInfo([count], "int64"),
    ]
    return _wanted(
        graph, [op.match_cast(op.get_item(found, i), one) for i, one in enumerate(types)]
    )


def _is_unwanted(meta: torch.Tensor) -> bool:
    """Say whether PyTorch does not compute a result: it has no elements then."""
    return str(list(meta.shape)) == "[0]"


def _wanted(graph: Graph, found: list[ir.Value]) -> list[ir.Value]:
    """Return results, in place of those that PyTorch does not compute a tensor without elements."""
    return [
        op.zeros([0], dtype_name(meta.dtype)) if _is_unwanted(meta) else one
        for one, meta in zip(found, graph.results, strict=True)
    ]


def _count(graph: Graph) -> str:
    """Return the name of the size that an operator finds out, that of PyTorch if it has one."""
    (name,) = bound_symbols(graph.node) or [f"{graph.node.name}_count"]
    return name


@converts("repeat_interleave.self_Tensor", "repeat_interleave.Tensor")
def _repeat_interleave(
    graph: Graph, x: ir.Value, *arguments: Any, output_size: Any = None
) -> ir.Value:
    repeats, *rest = arguments if graph.kind_is("self_Tensor") else (x, *arguments)
    axis = rest[0] if rest and graph.kind_is("self_Tensor") else None
    if axis is None and rank_of(x) != 1:
        x, axis = op.reshape(x, [-1]), 0
    axis = normal_axis(axis or 0, rank_of(x))
    extent = tensors.shape_of(x)[axis]
    times = cast(repeats, "int64")
    if tensors.shape_of(times) in ([], [1]):
        times = op.broadcast_to(times, [extent])
    ends = op.cumsum(matched(times, [extent]), 0)
    total = graph.shape[axis]
    if total.value is None and bound_symbols(graph.node):
        total = named_size(op.sum(times), _count(graph))
    elif output_size is not None:  # which PyTorch takes for granted where it exports
        bind_size(total, tensor_to_shape(op.reshape(op.sum(times), [1])))
    places = op.bucketize(op.arange(0, total, 1, "int64"), ends, False, True)
    return op.take(x, places, axis) if graph.kind_is("self_Tensor") else places


@converts("bincount.default")
def _bincount(graph: Graph, x: ir.Value, weights: Any = None, least: int = 0) -> ir.Value:
    places = cast(x, "int64")
    # A vector without elements has none that is larger than -1.
    highest = op.max(op.concat([places, op.reshape(number(least - 1, "int64"), [1])], 0))
    total = named_size(op.add(highest, number(1, "int64")), _count(graph))
    each = op.ones(tensors.shape_of(x), graph.dtype) if weights is None else weights
    begin = op.zeros([total], graph.dtype)
    return op.scatter_elements(begin, places, cast(each, graph.dtype), 0, "add")
