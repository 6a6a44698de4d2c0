# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed convolutions: convolutions of tensors with zeros between their elements."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from mlir import ir

from .. import op
from .padding import padded, spread
from .tensors import cast, number, shape_of

CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
"""By the number of spatial dimensions."""


@dataclasses.dataclass(frozen=True)
class Convolution:
    """How a window moves over a tensor.

    Parameters
    ----------
    strides, dilations : list of int
        For each spatial dimension.
    padding : list of int
        Before each spatial dimension, then after each.
    groups : int
    extra : list of int
        Of a transposed convolution, how many elements more each dimension has after its end.
    """

    strides: list[int]
    padding: list[int]
    dilations: list[int]
    groups: int
    extra: list[int]


def numbers(value: Any, count: int, what: str) -> list[int]:
    """Return an attribute that has a number for each spatial dimension, or one for all.

    Raises
    ------
    ValueError
        If there are more or fewer of them.
    """
    given = [int(one) for one in (value if isinstance(value, (list, tuple)) else [value])]
    if len(given) not in (1, count):
        raise ValueError(f"expected {what} of 1 or {count} numbers, but got {given}")
    return given * count if len(given) == 1 else given


def padding_numbers(value: Any, count: int) -> list[int]:
    """Return padding before each spatial dimension, then after each.

    Parameters
    ----------
    value : int or sequence of int
        For all sides, for each dimension, or for each side.
    count : int

    Raises
    ------
    ValueError
        If there are more or fewer numbers.
    """
    given = [int(one) for one in (value if isinstance(value, (list, tuple)) else [value])]
    if len(given) not in (1, count, 2 * count):
        raise ValueError(f"expected padding of 1, {count} or {2 * count} numbers, but got {given}")
    if len(given) == 2 * count:
        return given
    return numbers(given, count, "padding") * 2


def widened(x: ir.Value, weight: ir.Value, dtype: str) -> tuple[ir.Value, ir.Value]:
    """Return factors whose products have a data type; integers are widened before."""
    first, second = x.type.dtype, weight.type.dtype
    if first == second and (first == dtype or first.startswith(("float", "bfloat"))):
        return x, weight
    return cast(x, dtype), cast(weight, dtype)


def unsigned_bytes(x: ir.Value, zero: Any) -> tuple[ir.Value, Any]:
    """Return integers of 8 bits as unsigned ones, and their zero point, an int or int32."""
    if x.type.dtype == "uint8":
        return x, zero
    wide = op.add(op.astype(x, "int16"), number(128, "int16"))
    moved = zero + 128 if isinstance(zero, int) else op.add(zero, number(128, "int32"))
    return op.astype(wide, "uint8"), moved


def with_padding(x: ir.Value, padding: Sequence[int], value: int) -> ir.Value:
    """Return a tensor with a number around it: before each spatial dimension, then after each."""
    count = len(padding) // 2
    widths = [padding[i + side] for i in range(count) for side in (0, count)]
    return op.nn.pad(x, [0, 0, 0, 0, *widths], "constant", value)


def along_channels(value: ir.Value, rank: int) -> ir.Value:
    """Return a vector as a tensor of a rank that has it along its second dimension."""
    return op.expand_dims(value, list(range(1, rank - 1))) if rank > 2 else value


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


def transposed(x: ir.Value, weight: ir.Value, how: Convolution, dtype: str) -> ir.Value:
    """Return the transposed convolution of a tensor.

    Parameters
    ----------
    x : mlir.ir.Value
        Of the dimensions batch, channel, and the spatial ones.
    weight : mlir.ir.Value
        Of the dimensions input channel, output channel of a group, and those of the window.
    how : Convolution
    dtype : str
        The data type of the result.

    Raises
    ------
    NotImplementedError
        If a dimension of the weight is not known.
    """
    inputs, outputs, *window = shape_of(weight)
    if not all(isinstance(dim, int) for dim in (inputs, outputs, *window)):
        raise NotImplementedError(f"expected a weight of known size, but got {shape_of(weight)}")
    count = len(window)
    reach = [(size - 1) * by for size, by in zip(window, how.dilations, strict=True)]
    widths = [(0, 0), (0, 0)] + [
        (reach[i] - how.padding[i], reach[i] - how.padding[i + count] + how.extra[i])
        for i in range(count)
    ]
    data, kernel = widened(x, weight, dtype)
    around = padded(spread(data, how.strides), widths, "constant")
    mirrored = mirrored_kernel(kernel, [inputs, outputs, *window], how.groups)
    convolve = CONVOLUTIONS[count]
    return convolve(around, mirrored, 1, 0, how.dilations, how.groups, out_dtype=dtype)
