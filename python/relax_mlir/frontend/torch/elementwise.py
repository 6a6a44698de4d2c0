# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen on elements."""

from __future__ import annotations

import math
from typing import Any

import torch
from mlir import ir

from ... import op
from ...composites.arithmetic import (
    erf_inv,
    expm1,
    hypot,
    integer_power,
    is_negative,
    log1p,
    truncated_remainder,
)
from ...core.dtypes import dtype_name
from .registry import Converter, Graph, cast, converts, dtype_of, is_float, number, operand

# They compute in the data type of the result, which for floats of integers is float32.
_UNARY: dict[str, Converter] = {
    "abs": op.abs,
    "acos": op.acos,
    "acosh": op.acosh,
    "asin": op.asin,
    "asinh": op.asinh,
    "atan": op.atan,
    "atanh": op.atanh,
    "bitwise_not": op.bitwise_not,
    "cos": op.cos,
    "cosh": op.cosh,
    "erf": op.erf,
    "erfinv": erf_inv,
    "exp": op.exp,
    "log": op.log,
    "logical_not": op.logical_not,
    "neg": op.negative,
    "rsqrt": op.rsqrt,
    "sigmoid": op.sigmoid,
    "sin": op.sin,
    "sinh": op.sinh,
    "sqrt": op.sqrt,
    "tan": op.tan,
    "tanh": op.tanh,
}
# Integers are what they give for integers.
_ROUNDING: dict[str, Converter] = {
    "ceil": op.ceil,
    "fix": op.trunc,
    "floor": op.floor,
    "round": op.round,
    "trunc": op.trunc,
}
_TESTS: dict[str, Converter] = {"isfinite": op.isfinite, "isinf": op.isinf, "isnan": op.isnan}
_BINARY: dict[str, Converter] = {
    "atan2": op.atan2,
    "bitwise_and": op.bitwise_and,
    "bitwise_left_shift": op.left_shift,
    "bitwise_or": op.bitwise_or,
    "bitwise_right_shift": op.right_shift,
    "bitwise_xor": op.bitwise_xor,
    "logaddexp": op.log_add_exp,
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
    "logical_xor": op.logical_xor,
    "__and__": op.bitwise_and,
    "__lshift__": op.left_shift,
    "__or__": op.bitwise_or,
    "__rshift__": op.right_shift,
    "__xor__": op.bitwise_xor,
}
# With the operator of Booleans.
_ARITHMETIC: dict[str, tuple[Converter, Converter]] = {
    "maximum": (op.maximum, op.logical_or),
    "minimum": (op.minimum, op.logical_and),
    "mul": (op.multiply, op.logical_and),
    "remainder": (op.floor_mod, op.floor_mod),
}
_COMPARISONS: dict[str, Converter] = {
    "eq": op.equal,
    "ge": op.greater_equal,
    "gt": op.greater,
    "le": op.less_equal,
    "lt": op.less,
    "ne": op.not_equal,
}
_OVERLOADS = ("Tensor", "Scalar", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor", "default")


def _unary(operator: Converter) -> Converter:
    def convert(graph: Graph, x: ir.Value) -> ir.Value:
        return operator(cast(x, graph.dtype))

    return convert


def _rounding(operator: Converter) -> Converter:
    def convert(graph: Graph, x: ir.Value) -> ir.Value:
        return operator(x) if is_float(graph.dtype) else x

    return convert


def _test(operator: Converter) -> Converter:
    def convert(_: Graph, x: ir.Value) -> ir.Value:
        return operator(x)

    return convert


def _binary(operator: Converter, of_bools: Converter | None = None) -> Converter:
    def convert(graph: Graph, x: Any, y: Any) -> ir.Value:
        dtype = graph.dtype
        function = of_bools if of_bools is not None and dtype == "bool" else operator
        return function(operand(graph, x, dtype), operand(graph, y, dtype))

    return convert


def common_dtype(graph: Graph) -> str:
    """Return the data type that the first two arguments are converted to."""
    values = [
        node.meta["val"] if isinstance(node, torch.fx.Node) else node
        for node in graph.node.args[:2]
    ]
    plain = [
        1
        if isinstance(value, torch.SymInt)
        else 1.0
        if isinstance(value, torch.SymFloat)
        else value
        for value in values
    ]
    return dtype_name(torch.result_type(*plain))


def _comparison(operator: Converter) -> Converter:
    def convert(graph: Graph, x: Any, y: Any) -> ir.Value:
        dtype = common_dtype(graph)
        return operator(operand(graph, x, dtype), operand(graph, y, dtype))

    return convert


for _name, _operator in _UNARY.items():
    converts(f"{_name}.default")(_unary(_operator))
for _name, _operator in _ROUNDING.items():
    converts(f"{_name}.default")(_rounding(_operator))
for _name, _operator in _TESTS.items():
    converts(f"{_name}.default")(_test(_operator))
for _name, _operator in _BINARY.items():
    converts(*(f"{_name}.{_kind}" for _kind in _OVERLOADS))(_binary(_operator))
for _name, (_operator, _of_bools) in _ARITHMETIC.items():
    converts(*(f"{_name}.{_kind}" for _kind in _OVERLOADS))(_binary(_operator, _of_bools))
for _name, _operator in _COMPARISONS.items():
    converts(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_operator))
converts("max.other")(_binary(op.maximum, op.logical_or))
converts("min.other")(_binary(op.minimum, op.logical_and))


@converts("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar", "rsub.Tensor")
def _add(graph: Graph, x: Any, y: Any, alpha: Any = 1) -> ir.Value:
    x, y = operand(graph, x, graph.dtype), operand(graph, y, graph.dtype)
    if graph.kind == "rsub":
        x, y = y, x
    if graph.dtype == "bool" and alpha:
        return op.logical_or(x, y)
    if alpha != 1:
        # Of rsub the first argument is multiplied, which is the second one here.
        y = op.multiply(y, number(alpha, graph.dtype))
    return op.add(x, y) if graph.kind == "add" else op.subtract(x, y)


def _toward_zero(x: ir.Value, y: ir.Value) -> ir.Value:
    quotient = op.divide(x, y)
    return op.trunc(quotient) if is_float(dtype_of(x)) else quotient


@converts("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode", "floor_divide.default",
          "floor_divide.Scalar", "true_divide.Tensor")  # fmt: skip
def _div(graph: Graph, x: Any, y: Any, rounding_mode: str | None = None) -> ir.Value:
    x, y = operand(graph, x, graph.dtype), operand(graph, y, graph.dtype)
    if graph.kind == "floor_divide" or rounding_mode == "floor":
        return op.floor_divide(x, y)
    return _toward_zero(x, y) if rounding_mode == "trunc" else op.divide(x, y)


@converts("fmod.Tensor", "fmod.Scalar")
def _fmod(graph: Graph, x: Any, y: Any) -> ir.Value:
    return truncated_remainder(cast(x, graph.dtype), cast(y, graph.dtype))


@converts("fmax.default", "fmin.default")
def _without_nan(graph: Graph, x: ir.Value, y: ir.Value) -> ir.Value:
    x, y = cast(x, graph.dtype), cast(y, graph.dtype)
    extreme = (op.maximum if graph.kind == "fmax" else op.minimum)(x, y)
    return op.where(op.isnan(x), y, op.where(op.isnan(y), x, extreme))


def power_by(x: ir.Value, exponent: float) -> ir.Value:
    """Return a tensor to the power of a number, by products where it is small."""
    dtype = dtype_of(x)
    if not is_float(dtype) and (exponent < 0 or exponent != int(exponent) or exponent > 64):
        raise NotImplementedError(f"powers of integers by {exponent}")
    if exponent == 0:
        return op.ones_like(x)
    if exponent in (0.5, -0.5):
        return op.sqrt(x) if exponent > 0 else op.rsqrt(x)
    if exponent in (-1, -2):
        return op.divide(number(1, dtype), x if exponent == -1 else op.multiply(x, x))
    if is_float(dtype) and exponent not in (1, 2, 3):
        return op.power(x, number(exponent, dtype))
    half = x if exponent == 1 else power_by(x, exponent // 2)
    if exponent == 1:
        return x
    square = op.multiply(half, half)
    return op.multiply(square, x) if exponent % 2 else square


@converts("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def _pow(graph: Graph, x: Any, y: Any) -> ir.Value:
    if isinstance(y, (int, float)):
        return power_by(cast(x, graph.dtype), y)
    if is_float(graph.dtype):
        return op.power(cast(x, graph.dtype), cast(y, graph.dtype))
    if isinstance(x, int) and x == 2:
        # Of negative exponents it is 0 in both.
        return op.left_shift(number(1, graph.dtype), cast(y, graph.dtype))
    return integer_power(*(operand(graph, one, graph.dtype) for one in (x, y)))


@converts("round.decimals")
def _round_decimals(graph: Graph, x: ir.Value, decimals: int = 0) -> ir.Value:
    if decimals == 0 or not is_float(graph.dtype):
        return _rounding(op.round)(graph, x)
    scale = number(10.0 ** abs(decimals), graph.dtype)
    before, after = (op.multiply, op.divide) if decimals > 0 else (op.divide, op.multiply)
    return after(op.round(before(x, scale)), scale)


@converts("sign.default", "sgn.default")
def _sign(graph: Graph, x: ir.Value) -> ir.Value:
    if not is_float(graph.dtype):
        return x if graph.dtype == "bool" else op.sign(x)
    # PyTorch gives 0 for NaN.
    return op.where(op.isnan(x), number(0, graph.dtype), op.sign(x))


@converts("reciprocal.default")
def _reciprocal(graph: Graph, x: ir.Value) -> ir.Value:
    return op.divide(number(1, graph.dtype), cast(x, graph.dtype))


@converts("square.default")
def _square(graph: Graph, x: ir.Value) -> ir.Value:
    return op.multiply(x, x)


def in_float64(operator: Converter, x: ir.Value, dtype: str) -> ir.Value:
    """Compute in 64 bits, so that powers of the base give the numbers they should."""
    return cast(operator(cast(x, "float64")), dtype)


@converts("log2.default", "log10.default")
def _log_of_base(graph: Graph, x: ir.Value) -> ir.Value:
    factor = number(1 / math.log(2 if graph.kind == "log2" else 10), "float64")
    return in_float64(lambda one: op.multiply(op.log(one), factor), x, graph.dtype)


@converts("exp2.default", "special_exp2.default")
def _exp2(graph: Graph, x: ir.Value) -> ir.Value:
    factor = number(math.log(2), "float64")
    return in_float64(lambda one: op.exp(op.multiply(one, factor)), x, graph.dtype)


@converts("expm1.default", "special_expm1.default")
def _expm1(graph: Graph, x: ir.Value) -> ir.Value:
    return expm1(cast(x, graph.dtype))


@converts("log1p.default", "special_log1p.default")
def _log1p(graph: Graph, x: ir.Value) -> ir.Value:
    return log1p(cast(x, graph.dtype))


@converts("clamp.default", "clamp.Tensor", "clip.default", "clip.Tensor")
def clamp(graph: Graph, x: ir.Value, low: Any = None, high: Any = None) -> ir.Value:
    """Return the nearest number from `low` to `high`; NaN stays."""
    x = cast(x, graph.dtype)
    if low is not None:
        x = op.maximum(x, cast(low, graph.dtype))
    return x if high is None else op.minimum(x, cast(high, graph.dtype))


@converts("clamp_min.default", "clamp_min.Tensor")
def _clamp_min(graph: Graph, x: ir.Value, low: Any) -> ir.Value:
    return clamp(graph, x, low)


@converts("clamp_max.default", "clamp_max.Tensor")
def _clamp_max(graph: Graph, x: ir.Value, high: Any) -> ir.Value:
    return clamp(graph, x, None, high)


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(graph: Graph, condition: ir.Value, x: Any, y: Any) -> ir.Value:
    values = [operand(graph, one, graph.dtype) for one in (x, y)]
    return op.where(operand(graph, condition, "bool"), *values)


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(graph: Graph, x: ir.Value, mask: ir.Value, value: Any) -> ir.Value:
    values = [operand(graph, one, graph.dtype) for one in (value, x)]
    return op.where(operand(graph, mask, "bool"), *values)


@converts(
    "_to_copy.default", "to.dtype", "to.dtype_layout", "to.other", "to.device", "type_as.default",
    "float.default", "half.default", "scalar_tensor.default",
)  # fmt: skip
def _astype(graph: Graph, x: Any, *_: Any, **__: Any) -> ir.Value:
    return cast(x, graph.dtype)


@converts(
    "alias.default", "clone.default", "contiguous.default", "detach.default", "lift_fresh.default",
    "lift_fresh_copy.default", "positive.default",
)  # fmt: skip
def _identity(graph: Graph, x: ir.Value, *_: Any, **__: Any) -> Any:
    return x


@converts("signbit.default")
def _signbit(_: Graph, x: ir.Value) -> ir.Value:
    return op.zeros_like(x) if dtype_of(x) == "bool" else is_negative(x)


@converts("copysign.Tensor", "copysign.Scalar")
def _copysign(graph: Graph, x: ir.Value, sign: Any) -> ir.Value:
    size = op.abs(operand(graph, x, graph.dtype))
    return op.where(is_negative(operand(graph, sign, graph.dtype)), op.negative(size), size)


@converts("hypot.default")
def _hypot(graph: Graph, x: ir.Value, y: ir.Value) -> ir.Value:
    return hypot(operand(graph, x, graph.dtype), operand(graph, y, graph.dtype))


@converts("ldexp.Tensor")
def _ldexp(graph: Graph, x: ir.Value, exponent: ir.Value) -> ir.Value:
    power = op.power(number(2, graph.dtype), operand(graph, exponent, graph.dtype))
    return op.multiply(operand(graph, x, graph.dtype), power)
