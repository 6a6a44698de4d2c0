# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of object detection: regions of interest, boxes, and anchors."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
from mlir import ir

from .... import op
from ....composites import vision
from ....composites.boxes import best_of_each_class, less_below, rows_of, to_the_top
from ....composites.convolution import numbers
from ....composites.tensors import number
from ....core.expr import const
from ...values import rank_of, shape_of
from .registry import REQUIRED, converts


def _part(x: ir.Value, axis: int, begin: int, end: int) -> ir.Value:
    return op.strided_slice(x, [axis], [begin], [end], [1], assume_inbound=True)


@converts(
    "vision.roi_align", pooled_size=REQUIRED, spatial_scale=REQUIRED, sample_ratio=-1,
    layout="NCHW", mode="avg",
)  # fmt: skip
def _roi_align(attrs: SimpleNamespace, data: ir.Value, rois: ir.Value) -> ir.Value:
    return vision.roi_align(
        data, rois, numbers(attrs.pooled_size, 2, "pooled_size"), float(attrs.spatial_scale),
        int(attrs.sample_ratio), layout=attrs.layout, mode=attrs.mode,
    )  # fmt: skip


@converts("vision.roi_pool", pooled_size=REQUIRED, spatial_scale=REQUIRED, layout="NCHW")
def _roi_pool(attrs: SimpleNamespace, data: ir.Value, rois: ir.Value) -> ir.Value:
    size = numbers(attrs.pooled_size, 2, "pooled_size")
    return vision.roi_pool(data, rois, size, float(attrs.spatial_scale), attrs.layout)


# -- boxes --------------------------------------------------------------------------------------


@converts("vision.get_valid_counts", id_index=0, score_index=1)
def _get_valid_counts(
    attrs: SimpleNamespace, data: ir.Value, score_threshold: ir.Value
) -> ir.Value:
    return vision.get_valid_counts(
        data, score_threshold, int(attrs.id_index), int(attrs.score_index)
    )


@converts(
    "vision.non_max_suppression", force_suppress=False, top_k=-1, coord_start=2, score_index=1,
    id_index=0, return_indices=True, invalid_to_bottom=False,
)  # fmt: skip
def _non_max_suppression(
    attrs: SimpleNamespace, data: ir.Value, valid_count: ir.Value, indices: ir.Value,
    max_output_size: ir.Value, iou_threshold: ir.Value,
) -> ir.Value:  # fmt: skip
    return vision.non_max_suppression(
        data, valid_count, indices, max_output_size, iou_threshold, bool(attrs.force_suppress),
        int(attrs.top_k), int(attrs.coord_start), int(attrs.score_index), int(attrs.id_index),
        bool(attrs.return_indices), bool(attrs.invalid_to_bottom),
    )  # fmt: skip


@converts("vision.all_class_non_max_suppression", output_format="onnx")
def _all_classes(
    attrs: SimpleNamespace, boxes: ir.Value, scores: ir.Value,
    max_output_boxes_per_class: ir.Value, iou_threshold: ir.Value, score_threshold: ir.Value,
) -> ir.Value:  # fmt: skip
    if attrs.output_format != "onnx":
        raise NotImplementedError(f"expected output_format 'onnx', but got '{attrs.output_format}'")
    limits = (max_output_boxes_per_class, iou_threshold, score_threshold)
    # Relay has rows for all boxes; those after the last one that is kept are not to be read.
    return best_of_each_class(boxes, scores, *limits)


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
