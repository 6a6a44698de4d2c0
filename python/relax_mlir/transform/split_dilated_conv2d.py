# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dilated convolutions as those of every other pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlir import ir

from .. import op
from ..core.ir import Dim
from ..core.ir_module import IRModule
from .convolution_windows import ConvWindow
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import dims_of, dtype_of, has_one_dtype, rewrite_operations

# Images of fewer rows or columns are padding for the most part, and so are results of which more
# than this share is cut off.
_FEWEST, _MOST_CUT = 4, 0.2
# Of windows in one dimension, fewer input or output channels are as fast by definition, and so are
# fewer of them times the columns of a row that fill a vector.
_FEWEST_CHANNELS, _VECTOR, _FEWEST_COLUMNS = 32, 16, 320


@module_pass(opt_level=0)
class SplitDilatedConv2D:
    """Compute a dilated `conv2d` of float32 by one of images of every other row and column.

    A window with a dilation of `d` sees every `d`-th element alone, so elements whose places are
    the same modulo `d` are images of their own, of a convolution without dilation: for windows of
    3 x 3 there is the algorithm of Winograd. Both are copied once. A signal needs no copy: its
    elements are an image whose rows have `d` of them, and windows go down the columns. Images whose
    size is unknown, or too small for it, are left alone, and so are layouts other than NCHW and
    OIHW, see `ConvertLayout`.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import SplitDilatedConv2D
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 32, 28, 28), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     weight = relax.op.const(np.ones((32, 32, 3, 3), "float32"))
    ...     _ = bb.emit_func_output(relax.op.nn.conv2d(x, weight, padding=2, dilation=2))
    >>> "dilation" in str(SplitDilatedConv2D()(bb.get()))
    False
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Split in each function of the module."""
        for function in mod.module.body.operations:
            if function.operation.name == "relax.func":
                rewrite_operations(function.operation, ["relax.conv2d"], _split)
        return mod


@dataclass(frozen=True)
class _Axis:
    """A spatial dimension: `count` images have every `count`-th element of it.

    Attributes
    ----------
    size, outputs : int
        Of the data and of the result.
    count : int
    before, after : int
        The padding of each image.
    """

    size: int
    outputs: int
    count: int
    before: int
    after: int

    @staticmethod
    def make(size: int, outputs: int, dilation: int, padding: int) -> _Axis | None:
        """Return it where images begin together, and are large enough."""
        before, rest = divmod(padding, dilation)
        rows = -(-outputs // dilation)
        after = rows + 2 - before + size // -dilation
        if rest or after < 0 or rows < _FEWEST:
            return None
        return _Axis(size, outputs, dilation, before, after)

    @property
    def whole(self) -> int:
        """Elements of the result of all images."""
        return -(-self.outputs // self.count) * self.count


def _split(conv: ir.Operation) -> ir.Value | None:
    data, weight = conv.operands
    window = ConvWindow.match(conv)
    if window is None or dtype_of(data) != "float32" or not has_one_dtype(conv):
        return None
    dims, result = dims_of(data), dims_of(conv.results[0])
    if max(window.dilation) == 1 or not dims or not result:
        return None
    if 1 in window.sizes:
        return _split_lines(data, weight, window, dims, result)
    if not replace(window, dilation=[1, 1]).has_winograd:
        return None
    sizes = [dim.value for dim in (*dims[2:], *result[2:])]
    axes = []
    for size, outputs, dilation, padding in zip(
        sizes[:2], sizes[2:], window.dilation, window.padding[:2], strict=True
    ):
        if size is None or outputs is None:
            return None
        axis = _Axis.make(size, outputs, dilation, padding)
        if axis is None:
            return None
        axes.append(axis)
    rows, columns = axes
    kept = rows.outputs * columns.outputs / (rows.whole * columns.whole)
    if kept < 1 - _MOST_CUT:
        return None
    images = _images(data, dims, axes)
    around = [rows.before, columns.before, rows.after, columns.after]
    return _joined(op.nn.conv2d(images, weight, padding=around), result[0], axes)


def _split_lines(
    data: ir.Value, weight: ir.Value, window: ConvWindow, dims: Sequence[Dim], result: list[Dim]
) -> ir.Value | None:
    """Return a convolution by windows of three rows, or of three columns of a signal."""
    place = 0 if window.sizes == [3, 1] else 1
    is_line = window.sizes == [3, 1] or (window.sizes == [1, 3] and dims[2].value == 1)
    has_padding = window.padding[1 - place] or window.padding[3 - place]
    if not is_line or window.groups != 1 or window.strides != [1, 1] or has_padding:
        return None
    size, outputs = dims[2 + place].value, result[2 + place].value
    channels = min(window.channels, window.outputs)
    width = dims[3] if place == 0 else Dim(1)
    filled = min((width.value or _VECTOR) * window.dilation[place], _VECTOR)
    is_narrow = channels < _FEWEST_CHANNELS or channels * filled < _FEWEST_COLUMNS
    if size is None or outputs is None or is_narrow:
        return None
    axis = _Axis.make(size, outputs, window.dilation[place], window.padding[place])
    if axis is None or outputs < (1 - _MOST_CUT) * axis.whole:
        return None
    lines = op.reshape(data, [*dims[:2], size, width])
    if rest := -size % axis.count:
        lines = op.nn.pad(lines, [0, 0, 0, 0, 0, rest, 0, 0])
    image = op.reshape(lines, [*dims[:2], (size + rest) // axis.count, width * axis.count])
    kernel = op.reshape(weight, [window.outputs, window.channels, 3, 1])
    out = op.nn.conv2d(image, kernel, padding=[axis.before, 0, axis.after, 0])
    out = op.reshape(out, [*result[:2], axis.whole, width])
    if axis.whole > outputs:
        out = op.strided_slice(out, [2], [0], [outputs], assume_inbound=True)
    return op.reshape(out, result)


def _images(data: ir.Value, dims: Sequence[Dim], axes: Sequence[_Axis]) -> ir.Value:
    """Return the images of the phases of both dimensions as a batch."""
    rest = [-axis.size % axis.count for axis in axes]
    if any(rest):
        data = op.nn.pad(data, [0, 0, 0, 0, 0, rest[0], 0, rest[1]])
    rows, columns = (
        (axis.size + more) // axis.count for axis, more in zip(axes, rest, strict=True)
    )
    down, right = (axis.count for axis in axes)
    split = op.reshape(data, [dims[0], dims[1], rows, down, columns, right])
    moved = op.permute_dims(split, [0, 3, 5, 1, 2, 4])
    return op.reshape(moved, [dims[0] * (down * right), dims[1], rows, columns])


def _joined(images: ir.Value, batch: Dim, axes: Sequence[_Axis]) -> ir.Value:
    """Return the image that has the phases between each other."""
    _, channels, rows, columns = images.type.shape
    down, right = (axis.count for axis in axes)
    split = op.reshape(images, [batch, down, right, channels, rows, columns])
    moved = op.permute_dims(split, [0, 3, 4, 1, 5, 2])
    whole = op.reshape(moved, [batch, channels, rows * down, columns * right])
    ends = [axis.outputs for axis in axes]
    if ends == [axis.whole for axis in axes]:
        return whole
    return op.strided_slice(whole, [2, 3], [0, 0], ends, assume_inbound=True)
