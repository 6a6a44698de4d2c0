# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, and convolutions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo
from mlir import ir

from ... import op
from .manipulate import padded
from .registry import Node, converts
from .values import (
    Size,
    Value,
    as_tensor,
    cast,
    dtype_of,
    ints,
    known_ints,
    number,
    permuted,
    product,
    rank_of,
    reshaped,
    shape_of,
)

_CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}


def _others(rank: int, *axes: Sequence[int]) -> list[int]:
    taken = {axis for each in axes for axis in each}
    return [axis for axis in range(rank) if axis not in taken]


@converts("stablehlo.dot")
def _dot(node: Node, x: ir.Value, y: ir.Value) -> ir.Value:
    return contracted(x, y, [], [], [rank_of(x) - 1], [0], node.result.dtype)


@converts("stablehlo.dot_general")
def _dot_general(node: Node, x: ir.Value, y: ir.Value) -> ir.Value:
    numbers = stablehlo.DotDimensionNumbers(node.raw_attr("dot_dimension_numbers"))
    return contracted(
        x,
        y,
        list(numbers.lhs_batching_dimensions),
        list(numbers.rhs_batching_dimensions),
        list(numbers.lhs_contracting_dimensions),
        list(numbers.rhs_contracting_dimensions),
        node.result.dtype,
    )


def contracted(
    x: ir.Value, y: ir.Value, x_batch: list[int], y_batch: list[int], x_summed: list[int],
    y_summed: list[int], dtype: str,
) -> ir.Value:  # fmt: skip
    """Return sums of products over some dimensions, as a product of matrices.

    The result has the dimensions of the batch, then the other ones of each operand.

    Parameters
    ----------
    x, y : mlir.ir.Value
    x_batch, y_batch : list of int
        The dimensions of the batch, in one order.
    x_summed, y_summed : list of int
        The dimensions that are summed over, in one order.
    dtype : str
        The data type of the result, in which products are summed.
    """
    x, y = (cast(one, dtype) for one in (x, y))
    x_free, y_free = _others(rank_of(x), x_batch, x_summed), _others(rank_of(y), y_batch, y_summed)
    x_dims, y_dims = shape_of(x), shape_of(y)
    batch = [x_dims[i] for i in x_batch]
    rows, columns = [x_dims[i] for i in x_free], [y_dims[i] for i in y_free]
    left = permuted(x, [*x_batch, *x_free, *x_summed])
    right = permuted(y, [*y_batch, *y_summed, *y_free])
    summed = product(x_dims[i] for i in x_summed)
    right = reshaped(right, [*batch, summed, product(columns)])
    if not batch and rows and len(x_summed) == 1:
        # Rows of any number of dimensions by one matrix.
        result = op.matmul(left, right)
    else:
        result = op.matmul(reshaped(left, [*batch, product(rows), summed]), right)
    return reshaped(result, [*batch, *rows, *columns])


@converts("stablehlo.convolution")
def _convolution(node: Node, x: ir.Value, weight: ir.Value) -> ir.Value:
    count = rank_of(x) - 2
    pads = np.asarray(node.attr("padding", np.zeros((count, 2), "int64"))).reshape(-1, 2)
    return _convolved(node, x, weight, pads.tolist())


@converts("stablehlo.dynamic_conv", raw=True)
def _dynamic_conv(node: Node, x: Value, weight: Value, pads: Value) -> ir.Value:
    numbers = np.array(known_ints(pads, "padding")).reshape(-1, 2)
    return _convolved(node, as_tensor(x), as_tensor(weight), numbers.tolist())


def _convolved(node: Node, x: ir.Value, weight: ir.Value, pads: list[list[int]]) -> ir.Value:
    count = rank_of(x) - 2
    if count not in _CONVOLUTIONS:
        raise NotImplementedError(f"expected 1, 2 or 3 spatial dimensions, but got {count}")
    numbers = stablehlo.ConvDimensionNumbers(node.raw_attr("dimension_numbers"))
    image = _order(
        numbers.input_batch_dimension, numbers.input_feature_dimension,
        numbers.input_spatial_dimensions,
    )  # fmt: skip
    kernel = _order(
        numbers.kernel_output_feature_dimension, numbers.kernel_input_feature_dimension,
        numbers.kernel_spatial_dimensions,
    )  # fmt: skip
    dtype = node.result.dtype
    x, weight = cast(x, dtype), _mirrored(node, permuted(cast(weight, dtype), kernel), count)
    stretch = node.attr("lhs_dilation", [1] * count)
    is_plain = all(one == 1 for one in stretch) and all(min(one) >= 0 for one in pads)
    batches = node.attr("batch_group_count", 1)
    groups = node.attr("feature_group_count", 1)
    options: list[Any] = [
        list(node.attr("window_strides", [1] * count)),
        _flat_pads(pads) if is_plain else 0,
        list(node.attr("rhs_dilation", [1] * count)),
        groups * batches,
    ]
    output = _order(
        numbers.output_batch_dimension, numbers.output_feature_dimension,
        numbers.output_spatial_dimensions,
    )  # fmt: skip
    last = [0, count + 1, *range(1, count + 1)]
    if count == 2 and image == last and output == last and is_plain and batches == 1:
        # Images of which the channels lie together: the compiler chooses how they are computed.
        return op.nn.conv2d(x, weight, *options, data_layout="NHWC")  # type: ignore[misc]
    x = permuted(x, image)
    if not is_plain:
        x = _padded(x, pads, stretch)
    if batches > 1:
        x = _batches_as_channels(x, batches)
    result = _CONVOLUTIONS[count](x, weight, *options)
    return permuted(result, np.argsort(output).tolist())


def _order(first: int, second: int, rest: Sequence[int]) -> list[int]:
    return [first, second, *rest]


def _flat_pads(pads: list[list[int]]) -> list[int]:
    """Return what is added before each dimension, then after each."""
    return [before for before, _ in pads] + [after for _, after in pads]


def _mirrored(node: Node, weight: ir.Value, count: int) -> ir.Value:
    reversal = node.attr("window_reversal", [False] * count)
    axes = [2 + i for i, is_reversed in enumerate(reversal) if is_reversed]
    return functools.reduce(op.flip, axes, weight)


def _padded(x: ir.Value, pads: list[list[int]], stretch: Sequence[int]) -> ir.Value:
    low, high = ([0, 0, *(pad[i] for pad in pads)] for i in (0, 1))
    return padded(x, number(0, dtype_of(x)), low, high, [0, 0, *(one - 1 for one in stretch)])


def _batches_as_channels(x: ir.Value, batches: int) -> ir.Value:
    """Return images of which each group of the batch is a group of channels."""
    batch, channels, *rest = shape_of(x)
    each: Size = ints([batch], "a batch")[0] // batches
    split = op.reshape(x, [batches, each, channels, *rest])
    turned = op.permute_dims(split, [1, 0, *range(2, 3 + len(rest))])
    return op.reshape(turned, [each, batches * channels, *rest])
