# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moving elements: shapes, parts, joints, and elements by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..te import tag
from ..tir import expr as _expr
from ..tir import op as _op
from ..tir.expr import PrimExpr
from .broadcast import broadcast_shape
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

# ---------------------------------------------------------------------------------------------
# Shapes
# ---------------------------------------------------------------------------------------------


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


# ---------------------------------------------------------------------------------------------
# Joints and parts
# ---------------------------------------------------------------------------------------------


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
    begins = [te.const(0, size.dtype), *(_expr.cast(size.dtype, i) for i in indices_or_sections)]
    ends = [*begins[1:], size]
    parts = []
    for begin, end in zip(begins, ends, strict=True):
        extent = canonical(end - begin)
        if (constant(extent) or 0) < 0:
            raise ValueError(f"expected indices in order, at most {size}, but got {begins[1:]}")
        parts.append(_part(ary, at, begin, extent, "T_split_indices"))
    return parts


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


def repeat(a: Tensor, repeats: int, axis: int) -> Tensor:
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


# ---------------------------------------------------------------------------------------------
# Elements by index
# ---------------------------------------------------------------------------------------------


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
        What an index out of bounds stands for. "fast" and "clip": the nearest one. "wrap": it
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


# ---------------------------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------------------------


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """Return the product of matrices; leading dimensions broadcast.

    Parameters
    ----------
    a, b : Tensor
        Of rank 1 or more; a vector is a row on the left and a column on the right.
    transp_a, transp_b : bool
        Whether the last two dimensions are swapped.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> matmul(te.placeholder(("b", "n", 4)), te.placeholder((4, 3)))
    Tensor(T_matmul, shape=(b, n, 3), dtype=float32)
    """
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"expected tensors of rank 1 or more, but got {a} and {b}")
    left = [*a.shape[:-2], *([] if a.ndim == 1 else [a.shape[-1 if transp_a else -2]])]
    depth = a.shape[-2 if transp_a and a.ndim > 1 else -1]
    right = [] if b.ndim == 1 else [b.shape[-2 if transp_b else -1]]
    other = b.shape[-1 if transp_b or b.ndim == 1 else -2]
    if is_equal(depth, other) is False:
        raise ValueError(f"expected matrices that fit, but got {a} and {b}: {depth} and {other}")
    rows = left[-1:] if a.ndim > 1 else []
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    k = te.reduce_axis((0, depth), name="k")

    def value(*i: PrimExpr) -> PrimExpr:
        outer = i[: len(batch)]
        row = list(i[len(batch) : len(batch) + len(rows)])
        column = list(i[len(batch) + len(rows) :])
        a_at = [*row, k.var] if not transp_a or a.ndim == 1 else [k.var, *row]
        b_at = [k.var, *column] if not transp_b or b.ndim == 1 else [*column, k.var]
        x, y = _batched(a, outer, a_at), _batched(b, outer, b_at)
        return te.sum(x * y, axis=k)

    return te.compute([*batch, *rows, *right], value, name="T_matmul", tag="matmul")


def _batched(x: Tensor, outer: Sequence[PrimExpr], inner: Sequence[PrimExpr]) -> PrimExpr:
    """Return an element of a tensor whose leading dimensions broadcast."""
    count = x.ndim - len(inner)
    own = outer[len(outer) - count :] if count else ()
    first = [
        te.const(0, index.dtype) if constant(dim) == 1 else index
        for index, dim in zip(own, x.shape, strict=False)
    ]
    return x(*first, *inner)


def tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Tensor:
    """Return the sum of products over axes of both.

    Parameters
    ----------
    a, b : Tensor
    axes : int, or pair of int or sequence of int
        How many: the last of `a` and the first of `b`. Or which, of each.

    Returns
    -------
    Tensor
    """
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = (
            [axis_of(i, x.ndim) for i in (own if isinstance(own, (list, tuple)) else [own])]
            for x, own in zip((a, b), axes, strict=True)
        )
    if len(left) != len(right) or any(
        is_equal(a.shape[i], b.shape[j]) is False for i, j in zip(left, right, strict=True)
    ):
        raise ValueError(f"expected axes of equal sizes, but got {axes} of {a} and {b}")
    reduced = [te.reduce_axis((0, a.shape[i]), name=f"k{i}") for i in left]
    a_free = [i for i in range(a.ndim) if i not in left]
    b_free = [i for i in range(b.ndim) if i not in right]

    def value(*i: PrimExpr) -> PrimExpr:
        a_at = dict(zip(a_free, i[: len(a_free)], strict=True))
        b_at = dict(zip(b_free, i[len(a_free) :], strict=True))
        a_at.update(zip(left, (each.var for each in reduced), strict=True))
        b_at.update(zip(right, (each.var for each in reduced), strict=True))
        x, y = a(*(a_at[n] for n in range(a.ndim))), b(*(b_at[n] for n in range(b.ndim)))
        return te.sum(x * y, axis=reduced) if reduced else x * y

    shape = [*(a.shape[i] for i in a_free), *(b.shape[i] for i in b_free)]
    return te.compute(shape, value, name="T_tensordot", tag="matmul")


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
