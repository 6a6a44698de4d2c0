# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import op
from ...composites.pool_gradients import PoolWindow, avg_pool_gradient, max_pool_gradient
from ...core.ir import Dim
from . import window_kernels as _kernels
from .registry import Contribution, Forward, gradient
from .shapes import dims_of, product

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

    def of_data() -> Any:
        made = _conv_data(f, g_first, w_first, dims_of(x_first))
        return _cast(arranged(made, "NC" + letters, data_layout), x.type.dtype)

    def of_weight() -> Any:
        made = _conv_weight(f, g_first, x_first, dims_of(w_first))
        return _cast(arranged(made, "OI" + letters, kernel_layout), weight.type.dtype)

    return [of_data, of_weight]


def _cast(x: Any, dtype: str) -> Any:
    return x if x.type.dtype == dtype else op.astype(x, dtype)


def _conv_data(f: Forward, g: Any, weight: Any, dims: Sequence[Dim]) -> Any:
    """Return the gradient of the data: a convolution of the gradient, with zeros in between."""
    count = len(dims) - 2
    window, groups = _Window.of(f, count), f.attribute("groups", 1)
    kernel = dims_of(weight)[2:]
    reach = [(size - 1) * hole for size, hole in zip(kernel, window.dilation, strict=True)]
    sizes = list(dims[2:])
    wide = f.emit_te(
        _kernels.spread_for_data,
        g,
        strides=window.strides,
        before=[r - pad for r, pad in zip(reach, window.before, strict=True)],
        sizes=[size + r for size, r in zip(sizes, reach, strict=True)],
        primfunc_name_hint="conv_backward_spread",
    )
    made = _CONV[count](wide, _mirrored(weight, groups), dilation=window.dilation, groups=groups)
    return _shaped(made, [*dims_of(g)[:1], dims[1], *sizes])


_CONV = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}


def _shaped(x: Any, dims: Sequence[Dim]) -> Any:
    """Return a tensor whose dimensions are equal to others, with those as its own."""
    return x if list(x.type.shape) == list(dims) else op.reshape(x, dims)


def _mirrored(weight: Any, groups: int) -> Any:
    """Return weights with input and output channels exchanged in each group, and mirrored."""
    outputs, inputs, *kernel = dims_of(weight)
    count = len(kernel)
    by_group = op.reshape(weight, [groups, outputs // groups, inputs, *kernel])
    turned = op.permute_dims(by_group, [0, 2, 1, *range(3, 3 + count)])
    mirrored = op.reshape(turned, [inputs * groups, outputs // groups, *kernel])
    for axis in range(2, 2 + count):
        mirrored = op.flip(mirrored, axis)
    return mirrored


def _conv_weight(f: Forward, g: Any, x: Any, dims: Sequence[Dim]) -> Any:
    """Return the gradient of the weights: the product of the gradient and all windows."""
    count = len(dims) - 2
    window, groups = _Window.of(f, count), f.attribute("groups", 1)
    batch, outputs, *places = dims_of(g)
    windows = f.emit_te(
        _kernels.windows,
        x,
        groups=groups,
        kernel=list(dims[2:]),
        places=places,
        strides=window.strides,
        dilation=window.dilation,
        before=window.before,
        primfunc_name_hint="conv_backward_windows",
    )
    rows, columns = product([batch, *places]), product(dims[1:])
    by_group = op.reshape(g, [batch, groups, outputs // groups, product(places)])
    left = op.reshape(op.permute_dims(by_group, [1, 2, 0, 3]), [groups, outputs // groups, rows])
    made = op.matmul(left, op.reshape(windows, [groups, rows, columns]))
    return op.reshape(made, dims)


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
    made = f.emit_te(
        _kernels.spread_to_parts,
        arranged(g, out_layout, first),
        sizes=dims_of(arranged(x, layout, first))[2:],
        primfunc_name_hint="adaptive_avg_pool_backward",
    )
    return [arranged(made, first, layout)]
