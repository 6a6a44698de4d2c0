# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations of ATen."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...composites.arithmetic import expm1
from .elementwise import clamp
from .registry import Graph, along, converts, normal_axis, number, part


def _scaled(x: ir.Value, factor: Any, graph: Graph) -> ir.Value:
    return x if factor == 1 else op.multiply(x, number(factor, graph.dtype))


def _is_positive(x: ir.Value, graph: Graph) -> ir.Value:
    return op.greater(x, number(0, graph.dtype))


@converts("relu.default")
def _relu(graph: Graph, x: ir.Value) -> ir.Value:
    return op.nn.relu(x)


@converts("relu6.default")
def _relu6(graph: Graph, x: ir.Value) -> ir.Value:
    return clamp(graph, x, 0, 6)


@converts("hardtanh.default")
def _hardtanh(graph: Graph, x: ir.Value, low: Any = -1, high: Any = 1) -> ir.Value:
    return clamp(graph, x, low, high)


@converts("silu.default")
def _silu(graph: Graph, x: ir.Value) -> ir.Value:
    return op.nn.silu(x)


@converts("gelu.default")
def _gelu(graph: Graph, x: ir.Value, approximate: str = "none") -> ir.Value:
    return op.nn.gelu(x) if approximate == "none" else op.nn.gelu_tanh(x)


@converts("leaky_relu.default")
def _leaky_relu(graph: Graph, x: ir.Value, slope: float = 0.01) -> ir.Value:
    return op.where(_is_positive(x, graph), x, op.multiply(x, number(slope, graph.dtype)))


@converts("prelu.default", "_prelu_kernel.default")
def _prelu(graph: Graph, x: ir.Value, slope: ir.Value) -> ir.Value:
    rank = graph.rank_of(0)
    if graph.kind == "prelu":
        one = graph.rank_of(1) == 0 or graph.shape_of(1)[0] == 1
        slope = op.reshape(slope, []) if one or rank < 2 else along(slope, 1, rank)
    return op.where(_is_positive(x, graph), x, op.multiply(x, slope))


@converts("elu.default")
def _elu(
    graph: Graph, x: ir.Value, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1
) -> ir.Value:
    below = _scaled(expm1(_scaled(x, input_scale, graph)), alpha * scale, graph)
    return op.where(_is_positive(x, graph), _scaled(x, scale, graph), below)


@converts("celu.default")
def _celu(graph: Graph, x: ir.Value, alpha: float = 1.0) -> ir.Value:
    return _elu(graph, x, alpha, 1, 1 / alpha)


@converts("selu.default")
def _selu(graph: Graph, x: ir.Value) -> ir.Value:
    return op.nn.selu(x)


@converts("softplus.default")
def _softplus(graph: Graph, x: ir.Value, beta: Any = 1, threshold: Any = 20) -> ir.Value:
    return op.nn.softplus(x, float(beta), float(threshold))


@converts("log_sigmoid.default")
def _log_sigmoid(graph: Graph, x: ir.Value) -> ir.Value:
    return op.negative(op.log_add_exp(op.negative(x), number(0, graph.dtype)))


@converts("mish.default")
def _mish(graph: Graph, x: ir.Value) -> ir.Value:
    return op.multiply(x, op.tanh(op.nn.softplus(x)))


@converts("softsign.default")
def _softsign(graph: Graph, x: ir.Value) -> ir.Value:
    return op.divide(x, op.add(op.abs(x), number(1, graph.dtype)))


@converts("tanhshrink.default")
def _tanhshrink(graph: Graph, x: ir.Value) -> ir.Value:
    return op.subtract(x, op.tanh(x))


@converts("softshrink.default")
def _softshrink(graph: Graph, x: ir.Value, border: Any = 0.5) -> ir.Value:
    # What lies between the borders is 0; NaN stays.
    return op.subtract(x, clamp(graph, x, -border, border))


@converts("hardshrink.default")
def _hardshrink(graph: Graph, x: ir.Value, border: Any = 0.5) -> ir.Value:
    inside = op.less_equal(op.abs(x), number(border, graph.dtype))
    return op.where(inside, number(0, graph.dtype), x)


@converts("threshold.default")
def _threshold(graph: Graph, x: ir.Value, border: Any, value: Any) -> ir.Value:
    below = op.less_equal(x, number(border, graph.dtype))
    return op.where(below, number(value, graph.dtype), x)


def _hard(graph: Graph, x: ir.Value) -> ir.Value:
    shifted = clamp(graph, op.add(x, number(3, graph.dtype)), 0, 6)
    return op.divide(shifted, number(6, graph.dtype))


@converts("hardsigmoid.default")
def _hardsigmoid(graph: Graph, x: ir.Value) -> ir.Value:
    return _hard(graph, x)


@converts("hardswish.default")
def _hardswish(graph: Graph, x: ir.Value) -> ir.Value:
    return op.multiply(x, _hard(graph, x))


@converts("glu.default")
def _glu(graph: Graph, x: ir.Value, axis: int = -1) -> ir.Value:
    axis = normal_axis(axis, graph.rank_of(0))
    size = graph.shape[axis]
    return op.multiply(part(x, axis, 0, size), op.sigmoid(part(x, axis, size, size * 2)))
