# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed convolutions: those of each phase of the result, side by side."""

from __future__ import annotations

import dataclasses
import math
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
    return _phase_kernel(weight, dims, groups, [1] * (len(dims) - 2))


def _phase_kernel(
    weight: ir.Value, dims: Sequence[int], groups: int, strides: Sequence[int]
) -> ir.Value:
    """Return weights whose channels are the phases of the result, those of each channel together.

    Phase `r` of a dimension sees the elements `r`, `r + stride`, ... of the window, last one first;
    the window has zeros at the end where their number differs.
    """
    inputs, outputs, *window = dims
    count = len(window)
    taps = [-(-size // stride) for size, stride in zip(window, strides, strict=True)]
    rest = [taps[i] * strides[i] - window[i] for i in range(count)]
    if any(rest):
        weight = padded(weight, [(0, 0), (0, 0), *((0, after) for after in rest)], "constant")
    split = [part for pair in zip(taps, strides, strict=True) for part in pair]
    by_group = op.reshape(weight, [groups, inputs // groups, outputs, *split])
    # Channels are the other way round in each group.
    phases, places = (range(first, 3 + 2 * count, 2) for first in (4, 3))
    turned = op.permute_dims(by_group, [0, 2, *phases, 1, *places])
    channels = groups * outputs * math.prod(strides)
    kernel = op.reshape(turned, [channels, inputs // groups, *taps])
    for axis, size in enumerate(taps, 2):
        if size > 1:
            kernel = op.flip(kernel, axis)
    return kernel


def transposed(x: ir.Value, weight: ir.Value, how: Convolution, dtype: str) -> ir.Value:
    """Return the transposed convolution of a tensor.

    Elements of the result whose places differ by a multiple of the stride see the same elements of
    the window. So each of these phases is a convolution of the tensor as it is, and one convolution
    has all of them as its channels.

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
    data, kernel = widened(x, weight, dtype)
    count, dims, strides = len(window), [inputs, outputs, *window], list(how.strides)
    if any(s != 1 and d != 1 for s, d in zip(strides, how.dilations, strict=True)):
        # A phase would see elements of a dilated window that are no phase of it.
        data, strides = spread(data, strides), [1] * count
    before, after, cut = [], [], []
    for i, stride in enumerate(strides):
        reach = (window[i] - 1) * how.dilations[i]
        first, left = divmod(how.padding[i], stride)
        last, right = divmod(reach - how.padding[i + count] + how.extra[i], stride)
        before.append(reach // stride - first)
        after.append(last)
        cut.append((left, stride - 1 - right))
    widths = [(min(one, 0), min(other, 0)) for one, other in zip(before, after, strict=True)]
    data = padded(data, [(0, 0), (0, 0), *widths], "constant")
    phases = CONVOLUTIONS[count](
        data, _phase_kernel(kernel, dims, how.groups, strides), 1,
        [max(one, 0) for one in before + after], how.dilations, how.groups, out_dtype=dtype,
    )  # fmt: skip
    return _interleaved(phases, strides, cut)


def _interleaved(x: ir.Value, strides: Sequence[int], cut: Sequence[tuple[int, int]]) -> ir.Value:
    """Return a tensor whose channels are phases with these between the elements of each dimension.

    Parameters
    ----------
    x : mlir.ir.Value
    strides : sequence of int
        The number of phases of each spatial dimension.
    cut : sequence of pairs of int
        How many elements are left out at the begin and at the end of each.
    """
    if all(stride == 1 for stride in strides):
        return x
    batch, channels, *dims = shape_of(x)
    count, kept = len(dims), channels // math.prod(strides)
    split = op.reshape(x, [batch, kept, *strides, *dims])
    order = [axis for i in range(count) for axis in (2 + count + i, 2 + i)]
    moved = op.permute_dims(split, [0, 1, *order])
    sizes = [dim * stride for dim, stride in zip(dims, strides, strict=True)]
    whole = op.reshape(moved, [batch, kept, *sizes])
    return padded(whole, [(0, 0), (0, 0), *((-one, -other) for one, other in cut)], "constant")
