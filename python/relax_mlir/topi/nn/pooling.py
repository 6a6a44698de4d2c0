# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import te
from ...tir import op as _op
from ...tir.expr import PrimExpr
from ..utils import Tensor, canonical, constant, pair, product
from .conv import pads_of
from .pad import pad

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _spatial_axes(data: Tensor, layout: str, count: int) -> list[int]:
    letters = _SPATIAL[count]
    if data.ndim != count + 2:
        raise ValueError(
            f"expected a tensor of {count + 2} dimensions, NC{letters}, but got {data.ndim}"
        )
    if len(layout) != data.ndim or data.ndim != count + 2 or set(layout) != set(f"NC{letters}"):
        raise ValueError(f"expected a layout of the letters NC{letters}, but got {layout!r}")
    return [layout.index(letter) for letter in letters]


def _require_type(pool_type: str) -> None:
    if pool_type not in ("max", "avg"):
        raise ValueError(f"expected pool_type 'max' or 'avg', but got {pool_type!r}")


def _pool(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
    count: int,
) -> Tensor:
    _require_type(pool_type)
    axes = _spatial_axes(data, layout, count)
    sizes, steps = pair(kernel, count, "kernel"), pair(stride, count, "stride")
    holes = pair(dilation, count, "dilation")
    if min(*sizes, *steps, *holes) < 1:
        raise ValueError(f"expected kernel, stride and dilation from 1 on, but got {kernel}")
    before, after = pads_of(padding, [te.const(size, "int64") for size in sizes], holes)
    # Elements beyond the border that a last window reads if it begins inside.
    extra = [step - 1 if ceil_mode else 0 for step in steps]
    shape = list(data.shape)
    borders: list[list[int]] = [[0] * data.ndim, [0] * data.ndim]
    for i, at in enumerate(axes):
        borders[0][at], borders[1][at] = before[i], after[i] + extra[i]
        span = before[i] + after[i] + extra[i] - (sizes[i] - 1) * holes[i] - 1
        count_at = (data.shape[at] + span) // steps[i] + 1
        if ceil_mode:
            # But no window begins after the input.
            begin = (count_at - 1) * steps[i] - before[i]
            count_at = count_at - (begin >= data.shape[at]).astype(count_at.dtype)
        shape[at] = canonical(count_at)
        if (constant(shape[at]) or 0) < 0:
            raise ValueError(
                f"expected a kernel that is not larger than the padded input: {kernel}"
            )
    is_max = pool_type == "max"
    number = _op._lowest(data.dtype) if is_max else te.const(0, data.dtype)
    has_border = any(map(any, borders))
    padded = pad(data, borders[0], borders[1], number, "pad_temp") if has_border else data
    reduced = [te.reduce_axis((0, size), name=f"r{i}") for i, size in enumerate(sizes)]

    def window(*i: PrimExpr) -> PrimExpr:
        at = list(i)
        for number_, axis in enumerate(axes):
            at[axis] = i[axis] * steps[number_] + reduced[number_].var * holes[number_]
        return (te.max if is_max else te.sum)(padded(*at), axis=reduced)

    result = te.compute(shape, window, name=f"pool_{pool_type}", tag=f"pool_{pool_type}")
    if is_max:
        return result

    def average(*i: PrimExpr) -> PrimExpr:
        counts: list[PrimExpr] = []
        for number_, axis in enumerate(axes):
            hole = holes[number_]
            begin = i[axis] * steps[number_] - before[number_]
            end = begin + (sizes[number_] - 1) * hole
            last = data.shape[axis] - 1 + (after[number_] if count_include_pad else 0)
            end = _op.min(end, last)
            if not count_include_pad:
                # The first element of the window that is inside.
                skipped = (-_op.min(begin, te.const(0, begin.dtype)) + (hole - 1)) // hole
                begin = begin + skipped * hole
            counts.append((end - begin) // hole + 1)
        elements = _op.max(product(counts), te.const(1, counts[0].dtype))
        return _op.div(result(*i), elements.astype(data.dtype))

    return te.compute(shape, average, name="pool_avg", tag="pool_avg")


def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the greatest element or the mean of windows along one dimension; see `pool2d`."""
    return _pool(
        data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad, 1
    )


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the greatest element or the mean of windows.

    Parameters
    ----------
    data : Tensor
    kernel, stride, dilation : int or sequence of int
    padding : int or sequence of int
        One for all, one for each dimension, or first those before and then those after.
    pool_type : str
        "max" or "avg".
    ceil_mode : bool
        Whether a window may reach beyond the border.
    layout : str
        "NCHW", "NHWC" or any other order.
    count_include_pad : bool
        Whether elements of the border count for the mean.

    Returns
    -------
    Tensor
    """
    return _pool(
        data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad, 2
    )


def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """Return the greatest element or the mean of windows in three dimensions; see `pool2d`."""
    return _pool(
        data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad, 3
    )


def _adaptive_pool(
    data: Tensor, output_size: Any, pool_type: str, layout: str, count: int
) -> Tensor:
    _require_type(pool_type)
    axes = _spatial_axes(data, layout, count)
    sizes = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * count
    if len(sizes) != count:
        raise ValueError(f"expected {count} sizes of the output, but got {output_size}")
    wanted = [te.placeholder((size,)).shape[0] for size in sizes]
    shape = list(data.shape)
    for at, size in zip(axes, wanted, strict=True):
        shape[at] = size
    is_max = pool_type == "max"
    numbers = [
        (constant(data.shape[at]), constant(size)) for at, size in zip(axes, wanted, strict=True)
    ]
    regular = all(a is not None and b and a % b == 0 for a, b in numbers)

    def span(index: PrimExpr, at: int, size: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return the first element of a window and its number of elements."""
        whole = data.shape[at]
        if regular:
            each = canonical(whole // size)
            return index * each, each
        begin = index * whole // size
        end = ((index + 1) * whole + (size - 1)) // size
        return begin, end - begin

    def spans(i: Sequence[PrimExpr]) -> list[tuple[PrimExpr, PrimExpr]]:
        return [span(i[at], at, size) for at, size in zip(axes, wanted, strict=True)]

    def window(*i: PrimExpr) -> PrimExpr:
        at = list(i)
        reduced = []
        for axis, (begin, extent) in zip(axes, spans(i), strict=True):
            reduced.append(te.reduce_axis((te.const(0, extent.dtype), extent), name=f"r{axis}"))
            at[axis] = begin + reduced[-1].var
        return (te.max if is_max else te.sum)(data(*at), axis=reduced)

    name = f"adaptive_pool_{pool_type}"
    result = te.compute(shape, window, name=name, tag=name)
    if is_max:
        return result
    return te.compute(
        shape,
        lambda *i: _op.div(result(*i), product([n for _, n in spans(i)]).astype(data.dtype)),
        name=name,
        tag=name,
    )


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Return the greatest element or the mean of windows that cover the input evenly.

    Parameters
    ----------
    data : Tensor
    output_size : int or sequence of int or PrimExpr
        How many windows, for each spatial dimension.
    pool_type : str
        "max" or "avg".
    layout : str

    Returns
    -------
    Tensor
    """
    return _adaptive_pool(data, output_size, pool_type, layout, 2)


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """Return `adaptive_pool` along one dimension."""
    return _adaptive_pool(data, output_size, pool_type, layout, 1)


def adaptive_pool3d(
    data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW"
) -> Tensor:
    """Return `adaptive_pool` in three dimensions."""
    return _adaptive_pool(data, output_size, pool_type, layout, 3)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Return the greatest element or the mean of each channel.

    Parameters
    ----------
    data : Tensor
    pool_type : str
        "max" or "avg".
    layout : str

    Returns
    -------
    Tensor
    """
    return adaptive_pool(data, (1, 1), pool_type, layout)
