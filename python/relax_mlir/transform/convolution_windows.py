# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The windows of a convolution as the columns of a matrix (im2col)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

from mlir import ir

from .. import op
from ..composites.convolution import with_padding
from .operations import ints_attribute, text_attribute
from .rewriting import dims_of

_LAYOUTS = {
    "relax.conv1d": ("NCW", "OIW"),
    "relax.conv2d": ("NCHW", "OIHW"),
    "relax.conv3d": ("NCDHW", "OIDHW"),
}
# Larger windows would become as many operations.
_MOST_PLACES = 64
# The window that kernels with the algorithm of Winograd are for, and the input and output channels
# from which on they are faster than those of narrow types.
_WINOGRAD, _FEWEST_INPUTS, _FEWEST_OUTPUTS = [3, 3], 12, 16
# Images of so few pixels wait for the weights of so many channels, which such kernels have more of.
_FEW_PIXELS, _MANY_CHANNELS = 49, 256
# Of a group: the dimensions of images, the input channels that fill a word, the output channels
# that fill a vector.
_PLANE, _WORD, _LANES = 2, 4, 8


@dataclass(frozen=True)
class ConvWindow:
    """The window of a convolution of one group in NCHW, and where it is put.

    Attributes
    ----------
    channels : int
        Of the data, for a group.
    outputs : int
        Channels of the result; 0 where they are not known.
    groups : int
    sizes, strides, dilation : list of int
        For each spatial dimension.
    padding : list of int
        Before each spatial dimension, then after each.
    pixels : int or None
        Of an image of the data, if they are known.
    has_columns : bool
        Whether `columns` writes them: windows are small, and the sizes of data known.
    """

    channels: int
    outputs: int
    groups: int
    sizes: list[int]
    strides: list[int]
    padding: list[int]
    dilation: list[int]
    pixels: int | None
    has_columns: bool

    @staticmethod
    def match(conv: ir.Operation) -> ConvWindow | None:
        """Return that of a convolution in NCHW; None of any other one."""
        data, weight = map(dims_of, conv.operands)
        layouts = _LAYOUTS[conv.name]
        names = ("data_layout", "kernel_layout", "out_layout")
        stated = [text_attribute(conv, *each) for each in zip(names, (*layouts, ""), strict=True)]
        if not data or not weight or stated[:2] != [*layouts] or stated[2] not in ("", layouts[0]):
            return None
        groups = conv.attributes["groups"].value if "groups" in conv.attributes else 1
        sizes = [dim.value for dim in weight[1:] if dim.value is not None]
        if len(sizes) + 1 < len(weight):
            return None
        ones = [1] * (len(sizes) - 1)
        given = [
            ints_attribute(conv, name, default)
            for name, default in (
                ("strides", ones),
                ("padding", [0] * 2 * len(ones)),
                ("dilation", ones),
            )
        ]
        extents = [dim.value for dim in data[2:] if dim.value is not None]
        pixels = math.prod(extents) if len(extents) + 2 == len(data) else None
        strides, padding, dilation = given
        outputs = weight[0].value or 0
        window = ConvWindow(
            sizes[0], outputs, groups, sizes[1:], strides, padding, dilation, pixels, False
        )
        has_columns = groups == 1 and (pixels is not None or window.is_pointwise)
        is_small = math.prod(sizes[1:]) <= _MOST_PLACES
        return replace(window, has_columns=has_columns and is_small)

    @property
    def is_padded(self) -> bool:
        """Whether anything is added around the data."""
        return any(self.padding)

    @property
    def is_pointwise(self) -> bool:
        """Whether each window is a pixel, and each pixel a window."""
        return not self.is_padded and all(size == 1 for size in (*self.sizes, *self.strides))

    @property
    def has_winograd(self) -> bool:
        """Whether float32 has kernels with the algorithm of Winograd for it."""
        is_dense = all(step == 1 for step in (*self.strides, *self.dilation))
        has_many = self.channels >= _FEWEST_INPUTS and self.outputs >= _FEWEST_OUTPUTS
        return self.groups == 1 and self.sizes == _WINOGRAD and is_dense and has_many

    @property
    def waits_for_weights(self) -> bool:
        """Whether weights of fewer bytes count for more than the algorithm of Winograd."""
        is_small = self.pixels is not None and self.pixels <= _FEW_PIXELS
        return is_small and self.channels >= _MANY_CHANNELS

    @property
    def is_depthwise(self) -> bool:
        """Whether each output channel has one input channel of several."""
        return self.groups != 1 and self.channels == 1

    @property
    def has_narrow_kernel(self) -> bool:
        """Whether bytes and bf16 have kernels for it."""
        if self.groups == 1:
            return True
        if len(self.sizes) > _PLANE or self.outputs % self.groups:
            return False
        if self.is_depthwise:
            return math.prod(self.sizes) <= _MOST_PLACES
        return self.channels >= _WORD and self.outputs // self.groups % _LANES == 0

    def columns(self, data: ir.Value, pad_value: int) -> ir.Value:
        """Return the elements that windows have, as (batch, window and channel, place).

        Parameters
        ----------
        data : mlir.ir.Value
            Of (batch, channel, ...).
        pad_value : int
            What is added around it.
        """
        if self.is_padded:
            data = with_padding(data, self.padding, pad_value)
        parts = [data]
        if not all(size == 1 for size in (*self.sizes, *self.strides)):
            parts = self._parts(data)
        together = op.concat(parts, 1) if len(parts) > 1 else parts[0]
        batch, rows, *_ = together.type.shape
        return op.reshape(together, [batch, rows, -1])

    def _parts(self, data: ir.Value) -> list[ir.Value]:
        """Return the element at each place of a window, of all windows."""
        extents = [dim.value for dim in data.type.shape[2:]]
        axes = [2 + i for i in range(len(extents))]
        ends = [
            extent - (size - 1) * step
            for extent, size, step in zip(extents, self.sizes, self.dilation, strict=True)
        ]
        parts = []
        for place in itertools.product(*map(range, self.sizes)):
            begin = [at * step for at, step in zip(place, self.dilation, strict=True)]
            end = [first + size for first, size in zip(begin, ends, strict=True)]
            parts.append(op.strided_slice(data, axes, begin, end, self.strides, True))
        return parts
