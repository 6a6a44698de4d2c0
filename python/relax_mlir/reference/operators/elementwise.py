# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that compute each element of their result from one of each operand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import FORMATS, Array, is_float
from .table import Args, attribute, cast, elementwise, expect, operator, saturate

#: The largest error of an elementary function.
ELEMENTARY = 4.0

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def maximum(x: Array, y: Array) -> Array:
    """Return the larger of two numbers: NaN if either is, and 0 of zeros unless both are -0."""
    if x.dtype.kind != "f":
        return np.maximum(x, y)
    return np.where((x == 0) & (y == 0), x + y, np.maximum(x, y))


def minimum(x: Array, y: Array) -> Array:
    """Return the smaller of two numbers: NaN if either is, and -0 of zeros unless both are 0."""
    if x.dtype.kind != "f":
        return np.minimum(x, y)
    return np.where((x == 0) & (y == 0), -((-x) + (-y)), np.minimum(x, y))


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)), by the power that does not overflow."""
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


# ------------------------------------------------------------------------------
# One tensor
# ------------------------------------------------------------------------------

_EXACT: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "bitwise_not": np.invert,
    "ceil": np.ceil,
    "floor": np.floor,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "logical_not": np.logical_not,
    "negative": np.negative,
    "round": np.rint,
    "trunc": np.trunc,
}
for _name, _numpy in _EXACT.items():
    elementwise(_name, ulps=0)(_numpy)

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _erf,
    "exp": np.exp,
    "log": np.log,
    "sigmoid": sigmoid,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}
for _name, _numpy in _FUNCTIONS.items():
    elementwise(_name, ulps=ELEMENTARY)(_numpy)

elementwise("sqrt", ulps=0.5)(np.sqrt)
elementwise("square", ulps=0.5)(np.square)


@elementwise("sign", ulps=0)
def _sign(x: Array) -> Array:
    return np.where(x == 0, x, np.sign(x))


@elementwise("relu", ulps=0, any_zero=True)
def _relu(x: Array) -> Array:
    return maximum(x, np.zeros_like(x))


@elementwise("rsqrt", ulps=ELEMENTARY)
def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _operand(op: Any, args: Args) -> Array:
    return np.abs(args[0].data)


def _underflow(op: Any, args: Args) -> Array:
    """Return the operand times the least normal number: what is lost below that is multiplied."""
    least = {"float64": -1022, "float16": -14}.get(args[0].dtype, -126)
    return np.ldexp(np.abs(args[0].data), least)


@elementwise("silu", ulps=ELEMENTARY, scale=_underflow)
def _silu(x: Array) -> Array:
    return x * sigmoid(x)


@elementwise("gelu", ulps=ELEMENTARY, scale=_operand)
def _gelu(x: Array) -> Array:
    # 1 + erf(y) is erfc(-y), without the digits that the sum loses.
    return 0.5 * x * _erfc(-x / math.sqrt(2))


@elementwise("gelu_tanh", ulps=ELEMENTARY, scale=_operand)
def _gelu_tanh(x: Array) -> Array:
    # (1 + tanh(y)) / 2 is sigmoid(2 y).
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


@elementwise("selu", ulps=ELEMENTARY)
def _selu(x: Array) -> Array:
    below = 1.6732632423543772848170429916717 * np.expm1(x)
    return 1.0507009873554804934193349852946 * np.where(x > 0, x, below)


@operator("leakyrelu", ulps=2)
def _leakyrelu(op: Any, args: Args, env: Any) -> Array:
    x = args[0].data
    return np.where(x > 0, x, attribute(op, "alpha", 0.01) * x)


@operator("softplus", ulps=ELEMENTARY, backward_error=2)
def _softplus(op: Any, args: Args, env: Any) -> Array:
    x, beta = args[0].data, attribute(op, "beta", 1.0)
    scaled = beta * x
    return np.where(scaled > attribute(op, "threshold", 20.0), x, np.logaddexp(0, scaled) / beta)


@operator("clip", ulps=0.5, any_zero=True)
def _clip(op: Any, args: Args, env: Any) -> Array:
    x, low, high = args
    bounds = [_bound(bound, x.dtype) for bound in (low, high)]
    return minimum(maximum(x.data, bounds[0]), bounds[1])


def _bound(number: Any, dtype: str) -> Array:
    """Convert a bound to a data type, to the nearest number that it has."""
    if is_float(dtype):
        return np.asarray(number, np.float64)
    if isinstance(number, float):
        return cast(np.asarray(number, np.float64), dtype)
    info = np.iinfo(dtype)
    return np.asarray(min(max(int(number), info.min), info.max), dtype)


@operator("astype", ulps=0.5)
def _astype(op: Any, args: Args, env: Any) -> Array:
    return cast(args[0].data, attribute(op, "dtype"))


@operator(
    "annotate_sharding",
    "end_checkpoint",
    "no_grad",
    "start_checkpoint",
    "stop_lift_params",
    ulps=0,
)
def _hint(op: Any, args: Args, env: Any) -> Any:
    return args[0]


# ------------------------------------------------------------------------------
# Several tensors
# ------------------------------------------------------------------------------

elementwise("add", ulps=0.5)(np.add)
elementwise("multiply", ulps=0.5)(np.multiply)
elementwise("subtract", ulps=0.5)(np.subtract)

_EXACT_OF_SEVERAL: dict[str, Callable[..., Any]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "not_equal": np.not_equal,
    "where": np.where,
}
for _name, _numpy in _EXACT_OF_SEVERAL.items():
    elementwise(_name, ulps=0)(_numpy)

elementwise("maximum", ulps=0, any_zero=True)(maximum)
elementwise("minimum", ulps=0, any_zero=True)(minimum)

elementwise("atan2", ulps=ELEMENTARY)(np.arctan2)
elementwise("power", ulps=ELEMENTARY)(np.power)


@elementwise("divide", ulps=0.5)
def divide(x: Array, y: Array) -> Array:
    """Return x / y; of integers rounded towards zero, and 0 where y is 0."""
    if x.dtype.kind == "f":
        return x / y
    # The least integer divided by -1 wraps around to itself.
    floor, rest = np.floor_divide(x, y), np.mod(x, y)
    one = np.asarray(1, x.dtype)
    towards_zero = np.where((rest != 0) & ((x < 0) != (y < 0)), floor + one, floor)
    return np.where(y == 0, np.zeros_like(x), towards_zero)


# A quotient of many digits may be rounded across an integer, as in NumPy.
elementwise("floor_divide", ulps=2)(np.floor_divide)
elementwise("mod", "floor_mod", ulps=0.5)(np.mod)


@elementwise("left_shift", ulps=0)
def _left_shift(x: Array, y: Array) -> Array:
    large = _is_large_shift(x, y)
    return np.where(large, np.zeros_like(x), np.left_shift(x, np.where(large, 0, y)))


@elementwise("right_shift", ulps=0)
def _right_shift(x: Array, y: Array) -> Array:
    large = _is_large_shift(x, y)
    sign = np.where(x < 0, np.asarray(-1).astype(x.dtype), np.zeros_like(x))
    return np.where(large, sign, np.right_shift(x, np.where(large, 0, y).astype(x.dtype)))


def _is_large_shift(x: Array, y: Array) -> Array:
    """Say where a shift leaves no bit: by the number of bits or more, or by less than 0."""
    return (y < 0) | (y >= x.dtype.itemsize * 8)


def _size_of_sum(op: Any, args: Args) -> Array:
    """Return the larger operand, and at least log(2), which is added to it."""
    x, y = (np.abs(arg.data) for arg in args)
    return np.maximum(np.maximum(x, y), math.log(2))


elementwise("log_add_exp", ulps=ELEMENTARY, scale=_size_of_sum)(np.logaddexp)


@elementwise("ewise_fma", ulps=0.5, backward_error=1)
def _ewise_fma(x: Array, y: Array, z: Array) -> Array:
    for other in (y, z):
        expect(x.shape, other.shape, "tensors of shape")
    return x * y + z


# ------------------------------------------------------------------------------
# Quantization
# ------------------------------------------------------------------------------


def _parameters(op: Any, args: Args) -> tuple[Array, Array, Array]:
    """Return data, scale and zero point as `float32`; parameters broadcast along the axis."""
    data = args[0].data
    values = [data]
    axis, block = attribute(op, "axis", -1), attribute(op, "block_size", 0)
    for parameter in args[1:]:
        if block and parameter.data.ndim:
            expect(-(-data.shape[axis] // block), parameter.data.shape[axis], "blocks")
            each = np.repeat(parameter.data, block, axis)
            values.append(np.take(each, range(data.shape[axis]), axis))
            continue
        shape = [1] * data.ndim
        if parameter.data.size != 1:
            expect(data.shape[axis], parameter.data.size, "parameters of size")
            shape[axis] = parameter.data.size
        values.append(parameter.data.reshape(shape))
    narrow = [value.astype(np.float32) for value in values]
    return narrow[0], narrow[1], narrow[2]


@operator("quantize", ulps=0.5)
def _quantize(op: Any, args: Args, env: Any) -> Array:
    data, scale, zero_point = _parameters(op, args)
    dtype = attribute(op, "out_dtype")
    if is_float(dtype):
        places = (data / scale + zero_point).astype(np.float64)
        largest = FORMATS[dtype].largest if dtype.startswith("float8") else np.inf
        return np.clip(places, -largest, largest)
    # The rounding of a tie depends on the last digit of the quotient.
    places = np.rint(data / scale) + zero_point
    return saturate(places.astype(np.float64), dtype)


@operator("dequantize", ulps=0.5)
def _dequantize(op: Any, args: Args, env: Any) -> Array:
    data, scale, zero_point = _parameters(op, args)
    return ((data - zero_point) * scale).astype(np.float64)
