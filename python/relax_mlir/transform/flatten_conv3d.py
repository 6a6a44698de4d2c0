# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions over volumes as those of their slices."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.ir import Dim
from ..core.ir_module import IRModule
from .operations import ints_attribute, text_attribute
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import dims_of, dtype_of, rewrite_operations

_LAYOUTS = {"data_layout": "NCDHW", "kernel_layout": "OIDHW", "out_layout": "NCDHW"}


@module_pass(opt_level=0)
class FlattenConv3D:
    """Compute `conv3d` of float32 by `conv2d`, whose kernels are the fast ones.

    Where a window has one row and column, as those over time in networks for videos, slices are the
    rows of an image, whose columns are the pixels of a slice. Otherwise a slice of the result is an
    image. Its channels are those of as many slices of the input as a window is deep, which are put
    together: a copy of the input for each. Groups of channels, windows of unknown depth, and
    layouts other than NCDHW and OIDHW are left alone, see `ConvertLayout`.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import FlattenConv3D
    >>> x = relax.Var("x", relax.TensorStructInfo((1, 2, "d", 9, 9), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     weight = relax.op.const(np.ones((4, 2, 1, 3, 3), "float32"))
    ...     _ = bb.emit_func_output(relax.op.nn.conv3d(x, weight))
    >>> mod = FlattenConv3D()(bb.get())
    >>> [line.split()[2] for line in str(mod).splitlines() if "conv" in line]
    ['relax.conv2d']
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Convert in each function of the module."""
        for function in mod.module.body.operations:
            if function.operation.name == "relax.func":
                rewrite_operations(function.operation, ["relax.conv3d"], _flatten)
        return mod


def _flatten(conv: ir.Operation) -> ir.Value | None:
    data, weight = conv.operands
    result = dims_of(conv.results[0])
    sizes, volume = dims_of(weight), dims_of(data)
    layouts = {name: text_attribute(conv, name, wanted) for name, wanted in _LAYOUTS.items()}
    has_groups = "groups" in conv.attributes and conv.attributes["groups"].value != 1
    dtypes = {dtype_of(value) for value in (data, weight, conv.results[0])}
    if layouts != _LAYOUTS or has_groups or dtypes != {"float32"}:
        return None
    if not (result and sizes and volume) or any(dim.value is None for dim in sizes[2:]):
        return None
    depth = sizes[2].value
    assert depth is not None
    strides, dilation, padding = (
        ints_attribute(conv, name, default)
        for name, default in (("strides", [1] * 3), ("dilation", [1] * 3), ("padding", [0] * 6))
    )
    (front, *before), (back, *after) = padding[:3], padding[3:]
    if [dim.value for dim in sizes[3:]] == strides[1:] == [1, 1] and not any([*before, *after]):
        out = op.nn.conv2d(
            op.reshape(data, [*volume[:3], volume[3] * volume[4]]),
            op.reshape(weight, [*sizes[:3], 1]),
            strides=[strides[0], 1],
            padding=[front, 0, back, 0],
            dilation=[dilation[0], 1],
        )
        return op.reshape(out, result)
    if front or back:
        data = op.nn.pad(data, [0, 0, 0, 0, front, back, 0, 0, 0, 0])
    slices = _put_together(data, volume, depth, result[2], strides[0], dilation[0])
    if depth > 1:
        weight = op.permute_dims(weight, [0, 2, 1, 3, 4])
    channels = volume[1] * depth
    images = op.reshape(slices, [result[0] * result[2], channels, *volume[3:]])
    kernel = op.reshape(weight, [sizes[0], channels, *sizes[3:]])
    out = op.nn.conv2d(
        images, kernel, strides=strides[1:], padding=[*before, *after], dilation=dilation[1:]
    )
    batch, outputs, *others = result
    out = op.reshape(out, [batch, others[0], outputs, *others[1:]])
    return op.permute_dims(out, [0, 2, 1, 3, 4])


def _put_together(
    data: ir.Value, volume: list[Dim], depth: int, count: Dim, stride: int, dilation: int
) -> ir.Value:
    """Return, for each slice of the result, the slices of a window: (batch, slice, channel, ...).

    Channels are those of the first slice of a window, then those of the next one.
    """
    data = op.permute_dims(data, [0, 2, 1, 3, 4])
    parts = [
        op.strided_slice(
            data,
            [1],
            [place * dilation],
            [(count - 1) * stride + place * dilation + 1],
            [stride],
            assume_inbound=True,
        )
        for place in range(depth)
    ]
    return parts[0] if depth == 1 else op.concat(parts, 2)
