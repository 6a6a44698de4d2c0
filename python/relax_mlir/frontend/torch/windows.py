# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that move windows over tensors."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...composites.convolution import CONVOLUTIONS, Convolution, transposed
from ...composites.pooling import (
    adaptive_max_pool,
    largest_of_adaptive_windows,
    places_of_largest,
)
from ...core.ir import Dim
from .registry import (
    Converter,
    Graph,
    converts,
    is_float,
    known,
    number,
    product,
    rank_of,
    shape_of,
)

_MAX = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}
_ADAPTIVE = {
    1: op.nn.adaptive_avg_pool1d,
    2: op.nn.adaptive_avg_pool2d,
    3: op.nn.adaptive_avg_pool3d,
}


def each(value: Any, count: int) -> list[int]:
    """Return a number for each spatial dimension."""
    given = [value] if isinstance(value, int) else list(value)
    return given * count if len(given) == 1 else given


def _batched(function: Converter, x: ir.Value, count: int) -> Any:
    """Apply a function of a batch to one, or to a single element without its dimension."""
    if rank_of(x) == count + 2:
        return function(x)
    result = function(op.expand_dims(x, 0))
    if isinstance(result, ir.Value):
        return op.squeeze(result, [0])
    return [op.squeeze(one, [0]) for one in result]


def _plus_bias(x: ir.Value, bias: Any) -> ir.Value:
    return x if bias is None else op.add(x, op.expand_dims(bias, list(range(1, rank_of(x) - 1))))


@converts("conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding",
          "conv3d.padding")  # fmt: skip
def _conv(
    graph: Graph, x: ir.Value, weight: ir.Value, bias: Any = None, stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> ir.Value:  # fmt: skip
    count = rank_of(weight) - 2
    if padding == "valid":
        padding = 0
    elif padding == "same":
        kernel = known(shape_of(weight)[2:], "a kernel")
        reach = [(n - 1) * d for n, d in zip(kernel, each(dilation, count), strict=True)]
        padding = [*(one // 2 for one in reach), *(one - one // 2 for one in reach)]

    def convolve(one: ir.Value) -> ir.Value:
        result = CONVOLUTIONS[count](one, weight, stride, padding, dilation, groups)
        return _plus_bias(result, bias)

    return _batched(convolve, x, count)


@converts("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")
def _conv_transpose(
    graph: Graph, x: ir.Value, weight: ir.Value, bias: Any = None, stride: Any = 1,
    padding: Any = 0, extra: Any = 0, groups: int = 1, dilation: Any = 1,
) -> ir.Value:  # fmt: skip
    count = rank_of(weight) - 2
    strides, pads, dilations = (each(one, count) for one in (stride, padding, dilation))
    how = Convolution(strides, pads * 2, dilations, groups, each(extra, count))

    def convolve(one: ir.Value) -> ir.Value:
        return _plus_bias(transposed(one, weight, how, graph.dtype), bias)

    return _batched(convolve, x, count)


@converts("convolution.default")
def _convolution(
    graph: Graph, x: ir.Value, weight: ir.Value, bias: Any, stride: Any, padding: Any,
    dilation: Any, transposed: bool, extra: Any, groups: int,
) -> ir.Value:  # fmt: skip
    if transposed:
        return _conv_transpose(graph, x, weight, bias, stride, padding, extra, groups, dilation)
    return _conv(graph, x, weight, bias, stride, padding, dilation, groups)


def spatial_rank(graph: Graph) -> int:
    """Return the number of spatial dimensions that the name of an operator says."""
    return next(i for i in (1, 2, 3) if f"{i}d" in graph.kind)


@converts("max_pool1d.default", "max_pool2d.default", "max_pool3d.default")
def _max_pool(
    graph: Graph, x: ir.Value, size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> ir.Value:  # fmt: skip
    count = spatial_rank(graph)
    options = [stride or size, padding, dilation, ceil_mode]
    return _batched(lambda one: _MAX[count](one, size, *options), x, count)


@converts("max_pool2d_with_indices.default", "max_pool3d_with_indices.default",
          "max_pool1d_with_indices.default")  # fmt: skip
def _max_pool_with_indices(
    graph: Graph, x: ir.Value, size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> list[ir.Value]:  # fmt: skip
    pooled = _max_pool(graph, x, size, stride, padding, dilation, ceil_mode)
    if not graph.uses(1):
        return [pooled]
    count = spatial_rank(graph)
    kernel, strides = each(size, count), each(stride or size, count)
    pads, dilations = each(padding, count) * 2, each(dilation, count)

    def places(one: ir.Value) -> ir.Value:
        best = op.expand_dims(pooled, 0) if one is not x else pooled
        return places_of_largest(one, best, kernel, strides, pads, dilations)

    return [pooled, _batched(places, x, count)]


@converts("max_unpool2d.default", "max_unpool3d.default")
def _max_unpool(graph: Graph, x: ir.Value, places: ir.Value, *_: Any) -> ir.Value:
    count = spatial_rank(graph)
    dims, wanted = shape_of(x), graph.shape
    images, size = product(dims[:-count]), product(wanted[-count:])
    flat = [images, product(dims[-count:])]
    begin = op.zeros([images, size], graph.dtype)
    elements, at = op.reshape(x, flat), op.reshape(places, flat)
    return op.reshape(op.scatter_elements(begin, at, elements, 1), wanted)


@converts("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def _avg_pool(
    graph: Graph, x: ir.Value, size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor: Any = None,
) -> ir.Value:  # fmt: skip
    count = spatial_rank(graph)
    if not is_float(graph.dtype):
        raise NotImplementedError(f"means of {graph.dtype}")
    if divisor is not None:
        if ceil_mode:
            raise NotImplementedError("divisor_override with ceil_mode")
        count_include_pad = True
    options = [stride or size, padding, 1, ceil_mode, count_include_pad]
    result = _batched(lambda one: _AVG[count](one, size, *options), x, count)
    if divisor is None:
        return result
    elements = 1
    for one in each(size, count):
        elements *= one
    return op.multiply(result, number(elements / divisor, graph.dtype))


@converts(
    "adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "adaptive_avg_pool3d.default",
    "_adaptive_avg_pool1d.default", "_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default",
)  # fmt: skip
def _adaptive_avg_pool(graph: Graph, x: ir.Value, size: Any) -> ir.Value:
    count = spatial_rank(graph)
    sizes = known([Dim(one) for one in size], "the result")
    return _batched(lambda one: _ADAPTIVE[count](one, sizes), x, count)


@converts("adaptive_max_pool1d.default", "adaptive_max_pool2d.default",
          "adaptive_max_pool3d.default")  # fmt: skip
def _adaptive_max_pool(graph: Graph, x: ir.Value, size: Any) -> list[ir.Value]:
    count = spatial_rank(graph)
    sizes = known([Dim(one) for one in size], "the result")
    if not graph.uses(1) and all(one == 1 for one in sizes):
        return [op.max(x, list(range(-count, 0)), True)]
    if graph.uses(1):
        return list(_batched(lambda one: adaptive_max_pool(one, sizes), x, count))
    dims = [dim.value for dim in shape_of(x)[-count:] if dim.value is not None]
    if len(dims) < count or any(dim % one for dim, one in zip(dims, sizes, strict=True)):
        return [largest_of_adaptive_windows(x, sizes)]
    kernel = [dim // one for dim, one in zip(dims, sizes, strict=True)]
    return [_batched(lambda one: _MAX[count](one, kernel, kernel), x, count)]
