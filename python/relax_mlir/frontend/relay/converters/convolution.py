# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, and transposed ones, of all layouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.convolution import (
    CONVOLUTIONS,
    Convolution,
    numbers,
    padding_numbers,
    transposed,
    widened,
)
from ....composites.layouts import SPATIAL, data_letters, is_plain, packed, unpacked
from ....composites.sampling import Deformation, deform_conv
from ....composites.tensors import cast, number, same
from ....core.expr import const
from ....core.ir import Dim
from ...values import rank_of, shape_of
from .registry import Function, converts

# How TVM writes a data type that is not set.
_UNSET = (None, "", "void", "handle", "handle0")


def refuse_rewritten(attrs: SimpleNamespace) -> None:
    """Raise an error if weights have the order that a search for schedules gave them.

    Raises
    ------
    NotImplementedError
    """
    if attrs.meta_schedule_original_shape:
        raise NotImplementedError(
            "expected weights as the model has them, but got some that meta_schedule rewrote: "
            "build the program without its layout rewrite"
        )


def result_dtype(attrs: SimpleNamespace, x: ir.Value) -> str:
    """Return the data type of the result: the attribute ``out_dtype``, or that of the input."""
    given = attrs.out_dtype
    return str(x.type.dtype if given in _UNSET else given)


def _check_weight(attrs: SimpleNamespace, kernel: Sequence[Any], channels: Any) -> None:
    """Raise an error if attributes say something else about the weight than it is."""
    if attrs.kernel_size:
        given = [int(one) for one in attrs.kernel_size]
        is_other = len(given) != len(kernel) or any(
            same(one, other) is False for one, other in zip(given, kernel, strict=True)
        )
        if is_other:
            raise ValueError(
                f"expected a weight with kernel_size={given}, but got one with "
                f"{[str(one) for one in kernel]}"
            )
    if attrs.channels is not None and same(int(attrs.channels), channels) is False:
        raise ValueError(
            f"expected a weight for channels={attrs.channels}, but got one for {channels}"
        )


def plain_weight(
    weight: ir.Value, attrs: SimpleNamespace, count: int, inputs: int | Dim
) -> ir.Value:
    """Return the weight in the usual order: output and input channels, then the window.

    Parameters
    ----------
    weight : mlir.ir.Value
    attrs : namespace
        Of a convolution of `count` spatial dimensions.
    count : int
    inputs : int or Dim
        The channels of the data.
    """
    layout, letters = attrs.kernel_layout, f"OI{SPATIAL[count]}"
    if "G" in layout:
        grouped = unpacked(weight, layout, f"G{letters}")
        groups, rows, *rest = shape_of(grouped)
        return op.reshape(grouped, [groups * rows, *rest])
    plain = unpacked(weight, layout, letters)
    outputs, each, *kernel = shape_of(plain)
    if attrs.groups > 1 and outputs == attrs.groups == inputs and each != 1:
        # One filter or more for each channel, which the second dimension counts.
        return op.reshape(plain, [outputs * each, 1, *kernel])
    return plain


def convolve(attrs: SimpleNamespace, x: ir.Value, weight: ir.Value, count: int) -> ir.Value:
    """Return the convolution that attributes describe.

    Parameters
    ----------
    attrs : namespace
        Of a convolution of `count` spatial dimensions.
    x, weight : mlir.ir.Value
        Of the layouts that the attributes give.
    count : int

    Raises
    ------
    ValueError
        If the attributes do not fit the operands.
    """
    refuse_rewritten(attrs)
    letters, dtype = data_letters(count), result_dtype(attrs, x)
    out_layout = attrs.out_layout or attrs.data_layout
    plain = is_plain(attrs.data_layout, letters) and is_plain(out_layout, letters)
    data = x if plain else unpacked(x, attrs.data_layout, letters)
    layout = attrs.data_layout if plain else letters
    inputs = shape_of(data)[layout.index("C")]
    kernel = plain_weight(weight, attrs, count, inputs)
    outputs, _, *window = shape_of(kernel)
    _check_weight(attrs, window, outputs)
    result = CONVOLUTIONS[count](
        *widened(data, kernel, dtype),
        numbers(attrs.strides, count, "strides"),
        padding_numbers(attrs.padding, count),
        numbers(attrs.dilation, count, "dilation"),
        int(attrs.groups), layout, f"OI{SPATIAL[count]}", out_layout if plain else letters, dtype,
    )  # fmt: skip
    return result if plain else packed(result, letters, out_layout)


def _convolution(count: int) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value, weight: ir.Value) -> ir.Value:
        return convolve(attrs, data, weight, count)

    return convert


def convolution_attrs(count: int) -> dict[str, Any]:
    """Return the attributes of a convolution with their defaults."""
    return {
        "strides": [1] * count, "padding": [0] * count, "dilation": [1] * count, "groups": 1,
        "channels": None, "kernel_size": None, "data_layout": data_letters(count),
        "kernel_layout": f"OI{SPATIAL[count]}", "out_layout": "", "out_dtype": "",
        "meta_schedule_original_shape": (),
    }  # fmt: skip


for _count in (1, 2, 3):
    converts(f"nn.conv{_count}d", **convolution_attrs(_count))(_convolution(_count))
converts(
    "nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc", **convolution_attrs(2)
)(_convolution(2))  # fmt: skip


def transposed_attrs(count: int) -> dict[str, Any]:
    """Return the attributes of a transposed convolution with their defaults."""
    return {
        **convolution_attrs(count), "kernel_layout": f"IO{SPATIAL[count]}",
        "output_padding": [0] * count,
    }  # fmt: skip


def convolve_transposed(
    attrs: SimpleNamespace, x: ir.Value, weight: ir.Value, count: int
) -> ir.Value:
    """Return the transposed convolution that attributes describe.

    Parameters
    ----------
    attrs : namespace
        Of a transposed convolution of `count` spatial dimensions.
    x, weight : mlir.ir.Value
        Of the layouts that the attributes give.
    count : int

    Raises
    ------
    ValueError
        If the attributes do not fit the operands.
    """
    letters, dtype = data_letters(count), result_dtype(attrs, x)
    layout = attrs.kernel_layout
    if "G" in layout:
        grouped = unpacked(weight, layout, f"GIO{SPATIAL[count]}")
        groups, rows, *rest = shape_of(grouped)
        kernel = op.reshape(grouped, [groups * rows, *rest])
    else:
        kernel = unpacked(weight, layout, f"IO{SPATIAL[count]}")
    _, outputs, *window = shape_of(kernel)
    _check_weight(attrs, window, outputs * attrs.groups)
    extra = attrs.output_padding
    if count == 1 and isinstance(extra, (list, tuple)):
        extra = extra[:1]  # TVM looks at no more
    how = Convolution(
        numbers(attrs.strides, count, "strides"), padding_numbers(attrs.padding, count),
        numbers(attrs.dilation, count, "dilation"), int(attrs.groups),
        numbers(extra, count, "output_padding"),
    )  # fmt: skip
    data = unpacked(x, attrs.data_layout, letters)
    result = transposed(data, kernel, how, dtype)
    return packed(result, letters, attrs.out_layout or attrs.data_layout)


def _transposed(count: int) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value, weight: ir.Value) -> ir.Value:
        refuse_rewritten(attrs)
        if rank_of(data) != count + 2:
            raise ValueError(f"expected data of rank {count + 2}, but got rank {rank_of(data)}")
        return convolve_transposed(attrs, data, weight, count)

    return convert


for _count in (1, 2, 3):
    converts(f"nn.conv{_count}d_transpose", **transposed_attrs(_count))(_transposed(_count))


_DEFORMABLE = {name: value for name, value in convolution_attrs(2).items() if "meta" not in name}


@converts("nn.deformable_conv2d", **_DEFORMABLE, deformable_groups=1)
def _deformable(
    attrs: SimpleNamespace, data: ir.Value, offset: ir.Value, weight: ir.Value
) -> ir.Value:
    x, shifts = (unpacked(one, attrs.data_layout, "NCHW") for one in (data, offset))
    kernel = unpacked(weight, attrs.kernel_layout, "OIHW")
    outputs, _, *window = shape_of(kernel)
    _check_weight(attrs, window, outputs)
    how = Deformation(
        numbers(attrs.strides, 2, "strides"), numbers(attrs.dilation, 2, "dilation"),
        padding_numbers(attrs.padding, 2)[:2], int(attrs.groups), int(attrs.deformable_groups),
    )  # fmt: skip
    taken = _places_from_zero(how, shifts, window)
    result = cast(deform_conv(x, kernel, shifts, taken, how), result_dtype(attrs, x))
    return packed(result, "NCHW", attrs.out_layout or attrs.data_layout)


def _places_from_zero(how: Deformation, shifts: ir.Value, window: list[Any]) -> ir.Value:
    """Return 0 for each place that begins before the image, of which TVM takes nothing, else 1."""
    batch, groups, count = shape_of(shifts)[0], how.offset_groups, math.prod(window)
    outer = shape_of(shifts)[2:]
    pairs = op.reshape(cast(shifts, "float32"), [batch * groups, count, 2, *outer])
    inside = []
    for axis in (0, 1):
        places = op.expand_dims(how.places(window, axis, outer), 0)
        at = op.add(op.take(pairs, const(axis, "int64"), 2), places)
        inside.append(op.greater_equal(at, number(0.0, "float32")))
    taken = cast(op.logical_and(*inside), "float32")
    return op.reshape(taken, [batch, groups * count, *outer])
