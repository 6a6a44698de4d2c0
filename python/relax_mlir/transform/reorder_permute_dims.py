# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed tensors that are put together."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from .python_pass import function_pass
from .rewriting import made_by, order_of, rewrite_operations


@function_pass(opt_level=1)
class ReorderPermuteDimsAfterConcat:
    """Compute ``concat([permute_dims(a), permute_dims(b)])`` as ``permute_dims(concat([a, b]))``.

    All are permuted in the same way. `CombineParallelMatmul` makes such tensors of weights; a
    product with a transposed matrix reads it as it is.

    Examples
    --------
    >>> from relax_mlir.transform import ReorderPermuteDimsAfterConcat
    >>> mod = ReorderPermuteDimsAfterConcat()('''
    ... relax.func @main(%a: !relax.tensor<[n, 4], f32>, %b: !relax.tensor<[3, 4], f32>) -> !relax.tensor<[4, n + 3], f32> {
    ...   %0 = relax.permute_dims %a : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32>
    ...   %1 = relax.permute_dims %b : (!relax.tensor<[3, 4], f32>) -> !relax.tensor<[4, 3], f32>
    ...   %2 = relax.concat %0, %1 {axis = 1 : i64} : (!relax.tensor<[4, n], f32>, !relax.tensor<[4, 3], f32>) -> !relax.tensor<[4, n + 3], f32>
    ...   relax.return %2 : !relax.tensor<[4, n + 3], f32>
    ... }''')
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.concat', 'relax.permute_dims']
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Permute after the concatenations of a function."""
        rewrite_operations(func.operation, ["relax.concat"], _reorder)
        return func


def _reorder(concat: ir.Operation) -> ir.Value | None:
    permutes = [made_by(value, "relax.permute_dims") for value in concat.operands]
    if len(permutes) < 2 or "axis" not in concat.attributes:
        return None
    orders = [order_of(permute) if permute is not None else None for permute in permutes]
    order = orders[0]
    if order is None or any(other != order for other in orders):
        return None
    axis = order[concat.attributes["axis"].value % len(order)]
    first = permutes[0]
    assert first is not None
    inputs = [permute.operands[0] for permute in permutes if permute is not None]
    return op.permute_dims(op.concat(inputs, axis), first.opview.axes)
