# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Different elements of vectors, and sizes that tensors say."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.ir import Dim
from .data_dependent import tensor_to_shape
from .kernels import bind_size
from .selection import true_places
from .tensors import cast, number, shape_of, size_tensor


def named_size(value: ir.Value, name: str) -> Dim:
    """Return the number in a tensor as a size; a negative one is an error of the program.

    Parameters
    ----------
    value : mlir.ir.Value
        Of one element, an integer.
    name : str
        Of a new shape variable.
    """
    size = Dim(name)
    bind_size(size, tensor_to_shape(op.reshape(cast(value, "int64"), [1])))
    return size


def runs(x: ir.Value, count: str) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return the elements of a vector without those that are equal to the one before.

    Elements that are not a number differ from all others.

    Parameters
    ----------
    x : mlir.ir.Value
        A vector.
    count : str
        The name of a new shape variable: how many elements are left.

    Returns
    -------
    tuple of mlir.ir.Value
        The elements, the place of each element of `x` among them, and how often each comes up in a
        row; both as int64.
    """
    (extent,) = shape_of(x)
    zero, one = number(0, "int64"), number(1, "int64")
    at = op.arange(0, extent, 1, "int64")
    before = op.take(x, op.maximum(op.subtract(at, one), zero), 0)
    is_first = op.logical_or(op.equal(at, zero), op.not_equal(x, before))
    size = Dim(count)
    begins = true_places(is_first, size)
    group = op.subtract(op.cumsum(op.astype(is_first, "int64"), 0), one)
    ends = op.concat([begins, op.reshape(size_tensor(extent), [1])], 0)
    ends = op.strided_slice(ends, [0], [1], [size + 1], [1], assume_inbound=True)
    return op.take(x, begins, 0), group, op.subtract(ends, begins)


def distinct(x: ir.Value, count: str) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return the different elements of a vector in order, as `runs` does of one that is sorted."""
    order = op.argsort(x, 0, dtype="int64")
    values, group, counts = runs(op.take(x, order, 0), count)
    places = op.scatter_elements(op.zeros(shape_of(x), "int64"), order, group, 0)
    return values, places, counts
