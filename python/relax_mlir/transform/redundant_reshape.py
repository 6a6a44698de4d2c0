# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshapes that change nothing, or that the next one makes needless."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..core.struct_info import facts_at
from .python_pass import function_pass
from .rewriting import have_one_shape, made_by, rewrite_operations, updates_tensors


@function_pass(opt_level=0)
class RemoveRedundantReshape:
    """Remove the first one of two reshapes, and reshapes to the shape that a tensor has.

    Shapes are compared as far as can be proven, so ``[n * 4 + 4]`` and ``[(n + 1) * 4]`` are one.
    A function that updates tensors in place is left alone: its reshapes are copies.

    Examples
    --------
    >>> from relax_mlir.transform import RemoveRedundantReshape
    >>> mod = RemoveRedundantReshape()('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
    ...   %0 = relax.shape <[n * 4]>
    ...   %1 = relax.reshape %x, %0 : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 4]>) -> !relax.tensor<[n * 4], f32>
    ...   %2 = relax.shape <[n, 4]>
    ...   %3 = relax.reshape %1, %2 : (!relax.tensor<[n * 4], f32>, !relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
    ...   relax.return %3 : !relax.tensor<[n, 4], f32>
    ... }''')
    >>> "reshape" in str(mod)
    False
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Remove reshapes of a function."""
        if not updates_tensors(func.operation):
            rewrite_operations(func.operation, ["relax.reshape"], _remove)
        return func


def _remove(reshape: ir.Operation) -> ir.Value | None:
    data, shape = reshape.operands
    if have_one_shape(data, reshape.results[0], facts_at(reshape)):
        return data
    first = made_by(data, "relax.reshape")
    return None if first is None else op.reshape(first.operands[0], shape)
