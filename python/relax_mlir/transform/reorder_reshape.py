# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshapes that come before operators of single elements."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..core.ir import Dim
from ..core.struct_info import facts_at
from ..core.variables import defining_op
from ..op._ops_gen import ELEMENTWISE
from .fold_constant import is_computed_of_constants
from .operations import copy_operation, rank_of
from .python_pass import function_pass
from .rewriting import (
    are_equal,
    dims_of,
    has_one_use,
    have_one_shape,
    made_by,
    rewrite_operations,
    updates_tensors,
)


@function_pass(opt_level=1)
class ReorderReshapeAfterElementwise:
    """Compute ``f(reshape(x))`` as ``reshape(f(x))``, where another operator makes ``x``.

    ``f`` may have numbers, too. It becomes part of the kernel of ``x`` then: models of languages
    multiply rows of a whole batch by a matrix, and have an activation behind the reshape. Where a
    reshape only adds and removes dimensions of 1, ``f`` may have constants and parameters, which
    are reshaped instead: masks are added to attention scores that way. Two reshapes that come
    together and change nothing are removed. A function that updates tensors in place is left alone.

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
        if not updates_tensors(func.operation):
            rewrite_operations(func.operation, ELEMENTWISE, _reorder)
            rewrite_operations(func.operation, ["relax.reshape"], _remove_pair)
        return func


def _reorder(found: ir.Operation) -> ir.Value | None:
    operands = list(found.operands)
    tensors = [i for i, value in enumerate(operands) if not _is_number(value)]
    for place in tensors:
        reshape = made_by(operands[place], "relax.reshape")
        if reshape is None or not _is_worthwhile(reshape):
            continue
        data, shape = reshape.operands
        others = [i for i in tensors if i != place]
        shapes = [_shape_before(reshape, found, operands[i]) for i in others]
        if None in shapes:
            continue
        operands[place] = data
        for i, before in zip(others, shapes, strict=True):
            operands[i] = op.reshape(operands[i], before)
        return op.reshape(copy_operation(found, operands).results[0], shape)
    return None


def _remove_pair(reshape: ir.Operation) -> ir.Value | None:
    """Return what the reshape before is given, if that has the shape already."""
    first = made_by(reshape.operands[0], "relax.reshape")
    if first is None:
        return None
    data = first.operands[0]
    return data if have_one_shape(data, reshape.results[0], facts_at(reshape)) else None


def _is_number(value: ir.Value) -> bool:
    return rank_of(value) == 0 or made_by(value, "relax.prim_value") is not None


def _is_worthwhile(reshape: ir.Operation) -> bool:
    """Say whether an operator of elements may become part of the kernel before a reshape."""
    producer = defining_op(reshape.operands[0])
    is_made = producer is not None and producer.name != "relax.constant"
    return is_made and has_one_use(reshape.results[0])


def _shape_before(reshape: ir.Operation, found: ir.Operation, value: ir.Value) -> list[Dim] | None:
    """Return the shape of another operand in an operation on what is not reshaped yet.

    It is None where a reshape does more than add and remove dimensions of 1, or where the kernel
    that makes the operand could compute the operation, too.
    """
    before, after = dims_of(reshape.operands[0]), dims_of(reshape.results[0])
    dims, result = dims_of(value), dims_of(found.results[0])
    if before is None or after is None or dims is None or result is None:
        return None
    if defining_op(value) is not None and not is_computed_of_constants(value):
        return None
    facts = facts_at(found)
    old, new = ([dim for dim in each if dim.value != 1] for each in (before, after))
    if not are_equal(old, new, facts) or not are_equal(after, result, facts):
        return None
    dims = [Dim(1)] * (len(after) - len(dims)) + dims
    kept = (dim for dim, size in zip(dims, after, strict=True) if size.value != 1)
    return [dim if dim.value == 1 else next(kept) for dim in before]
