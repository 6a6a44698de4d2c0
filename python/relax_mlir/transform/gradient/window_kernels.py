# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the gradients of convolutions and adaptive pools, as tensor expressions.

Channels are the second dimension, spatial dimensions come after it. A window at the place `q` of
the result has the elements `q * stride + tap * dilation - before` of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import te

Tensor = te.Tensor


def _zero(x: Tensor) -> Any:
    return te.const(0, x.dtype)


def _all(conditions: Sequence[Any]) -> Any:
    return te.all(*conditions)


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
        return te.if_then_else(_all(hits), g(n, c, *places), _zero(g))

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
        return te.if_then_else(_all(inside), x(n, group * inner + c, *at), _zero(x))

    return te.compute((groups, batch, *places, inner, *kernel), value)


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
        return te.sum(te.if_then_else(_all(hits), share, _zero(g)), axis=parts)

    return te.compute((*g.shape[:2], *sizes), value)
