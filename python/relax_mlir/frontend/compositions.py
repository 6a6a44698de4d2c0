# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importers compose of operators, whatever the framework of the model."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim, TensorStructInfo

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
