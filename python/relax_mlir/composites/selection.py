# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements that are chosen by their values, and others that are put in their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from .. import op
from ..core.expr import TensorLike, as_tensor
from ..core.ir import Dim, TensorStructInfo
from .data_dependent import nonzero
from .tensors import cast, normal_axis, number, product, rank_of, same, shape_of, size_tensor


def true_places(flags: ir.Value, count: Dim) -> ir.Value:
    """Return the places of a vector of bool that hold, as int64, in order.

    Parameters
    ----------
    flags : mlir.ir.Value
    count : Dim
        A new shape variable: the number of places.
    """
    found = op.match_cast(nonzero(flags), TensorStructInfo([1, count], "int64"))
    return op.reshape(found, [count])


def coordinates(places: ir.Value, dims: list[Any]) -> list[ir.Value]:
    """Return places in a flat tensor as places along each dimension."""
    result: list[ir.Value] = []
    for dim in reversed(dims):
        extent = size_tensor(dim)
        result.append(op.floor_mod(places, extent))
        places = op.floor_divide(places, extent)
    return result[::-1]


def masked_fill(x: TensorLike, mask: TensorLike, value: TensorLike) -> ir.Value:
    """Return a tensor with a number in the places where a mask holds.

    Parameters
    ----------
    x : tensor, number or array
    mask : tensor, number or array
        Of bool, with dimensions that broadcast to those of `x`.
    value : tensor, number or array
        Of one element.

    Returns
    -------
    mlir.ir.Value
    """
    tensor = as_tensor(x)
    dtype = tensor.type.dtype
    return op.where(as_tensor(mask), cast(as_tensor(value, dtype), dtype), tensor)


def median(x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """Return the middle elements in the order of their values, the lower one of two.

    Parameters
    ----------
    x : tensor, number or array
    axis : int, or sequence of one int, optional
        Without it, one element of all.
    keepdims : bool
        Whether the result has a dimension of size 1 in place of the axis.

    Returns
    -------
    mlir.ir.Value
        With an axis, a tuple of the elements, and of where they are.

    Raises
    ------
    NotImplementedError
        If there are several axes.
    """
    tensor = as_tensor(x)
    axes = [axis] if isinstance(axis, int) else list(axis or ())
    if len(axes) > 1:
        raise NotImplementedError(f"expected one axis, or none, but got {axes}")
    if axes:
        place = normal_axis(axes[0], rank_of(tensor))
        return op.tuple(*middle(tensor, place, keepdims))
    count = rank_of(tensor)
    value = middle(op.reshape(tensor, [product(shape_of(tensor))]), 0, False)[0]
    return op.reshape(value, [1] * count) if keepdims else value


def middle(x: ir.Value, axis: int, keepdims: bool) -> list[ir.Value]:
    """Return the middle elements in ascending order, the lower one of two, and their places.

    Parameters
    ----------
    x : mlir.ir.Value
    axis : int
        Counted from the begin.
    keepdims : bool
        Whether the result has a dimension of size 1 in place of the axis.
    """
    return kth(x, (shape_of(x)[axis] - 1) // 2 + 1, axis, keepdims)


def kth(x: ir.Value, k: Any, axis: int, keepdims: bool) -> list[ir.Value]:
    """Return the elements with a number in ascending order, from 1 on, and their places.

    Parameters
    ----------
    x : mlir.ir.Value
    k : int or Dim
    axis : int
        Counted from the begin.
    keepdims : bool
        Whether the result has a dimension of size 1 in place of the axis.
    """
    places = op.kth_index(x, k, axis, "int64")
    chosen = [op.gather_elements(x, places, axis), places]
    return chosen if keepdims else [op.squeeze(one, [axis]) for one in chosen]


def slice_scatter(
    input_tensor: TensorLike, src: TensorLike, start: Any, end: Any, step: Any, axis: int = 0
) -> ir.Value:
    """Return a tensor with others in place of the elements of a slice.

    Parameters
    ----------
    input_tensor : tensor, number or array
    src : tensor, number or array
        The elements, as many as the slice has.
    start, end, step : int or Dim
        The slice, as in Python; `step` is a positive number.
    axis : int

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If `src` is of another size than the slice, or `step` is not positive.
    """
    x, source = as_tensor(input_tensor), as_tensor(src)
    place, by = normal_axis(axis, rank_of(x)), int(getattr(step, "value", step))
    if by < 1:
        raise ValueError(f"expected step to be positive, but got {by}")
    extent = shape_of(x)[place]
    begin, stop = (_inside(one, extent) for one in (start, end))
    length = shape_of(source)[place]
    wanted = (stop - begin + by - 1) // by
    if isinstance(wanted, int):
        wanted = max(wanted, 0)
    if same(length, wanted) is False:
        raise ValueError(f"expected src of {wanted} elements along axis {axis}, but got {length}")
    if by == 1:
        before = op.strided_slice(x, [place], [0], [begin], [1])
        after = op.strided_slice(x, [place], [begin + length], [extent], [1])
        return op.concat([before, source, after], place)
    places = op.arange(begin, begin + length * by, by, "int64")
    order = [place, *(i for i in range(rank_of(x)) if i != place)]
    rows, new = (op.permute_dims(one, order) for one in (x, source))
    result = op.scatter_nd(rows, op.expand_dims(places, 1), new)
    return op.permute_dims(result, [order.index(i) for i in range(len(order))])


def _inside(place: Any, extent: Any) -> Any:
    """Return a place of a slice counted from the begin, and none beyond the end."""
    at = int(place.value) if getattr(place, "value", None) is not None else place
    if isinstance(at, int) and at < 0:
        at = extent + at
    if isinstance(at, int) and isinstance(extent, int):
        return min(max(at, 0), extent)
    # What a program of TVM writes for the end.
    return extent if isinstance(at, int) and at >= 2**31 - 1 else at


def index_put(
    data: TensorLike,
    indices: TensorLike | Sequence[TensorLike],
    values: TensorLike,
    accumulate: bool = False,
) -> ir.Value:
    """Return a tensor with others in place of the elements at given places.

    Parameters
    ----------
    data : tensor, number or array
    indices : tensor, or sequence of tensors
        The places along the first dimensions, which broadcast to each other.
    values : tensor, number or array
        What is put there, which broadcasts to these places and to the other dimensions.
    accumulate : bool
        Whether values are added to the elements.

    Returns
    -------
    mlir.ir.Value
    """
    x = as_tensor(data)
    given = indices if isinstance(indices, (list, tuple)) else [indices]
    places = [cast(as_tensor(one), "int64") for one in given]
    extents = shape_of(x)[: len(places)]
    # Negative ones count from the end.
    positive = [
        op.where(op.less(one, number(0, "int64")), op.add(one, size_tensor(extent)), one)
        for one, extent in zip(places, extents, strict=True)
    ]
    common = positive[0]
    for one in positive[1:]:
        common = op.add(common, one)
    dims = shape_of(common)
    rows = op.stack([op.broadcast_to(one, dims) for one in positive], -1)
    wanted = [*dims, *shape_of(x)[len(places) :]]
    new = op.broadcast_to(as_tensor(values, x.type.dtype), wanted)
    return op.scatter_nd(x, rows, new, "add" if accumulate else "update")


def multinomial_from_uniform(
    prob: TensorLike, uniform_sample: TensorLike, sample_indices: TensorLike, dtype: str = "int64"
) -> ir.Value:
    """Return samples of distributions, computed from uniform ones.

    Parameters
    ----------
    prob : tensor, number or array
        A distribution in each row.
    uniform_sample : tensor, number or array
        A number from 0 to 1 for each sample, in rows of 1.
    sample_indices : tensor, number or array
        The row of the distribution of each sample, in rows of 1.
    dtype : str

    Returns
    -------
    mlir.ir.Value
        The number of the first element of each distribution up to which its sum is not less than
        the number given, in rows of 1.
    """
    rows, uniform = as_tensor(prob), as_tensor(uniform_sample)
    chosen = op.reshape(as_tensor(sample_indices), [shape_of(uniform)[0]])
    sums = op.cumsum(op.take(rows, chosen, 0), 1)
    below = op.less(sums, cast(uniform, rows.type.dtype))
    found = op.sum(op.astype(below, "int64"), [1], True)
    last = op.subtract(size_tensor(shape_of(rows)[1]), number(1, "int64"))
    return cast(op.minimum(found, last), dtype)
