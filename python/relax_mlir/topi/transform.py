# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moving elements: shapes, parts, joints, and elements by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..te import tag
from ..tir import expr as _expr
from ..tir.expr import PrimExpr
from .indexing import gather, gather_nd, one_hot, strided_slice, take
from .products import matmul, tensordot
from .utils import (
    Tensor,
    axes_of,
    axis_of,
    canonical,
    constant,
    is_equal,
    product,
    ravel,
    shape_of,
    unravel,
)


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Return a tensor with new dimensions of size 1.

    Parameters
    ----------
    a : Tensor
    axis : int
        Where the first one is in the result.
    num_newaxis : int

    Returns
    -------
    Tensor
    """
    at = axis_of(axis, a.ndim + 1)
    if num_newaxis < 0:
        raise ValueError(f"expected num_newaxis to be 0 or more, but got {num_newaxis}")
    ones = [te.const(1, a.shape[0].dtype if a.ndim else "int32")] * num_newaxis
    shape = [*a.shape[:at], *ones, *a.shape[at:]]
    return te.compute(
        shape,
        lambda *i: a(*i[:at], *i[at + num_newaxis :]),
        name="T_expand_dims",
        tag=tag.BROADCAST,
    )


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """Return a tensor without dimensions of size 1.

    Parameters
    ----------
    a : Tensor
    axis : int or sequence of int, optional
        By default all that are known to be of size 1.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If one of the axes is known to be of another size.
    """
    if axis is None:
        axes = [i for i, dim in enumerate(a.shape) if constant(dim) == 1]
    else:
        axes = axes_of(axis, a.ndim)
    for i in axes:
        if constant(a.shape[i]) not in (1, None):
            raise ValueError(f"expected axis {i} of {a} to be of size 1")
    kept = [i for i in range(a.ndim) if i not in axes]

    def value(*indices: PrimExpr) -> PrimExpr:
        at: list[PrimExpr] = [te.const(0, dim.dtype) for dim in a.shape]
        for i, index in zip(kept, indices, strict=True):
            at[i] = index
        return a(*at)

    return te.compute([a.shape[i] for i in kept], value, name="T_squeeze", tag=tag.INJECTIVE)


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Return a tensor with its dimensions in another order.

    Parameters
    ----------
    a : Tensor
    axes : sequence of int, optional
        For each dimension of the result which one it is; by default they are reversed.

    Returns
    -------
    Tensor
    """
    order = list(reversed(range(a.ndim))) if axes is None else [axis_of(i, a.ndim) for i in axes]
    if sorted(order) != list(range(a.ndim)):
        raise ValueError(f"expected each of {a.ndim} axes once, but got {list(axes or ())}")

    def value(*indices: PrimExpr) -> PrimExpr:
        at = dict(zip(order, indices, strict=True))
        return a(*(at[i] for i in range(a.ndim)))

    return te.compute([a.shape[i] for i in order], value, name="T_transpose", tag=tag.INJECTIVE)


def reshape(a: Tensor, newshape: Any) -> Tensor:
    """Return the elements, in their order row by row, in another shape.

    Parameters
    ----------
    a : Tensor
    newshape : sequence of int or PrimExpr
        One dimension may be -1: it follows from the others.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the number of elements is known to be another one.
    """
    given = list(newshape) if isinstance(newshape, (list, tuple)) else [newshape]
    unknown = [i for i, dim in enumerate(given) if isinstance(dim, int) and dim == -1]
    if len(unknown) > 1:
        raise ValueError(f"expected at most one dimension to be -1, but got {given}")
    size = product(a.shape)
    if unknown:
        rest = product(shape_of([dim for i, dim in enumerate(given) if i not in unknown]))
        given[unknown[0]] = canonical(_expr.floordiv(*_expr.match_types(size, rest)))
    dims = shape_of(given)
    if is_equal(product(dims), size) is False:
        raise ValueError(f"expected a shape of as many elements as {a} has, but got {list(dims)}")

    def value(*indices: PrimExpr) -> PrimExpr:
        return a(*unravel(ravel(indices, dims), a.shape))

    return te.compute(dims, value, name="T_reshape", tag=tag.INJECTIVE)


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """Return a tensor with an axis in the other direction.

    Parameters
    ----------
    a : Tensor
    axis : int

    Returns
    -------
    Tensor
    """
    at = axis_of(axis, a.ndim)

    def value(*indices: PrimExpr) -> PrimExpr:
        own = list(indices)
        own[at] = a.shape[at] - 1 - own[at]
        return a(*own)

    return te.compute(a.shape, value, name="T_flip", tag=tag.INJECTIVE)


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Return tensors one after the other along an axis.

    Parameters
    ----------
    a_tuple : sequence of Tensor
    axis : int

    Returns
    -------
    Tensor
    """
    tensors = list(a_tuple)
    if not tensors:
        raise ValueError("expected at least one tensor in concatenate")
    first = tensors[0]
    at = axis_of(axis, first.ndim)
    for other in tensors[1:]:
        if other.ndim != first.ndim:
            raise ValueError(f"expected tensors of rank {first.ndim}, but got {other}")
        for i in range(first.ndim):
            if i != at and is_equal(first.shape[i], other.shape[i]) is False:
                raise ValueError(f"expected dimension {i} of {other} to be as that of {first}")
    ends: list[PrimExpr] = []
    for each in tensors:
        ends.append(canonical(ends[-1] + each.shape[at] if ends else each.shape[at]))
    shape = [*first.shape[:at], ends[-1], *first.shape[at + 1 :]]

    def value(*indices: PrimExpr) -> PrimExpr:
        def part(number: int) -> PrimExpr:
            own = list(indices)
            if number:
                own[at] = own[at] - ends[number - 1]
            return tensors[number](*own)

        result = part(len(tensors) - 1)
        for number in reversed(range(len(tensors) - 1)):
            result = te.if_then_else(indices[at] < ends[number], part(number), result)
        return result

    return te.compute(shape, value, name="T_concat", tag=tag.INJECTIVE)


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Return tensors of one shape along a new axis.

    Parameters
    ----------
    tensors : sequence of Tensor
    axis : int

    Returns
    -------
    Tensor
    """
    if not tensors:
        raise ValueError("expected at least one tensor in stack")
    return concatenate([expand_dims(each, axis) for each in tensors], axis)


def _part(a: Tensor, at: int, begin: Any, size: PrimExpr, name: str) -> Tensor:
    def value(*indices: PrimExpr) -> PrimExpr:
        own = list(indices)
        own[at] = own[at] + begin
        return a(*own)

    shape = [*a.shape[:at], size, *a.shape[at + 1 :]]
    return te.compute(shape, value, name=name, tag=tag.INJECTIVE)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Return the parts of a tensor along an axis.

    Parameters
    ----------
    ary : Tensor
    indices_or_sections : int, or sequence of int or PrimExpr
        How many equal parts, or where parts after the first one begin.
    axis : int

    Returns
    -------
    list of Tensor
    """
    at = axis_of(axis, ary.ndim)
    size = ary.shape[at]
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        number = constant(size)
        if sections < 1 or (number is not None and number % sections):
            raise ValueError(f"expected {size} elements to be {sections} equal parts")
        each = canonical(size // sections)
        return [_part(ary, at, each * i, each, "T_split_sections") for i in range(sections)]
    if not hasattr(indices_or_sections, "__iter__"):
        raise TypeError(
            f"expected a number of parts or a list of indices, but got {indices_or_sections!r}"
        )
    begins = [te.const(0, size.dtype), *(_expr.cast(size.dtype, i) for i in indices_or_sections)]
    ends = [*begins[1:], size]
    parts = []
    for begin, end in zip(begins, ends, strict=True):
        extent = canonical(end - begin)
        if (constant(extent) or 0) < 0:
            raise ValueError(f"expected indices in order, at most {size}, but got {begins[1:]}")
        parts.append(_part(ary, at, begin, extent, "T_split_indices"))
    return parts


def repeat(a: Tensor, repeats: Any, axis: int) -> Tensor:
    """Return a tensor with each element repeated along an axis.

    Parameters
    ----------
    a : Tensor
    repeats : int or PrimExpr
    axis : int

    Returns
    -------
    Tensor
    """
    at = axis_of(axis, a.ndim)
    if isinstance(repeats, int) and repeats < 1:
        raise ValueError(f"expected repeats to be 1 or more, but got {repeats}")
    shape = [*a.shape[:at], canonical(a.shape[at] * repeats), *a.shape[at + 1 :]]

    def value(*indices: PrimExpr) -> PrimExpr:
        own = list(indices)
        own[at] = own[at] // repeats
        return a(*own)

    return te.compute(shape, value, name="T_repeat", tag=tag.BROADCAST)


def tile(a: Tensor, reps: Sequence[int]) -> Tensor:
    """Return a tensor repeated along axes.

    Parameters
    ----------
    a : Tensor
    reps : sequence of int or PrimExpr
        How often, for the last axes.

    Returns
    -------
    Tensor
    """
    rank = max(a.ndim, len(reps))
    counts = [*[1] * (rank - len(reps)), *reps]
    one = te.const(1, a.shape[0].dtype if a.ndim else "int32")
    sizes = [*[one] * (rank - a.ndim), *a.shape]
    shape = [canonical(size * count) for size, count in zip(sizes, counts, strict=True)]

    def value(*indices: PrimExpr) -> PrimExpr:
        own = zip(indices[rank - a.ndim :], a.shape, strict=True)
        return a(*(index % dim for index, dim in own))

    return te.compute(shape, value, name="T_tile", tag=tag.BROADCAST)


def trilu(data: Tensor, k: Any, upper: bool) -> Tensor:
    """Return the upper or lower triangle of matrices, zeros elsewhere.

    Parameters
    ----------
    data : Tensor
    k : int or PrimExpr
        The diagonal: positive above the main one, negative below.
    upper : bool

    Returns
    -------
    Tensor
    """
    if data.ndim < 2:
        raise ValueError(f"expected matrices in trilu, but got {data}")
    zero = te.const(0, data.dtype)

    def value(*i: PrimExpr) -> PrimExpr:
        row, column = i[-2] + k, i[-1]
        return _expr.Select(row <= column if upper else row >= column, data(*i), zero)

    return te.compute(data.shape, value, name="T_trilu", tag=tag.ELEMWISE)


__all__ = [
    "concatenate",
    "expand_dims",
    "flip",
    "gather",
    "gather_nd",
    "matmul",
    "one_hot",
    "repeat",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "strided_slice",
    "take",
    "tensordot",
    "tile",
    "transpose",
    "trilu",
]
