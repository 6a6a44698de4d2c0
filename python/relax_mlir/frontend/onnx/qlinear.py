# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of onnxruntime on quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.tensors import agreed, cast, normal_axis, number
from ...core.expr import const
from ..values import Operator, Value, as_tensor, dtype_of, rank_of, shape_of
from .index import gather
from .quantize import dynamic_quantize, integer_product, quantize
from .registry import Function, Node, converter
from .windows import average_pool

_DOMAIN = "com.microsoft"


def _scalar(value: ir.Value) -> ir.Value:
    """Return a scale or zero point of a whole tensor."""
    if rank_of(value) > 0 and shape_of(value) != [1]:
        raise NotImplementedError("expected one scale and zero point for each tensor")
    return op.reshape(value, []) if rank_of(value) > 0 else value


def _numbers(x: ir.Value, scale: ir.Value, zero: ir.Value | None) -> ir.Value:
    """Return what a quantized tensor stands for."""
    wide = op.astype(x, "int32")
    if zero is not None:
        wide = op.subtract(wide, cast(_scalar(zero), "int32"))
    return op.multiply(op.astype(wide, "float32"), cast(_scalar(scale), "float32"))


def _quantized(x: ir.Value, scale: ir.Value, zero: ir.Value | None, dtype: str) -> ir.Value:
    offset = None if zero is None else _scalar(zero)
    return quantize(x, _scalar(scale), offset, dtype)


def _binary(operator: Operator) -> Function:
    def convert(
        _: Node, x: ir.Value, x_scale: ir.Value, x_zero: ir.Value | None, y: ir.Value,
        y_scale: ir.Value, y_zero: ir.Value | None, scale: ir.Value, zero: ir.Value | None = None,
    ) -> ir.Value:  # fmt: skip
        first, second = agreed(_numbers(x, x_scale, x_zero), _numbers(y, y_scale, y_zero))
        return _quantized(operator(first, second), scale, zero, x.type.dtype)

    return convert


converter("QLinearAdd", domain=_DOMAIN)(_binary(op.add))
converter("QLinearMul", domain=_DOMAIN)(_binary(op.multiply))


def _unary(function: Any) -> Function:
    def convert(
        node: Node, x: ir.Value, x_scale: ir.Value, x_zero: ir.Value | None, scale: ir.Value,
        zero: ir.Value | None = None,
    ) -> ir.Value:  # fmt: skip
        result = function(node, _numbers(x, x_scale, x_zero))
        return _quantized(result, scale, zero, x.type.dtype)

    return convert


def _leaky_relu(node: Node, x: ir.Value) -> ir.Value:
    return op.nn.leakyrelu(x, node.attr("alpha", 0.01))


def _global_average(node: Node, x: ir.Value) -> ir.Value:
    first = 1 if node.attr("channels_last", 0) else 2
    return op.mean(x, list(range(first, first + rank_of(x) - 2)), True)


def _average(node: Node, x: ir.Value) -> ir.Value:
    node.refuse("channels_last", default=0)
    return average_pool(node, x)


def _softmax(node: Node, x: ir.Value) -> ir.Value:
    axis = normal_axis(node.attr("axis", -1), rank_of(x))
    if node.attr("opset") < 13 and axis != rank_of(x) - 1:
        raise NotImplementedError("expected the last axis for a softmax of opset 12")
    return op.nn.softmax(x, axis)


converter("QLinearAveragePool", domain=_DOMAIN)(_unary(_average))
converter("QLinearSoftmax", domain=_DOMAIN)(_unary(_softmax))
converter("QLinearSigmoid", domain=_DOMAIN)(_unary(lambda _, x: op.sigmoid(x)))
converter("QLinearLeakyRelu", domain=_DOMAIN)(_unary(_leaky_relu))
converter("QLinearGlobalAveragePool", domain=_DOMAIN)(_unary(_global_average))


@converter("QLinearConcat", domain=_DOMAIN)
def _concat(node: Node, scale: ir.Value, zero: ir.Value, *inputs: ir.Value) -> ir.Value:
    parts = [
        _quantized(_numbers(*inputs[i : i + 3]), scale, zero, zero.type.dtype)
        for i in range(0, len(inputs), 3)
    ]
    return op.concat(parts, normal_axis(node.attr("axis"), rank_of(parts[0])))


@converter("QGemm", domain=_DOMAIN)
def _gemm(
    node: Node, x: ir.Value, x_scale: ir.Value, x_zero: ir.Value, y: ir.Value, y_scale: ir.Value,
    y_zero: ir.Value, bias: ir.Value | None = None, scale: ir.Value | None = None,
    zero: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    x = op.permute_dims(x) if node.attr("transA", 0) else x
    y = op.permute_dims(y) if node.attr("transB", 0) else y
    total = integer_product(x, _scalar(x_zero), y, y_zero)
    if bias is not None:
        total = op.add(total, bias)  # in steps of alpha times both scales
    alpha = number(node.attr("alpha", 1.0), "float32")
    step = op.multiply(op.multiply(_scalar(x_scale), y_scale), alpha)
    result = op.multiply(op.astype(total, "float32"), step)
    if scale is None:
        return result
    dtype = x.type.dtype if zero is None else zero.type.dtype
    return _quantized(result, scale, zero, dtype)


def to_float(
    x: ir.Value, y: ir.Value, scales: tuple[ir.Value, ir.Value],
    zeros: tuple[ir.Value | None, ir.Value | None], bias: ir.Value | None,
) -> ir.Value:  # fmt: skip
    """Return a product of integers as floats: scales and zero points may be those of columns."""
    total = integer_product(x, zeros[0], y, zeros[1])
    step = op.multiply(*scales)
    result = op.multiply(op.astype(total, "float32"), cast(step, "float32"))
    return result if bias is None else op.add(result, bias)


@converter("MatMulIntegerToFloat", domain=_DOMAIN)
def _matmul_integerto_float(
    _: Node, x: ir.Value, y: ir.Value, x_scale: ir.Value, y_scale: ir.Value,
    x_zero: ir.Value | None = None, y_zero: ir.Value | None = None, bias: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    zero = None if x_zero is None else _scalar(x_zero)
    return to_float(x, y, (_scalar(x_scale), y_scale), (zero, y_zero), bias)


@converter("DynamicQuantizeMatMul", domain=_DOMAIN)
def _dynamic_quantize_matmul(
    _: Node, x: ir.Value, y: ir.Value, y_scale: ir.Value, y_zero: ir.Value | None = None,
    bias: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    quantized, scale, zero = dynamic_quantize(x)
    return to_float(quantized, y, (scale, y_scale), (zero, y_zero), bias)


# -- weights of few bits ------------------------------------------------------------------------


def _unpacked(x: ir.Value, bits: int, count: int | None = None) -> ir.Value:
    """Return the integers that bytes hold along the last dimension, the lowest bits first."""
    last = rank_of(x) - 1
    if bits < 8:
        shifts = const(np.arange(0, 8, bits, dtype="uint8"))
        wide = op.right_shift(op.expand_dims(x, last + 1), shifts)
        parts = op.bitwise_and(wide, number((1 << bits) - 1, "uint8"))
        *outer, extent = shape_of(x)
        x = op.reshape(parts, [*outer, extent * (8 // bits)])
    if count is None or shape_of(x)[last] == count:
        return x
    # A row ends with a whole byte.
    return op.strided_slice(x, [last], [0], [count], [1], assume_inbound=True)


def _bits(node: Node) -> int:
    bits = node.attr("bits", 4)
    if bits not in (2, 4, 8):
        raise NotImplementedError(f"expected bits=2, 4 or 8, but got {bits}")
    return int(bits)


@converter("MatMulNBits", domain=_DOMAIN, raw=(1, 3))
def _matmul_n_bits(
    node: Node, x: ir.Value, packed: Value, scales: ir.Value, zeros: Value = None,
    groups: ir.Value | None = None, bias: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    if groups is not None:
        raise NotImplementedError("expected weights in the order of their blocks, but got g_idx")
    rows, columns, block = node.attr("K"), node.attr("N"), node.attr("block_size")
    bits, blocks = _bits(node), -(-rows // block)
    step = op.permute_dims(op.reshape(scales, [columns, blocks]))
    if zeros is None:
        zero = number(1 << (bits - 1), "uint8")
    elif dtype_of(zeros) == "uint8":
        zero = _columns_of(zeros, columns, blocks, bits)
    else:
        zero = op.permute_dims(op.reshape(as_tensor(zeros), [columns, blocks]))
    codes = _columns_of(packed, columns, rows, bits)
    # A product takes this operator into its kernel.
    weights = op.dequantize(codes, step, zero, 0, x.type.dtype, block)
    result = op.matmul(x, weights)
    return result if bias is None else op.add(result, bias)


def _columns_of(packed: Value, columns: int, count: int, bits: int) -> ir.Value:
    """Return the integers in the bytes of each row as a column of so many."""
    if isinstance(packed, np.ndarray):  # unpacked now: nothing has to unpack it later
        shifts = np.arange(0, 8, bits, dtype="uint8")
        each = (packed.reshape(-1, 1) >> shifts) & np.uint8((1 << bits) - 1)
        return const(np.ascontiguousarray(each.reshape(columns, -1)[:, :count].T))
    rows = op.reshape(as_tensor(packed), [columns, -1])
    return op.permute_dims(_unpacked(rows, bits, count))


@converter("GatherBlockQuantized", domain=_DOMAIN, raw=(1,))
def _gather_block_quantized(
    node: Node, packed: ir.Value, indices: Value, scales: ir.Value, zeros: ir.Value | None = None
) -> ir.Value:
    bits, last = _bits(node), rank_of(packed) - 1
    if packed.type.dtype != "uint8":
        raise NotImplementedError(f"expected weights in bytes, but got {packed.type.dtype}")
    if normal_axis(node.attr("quantize_axis", 1), last + 1) != last or not last:
        raise NotImplementedError("expected blocks along the last of several dimensions")
    node.refuse("gather_axis", default=0)
    dtype, block = scales.type.dtype, node.attr("block_size", 128)
    rows = op.astype(_unpacked(gather(node, packed, indices, 0), bits), dtype)
    steps = gather(node, scales, indices, 0)
    blocks, width = shape_of(steps)[-1], shape_of(rows)[-1]
    if not isinstance(blocks, int) or not isinstance(width, int) or blocks != -(-width // block):
        raise ValueError(f"expected scales of blocks of {block} for {width}, but got {blocks}")
    if zeros is None:
        offset = number(1 << (bits - 1), dtype)
    else:
        each = op.astype(_unpacked(gather(node, zeros, indices, 0), bits, blocks), dtype)
        offset = _repeated(each, block, width)
    return op.multiply(op.subtract(rows, offset), _repeated(steps, block, width))


def _repeated(x: ir.Value, block: int, width: int) -> ir.Value:
    """Return the numbers of blocks as those of elements."""
    last = rank_of(x) - 1
    each = op.repeat(x, block, last)
    if shape_of(each)[last] == width:
        return each
    return op.strided_slice(each, [last], [0], [width], [1], assume_inbound=True)
