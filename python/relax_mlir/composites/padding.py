# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements around and between those of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from .. import op
from ..core.ir import Dim
from ..core.variables import defining_op, float_of
from .tensors import number, product, shape_of, size_tensor


def spread(x: ir.Value, strides: Sequence[int]) -> ir.Value:
    """Return a tensor with stride - 1 zeros between elements of the third and later dimensions."""
    for axis, stride in enumerate(strides, 2):
        if stride == 1:
            continue
        dims = list(x.type.shape)
        rows = op.expand_dims(x, axis + 1)
        zeros = op.zeros([*dims[: axis + 1], stride - 1, *dims[axis + 1 :]], x.type.dtype)
        wide = op.concat([rows, zeros], axis + 1)
        joined = op.reshape(wide, [*dims[:axis], dims[axis] * stride, *dims[axis + 1 :]])
        end = (dims[axis] - 1) * stride + 1
        x = op.strided_slice(joined, [axis], [0], [end], [1], assume_inbound=True)
    return x


# Modes that `op.nn.pad` has, by its names.
_REPEATS = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}


def _repeats_once(x: ir.Value, widths: Sequence[Any], mode: str) -> bool:
    """Whether it is known that each side has no more elements than the tensor."""
    rank = len(widths) // 2
    return all(
        width == 0
        or (
            (isinstance(dim, int) and isinstance(width, int))
            and 0 <= width <= (dim - 1 if mode == "reflect" else dim)
        )
        for axis, dim in enumerate(shape_of(x))
        for width in (widths[axis], widths[axis + rank])
    )


def pad(x: ir.Value, widths: Sequence[Any], mode: str, value: ir.Value) -> ir.Value:
    """Return a tensor with elements added, or taken away, before and after each axis.

    Parameters
    ----------
    x : mlir.ir.Value
    widths : sequence of int or Dim
        Before each axis, then after each; negative ones take elements away.
    mode : str
        constant, edge, reflect, symmetric (as reflect, but with the elements at the ends) or wrap.
    value : mlir.ir.Value
        What is added with the mode constant, of rank 0.
    """
    modes = ("constant", "edge", "reflect", "symmetric", "wrap")
    if mode not in modes:
        raise NotImplementedError(f"expected mode {', '.join(modes)}, but got {mode}")
    rank = len(widths) // 2
    pairs = [widths[axis + side] for axis in range(rank) for side in (0, rank)]
    if mode in _REPEATS and _repeats_once(x, widths, mode):
        return op.nn.pad(x, pairs, _REPEATS[mode])
    added = float_of(defining_op(value)) if mode == "constant" else None
    if added is not None and all(isinstance(one, int) and one >= 0 for one in pairs):
        return op.nn.pad(x, pairs, pad_value=added) if any(pairs) else x
    for axis in range(rank):
        before, after = widths[axis], widths[axis + rank]
        if mode == "constant":
            x = _pad_axis(x, axis, before, after, value)
        elif before != 0 or after != 0:
            x = _repeat_axis(x, axis, before, after, mode)
    return x


def _pad_axis(x: ir.Value, axis: int, before: Any, after: Any, value: ir.Value) -> ir.Value:
    less = [min(one, 0) if isinstance(one, int) else 0 for one in (before, after)]
    if any(less):
        last = shape_of(x)[axis] + less[1]
        x = op.strided_slice(x, [axis], [-less[0]], [last], [1], assume_inbound=True)
        before, after = before - less[0], after - less[1]
    dims = shape_of(x)

    def block(width: Any) -> list[ir.Value]:
        shape = [*dims[:axis], width, *dims[axis + 1 :]]
        return [] if width == 0 else [op.full(shape, value, x.type.dtype)]

    pieces = [*block(before), x, *block(after)]
    return x if len(pieces) == 1 else op.concat(pieces, axis)


def _repeat_axis(x: ir.Value, axis: int, before: Any, after: Any, mode: str) -> ir.Value:
    extent = shape_of(x)[axis]
    places = op.arange(0 - before, extent + after, 1, "int64")
    if mode in ("wrap", "edge"):
        return op.take(x, places, axis, mode="wrap" if mode == "wrap" else "clip")
    whole, one, two = size_tensor(extent), number(1, "int64"), number(2, "int64")
    # There and back again is twice the dimension, less the two ends where they are not repeated.
    end = op.subtract(whole, one) if mode == "reflect" else whole
    period = op.maximum(op.multiply(end, two), one)
    place = op.floor_mod(places, period)
    last = period if mode == "reflect" else op.subtract(period, one)
    return op.take(x, op.minimum(place, op.subtract(last, place)), axis)


def padded(
    x: ir.Value,
    widths: Sequence[tuple[int | Dim, int | Dim]],
    mode: str,
    value: ir.Value | None = None,
) -> ir.Value:
    """Return a tensor with elements before and after each dimension.

    Parameters
    ----------
    x : mlir.ir.Value
    widths : sequence of pairs of int or Dim
    mode : str
        One of those of `pad`.
    value : mlir.ir.Value, optional
        What is added with the mode constant, by default 0.

    Raises
    ------
    ValueError
        If a dimension has not as many elements as a mode repeats.
    """
    most = {"reflect": 1, "symmetric": 0}
    for sides, dim in zip(widths, shape_of(x), strict=True):
        width = max((one for one in sides if isinstance(one, int)), default=0)
        if mode in most and isinstance(dim, int) and width > dim - most[mode]:
            raise ValueError(
                f"expected padding of up to {dim - most[mode]} elements for mode {mode} of a "
                f"dimension of {dim}, but got {width}"
            )
    fill = number(0, x.type.dtype) if value is None else value
    flat = [before for before, _ in widths] + [after for _, after in widths]
    return pad(x, flat, mode, fill)


def window_means(x: ir.Value, axis: int, before: int, size: int) -> ir.Value:
    """Return the means of windows along a dimension, one for each element; zeros are around them.

    Parameters
    ----------
    x : mlir.ir.Value
    axis, before, size : int
        So many elements of the window are before its own one.
    """
    dims = shape_of(x)
    image = [product(dims[:axis]), 1, dims[axis], product(dims[axis + 1 :])]
    padding = [before, 0, size - 1 - before, 0]
    means = op.nn.avg_pool2d(
        op.reshape(x, image), [size, 1], padding=padding, count_include_pad=True
    )
    return op.reshape(means, dims)
