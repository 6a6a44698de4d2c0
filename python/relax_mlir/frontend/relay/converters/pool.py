# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling: of windows, of whole images, and of parts of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from mlir import ir

from .... import op, topi
from ....composites.convolution import numbers, padding_numbers
from ....composites.kernels import call_te
from ....composites.layouts import SPATIAL, data_letters, is_plain, packed, unpacked
from ....composites.tensors import number
from ...values import Operator, rank_of, shape_of
from .registry import REQUIRED, Function, converts

_MAX = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}
_ADAPTIVE = {
    1: op.nn.adaptive_avg_pool1d,
    2: op.nn.adaptive_avg_pool2d,
    3: op.nn.adaptive_avg_pool3d,
}


def _in_layout(function: Operator, attrs: SimpleNamespace, x: ir.Value, count: int) -> ir.Value:
    """Apply a function of images to a tensor of the layout that attributes give.

    Parameters
    ----------
    function : callable
        Called with a tensor, its layout, and that of the result.
    attrs : namespace
    x : mlir.ir.Value
    count : int
        The number of spatial dimensions.
    """
    letters = data_letters(count)
    layout, out_layout = attrs.layout, attrs.out_layout or attrs.layout
    if is_plain(layout, letters) and is_plain(out_layout, letters):
        if rank_of(x) != count + 2:
            raise ValueError(f"expected data of rank {count + 2}, but got rank {rank_of(x)}")
        return function(x, layout, out_layout)
    return packed(function(unpacked(x, layout, letters), letters, letters), letters, out_layout)


def pool(
    attrs: SimpleNamespace, x: ir.Value, operator: Operator, count: int, **options: Any
) -> ir.Value:
    """Return the result of windows that attributes describe.

    Parameters
    ----------
    attrs : namespace
        Those of a pooling of `count` spatial dimensions.
    x : mlir.ir.Value
    operator : callable
    count : int
    **options
        More arguments of the operator.

    Raises
    ------
    ValueError
        If the attributes do not fit the tensor.
    """
    kernel = numbers(attrs.pool_size, count, "pool_size")
    window = {
        "strides": numbers(attrs.strides, count, "strides"),
        "padding": padding_numbers(attrs.padding, count),
        "dilation": numbers(attrs.dilation, count, "dilation"),
        "ceil_mode": bool(attrs.ceil_mode),
        **options,
    }

    def apply(one: ir.Value, layout: str, out_layout: str) -> ir.Value:
        return operator(one, kernel, layout=layout, out_layout=out_layout, **window)

    return _in_layout(apply, attrs, x, count)


def pool_attrs(count: int) -> dict[str, Any]:
    """Return the attributes of pooling with their defaults."""
    return {
        "pool_size": REQUIRED, "strides": [1] * count, "dilation": [1] * count,
        "padding": [0] * count, "layout": data_letters(count), "out_layout": "",
        "ceil_mode": False,
    }  # fmt: skip


def _max_pool(count: int) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        largest = pool(attrs, data, _MAX[count], count)
        return _finite(largest) if _may_be_outside(attrs, count) else largest

    return convert


def _may_be_outside(attrs: SimpleNamespace, count: int) -> bool:
    """Say whether some window of a pooling may have nothing but what is around the image."""
    sizes = zip(
        numbers(attrs.pool_size, count, "pool_size"),
        numbers(attrs.dilation, count, "dilation"),
        strict=True,
    )
    widths = [(size - 1) * dilation + 1 for size, dilation in sizes]
    pads = padding_numbers(attrs.padding, count)
    return any(pad >= width for pad, width in zip(pads, [*widths, *widths], strict=True))


def _finite(largest: ir.Value) -> ir.Value:
    """Return maxima that are at least the least finite number, TVM's of no numbers."""
    dtype = largest.type.dtype
    if not dtype.startswith("float"):
        return largest
    return op.maximum(largest, number(float(np.finfo(dtype).min), dtype))


def average_pool(attrs: SimpleNamespace, x: ir.Value, count: int) -> ir.Value:
    """Return the means of windows that attributes describe."""
    counted = bool(attrs.count_include_pad)
    return pool(attrs, x, _AVG[count], count, count_include_pad=counted)


def _avg_pool(count: int) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        return average_pool(attrs, data, count)

    return convert


for _count in (1, 2, 3):
    converts(f"nn.max_pool{_count}d", **pool_attrs(_count))(_max_pool(_count))
    converts(f"nn.avg_pool{_count}d", **pool_attrs(_count), count_include_pad=False)(
        _avg_pool(_count)
    )


def _global(reduce: Operator) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        def apply(one: ir.Value, layout: str, out_layout: str) -> ir.Value:
            result = reduce(one, [layout.index("H"), layout.index("W")], True)
            return packed(unpacked(result, layout, "NCHW"), "NCHW", out_layout)

        return _in_layout(apply, attrs, data, 2)

    return convert


converts("nn.global_avg_pool2d", layout="NCHW", out_layout="")(_global(op.mean))
converts("nn.global_max_pool2d", layout="NCHW", out_layout="")(_global(op.max))


def _sizes(attrs: SimpleNamespace, x: ir.Value, layout: str, count: int) -> list[Any]:
    """Return how many windows there are along each dimension.

    Without any there are as many as elements; one number is that of all dimensions.
    """
    given = attrs.output_size
    sizes = [int(one) for one in (given if isinstance(given, (list, tuple)) else [given])]
    if not sizes:
        return [shape_of(x)[layout.index(letter)] for letter in SPATIAL[count]]
    return numbers(sizes, count, "output_size")


def _adaptive(count: int, is_max: bool) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        def apply(one: ir.Value, layout: str, out_layout: str) -> ir.Value:
            sizes = _sizes(attrs, one, layout, count)
            if not is_max and all(isinstance(size, int) for size in sizes):
                return _ADAPTIVE[count](one, sizes, layout, out_layout)
            if not attrs.output_size:
                # Windows of one element.
                return packed(unpacked(one, layout, data_letters(count)),
                              data_letters(count), out_layout)  # fmt: skip
            result = _largest(one, sizes, layout, count)
            letters = data_letters(count)
            return packed(unpacked(result, layout, letters), letters, out_layout)

        return _in_layout(apply, attrs, data, count)

    return convert


def _largest(x: ir.Value, sizes: list[Any], layout: str, count: int) -> ir.Value:
    axes = [layout.index(letter) for letter in SPATIAL[count]]
    if all(size == 1 for size in sizes):
        return op.max(x, axes, True)
    function = {
        1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d,
    }[count]  # fmt: skip
    return call_te(function, x, sizes, "max", layout)


for _count in (1, 2, 3):
    _attrs: dict[str, Any] = {"output_size": (), "layout": data_letters(_count), "out_layout": ""}
    converts(f"nn.adaptive_avg_pool{_count}d", **_attrs)(_adaptive(_count, False))
    converts(f"nn.adaptive_max_pool{_count}d", **_attrs)(_adaptive(_count, True))
