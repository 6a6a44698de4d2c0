# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization, and operators on quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.tensors import cast, normal_axis, number
from ..values import rank_of, shape_of
from .model import dtype_of as dtype_of_onnx
from .narrow import NARROW, clipped, converted
from .registry import Node, converter
from .windows import integer_convolution, is_zero


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _spread(value: ir.Value, x: ir.Value, axis: int, block: int) -> ir.Value:
    """Return a scale or zero point in a shape that broadcasts with the tensor."""
    rank = rank_of(x)
    if rank_of(value) == 0:
        return value
    if rank_of(value) == 1 and not block:
        dims = shape_of(value)
        if dims == [1]:
            return op.reshape(value, [])
        axis = normal_axis(axis, rank)
        return op.reshape(value, [*[1] * axis, dims[0], *[1] * (rank - axis - 1)])
    axis = normal_axis(axis, rank)
    repeated = op.repeat(value, block, axis)
    extent = shape_of(x)[axis]
    if shape_of(repeated)[axis] == extent:
        return repeated
    return op.strided_slice(repeated, [axis], [0], [extent], [1], assume_inbound=True)


def saturate(x: ir.Value, dtype: str) -> ir.Value:
    """Return numbers of the range of an integer type as such."""
    info = np.iinfo(dtype)
    return op.astype(op.clip(x, int(info.min), int(info.max)), dtype)


def quantize(x: ir.Value, scale: ir.Value, zero: ir.Value | None, dtype: str) -> ir.Value:
    """Return round(x / scale) + zero, saturated."""
    return saturate(_rounded(x, scale, zero), dtype)


def _rounded(x: ir.Value, scale: ir.Value, zero: ir.Value | None) -> ir.Value:
    rounded = op.round(op.divide(x, scale))
    return rounded if zero is None else op.add(rounded, cast(zero, rounded.type.dtype))


@converter("QuantizeLinear")
@converter("QuantizeLinear", domain="com.microsoft")
def _quantize_linear(
    node: Node, x: ir.Value, scale: ir.Value, zero: ir.Value | None = None
) -> ir.Value:
    stated = node.attr("output_dtype", 0)
    dtype = zero.type.dtype if zero is not None else "uint8"
    kind = 0 if zero is None else node.scope.narrow(node.proto.input[2])
    if stated:
        dtype, kind = dtype_of_onnx(stated), stated
    narrow = NARROW.get(kind)
    precision = node.attr("precision", 0)
    computed = dtype_of_onnx(precision) if precision else scale.type.dtype
    if computed not in ("float32", "float64") and dtype not in ("int8", "uint8"):
        computed = "float32"
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    wide = cast(x, "float64" if computed == "float64" else "float32")
    step = cast(_spread(scale, x, axis, block), wide.type.dtype)
    if dtype.startswith("float"):  # whose zero points are 0
        numbers = op.divide(wide, step)
        saturates = bool(node.attr("saturate", 1))
        return converted(numbers, dtype, kind, saturates, "nearest")
    offset = None if zero is None else _spread(zero, x, axis, block)
    if narrow is not None:
        return clipped(_rounded(wide, step, offset), narrow)
    return quantize(wide, step, offset, dtype)


@converter("DequantizeLinear")
@converter("DequantizeLinear", domain="com.microsoft")
def _dequantize_linear(
    node: Node, x: ir.Value, scale: ir.Value, zero: ir.Value | None = None
) -> ir.Value:
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    result = scale.type.dtype
    if node.attr("output_dtype", 0):
        result = dtype_of_onnx(node.attr("output_dtype"))
    if x.type.dtype in ("int8", "uint8") and result != "float64":
        # As an operator, which a product takes into its kernel.
        place = number(0, x.type.dtype) if zero is None else zero
        is_whole = rank_of(scale) == 0 or (rank_of(scale) == 1 and shape_of(scale) == [1])
        return op.dequantize(x, scale, place, -1 if is_whole else axis, result, block)
    if _is_float(x.type.dtype):
        kind = "float32"
    else:
        kind = "int64" if x.type.dtype in ("int32", "uint32") else "int32"
    wide = cast(x, kind)
    if zero is not None:
        wide = op.subtract(wide, cast(_spread(zero, x, axis, block), wide.type.dtype))
    step = cast(_spread(scale, x, axis, block), "float32")
    return cast(op.multiply(cast(wide, "float32"), step), result)


def dynamic_quantize(x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return a tensor as uint8, its scale and its zero point, of its own range."""
    zero = number(0, "float32")
    low, high = op.minimum(op.min(x), zero), op.maximum(op.max(x), zero)
    scale = op.divide(op.subtract(high, low), number(255, "float32"))
    # Of nothing but zeros the scale is 0, and any zero point fits.
    is_zero = op.equal(scale, zero)
    step = op.where(is_zero, number(1, "float32"), scale)
    place = saturate(op.round(op.divide(op.negative(low), step)), "uint8")
    return quantize(x, step, place, "uint8"), scale, place


@converter("DynamicQuantizeLinear")
def _dynamic_quantize_linear(_: Node, x: ir.Value) -> Any:
    return dynamic_quantize(x)


def integer_product(
    x: ir.Value, x_zero: ir.Value | None, y: ir.Value, y_zero: ir.Value | None
) -> ir.Value:
    """Return the product of integers of 8 bits, less their zero points, as int32.

    Processors multiply bytes as they are: what zero points add is taken away from sums, which wrap
    around.
    """
    x_zero, y_zero = (None if zero is None or is_zero(zero) else zero for zero in (x_zero, y_zero))
    if min(rank_of(x), rank_of(y)) < 2 and (x_zero is not None or y_zero is not None):
        return op.matmul(_less_zero(x, x_zero, True), _less_zero(y, y_zero, False), "int32")
    total = op.matmul(x, y, "int32")
    if x_zero is not None:
        columns = op.sum(cast(y, "int32"), [-2], True)
        total = op.subtract(total, op.multiply(_zero_of(x_zero, True), columns))
    if y_zero is not None:
        rows = op.sum(_less_zero(x, x_zero, True), [-1], True)
        total = op.subtract(total, op.multiply(rows, _zero_of(y_zero, False)))
    return total


def _zero_of(zero: ir.Value, is_row: bool) -> ir.Value:
    """Return a zero point of int32, in a shape that broadcasts with the matrix."""
    shift = cast(zero, "int32")
    if is_row and rank_of(shift) == 1 and shape_of(shift) != [1]:
        return op.expand_dims(shift, 1)
    return shift


def _less_zero(x: ir.Value, zero: ir.Value | None, is_row: bool) -> ir.Value:
    wide = cast(x, "int32")
    return wide if zero is None else op.subtract(wide, _zero_of(zero, is_row))


@converter("MatMulInteger")
def _matmul_integer(
    _: Node, x: ir.Value, y: ir.Value, x_zero: ir.Value | None = None,
    y_zero: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    return integer_product(x, x_zero, y, y_zero)


@converter("QLinearMatMul")
def _q_linear_matmul(
    _: Node, x: ir.Value, x_scale: ir.Value, x_zero: ir.Value, y: ir.Value, y_scale: ir.Value,
    y_zero: ir.Value, scale: ir.Value, zero: ir.Value,
) -> ir.Value:  # fmt: skip
    for one in (x_scale, y_scale, scale):
        if rank_of(one) > 0 and shape_of(one) != [1]:
            raise NotImplementedError("expected one scale for each tensor")
    product = integer_product(x, x_zero, y, y_zero)
    factors = [cast(op.reshape(one, []), "float32") for one in (x_scale, y_scale, scale)]
    factor = op.divide(op.multiply(factors[0], factors[1]), factors[2])
    numbers = op.multiply(cast(product, "float32"), factor)
    rounded = op.add(op.round(numbers), cast(zero, "float32"))
    return saturate(rounded, zero.type.dtype)


@converter("QLinearConv")
def _q_linear_conv(
    node: Node, x: ir.Value, x_scale: ir.Value, x_zero: ir.Value, weight: ir.Value,
    weight_scale: ir.Value, weight_zero: ir.Value, scale: ir.Value, zero: ir.Value,
    bias: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    total = integer_convolution(node, x, weight, x_zero, weight_zero)
    rank = rank_of(x)
    if bias is not None:
        total = op.add(total, op.expand_dims(bias, list(range(1, rank - 1))))
    factor = op.divide(op.multiply(x_scale, weight_scale), scale)
    if rank_of(factor) == 1 and shape_of(factor) != [1]:
        factor = op.expand_dims(factor, list(range(1, rank - 1)))
    rounded = op.round(op.multiply(cast(total, "float32"), factor))
    return saturate(op.add(rounded, cast(op.reshape(zero, []), "float32")), zero.type.dtype)
