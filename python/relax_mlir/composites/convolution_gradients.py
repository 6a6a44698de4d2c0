# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of convolutions, and their kernels as tensor expressions.

Channels are the second dimension, spatial dimensions come after it. A window at the place `q` of
the result has the elements `q * stride + tap * dilation - before` of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .. import op, te
from ..core.ir import Dim
from .convolution import CONVOLUTIONS, mirrored_kernel
from .tensors import product, shape_of

Tensor = te.Tensor


@dataclass(frozen=True)
class ConvWindow:
    """How the window of a convolution moves: a number for each spatial dimension.

    Attributes
    ----------
    strides, dilation : sequence of int
    before : sequence of int
        The padding before the data.
    groups : int
    """

    strides: Sequence[int]
    dilation: Sequence[int]
    before: Sequence[int]
    groups: int


def conv_data_gradient(
    emit_te: Callable[..., Any],
    g: ir.Value,
    weight: ir.Value,
    dims: Sequence[int | Dim],
    window: ConvWindow,
) -> ir.Value:
    """Return the gradient of the data: a convolution of the gradient, with zeros in between.

    Parameters
    ----------
    emit_te : callable
        Calls a function of tensor expressions as a kernel, as `BlockBuilder.call_te` does.
    g : mlir.ir.Value
        The gradient of the result.
    weight : mlir.ir.Value
        Of the dimensions output channel, input channel of a group, and those of the window.
    dims : sequence of int or Dim
        The dimensions of the data.
    window : ConvWindow
    """
    groups, kernel = window.groups, shape_of(weight)
    reach = [(size - 1) * hole for size, hole in zip(kernel[2:], window.dilation, strict=True)]
    sizes = list(dims[2:])
    wide = emit_te(
        spread_for_data,
        g,
        strides=window.strides,
        before=[r - pad for r, pad in zip(reach, window.before, strict=True)],
        sizes=[size + r for size, r in zip(sizes, reach, strict=True)],
        primfunc_name_hint="conv_backward_spread",
    )
    mirrored = mirrored_kernel(weight, kernel, groups)
    convolve = CONVOLUTIONS[len(sizes)]
    made = convolve(wide, mirrored, dilation=list(window.dilation), groups=groups)
    return _shaped(made, [*shape_of(g)[:1], dims[1], *sizes])


def _shaped(x: ir.Value, dims: Sequence[int | Dim]) -> ir.Value:
    """Return a tensor whose dimensions are equal to others, with those as its own."""
    return (
        x
        if [Dim(one) for one in shape_of(x)] == [Dim(one) for one in dims]
        else op.reshape(x, dims)
    )


def conv_weight_gradient(
    emit_te: Callable[..., Any],
    g: ir.Value,
    x: ir.Value,
    dims: Sequence[int | Dim],
    window: ConvWindow,
) -> ir.Value:
    """Return the gradient of the weight: the product of the gradient and all windows.

    Parameters
    ----------
    emit_te : callable
        Calls a function of tensor expressions as a kernel, as `BlockBuilder.call_te` does.
    g, x : mlir.ir.Value
        The gradient of the result, and the data.
    dims : sequence of int or Dim
        The dimensions of the weight.
    window : ConvWindow
    """
    groups = window.groups
    batch, outputs, *places = shape_of(g)
    taken = emit_te(
        windows,
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
    made = op.matmul(left, op.reshape(taken, [groups, rows, columns]))
    return op.reshape(made, dims)


# ------------------------------------------------------------------------------
# Kernels
# ------------------------------------------------------------------------------


def spread_for_data(
    g: Tensor, strides: Sequence[int], before: Sequence[Any], sizes: Sequence[Any]
) -> Tensor:
    """Return a tensor with zeros between its elements and around them, or cut where negative."""

    def value(n: Any, c: Any, *at: Any) -> Any:
        places, hits = [], []
        for i, stride, pad, dim in zip(at, strides, before, g.shape[2:], strict=True):
            offset = i - pad
            place = te.floordiv(offset, stride)
            places.append(place)
            hits += [offset >= 0, place < dim]
            if stride != 1:
                hits.append(te.floormod(offset, stride).equal(0))
        return te.if_then_else(te.all(*hits), g(n, c, *places), te.const(0, g.dtype))

    return te.compute((*g.shape[:2], *sizes), value)


def windows(
    x: Tensor,
    groups: int,
    kernel: Sequence[Any],
    places: Sequence[Any],
    strides: Sequence[int],
    dilation: Sequence[int],
    before: Sequence[int],
) -> Tensor:
    """Return all windows, of the dimensions group, batch, places, channel of the group, taps."""
    count = len(kernel)
    batch, channels, *sizes = x.shape
    inner = te.floordiv(channels, groups)

    def value(*i: Any) -> Any:
        group, n, c = i[0], i[1], i[2 + count]
        at, inside = [], []
        for d in range(count):
            place = i[2 + d] * strides[d] + i[3 + count + d] * dilation[d] - before[d]
            at.append(place)
            inside += [place >= 0, place < sizes[d]]
        return te.if_then_else(te.all(*inside), x(n, group * inner + c, *at), te.const(0, x.dtype))

    return te.compute((groups, batch, *places, inner, *kernel), value)
