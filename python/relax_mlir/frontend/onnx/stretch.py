# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing of symbolic dimensions: the program finds which elements count, and how much."""

from __future__ import annotations

import dataclasses
import fractions
import math

from mlir import ir

from ... import op
from ...composites.tensors import cast, number, same, size, size_tensor
from ...core.ir import Dim
from ..values import rank_of, shape_of
from .registry import Node

_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
# Of a scale as a quotient, so that lengths are expressions.
_LARGEST_DIVISOR = 64


@dataclasses.dataclass(frozen=True)
class Stretch:
    """How one dimension is resized.

    Parameters
    ----------
    axis : int
    size : int or Dim
    length : int or Dim
        The size of the result.
    scale : float, optional
        By default the quotient of both.
    """

    axis: int
    size: int | Dim
    length: int | Dim
    scale: float | None = None

    @property
    def times(self) -> int:
        """How many times each element is there, if that is a whole number; else 0."""
        if self.scale is not None:
            return int(self.scale) if self.scale.is_integer() else 0
        dims = [Dim(one) for one in (self.size, self.length)]
        names = sorted({name for dim in dims for name in dim.variables})
        # A multiple is what it is for one choice of sizes, if it is so for all.
        sample = {name: 101 + 6 * i for i, name in enumerate(names)}
        divisor, wanted = (dim.evaluate(sample) or 0 for dim in dims)
        times = wanted // divisor if divisor else 0
        return times if times and same(self.size * times, self.length) else 0


def scaled_length(extent: int | Dim, scale: float) -> int | Dim:
    """Return a size times a scale, without what is beyond the point.

    Raises
    ------
    NotImplementedError
        If it has no expression.
    """
    if isinstance(extent, int):
        return math.floor(extent * scale)
    quotient = fractions.Fraction(scale)
    if quotient.denominator > _LARGEST_DIVISOR:
        raise NotImplementedError(
            f"expected scales that are quotients of small numbers for a dimension {extent}, but "
            f"got {scale}: give sizes, or known dimensions"
        )
    return size(extent * quotient.numerator // quotient.denominator)


def stretched(node: Node, x: ir.Value, stretches: list[Stretch]) -> ir.Value:
    """Return a tensor with some dimensions resized, one after the other."""
    mode = node.attr("mode", "nearest")
    if mode not in ("nearest", "linear"):
        raise NotImplementedError(f"expected known dimensions for mode {mode}")
    if node.attr("antialias", 0) or node.attr("exclude_outside", 0):
        raise NotImplementedError("expected known dimensions for antialias and exclude_outside")
    if node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotImplementedError("expected known dimensions for keep_aspect_ratio_policy")
    name = node.attr("coordinate_transformation_mode", "half_pixel")
    if name not in _COORDINATES:
        raise NotImplementedError(f"expected known dimensions for {name}")
    dtype = x.type.dtype
    if mode == "linear" and not dtype.startswith(("float", "bfloat")):
        raise NotImplementedError(f"expected floats for mode {mode}, but got {dtype}")
    result = x if mode == "nearest" or dtype == "float64" else cast(x, "float32")
    for stretch in stretches:
        if stretch.times == 1:
            continue
        if mode == "nearest" and stretch.times and _repeats(node):
            result = op.repeat(result, stretch.times, stretch.axis)
            continue
        places = _places(node, stretch)
        function = _nearest if mode == "nearest" else _linear
        result = function(node, result, stretch, places)
    return cast(result, dtype)


def _repeats(node: Node) -> bool:
    """Say whether a resize by a whole number repeats each element so often."""
    name = node.attr("coordinate_transformation_mode", "half_pixel")
    rounding = node.attr("nearest_mode", "round_prefer_floor")
    # The middle of an element of the result is never at the border of two others.
    halves = name in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round")
    return halves or (name == "asymmetric" and rounding == "floor")


def _number(value: float) -> ir.Value:
    return number(value, "float64")


def _places(node: Node, stretch: Stretch) -> ir.Value:
    """Return where in the input the elements of the result are."""
    name = node.attr("coordinate_transformation_mode", "half_pixel")
    x = op.astype(op.arange(0, stretch.length, 1, "int64"), "float64")
    extent = size_tensor(stretch.size, "float64")
    if stretch.scale is not None:
        scale = _number(stretch.scale)
        exact = op.multiply(extent, scale)
    else:
        exact = size_tensor(stretch.length, "float64")
        scale = op.divide(exact, extent)
    one, half = _number(1.0), _number(0.5)
    if name == "asymmetric":
        return op.divide(x, scale)
    if name == "align_corners":
        ratio = op.divide(op.subtract(extent, one), op.subtract(exact, one))
        return op.where(op.equal(exact, one), _number(0.0), op.multiply(x, ratio))
    middle = op.subtract(op.divide(op.add(x, half), scale), half)
    if name == "pytorch_half_pixel":
        return op.where(op.greater(exact, one), middle, _number(0.0))
    return middle


def _index(places: ir.Value, stretch: Stretch) -> ir.Value:
    """Return the nearest places in the input, as indices."""
    last = op.subtract(size_tensor(stretch.size), number(1, "int64"))
    whole = op.astype(places, "int64")
    return op.maximum(op.minimum(whole, last), number(0, "int64"))


def _nearest(node: Node, x: ir.Value, stretch: Stretch, places: ir.Value) -> ir.Value:
    rounding, half = node.attr("nearest_mode", "round_prefer_floor"), _number(0.5)
    if rounding == "floor":
        whole = op.floor(places)
    elif rounding == "ceil":
        whole = op.ceil(places)
    elif rounding == "round_prefer_ceil":
        whole = op.floor(op.add(places, half))
    else:
        node.refuse("nearest_mode", "round_prefer_floor", default="round_prefer_floor")
        whole = op.ceil(op.subtract(places, half))
    return op.take(x, _index(whole, stretch), stretch.axis)


def _linear(_: Node, x: ir.Value, stretch: Stretch, places: ir.Value) -> ir.Value:
    floor = op.floor(places)
    shape: list[int | Dim] = [1] * rank_of(x)
    shape[stretch.axis] = shape_of(places)[0]
    dtype = x.type.dtype
    share = op.reshape(cast(op.subtract(places, floor), dtype), shape)
    rest = op.subtract(number(1, dtype), share)
    first = op.take(x, _index(floor, stretch), stretch.axis)
    second = op.take(x, _index(op.add(floor, _number(1.0)), stretch), stretch.axis)
    return op.add(op.multiply(first, rest), op.multiply(second, share))
