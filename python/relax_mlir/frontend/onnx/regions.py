# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling of images at shifted places, and in regions of interest."""

from __future__ import annotations

import functools

from mlir import ir

from ... import op
from ...composites.convolution import along_channels
from ...composites.sampling import Deformation, bins_of_samples, deform_conv, region_terms
from ...composites.tensors import cast, number
from .registry import Node, converter


@converter("DeformConv", since=19)
def _deform_conv(
    node: Node, x: ir.Value, weight: ir.Value, offset: ir.Value, bias: ir.Value | None = None,
    mask: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    how = Deformation(
        node.attr("strides", [1, 1]), node.attr("dilations", [1, 1]), node.attr("pads", [0] * 4),
        node.attr("group", 1), node.attr("offset_group", 1),
    )  # fmt: skip
    result = deform_conv(x, weight, offset, mask, how)
    return result if bias is None else op.add(result, along_channels(bias, 4))


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
    scale = number(node.attr("spatial_scale", 1.0), "float32")
    edges = op.multiply(cast(rois, "float32"), scale)
    edges = op.subtract(edges, number(0.5, "float32")) if half else edges
    terms = region_terms(x, edges, images, outer, samples, not half)
    is_mean = node.attr("mode", "avg") == "avg"
    values = functools.reduce(op.add if is_mean else op.maximum, terms)
    return cast(bins_of_samples(values, outer, samples, is_mean), x.type.dtype)
