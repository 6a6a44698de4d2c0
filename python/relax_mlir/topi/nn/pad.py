# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adding a border, and space between elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import te
from ...tir import expr as _expr
from ...tir import op as _op
from ...tir.expr import PrimExpr
from ..utils import Tensor, canonical, constant, pair


def _padded(data: Tensor, before: Sequence[Any], after: Sequence[Any] | None) -> Any:
    ends = before if after is None else after
    if not len(before) == len(ends) == data.ndim:
        raise ValueError(
            f"expected {data.ndim} sizes of a border, but got {list(before)} and {list(ends)}"
        )
    shape = [
        canonical(_expr.convert(dim) + first + last)
        for dim, first, last in zip(data.shape, before, ends, strict=True)
    ]
    return shape, list(before), list(ends)


def pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: Any = None,
) -> Tensor:
    """Return a tensor with a border of one number.

    Parameters
    ----------
    data : Tensor
    pad_before : sequence of int or PrimExpr
        The number of elements before, for each dimension.
    pad_after : sequence of int or PrimExpr, optional
        The number after, by default the same.
    pad_value : number or PrimExpr
    name : str
    attrs : mapping of str to object, optional

    Returns
    -------
    Tensor
    """
    shape, before, after = _padded(data, pad_before, pad_after)
    is_number = isinstance(pad_value, (bool, int, float))
    number = te.const(pad_value, data.dtype) if is_number else _expr.cast(data.dtype, pad_value)
    axes = [i for i in range(data.ndim) if constant(before[i]) != 0 or constant(after[i]) != 0]

    def value(*i: PrimExpr) -> PrimExpr:
        at = list(i)
        conditions = []
        for axis in axes:
            at[axis] = at[axis] - before[axis]
            if constant(before[axis]) != 0:
                conditions.append(i[axis] >= before[axis])
            if constant(after[axis]) != 0:
                conditions.append(at[axis] < data.shape[axis])
        if not conditions:
            return data(*at)
        return te.if_then_else(te.all(*conditions), data(*at), number)

    return te.compute(shape, value, name=name, tag="injective,pad", attrs=attrs)


def _border(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None,
    name: str,
    index: Callable[[PrimExpr, PrimExpr], PrimExpr],
) -> Tensor:
    shape, before, _ = _padded(data, pad_before, pad_after)

    def value(*i: PrimExpr) -> PrimExpr:
        moved = (each - first for each, first in zip(i, before, strict=True))
        return data(*(index(each, size) for each, size in zip(moved, data.shape, strict=True)))

    return te.compute(shape, value, name=name, tag="injective,pad")


def mirror_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:
    """Return a tensor with a border that mirrors it.

    Parameters
    ----------
    data : Tensor
    pad_before : sequence of int or PrimExpr
    pad_after : sequence of int or PrimExpr, optional
    mode : str
        "SYMMETRIC": the mirror is after the last element. "REFLECT": on it.
    name : str

    Returns
    -------
    Tensor
    """
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ValueError(f"expected mode 'SYMMETRIC' or 'REFLECT', but got {mode!r}")
    edge = 1 if mode == "SYMMETRIC" else 0

    def index(at: PrimExpr, size: PrimExpr) -> PrimExpr:
        back = _expr.Select(at < 0, -at - edge, at)
        turned = _expr.Select(back >= size, size * 2 - 2 + edge - back, back)
        return _op.max(_op.min(turned, size - 1), te.const(0, at.dtype))

    return _border(data, pad_before, pad_after, name, index)


def reflect_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    name: str = "ReflectPadInput",
) -> Tensor:
    """Return a tensor with a border that mirrors it on the last element.

    Parameters
    ----------
    data : Tensor
    pad_before : sequence of int or PrimExpr
    pad_after : sequence of int or PrimExpr, optional
    name : str

    Returns
    -------
    Tensor
    """
    return mirror_pad(data, pad_before, pad_after, "REFLECT", name)


def replicate_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    name: str = "ReplicatePadInput",
) -> Tensor:
    """Return a tensor with a border that repeats its last elements.

    Parameters
    ----------
    data : Tensor
    pad_before : sequence of int or PrimExpr
    pad_after : sequence of int or PrimExpr, optional
    name : str

    Returns
    -------
    Tensor
    """

    def index(at: PrimExpr, size: PrimExpr) -> PrimExpr:
        return _op.max(_op.min(at, size - 1), te.const(0, at.dtype))

    return _border(data, pad_before, pad_after, name, index)


def circular_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    name: str = "CircularPadInput",
) -> Tensor:
    """Return a tensor with a border that continues it from the other end.

    Parameters
    ----------
    data : Tensor
    pad_before : sequence of int or PrimExpr
    pad_after : sequence of int or PrimExpr, optional
    name : str

    Returns
    -------
    Tensor
    """
    return _border(data, pad_before, pad_after, name, lambda at, size: at % size)


def dilate(
    data: Tensor, strides: Sequence[int], dilation_value: Any = 0.0, name: str = "DilatedInput"
) -> Tensor:
    """Return a tensor with a number between its elements.

    Parameters
    ----------
    data : Tensor
    strides : sequence of int
        The distance of elements in the result, for each dimension.
    dilation_value : number
    name : str

    Returns
    -------
    Tensor
    """
    steps = pair(list(strides), data.ndim, "strides")
    if min(steps, default=1) < 1:
        raise ValueError(f"expected strides from 1 on, but got {steps}")
    shape = [canonical((dim - 1) * step + 1) for dim, step in zip(data.shape, steps, strict=True)]
    number = te.const(dilation_value, data.dtype)

    def value(*i: PrimExpr) -> PrimExpr:
        wide = [(index, step) for index, step in zip(i, steps, strict=True) if step != 1]
        at = [index // step for index, step in zip(i, steps, strict=True)]
        if not wide:
            return data(*i)
        hits = te.all(*((index % step).equal(0) for index, step in wide))
        return te.if_then_else(hits, data(*at), number)

    return te.compute(shape, value, name=name, tag="injective")
