# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that pad, and that move elements between dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.layouts import packed, unpacked
from ....composites.padding import pad, padded
from ....composites.tensors import cast, number
from ...values import Value, as_tensor, is_known, known_ints, rank_of, shape_of
from .data_sizes import sizes_of
from .operands import one_of
from .registry import REQUIRED, converts


def _pairs(given: Sequence[Sequence[Any]], count: int, what: str) -> list[tuple[int, int]]:
    """Return pairs of numbers for dimensions.

    Raises
    ------
    ValueError
        If there are more or fewer.
    """
    pairs = [tuple(int(one) for one in pair) for pair in given]
    if len(pairs) != count or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"expected {what} of {count} pairs of numbers, but got {list(given)}")
    return [(pair[0], pair[1]) for pair in pairs]


_PAD_MODES = ("constant", "edge", "reflect")


def _padded_by(
    x: ir.Value, widths: Sequence[Sequence[Any]], mode: str, value: ir.Value
) -> ir.Value:
    one_of("pad_mode", mode, *_PAD_MODES)
    pairs = _pairs(widths, rank_of(x), "pad_width")
    return padded(x, pairs, mode, op.reshape(cast(value, x.type.dtype), []))


@converts("nn.pad", pad_width=REQUIRED, pad_mode="constant")
def _pad(attrs: SimpleNamespace, data: ir.Value, pad_value: ir.Value) -> ir.Value:
    return _padded_by(data, attrs.pad_width, attrs.pad_mode, pad_value)


@converts("dyn.nn.pad", raw=True, pad_width=(), pad_mode="constant")
def _pad_by_operand(
    attrs: SimpleNamespace, data: Value, pad_width: Value, pad_value: Value
) -> ir.Value:
    x = as_tensor(data)
    if not is_known(pad_width):
        flat_widths = op.reshape(as_tensor(pad_width), [2 * rank_of(x)])
        widths = sizes_of(flat_widths, "pad_width")
        value = op.reshape(cast(as_tensor(pad_value), x.type.dtype), [])
        mode = one_of("pad_mode", attrs.pad_mode, *_PAD_MODES)
        return pad(x, [*widths[::2], *widths[1::2]], mode, value)
    flat = known_ints(pad_width, "pad_width")
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    return _padded_by(x, pairs, attrs.pad_mode, as_tensor(pad_value))


@converts("nn.mirror_pad", pad_width=REQUIRED, mode="SYMMETRIC")
def _mirror_pad(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    if attrs.mode not in ("SYMMETRIC", "REFLECT"):
        raise ValueError(f"expected mode SYMMETRIC or REFLECT, but got '{attrs.mode}'")
    widths = _pairs(attrs.pad_width, rank_of(data), "pad_width")
    if any(min(pair) < 0 for pair in widths):
        raise ValueError(f"expected pad_width from 0 on, but got {widths}")
    return padded(data, widths, attrs.mode.lower())


@converts("nn.dilate", strides=REQUIRED, dilation_value=0.0)
def _dilate(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    if len(attrs.strides) != rank_of(data):
        raise ValueError(f"expected {rank_of(data)} strides, but got {list(attrs.strides)}")
    x, fill = data, number(attrs.dilation_value, data.type.dtype)
    for axis, stride in enumerate(int(one) for one in attrs.strides):
        if stride == 1:
            continue
        dims = shape_of(x)
        gap = op.full([*dims[: axis + 1], stride - 1, *dims[axis + 1 :]], fill, x.type.dtype)
        wide = op.concat([op.expand_dims(x, axis + 1), gap], axis + 1)
        joined = op.reshape(wide, [*dims[:axis], dims[axis] * stride, *dims[axis + 1 :]])
        end = (dims[axis] - 1) * stride + 1
        x = op.strided_slice(joined, [axis], [0], [end], [1], assume_inbound=True)
    return x


@converts("nn.batch_flatten")
def _batch_flatten(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    first, *rest = shape_of(data)
    return op.reshape(data, [first, math.prod(rest)])


# -- blocks of pixels ---------------------------------------------------------------------------


def _require_multiple(dim: Any, size: int, what: str) -> None:
    if isinstance(dim, int) and dim % size:
        raise ValueError(f"expected {what} as a multiple of {size}, but got {dim}")


@converts("nn.depth_to_space", block_size=REQUIRED, layout="NCHW", mode="DCR")
def _depth_to_space(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    x, block = unpacked(data, attrs.layout, "NCHW"), int(attrs.block_size)
    n, c, h, w = shape_of(x)
    _require_multiple(c, block * block, "channels")
    depth = c // (block * block)
    if attrs.mode == "DCR":
        parts = op.permute_dims(op.reshape(x, [n, block, block, depth, h, w]), [0, 3, 4, 1, 5, 2])
    elif attrs.mode in ("CRD", "CDR"):
        parts = op.permute_dims(op.reshape(x, [n, depth, block, block, h, w]), [0, 1, 4, 2, 5, 3])
    else:
        raise ValueError(f"expected mode DCR or CRD, but got '{attrs.mode}'")
    return packed(op.reshape(parts, [n, depth, h * block, w * block]), "NCHW", attrs.layout)


@converts("nn.space_to_depth", block_size=REQUIRED, layout="NCHW", mode="DCR")
def _space_to_depth(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    x, block = unpacked(data, attrs.layout, "NCHW"), int(attrs.block_size)
    n, c, h, w = shape_of(x)
    _require_multiple(h, block, "height")
    _require_multiple(w, block, "width")
    parts = op.reshape(x, [n, c, h // block, block, w // block, block])
    turned = op.permute_dims(parts, [0, 3, 5, 1, 2, 4])
    return packed(
        op.reshape(turned, [n, c * block * block, h // block, w // block]), "NCHW", attrs.layout
    )


@converts("nn.space_to_batch_nd", block_shape=REQUIRED, paddings=REQUIRED, pad_value=0.0)
def _space_to_batch(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    blocks = [int(one) for one in attrs.block_shape]
    count, rank = len(blocks), rank_of(data)
    if count >= rank:
        raise ValueError(f"expected up to {rank - 1} sizes of blocks, but got {blocks}")
    widths = [(0, 0), *_pairs(attrs.paddings, count, "paddings")]
    widths += [(0, 0)] * (rank - count - 1)
    x = padded(data, widths, "constant", number(attrs.pad_value, data.type.dtype))
    dims = shape_of(x)
    split: list[Any] = [dims[0]]
    for dim, block in zip(dims[1 : count + 1], blocks, strict=True):
        _require_multiple(dim, block, "a padded dimension")
        split += [dim // block, block]
    rest = dims[count + 1 :]
    inner, outer = [2 * i + 2 for i in range(count)], [2 * i + 1 for i in range(count)]
    order = [*inner, 0, *outer, *range(2 * count + 1, rank + count)]
    turned = op.permute_dims(op.reshape(x, [*split, *rest]), order)
    return op.reshape(turned, [dims[0] * math.prod(blocks), *split[1::2], *rest])


@converts("nn.batch_to_space_nd", block_shape=REQUIRED, crops=REQUIRED)
def _batch_to_space(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    blocks = [int(one) for one in attrs.block_shape]
    count, rank, dims = len(blocks), rank_of(data), shape_of(data)
    if count >= rank:
        raise ValueError(f"expected up to {rank - 1} sizes of blocks, but got {blocks}")
    _require_multiple(dims[0], math.prod(blocks), "the batch")
    batch, rest = dims[0] // math.prod(blocks), dims[count + 1 :]
    parts = op.reshape(data, [*blocks, batch, *dims[1:]])
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    turned = op.permute_dims(parts, [*order, *range(2 * count + 1, rank + count)])
    wide = [dim * block for dim, block in zip(dims[1 : count + 1], blocks, strict=True)]
    x = op.reshape(turned, [batch, *wide, *rest])
    for axis, (before, after) in enumerate(_pairs(attrs.crops, count, "crops"), 1):
        end = shape_of(x)[axis] - after
        x = op.strided_slice(x, [axis], [before], [end], [1], assume_inbound=True)
    return x
