# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshapes that come before operators of single elements."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..core.variables import defining_op
from ..op._ops_gen import ELEMENTWISE
from .operations import copy_operation, rank_of
from .python_pass import function_pass
from .rewriting import has_one_use, made_by, rewrite_operations


@function_pass(opt_level=1)
class ReorderReshapeAfterElementwise:
    """Compute ``f(reshape(x))`` as ``reshape(f(x))``, where another operator makes ``x``.

    ``f`` may have numbers, too. It becomes part of the kernel of ``x`` then: models of languages
    multiply rows of a whole batch by a matrix, and have an activation behind the reshape.

    Examples
    --------
    >>> from relax_mlir.transform import ReorderReshapeAfterElementwise
    >>> mod = ReorderReshapeAfterElementwise()('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[n * 4], f32> {
    ...   %0 = relax.matmul %x, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ...   %1 = relax.shape <[n * 4]>
    ...   %2 = relax.reshape %0, %1 : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 4]>) -> !relax.tensor<[n * 4], f32>
    ...   %3 = relax.tanh %2 : (!relax.tensor<[n * 4], f32>) -> !relax.tensor<[n * 4], f32>
    ...   relax.return %3 : !relax.tensor<[n * 4], f32>
    ... }''')
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.matmul', 'relax.shape', 'relax.tanh', 'relax.reshape']
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Reshape after the operators of a function."""
        rewrite_operations(func.operation, ELEMENTWISE, _reorder)
        return func


def _reorder(found: ir.Operation) -> ir.Value | None:
    operands = list(found.operands)
    tensors = [i for i, value in enumerate(operands) if not _is_number(value)]
    if len(tensors) != 1:
        return None
    (place,) = tensors
    reshape = made_by(operands[place], "relax.reshape")
    if reshape is None or not has_one_use(reshape.results[0]):
        return None
    operands[place], shape = reshape.operands
    producer = defining_op(operands[place])
    if producer is None or producer.name == "relax.constant":
        return None
    return op.reshape(copy_operation(found, operands).results[0], shape)


def _is_number(value: ir.Value) -> bool:
    return rank_of(value) == 0 or made_by(value, "relax.prim_value") is not None
