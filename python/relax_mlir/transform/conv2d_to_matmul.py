# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of images of one pixel as products of matrices."""

from __future__ import annotations

import dataclasses

from mlir import ir

from .. import op
from ..core.ir_module import IRModule
from .convolution_windows import ConvWindow
from .fold_constant import is_computed_of_constants
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import dtype_of, rewrite_operations


@module_pass(opt_level=0)
class Conv2DToMatmul:
    """Compute `conv2d` of float32 images of one pixel by `matmul`.

    Networks have them where they weigh channels by their means (squeeze and excite), and at their
    end. A product has channels as lanes of vectors, and reads constant weights from start to end.
    Weights that are no constants, groups of channels, and layouts other than NCHW and OIHW are left
    alone, see `ConvertLayout`.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import Conv2DToMatmul
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 2, 1, 1), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     weight = relax.op.const(np.ones((4, 2, 1, 1), "float32"))
    ...     _ = bb.emit_func_output(relax.op.nn.conv2d(x, weight))
    >>> mod = Conv2DToMatmul()(bb.get())
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.constant', 'relax.squeeze', 'relax.squeeze', 'relax.permute_dims', 'relax.matmul', 'relax.expand_dims']
    """  # noqa: E501 (what a program becomes)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Convert in each function of the module."""
        for function in mod.module.body.operations:
            if function.operation.name == "relax.func":
                rewrite_operations(function.operation, ["relax.conv2d"], _multiply)
        return mod


def _multiply(conv: ir.Operation) -> ir.Value | None:
    data, weight = conv.operands
    window = ConvWindow.match(conv)
    dtypes = {dtype_of(value) for value in (data, weight, conv.results[0])}
    if window is None or window.groups != 1 or window.pixels != 1 or dtypes != {"float32"}:
        return None
    # There is one place for the window, whatever its strides are.
    is_pointwise = dataclasses.replace(window, strides=[1, 1]).is_pointwise
    if not is_pointwise or not is_computed_of_constants(weight):
        return None
    images, matrix = (op.squeeze(value, [2, 3]) for value in (data, weight))
    return op.expand_dims(op.matmul(images, op.permute_dims(matrix)), [2, 3])
