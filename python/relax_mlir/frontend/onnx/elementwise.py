# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on elements."""

from __future__ import annotations

import functools
from typing import Any

from mlir import ir

from ... import op, topi
from ...composites.arithmetic import integer_power, truncated_remainder
from ...composites.tensors import agreed, bits_of, cast, number
from ..values import Operator, Value, dtype_of
from .model import dtype_of as dtype_of_onnx
from .narrow import NARROW, converted
from .registry import Function, Node, converter

_UNARY: dict[str, Operator] = {
    "Abs": op.abs,
    "Acos": op.acos,
    "Acosh": op.acosh,
    "Asin": op.asin,
    "Asinh": op.asinh,
    "Atan": op.atan,
    "Atanh": op.atanh,
    "BitwiseNot": op.bitwise_not,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "Erf": op.erf,
    "Exp": op.exp,
    "Floor": op.floor,
    "IsNaN": op.isnan,
    "Log": op.log,
    "Neg": op.negative,
    "Not": op.logical_not,
    "Round": op.round,
    "Sigmoid": op.sigmoid,
    "Sign": op.sign,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "Sqrt": op.sqrt,
    "Tan": op.tan,
    "Tanh": op.tanh,
}
_BINARY: dict[str, Operator] = {
    "Add": op.add,
    "And": op.logical_and,
    "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor,
    "Div": op.divide,
    "Equal": op.equal,
    "Greater": op.greater,
    "GreaterOrEqual": op.greater_equal,
    "Less": op.less,
    "LessOrEqual": op.less_equal,
    "Mul": op.multiply,
    "Or": op.logical_or,
    "Sub": op.subtract,
    "Xor": op.logical_xor,
}
_VARIADIC: dict[str, Operator] = {"Max": op.maximum, "Min": op.minimum, "Sum": op.add}


def _plain(operator: Operator, count: int) -> Function:
    def convert(_: Node, *inputs: ir.Value) -> ir.Value:
        if len(inputs) != count:
            raise ValueError(f"expected {count} inputs, but got {len(inputs)}")
        return operator(*agreed(*inputs))

    return convert


def _variadic(operator: Operator) -> Function:
    def convert(_: Node, *inputs: ir.Value) -> ir.Value:
        return functools.reduce(operator, agreed(*inputs))

    return convert


for _name, _operator in _UNARY.items():
    converter(_name)(_plain(_operator, 1))
for _name, _operator in _BINARY.items():
    converter(_name)(_plain(_operator, 2))
for _name, _operator in _VARIADIC.items():
    converter(_name)(_variadic(_operator))


@converter("Mean")
def _mean(_: Node, *inputs: ir.Value) -> ir.Value:
    total = functools.reduce(op.add, agreed(*inputs))
    return op.divide(total, number(len(inputs), total.type.dtype))


@converter("Reciprocal")
def _reciprocal(_: Node, x: ir.Value) -> ir.Value:
    return op.divide(number(1, x.type.dtype), x)


@converter("Relu")
def _relu(_: Node, x: ir.Value) -> ir.Value:
    if x.type.dtype.startswith("int"):
        return op.maximum(x, number(0, x.type.dtype))
    return op.nn.relu(x)


@converter("LeakyRelu")
def _leaky_relu(node: Node, x: ir.Value) -> ir.Value:
    return op.nn.leakyrelu(x, node.attr("alpha", 0.01))


def scaled(x: ir.Value, factor: float) -> ir.Value:
    """Return a tensor times a number."""
    return x if factor == 1 else op.multiply(x, number(factor, x.type.dtype))


def _is_positive(x: ir.Value) -> ir.Value:
    return op.greater(x, number(0, x.type.dtype))


def _expm1(x: ir.Value) -> ir.Value:
    """Return exp(x) - 1 of what is negative, where the result is not larger than 1."""
    return op.subtract(op.exp(x), number(1, x.type.dtype))


@converter("Elu")
def _elu(node: Node, x: ir.Value) -> ir.Value:
    return op.where(_is_positive(x), x, scaled(_expm1(x), node.attr("alpha", 1.0)))


@converter("Celu")
def _celu(node: Node, x: ir.Value) -> ir.Value:
    alpha = node.attr("alpha", 1.0)
    zero = number(0, x.type.dtype)
    negative = scaled(_expm1(op.divide(x, number(alpha, x.type.dtype))), alpha)
    return op.add(op.maximum(x, zero), op.minimum(negative, zero))


@converter("Selu")
def _selu(node: Node, x: ir.Value) -> ir.Value:
    alpha = node.attr("alpha", 1.67326319217681884765625)
    gamma = node.attr("gamma", 1.05070102214813232421875)
    return scaled(op.where(_is_positive(x), x, scaled(_expm1(x), alpha)), gamma)


@converter("ThresholdedRelu")
def _thresholded_relu(node: Node, x: ir.Value) -> ir.Value:
    dtype = x.type.dtype
    return op.where(op.greater(x, number(node.attr("alpha", 1.0), dtype)), x, number(0, dtype))


@converter("HardSigmoid")
def _hard_sigmoid(node: Node, x: ir.Value) -> ir.Value:
    return hard_sigmoid(x, node.attr("alpha", 0.2), node.attr("beta", 0.5))


def hard_sigmoid(x: ir.Value, alpha: float, beta: float) -> ir.Value:
    """Return alpha * x + beta, from 0 to 1."""
    line = op.add(scaled(x, alpha), number(beta, x.type.dtype))
    return op.clip(line, 0, 1)


@converter("HardSwish")
def _hard_swish(_: Node, x: ir.Value) -> ir.Value:
    return op.multiply(x, hard_sigmoid(x, 1 / 6, 0.5))


@converter("Softplus")
def _softplus(_: Node, x: ir.Value) -> ir.Value:
    return softplus(x)


def softplus(x: ir.Value) -> ir.Value:
    """Return log(1 + exp(x)), without overflow."""
    return op.log_add_exp(x, number(0, x.type.dtype))


@converter("Mish")
def _mish(_: Node, x: ir.Value) -> ir.Value:
    return op.multiply(x, op.tanh(softplus(x)))


@converter("Softsign")
def _softsign(_: Node, x: ir.Value) -> ir.Value:
    return op.divide(x, op.add(op.abs(x), number(1, x.type.dtype)))


@converter("Swish")
def _swish(node: Node, x: ir.Value) -> ir.Value:
    return op.multiply(x, op.sigmoid(scaled(x, node.attr("alpha", 1.0))))


@converter("Gelu")
def _gelu(node: Node, x: ir.Value) -> ir.Value:
    node.refuse("approximate", "tanh", default="none")
    return op.nn.gelu(x) if node.attr("approximate", "none") == "none" else op.nn.gelu_tanh(x)


@converter("PRelu")
def _prelu(_: Node, x: ir.Value, slope: ir.Value) -> ir.Value:
    x, slope = agreed(x, slope)
    return op.where(op.less(x, number(0, x.type.dtype)), op.multiply(x, slope), x)


@converter("Shrink")
def _shrink(node: Node, x: ir.Value) -> ir.Value:
    dtype = x.type.dtype
    # Computed as floats, of which alone there are thresholds between numbers.
    wide = x if dtype.startswith(("float", "bfloat")) else op.astype(x, "float64")
    kind = wide.type.dtype
    border, bias = node.attr("lambd", 0.5), number(node.attr("bias", 0.0), kind)
    low = op.where(op.less(wide, number(-border, kind)), op.add(wide, bias), number(0, kind))
    result = op.where(op.greater(wide, number(border, kind)), op.subtract(wide, bias), low)
    return cast(result, dtype)


@converter("IsInf")
def _is_inf(node: Node, x: ir.Value) -> ir.Value:
    zero = number(0, x.type.dtype)
    result = op.isinf(x)
    if not node.attr("detect_positive", 1):
        result = op.logical_and(result, op.less(x, zero))
    if not node.attr("detect_negative", 1):
        result = op.logical_and(result, op.greater(x, zero))
    return result


@converter("Mod")
def _mod(node: Node, x: ir.Value, y: ir.Value) -> ir.Value:
    x, y = agreed(x, y)
    if not node.attr("fmod", 0):
        return op.floor_mod(x, y)
    return truncated_remainder(x, y)


@converter("Pow")
def _pow(_: Node, x: ir.Value, y: ir.Value) -> ir.Value:
    x, y = agreed(x, y)
    dtype, exponent = x.type.dtype, y.type.dtype
    if dtype == exponent and dtype.startswith(("float", "bfloat")):
        return op.power(x, y)
    are_floats = [name.startswith(("float", "bfloat")) for name in (dtype, exponent)]
    if not any(are_floats):
        wide = dtype if dtype == exponent else "int64"
        return cast(integer_power(cast(x, wide), cast(y, wide)), dtype)
    # Those of 64 bits are exact up to 2**53.
    wide = dtype if are_floats == [True, False] and dtype != "bfloat16" else "float64"
    return cast(op.power(cast(x, wide), cast(y, wide)), dtype)


@converter("BitShift")
def _bit_shift(node: Node, x: ir.Value, y: ir.Value) -> ir.Value:
    node.refuse("direction", "LEFT", "RIGHT")
    x, y = agreed(x, y)
    return op.left_shift(x, y) if node.attr("direction") == "LEFT" else op.right_shift(x, y)


@converter("Clip")
def _clip_by_attributes(node: Node, x: ir.Value) -> ir.Value:
    dtype = x.type.dtype
    low, high = node.attr("min", None), node.attr("max", None)
    x = x if low is None else op.maximum(x, number(low, dtype))
    return x if high is None else op.minimum(x, number(high, dtype))


@converter("Clip", since=11)
def _clip(_: Node, x: ir.Value, low: Any = None, high: Any = None) -> ir.Value:
    x = x if low is None else op.maximum(x, low)
    return x if high is None else op.minimum(x, high)


@converter("Where")
def _where(_: Node, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    return op.where(*agreed(condition, x, y))


@converter("Cast")
def _cast(node: Node, x: ir.Value) -> ir.Value:
    return _conversion(node, x, dtype_of_onnx(node.attr("to")), node.attr("to"))


def _conversion(node: Node, x: ir.Value, dtype: str, kind: int) -> ir.Value:
    saturates, rounding = bool(node.attr("saturate", 1)), node.attr("round_mode", "up")
    return converted(x, dtype, kind, saturates, rounding)


@converter("BitCast")
def _bit_cast(node: Node, x: ir.Value) -> ir.Value:
    if node.attr("to") in NARROW or node.scope.narrow(node.proto.input[0]):
        raise NotImplementedError("expected data types of a byte or more")
    source, dtype = x.type.dtype, dtype_of_onnx(node.attr("to"))
    widths = [bits_of(name) // 8 for name in (source, dtype)]
    if widths[0] != widths[1]:
        raise ValueError(f"expected a data type of {widths[0]} bytes, but got {dtype}")
    if source == dtype:
        return x
    if any(name.startswith(("float", "bfloat")) for name in (source, dtype)):
        return node.importer.builder.call_te(topi.reinterpret, x, dtype)
    return op.astype(x, dtype)


@converter("CastLike", raw=(1,))
def _cast_like(node: Node, x: ir.Value, like: Value) -> ir.Value:
    return _conversion(node, x, dtype_of(like), node.scope.narrow(node.proto.input[1]))


@converter("Identity", raw=None)
def _identity(_: Node, x: Value) -> Value:
    return x


@converter("Binarizer", domain="ai.onnx.ml")
def _binarizer(node: Node, x: ir.Value) -> ir.Value:
    border = number(node.attr("threshold", 0.0), x.type.dtype)
    return cast(op.greater(x, border), x.type.dtype)
