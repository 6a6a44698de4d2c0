# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradient of what takes elements at places: sums of elements at these places."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.ir import Dim
from .tensors import cast, number, rank_of, shape_of, size_tensor


def scatter_along(g: ir.Value, axis: int, size: int | Dim, places: ir.Value) -> ir.Value:
    """Return zeros of one dimension more or less, with elements added at places along it.

    Parameters
    ----------
    g : mlir.ir.Value
        In place of the dimension `axis` it has those of `places`.
    axis : int
    size : int or Dim
        The dimension in the result.
    places : mlir.ir.Value
        Integers from 0 to `size` - 1.
    """
    dims, count = shape_of(g), rank_of(places)
    rest = [*dims[:axis], *dims[axis + count :]]
    order = [*range(axis, axis + count), *range(axis), *range(axis + count, len(dims))]
    first = g if axis == 0 else op.permute_dims(g, order)
    zeros = op.zeros([size, *rest], g.type.dtype)
    total = op.scatter_nd(zeros, op.expand_dims(places, count), first, "add")
    back = [*range(1, axis + 1), 0, *range(axis + 1, len(rest) + 1)]
    return total if axis == 0 else op.permute_dims(total, back)


def take_gradient(
    g: ir.Value, indices: ir.Value, axis: int, size: int | Dim, mode: str = "clip"
) -> ir.Value:
    """Return the gradient of the tensor that `op.take` takes elements of.

    Parameters
    ----------
    g : mlir.ir.Value
        The gradient of the result.
    indices : mlir.ir.Value
        Of any integers.
    axis : int
        From 0 on.
    size : int or Dim
        The dimension that the tensor has at `axis`.
    mode : str
        What an index out of range means, as for `op.take`.
    """
    length, wide = size_tensor(size), cast(indices, "int64")
    if mode == "wrap":
        return scatter_along(g, axis, size, op.floor_mod(wide, length))
    last = op.subtract(length, number(1, "int64"))
    places = op.maximum(op.minimum(wide, last), number(0, "int64"))
    if mode == "nan":
        # What is not moved is in range; nothing else has a gradient.
        after = rank_of(g) - axis - rank_of(places)
        inside = op.reshape(op.equal(places, wide), [*shape_of(places), *[1] * after])
        g = op.where(inside, g, number(0, g.type.dtype))
    return scatter_along(g, axis, size, places)
