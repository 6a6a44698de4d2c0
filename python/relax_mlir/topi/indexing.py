# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of tensors: slices, and elements at places that tensors say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..te import tag
from ..tir import expr as _expr
from ..tir import op as _op
from ..tir.expr import PrimExpr
from .utils import (
    Tensor,
    axis_of,
    canonical,
    constant,
    product,
    unravel,
)


def _limited(value: Any, size: PrimExpr, low: int, high_offset: int) -> PrimExpr:
    """Return an index that may count from the end, between limits."""
    index = _expr.cast(size.dtype, _expr.convert(value))
    number = constant(index)
    if number is None:
        index = _expr.Select(index < 0, index + size, index)
    elif number < 0:
        index = index + size
    least = te.const(low, size.dtype)
    return _op.max(_op.min(index, size + high_offset), least)


def _slice_axis(
    size: PrimExpr, begin: Any, end: Any, stride: int, assume_inbound: bool
) -> tuple[PrimExpr, PrimExpr]:
    """Return the first index of a slice and its number of elements."""
    known = constant(size)
    first = None if begin is None else constant(begin)
    last = None if end is None else constant(end)
    are_known = (begin is None or first is not None) and (end is None or last is not None)
    if known is not None and are_known:
        span = range(*slice(first, last, stride).indices(known))
        return te.const(span.start, size.dtype), te.const(len(span), size.dtype)
    is_back = stride < 0
    start = _or_default(begin, size - 1 if is_back else te.const(0, size.dtype), size)
    stop = _or_default(end, te.const(-1, size.dtype) if is_back else size, size)
    if not assume_inbound or (last is not None and last >= 2**31 - 1):
        low = -1 if is_back else 0
        start = _limited(start, size, low, low) if begin is not None else start
        stop = _limited(stop, size, low, low) if end is not None else stop
    if is_back:
        count = (start - stop + (-stride - 1)) // -stride
    else:
        count = (stop - start + (stride - 1)) // stride
    return start, canonical(count if assume_inbound else _op.max(count, 0))


def _or_default(value: Any, default: PrimExpr, size: PrimExpr) -> PrimExpr:
    if value is None:
        return default
    index = _expr.cast(size.dtype, _expr.convert(value))
    number = constant(index)
    return canonical(size + number) if number is not None and number < 0 else index


def strided_slice(
    a: Tensor,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Tensor:
    """Return some of the elements along axes, as slices of Python give them.

    Parameters
    ----------
    a : Tensor
    begin, end : sequence of int, PrimExpr or None
        Negative numbers count from the end. None stands for the beginning or the end.
    strides : sequence of int, optional
        By default 1 each.
    axes : sequence of int, optional
        By default the first ones.
    slice_mode : str
        "end"; with "size" `end` holds numbers of elements, -1 for all, and strides are 1.
    assume_inbound : bool
        Whether symbolic limits are known to be within the tensor. Otherwise they are brought there.

    Returns
    -------
    Tensor
    """
    if slice_mode not in ("end", "size"):
        raise ValueError(f"expected slice_mode 'end' or 'size', but got {slice_mode!r}")
    where = list(range(len(begin))) if axes is None else [axis_of(i, a.ndim) for i in axes]
    steps = [1] * len(where) if strides is None else [constant(each) for each in strides]
    steps += [1] * (len(where) - len(steps))
    if not len(begin) == len(end) == len(where) == len(steps) or len(where) > a.ndim:
        raise ValueError(
            f"expected as many of begin, end and axes, at most {a.ndim}, but got {len(begin)}, "
            f"{len(end)} and {len(where)}"
        )
    shape = list(a.shape)
    firsts: dict[int, tuple[PrimExpr, int]] = {}
    for i, first, last, step in zip(where, begin, end, steps, strict=True):
        if step is None or step == 0:
            raise ValueError(
                f"expected constant strides other than 0, but got {list(strides or ())}"
            )
        if slice_mode == "size":
            step = 1
            last = None if constant(last) == -1 else _expr.add(first, last)
        start, shape[i] = _slice_axis(a.shape[i], first, last, step, assume_inbound)
        firsts[i] = start, step

    def value(*indices: PrimExpr) -> PrimExpr:
        own = list(indices)
        for i, (start, step) in firsts.items():
            own[i] = own[i] * step + start
        return a(*own)

    return te.compute(shape, value, name="T_strided_slice", tag=tag.INJECTIVE)


def _inside(index: PrimExpr, size: PrimExpr, mode: str) -> PrimExpr:
    """Return an index that is within a dimension."""
    wide, limit = _expr.match_types(index, size)
    if mode == "wrap":
        return _op.floormod(wide, limit)
    return _op.max(_op.min(wide, limit - 1), te.const(0, wide.dtype))


def take(
    a: Tensor, indices: Any, axis: int | None = None, batch_dims: int = 0, mode: str = "fast"
) -> Tensor:
    """Return elements along an axis, by their indices.

    Parameters
    ----------
    a : Tensor
    indices : Tensor or PrimExpr
        Of integers.
    axis : int, optional
        By default the elements count row by row.
    batch_dims : int
        How many leading dimensions `a` and `indices` have in common.
    mode : str
        The meaning of an index out of bounds. "fast" and "clip": the nearest one. "wrap": it
        counts on from the other end. "nan": not a number.

    Returns
    -------
    Tensor
    """
    if mode not in ("fast", "clip", "wrap", "nan"):
        raise ValueError(f"expected mode 'fast', 'clip', 'wrap' or 'nan', but got {mode!r}")
    if not isinstance(indices, Tensor):
        scalar = _expr.convert(indices)
        indices = te.compute((), lambda: scalar, name="index")
    if not _expr.is_integer(indices.dtype):
        raise TypeError(f"expected integers as indices, but got {indices}")
    if mode == "nan" and not _expr.is_float(a.dtype):
        raise TypeError(f"expected floats with mode 'nan', but got {a}")

    def pick(index: PrimExpr, size: PrimExpr, load: Any) -> PrimExpr:
        if mode != "nan":
            return load(_inside(index, size, mode))
        wide, limit = _expr.match_types(index, size)
        known = _expr.logical_and(wide >= 0, wide < limit)
        return te.if_then_else(known, load(wide), te.const(float("nan"), a.dtype))

    if axis is None:
        size = product(a.shape)
        return te.compute(
            indices.shape,
            lambda *i: pick(indices(*i), size, lambda at: a(*unravel(at, a.shape))),
            name="T_take",
            tag=tag.INJECTIVE,
        )
    at = axis_of(axis, a.ndim)
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(indices.ndim, at):
        raise ValueError(f"expected batch_dims from 0 to {min(indices.ndim, at)}, but got {batch}")
    count = indices.ndim - batch
    shape = [*a.shape[:at], *indices.shape[batch:], *a.shape[at + 1 :]]

    def value(*i: PrimExpr) -> PrimExpr:
        index = indices(*i[:batch], *i[at : at + count])
        return pick(index, a.shape[at], lambda own: a(*i[:at], own, *i[at + count :]))

    return te.compute(shape, value, name="T_take", tag=tag.INJECTIVE)


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """Return for each index the element at its place, with the index along an axis.

    Parameters
    ----------
    data : Tensor
    axis : int
    indices : Tensor
        Of integers, of the rank of `data`. The nearest element stands for one out of bounds.

    Returns
    -------
    Tensor
    """
    at = axis_of(axis, data.ndim)
    if indices.ndim != data.ndim:
        raise ValueError(f"expected indices of rank {data.ndim}, but got {indices}")

    def value(*i: PrimExpr) -> PrimExpr:
        own = list(i)
        own[at] = _inside(indices(*i), data.shape[at], "clip")
        return data(*own)

    return te.compute(indices.shape, value, name="T_gather", tag=tag.INJECTIVE)


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Return elements or parts by indices of several axes, which stand in the first dimension.

    Parameters
    ----------
    a : Tensor
    indices : Tensor
        Of integers, of shape (axes, ...). The nearest element stands for one out of bounds.
    batch_dims : int
        How many leading dimensions `a` and the rest of `indices` have in common.

    Returns
    -------
    Tensor
    """
    count = constant(indices.shape[0]) if indices.ndim else None
    if count is None or batch_dims + count > a.ndim:
        raise ValueError(f"expected at most {a.ndim - batch_dims} indices for {a}, not {indices}")
    rest = indices.ndim - 1
    shape = [*indices.shape[1:], *a.shape[batch_dims + count :]]

    def value(*i: PrimExpr) -> PrimExpr:
        at = [
            _inside(indices(te.const(k, i[0].dtype), *i[:rest]), a.shape[batch_dims + k], "clip")
            for k in range(count)
        ]
        return a(*i[:batch_dims], *at, *i[rest:])

    return te.compute(shape, value, name="T_gather_nd", tag=tag.INJECTIVE)


def one_hot(
    indices: Tensor, on_value: Any, off_value: Any, depth: Any, axis: int, dtype: Any
) -> Tensor:
    """Return a new axis in which one element is `on_value`, by its index, the others `off_value`.

    Parameters
    ----------
    indices : Tensor
        Of integers.
    on_value, off_value : number or PrimExpr
    depth : int or PrimExpr
        The size of the axis.
    axis : int
        Its place in the result; -1 is the last one.
    dtype : str or numpy.dtype

    Returns
    -------
    Tensor
    """
    at = axis_of(axis, indices.ndim + 1)
    shape = [*indices.shape[:at], depth, *indices.shape[at:]]
    on, off = (_expr.cast(dtype, _expr.convert(each)) for each in (on_value, off_value))

    def value(*i: PrimExpr) -> PrimExpr:
        index = indices(*i[:at], *i[at + 1 :])
        return _expr.Select(_expr.compare(_expr.EQ, index, i[at]), on, off)

    return te.compute(shape, value, name="T_one_hot", tag=tag.INJECTIVE)
