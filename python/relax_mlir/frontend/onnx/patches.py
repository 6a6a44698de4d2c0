# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that put the elements of windows back into images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.padding import pad
from ...composites.tensors import number, product, same
from ...core.expr import const
from ..values import Value, known_ints, known_sizes, rank_of, shape_of
from .registry import Node, converter


def _places(sizes: list[int], blocks: list[int], node: Node) -> np.ndarray:
    """Return where in a flat image each element of each window stands, by element, then window."""
    count = len(sizes)
    strides, dilations = node.attr("strides", [1] * count), node.attr("dilations", [1] * count)
    place = np.zeros((), "int64")
    for size, block, stride, dilation in zip(sizes, blocks, strides, dilations, strict=True):
        windows = (size - dilation * (block - 1) - 1) // stride + 1
        along = np.add.outer(np.arange(block) * dilation, np.arange(windows) * stride)
        place = np.add.outer(place * size, along)
    # The dimensions are block, windows, for each dimension of the image.
    order = [*range(0, 2 * count, 2), *range(1, 2 * count, 2)]
    return np.asarray(place).transpose(order).reshape(-1)


@converter("Col2Im", since=18, raw=(1, 2))
def _col2im(node: Node, x: ir.Value, image: Value, block: Value) -> ir.Value:
    blocks, sizes = known_ints(block, "a shape of blocks"), known_ints(image, "a shape of an image")
    count = len(sizes)
    pads = node.attr("pads", [0] * 2 * count)
    wide = [size + pads[i] + pads[i + count] for i, size in enumerate(sizes)]
    places = _places(wide, blocks, node)
    batch, columns, windows = shape_of(x)
    elements = math.prod(blocks)
    if not isinstance(columns, int) or columns % elements or len(places) != elements * windows:
        raise ValueError(
            f"expected a multiple of {elements} columns and {len(places) // elements} windows, but "
            f"got {columns} and {windows}"
        )
    channels = columns // elements
    # One row for each place of a window, so that rows are added up.
    rows = op.reshape(x, [batch, channels, elements * windows])
    rows = op.permute_dims(rows, [2, 0, 1])
    whole = op.zeros([math.prod(wide), batch, channels], x.type.dtype)
    total = op.scatter_nd(whole, const(places[:, None]), rows, "add")
    result = op.reshape(op.permute_dims(total, [1, 2, 0]), [batch, channels, *wide])
    axes = list(range(2, 2 + count))
    begins = list(pads[:count])
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    return op.strided_slice(result, axes, begins, ends, [1] * count, assume_inbound=True)


@converter("MaxUnpool", since=9, raw=(2,))
def _max_unpool(node: Node, x: ir.Value, places: ir.Value, wanted: Value = None) -> ir.Value:
    dims, kernel = shape_of(x), node.attr("kernel_shape")
    count = len(kernel)
    strides, pads = node.attr("strides", [1] * count), node.attr("pads", [0] * 2 * count)
    image: list[Any] = [
        (dims[i + 2] - 1) * strides[i] - pads[i] - pads[i + count] + kernel[i] for i in range(count)
    ]
    shape = [*dims[:2], *image]
    flat = op.zeros([product(shape)], x.type.dtype)
    spread = op.scatter_elements(flat, op.reshape(places, [-1]), op.reshape(x, [-1]))
    result = op.reshape(spread, shape)
    if wanted is None:
        return result
    widths: list[Any] = [0] * 2 * rank_of(x)
    for i, (size, given) in enumerate(zip(shape, known_sizes(wanted, "a shape"), strict=True)):
        widths[i + rank_of(x)] = 0 if same(size, given) else given - size
    return pad(result, widths, "constant", number(0, x.type.dtype))
