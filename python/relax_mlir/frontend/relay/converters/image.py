# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on images: resizing, sampling, morphology."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from mlir import ir

from .... import op
from ....composites import image
from ....composites.convolution import numbers, padding_numbers
from ....composites.layouts import SPATIAL, data_letters, of_layout, packed, unpacked
from ....composites.padding import padded
from ....composites.resize import Resampling, resized
from ....composites.sampling import region_corner
from ....composites.tensors import cast, number, size_tensor
from ....core.expr import const
from ...values import Value, as_tensor, is_known, known_array, rank_of, shape_of
from .convolution import result_dtype
from .data_sizes import size_of, sizes_of
from .operands import of_equal_dims
from .registry import REQUIRED, Function, converts

_RESIZE = {1: image.resize1d, 2: image.resize2d, 3: image.resize3d}


def _resized_to(attrs: SimpleNamespace, data: ir.Value, sizes: Sequence[Any]) -> ir.Value:
    return _RESIZE[len(sizes)](
        data, list(sizes), attrs.roi or None, attrs.layout, attrs.method,
        attrs.coordinate_transformation_mode, attrs.rounding_method, float(attrs.cubic_alpha),
        int(attrs.cubic_exclude), float(attrs.extrapolation_value), result_dtype(attrs, data),
    )  # fmt: skip


def _resize(count: int) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        return _resized_to(attrs, data, numbers(attrs.size, count, "size"))

    return convert


for _count in (1, 2, 3):
    converts(
        f"image.resize{_count}d", size=REQUIRED, roi=None, layout=data_letters(_count),
        method="linear", coordinate_transformation_mode="half_pixel", rounding_method="round",
        cubic_alpha=-0.5, cubic_exclude=0, extrapolation_value=0.0, out_dtype="",
    )(_resize(_count))  # fmt: skip


@converts(
    "dyn.image.resize2d", raw=True, size=None, roi=None, layout="NCHW", method="linear",
    coordinate_transformation_mode="half_pixel", rounding_method="round", cubic_alpha=-0.5,
    cubic_exclude=0, extrapolation_value=0.0, out_dtype="",
)  # fmt: skip
def _resize_by_operands(attrs: SimpleNamespace, data: Value, size: Value, roi: Value) -> ir.Value:
    wanted = sizes_of(size, "size")
    if len(wanted) != 2:
        raise ValueError(f"expected size of 2 numbers, but got {len(wanted)}")
    if attrs.coordinate_transformation_mode == "tf_crop_and_resize":
        attrs.roi = known_array(roi, "roi").reshape(-1).tolist()
    return _resized_to(attrs, as_tensor(data), wanted)


def _upsampled(attrs: SimpleNamespace, x: ir.Value, mode: str, count: int) -> ir.Value:
    """Return images as many times as large as attributes say."""
    letters = data_letters(count)
    names = [f"scale_{letter.lower()}" for letter in SPATIAL[count]]
    scales = [getattr(attrs, name) for name in names]
    images = unpacked(of_layout(x, attrs.layout), attrs.layout, letters)
    method = attrs.method
    if method.startswith(("bi", "tri")):
        method = method.removeprefix("bi").removeprefix("tri")
    how = Resampling(method, mode)
    sizes: list[Any] = []
    for dim, scale in zip(shape_of(images)[2:], scales, strict=True):
        if isinstance(scale, ir.Value):
            wide = op.multiply(size_tensor(dim, "float32"), scale)
            wide = op.floor(op.add(wide, number(0.5, "float32")))
            sizes.append(size_of(op.astype(wide, "int64"), "a size"))
        elif isinstance(dim, int):
            sizes.append(math.floor(dim * scale + 0.5))
        elif scale.is_integer():
            sizes.append(dim * int(scale))
        else:
            raise NotImplementedError(
                f"expected a dimension of known size for scale {scale}, but got {dim}"
            )
    return packed(resized(images, sizes, how), letters, attrs.layout)


@converts(
    "nn.upsampling", scale_h=REQUIRED, scale_w=REQUIRED, layout="NCHW", method="nearest_neighbor",
    align_corners=False,
)  # fmt: skip
def _upsampling(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    mode = "align_corners" if attrs.align_corners else "asymmetric"
    return _upsampled(attrs, data, mode, 2)


@converts(
    "nn.upsampling3d", scale_d=REQUIRED, scale_h=REQUIRED, scale_w=REQUIRED, layout="NCDHW",
    method="nearest_neighbor", coordinate_transformation_mode="half_pixel",
)  # fmt: skip
def _upsampling3d(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return _upsampled(attrs, data, attrs.coordinate_transformation_mode, 3)


def _scale(value: Value) -> float | ir.Value:
    """Return a scale that is an operand as a number, or as a tensor of rank 0."""
    if not is_known(value):
        return op.reshape(cast(as_tensor(value), "float32"), [])
    array = known_array(value, "a scale")
    if array.size != 1:
        raise ValueError(f"expected one number as a scale, but got {array.size}")
    return float(array.reshape(-1)[0])


@converts(
    "dyn.nn.upsampling", raw=True, scale_h=None, scale_w=None, layout="NCHW",
    method="nearest_neighbor", align_corners=False,
)  # fmt: skip
def _upsampling_by_operands(
    attrs: SimpleNamespace, data: Value, scale_h: Value, scale_w: Value
) -> ir.Value:
    attrs.scale_h, attrs.scale_w = _scale(scale_h), _scale(scale_w)
    return _upsampling(attrs, as_tensor(data))


@converts(
    "dyn.nn.upsampling3d", raw=True, scale_d=None, scale_h=None, scale_w=None, layout="NCDHW",
    method="nearest_neighbor", coordinate_transformation_mode="half_pixel",
)  # fmt: skip
def _upsampling3d_by_operands(
    attrs: SimpleNamespace, data: Value, scale_d: Value, scale_h: Value, scale_w: Value
) -> ir.Value:
    attrs.scale_d = _scale(scale_d)
    attrs.scale_h, attrs.scale_w = _scale(scale_h), _scale(scale_w)
    return _upsampling3d(attrs, as_tensor(data))


# -- sampling -----------------------------------------------------------------------------------


@converts(
    "image.grid_sample", method="bilinear", layout="NCHW", padding_mode="zeros",
    align_corners=True,
)  # fmt: skip
def _grid_sample(attrs: SimpleNamespace, data: ir.Value, grid: ir.Value) -> ir.Value:
    # The coordinates of points are the second dimension.
    data, grid = of_equal_dims(data, grid, [(0, 0)])
    points = op.permute_dims(grid, [0, *range(2, rank_of(grid)), 1])
    return image.grid_sample(
        data, points, attrs.method, attrs.layout, attrs.padding_mode, bool(attrs.align_corners)
    )


@converts("image.affine_grid", target_shape=REQUIRED)
def _affine_grid(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return image.affine_grid(data, numbers(attrs.target_shape, 2, "target_shape"))


def _crop_places(boxes: ir.Value, axis: int, length: int, extent: Any) -> tuple[ir.Value, ir.Value]:
    """Return where the elements of boxes are along one dimension, and whether in the image."""
    begin, end = (
        op.strided_slice(boxes, [1], [i], [i + 1], [1], assume_inbound=True)
        for i in (axis, axis + 2)
    )
    last = op.subtract(size_tensor(extent, "float32"), number(1.0, "float32"))
    share = np.linspace(0, 1, length) if length > 1 else np.array([0.5])
    step = op.multiply(op.subtract(end, begin), const(share.astype("float32")))
    places = op.multiply(op.add(begin, step), last)
    inside = op.logical_and(
        op.greater_equal(places, number(0.0, "float32")), op.less_equal(places, last)
    )
    return op.clip(places, 0.0, 3.0e38), inside


def _crop_taps(places: ir.Value, extent: Any, is_nearest: bool) -> list[tuple[ir.Value, ir.Value]]:
    """Return the elements that count for places, and their shares."""
    last = op.subtract(size_tensor(extent), number(1, "int64"))
    one = number(1.0, "float32")
    floor = op.floor(op.add(places, number(0.5, "float32")) if is_nearest else places)
    first = op.minimum(op.astype(floor, "int64"), last)
    if is_nearest:
        return [(first, op.ones_like(places))]
    share = op.subtract(places, floor)
    second = op.minimum(op.add(first, number(1, "int64")), last)
    return [(first, op.subtract(one, share)), (second, share)]


@converts(
    "image.crop_and_resize", crop_size=REQUIRED, layout="NCHW", method="bilinear",
    extrapolation_value=0.0, out_dtype="",
)  # fmt: skip
def _crop_and_resize(
    attrs: SimpleNamespace, data: ir.Value, boxes: ir.Value, box_indices: ir.Value
) -> ir.Value:
    if attrs.method not in ("bilinear", "nearest_neighbor"):
        raise ValueError(f"expected method bilinear or nearest_neighbor, but got '{attrs.method}'")
    outer = numbers(attrs.crop_size, 2, "crop_size")
    boxes, box_indices = of_equal_dims(boxes, box_indices, [(0, 0)])
    x = unpacked(of_layout(data, attrs.layout), attrs.layout, "NCHW")
    edges, is_nearest = cast(boxes, "float32"), attrs.method == "nearest_neighbor"
    found = [_crop_places(edges, i, outer[i], shape_of(x)[2 + i]) for i in (0, 1)]
    down, right = (
        _crop_taps(places, shape_of(x)[2 + i], is_nearest) for i, (places, _) in enumerate(found)
    )
    rows = op.permute_dims(cast(x, "float32"), [0, 2, 3, 1])
    terms = [region_corner(rows, box_indices, *pair) for pair in itertools.product(down, right)]
    values = functools.reduce(op.add, terms)
    inside = op.logical_and(op.expand_dims(found[0][1], 2), op.expand_dims(found[1][1], 1))
    outside = number(attrs.extrapolation_value, "float32")
    values = op.where(op.expand_dims(inside, 3), values, outside)
    result = cast(op.permute_dims(values, [0, 3, 1, 2]), result_dtype(attrs, data))
    return packed(result, "NCHW", attrs.layout)


@converts(
    "image.dilation2d", strides=[1, 1], padding=[0, 0], dilations=[1, 1], data_layout="NCHW",
    kernel_layout="IHW", out_dtype="",
)  # fmt: skip
def _dilation(attrs: SimpleNamespace, data: ir.Value, weight: ir.Value) -> ir.Value:
    """Return the largest sums of elements and of those of a window."""
    kernel = unpacked(of_layout(weight, attrs.kernel_layout), attrs.kernel_layout, "IHW")
    channels, *window = shape_of(kernel)
    if not all(isinstance(size, int) for size in window):
        raise NotImplementedError(f"expected a window of known size, but got {window}")
    strides, dilations = (
        numbers(attrs.strides, 2, "strides"),
        numbers(attrs.dilations, 2, "dilations"),
    )
    pads = padding_numbers(attrs.padding, 2)
    # As TVM has it, there are zeros around the image.
    widths = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    image = padded(unpacked(of_layout(data, attrs.data_layout), attrs.data_layout, "NCHW"),
                   widths, "constant")  # fmt: skip
    lengths = [
        (shape_of(image)[2 + i] - (window[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in (0, 1)
    ]
    sums = []
    for place in np.ndindex(*window):
        begins = [place[i] * dilations[i] for i in (0, 1)]
        ends = [begins[i] + (lengths[i] - 1) * strides[i] + 1 for i in (0, 1)]
        part = op.strided_slice(image, [2, 3], begins, ends, strides, assume_inbound=True)
        each = op.strided_slice(
            kernel, [1, 2], list(place), [one + 1 for one in place], [1, 1], assume_inbound=True
        )
        sums.append(op.add(part, op.reshape(each, [1, channels, 1, 1])))
    largest = functools.reduce(op.maximum, sums)
    return packed(cast(largest, result_dtype(attrs, data)), "NCHW", attrs.data_layout)
