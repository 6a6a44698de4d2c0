# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized weights are transposed before they become floats, so that products unpack them."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from .fold_constant import is_computed_of_constants
from .pass_context import PassContext
from .python_pass import module_pass


@module_pass(opt_level=0)
class TransposeQuantizedWeights:
    """Transpose codes and scales in the place of what `dequantize` makes of them.

    ``permute_dims(dequantize(codes, scale, zero))`` becomes ``dequantize`` of transposed codes if
    all three are computed of constants. `FoldConstant` transposes them then, and a product that
    reads the result unpacks them itself.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import TransposeQuantizedWeights
    >>> codes, scale = np.ones((4, 8), "int8"), np.ones(4, "float32")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", []):
    ...     weights = relax.op.dequantize(codes, scale, np.int8(0), axis=0)
    ...     _ = bb.emit_func_output(relax.op.permute_dims(weights))
    >>> text = str(TransposeQuantizedWeights()(bb.get()))
    >>> text.index("relax.permute_dims") < text.index("relax.dequantize")
    True
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Transpose in each function of the module."""
        transpose_quantized_weights(mod.module)
        return mod


def transpose_quantized_weights(module: ir.Module) -> None:
    """Transpose the quantized weights of a module, which is changed.

    Parameters
    ----------
    module : mlir.ir.Module
    """
    for function in module.body.operations:
        if isinstance(function, _ops.FuncOp):
            for found in list(walk(function.operation)):
                if found.name == "relax.permute_dims":
                    _transpose(found)


def _transpose(permute: ir.Operation) -> None:
    made = permute.operands[0].owner
    if not isinstance(made, (ir.Operation, ir.OpView)) or made.operation.name != "relax.dequantize":
        return
    weights: Any = made.operation.opview
    if not all(is_computed_of_constants(value) for value in made.operation.operands):
        return
    rank = weights.data.type.ndim
    stated = permute.opview.axes
    order = [*range(rank)][::-1] if stated is None else [axis % rank for axis in stated]
    axis = order.index(weights.axis.value % rank if weights.axis is not None else rank - 1)
    with ir.InsertionPoint(permute), permute.location:
        data, scale, zero = (
            op.permute_dims(value, order) if value.type.ndim == rank and rank > 1 else value
            for value in made.operation.operands
        )
        block = weights.block_size.value if weights.block_size is not None else 0
        dtype = weights.result.type.dtype
        result = op.dequantize(data, scale, zero, axis, dtype, block)
    permute.results[0].replace_all_uses_with(result)
    permute.erase()
    if not list(weights.result.uses):
        made.operation.erase()
