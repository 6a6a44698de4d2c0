# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of pools, and their kernels as tensor expressions.

Channels are the second dimension, spatial dimensions come after it. A window at the place `q` of
the result has the elements `q * stride + tap * dilation - before` of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .. import te
from ..core.ir import Dim
from .tensors import shape_of

Tensor = te.Tensor


@dataclass(frozen=True)
class PoolWindow:
    """How the window of a pool moves: a number for each spatial dimension.

    Attributes
    ----------
    kernel, strides, dilation : sequence of int
    before, after : sequence of int
        The padding at both sides.
    """

    kernel: Sequence[int]
    strides: Sequence[int]
    dilation: Sequence[int]
    before: Sequence[int]
    after: Sequence[int]

    def moving(self) -> dict[str, Any]:
        """Return the arguments of a kernel that say which elements a window has."""
        return {
            "kernel": self.kernel,
            "strides": self.strides,
            "dilation": self.dilation,
            "before": self.before,
        }


def max_pool_gradient(
    emit_te: Callable[..., Any], x: ir.Value, y: ir.Value, g: ir.Value, window: PoolWindow
) -> Any:
    """Return the gradient of the data of a pool: of equal elements, the first one has it.

    Parameters
    ----------
    emit_te : callable
        Calls a function of tensor expressions as a kernel, as `BlockBuilder.call_te` does.
    x, y, g : mlir.ir.Value
        The data, the result, and the gradient of the result.
    window : PoolWindow
    """
    taken = emit_te(place_of_maximum, x, y, **window.moving(), primfunc_name_hint="max_pool_places")
    return emit_te(
        spread_to_maximum,
        g,
        taken,
        sizes=shape_of(x)[2:],
        **window.moving(),
        primfunc_name_hint="max_pool_backward",
    )


def avg_pool_gradient(
    emit_te: Callable[..., Any],
    x: ir.Value,
    g: ir.Value,
    window: PoolWindow,
    count_include_pad: bool,
) -> Any:
    """Return the gradient of the data of a pool, with arguments as for `max_pool_gradient`."""
    sizes = shape_of(x)[2:]
    padding = [(0, 0)] * len(sizes)
    if count_include_pad:
        padding = list(zip(window.before, window.after, strict=True))
    share = emit_te(
        over_count,
        g,
        sizes=sizes,
        padding=padding,
        **window.moving(),
        primfunc_name_hint="avg_pool_share",
    )
    return emit_te(
        spread_to_windows,
        share,
        sizes=sizes,
        **window.moving(),
        primfunc_name_hint="avg_pool_backward",
    )


def adaptive_avg_pool_gradient(
    emit_te: Callable[..., Any], g: ir.Value, sizes: Sequence[int | Dim]
) -> Any:
    """Return the gradient of the data of an adaptive pool, whose spatial dimensions are given."""
    return emit_te(spread_to_parts, g, sizes=sizes, primfunc_name_hint="adaptive_avg_pool_backward")


# ------------------------------------------------------------------------------
# Kernels
# ------------------------------------------------------------------------------


def _taps(kernel: Sequence[int]) -> list[Any]:
    return [te.reduce_axis((0, size), name=f"t{i}") for i, size in enumerate(kernel)]


def _number(taps: Sequence[Any], kernel: Sequence[int]) -> Any:
    """Return which tap of a window one is, in their order."""
    number: Any = te.const(0, "int64")
    for tap, size in zip(taps, kernel, strict=True):
        number = number * size + tap.var.astype("int64")
    return number


def place_of_maximum(
    x: Tensor,
    y: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    before: Sequence[int],
) -> Tensor:
    """Return for each window the number of the first tap that has its maximum."""
    taps = _taps(kernel)

    def value(n: Any, c: Any, *q: Any) -> Any:
        at, conditions = [], []
        for i, tap, stride, hole, pad, size in zip(
            q, taps, strides, dilation, before, x.shape[2:], strict=True
        ):
            place = i * stride + tap.var * hole - pad
            at.append(te.max(te.min(place, size - 1), te.const(0, place.dtype)))
            conditions += [place >= 0, place < size]
        conditions.append(x(n, c, *at).equal(y(n, c, *q)))
        number = _number(taps, kernel)
        none = te.const(2**31, "int64")
        return te.min(te.if_then_else(te.all(*conditions), number, none), axis=taps)

    return te.compute(y.shape, value)


def _windows_of(
    at: Sequence[Any],
    taps: Sequence[Any],
    g: Tensor,
    strides: Sequence[int],
    dilation: Sequence[int],
    before: Sequence[int],
) -> tuple[list[Any], list[Any]]:
    """Return the window that has an element at some tap, and the conditions that there is one."""
    places, hits = [], []
    for i, tap, stride, hole, pad, dim in zip(
        at, taps, strides, dilation, before, g.shape[2:], strict=True
    ):
        offset = i + pad - tap.var * hole
        place = te.floordiv(offset, stride)
        places.append(te.max(te.min(place, dim - 1), te.const(0, place.dtype)))
        hits += [offset >= 0, place < dim]
        if stride != 1:
            hits.append(te.floormod(offset, stride).equal(0))
    return places, hits


def spread_to_maximum(
    g: Tensor, taken: Tensor, sizes: Sequence[Any], kernel: Sequence[int], **moving: Any
) -> Tensor:
    """Return the sum of the gradients of the windows whose maximum an element is."""
    taps = _taps(kernel)

    def value(n: Any, c: Any, *at: Any) -> Any:
        places, hits = _windows_of(at, taps, g, **moving)
        hits.append(taken(n, c, *places).equal(_number(taps, kernel)))
        return te.sum(
            te.if_then_else(te.all(*hits), g(n, c, *places), te.const(0, g.dtype)), axis=taps
        )

    return te.compute((*g.shape[:2], *sizes), value)


def spread_to_windows(
    g: Tensor, sizes: Sequence[Any], kernel: Sequence[int], **moving: Any
) -> Tensor:
    """Return the sum of the gradients of the windows that an element is in."""
    taps = _taps(kernel)

    def value(n: Any, c: Any, *at: Any) -> Any:
        places, hits = _windows_of(at, taps, g, **moving)
        return te.sum(
            te.if_then_else(te.all(*hits), g(n, c, *places), te.const(0, g.dtype)), axis=taps
        )

    return te.compute((*g.shape[:2], *sizes), value)


def over_count(
    g: Tensor,
    sizes: Sequence[Any],
    padding: Sequence[tuple[int, int]],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    before: Sequence[int],
) -> Tensor:
    """Return gradients over the number of elements of their windows, of those that count."""

    def value(n: Any, c: Any, *q: Any) -> Any:
        total: Any = te.const(1, "int64")
        for d, i in enumerate(q):
            number: Any = te.const(0, "int64")
            for tap in range(kernel[d]):
                place = i * strides[d] + tap * dilation[d] - before[d]
                low, high = padding[d]
                inside = te.all(place >= -low, place < sizes[d] + high)
                number = number + inside.astype("int64")
            total = total * number
        return g(n, c, *q) / te.max(total, te.const(1, "int64")).astype(g.dtype)

    return te.compute(g.shape, value)


def spread_to_parts(g: Tensor, sizes: Sequence[Any]) -> Tensor:
    """Return the sum of the gradients of the parts of an adaptive pool that an element is in."""
    parts = [te.reduce_axis((0, dim), name=f"q{i}") for i, dim in enumerate(g.shape[2:])]

    def value(n: Any, c: Any, *at: Any) -> Any:
        hits, count = [], te.const(1, "int64")
        for i, part, size, dim in zip(at, parts, sizes, g.shape[2:], strict=True):
            begin = te.floordiv(part.var * size, dim)
            end = te.floordiv((part.var + 1) * size + dim - 1, dim)
            hits += [i >= begin, i < end]
            count = count * (end - begin).astype("int64")
        share = g(n, c, *(part.var for part in parts)) / count.astype(g.dtype)
        return te.sum(te.if_then_else(te.all(*hits), share, te.const(0, g.dtype)), axis=parts)

    return te.compute((*g.shape[:2], *sizes), value)
