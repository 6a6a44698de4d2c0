# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that operands say: known at import, or named when the program has computed them."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .... import op
from ....composites.data_dependent import tensor_to_shape
from ....composites.distinct import named_size
from ....composites.kernels import bind_size, new_size_name
from ....composites.tensors import cast, number, product, same, size_tensor
from ....core.expr import const
from ....core.ir import Dim
from ...values import Value, as_tensor, is_known, known_sizes, rank_of, shape_of, sizes


def sizes_of(value: Value, what: str) -> list[int | Dim]:
    """Return the elements of a vector of sizes.

    Where the program computes them from data they are new shape variables; that one of them is
    negative is an error when it runs.

    Raises
    ------
    ValueError
        If it is no vector of a known number of elements.
    """
    if is_known(value):
        return known_sizes(value, what)
    return [named_size(one, new_size_name("size")) for one in _elements(value, what)]


def size_of(value: Value, what: str) -> int | Dim:
    """Return an operand of one element as a size, as `sizes_of` does.

    Raises
    ------
    ValueError
        If it has another number of elements.
    """
    flat = value if is_known(value) else op.reshape(as_tensor(value), [1])
    found = sizes_of(flat, what)
    if len(found) != 1:
        raise ValueError(f"expected {what} of one element, but got {len(found)}")
    return found[0]


def broadcast_sizes(x: ir.Value, value: Value) -> list[int | Dim]:
    """Return the dimensions that a tensor is broadcast to.

    Where data says them, those of the tensor that are not 1 stay, which is checked when the program
    runs.
    """
    if is_known(value):
        return known_sizes(value, "a shape")
    wanted = _elements(value, "a shape")
    dims = shape_of(x)
    if len(dims) > len(wanted):
        raise ValueError(f"expected a shape of {len(dims)} or more, but got {len(wanted)} sizes")
    result: list[int | Dim] = []
    for dim, size in zip([1] * (len(wanted) - len(dims)) + dims, wanted, strict=True):
        if same(dim, 1):
            result.append(named_size(size, new_size_name("size")))
        else:
            bind_size(dim, tensor_to_shape(op.reshape(cast(size, "int64"), [1])))
            result.append(dim)
    return result


def reshape_sizes(x: ir.Value, value: ir.Value, keeps_zeros: bool) -> list[int | Dim]:
    """Return the shape that data says for a tensor.

    A size of -1 is what the others leave, and one of 0 that of the tensor unless zeros are kept.
    Other codes are errors when the program runs.
    """
    count, dims = len(_elements(value, "a shape")), shape_of(x)
    codes, zero, one = cast(value, "int64"), number(0, "int64"), number(1, "int64")
    if not keeps_zeros:
        mine = as_tensor(sizes([*dims, *[1] * count][:count]))
        codes = op.where(op.equal(codes, zero), mine, codes)
    is_left = op.equal(codes, number(-1, "int64"))
    others = op.maximum(op.prod(op.where(is_left, one, codes)), one)
    left = op.floor_divide(size_tensor(product(dims)), others)
    return sizes_of(op.where(is_left, left, codes), "a shape")


def expanded_sizes(x: ir.Value, axis: ir.Value, count: int) -> list[int | Dim]:
    """Return the shape of a tensor with new dimensions of 1 where data says."""
    dims, one = shape_of(x), number(1, "int64")
    places = op.arange(0, len(dims) + count, 1, "int64")
    begin = op.reshape(cast(axis, "int64"), [])
    begin = op.where(
        op.less(begin, number(0, "int64")), op.add(begin, number(len(dims) + 1, "int64")), begin
    )
    behind = op.add(begin, number(count, "int64"))
    is_before, is_behind = op.less(places, begin), op.greater_equal(places, behind)
    sources = op.where(is_before, places, op.subtract(places, number(count, "int64")))
    mine = op.take(as_tensor(sizes([*dims, 1])), sources, 0, mode="clip")
    return sizes_of(op.where(op.logical_or(is_before, is_behind), mine, one), "a shape")


def squeezed_sizes(x: ir.Value, axes: ir.Value) -> list[int | Dim]:
    """Return the shape of a tensor without the dimensions that data says, which are 1."""
    dims, rank = shape_of(x), number(rank_of(x), "int64")
    removed = op.floor_mod(cast(op.reshape(axes, [-1]), "int64"), rank)
    places = op.arange(0, len(dims), 1, "int64")
    hits = op.equal(op.expand_dims(places, 1), op.expand_dims(removed, 0))
    order = op.argsort(op.max(cast(hits, "uint8"), [1]), 0, False, "int64")
    count = shape_of(axes)[0] if shape_of(axes) else 1
    if not isinstance(count, int) or count > len(dims):
        raise ValueError(f"expected up to {len(dims)} axes, but got {count}")
    kept = op.strided_slice(order, [0], [0], [len(dims) - count], [1])
    return sizes_of(op.take(as_tensor(sizes(dims)), kept, 0), "a shape")


def _elements(value: Value, what: str) -> Sequence[ir.Value]:
    """Return the elements of a vector that the program computes."""
    tensor = as_tensor(value)
    dims = shape_of(tensor)
    if len(dims) != 1 or not isinstance(dims[0], int):
        raise ValueError(f"expected {what} as a vector of known length, but got {tensor.type}")
    return [op.take(tensor, const(i, "int64"), 0) for i in range(dims[0])]
