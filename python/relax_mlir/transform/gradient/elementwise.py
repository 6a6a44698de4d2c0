# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of operators that compute each element of their result from one of each operand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import op
from .registry import Contribution, Forward, gradient, no_gradient
from .shapes import along, dims_of, is_float, reshaped, sum_to, zeros_of

# ------------------------------------------------------------------------------
# One tensor
# ------------------------------------------------------------------------------

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

# The gradient g of the result y of an operand x.
_UNARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "abs": lambda x, y, g: g * op.sign(x),
    "acos": lambda x, y, g: -g * op.rsqrt(1.0 - x * x),
    "acosh": lambda x, y, g: g * op.rsqrt(x * x - 1.0),
    "asin": lambda x, y, g: g * op.rsqrt(1.0 - x * x),
    "asinh": lambda x, y, g: g * op.rsqrt(x * x + 1.0),
    "atan": lambda x, y, g: g / (x * x + 1.0),
    "atanh": lambda x, y, g: g / (1.0 - x * x),
    "cos": lambda x, y, g: -g * op.sin(x),
    "cosh": lambda x, y, g: g * op.sinh(x),
    "erf": lambda x, y, g: g * (op.exp(-(x * x)) * (2 / math.sqrt(math.pi))),
    "exp": lambda x, y, g: g * y,
    "gelu": lambda x, y, g: g * _gelu_slope(x),
    "gelu_tanh": lambda x, y, g: g * _gelu_tanh_slope(x),
    "log": lambda x, y, g: g / x,
    "negative": lambda x, y, g: -g,
    "relu": lambda x, y, g: op.where(op.greater(x, 0.0), g, zeros_of(g)),
    "rsqrt": lambda x, y, g: g * (y * y * y * -0.5),
    "selu": lambda x, y, g: g * _selu_slope(x),
    "sigmoid": lambda x, y, g: g * (y * (1.0 - y)),
    "silu": lambda x, y, g: g * _silu_slope(x),
    "sin": lambda x, y, g: g * op.cos(x),
    "sinh": lambda x, y, g: g * op.cosh(x),
    "sqrt": lambda x, y, g: g * 0.5 / y,
    "square": lambda x, y, g: g * (x * 2.0),
    "tan": lambda x, y, g: g * (y * y + 1.0),
    "tanh": lambda x, y, g: g * (1.0 - y * y),
}


def _gelu_slope(x: Any) -> Any:
    below = (op.erf(x * math.sqrt(0.5)) + 1.0) * 0.5
    return below + x * op.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


def _gelu_tanh_slope(x: Any) -> Any:
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    tanh = op.tanh((x + x * x * x * cubic) * factor)
    inner = (x * x * (3 * cubic) + 1.0) * factor
    return (tanh + 1.0) * 0.5 + x * 0.5 * (1.0 - tanh * tanh) * inner


def _selu_slope(x: Any) -> Any:
    # Powers of large numbers, which are not selected, stay finite.
    below = op.exp(op.minimum(x, 0.0)) * (_SELU_SCALE * _SELU_ALPHA)
    return op.where(op.greater(x, 0.0), op.full_like(x, _SELU_SCALE), below)


def _silu_slope(x: Any) -> Any:
    sigmoid = op.sigmoid(x)
    return sigmoid * (x * (1.0 - sigmoid) + 1.0)


def _register_unary() -> None:
    for name, slope in _UNARY.items():
        gradient(name)(lambda f, g, slope=slope: [slope(f.operands[0], f.result, g)])  # type: ignore[misc]


_register_unary()


@gradient("leakyrelu")
def _leakyrelu(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    return [op.where(op.greater(x, 0.0), g, g * f.attribute("alpha", 0.01))]


@gradient("softplus")
def _softplus(f: Forward, g: Any) -> list[Contribution]:
    scaled = f.operands[0] * f.attribute("beta", 1.0)
    is_linear = op.greater(scaled, f.attribute("threshold", 20.0))
    return [op.where(is_linear, g, g * op.sigmoid(scaled))]


@gradient("clip")
def _clip(f: Forward, g: Any) -> list[Contribution]:
    return [op.where(op.equal(f.operands[0], f.result), g, zeros_of(g)), None, None]


@gradient("astype")
def _astype(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    return [op.astype(g, x.type.dtype) if is_float(x.type) else None]


@gradient(
    "annotate_sharding", "start_checkpoint", "end_checkpoint", "stop_lift_params", "hint_on_device"
)
def _same(f: Forward, g: Any) -> list[Contribution]:
    return [g]


# ------------------------------------------------------------------------------
# Several tensors
# ------------------------------------------------------------------------------


def _binary(name: str) -> Callable[..., Any]:
    """Register a function that returns what writes the gradient of each operand, to be summed."""

    def register(slopes: Callable[..., Any]) -> Callable[..., Any]:
        def rule(f: Forward, g: Any) -> list[Contribution]:
            a, b = f.operands
            da, db = slopes(a, b, f.result, g)
            return [lambda: sum_to(da(), a), lambda: sum_to(db(), b)]

        gradient(name)(rule)
        return slopes

    return register


@_binary("add")
def _add(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: g, lambda: g


@_binary("subtract")
def _subtract(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: g, lambda: -g


@_binary("multiply")
def _multiply(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: g * b, lambda: g * a


@_binary("divide")
def _divide(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: g / b, lambda: -g * y / b


@_binary("power")
def _power(a: Any, b: Any, y: Any, g: Any) -> Any:
    def of_base() -> Any:
        slope = b * op.power(a, b - 1.0)
        return g * op.where(op.equal(b, 0.0), zeros_of(y), slope)

    def of_exponent() -> Any:
        # A base of 0 stays 0 where the exponent is positive.
        is_flat = op.logical_and(op.equal(a, 0.0), op.greater_equal(b, 0.0))
        return g * op.where(is_flat, zeros_of(y), y * op.log(a))

    return of_base, of_exponent


@_binary("atan2")
def _atan2(a: Any, b: Any, y: Any, g: Any) -> Any:
    def over_square() -> Any:
        return g / (a * a + b * b)

    return lambda: over_square() * b, lambda: -over_square() * a


@_binary("log_add_exp")
def _log_add_exp(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: g * op.exp(a - y), lambda: g * op.exp(b - y)


def _shared(is_taken: Callable[[Any, Any], Any], a: Any, b: Any, g: Any) -> Any:
    """Return the part of a gradient that the operand has which is taken: half of it if both are."""
    alone = op.where(is_taken(a, b), g, zeros_of(g))
    return op.where(op.equal(a, b), g * 0.5, alone)


@_binary("maximum")
def _maximum(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: _shared(op.greater, a, b, g), lambda: _shared(op.less, a, b, g)


@_binary("minimum")
def _minimum(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: _shared(op.less, a, b, g), lambda: _shared(op.greater, a, b, g)


@_binary("mod")
def _mod(a: Any, b: Any, y: Any, g: Any) -> Any:
    return lambda: g, lambda: -g * op.floor_divide(a, b)


_binary("floor_mod")(_mod)


@gradient("ewise_fma")
def _ewise_fma(f: Forward, g: Any) -> list[Contribution]:
    a, b, _ = f.operands
    return [lambda: g * b, lambda: g * a, g]


@gradient("where")
def _where(f: Forward, g: Any) -> list[Contribution]:
    condition, a, b = f.operands
    return [
        None,
        lambda: sum_to(op.where(condition, g, zeros_of(g)), a),
        lambda: sum_to(op.where(condition, zeros_of(g), g), b),
    ]


# ------------------------------------------------------------------------------
# Without a gradient
# ------------------------------------------------------------------------------

no_gradient("piecewise constant", "ceil floor round sign trunc floor_divide")
no_gradient("of Booleans", "equal greater greater_equal less less_equal not_equal")
no_gradient("of Booleans", "isfinite isinf isnan logical_and logical_not logical_or logical_xor")
no_gradient("of integers", "bitwise_and bitwise_not bitwise_or bitwise_xor left_shift right_shift")
no_gradient("stops gradients, as its name says", "no_grad")


@gradient("prelu")
def _prelu(f: Forward, g: Any) -> list[Contribution]:
    x, alpha = f.operands
    axis, ndim = f.axis(default=1), int(x.type.ndim)
    slope = along(alpha, ndim, [axis])
    is_positive = op.greater(x, op.zeros_like(x))

    def of_alpha() -> Any:
        part = op.where(is_positive, op.zeros_like(x), g * x)
        return reshaped(sum_to(part, slope), dims_of(alpha))

    return [lambda: op.where(is_positive, g, slope * g), of_alpha]
