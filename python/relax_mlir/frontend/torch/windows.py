# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that move windows over tensors, or take parts of them."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...core.ir import Dim
from .converters import Graph, converts


@converts("conv1d.default", "conv2d.default", "conv3d.default")
def _conv(
    graph: Graph, x: ir.Value, weight: ir.Value, bias: Any = None, stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> ir.Value:  # fmt: skip
    rank = graph.rank_of(0) - 2
    convolve = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}[rank]
    result = convolve(x, weight, stride, padding, dilation, groups)
    if bias is None:
        return result
    return op.add(result, op.expand_dims(bias, list(range(1, rank + 1))))


@converts("max_pool2d.default")
def _max_pool2d(
    graph: Graph, x: ir.Value, size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> ir.Value:  # fmt: skip
    return op.nn.max_pool2d(x, size, stride or size, padding, dilation, ceil_mode)


@converts("avg_pool2d.default")
def _avg_pool2d(
    graph: Graph, x: ir.Value, size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor: Any = None,
) -> ir.Value:  # fmt: skip
    if divisor is not None:
        raise NotImplementedError("avg_pool2d with divisor_override")
    return op.nn.avg_pool2d(x, size, stride or size, padding, 1, ceil_mode, count_include_pad)


@converts("adaptive_avg_pool2d.default")
def _adaptive_avg_pool2d(graph: Graph, x: ir.Value, size: Any) -> ir.Value:
    return op.nn.adaptive_avg_pool2d(x, size)


def _from_begin(place: Dim, extent: Dim) -> Dim:
    if place.value is None or place.value >= 0:
        return place
    return extent + place


@converts("slice.Tensor")
def _slice(
    graph: Graph, x: ir.Value, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> ir.Value:
    extent, size = graph.shape_of(0)[axis], graph.shape[axis]
    if extent == size and step == 1:
        return x
    begin = _from_begin(Dim(0 if start is None else start), extent)
    last = begin + (size - 1) * step
    return op.strided_slice(x, [axis], [begin], [last + 1], [step], assume_inbound=True)


@converts("select.int")
def _select(graph: Graph, x: ir.Value, axis: int, index: Any) -> ir.Value:
    place = _from_begin(Dim(index), graph.shape_of(0)[axis])
    slice_ = op.strided_slice(x, [axis], [place], [place + 1], assume_inbound=True)
    return op.squeeze(slice_, [axis])
