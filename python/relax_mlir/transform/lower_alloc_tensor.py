# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors with memory of their own are put in storages."""

from __future__ import annotations

from mlir import ir

from ..core.dtypes import element_type
from ..core.expr import build
from ..core.ir import Dim, TensorStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..core.vdevice import listed_devices
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import relax_functions


@module_pass(opt_level=0)
class LowerAllocTensor:
    """Put each tensor that has memory of its own in a storage of its size.

    Compilation does not need this pass: `StaticPlanBlockMemory` leaves alone what it does not plan.

    Examples
    --------
    >>> from relax_mlir.transform import LowerAllocTensor
    >>> print(LowerAllocTensor()('''
    ... relax.func impure @main(%s: !relax.shape<[n]>) -> !relax.object {
    ...   %0 = relax.builtin.alloc_tensor : !relax.tensor<[n, 2], f32>
    ...   relax.return %0 : !relax.tensor<[n, 2], f32>
    ... }'''))
    module {
      relax.func impure @main(%s: !relax.shape<[n]>) -> !relax.object {
        %0 = relax.builtin.alloc_storage size <n * 8>
        %1 = relax.builtin.alloc_tensor from %0 at 0 : !relax.tensor<[n, 2], f32>
        relax.return %1 : !relax.tensor<[n, 2], f32>
      }
    }
    <BLANKLINE>
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions."""
        for function in relax_functions(mod.module):
            for op in list(walk(function)):
                if op.name == "relax.builtin.alloc_tensor" and not len(op.operands):
                    _lower(op)
        return mod


def _lower(alloc: ir.Operation) -> None:
    type_ = TensorStructInfo(alloc.results[0].type)
    if type_.shape is None or type_.dtype is None:  # shapes were lowered before
        return
    size = Dim((element_type(type_.dtype).width + 7) // 8)
    for dim in type_.shape:
        size = size * dim
    device = listed_devices(alloc).get(type_.vdevice) if type_.vdevice else None
    with ir.InsertionPoint(alloc), alloc.location:
        storage = build(_ops.AllocStorageOp, size=size, device=device)
        tensor = build(_ops.AllocTensorOp, type_, [], storage=storage, offset=0)
    alloc.results[0].replace_all_uses_with(tensor)
    alloc.erase()
