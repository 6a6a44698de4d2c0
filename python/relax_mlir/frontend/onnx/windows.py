# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move windows over tensors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.convolution import (
    CONVOLUTIONS,
    Convolution,
    along_channels,
    transposed,
    unsigned_bytes,
    with_padding,
)
from ...composites.padding import pad
from ...composites.pooling import places_of_largest
from ...composites.tensors import at_least, cast, number, product, size, size_tensor
from ...core.ir import Dim
from ..values import rank_of, shape_of
from .registry import Function, Node, converter


def _spatial(node: Node, name: str, count: int) -> list[int]:
    values = node.attr(name, [1] * count)
    if len(values) != count:
        raise ValueError(f"expected {count} {name}, but got {values}")
    return list(values)


def _padding(
    node: Node, dims: Sequence[int | Dim], kernel: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int],
) -> list[int | Dim]:  # fmt: skip
    """Return the padding before each spatial dimension, then after each."""
    count, kind = len(kernel), node.attr("auto_pad", "NOTSET")
    if kind == "NOTSET":
        pads = list(node.attr("pads", [0] * 2 * count))
        if len(pads) != 2 * count or min(pads, default=0) < 0:
            raise NotImplementedError(f"expected {2 * count} pads of 0 or more, but got {pads}")
        return pads
    if kind == "VALID":
        return [0] * 2 * count
    if kind not in ("SAME_UPPER", "SAME_LOWER"):
        raise ValueError(f"expected a known auto_pad, but got {kind}")
    begins, ends = [], []
    for dim, extent, stride, dilation in zip(dims, kernel, strides, dilations, strict=True):
        sides = _same_padding(dim, (extent - 1) * dilation + 1, stride)
        less, more = sides if kind == "SAME_UPPER" else sides[::-1]
        begins.append(less)
        ends.append(more)
    return begins + ends


def _same_padding(dim: int | Dim, reach: int, stride: int) -> tuple[int | Dim, int | Dim]:
    """Return the least padding of a dimension with a window for each multiple of the stride.

    Its halves differ by 1 at most; the first one is the smaller one.
    """
    total: int | Dim = reach - 1
    if stride > 1 and reach > 1:
        total = (((dim + (stride - 1)) // stride) - 1) * stride + reach - dim
        if isinstance(total, int) or reach < stride:
            total = at_least(total, 0)
    # It is never more than reach - 1.
    less = total // 2 if reach > 2 else 0
    return less, total - less


def _framed(
    x: ir.Value, padding: Sequence[int | Dim], value: float = 0
) -> tuple[ir.Value, list[int]]:
    """Return a tensor with the padding that depends on its size, and the rest of the padding.

    Operators that move windows take numbers as padding.
    """
    count = len(padding) // 2
    wide: list[int | Dim] = [0] * (2 * rank_of(x))
    rest: list[int] = [0] * (2 * count)
    for i in range(count):
        sides = [padding[i], padding[i + count]]
        known = [one for one in sides if isinstance(one, int)]
        if len(known) == len(sides):
            rest[i], rest[i + count] = known
        else:
            wide[2 + i], wide[2 + i + rank_of(x)] = sides
    if not any(isinstance(one, Dim) for one in wide):
        return x, rest
    return pad(x, wide, "constant", number(value, x.type.dtype)), rest


@converter("Conv")
def _conv(node: Node, x: ir.Value, weight: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    result = convolve(node, x, weight)
    return result if bias is None else op.add(result, along_channels(bias, rank_of(x)))


def convolve(node: Node, x: ir.Value, weight: ir.Value) -> ir.Value:
    """Return the convolution that the attributes of a node describe."""
    padding, attributes = _window_attributes(node, x, weight)
    x, known = _framed(x, padding)
    return CONVOLUTIONS[rank_of(x) - 2](x, weight, padding=known, **attributes)


def _window_attributes(
    node: Node, x: ir.Value, weight: ir.Value
) -> tuple[list[int | Dim], dict[str, Any]]:
    """Return the padding of a convolution, and its other attributes."""
    dims, count = shape_of(x)[2:], rank_of(x) - 2
    if count not in CONVOLUTIONS:
        raise NotImplementedError(f"expected 1 to 3 spatial dimensions, but got {count}")
    kernel = [_known(dim) for dim in shape_of(weight)[2:]]
    if node.attr("kernel_shape", kernel) != kernel:
        raise ValueError(f"expected kernel_shape={kernel}, but got {node.attr('kernel_shape')}")
    strides, dilations = _spatial(node, "strides", count), _spatial(node, "dilations", count)
    padding = _padding(node, dims, kernel, strides, dilations)
    return padding, {"strides": strides, "dilation": dilations, "groups": node.attr("group", 1)}


def _known(dim: Any) -> int:
    if not isinstance(dim, int):
        raise NotImplementedError(f"expected a kernel of known size, but got {dim}")
    return dim


@converter("ConvTranspose")
def _conv_transpose(
    node: Node, x: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    dims, count = shape_of(x)[2:], rank_of(x) - 2
    kernel = [_known(dim) for dim in shape_of(weight)[2:]]
    strides, dilations = _spatial(node, "strides", count), _spatial(node, "dilations", count)
    extra = list(node.attr("output_padding", [0] * count))
    reach = [(one - 1) * dilation + 1 for one, dilation in zip(kernel, dilations, strict=True)]
    # The dimensions of the result without padding.
    whole = [
        (dim - 1) * stride + more + one
        for dim, stride, more, one in zip(dims, strides, extra, reach, strict=True)
    ]
    padding = _transposed_padding(node, dims, whole, strides)
    how = Convolution(strides, padding, dilations, node.attr("group", 1), extra)
    result = transposed(x, weight, how, x.type.dtype)
    return result if bias is None else op.add(result, along_channels(bias, rank_of(x)))


def _transposed_padding(
    node: Node, dims: Sequence[Any], whole: Sequence[Any], strides: Sequence[int]
) -> list[int]:
    """Return what is taken away before each dimension, then after each."""
    count, kind = len(dims), node.attr("auto_pad", "NOTSET")
    wanted = node.attr("output_shape", None)
    if wanted is None and kind not in ("SAME_UPPER", "SAME_LOWER"):
        return [0] * 2 * count if kind == "VALID" else list(node.attr("pads", [0] * 2 * count))
    sizes = wanted or [dim * stride for dim, stride in zip(dims, strides, strict=True)]
    totals = [size(one - length) for one, length in zip(whole, sizes, strict=True)]
    if not all(isinstance(total, int) for total in totals):
        raise NotImplementedError(f"expected output_shape of known dimensions, but got {dims}")
    halves = [total // 2 for total in totals]
    rest = [total - half for total, half in zip(totals, halves, strict=True)]
    return halves + rest if kind == "SAME_UPPER" else rest + halves


_MAX = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


@dataclasses.dataclass(frozen=True)
class _Window:
    """How the window of a pool moves over a tensor.

    Parameters
    ----------
    kernel : list of int
        Its size.
    padding : list of int or Dim
        Before each spatial dimension, then after each.
    options : dict
        The other arguments of pools, by their names.
    """

    kernel: list[int]
    padding: list[int | Dim]
    options: dict[str, Any]

    def largest(self, x: ir.Value) -> ir.Value:
        """Return the largest elements of windows; padding does not count."""
        x, padding = _framed(x, self.padding, _least(x.type.dtype))
        return _MAX[len(self.kernel)](x, self.kernel, padding=padding, **self.options)

    def means(self, x: ir.Value, is_counted: bool) -> ir.Value:
        """Return the means of windows, with padding as zeros or without it."""
        wide, padding = _framed(x, self.padding)
        if wide is x:
            return self._average(x, padding, is_counted)
        means = self._average(wide, padding, True)
        if is_counted:
            return means
        ones = op.ones([1, 1, *shape_of(x)[2:]], x.type.dtype)
        # How much of each window is not padding.
        return op.divide(means, self._average(_framed(ones, self.padding)[0], padding, True))

    def _average(self, x: ir.Value, padding: list[int], is_counted: bool) -> ir.Value:
        return _AVG[len(self.kernel)](
            x, self.kernel, padding=padding, count_include_pad=is_counted, **self.options
        )


def _least(dtype: str) -> float:
    """Return the least number of a data type."""
    return np.iinfo(dtype).min if dtype.startswith(("int", "uint")) else -math.inf


def _window(node: Node, x: ir.Value) -> _Window:
    count = rank_of(x) - 2
    if count not in _MAX:
        raise NotImplementedError(f"expected 1 to 3 spatial dimensions, but got {count}")
    kernel = list(node.attr("kernel_shape"))
    strides, dilations = _spatial(node, "strides", count), _spatial(node, "dilations", count)
    padding = _padding(node, shape_of(x)[2:], kernel, strides, dilations)
    ceil = bool(node.attr("ceil_mode", 0))
    options = {"strides": strides, "dilation": dilations, "ceil_mode": ceil}
    return _Window(kernel, padding, options)


@converter("MaxPool")
def _max_pool(node: Node, x: ir.Value) -> ir.Value:
    window = _window(node, x)
    result = window.largest(x)
    return (result, _places(node, x, result, window)) if node.wants(1) else result


def _places(node: Node, x: ir.Value, pooled: ir.Value, window: _Window) -> ir.Value:
    """Return where in a flat tensor the first largest element of each window is."""
    dims, count = shape_of(x), len(window.kernel)
    place = places_of_largest(
        x, pooled, window.kernel, window.options["strides"], window.padding,
        window.options["dilation"], by_column=bool(node.attr("storage_order", 0)),
    )  # fmt: skip
    batch = op.arange(0, dims[0] * dims[1], 1, "int64")
    begins = op.multiply(batch, size_tensor(product(dims[2:])))
    return op.add(op.reshape(begins, [*dims[:2], *[1] * count]), place)


@converter("AveragePool")
def average_pool(node: Node, x: ir.Value) -> ir.Value:
    """Return the means of windows that the attributes of a node describe."""
    return _window(node, x).means(x, bool(node.attr("count_include_pad", 0)))


@converter("LpPool")
def _lp_pool(node: Node, x: ir.Value) -> ir.Value:
    window = _window(node, x)
    if window.options["ceil_mode"]:
        raise NotImplementedError("expected ceil_mode=0")
    p, dtype = node.attr("p", 2), x.type.dtype
    powers = op.power(op.abs(x), number(p, dtype))
    # The sum is the mean times the number of elements.
    sums = op.multiply(window.means(powers, True), number(product(window.kernel), dtype))
    return op.power(sums, number(1 / p, dtype))


def _global(reduce: Any) -> Function:
    def convert(_: Node, x: ir.Value) -> ir.Value:
        return reduce(x, list(range(2, rank_of(x))), True)

    return convert


converter("GlobalAveragePool")(_global(op.mean))
converter("GlobalMaxPool")(_global(op.max))


@converter("GlobalLpPool")
def _global_lp_pool(node: Node, x: ir.Value) -> ir.Value:
    p, dtype = node.attr("p", 2), x.type.dtype
    powers = op.power(op.abs(x), number(p, dtype))
    return op.power(op.sum(powers, list(range(2, rank_of(x))), True), number(1 / p, dtype))


@converter("ConvInteger")
def _conv_integer(
    node: Node, x: ir.Value, weight: ir.Value, x_zero: ir.Value | None = None,
    weight_zero: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    return integer_convolution(node, x, weight, x_zero, weight_zero)


def integer_convolution(
    node: Node, x: ir.Value, weight: ir.Value, x_zero: ir.Value | None, weight_zero: ir.Value | None
) -> ir.Value:
    """Return the convolution of integers less their zero points, as int32.

    Processors multiply unsigned bytes by signed ones: weights of those are not widened where their
    zero point is 0, and that of `x` is known.
    """
    shift = 0 if x_zero is None else _known_integer(x_zero)
    is_signed = weight.type.dtype == "int8" and (weight_zero is None or is_zero(weight_zero))
    if is_signed and shift is not None and x.type.dtype in ("int8", "uint8"):
        return _byte_convolution(node, x, shift, weight)
    wide, kernel = cast(x, "int32"), cast(weight, "int32")
    if x_zero is not None:
        wide = op.subtract(wide, cast(op.reshape(x_zero, []), "int32"))
    if weight_zero is not None:
        zero = cast(weight_zero, "int32")
        if rank_of(zero) == 1:
            zero = op.expand_dims(zero, list(range(1, rank_of(weight))))
        kernel = op.subtract(kernel, zero)
    return convolve(node, wide, kernel)


def _known_integer(value: ir.Value) -> int | None:
    """Return the integer that all elements of a small constant are; None of anything else."""
    if not isinstance(value.owner, (ir.Operation, ir.OpView)):
        return None
    found = value.owner.operation
    elements = found.attributes["value"] if found.name == "relax.constant" else None
    if not isinstance(elements, ir.DenseElementsAttr) or not elements.is_splat:
        return None
    return int(ir.IntegerAttr(elements.get_splat_value()).value)


def is_zero(value: ir.Value) -> bool:
    """Say whether a zero point is known to be 0."""
    return _known_integer(value) == 0


def _byte_convolution(node: Node, x: ir.Value, shift: int, weight: ir.Value) -> ir.Value:
    """Return the convolution of `x - shift`, which is padded with zeros, by signed bytes."""
    x, shift = unsigned_bytes(x, shift)
    padding, attributes = _window_attributes(node, x, weight)
    x, known = _framed(x, padding, shift)
    if shift != 0 and any(known):
        x, known = with_padding(x, known, shift), [0] * len(known)
    convolution = CONVOLUTIONS[rank_of(x) - 2]
    total = convolution(x, weight, padding=known, out_dtype="int32", **attributes)
    if shift == 0:
        return total
    sums = op.sum(op.astype(weight, "int32"), list(range(1, rank_of(weight))))
    added = op.multiply(sums, number(shift, "int32"))
    return op.subtract(total, along_channels(added, rank_of(x)))
