# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization of ATen, and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mlir import ir

from ... import op
from ...composites.convolution import along_channels
from ...core.dtypes import dtype_name
from .registry import (
    Converter,
    Graph,
    along,
    cast,
    converts,
    dtype_of,
    normal_axis,
    number,
    product,
    shape_of,
    wide,
)


def _softmax(operator: Converter) -> Converter:
    def convert(graph: Graph, x: ir.Value, axis: int, *_: Any, **__: Any) -> ir.Value:
        x, rank = cast(x, graph.dtype), graph.rank_of(0)
        if rank == 0:
            return op.reshape(operator(op.expand_dims(x, 0), 0), [])
        return operator(x, normal_axis(axis, rank))

    return convert


def _safe_softmax(x: ir.Value, axis: int) -> ir.Value:
    """Return the softmax, which is 0 where there is nothing but negative infinity."""
    lowest, zero = number(float("-inf"), dtype_of(x)), number(0, dtype_of(x))
    is_none = op.equal(op.max(x, [axis], True), lowest)
    return op.where(is_none, zero, op.nn.softmax(x, axis))


converts("softmax.int", "_softmax.default")(_softmax(op.nn.softmax))
converts("_safe_softmax.default")(_softmax(_safe_softmax))
converts("log_softmax.int", "_log_softmax.default")(_softmax(op.nn.log_softmax))


def _moments(x: ir.Value, axes: Sequence[int], epsilon: float) -> tuple[ir.Value, ir.Value]:
    """Return the mean, and one over the deviation; the axes stay."""
    total = op.add(op.variance(x, axes, True), number(epsilon, dtype_of(x)))
    return op.mean(x, axes, True), op.rsqrt(total)


@converts("layer_norm.default")
def _layer_norm(
    graph: Graph, x: ir.Value, normalized: Sequence[Any], weight: Any = None, bias: Any = None,
    epsilon: float = 1e-5, *_: Any,
) -> ir.Value:  # fmt: skip
    axes = list(range(-len(normalized), 0))
    sizes = graph.shape[-len(normalized) :]
    gamma = op.ones(sizes, graph.dtype) if weight is None else cast(weight, graph.dtype)
    beta = op.zeros(sizes, graph.dtype) if bias is None else cast(bias, graph.dtype)
    return op.nn.layer_norm(x, gamma, beta, axes, epsilon)


@converts("native_layer_norm.default")
def _native_layer_norm(
    graph: Graph, x: ir.Value, normalized: Sequence[Any], weight: Any, bias: Any, epsilon: float
) -> list[ir.Value]:
    rank = graph.rank_of(0)
    axes = list(range(rank - len(normalized), rank))
    result = _layer_norm(graph, x, normalized, weight, bias, epsilon)
    others = [dtype_name(one.dtype) for one in graph.results[1:]]
    moments = _moments(wide(x), axes, epsilon)
    return [result, *(cast(one, dtype) for one, dtype in zip(moments, others, strict=True))]


@converts("rms_norm.default")
def _rms_norm(
    graph: Graph, x: ir.Value, normalized: Sequence[Any], weight: Any = None,
    epsilon: float | None = None,
) -> ir.Value:  # fmt: skip
    if epsilon is None:
        epsilon = torch.finfo(graph.meta(0).dtype).eps
    sizes = graph.shape[-len(normalized) :]
    gamma = op.ones(sizes, graph.dtype) if weight is None else cast(weight, graph.dtype)
    return op.nn.rms_norm(x, gamma, list(range(-len(normalized), 0)), epsilon)


@converts("_fused_rms_norm.default")
def _fused_rms_norm(
    graph: Graph, x: ir.Value, normalized: Sequence[Any], weight: Any, epsilon: float | None
) -> list[ir.Value]:
    if epsilon is None:
        epsilon = torch.finfo(graph.meta(0).dtype).eps
    result = _rms_norm(graph, x, normalized, weight, epsilon)
    if not graph.uses(1):
        return [result]
    values, axes = wide(x), list(range(-len(normalized), 0))
    squares = op.mean(op.multiply(values, values), axes, True)
    inverse = op.rsqrt(op.add(squares, number(epsilon, dtype_of(values))))
    return [result, cast(inverse, dtype_name(graph.results[1].dtype))]


def _affine(x: ir.Value, weight: Any, bias: Any, axis: int) -> ir.Value:
    """Multiply by one vector along an axis, and add another."""
    rank = len(shape_of(x))
    if weight is not None:
        x = op.multiply(x, along(weight, axis, rank))
    return x if bias is None else op.add(x, along(bias, axis, rank))


def _vector(value: Any, size: Any, dtype: str, number_: int) -> ir.Value:
    if value is not None:
        return cast(value, dtype)
    return op.ones([size], dtype) if number_ else op.zeros([size], dtype)


@converts("group_norm.default")
def _group_norm(
    graph: Graph, x: ir.Value, groups: int, weight: Any = None, bias: Any = None,
    epsilon: float = 1e-5, *_: Any,
) -> ir.Value:  # fmt: skip
    channels, dtype = graph.shape_of(0)[1], graph.dtype
    gamma, beta = _vector(weight, channels, dtype, 1), _vector(bias, channels, dtype, 0)
    axes = list(range(2, graph.rank_of(0)))
    return op.nn.group_norm(x, gamma, beta, groups, 1, axes, epsilon)


@converts("native_group_norm.default")
def _native_group_norm(
    graph: Graph, x: ir.Value, weight: Any, bias: Any, batch: Any, channels: Any, size: Any,
    groups: int, epsilon: float,
) -> list[ir.Value]:  # fmt: skip
    result = _group_norm(graph, x, groups, weight, bias, epsilon)
    if not (graph.uses(1) or graph.uses(2)):
        return [result]
    images, each, *_ = graph.shape_of(0)
    elements = product(graph.shape_of(0)[2:])
    rows = op.reshape(wide(x), [images, groups, each // groups * elements])
    mean, inverse = (op.squeeze(one, [2]) for one in _moments(rows, [2], epsilon))
    others = [dtype_name(one.dtype) for one in graph.results[1:]]
    return [result, cast(mean, others[0]), cast(inverse, others[1])]


@converts("instance_norm.default")
def _instance_norm(
    graph: Graph, x: ir.Value, weight: Any, bias: Any, mean: Any, variance: Any, of_input: bool,
    momentum: float, epsilon: float, *_: Any,
) -> ir.Value:  # fmt: skip
    if not of_input:
        return _batch_norm(graph, x, weight, bias, mean, variance, False, momentum, epsilon)
    channels, dtype = graph.shape_of(0)[1], graph.dtype
    gamma, beta = _vector(weight, channels, dtype, 1), _vector(bias, channels, dtype, 0)
    return op.nn.instance_norm(x, gamma, beta, 1, list(range(2, graph.rank_of(0))), epsilon)


@converts("batch_norm.default")
def _batch_norm(
    graph: Graph, x: ir.Value, weight: Any, bias: Any, mean: Any, variance: Any, training: bool,
    momentum: float, epsilon: float, *_: Any,
) -> ir.Value:  # fmt: skip
    if training or mean is None:
        return _by_batch(graph, x, weight, bias, epsilon)[0]
    rank = graph.rank_of(0)
    scale = op.rsqrt(op.add(variance, number(epsilon, dtype_of(variance))))
    if weight is not None:
        scale = op.multiply(scale, cast(weight, dtype_of(scale)))
    shift = op.negative(op.multiply(mean, scale))
    if bias is not None:
        shift = op.add(shift, cast(bias, dtype_of(shift)))
    result = op.multiply(cast(x, dtype_of(scale)), along_channels(scale, rank))
    return cast(op.add(result, along_channels(shift, rank)), graph.dtype)


def _by_batch(
    graph: Graph, x: ir.Value, weight: Any, bias: Any, epsilon: float
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """Normalize by the batch; return also its mean, variance, and one over the deviation."""
    axes = [axis for axis in range(graph.rank_of(0)) if axis != 1]
    values = wide(x)
    mean, variance = op.mean(values, axes, True), op.variance(values, axes, True)
    inverse = op.rsqrt(op.add(variance, number(epsilon, dtype_of(values))))
    result = op.multiply(op.subtract(values, mean), inverse)
    weight, bias = (None if one is None else cast(one, dtype_of(values)) for one in (weight, bias))
    moments = (op.squeeze(one, axes) for one in (mean, variance, inverse))
    return cast(_affine(result, weight, bias, 1), graph.dtype), *moments


@converts(
    "_native_batch_norm_legit_no_training.default", "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit.default", "native_batch_norm.default",
    "_native_batch_norm_legit_functional.default",
)  # fmt: skip
def _native_batch_norm(graph: Graph, x: ir.Value, weight: Any, bias: Any, *rest: Any) -> list[Any]:
    *moving, epsilon = rest
    if "no_stats" in str(graph.node.target):
        moving = [None, None, *moving]
    elif "no_training" in str(graph.node.target):
        moving.insert(2, False)
    mean, variance, training, momentum = moving
    if not training and mean is not None:
        result = _batch_norm(graph, x, weight, bias, mean, variance, False, momentum, epsilon)
        empty = [op.zeros([0], dtype_name(one.dtype)) for one in graph.results[1:3]]
        return [result, *empty, mean, variance][: len(graph.results)]
    result, ours, spread, inverse = _by_batch(graph, x, weight, bias, epsilon)
    found = [result, ours, inverse]
    if len(graph.results) > len(found):
        # The moving variance is that of a sample.
        channels = graph.shape_of(0)[1]
        count = number(product(graph.shape_of(0)), "float32")
        count = op.divide(count, number(channels, "float32"))
        sample = op.divide(count, op.subtract(count, number(1, "float32")))
        spread = op.multiply(spread, cast(sample, dtype_of(spread)))
        found += [_moved(mean, ours, momentum), _moved(variance, spread, momentum)]
    types = [dtype_name(one.dtype) for one in graph.results]
    return [cast(one, dtype) for one, dtype in zip(found, types, strict=True)]


def _moved(average: ir.Value, value: ir.Value, momentum: float) -> ir.Value:
    """Return a moving average after a value."""
    dtype = dtype_of(value)
    old = op.multiply(cast(average, dtype), number(1 - momentum, dtype))
    return op.add(old, op.multiply(value, number(momentum, dtype)))
