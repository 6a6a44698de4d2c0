# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products, convolutions and pooling of quantized tensors, by integers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.layouts import unpacked
from ....composites.tensors import cast
from ....core.ir import Dim
from ...values import Value, as_tensor, dtype_of, shape_of
from .convolution import (
    convolution_attrs,
    convolve,
    convolve_transposed,
    plain_weight,
    transposed_attrs,
)
from .nn import dense, multiplied
from .pool import average_pool, pool_attrs
from .registry import converts
from .requantize import Parameters, less_zero, requantized_unless_same, saturated

_WIDE = {"int16": "int32", "int32": "int32", "int64": "int64"}


def _wide_dtype(attrs: SimpleNamespace) -> str:
    """Return the data type of sums."""
    dtype = attrs.out_dtype or "int32"
    if dtype not in _WIDE:
        raise ValueError(f"expected out_dtype {', '.join(_WIDE)}, but got '{dtype}'")
    return _WIDE[dtype]


def _require_quantized(*operands: Value) -> None:
    for operand in operands:
        if dtype_of(operand) not in ("int8", "uint8", "int16", "uint16"):
            raise ValueError(
                f"expected quantized tensors of 8 or 16 bits, but got {dtype_of(operand)}"
            )


def _with(attrs: SimpleNamespace, **changes: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(attrs), **changes})


@converts("qnn.conv2d", raw=True, **{**convolution_attrs(2), "out_dtype": "int32"})
def _conv2d(
    attrs: SimpleNamespace, data: Value, weight: Value, input_zero_point: Value,
    kernel_zero_point: Value, input_scale: Value, kernel_scale: Value,
) -> ir.Value:  # fmt: skip
    _require_quantized(data, weight)
    dtype = _wide_dtype(attrs)
    x = unpacked(as_tensor(data), attrs.data_layout, "NCHW")
    kernel = plain_weight(as_tensor(weight), attrs, 2, shape_of(x)[1])
    plain = _with(
        attrs, data_layout="NCHW", kernel_layout="OIHW", out_dtype=dtype,
        out_layout=attrs.out_layout or attrs.data_layout,
    )  # fmt: skip
    # What is around the image stands for 0.
    result = convolve(
        plain, less_zero(x, input_zero_point, 1, dtype),
        less_zero(kernel, _for_outputs(kernel_zero_point, shape_of(kernel)[0]), 0, dtype), 2,
    )  # fmt: skip
    return cast(result, attrs.out_dtype or "int32")


def _for_outputs(zero_point: Value, outputs: int | Dim) -> Value:
    """Return zero points for each channel that a convolution returns.

    A depthwise one may have one for each channel that it takes, of which several are made.
    """
    dims = shape_of(zero_point)
    if len(dims) != 1 or not isinstance(dims[0], int) or not isinstance(outputs, int):
        return zero_point
    if dims[0] in (1, outputs) or outputs % dims[0]:
        return zero_point  # the difference says what is wrong
    return op.repeat(as_tensor(zero_point), outputs // dims[0], 0)


@converts("qnn.conv2d_transpose", raw=True, **{**transposed_attrs(2), "out_dtype": "int32"})
def _conv2d_transpose(
    attrs: SimpleNamespace, data: Value, weight: Value, input_zero_point: Value,
    kernel_zero_point: Value, input_scale: Value, kernel_scale: Value,
) -> ir.Value:  # fmt: skip
    _require_quantized(data, weight)
    dtype = _wide_dtype(attrs)
    result = convolve_transposed(
        _with(attrs, out_dtype=dtype),
        less_zero(data, input_zero_point, attrs.data_layout.index("C"), dtype),
        less_zero(weight, kernel_zero_point, attrs.kernel_layout.index("O"), dtype),
        2,
    )
    return cast(result, attrs.out_dtype or "int32")


@converts("qnn.dense", raw=True, units=None, out_dtype="int32", meta_schedule_original_shape=())
def _dense(
    attrs: SimpleNamespace, data: Value, weight: Value, input_zero_point: Value,
    kernel_zero_point: Value, input_scale: Value, kernel_scale: Value,
) -> ir.Value:  # fmt: skip
    _require_quantized(data, weight)
    dtype = _wide_dtype(attrs)
    plain = _with(attrs, out_dtype=dtype)
    x = less_zero(data, input_zero_point, -1, dtype)
    return dense(plain, x, less_zero(weight, kernel_zero_point, 0, dtype))


@converts("qnn.contrib_dense_pack", raw=True, units=None, out_dtype="int32", weight_layout="NC")
def _dense_pack(
    attrs: SimpleNamespace, data: Value, weight: Value, input_zero_point: Value,
    kernel_zero_point: Value, input_scale: Value, kernel_scale: Value,
) -> ir.Value:  # fmt: skip
    plain = _with(attrs, meta_schedule_original_shape=())
    rows = unpacked(as_tensor(weight), attrs.weight_layout, "NC")
    return _dense(plain, data, rows, input_zero_point, kernel_zero_point, input_scale, kernel_scale)


@converts(
    "qnn.batch_matmul", raw=True, out_dtype="int32", transpose_a=False, transpose_b=False,
    meta_schedule_original_shape=(),
)  # fmt: skip
def _batch_matmul(
    attrs: SimpleNamespace, x: Value, y: Value, x_zero_point: Value, y_zero_point: Value,
    x_scale: Value, y_scale: Value,
) -> ir.Value:  # fmt: skip
    _require_quantized(x, y)
    dtype = _wide_dtype(attrs)
    return multiplied(
        _with(attrs, out_dtype=dtype), less_zero(x, x_zero_point, -1, dtype),
        less_zero(y, y_zero_point, -1, dtype), attrs.transpose_a, attrs.transpose_b,
    )  # fmt: skip


@converts("qnn.avg_pool2d", raw=True, **pool_attrs(2), count_include_pad=False)
def _avg_pool2d(
    attrs: SimpleNamespace, data: Value, input_scale: Value, input_zero_point: Value,
    output_scale: Value, output_zero_point: Value,
) -> ir.Value:  # fmt: skip
    _require_quantized(data)
    source, target = (
        Parameters(input_scale, input_zero_point), Parameters(output_scale, output_zero_point),
    )  # fmt: skip
    numbers = requantized_unless_same(data, source, target)
    return saturated(average_pool(attrs, numbers, 2), dtype_of(data))
