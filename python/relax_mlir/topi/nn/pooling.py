# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Windows:
    """Windows along a dimension of a tensor.

    Attributes
    ----------
    axis : int
    extent : PrimExpr
        How many elements the tensor has there.
    size, step, hole : int
        Elements of a window, and how far apart windows and their elements are.
    before, after : int
        Elements of the border.
    ceil_mode : bool
        Whether a window that begins inside may end behind the border.
    """

    axis: int
    extent: PrimExpr
    size: int
    step: int
    hole: int
    before: int
    after: int
    ceil_mode: bool

    @property
    def behind(self) -> int:
        """How many elements from the end of the input on windows may read."""
        return self.after + (self.step - 1 if self.ceil_mode else 0)

    def count(self) -> PrimExpr:
        """Return how many windows there are."""
        span = self.before + self.behind - (self.size - 1) * self.hole - 1
        count = (self.extent + span) // self.step + 1
        if self.ceil_mode:
            # But no window begins after the input.
            begin = (count - 1) * self.step - self.before
            count = count - (begin >= self.extent).astype(count.dtype)
        return canonical(count)

    def place(self, index: PrimExpr, element: PrimExpr) -> PrimExpr:
        """Return where an element of a window is in the input with its border."""
        return index * self.step + element * self.hole

    def elements(self, index: PrimExpr, *, with_border: bool) -> PrimExpr:
        """Return how many elements of a window count for the mean."""
        begin = index * self.step - self.before
        end = begin + (self.size - 1) * self.hole
        end = _op.min(end, self.extent - 1 + (self.after if with_border else 0))
        if not with_border:
            # The first element of the window that is inside.
            outside = -_op.min(begin, te.const(0, begin.dtype))
            begin = begin + (outside + (self.hole - 1)) // self.hole * self.hole
        return (end - begin) // self.hole + 1


def _windows(
    data: Tensor,
    axes: list[int],
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    ceil_mode: bool,
) -> list[_Windows]:
    count = len(axes)
    sizes, steps = pair(kernel, count, "kernel"), pair(stride, count, "stride")
    holes = pair(dilation, count, "dilation")
    if min(*sizes, *steps, *holes) < 1:
        raise ValueError(f"expected kernel, stride and dilation from 1 on, but got {kernel}")
    before, after = pads_of(padding, [te.const(size, "int64") for size in sizes], holes)
    return [
        _Windows(at, data.shape[at], sizes[i], steps[i], holes[i], before[i], after[i], ceil_mode)
        for i, at in enumerate(axes)
    ]


def _with_border(data: Tensor, windows: list[_Windows], number: PrimExpr) -> Tensor:
    """Return the tensor with what windows read around it."""
    before, after = [0] * data.ndim, [0] * data.ndim
    for each in windows:
        before[each.axis], after[each.axis] = each.before, each.behind
    return pad(data, before, after, number, "pad_temp") if any(before + after) else data


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
    windows = _windows(data, axes, kernel, stride, dilation, padding, ceil_mode)
    shape = list(data.shape)
    for each in windows:
        shape[each.axis] = each.count()
        if (constant(shape[each.axis]) or 0) < 0:
            raise ValueError(
                f"expected a kernel that is not larger than the padded input: {kernel}"
            )
    is_max = pool_type == "max"
    number = _op._lowest(data.dtype) if is_max else te.const(0, data.dtype)
    padded = _with_border(data, windows, number)
    reduced = [te.reduce_axis((0, each.size), name=f"r{i}") for i, each in enumerate(windows)]

    def window(*i: PrimExpr) -> PrimExpr:
        at = list(i)
        for each, element in zip(windows, reduced, strict=True):
            at[each.axis] = each.place(i[each.axis], element.var)
        return (te.max if is_max else te.sum)(padded(*at), axis=reduced)

    result = te.compute(shape, window, name=f"pool_{pool_type}", tag=f"pool_{pool_type}")
    if is_max:
        return result

    def average(*i: PrimExpr) -> PrimExpr:
        counts = [each.elements(i[each.axis], with_border=count_include_pad) for each in windows]
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
