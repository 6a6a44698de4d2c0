# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors and their dimensions, as composite operators ask for them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim, Facts, TensorStructInfo


def size(dim: int | Dim) -> int | Dim:
    """Return a dimension as a number where it is one."""
    number = dim if isinstance(dim, int) else dim.value
    return dim if number is None else number


def facts(*dims: int | Dim) -> Facts:
    """Return that no dimension is negative, of those in some expressions."""
    names = {name for dim in dims if isinstance(dim, Dim) for name in dim.variables}
    return Facts(bounds=dict.fromkeys(names, (0, None)))


def same(first: int | Dim, second: int | Dim) -> bool | None:
    """Say whether two sizes are equal; None where it is not decided."""
    return Dim(first).prove_equal(second, facts(first, second))


def product(dims: Iterable[int | Dim]) -> int | Dim:
    """Return the product of dimensions."""
    return functools.reduce(operator.mul, dims, 1)


def quotient(dims: Sequence[int | Dim], divisors: Sequence[int | Dim]) -> int | Dim:
    """Return what is left of the elements of a tensor beside some dimensions."""
    left, below = list(dims), []
    for divisor in divisors:
        equal = next((dim for dim in left if same(dim, divisor)), None)
        if equal is None:
            below.append(divisor)
        else:
            left.remove(equal)
    over, under = product(left), product(below)
    if isinstance(over, int) and isinstance(under, int):
        return over // under
    times = times_as_large(over, under)
    return size(over // under) if times is None else times


def times_as_large(whole: int | Dim, part: int | Dim) -> int | None:
    """Return how many times one size is another; None where that is no number above 0."""
    # A multiple is what it is for one choice of sizes, if it is so for all.
    names = {name for one in (whole, part) if isinstance(one, Dim) for name in one.variables}
    sample = {name: 101 + 6 * i for i, name in enumerate(sorted(names))}
    over, under = (Dim(one).evaluate(sample) for one in (whole, part))
    times = over // under if over and under else 0
    return times if times and same(whole, part * times) else None


def at_least(dim: int | Dim, least: int) -> int | Dim:
    """Return the larger one of a size and a number."""
    return size(Dim(dim).max(least))


def shape_of(value: ir.Value) -> list[int | Dim]:
    """Return the dimensions of a tensor.

    Raises
    ------
    NotImplementedError
        If they are not known.
    """
    if not isinstance(value, ir.Value) or not isinstance(value.type, TensorStructInfo):
        kind = f"a value of type {value.type}" if isinstance(value, ir.Value) else repr(value)
        raise NotImplementedError(f"expected a tensor, but got {kind}")
    if value.type.shape is None:
        raise NotImplementedError(
            f"expected a tensor of known shape, but got one of type {value.type}"
        )
    return [size(dim) for dim in value.type.shape]


def rank_of(value: ir.Value) -> int:
    """Return the number of dimensions of a tensor."""
    return len(shape_of(value))


def fields_of(value: ir.Value) -> list[ir.Value]:
    """Return the fields of a tuple."""
    return [op.get_item(value, i) for i in range(len(value.type.fields))]


def parts_of(x: ir.Value, sections: int | Sequence[int], axis: int = 0) -> list[ir.Value]:
    """Return the parts that `op.split` makes of a tensor."""
    return fields_of(op.split(x, sections, axis=axis))


def number(value: Any, dtype: str) -> ir.Value:
    """Return a number as a constant of rank 0; floats become integers where the type is."""
    if dtype.startswith(("int", "uint")):
        value = int(value)
    return const(bool(value) if dtype == "bool" else value, dtype)


def bits_of(dtype: str) -> int:
    """Return how many bits an element of a data type takes in memory."""
    return 8 if dtype == "bool" else int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz"))


def size_tensor(dim: int | Dim, dtype: str = "int64") -> ir.Value:
    """Return a size as a tensor of rank 0."""
    if isinstance(dim, int):
        return number(dim, dtype)
    # A range of one number: it is computed like any other tensor, in a kernel.
    vector = op.arange(dim, dim + 1, 1, "int64")
    return cast(op.reshape(vector, []), dtype)


def common_shape(*tensors: ir.Value) -> list[int | Dim]:
    """Return the dimensions that tensors are broadcast to."""
    common: list[int | Dim] = [1] * max(map(rank_of, tensors))
    for tensor in tensors:
        for i, dim in enumerate(reversed(shape_of(tensor))):
            # A number says more than an expression.
            if common[-1 - i] == 1 or (isinstance(dim, int) and dim != 1):
                common[-1 - i] = dim
    return common


def _at_most_one(dim: int | Dim) -> bool:
    return isinstance(dim, Dim) and bool(dim.prove_less_equal(1, facts(dim)))


def agreed(*tensors: ir.Value) -> list[ir.Value]:
    """Return operands of one operator on elements, whose dimensions are known to broadcast.

    Two dimensions of which it is not known whether they are equal are taken to be so, which the
    program checks when it runs: that one of them is 1 is an error then. One that is at most 1, as a
    part of one element has it, is taken to be 1.
    """
    tensors = tuple(
        matched(tensor, [1 if _at_most_one(dim) else dim for dim in shape_of(tensor)])
        for tensor in tensors
    )
    common = common_shape(*tensors)
    return [
        matched(tensor, [
            dim if dim == 1 else wanted
            for dim, wanted in zip(
                shape_of(tensor), common[len(common) - rank_of(tensor) :], strict=True
            )
        ])
        for tensor in tensors
    ]  # fmt: skip


def matched(value: ir.Value, dims: Sequence[int | Dim]) -> ir.Value:
    """Return a tensor as one of given dimensions, checked when the program runs.

    Raises
    ------
    ValueError
        If it never has these dimensions.
    """
    known_dims = shape_of(value)
    answers = [same(mine, other) for mine, other in zip(known_dims, dims, strict=True)]
    if False in answers:
        raise ValueError(
            f"expected dimensions {[str(dim) for dim in dims]}, but got "
            f"{[str(dim) for dim in known_dims]}"
        )
    if all(answers):
        return value
    return op.match_cast(value, TensorStructInfo(list(dims), value.type.dtype))


def cast(value: ir.Value, dtype: str) -> ir.Value:
    """Return a tensor of another data type."""
    return value if value.type.dtype == dtype else op.astype(value, dtype)


def normal_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the begin.

    Raises
    ------
    ValueError
        If there is no such axis.
    """
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"expected an axis from {-rank} to {rank - 1}, but got {axis}")
    return axis % rank if rank else 0


def transposed(x: ir.Value) -> ir.Value:
    """Return a tensor with its last two dimensions exchanged."""
    rank = rank_of(x)
    return op.permute_dims(x, [*range(rank - 2), rank - 1, rank - 2])


def product_along(x: ir.Value, matrix: np.ndarray, axis: int) -> ir.Value:
    """Return the product of a matrix with one dimension of a tensor.

    Rows whose few elements that are not zero lie next to each other, as those of resampling, are
    sums of slices; others take a product of matrices.

    Parameters
    ----------
    x : mlir.ir.Value
    matrix : numpy.ndarray
        Its rows are the elements of the result, its columns those of `x`.
    axis : int
        Counted from the begin.
    """
    last = rank_of(x) - 1
    begins, width = _bands(matrix)
    # A term costs as much as so many columns of a product. Elements of the last axis are gathered,
    # from more lines where there are fewer in the result.
    cost = 6 if axis != last else 12 if len(matrix) >= matrix.shape[1] else 20
    if 0 < width <= _MOST_TERMS and width * cost <= matrix.shape[1]:
        return _sum_of_bands(x, matrix, axis, begins, width)
    return matmul_along(x, const(np.ascontiguousarray(matrix.T), x.type.dtype), axis)


def matmul_along(x: ir.Value, weights: ir.Value, axis: int) -> ir.Value:
    """Return the product of one dimension of a tensor with a matrix.

    Parameters
    ----------
    x : mlir.ir.Value
    weights : mlir.ir.Value
        Of the dimensions (elements of `x`, elements of the result).
    axis : int
        Counted from the begin.
    """
    last = rank_of(x) - 1
    if axis == last:
        return op.matmul(x, weights)
    order = [*range(last + 1)]
    order[axis], order[last] = last, axis
    return op.permute_dims(op.matmul(op.permute_dims(x, order), weights), order)


_MOST_TERMS = 16


def _bands(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """Return where as many columns begin in each row that all others are zero, and the number."""
    count, columns = matrix.shape
    if not matrix.any():
        return np.zeros(count, "int64"), min(columns, 1)
    counts = matrix != 0
    first = counts.argmax(1)
    width = int((columns - counts[:, ::-1].argmax(1) - first)[counts.any(1)].max())
    return np.minimum(first, columns - width), width


def _sum_of_bands(
    x: ir.Value, matrix: np.ndarray, axis: int, begins: np.ndarray, width: int
) -> ir.Value:
    shape = [1] * rank_of(x)
    shape[axis] = len(matrix)
    terms = []
    for i in range(width):
        shares = np.take_along_axis(matrix, begins[:, None] + i, 1).reshape(shape)
        elements = op.take(x, const((begins + i).astype("int64")), axis)
        terms.append(op.multiply(elements, const(shares, x.type.dtype)))
    return functools.reduce(op.add, terms)
