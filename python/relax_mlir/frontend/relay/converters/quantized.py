# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on quantized tensors, element by element and of several tensors."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
from mlir import ir

from .... import op
from ....composites.tensors import agreed, cast, normal_axis, number
from ...values import Operator, Value, as_tensor, dtype_of, known_array, rank_of
from .operands import known_fields
from .registry import REQUIRED, Function, converts
from .requantize import (
    FixedPoint,
    Parameters,
    Rounding,
    dequantized,
    less_zero,
    quantized,
    requantized,
    requantized_unless_same,
    saturated,
    scalar,
)

_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32")


def _require_dtype(dtype: str, allowed: tuple[str, ...], what: str) -> str:
    if dtype not in allowed:
        raise ValueError(f"expected {what} of {', '.join(allowed)}, but got '{dtype}'")
    return dtype


@converts("qnn.quantize", raw=True, out_dtype=REQUIRED, axis=-1)
def _quantize(
    attrs: SimpleNamespace, data: Value, output_scale: Value, output_zero_point: Value
) -> ir.Value:
    _require_dtype(dtype_of(data), ("float32",), "data")
    dtype = _require_dtype(attrs.out_dtype, _INTEGERS, "out_dtype")
    target = Parameters(output_scale, output_zero_point, int(attrs.axis))
    return quantized(as_tensor(data), target, dtype)


@converts("qnn.dequantize", raw=True, out_dtype="float32", axis=-1)
def _dequantize(
    attrs: SimpleNamespace, data: Value, input_scale: Value, input_zero_point: Value
) -> ir.Value:
    _require_dtype(dtype_of(data), _INTEGERS, "data")
    dtype = _require_dtype(attrs.out_dtype or "float32", ("float16", "float32"), "out_dtype")
    result = dequantized(data, Parameters(input_scale, input_zero_point, int(attrs.axis)))
    if dtype == "float32":
        return result
    most = float(np.finfo(dtype).max)
    return cast(op.clip(result, -most, most), dtype)


@converts(
    "qnn.requantize", raw=True, axis=-1, rounding="None", compute_dtype="None", out_dtype=REQUIRED
)
def _requantize(
    attrs: SimpleNamespace, data: Value, input_scale: Value, input_zero_point: Value,
    output_scale: Value, output_zero_point: Value,
) -> ir.Value:  # fmt: skip
    _require_dtype(dtype_of(data), ("int8", "uint8", "int16", "int32", "int64"), "data")
    dtype = _require_dtype(attrs.out_dtype, ("int8", "uint8", "int16", "int32"), "out_dtype")
    given = {"rounding": attrs.rounding, "compute_dtype": attrs.compute_dtype}
    how = Rounding(**{key: value for key, value in given.items() if value not in ("None", "")})
    source = Parameters(input_scale, input_zero_point, int(attrs.axis))
    return requantized(data, source, Parameters(output_scale, output_zero_point), dtype, how)


# -- elements of two tensors --------------------------------------------------------------------


def _sum(operator: Operator, shift: Operator) -> Function:
    """Return a converter of a sum or difference, which moves the zero point away again."""

    def convert(
        attrs: SimpleNamespace, lhs: Value, rhs: Value, lhs_scale: Value, lhs_zero_point: Value,
        rhs_scale: Value, rhs_zero_point: Value, output_scale: Value, output_zero_point: Value,
    ) -> ir.Value:  # fmt: skip
        target = Parameters(output_scale, output_zero_point)
        first = Parameters(lhs_scale, lhs_zero_point, int(attrs.lhs_axis))
        second = Parameters(rhs_scale, rhs_zero_point, int(attrs.rhs_axis))
        left, right = agreed(
            requantized_unless_same(lhs, first, target),
            requantized_unless_same(rhs, second, target),
        )
        zero = number(scalar(output_zero_point, "the zero point of the result"), "int32")
        return saturated(shift(operator(left, right), zero), dtype_of(lhs))

    return convert


_AXES = {"lhs_axis": -1, "rhs_axis": -1}
converts("qnn.add", raw=True, **_AXES)(_sum(op.add, op.subtract))
converts("qnn.subtract", raw=True, **_AXES)(_sum(op.subtract, op.add))


@converts("qnn.mul", raw=True, **_AXES)
def _mul(
    attrs: SimpleNamespace, lhs: Value, rhs: Value, lhs_scale: Value, lhs_zero_point: Value,
    rhs_scale: Value, rhs_zero_point: Value, output_scale: Value, output_zero_point: Value,
) -> ir.Value:  # fmt: skip
    scales = [known_array(scale, "scales").astype(np.float32) for scale in (lhs_scale, rhs_scale)]
    axis = int(attrs.lhs_axis)
    several = [scale.size for scale in scales if scale.size > 1]
    if several and attrs.lhs_axis != attrs.rhs_axis:
        raise NotImplementedError(
            f"expected scales along one axis, but got lhs_axis={attrs.lhs_axis} and "
            f"rhs_axis={attrs.rhs_axis}"
        )
    if len(set(several)) > 1:
        raise ValueError(f"expected as many scales of both tensors, but got {several}")
    factors = [
        less_zero(one, zero, axis) for one, zero in ((lhs, lhs_zero_point), (rhs, rhs_zero_point))
    ]
    # The scales of products are rounded as those of a tensor are.
    wide = scales[0].astype(np.float64) * scales[1].astype(np.float64)
    scale = np.asarray(wide, np.float32)
    source = Parameters(scale, np.zeros((), "int32"), axis)
    return requantized(
        op.multiply(*agreed(*factors)), source, Parameters(output_scale, output_zero_point),
        dtype_of(lhs),
    )  # fmt: skip


# -- functions of elements ----------------------------------------------------------------------


def _hard_swish(x: ir.Value) -> ir.Value:
    share = op.clip(op.add(x, number(3.0, "float32")), 0.0, 6.0)
    return op.multiply(x, op.divide(share, number(6.0, "float32")))


_UNARY: dict[str, Operator] = {
    "tanh": op.tanh, "exp": op.exp, "sqrt": op.sqrt, "rsqrt": op.rsqrt, "erf": op.erf,
    "sigmoid": op.sigmoid, "hardswish": _hard_swish, "log": op.log, "abs": op.abs,
}  # fmt: skip


def _unary(function: Operator) -> Function:
    def convert(
        attrs: SimpleNamespace, data: Value, scale: Value, zero_point: Value, output_scale: Value,
        output_zero_point: Value,
    ) -> ir.Value:  # fmt: skip
        dtype = _require_dtype(dtype_of(data), ("int8", "uint8"), "data")
        numbers = dequantized(data, Parameters(scale, zero_point))
        return quantized(function(numbers), Parameters(output_scale, output_zero_point), dtype)

    return convert


for _name, _function in _UNARY.items():
    converts(f"qnn.{_name}", raw=True)(_unary(_function))


@converts("qnn.leaky_relu", raw=True, alpha=0.25)
def _leaky_relu(
    attrs: SimpleNamespace, data: Value, input_scale: Value, input_zero_point: Value,
    output_scale: Value, output_zero_point: Value,
) -> ir.Value:  # fmt: skip
    dtype = _require_dtype(dtype_of(data), ("int8", "uint8"), "data")
    source, target = (
        Parameters(input_scale, input_zero_point), Parameters(output_scale, output_zero_point),
    )  # fmt: skip
    positive = requantized_unless_same(data, source, target)
    # Of negative numbers: alpha times the number, and the rest of the zero point.
    shrunk = FixedPoint.of(np.asarray(attrs.alpha)).times(positive, "UPWARD")
    zero = number(scalar(output_zero_point, "the zero point of the result"), "int32")
    rest = FixedPoint.of(np.asarray(1 - attrs.alpha)).times(zero, "UPWARD")
    wide = cast(as_tensor(data), "int32")
    first = number(scalar(input_zero_point, "the zero point of data"), "int32")
    is_negative = op.less(wide, first)
    return saturated(op.where(is_negative, op.add(shrunk, rest), positive), dtype)


@converts("qnn.softmax", raw=True, axis=-1)
def _softmax(
    attrs: SimpleNamespace, data: Value, scale: Value, zero_point: Value, output_scale: Value,
    output_zero_point: Value,
) -> ir.Value:  # fmt: skip
    """Return softmax by integers: powers of 2 by shifts, the rest by a straight line."""
    _require_dtype(dtype_of(data), ("int8",), "data")
    step = float(np.float32(scalar(scale, "the scale of data")))
    if not 0 < step <= 1:
        raise ValueError(f"expected a scale of data up to 1, but got {step}")
    x = less_zero(data, zero_point, -1)
    axes = [normal_axis(int(attrs.axis), rank_of(x))]
    x = op.subtract(x, op.max(x, axes, True))
    # Times 1.4375, which is nearly the logarithm of e to the base 2.
    bits = op.subtract(op.add(x, _shifted(x, 1)), _shifted(x, 4))
    unit = math.floor(float(np.float32(1) / np.float32(step)) + 0.5)
    power = op.clip(op.divide(bits, number(-unit, "int32")), 0, 20)
    rest = op.add(bits, op.multiply(power, number(unit, "int32")))
    line = op.add(_shifted(rest, 1), number(unit, "int32"))
    exponentials = op.left_shift(line, op.subtract(op.max(power, axes, True), power))
    inverse = op.divide(number(1 << 30, "int32"), op.sum(exponentials, axes, True))
    shares = _shifted(op.multiply(inverse, exponentials), 30 - 7)
    source = Parameters(np.array(1 / 128, "float32"), np.zeros((), "int32"))
    return requantized(shares, source, Parameters(output_scale, output_zero_point), "int8")


def _shifted(x: ir.Value, bits: int) -> ir.Value:
    return op.right_shift(x, number(bits, "int32"))


# -- several tensors ----------------------------------------------------------------------------


@converts("qnn.concatenate", raw=True, axis=0)
def _concatenate(
    attrs: SimpleNamespace, data: Value, input_scales: Value, input_zero_points: Value,
    output_scale: Value, output_zero_point: Value,
) -> ir.Value:  # fmt: skip
    tensors, scales = known_fields(data, "tensors"), known_fields(input_scales, "scales")
    zeros = known_fields(input_zero_points, "zero points")
    if not len(tensors) == len(scales) == len(zeros):
        raise ValueError(
            f"expected as many scales and zero points as tensors, but got {len(tensors)} tensors, "
            f"{len(scales)} scales and {len(zeros)} zero points"
        )
    target = Parameters(output_scale, output_zero_point)
    parts = [
        requantized_unless_same(one, Parameters(scale, zero), target, dtype_of(one))
        for one, scale, zero in zip(tensors, scales, zeros, strict=True)
    ]
    return op.concat(parts, normal_axis(int(attrs.axis), rank_of(parts[0])))
