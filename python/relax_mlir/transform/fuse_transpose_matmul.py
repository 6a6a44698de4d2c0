# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with transposed matrices, as kernels that read them as they are."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import topi
from ..core.ir_module import IRModule
from ..dialects import relax as _ops
from .kernels import Kernels
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import dims_of, dtype_of, has_one_use, rewrite_operations, transposed


@module_pass(opt_level=0)
class FuseTransposeMatmul:
    """Compute ``matmul(x, permute_dims(w))`` by a kernel `NT_matmul` that reads `w` as it is.

    The last two dimensions of `w` are swapped, and nothing else needs that. `relax_mlir.compile`
    does so by itself: the kernels of both become one.

    Examples
    --------
    >>> from relax_mlir.transform import FuseTransposeMatmul
    >>> mod = FuseTransposeMatmul()('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[3, 4], f32>) -> !relax.tensor<[n, 3], f32> {
    ...   %0 = relax.permute_dims %w : (!relax.tensor<[3, 4], f32>) -> !relax.tensor<[4, 3], f32>
    ...   %1 = relax.matmul %x, %0 : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 3], f32>) -> !relax.tensor<[n, 3], f32>
    ...   relax.return %1 : !relax.tensor<[n, 3], f32>
    ... }''')
    >>> "relax.call_tir @NT_matmul(%x, %w)" in str(mod)
    True
    """  # noqa: E501 (the lines of MLIR)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Fuse in each function of the module."""
        kernels = Kernels(mod)

        def rewrite(matmul: ir.Operation) -> ir.Value | None:
            x, right = matmul.operands
            permute = transposed(right)
            if permute is None or not has_one_use(right):
                return None
            w = permute.operands[0]
            dtype = dtype_of(matmul.results[0])
            is_known = all(dims_of(value) and dtype_of(value) for value in (x, w))
            if dtype is None or not is_known:
                return None
            return kernels.call_te(_product, x, w, dtype, primfunc_name_hint="NT_matmul")

        for function in list(mod.functions.values()):
            if isinstance(function, _ops.FuncOp):
                rewrite_operations(function.operation, ["relax.matmul"], rewrite)
        return mod


def _product(x: Any, w: Any, dtype: str) -> Any:
    return topi.matmul(x, w, transp_b=True, out_dtype=dtype)
