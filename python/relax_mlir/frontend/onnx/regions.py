# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at shifted places, and in regions of interest."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...core.expr import const
from ..compositions import along_channels
from ..values import cast, number, rank_of, shape_of, size_tensor
from .registry import Node, converter
from .sample import Tap, tap, term


def _float(value: float) -> ir.Value:
    return number(value, "float32")


# -- deformable convolution ---------------------------------------------------------------------


@converter("DeformConv", since=19)
def _deform_conv(
    node: Node, x: ir.Value, weight: ir.Value, offset: ir.Value, bias: ir.Value | None = None,
    mask: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    if rank_of(x) != 4:
        raise NotImplementedError(f"expected images of rank 4, but got rank {rank_of(x)}")
    batch, channels = shape_of(x)[:2]
    sizes = [dim for dim in shape_of(x)[2:] if isinstance(dim, int)]
    kernel = [dim for dim in shape_of(weight)[2:] if isinstance(dim, int)]
    if len(sizes) < 2 or len(kernel) < 2:
        raise NotImplementedError(f"expected images of known size, but got {shape_of(x)}")
    groups, taken, outer = node.attr("offset_group", 1), math.prod(kernel), shape_of(offset)[2:]
    shifts = op.reshape(cast(offset, "float32"), [batch * groups, taken, 2, *outer])
    taps = [
        _shifted(op.squeeze(part, [2]), sizes[i], _windows(node, kernel, i, outer))
        for i, part in enumerate(_halves(shifts))
    ]
    rows = op.reshape(cast(x, "float32"), [batch * groups, channels // groups, *sizes])
    rows = op.permute_dims(rows, [0, 2, 3, 1])
    terms = [term(rows, combination) for combination in itertools.product(*taps)]
    values = functools.reduce(op.add, terms)
    values = op.reshape(values, [batch * groups, taken, *outer, channels // groups])
    if mask is not None:
        factor = op.reshape(cast(mask, "float32"), [batch * groups, taken, *outer, 1])
        values = op.multiply(values, factor)
    # Of the dimensions batch and group, element, place, channel.
    columns = op.permute_dims(values, [0, 4, 1, 2, 3])
    result = cast(_product(node, columns, weight, [batch, channels, taken, *outer]), x.type.dtype)
    return result if bias is None else op.add(result, along_channels(bias, 4))


def _halves(shifts: ir.Value) -> list[ir.Value]:
    return [op.strided_slice(shifts, [2], [i], [i + 1], [1], assume_inbound=True) for i in (0, 1)]


def _windows(node: Node, kernel: list[int], axis: int, outer: list[Any]) -> ir.Value:
    """Return where each element of each window is along one dimension."""
    stride = node.attr("strides", [1, 1])[axis]
    dilation, pad = node.attr("dilations", [1, 1])[axis], node.attr("pads", [0] * 4)[axis]
    inside = np.indices(kernel)[axis].reshape(-1, 1, 1) * dilation - pad
    begins = op.arange(0, outer[axis], 1, "int64")
    shape = [1, -1, 1] if axis == 0 else [1, 1, -1]
    first = op.reshape(op.multiply(begins, number(stride, "int64")), shape)
    return op.astype(op.add(const(inside.astype("int64")), first), "float32")


def _shifted(shift: ir.Value, size: int, places: ir.Value) -> list[Tap]:
    """Return the elements around shifted places; what is outside of the image is 0."""
    at = op.add(shift, places)
    images, taken, height, width = shape_of(at)
    at = op.reshape(at, [images, taken * height, width])
    floor = op.floor(at)
    share, first = op.subtract(at, floor), op.astype(floor, "int64")
    second = op.add(first, number(1, "int64"))
    return [
        tap(first, op.subtract(_float(1.0), share), size, "zeros", True),
        tap(second, share, size, "zeros", True),
    ]


def _product(node: Node, columns: ir.Value, weight: ir.Value, dims: list[Any]) -> ir.Value:
    batch, channels, taken, *outer = dims
    groups, outputs = node.attr("group", 1), shape_of(weight)[0]
    rows, places = channels // groups * taken, outer[0] * outer[1]
    left = op.reshape(cast(weight, "float32"), [groups, outputs // groups, rows])
    right = op.reshape(columns, [batch, groups, rows, places])
    return op.reshape(op.matmul(left, right), [batch, outputs, *outer])


# -- regions of interest ------------------------------------------------------------------------


@converter("RoiAlign", since=10)
def _roi_align_of_corners(node: Node, x: ir.Value, rois: ir.Value, images: ir.Value) -> ir.Value:
    return _roi_align(node, x, rois, images, False)


@converter("RoiAlign", since=16)
def _roi_align_of_mode(node: Node, x: ir.Value, rois: ir.Value, images: ir.Value) -> ir.Value:
    name = "coordinate_transformation_mode"
    node.refuse(name, "half_pixel", "output_half_pixel", default="half_pixel")
    return _roi_align(node, x, rois, images, node.attr(name, "half_pixel") == "half_pixel")


def _roi_align(node: Node, x: ir.Value, rois: ir.Value, images: ir.Value, half: bool) -> ir.Value:
    node.refuse("mode", "avg", "max", default="avg")
    samples = node.attr("sampling_ratio", 0)
    if samples <= 0:
        raise NotImplementedError("expected sampling_ratio of 1 or more, but got 0")
    outer = [node.attr("output_height", 1), node.attr("output_width", 1)]
    count, channels = shape_of(rois)[0], shape_of(x)[1]
    edges = op.multiply(cast(rois, "float32"), _float(node.attr("spatial_scale", 1.0)))
    edges = op.subtract(edges, _float(0.5)) if half else edges
    taps = [
        _bins(edges, axis, size, samples, not half, shape_of(x)[2 + axis])
        for axis, size in enumerate(outer)
    ]
    rows = op.permute_dims(cast(x, "float32"), [0, 2, 3, 1])
    terms = [_corner(rows, images, *pair) for pair in itertools.product(*taps)]
    is_mean = node.attr("mode", "avg") == "avg"
    values = functools.reduce(op.add if is_mean else op.maximum, terms)
    values = op.reshape(values, [count, outer[0], samples, outer[1], samples, channels])
    pooled = (op.mean if is_mean else op.max)(values, [2, 4])
    return cast(op.permute_dims(pooled, [0, 3, 1, 2]), x.type.dtype)


def _bins(
    edges: ir.Value, axis: int, bins: int, samples: int, is_forced: bool, extent: Any
) -> list[tuple[ir.Value, ir.Value]]:
    """Return the elements around the samples of one dimension of all regions, with shares."""
    # Regions have the last dimension first.
    begin, end = (
        op.strided_slice(edges, [1], [i], [i + 1], [1], assume_inbound=True)
        for i in (1 - axis, 3 - axis)
    )
    size = op.subtract(end, begin)
    size = op.maximum(size, _float(1.0)) if is_forced else size
    steps = (np.arange(bins * samples) + 0.5) / samples
    each = op.divide(size, _float(bins))
    at = op.add(begin, op.multiply(each, const(steps.astype("float32"))))
    high = size_tensor(extent, "float32")
    inside = op.logical_and(op.greater_equal(at, _float(-1.0)), op.less_equal(at, high))
    last = op.subtract(high, _float(1.0))
    at = op.minimum(op.maximum(at, _float(0.0)), last)
    floor = op.floor(at)
    share = op.subtract(at, floor)
    zero = _float(0.0)
    first, second = floor, op.minimum(op.add(floor, _float(1.0)), last)
    shares = (op.subtract(_float(1.0), share), share)
    return [
        (op.astype(place, "int64"), op.where(inside, weight, zero))
        for place, weight in zip((first, second), shares, strict=True)
    ]


def _corner(
    rows: ir.Value, images: ir.Value, down: tuple[ir.Value, ir.Value],
    right: tuple[ir.Value, ir.Value],
) -> ir.Value:  # fmt: skip
    """Return elements at rows and columns of images, times both shares."""
    count, height = shape_of(down[0])
    width = shape_of(right[0])[1]
    dims = [count, height, width]
    image = op.reshape(cast(images, "int64"), [count, 1, 1])
    places = [image, op.expand_dims(down[0], 2), op.expand_dims(right[0], 1)]
    indices = op.stack([op.broadcast_to(place, dims) for place in places], 3)
    share = op.multiply(op.expand_dims(down[1], 2), op.expand_dims(right[1], 1))
    return op.multiply(op.gather_nd(rows, indices), op.expand_dims(share, 3))
