# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that compute gradients, as graphs of a training step have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ... import op
from ...composites.convolution import CONVOLUTIONS
from ...composites.convolution_gradients import (
    ConvWindow,
    conv_data_gradient,
    conv_weight_gradient,
)
from ...composites.kernels import call_te
from ...composites.pool_gradients import (
    PoolWindow,
    adaptive_avg_pool_gradient,
    avg_pool_gradient,
)
from ...core.ir import Dim
from .registry import (
    Converter,
    Graph,
    converts,
    fitted,
    number,
    part,
    product,
    rank_of,
    shape_of,
)
from .windows import each, spatial_rank

# -- convolutions -------------------------------------------------------------------------------


@converts("convolution_backward.default")
def _convolution(
    graph: Graph, g: ir.Value, x: ir.Value, weight: ir.Value, bias_sizes: Any, stride: Any,
    padding: Any, dilation: Any, transposed: bool, extra: Any, groups: int, wanted: Sequence[bool],
) -> list[Any]:  # fmt: skip
    count = rank_of(weight) - 2
    strides, pads, holes = (each(one, count) for one in (stride, padding, dilation))
    window = ConvWindow(strides, holes, pads, groups)
    of_data, of_weight, of_bias = wanted
    # What comes into a transposed convolution comes out of the other one.
    inner, outer = (g, x) if transposed else (x, g)
    gradients: list[Any] = [None] * 3
    if of_data and transposed:
        gradients[0] = _cut(
            CONVOLUTIONS[count](g, weight, strides, pads, holes, groups), shape_of(x)
        )
    elif of_data:
        gradients[0] = conv_data_gradient(call_te, g, weight, shape_of(x), window)
    if of_weight:
        gradients[1] = conv_weight_gradient(call_te, outer, inner, shape_of(weight), window)
    if of_bias:
        gradients[2] = op.sum(g, [0, *range(2, count + 2)])
    return gradients


def _cut(x: ir.Value, dims: Sequence[Dim]) -> ir.Value:
    """Return the first elements of a tensor, as many as dimensions say."""
    for axis, (dim, size) in enumerate(zip(shape_of(x), dims, strict=True)):
        if None not in (dim.value, size.value) and dim != size:
            x = part(x, axis, 0, size)
    return fitted(x, dims)


# -- pools --------------------------------------------------------------------------------------


def _batched(function: Converter, count: int, *tensors: ir.Value) -> ir.Value:
    """Apply a function of batches to tensors, which may be single elements without a dimension."""
    if rank_of(tensors[0]) == count + 2:
        return function(*tensors)
    return op.squeeze(function(*(op.expand_dims(one, 0) for one in tensors)), [0])


@converts("avg_pool2d_backward.default", "avg_pool3d_backward.default")
def _avg_pool(
    graph: Graph, g: ir.Value, x: ir.Value, size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor: Any,
) -> ir.Value:  # fmt: skip
    if divisor is not None and ceil_mode:
        raise NotImplementedError("divisor_override with ceil_mode")
    count = spatial_rank(graph)
    kernel, strides, pads = (each(one, count) for one in (size, stride or size, padding))
    window = PoolWindow(kernel, strides, [1] * count, pads, pads)
    includes = count_include_pad or divisor is not None

    def of_batch(x: ir.Value, g: ir.Value) -> ir.Value:
        return avg_pool_gradient(call_te, x, g, window, includes)

    result = _batched(of_batch, count, x, g)
    if divisor is None:
        return result
    elements = product(map(Dim, kernel)).value or 0
    return op.multiply(result, number(elements / divisor, graph.dtype))


@converts("_adaptive_avg_pool2d_backward.default", "_adaptive_avg_pool3d_backward.default")
def _adaptive_avg_pool(graph: Graph, g: ir.Value, x: ir.Value) -> ir.Value:
    count = spatial_rank(graph)
    sizes = shape_of(x)[-count:]
    return _batched(lambda g: adaptive_avg_pool_gradient(call_te, g, sizes), count, g)


@converts("max_pool2d_with_indices_backward.default", "max_pool3d_with_indices_backward.default")
def _max_pool(graph: Graph, g: ir.Value, x: ir.Value, *arguments: Any) -> ir.Value:
    return _at_places(graph, g, arguments[-1])


@converts("adaptive_max_pool2d_backward.default", "adaptive_max_pool3d_backward.default")
def _adaptive_max_pool(graph: Graph, g: ir.Value, x: ir.Value, places: ir.Value) -> ir.Value:
    return _at_places(graph, g, places)


def _at_places(graph: Graph, g: ir.Value, places: ir.Value) -> ir.Value:
    """Return the sums of the gradients of the windows whose largest element is at each place."""
    count, dims = spatial_rank(graph), shape_of(g)
    images, size = product(graph.shape[:-count]), product(graph.shape[-count:])
    flat = [images, product(dims[-count:])]
    begin = op.zeros([images, size], graph.dtype)
    total = op.scatter_elements(begin, op.reshape(places, flat), op.reshape(g, flat), 1, "add")
    return op.reshape(total, graph.shape)
