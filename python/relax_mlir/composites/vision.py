# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of object detection, `relax_mlir.op.vision`: regions of interest, boxes, anchors.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo((1, 8, "h", "w"), "float32"))
>>> rois = Var("rois", TensorStructInfo(("n", 5), "float32"))
>>> with bb.function("main", [x, rois]):
...     y = op.vision.roi_align(x, rois, 7, 0.25, sample_ratio=2, aligned=True)
...     _ = bb.emit_func_output(y)
>>> print(y.type)
!relax.tensor<[n, 8, 7, 7], f32>
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op, te
from ..core.expr import TensorLike, as_tensor, const
from . import boxes as _boxes
from .arithmetic import round_away
from .convolution import numbers
from .data_dependent import dynamic_strided_slice
from .kernels import call_te
from .layouts import packed, unpacked
from .sampling import bins_of_samples, region_terms
from .tensors import cast, number, rank_of, shape_of, size_tensor

__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_transform_loc",
    "non_max_suppression",
    "roi_align",
    "roi_pool",
]


def _part(x: ir.Value, axis: int, begin: int, end: int) -> ir.Value:
    return op.strided_slice(x, [axis], [begin], [end], [1], assume_inbound=True)


# -- regions of interest ------------------------------------------------------------------------


def _require_regions(data: ir.Value, rois: ir.Value) -> None:
    if rank_of(data) != 4 or rank_of(rois) != 2 or shape_of(rois)[1] != 5:
        raise ValueError(
            "expected images of rank 4 and regions of 5 numbers (image, begins and ends), but got "
            f"dimensions {shape_of(data)} and {shape_of(rois)}"
        )


def roi_align(
    data: TensorLike,
    rois: TensorLike,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
    mode: str = "avg",
) -> ir.Value:
    """Return the means, or the largest, of samples of the bins of regions.

    Parameters
    ----------
    data : tensor, number or array
        Images.
    rois : tensor, number or array
        Of each region the number of its image, and its begins and ends: columns, then rows.
    pooled_size : int or sequence of int
        How many bins a region has, down and to the right.
    spatial_scale : float
        The size of an image by that of the coordinates of regions.
    sample_ratio : int
        How many samples a bin has along each dimension, from 1 on.
    aligned : bool
        Whether regions keep sizes below that of an element.
    layout : str
    mode : str
        ``avg`` or ``max``.

    Returns
    -------
    mlir.ir.Value
        Of the dimensions region, channel, bins down and to the right, in the order of `layout`.

    Raises
    ------
    NotImplementedError
        If `sample_ratio` is not positive: how many samples there are would depend on the regions.
    ValueError
        If an argument is none of these.
    """
    x, regions = as_tensor(data), cast(as_tensor(rois), "float32")
    _require_regions(x, regions)
    if mode not in ("avg", "max"):
        raise ValueError(f"expected mode avg or max, but got '{mode}'")
    if sample_ratio <= 0:
        raise NotImplementedError(
            f"expected sample_ratio of 1 or more, but got {sample_ratio}: how many samples there "
            "are would depend on the regions"
        )
    outer = numbers(pooled_size, 2, "pooled_size")
    plain = unpacked(x, layout, "NCHW")
    images = op.squeeze(_part(regions, 1, 0, 1), [1])
    edges = op.multiply(_part(regions, 1, 1, 5), number(spatial_scale, "float32"))
    terms = region_terms(plain, edges, images, outer, sample_ratio, not aligned)
    pooled = bins_of_samples(functools.reduce(op.add, terms), outer, sample_ratio, mode == "avg")
    return packed(cast(pooled, x.type.dtype), "NCHW", layout)


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
    one = number(1, "float32")
    size = op.maximum(op.add(op.subtract(last, first), one), one)
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


def roi_pool(
    data: TensorLike,
    rois: TensorLike,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    layout: str = "NCHW",
) -> ir.Value:
    """Return the largest elements of the bins of regions, 0 of empty bins.

    Parameters
    ----------
    data : tensor, number or array
        Images.
    rois : tensor, number or array
        Of each region the number of its image, and its begins and ends: columns, then rows.
    pooled_size : int or sequence of int
        How many bins a region has, down and to the right.
    spatial_scale : float
        The size of an image by that of the coordinates of regions.
    layout : str

    Returns
    -------
    mlir.ir.Value
        Of the dimensions region, channel, bins down and to the right, in the order of `layout`.
    """
    x, regions = as_tensor(data), cast(as_tensor(rois), "float32")
    _require_regions(x, regions)
    outer = numbers(pooled_size, 2, "pooled_size")
    plain = unpacked(x, layout, "NCHW")
    images = op.astype(op.squeeze(_part(regions, 1, 0, 1), [1]), "int64")
    bounds = [
        bound
        for i in (0, 1)
        for bound in _bounds(regions, i, outer[i], shape_of(plain)[2 + i], float(spatial_scale))
    ]
    pooled = call_te(_largest_in_bins, cast(plain, "float32"), images, *bounds)
    return packed(cast(pooled, x.type.dtype), "NCHW", layout)


# -- boxes --------------------------------------------------------------------------------------


def get_valid_counts(
    data: TensorLike,
    score_threshold: TensorLike = 0,
    id_index: int = 0,
    score_index: int = 1,
) -> ir.Value:
    """Return boxes with those first that have a score above a threshold.

    Parameters
    ----------
    data : tensor, number or array
        Of the dimensions batch, box, and what is known of a box: its class, score, coordinates.
    score_threshold : tensor, number or array
        One number.
    id_index, score_index : int
        The places of class and score; a negative class is none, a negative `id_index` says that
        there are no classes.

    Returns
    -------
    mlir.ir.Value
        A tuple of how many boxes each batch has, of the boxes, and of where they were; -1 in place
        of the other boxes.
    """
    x = as_tensor(data)
    threshold = cast(op.reshape(as_tensor(score_threshold, x.type.dtype), []), x.type.dtype)
    return _boxes.valid_boxes(x, threshold, id_index, score_index)


def non_max_suppression(
    data: TensorLike,
    valid_count: TensorLike,
    indices: TensorLike,
    max_output_size: TensorLike = -1,
    iou_threshold: TensorLike = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
    soft_nms_sigma: float = 0.0,
    score_threshold: float = 0.0,
) -> ir.Value:
    """Return the boxes that do not overlap with better ones of the same class.

    Parameters
    ----------
    data : tensor, number or array
        Of the dimensions batch, box, and what is known of a box: its class, score, coordinates.
    valid_count : tensor, number or array
        How many boxes each batch has.
    indices : tensor, number or array
        A number for each box, which the result has.
    max_output_size : tensor, number or array
        How many boxes are kept, -1 for all.
    iou_threshold : tensor, number or array
        The quotient of what two boxes have in common and of what they cover, from which on one of
        them is left out.
    force_suppress : bool
        Whether boxes of all classes are compared.
    top_k : int
        How many of the best boxes are looked at, -1 for all.
    coord_start, score_index, id_index : int
        The places of the coordinates, the score and the class; a negative `id_index` says that
        there are no classes.
    return_indices : bool
        Whether the result has the numbers of boxes, not the boxes.
    invalid_to_bottom : bool
        Whether boxes that are kept come first.
    soft_nms_sigma, score_threshold : float
        Of overlaps that lower scores: 0 only.

    Returns
    -------
    mlir.ir.Value
        A tuple of numbers of boxes and of how many there are; or the boxes, with -1 in place of
        those that are left out.

    Raises
    ------
    NotImplementedError
        If `soft_nms_sigma` is not 0.
    """
    if soft_nms_sigma > 0:
        raise NotImplementedError(f"expected soft_nms_sigma to be 0, but got {soft_nms_sigma}")
    how = _boxes.Suppression(
        bool(force_suppress), top_k, coord_start, score_index, id_index, bool(return_indices),
        bool(invalid_to_bottom),
    )  # fmt: skip
    limit, overlap = as_tensor(max_output_size, "int32"), as_tensor(iou_threshold, "float32")
    return _boxes.suppressed(
        as_tensor(data), as_tensor(valid_count), as_tensor(indices), limit, overlap, how
    )


def all_class_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_boxes_per_class: TensorLike,
    iou_threshold: TensorLike,
    score_threshold: TensorLike,
    output_format: str = "onnx",
) -> ir.Value:
    """Return the boxes of each class that do not overlap with better ones.

    Parameters
    ----------
    boxes : tensor, number or array
        Of the dimensions batch, box, coordinate.
    scores : tensor, number or array
        Of the dimensions batch, class, box.
    max_output_boxes_per_class, iou_threshold, score_threshold : tensor, number or array
        One number each.
    output_format : str
        ``onnx``.

    Returns
    -------
    mlir.ir.Value
        A tuple of the batch, the class and the box of each that is kept, by batch, class and score;
        and of how many there are.

    Raises
    ------
    NotImplementedError
        If another format is asked for.
    """
    if output_format != "onnx":
        raise NotImplementedError(f"expected output_format 'onnx', but got '{output_format}'")
    found = _boxes.best_of_each_class(
        as_tensor(boxes),
        as_tensor(scores),
        as_tensor(max_output_boxes_per_class, "int32"),
        as_tensor(iou_threshold, "float32"),
        as_tensor(score_threshold, "float32"),
    )
    rows, total = op.get_item(found, 0), op.get_item(found, 1)
    end = op.concat([total, const(np.array([3]), "int64")])
    return op.tuple(dynamic_strided_slice(rows, [0, 0], end, [1, 1]), total)


def multibox_transform_loc(
    cls_pred: TensorLike,
    loc_pred: TensorLike,
    anchor: TensorLike,
    clip: bool = False,
    threshold: float = 0.0,
    variances: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    keep_background: bool = True,
) -> ir.Value:
    """Return the boxes that anchors and what a network says of them mean, and scores.

    Parameters
    ----------
    cls_pred : tensor, number or array
        Of the dimensions batch, class, anchor; scores are its softmax over classes.
    loc_pred : tensor, number or array
        For each anchor of each batch, the moves to the right and down, and the logarithms of the
        factors of width and height.
    anchor : tensor, number or array
        Left, top, right and bottom of each.
    clip : bool
        Whether coordinates are from 0 to 1.
    threshold : float
        Scores below are 0.
    variances : sequence of float
        Factors of the four numbers of `loc_pred`.
    keep_background : bool
        Whether the first class keeps its scores.

    Returns
    -------
    mlir.ir.Value
        A tuple of top, left, bottom and right of each anchor, and of scores.
    """
    classes, moves, anchors = as_tensor(cls_pred), as_tensor(loc_pred), as_tensor(anchor)
    dtype = classes.type.dtype
    batch, count, number_of = shape_of(classes)
    low, high = _part(anchors, 2, 0, 2), _part(anchors, 2, 2, 4)
    half = number(0.5, dtype)
    size, middle = op.subtract(high, low), op.multiply(op.add(low, high), half)
    each = op.reshape(moves, [batch, number_of, 4])
    factors = [float(one) for one in variances]
    shift = op.multiply(_part(each, 2, 0, 2), const(np.array(factors[:2]), dtype))
    growth = op.exp(op.multiply(_part(each, 2, 2, 4), const(np.array(factors[2:]), dtype)))
    centre = op.add(op.multiply(shift, size), middle)
    reach = op.multiply(op.multiply(growth, size), half)
    # Rows come first in the result.
    ends = [op.flip(one(centre, reach), 2) for one in (op.subtract, op.add)]
    corners = op.concat(ends, 2)
    corners = op.clip(corners, 0.0, 1.0) if clip else corners
    scores = op.nn.softmax(classes, 1)
    is_high = op.greater_equal(scores, number(threshold, dtype))
    scores = op.where(is_high, scores, number(0.0, dtype))
    if not keep_background:
        kept = np.arange(count) > 0
        scores = op.where(const(kept.reshape(1, -1, 1)), scores, number(0.0, dtype))
    return op.tuple(corners, scores)
