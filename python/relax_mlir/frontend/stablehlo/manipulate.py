# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make tensors, or move their elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...core.dtypes import is_numpy
from ...core.ir import Dim
from .registry import Node, TensorType, converts, python_value
from .values import (
    Rows,
    Size,
    Sizes,
    Spread,
    Value,
    as_tensor,
    dtype_of,
    ints,
    known_ints,
    known_sizes,
    part,
    permuted,
    product,
    rank_of,
    reshaped,
    shape_of,
)


@converts("stablehlo.constant", raw=True)
def _constant(node: Node) -> Value:
    attribute, type_ = node.raw_attr("value"), node.result
    if not hasattr(attribute, "is_splat"):
        raise NotImplementedError(
            f"expected elements in the text or bytecode, but got a resource: {str(attribute)[:60]}"
        )
    if not is_numpy(type_.dtype):
        return _bfloat16(attribute, node.static_dims())
    array = python_value(attribute)
    if attribute.is_splat and array.size > 1:
        return Spread(np.asarray(array.flat[0]), array.shape)
    return np.ascontiguousarray(array).reshape(array.shape)


def _bfloat16(attribute: Any, dims: Sequence[int]) -> Value:
    """Return a constant of bfloat16, which NumPy reads only as text."""
    import ml_dtypes  # jaxlib needs it, too

    text = str(attribute).removeprefix("dense<").rpartition("> : ")[0]
    if text.startswith('"0x'):
        array = np.frombuffer(bytes.fromhex(text[3:-1]), ml_dtypes.bfloat16)
    else:
        words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
        array = np.array([_float(word) for word in words], ml_dtypes.bfloat16)
    if attribute.is_splat and product(dims) != 1:
        return Spread(array.reshape(-1)[0].reshape(()), tuple(dims))
    return array.reshape(list(dims))


def _float(word: str) -> float:
    if not word.startswith("0x"):
        return float(word)
    # The bits of what has no decimal number: infinity and NaN.
    return float(np.array([int(word, 16) << 16], "uint32").view("float32")[0])


@converts("stablehlo.iota", raw=True)
def _iota(node: Node) -> Value:
    return _counted(node, node.static_dims())


@converts("stablehlo.dynamic_iota", raw=True)
def _dynamic_iota(node: Node, shape: Value) -> Value:
    return _counted(node, known_sizes(shape, "a shape"))


def _counted(node: Node, dims: Sequence[Size]) -> Value:
    axis, dtype = node.attr("iota_dimension"), node.result.dtype
    around = list(range(len(dims) - 1, axis, -1))
    extent = dims[axis]
    if isinstance(extent, int) and extent <= 64 and is_numpy(dtype):
        vector = np.arange(extent).astype(dtype).reshape([-1] + [1] * len(around))
        return vector if len(dims) == 1 else Spread(vector, tuple(dims))
    value = op.arange(0, extent, 1, "int64" if dtype == "bfloat16" else dtype)
    value = op.astype(value, dtype) if dtype == "bfloat16" else value
    value = reshaped(value, [extent] + [1] * len(around))
    return value if len(dims) == 1 else Spread(value, tuple(dims))


@converts("stablehlo.get_dimension_size", raw=True)
def _get_dimension_size(node: Node, x: Value) -> Value:
    extent = shape_of(x)[node.attr("dimension")]
    if isinstance(extent, Dim):
        element = np.empty((), object)
        element[()] = extent
        return Sizes(element, "int32")
    return np.array(extent, "int32")


@converts("stablehlo.broadcast_in_dim", raw=True)
def _broadcast_in_dim(node: Node, x: Value) -> Value:
    return _spread(node, x, node.static_dims())


@converts("stablehlo.dynamic_broadcast_in_dim", raw=True)
def _dynamic_broadcast_in_dim(node: Node, x: Value, shape: Value) -> Value:
    return _spread(node, x, known_sizes(shape, "a shape"))


@converts("stablehlo.broadcast", raw=True)
def _broadcast(node: Node, x: Value) -> Value:
    source = x if isinstance(x, (np.ndarray, ir.Value)) else as_tensor(x)
    return Spread(source, tuple(node.static_dims()))


def _spread(node: Node, x: Value, dims: Sequence[Size]) -> Value:
    axes = node.attr("broadcast_dimensions")
    if isinstance(x, Spread) and (rank_of(x.source) == 0 or product(shape_of(x.source)) == 1):
        source = reshaped(as_tensor(x.source), []) if rank_of(x.source) else x.source
        return Spread(source, tuple(dims))
    same = node.importer.dimensions.same
    found = shape_of(x)
    for extent, axis in zip(found, axes, strict=True):
        if extent != 1 and same(extent, dims[axis]) is None:
            raise NotImplementedError(
                f"expected dimension {extent}, which is broadcast to {dims[axis]}, to be known to "
                "be 1 or equal to it"
            )
    if len(axes) == len(dims) and all(map(same, found, dims)) and list(axes) == sorted(axes):
        return x
    source = x.source if isinstance(x, Spread) else x
    if isinstance(source, (Sizes, Rows)):
        source = as_tensor(source)
    if rank_of(source) == 0:
        return Spread(source, tuple(dims))
    missing = rank_of(x) - rank_of(source)
    axes = list(axes)[missing:]
    ordered = sorted(range(len(axes)), key=lambda i: axes[i])
    shape: list[Size] = [1] * len(dims)
    extents = shape_of(source)
    for i, axis in enumerate(axes):
        shape[axis] = extents[i]
    # Leading dimensions of 1 are broadcast without being there.
    first = min(axes)
    if isinstance(source, np.ndarray):
        return Spread(source.transpose(ordered).reshape(ints(shape[first:], "sizes")), tuple(dims))
    moved = reshaped(permuted(source, ordered), shape[first:])
    moved = moved if moved is source else node.importer.builder.emit(moved)
    if all(same(a, b) for a, b in zip(shape, dims, strict=True)):
        return reshaped(moved, dims)
    return Spread(moved, tuple(dims))


@converts("stablehlo.reshape", raw=True)
def _reshape(node: Node, x: Value) -> Value:
    dims = node.result.dims
    if None not in dims:
        return _reshaped(node, x, node.static_dims())
    if rank_of(x) == len(dims):
        return _reshaped(node, x, node.dims_like(x))
    if dims.count(None) > 1:
        raise NotImplementedError(f"expected one dynamic size at most, but got {node.result}")
    return op.reshape(as_tensor(x), [-1 if dim is None else dim for dim in dims])


@converts("stablehlo.dynamic_reshape", raw=True)
def _dynamic_reshape(node: Node, x: Value, shape: Value) -> Value:
    return _reshaped(node, x, known_sizes(shape, "a shape"))


def _reshaped(node: Node, x: Value, dims: Sequence[Size]) -> Value:
    if isinstance(x, np.ndarray):
        return x.reshape(ints(dims, "a shape"))
    if isinstance(x, Spread):
        if rank_of(x.source) == 0:
            return Spread(x.source, tuple(dims))
        without = [dim for dim in dims if dim != 1]
        # Where only dimensions of 1 come or go, what is broadcast stays so.
        if without == [dim for dim in x.dims if dim != 1] and rank_of(x.source) == len(x.dims):
            extents = [e for e, dim in zip(shape_of(x.source), x.dims, strict=True) if dim != 1]
            shape = [1 if dim == 1 else extents.pop(0) for dim in dims]
            if isinstance(x.source, np.ndarray):
                return Spread(x.source.reshape(shape), tuple(dims))
            return Spread(node.importer.builder.emit(op.reshape(x.source, shape)), tuple(dims))
    tensor = as_tensor(x)
    return x if shape_of(tensor) == list(dims) else op.reshape(tensor, list(dims))


@converts("stablehlo.transpose", raw=True)
def _transpose(node: Node, x: Value) -> Value:
    axes = node.attr("permutation")
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x.transpose(axes))
    if isinstance(x, Spread) and rank_of(x.source) == 0:
        return Spread(x.source, tuple(x.dims[axis] for axis in axes))
    return permuted(as_tensor(x), axes)


@converts("stablehlo.reverse")
def _reverse(node: Node, x: ir.Value) -> ir.Value:
    return functools.reduce(op.flip, node.attr("dimensions"), x)


@converts("stablehlo.concatenate", raw=True)
def _concatenate(node: Node, *values: Value) -> Value:
    axis = node.attr("dimension")
    if all(isinstance(one, Spread) and rank_of(one.source) == 0 for one in values) and all(
        one.source is values[0].source for one in values
    ):
        dims = list(values[0].dims)
        dims[axis] = sum((one.dims[axis] for one in values[1:]), dims[axis])
        return Spread(values[0].source, tuple(dims))
    full = [one for one in values if 0 not in shape_of(one)] or list(values[:1])
    tensors = [node.importer.tensor(node.scope, one) for one in full]
    return tensors[0] if len(tensors) == 1 else op.concat(tensors, axis)


@converts("stablehlo.pad", raw=True)
def _pad(node: Node, x: Value, fill: Value) -> Value:
    widths = [
        list(node.attr(name)) for name in ("edge_padding_low", "edge_padding_high",
                                           "interior_padding")
    ]  # fmt: skip
    return padded(as_tensor(x), as_tensor(fill), *widths)


@converts("stablehlo.dynamic_pad", raw=True)
def _dynamic_pad(node: Node, x: Value, fill: Value, *widths: Value) -> Value:
    low, high, inside = (known_sizes(one, "padding") for one in widths)
    return padded(as_tensor(x), as_tensor(fill), low, high, ints(inside, "interior padding"))


def padded(
    x: ir.Value, fill: ir.Value, low: Sequence[Size], high: Sequence[Size], inside: Sequence[int]
) -> ir.Value:
    """Return a tensor with a number around its elements and between them.

    Parameters
    ----------
    x : mlir.ir.Value
    fill : mlir.ir.Value
        A tensor of rank 0.
    low, high : sequence of int or Dim
        How much is added before and after each dimension; negative numbers take elements away.
    inside : sequence of int
        How much is added between elements.
    """
    for axis, gap in enumerate(inside):
        if gap:
            x = _stretched(x, fill, axis, gap)
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        x = _padded_axis(x, fill, axis, before, after)
    return x


def _padded_axis(x: ir.Value, fill: ir.Value, axis: int, before: Size, after: Size) -> ir.Value:
    dims = shape_of(x)
    taken = [-width if isinstance(width, int) and width < 0 else 0 for width in (before, after)]
    x = part(x, axis, taken[0], dims[axis] - taken[1])

    def block(width: Size) -> list[ir.Value]:
        if isinstance(width, int) and width <= 0:
            return []
        return [op.full([*dims[:axis], width, *dims[axis + 1 :]], fill, dtype_of(x))]

    pieces = [*block(before), x, *block(after)]
    return x if len(pieces) == 1 else op.concat(pieces, axis)


def _stretched(x: ir.Value, fill: ir.Value, axis: int, gap: int) -> ir.Value:
    """Return a tensor with a number between the elements of an axis."""
    dims = shape_of(x)
    if dims[axis] in (0, 1):
        return x
    rows = op.expand_dims(x, axis + 1)
    block = op.full([*dims[: axis + 1], gap, *dims[axis + 1 :]], fill, dtype_of(x))
    wide = op.concat([rows, block], axis + 1)
    extent = dims[axis] * (gap + 1)
    joined = op.reshape(wide, [*dims[:axis], extent, *dims[axis + 1 :]])
    return part(joined, axis, 0, extent - gap)


@converts("stablehlo.optimization_barrier", raw=True)
def _optimization_barrier(node: Node, *values: Value) -> Any:
    return values


@converts("stablehlo.create_token", "stablehlo.after_all", raw=True)
def _token(node: Node, *tokens: Value) -> Value:
    return None


@converts("stablehlo.set_dimension_size", raw=True)
def _set_dimension_size(node: Node, x: Value, extent: Value) -> Value:
    axis = node.attr("dimension")
    count = known_ints(extent, "a size")[0]
    if TensorType.of(node.operation.operands[0].type).dims[axis] != count:
        raise NotImplementedError(f"expected the size that dimension {axis} has, but got {count}")
    return x
