# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of elements at the places that indices name: the gradient of all that takes elements."""

from __future__ import annotations

from typing import Any

from ... import op
from ...core.ir import Dim
from .shapes import dims_of, moved_axis, reshaped


def scatter_along(g: Any, axis: int, size: Dim, places: Any) -> Any:
    """Return zeros of one dimension more or less, with elements added at places along it.

    Parameters
    ----------
    g : tensor
        In place of the dimension `axis` it has those of `places`.
    axis : int
    size : Dim
        The dimension in the result.
    places : tensor of integers
        From 0 to `size` - 1.
    """
    dims, count = dims_of(g), places.type.ndim
    rest = [*dims[:axis], *dims[axis + count :]]
    ndim = len(dims)
    order = [*range(axis, axis + count), *range(axis), *range(axis + count, ndim)]
    first = g if axis == 0 else op.permute_dims(g, order)
    zeros = op.zeros([size, *rest], g.type.dtype)
    total = op.scatter_nd(zeros, op.expand_dims(places, count), first, "add")
    return moved_axis(total, 0, axis)


def from_end(places: Any, size: Any) -> Any:
    """Return indices of which negative ones count from the end as indices from 0 on."""
    if places.type.dtype != "int64":
        places = op.astype(places, "int64")
    return op.where(op.less(places, 0), places + size, places)


def clipped(places: Any, size: Any) -> Any:
    """Return the nearest indices from 0 to `size` - 1."""
    return op.maximum(op.minimum(places, size - 1), 0)


def is_inside(places: Any, size: Any) -> Any:
    """Say which indices are from 0 to `size` - 1."""
    return op.logical_and(op.greater_equal(places, 0), op.less(places, size))


def vector_of(values: Any) -> Any:
    """Return a tensor of rank 0 as a vector of one element."""
    return reshaped(values, [Dim(1)])
