# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correlation of patches of two images."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op, te
from ....composites.convolution import padding_numbers
from ....composites.kernels import call_te
from ....composites.padding import padded
from ....composites.tensors import number
from ...values import rank_of, shape_of
from .registry import converts


def _sums(
    first: te.Tensor, second: te.Tensor, sizes: Sequence[Any], kernel: int, reach: int,
    strides: Sequence[int], is_multiply: bool,
) -> te.Tensor:  # fmt: skip
    """Return the sums of the products, or of the distances, of patches, for each displacement.

    Parameters
    ----------
    first, second : Tensor
        Of the dimensions batch, channel, height and width.
    sizes : sequence of int or PrimExpr
        Rows and columns of the result.
    kernel : int
        The size of patches.
    reach : int
        How far patches of the second image are away at most.
    strides : sequence of int
        Of the places in the first image, and of the displacements.
    is_multiply : bool
    """
    batch, channels = first.shape[:2]
    radius = reach // strides[1]
    count = 2 * radius + 1
    channel = te.reduce_axis((0, channels), name="channel")
    row, column = (te.reduce_axis((0, kernel), name=name) for name in ("row", "column"))

    def element(n: Any, q: Any, y: Any, x: Any) -> Any:
        top, left = y * strides[0] + reach + row.var, x * strides[0] + reach + column.var
        down, right = (q // count - radius) * strides[1], (q % count - radius) * strides[1]
        one = first(n, channel.var, top, left)
        other = second(n, channel.var, top + down, left + right)
        value = one * other if is_multiply else te.abs(one - other)
        return te.sum(value, axis=[channel, row, column])

    return te.compute((batch, count * count, *sizes), element, name="correlation")


@converts(
    "nn.correlation", kernel_size=1, max_displacement=1, stride1=1, stride2=1, padding=[0, 0],
    is_multiply=True, layout="NCHW",
)  # fmt: skip
def _correlation(attrs: SimpleNamespace, data1: ir.Value, data2: ir.Value) -> ir.Value:
    if attrs.layout != "NCHW":
        raise NotImplementedError(f"expected layout NCHW, but got '{attrs.layout}'")
    kernel, reach = int(attrs.kernel_size), int(attrs.max_displacement)
    if kernel % 2 == 0:
        raise ValueError(f"expected an odd kernel_size, but got {kernel}")
    if rank_of(data1) != 4 or rank_of(data2) != 4:
        raise ValueError(
            f"expected images of rank 4, but got ranks {rank_of(data1)} and {rank_of(data2)}"
        )
    pads = padding_numbers(attrs.padding, 2)
    widths = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    first, second = (padded(one, widths, "constant") for one in (data1, data2))
    stride, border = int(attrs.stride1), reach + (kernel - 1) // 2
    sizes = [(dim - 2 * border + stride - 1) // stride for dim in shape_of(first)[2:]]
    sums = call_te(
        _sums, first, second, sizes, kernel, reach, [stride, int(attrs.stride2)],
        bool(attrs.is_multiply),
    )  # fmt: skip
    channels = shape_of(data1)[1]
    if not isinstance(channels, int):
        raise NotImplementedError(f"expected channels of known number, but got {channels}")
    return op.divide(sums, number(kernel * kernel * channels, data1.type.dtype))
