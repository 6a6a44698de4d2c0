# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of optimizers: of several tensors at once, with one rate and one number of the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlir import ir

from ... import op
from ...composites.tensors import cast, number
from .elementwise import scaled
from .registry import Function, Node, converter

_DOMAIN = "ai.onnx.preview.training"

Step = Callable[..., tuple[ir.Value, ...]]


def _each(step: Step, states: int) -> Function:
    """Return a converter that takes one step for each tensor.

    Parameters
    ----------
    step : callable
        Called with the node, rate, number of the step, tensor, gradient and states.
    states : int
        How many tensors go on beside each one.
    """

    def convert(node: Node, rate: ir.Value, count: ir.Value, *tensors: ir.Value) -> Any:
        each = len(tensors) // (2 + states)
        groups = [tensors[i * each : (i + 1) * each] for i in range(2 + states)]
        one, steps = op.reshape(rate, []), op.reshape(count, [])
        results = [step(node, one, steps, *group) for group in zip(*groups, strict=True)]
        return tuple(value for kind in zip(*results, strict=True) for value in kind)

    return convert


def _regular(node: Node, x: ir.Value, gradient: ir.Value) -> ir.Value:
    """Return the gradient of a loss with the square of the norm added."""
    return op.add(scaled(x, node.attr("norm_coefficient", 0.0)), gradient)


def _adagrad(
    node: Node, rate: ir.Value, count: ir.Value, x: ir.Value, gradient: ir.Value, sums: ir.Value
) -> tuple[ir.Value, ...]:
    dtype = x.type.dtype
    decay = scaled(cast(count, rate.type.dtype), node.attr("decay_factor", 0.0))
    step = op.divide(rate, op.add(number(1, rate.type.dtype), decay))
    slope = _regular(node, x, gradient)
    total = op.add(sums, op.multiply(slope, slope))
    size = op.add(op.sqrt(total), number(node.attr("epsilon", 0.0), dtype))
    return op.subtract(x, op.divide(op.multiply(cast(step, dtype), slope), size)), total


def _adam(
    node: Node, rate: ir.Value, count: ir.Value, x: ir.Value, gradient: ir.Value,
    mean: ir.Value, square: ir.Value,
) -> tuple[ir.Value, ...]:  # fmt: skip
    alpha, beta = node.attr("alpha", 0.9), node.attr("beta", 0.999)
    slope, kind, dtype = _regular(node, x, gradient), rate.type.dtype, x.type.dtype
    first = op.add(scaled(mean, alpha), scaled(slope, 1 - alpha))
    second = op.add(scaled(square, beta), scaled(op.multiply(slope, slope), 1 - beta))
    size = op.add(op.sqrt(second), number(node.attr("epsilon", 0.0), dtype))

    def rest(base: float) -> ir.Value:
        power = op.power(number(base, "float64"), op.astype(count, "float64"))
        return op.subtract(number(1, "float64"), power)

    # Without it, the first steps would be small.
    factor = op.divide(op.sqrt(rest(beta)), rest(alpha))
    grown = op.multiply(rate, cast(factor, kind))
    step = op.where(op.greater(count, number(0, count.type.dtype)), grown, rate)
    moved = op.subtract(x, op.multiply(cast(step, dtype), op.divide(first, size)))
    return scaled(moved, 1 - node.attr("norm_coefficient_post", 0.0)), first, second


def _momentum(
    node: Node, rate: ir.Value, count: ir.Value, x: ir.Value, gradient: ir.Value, speed: ir.Value
) -> tuple[ir.Value, ...]:
    node.refuse("mode", "standard", "nesterov", default="standard")
    dtype, alpha = x.type.dtype, node.attr("alpha")
    slope = _regular(node, x, gradient)
    is_first = op.less_equal(count, number(0, count.type.dtype))
    share = op.where(is_first, number(1, dtype), number(node.attr("beta"), dtype))
    new = op.add(scaled(speed, alpha), op.multiply(share, slope))
    way = new
    if node.attr("mode") == "nesterov":
        way = op.add(slope, scaled(new, alpha))
    return op.subtract(x, op.multiply(cast(rate, dtype), way)), new


converter("Adagrad", domain=_DOMAIN)(_each(_adagrad, 1))
converter("Adam", domain=_DOMAIN)(_each(_adam, 2))
converter("Momentum", domain=_DOMAIN)(_each(_momentum, 1))
