# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importers compose of operators, whatever the framework of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim, TensorStructInfo
from .values import number, product, rank_of, shape_of, size_tensor

# Of the cubic kernel of Keys.
_CUBIC = -0.75


def along_channels(value: ir.Value, rank: int) -> ir.Value:
    """Return a vector as a tensor of a rank that has it along its second dimension."""
    return op.expand_dims(value, list(range(1, rank - 1))) if rank > 2 else value


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


def mirrored_kernel(weight: ir.Value, dims: Sequence[int], groups: int) -> ir.Value:
    """Return the weights of the convolution that a transposed one is, of a tensor with zeros.

    Parameters
    ----------
    weight : mlir.ir.Value
        Of the dimensions input channel, output channel of a group, and those of the window.
    dims : sequence of int
        Its dimensions.
    groups : int
    """
    inputs, outputs, *kernel = dims
    count = len(kernel)
    # Channels are the other way round in each group.
    by_group = op.reshape(weight, [groups, inputs // groups, outputs, *kernel])
    turned = op.permute_dims(by_group, [0, 2, 1, *range(3, 3 + count)])
    mirrored = op.reshape(turned, [groups * outputs, inputs // groups, *kernel])
    for axis in range(2, 2 + count):
        mirrored = op.flip(mirrored, axis)
    return mirrored


def true_places(flags: ir.Value, minus_one: ir.Value, several: Dim, count: Dim) -> ir.Value:
    """Return the places of a vector of bool that hold, as int64, in order.

    Parameters
    ----------
    flags : mlir.ir.Value
    minus_one : mlir.ir.Value
        The number -1, as int64.
    several, count : Dim
        New shape variables: the number of places and one, and the number of places.
    """
    places = op.where(flags, op.arange(0, flags.type.shape[0], 1, "int64"), minus_one)
    # Of the different numbers, in order, the first one is -1.
    found = op.unique(op.concat([op.reshape(minus_one, [1]), places], 0))
    found = op.match_cast(found, TensorStructInfo([several], "int64"))
    kept = op.strided_slice(found, [0], [1], [several], [1], assume_inbound=True)
    return op.match_cast(kept, TensorStructInfo([count], "int64"))


def cubic_weights(share: ir.Value) -> list[ir.Value]:
    """Return the shares of four elements in a row in a value between the middle ones.

    Parameters
    ----------
    share : mlir.ir.Value
        How far it is from the second element, from 0 to 1.
    """
    dtype, a = share.type.dtype, _CUBIC

    def polynomial(distance: ir.Value, *factors: float) -> ir.Value:
        total = const(float(factors[0]), dtype)
        for factor in factors[1:]:
            total = op.add(op.multiply(total, distance), const(float(factor), dtype))
        return total

    def far(distance: ir.Value) -> ir.Value:
        return polynomial(distance, a, -5 * a, 8 * a, -4 * a)

    def near(distance: ir.Value) -> ir.Value:
        return polynomial(distance, a + 2, -(a + 3), 0.0, 1.0)

    one = const(1.0, dtype)
    rest = op.subtract(one, share)
    return [far(op.add(share, one)), near(share), near(rest), far(op.add(rest, one))]


def expm1(x: ir.Value) -> ir.Value:
    """Return exp(x) - 1, with all its digits near 0."""
    dtype = x.type.dtype
    one = const(1.0, dtype)
    plain = op.subtract(op.exp(x), one)
    near = op.multiply(op.tanh(op.multiply(x, const(0.5, dtype))), op.add(op.exp(x), one))
    return op.where(op.less(op.abs(x), one), near, plain)


def log1p(x: ir.Value) -> ir.Value:
    """Return log(1 + x), with all its digits near 0."""
    one = const(1.0, x.type.dtype)
    total = op.add(x, one)
    # What rounding took from the sum is made good by the factor.
    rounded = op.subtract(total, one)
    exact = op.multiply(op.log(total), op.divide(x, rounded))
    same = op.logical_or(op.equal(total, one), op.isinf(x))
    return op.where(same, op.where(op.isinf(x), op.log(total), x), exact)


def round_away(x: ir.Value) -> ir.Value:
    """Return the nearest whole number, of two the one that is farther from 0."""
    whole = op.trunc(x)
    is_far = op.greater_equal(op.abs(op.subtract(x, whole)), number(0.5, x.type.dtype))
    return op.where(is_far, op.add(whole, op.sign(x)), whole)


def truncated_remainder(x: ir.Value, y: ir.Value) -> ir.Value:
    """Return what is left of a division that is rounded towards 0, as ``%`` and ``fmod`` of C."""
    dtype = x.type.dtype
    if dtype.startswith("uint"):
        return op.floor_mod(x, y)
    if dtype.startswith("int"):
        return op.subtract(x, op.multiply(op.divide(x, y), y))
    rest = op.floor_mod(op.abs(x), op.abs(y))
    return op.where(op.less(x, number(0, dtype)), op.negative(rest), rest)


def einsum(equation: str, operands: Sequence[ir.Value]) -> ir.Value:
    """Return products, summed over indices, as ``numpy.einsum`` does.

    Parameters
    ----------
    equation : str
        As in ``bij,bjk->bik``; without an arrow the result has the letters that come up once.
    operands : sequence of mlir.ir.Value
        Of one data type.

    Raises
    ------
    ValueError
        If there are not as many operands as the equation says, or not of the rank that it says.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(
            f"expected {len(terms)} operands for '{equation}', but got {len(operands)}"
        )
    letters = [_spelled(term, rank_of(x)) for term, x in zip(terms, operands, strict=True)]
    if not arrow:
        flat = [letter for term in letters for letter in term]
        once = sorted(one for one in set(flat) if flat.count(one) == 1 and one.isalpha())
        right = "..." + "".join(once)
    dots = max((sum(not one.isalpha() for one in term) for term in letters), default=0)
    wanted = _spelled(right, dots + len(right.replace("...", "")) if "..." in right else len(right))
    return _contract(letters, list(operands), wanted)


def _spelled(term: str, rank: int) -> list[str]:
    """Return a letter for each dimension, with numbers, from the last one, for those of dots."""
    first, dots, last = term.partition("...")
    count = rank - len(first) - len(last)
    if count < 0 or (count and not dots):
        raise ValueError(f"expected a tensor of rank {len(term)} for '{term}', but got rank {rank}")
    return [*first, *(str(i) for i in reversed(range(count))), *last]


def _contract(terms: list[list[str]], inputs: list[ir.Value], wanted: list[str]) -> ir.Value:
    for i, term in enumerate(terms):
        terms[i], inputs[i] = _diagonal(term, inputs[i])
    unknown = [one for one in wanted if not any(one in term for term in terms)]
    if unknown:
        raise ValueError(f"expected letters of operands in the result, but got {unknown}")
    while len(inputs) > 1:
        others = {one for term in terms[2:] for one in term} | set(wanted)
        order, value = _pair(terms[:2], inputs[:2], others)
        terms, inputs = [order, *terms[2:]], [value, *inputs[2:]]
    term, value = terms[0], inputs[0]
    dropped = [i for i, letter in enumerate(term) if letter not in wanted]
    if dropped:
        value = op.sum(value, dropped)
    kept = [letter for letter in term if letter in wanted]
    return _arranged(kept, value, wanted)


def _arranged(term: list[str], value: ir.Value, order: list[str]) -> ir.Value:
    return value if order == term else op.permute_dims(value, [term.index(one) for one in order])


def _diagonal(term: list[str], x: ir.Value) -> tuple[list[str], ir.Value]:
    """Take the elements where dimensions of one letter have the same index."""
    for letter in term:
        if term.count(letter) == 1:
            continue
        first = term.index(letter)
        second = term.index(letter, first + 1)
        shape = [1] * len(term)
        dims = shape_of(x)
        shape[first], shape[second] = dims[first], dims[second]
        eye = op.reshape(op.eye(dims[first], dims[second], 0, "bool"), shape)
        x = op.sum(op.where(eye, x, number(0, x.type.dtype)), [second])
        return _diagonal(term[:second] + term[second + 1 :], x)
    return term, x


def _pair(
    terms: list[list[str]], inputs: list[ir.Value], needed: set[str]
) -> tuple[list[str], ir.Value]:
    """Return the product of two tensors, summed over what no other has."""
    first, second = terms
    both = [one for one in first if one in second]
    batch = [one for one in both if one in needed or not one.isalpha()]
    summed = [one for one in both if one not in batch]
    rows = [one for one in first if one not in both]
    columns = [one for one in second if one not in both]
    x = _arranged(first, inputs[0], batch + rows + summed)
    y = _arranged(second, inputs[1], batch + summed + columns)
    left, right = shape_of(x), shape_of(y)
    b, r, s = len(batch), len(rows), len(summed)
    x = op.reshape(x, [*left[:b], product(left[b : b + r]), product(left[b + r :])])
    y = op.reshape(y, [*right[:b], product(right[b : b + s]), product(right[b + s :])])
    result = op.matmul(x, y)
    return batch + rows + columns, op.reshape(
        result, [*shape_of(result)[:b], *left[b : b + r], *right[b + s :]]
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
    for axis in range(rank):
        before, after = widths[axis], widths[axis + rank]
        if mode == "constant":
            x = _pad_axis(x, axis, before, after, value)
        elif before != 0 or after != 0:
            x = _repeat_axis(x, axis, before, after, mode)
    return x


def _pad_axis(x: ir.Value, axis: int, before: Any, after: Any, value: ir.Value) -> ir.Value:
    if any(isinstance(one, int) and one < 0 for one in (before, after)):
        first, last = -min(before, 0), shape_of(x)[axis] + min(after, 0)
        x = op.strided_slice(x, [axis], [first], [last], [1], assume_inbound=True)
        before, after = max(before, 0), max(after, 0)
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


def product_along(x: ir.Value, matrix: np.ndarray, axis: int) -> ir.Value:
    """Return the product of a matrix with one dimension of a tensor.

    Parameters
    ----------
    x : mlir.ir.Value
    matrix : numpy.ndarray
        Its rows are the elements of the result, its columns those of `x`.
    axis : int
        Counted from the begin.
    """
    last = rank_of(x) - 1
    weights = const(np.ascontiguousarray(matrix.T), x.type.dtype)
    if axis == last:
        return op.matmul(x, weights)
    order = [*range(last + 1)]
    order[axis], order[last] = last, axis
    return op.permute_dims(op.matmul(op.permute_dims(x, order), weights), order)
