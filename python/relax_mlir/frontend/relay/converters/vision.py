# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of object detection: regions of interest, and anchors."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from mlir import ir

from .... import op, te
from ....core.expr import const
from ...compositions import round_away
from ...sampling import bins_of_samples, region_terms
from ...values import cast, number, rank_of, shape_of, size_tensor
from .convolution import numbers
from .kernels import call_te
from .layouts import packed, unpacked
from .registry import REQUIRED, converts
from .suppression import less_below, rows_of, to_the_top


def _part(x: ir.Value, axis: int, begin: int, end: int) -> ir.Value:
    return op.strided_slice(x, [axis], [begin], [end], [1], assume_inbound=True)


def _require_regions(data: ir.Value, rois: ir.Value) -> None:
    if rank_of(data) != 4 or rank_of(rois) != 2 or shape_of(rois)[1] not in (5,):
        raise ValueError(
            "expected images of rank 4 and regions of 5 numbers (image, begins and ends), but got "
            f"dimensions {shape_of(data)} and {shape_of(rois)}"
        )


@converts(
    "vision.roi_align", pooled_size=REQUIRED, spatial_scale=REQUIRED, sample_ratio=-1,
    layout="NCHW", mode="avg",
)  # fmt: skip
def _roi_align(attrs: SimpleNamespace, data: ir.Value, rois: ir.Value) -> ir.Value:
    _require_regions(data, rois)
    if attrs.mode not in ("avg", "max"):
        raise ValueError(f"expected mode avg or max, but got '{attrs.mode}'")
    samples = int(attrs.sample_ratio)
    if samples <= 0:
        raise NotImplementedError(
            f"expected sample_ratio of 1 or more, but got {samples}: how many samples there are "
            "would depend on the regions"
        )
    outer = numbers(attrs.pooled_size, 2, "pooled_size")
    x, regions = unpacked(data, attrs.layout, "NCHW"), cast(rois, "float32")
    images = op.squeeze(_part(regions, 1, 0, 1), [1])
    edges = op.multiply(_part(regions, 1, 1, 5), number(attrs.spatial_scale, "float32"))
    values = functools.reduce(op.add, region_terms(x, edges, images, outer, samples, True))
    pooled = bins_of_samples(values, outer, samples, attrs.mode == "avg")
    return packed(cast(pooled, data.type.dtype), "NCHW", attrs.layout)


# -- the largest elements of regions ------------------------------------------------------------


def _bounds(
    rois: ir.Value, axis: int, bins: int, extent: Any, scale: float
) -> tuple[ir.Value, ir.Value]:
    """Return the first element of each bin along one dimension, and the one after the last."""
    # Regions have the last dimension first.
    begin, end = (
        op.multiply(_part(rois, 1, i, i + 1), number(scale, "float32"))
        for i in (2 - axis, 4 - axis)
    )
    first, last = round_away(begin), round_away(end)
    size = op.maximum(op.add(op.subtract(last, first), number(1, "float32")),
                      number(1, "float32"))  # fmt: skip
    each = op.divide(size, number(bins, "float32"))
    epsilon = number(1e-5, "float32")
    at = np.arange(bins, dtype=np.float32)
    low = op.floor(op.add(op.multiply(each, const(at)), epsilon))
    high = op.ceil(op.subtract(op.multiply(each, const(at + 1)), epsilon))
    most, zero = size_tensor(extent, "float32"), number(0, "float32")
    bounds = [
        op.astype(op.minimum(op.maximum(op.add(one, first), zero), most), "int64")
        for one in (low, high)
    ]
    return bounds[0], bounds[1]


def _largest_in_bins(
    x: te.Tensor, images: te.Tensor, top: te.Tensor, bottom: te.Tensor, left: te.Tensor,
    right: te.Tensor,
) -> te.Tensor:  # fmt: skip
    """Return the largest elements of the bins of regions, columns first; 0 of empty ones."""
    _, channels, height, width = x.shape
    regions, rows = top.shape
    columns = left.shape[1]
    lowest = te.const(float(np.finfo(np.float32).min), "float32")
    column = te.reduce_axis((0, width), name="column")
    row = te.reduce_axis((0, height), name="row")

    def along_columns(r: Any, c: Any, h: Any, q: Any) -> Any:
        inside = te.all(column.var >= left(r, q), column.var < right(r, q))
        return te.max(te.if_then_else(inside, x(images(r), c, h, column.var), lowest), axis=column)

    parts = te.compute((regions, channels, height, columns), along_columns, name="parts")

    def along_rows(r: Any, c: Any, p: Any, q: Any) -> Any:
        inside = te.all(row.var >= top(r, p), row.var < bottom(r, p))
        return te.max(te.if_then_else(inside, parts(r, c, row.var, q), lowest), axis=row)

    bins = te.compute((regions, channels, rows, columns), along_rows, name="bins")

    def unless_empty(r: Any, c: Any, p: Any, q: Any) -> Any:
        is_full = te.all(top(r, p) < bottom(r, p), left(r, q) < right(r, q))
        return te.if_then_else(is_full, bins(r, c, p, q), te.const(0.0, "float32"))

    return te.compute((regions, channels, rows, columns), unless_empty, name="roi_pool")


@converts("vision.roi_pool", pooled_size=REQUIRED, spatial_scale=REQUIRED, layout="NCHW")
def _roi_pool(attrs: SimpleNamespace, data: ir.Value, rois: ir.Value) -> ir.Value:
    _require_regions(data, rois)
    outer = numbers(attrs.pooled_size, 2, "pooled_size")
    x, regions = unpacked(data, attrs.layout, "NCHW"), cast(rois, "float32")
    images = op.astype(op.squeeze(_part(regions, 1, 0, 1), [1]), "int64")
    bounds = [
        bound
        for i in (0, 1)
        for bound in _bounds(regions, i, outer[i], shape_of(x)[2 + i], float(attrs.spatial_scale))
    ]
    pooled = call_te(_largest_in_bins, cast(x, "float32"), images, *bounds)
    return packed(cast(pooled, data.type.dtype), "NCHW", attrs.layout)


# -- anchors ------------------------------------------------------------------------------------


@converts(
    "vision.multibox_prior", sizes=[1.0], ratios=[1.0], steps=[-1.0, -1.0], offsets=[0.5, 0.5],
    clip=False,
)  # fmt: skip
def _multibox_prior(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    if rank_of(data) != 4:
        raise ValueError(f"expected images of rank 4, but got rank {rank_of(data)}")
    height, width = shape_of(data)[2:]
    if not isinstance(height, int) or not isinstance(width, int):
        raise NotImplementedError(f"expected images of known size, but got {height} x {width}")
    sizes, ratios = ([float(one) for one in given] for given in (attrs.sizes, attrs.ratios))
    wide = [size * height / width for size in sizes]
    wide += [sizes[0] * height / width * math.sqrt(ratio) for ratio in ratios[1:]]
    high = sizes + [sizes[0] / math.sqrt(ratio) for ratio in ratios[1:]]
    steps = [
        float(step) if step > 0 else 1 / extent
        for step, extent in zip(attrs.steps, (height, width), strict=True)
    ]
    down = (np.arange(height) + float(attrs.offsets[0])) * steps[0]
    right = (np.arange(width) + float(attrs.offsets[1])) * steps[1]
    y, x, half_high, half_wide = np.broadcast_arrays(
        down[:, None, None], right[None, :, None], np.array(high) / 2, np.array(wide) / 2
    )
    boxes = np.stack([x - half_wide, y - half_high, x + half_wide, y + half_high], -1)
    boxes = np.clip(boxes, 0, 1) if attrs.clip else boxes
    return const(boxes.reshape(1, -1, 4), data.type.dtype)


@converts(
    "vision.multibox_transform_loc", clip=True, threshold=0.01, variances=[0.1, 0.1, 0.2, 0.2],
    keep_background=False,
)  # fmt: skip
def _multibox_transform_loc(
    attrs: SimpleNamespace, cls_prob: ir.Value, loc_pred: ir.Value, anchor: ir.Value
) -> ir.Value:
    batch, classes, boxes = shape_of(cls_prob)
    dtype = cls_prob.type.dtype
    # The first class is the background.
    scores = cls_prob if attrs.keep_background else _part(cls_prob, 1, 1, classes)
    score, best = op.max(scores, [1]), op.argmax(scores, 1)
    flags = op.greater_equal(score, number(attrs.threshold, dtype))
    corners = _located(attrs, op.reshape(loc_pred, [batch, boxes, 4]), anchor, dtype)
    columns = [op.expand_dims(one, 2) for one in (op.astype(best, dtype), score)]
    rows = op.concat([*columns, corners], 2)
    order, count = to_the_top(flags)
    return op.tuple(less_below(rows_of(rows, order), count), count)


def _located(attrs: SimpleNamespace, moves: ir.Value, anchor: ir.Value, dtype: str) -> ir.Value:
    """Return anchors that are moved, and made larger or smaller."""
    variances = [float(one) for one in attrs.variances]
    half = number(0.5, dtype)
    low, high = _part(anchor, 2, 0, 2), _part(anchor, 2, 2, 4)
    size, middle = op.subtract(high, low), op.multiply(op.add(low, high), half)
    shift = op.multiply(_part(moves, 2, 0, 2), const(np.array(variances[:2]), dtype))
    growth = op.exp(op.multiply(_part(moves, 2, 2, 4), const(np.array(variances[2:]), dtype)))
    centre = op.add(op.multiply(shift, size), middle)
    reach = op.multiply(op.multiply(growth, size), half)
    corners = op.concat([op.subtract(centre, reach), op.add(centre, reach)], 2)
    return op.clip(corners, 0.0, 1.0) if attrs.clip else corners


@converts("vision.yolo_reorg", stride=1)
def _yolo_reorg(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    stride = int(attrs.stride)
    if rank_of(data) != 4:
        raise ValueError(f"expected images of rank 4, but got rank {rank_of(data)}")
    batch, channels, height, width = shape_of(data)
    if not all(isinstance(dim, int) for dim in (channels, height, width)):
        raise NotImplementedError(f"expected images of known size, but got {shape_of(data)}")
    block = stride * stride
    if channels % block or height % stride or width % stride:
        raise ValueError(
            f"expected channels as a multiple of {block}, and sizes as one of {stride}, but got "
            f"{[channels, height, width]}"
        )
    outer = channels // block
    k, j, i = np.indices((channels, height, width))
    # Elements are numbered as if the image were as much larger as it has channels less.
    down, right = j * stride + k // outer // stride, i * stride + k // outer % stride
    places = right + width * stride * (down + height * stride * (k % outer))
    flat = op.reshape(data, [batch, channels * height * width])
    moved = op.take(flat, const(places.reshape(-1).astype("int64")), 1)
    return op.reshape(moved, [batch, channels * block, height // stride, width // stride])
