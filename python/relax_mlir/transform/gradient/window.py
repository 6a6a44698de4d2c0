# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of convolutions and pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import op
from ...composites.convolution_gradients import (
    ConvWindow,
    conv_data_gradient,
    conv_weight_gradient,
)
from ...composites.pool_gradients import (
    PoolWindow,
    adaptive_avg_pool_gradient,
    avg_pool_gradient,
    max_pool_gradient,
)
from .registry import Contribution, Forward, gradient
from .shapes import dims_of

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def arranged(x: Any, layout: str, wanted: str) -> Any:
    """Return a tensor of one layout in another one."""
    return x if layout == wanted else op.permute_dims(x, [layout.index(each) for each in wanted])


@dataclass(frozen=True)
class _Window:
    """How a window moves: a number for each spatial dimension."""

    strides: list[int]
    dilation: list[int]
    before: list[int]
    after: list[int]

    @staticmethod
    def of(f: Forward, count: int) -> _Window:
        """Return that of a convolution or pool."""
        padding = f.attribute("padding", [0] * (2 * count))
        return _Window(
            f.attribute("strides", [1] * count),
            f.attribute("dilation", [1] * count),
            padding[:count],
            padding[count:],
        )


# ------------------------------------------------------------------------------
# Convolution
# ------------------------------------------------------------------------------


@gradient("conv1d", "conv2d", "conv3d")
def _conv(f: Forward, g: Any) -> list[Contribution]:
    x, weight = f.operands
    letters = _LETTERS[x.type.ndim - 2]
    data_layout = f.attribute("data_layout", "NC" + letters)
    kernel_layout = f.attribute("kernel_layout", "OI" + letters)
    out_layout = f.attribute("out_layout") or data_layout
    dtype = f.result.type.dtype
    x_first = arranged(_cast(x, dtype), data_layout, "NC" + letters)
    w_first = arranged(_cast(weight, dtype), kernel_layout, "OI" + letters)
    g_first = arranged(g, out_layout, "NC" + letters)

    window = _conv_window(f, len(letters))

    def of_data() -> Any:
        made = conv_data_gradient(f.emit_te, g_first, w_first, dims_of(x_first), window)
        return _cast(arranged(made, "NC" + letters, data_layout), x.type.dtype)

    def of_weight() -> Any:
        made = conv_weight_gradient(f.emit_te, g_first, x_first, dims_of(w_first), window)
        return _cast(arranged(made, "OI" + letters, kernel_layout), weight.type.dtype)

    return [of_data, of_weight]


def _cast(x: Any, dtype: str) -> Any:
    return x if x.type.dtype == dtype else op.astype(x, dtype)


def _conv_window(f: Forward, count: int) -> ConvWindow:
    window = _Window.of(f, count)
    return ConvWindow(window.strides, window.dilation, window.before, f.attribute("groups", 1))


# ------------------------------------------------------------------------------
# Pooling
# ------------------------------------------------------------------------------


def _pool_layouts(f: Forward) -> tuple[str, str, str]:
    """Return the layouts of the data, of the result, and the one with channels first."""
    first = "NC" + _LETTERS[f.operands[0].type.ndim - 2]
    layout = f.attribute("layout", first)
    return layout, f.attribute("out_layout") or layout, first


@gradient("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(f: Forward, g: Any) -> list[Contribution]:
    layout, out_layout, first = _pool_layouts(f)
    made = max_pool_gradient(
        f.emit_te,
        arranged(f.operands[0], layout, first),
        arranged(f.result, out_layout, first),
        arranged(g, out_layout, first),
        _pool_window(f),
    )
    return [arranged(made, first, layout)]


@gradient("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(f: Forward, g: Any) -> list[Contribution]:
    layout, out_layout, first = _pool_layouts(f)
    made = avg_pool_gradient(
        f.emit_te,
        arranged(f.operands[0], layout, first),
        arranged(g, out_layout, first),
        _pool_window(f),
        f.attribute("count_include_pad", False),
    )
    return [arranged(made, first, layout)]


def _pool_window(f: Forward) -> PoolWindow:
    window = _Window.of(f, f.operands[0].type.ndim - 2)
    return PoolWindow(
        f.attribute("pool_size"), window.strides, window.dilation, window.before, window.after
    )


@gradient("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_avg_pool(f: Forward, g: Any) -> list[Contribution]:
    layout, out_layout, first = _pool_layouts(f)
    (x,) = f.operands
    sizes = dims_of(arranged(x, layout, first))[2:]
    made = adaptive_avg_pool_gradient(f.emit_te, arranged(g, out_layout, first), sizes)
    return [arranged(made, first, layout)]
