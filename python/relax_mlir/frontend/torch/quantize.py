# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization as PyTorch's exports state it.

By the operators of ``quantized_decomposed``, or by those that round to what codes can state.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from mlir import ir

from ... import op
from ...core.dtypes import dtype_name
from .registry import Graph, cast, converts, dtype_of, is_tensor, number, rank_of

_converts = partial(converts, namespace="quantized_decomposed")


def _scalar(value: Any, dtype: str) -> ir.Value:
    """Return a scale or zero point of a whole tensor, which may be a tensor of one element."""
    if not is_tensor(value):
        return number(value, dtype)
    return cast(op.reshape(value, []), dtype)


def _along(value: ir.Value, axis: int, rank: int) -> ir.Value:
    """Return the numbers of an axis in a shape that broadcasts with the tensor."""
    return op.reshape(value, [1] * axis + [-1] + [1] * (rank - axis - 1))


def _quantized(x: Any, inverse: Any, zero: Any, least: int, most: int, dtype: Any) -> ir.Value:
    """Return round(x * inverse) + zero within bounds: PyTorch does not divide."""
    places = op.add(op.round(op.multiply(cast(x, "float32"), inverse)), zero)
    return op.astype(op.clip(places, least, most), dtype_name(dtype))


@_converts("quantize_per_tensor.default", "quantize_per_tensor.tensor")
def _quantize(
    _: Graph, x: ir.Value, scale: Any, zero: Any, least: int, most: int, dtype: Any
) -> ir.Value:
    if is_tensor(scale):
        wide = op.divide(number(1.0, "float64"), _scalar(scale, "float64"))
        inverse = op.astype(wide, "float32")
    else:
        inverse = number(1.0 / scale, "float32")
    return _quantized(x, inverse, _scalar(zero, "float32"), least, most, dtype)


@_converts("quantize_per_channel.default")
def _quantize_channels(
    _: Graph, x: ir.Value, scale: ir.Value, zero: ir.Value, axis: int, least: int, most: int,
    dtype: Any,
) -> ir.Value:  # fmt: skip
    rank = rank_of(x)
    inverse = op.divide(number(1.0, "float32"), cast(scale, "float32"))
    parts = [_along(cast(value, "float32"), axis % rank, rank) for value in (inverse, zero)]
    return _quantized(x, parts[0], parts[1], least, most, dtype)


def _dequantized(
    graph: Graph, x: ir.Value, scale: Any, zero: ir.Value | None, axis: int, block: int = 0
) -> ir.Value:
    if zero is None:
        zero = number(0, dtype_of(x))
    elif dtype_of(zero) == "int64":
        # As PyTorch has it; those of codes of 8 bits have no more.
        zero = op.astype(zero, "int32")
    return op.dequantize(x, scale, zero, axis, graph.dtype, block)


@_converts("dequantize_per_tensor.default", "dequantize_per_tensor.tensor")
def _dequantize(graph: Graph, x: ir.Value, scale: Any, zero: Any, *_: Any, **__: Any) -> ir.Value:
    return _dequantized(graph, x, _scalar(scale, "float32"), _scalar(zero, "int32"), -1)


@_converts("dequantize_per_channel.default")
def _dequantize_channels(
    graph: Graph, x: ir.Value, scale: ir.Value, zero: ir.Value | None, axis: int, *_: Any, **__: Any
) -> ir.Value:
    return _dequantized(graph, x, cast(scale, "float32"), zero, axis)


@_converts("dequantize_per_channel_group.default")
def _dequantize_groups(
    graph: Graph, x: ir.Value, scale: ir.Value, zero: ir.Value | None, least: int, most: int,
    dtype: Any, group_size: int = 128, *_: Any,
) -> ir.Value:  # fmt: skip
    return _dequantized(graph, x, scale, zero, -1, group_size)


@_converts("choose_qparams.tensor")
def _choose(
    graph: Graph, x: ir.Value, least: int, most: int, smallest: float, dtype: Any
) -> list[ir.Value]:
    none = number(0.0, "float32")
    wide = cast(x, "float32")
    low, high = op.minimum(op.min(wide), none), op.maximum(op.max(wide), none)
    scale = op.divide(op.subtract(high, low), number(float(most - least), "float32"))
    scale = op.maximum(scale, number(smallest, "float32"))
    place = op.subtract(number(float(least), "float32"), op.round(op.divide(low, scale)))
    results = [op.astype(scale, "float64"), op.astype(op.clip(place, least, most), "int64")]
    # PyTorch says that they are vectors of one element where it exports.
    return [op.reshape(result, graph.shape) for result in results]


# -- rounding to codes --------------------------------------------------------------------------


def _rounded(x: ir.Value, scale: ir.Value, zero: ir.Value, least: int, most: int) -> list[ir.Value]:
    """Return what codes state that are nearest to elements, and which elements are in range."""
    inverse = op.divide(number(1.0, "float32"), scale)
    places = op.add(op.round(op.multiply(cast(x, "float32"), inverse)), zero)
    low, high = number(least, "float32"), number(most, "float32")
    inside = op.logical_and(op.greater_equal(places, low), op.less_equal(places, high))
    stated = op.multiply(op.subtract(op.clip(places, least, most), zero), scale)
    return [cast(stated, dtype_of(x)), inside]


@converts("fake_quantize_per_tensor_affine_cachemask.default")
def _fake_quantize(
    graph: Graph, x: ir.Value, scale: float, zero: int, least: int, most: int
) -> list[ir.Value]:
    return _rounded(x, number(scale, "float32"), number(zero, "float32"), least, most)


@converts("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
def _fake_quantize_by_tensors(
    graph: Graph, x: ir.Value, scale: ir.Value, zero: ir.Value, enabled: ir.Value, least: int,
    most: int,
) -> list[ir.Value]:  # fmt: skip
    result, inside = _rounded(x, _scalar(scale, "float32"), _scalar(zero, "float32"), least, most)
    is_on = op.not_equal(_scalar(enabled, "int64"), number(0, "int64"))
    return [op.where(is_on, result, x), op.logical_or(inside, op.logical_not(is_on))]


@converts("fake_quantize_per_channel_affine_cachemask.default")
def _fake_quantize_channels(
    graph: Graph, x: ir.Value, scale: ir.Value, zero: ir.Value, axis: int, least: int, most: int
) -> list[ir.Value]:
    if dtype_of(zero) != "int32":
        raise NotImplementedError(f"expected zero points of int32, but got {dtype_of(zero)}")
    rank = rank_of(x)
    parts = [_along(cast(one, "float32"), axis % rank, rank) for one in (scale, zero)]
    return _rounded(x, parts[0], parts[1], least, most)
