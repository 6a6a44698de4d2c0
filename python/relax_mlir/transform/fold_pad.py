# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding of images as that of the window operators that read them."""

from __future__ import annotations

from mlir import ir

from ..core.ir_module import IRModule
from .convolution_windows import ConvWindow
from .operations import copy_operation, text_attribute
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import made_by, rewrite_operations

_CONVOLUTIONS = ("relax.conv1d", "relax.conv2d", "relax.conv3d")


@module_pass(opt_level=0)
class FoldPad:
    """Make zeros around an image (`nn.pad`) the padding of the convolutions of it.

    Models that were written for TensorFlow, whose padding is not the same on all sides, pad images
    first: they would be copied. The padding of a convolution adds nothing to the time. Layouts
    other than NCHW and OIHW are left alone, see `ConvertLayout`.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import FoldPad
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 2, 8, 8), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     image = relax.op.nn.pad(x, [0, 0, 0, 0, 0, 1, 0, 1])
    ...     weight = relax.op.const(np.ones((4, 2, 3, 3), "float32"))
    ...     _ = bb.emit_func_output(relax.op.nn.conv2d(image, weight, strides=2))
    >>> [line.strip() for line in str(FoldPad()(bb.get())).splitlines() if "padding" in line]
    ['%1 = relax.conv2d %x, %0 {padding = array<i64: 0, 0, 1, 1>, strides = array<i64: 2, 2>} : (!relax.tensor<[n, 2, 8, 8], f32>, !relax.tensor<[4, 2, 3, 3], f32>) -> !relax.tensor<[n, 4, 4, 4], f32>']
    """  # noqa: E501 (what a program becomes)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Fold in each function of the module."""
        for function in mod.module.body.operations:
            if function.operation.name == "relax.func":
                rewrite_operations(function.operation, _CONVOLUTIONS, _fold)
        return mod


def _fold(conv: ir.Operation) -> ir.Value | None:
    pad = made_by(conv.operands[0], "relax.pad")
    window = ConvWindow.match(conv)
    if pad is None or window is None or not _is_of_zeros(pad):
        return None
    widths = list(pad.attributes["pad_width"])
    if any(widths[:4]):  # of the batch, or of channels
        return None
    added = [*widths[4::2], *widths[5::2]]
    padding = [one + other for one, other in zip(window.padding, added, strict=True)]
    attributes = {"padding": ir.DenseI64ArrayAttr.get(padding)}
    return copy_operation(conv, [pad.operands[0], *list(conv.operands)[1:]], attributes).results[0]


def _is_of_zeros(pad: ir.Operation) -> bool:
    is_constant = text_attribute(pad, "pad_mode", "constant") == "constant"
    value = pad.attributes["pad_value"].value if "pad_value" in pad.attributes else 0.0
    return is_constant and bool(value == 0)
