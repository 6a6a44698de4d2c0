# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with columns or matrices that are taken from a table."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..composites.einsum import einsum
from ..core.struct_info import facts_at
from .operations import text_attribute
from .python_pass import function_pass
from .rewriting import are_equal, dims_of, made_by, rewrite_operations


@function_pass(opt_level=1)
class ReorderTakeAfterMatmul:
    """Compute ``matmul(x, take(table, indices))`` as ``take(matmul(x, table), indices)``.

    The table need not be copied then. Columns are taken, ``take(table, indices, axis=-1)``, or a
    matrix for each batch: `x` is ``[batch, n, k]``, the table ``[size, k, m]``, and there is an
    index for each batch (``axis=0``), as where each request to a model has its own LoRA. The
    product with all matrices of the table is computed, and of it what is needed taken.

    Examples
    --------
    >>> from relax_mlir.transform import ReorderTakeAfterMatmul
    >>> mod = ReorderTakeAfterMatmul()('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, m], f32>,
    ...                  %i: !relax.tensor<[3], i64>) -> !relax.tensor<[n, 3], f32> {
    ...   %0 = relax.take %w, %i {axis = 1} : (!relax.tensor<[4, m], f32>, !relax.tensor<[3], i64>) -> !relax.tensor<[4, 3], f32>
    ...   %1 = relax.matmul %x, %0 : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 3], f32>) -> !relax.tensor<[n, 3], f32>
    ...   relax.return %1 : !relax.tensor<[n, 3], f32>
    ... }''')
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.matmul', 'relax.take']
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Take after the products of a function."""
        rewrite_operations(func.operation, ["relax.matmul"], _reorder)
        return func


def _reorder(matmul: ir.Operation) -> ir.Value | None:
    left, right = matmul.operands
    take = made_by(right, "relax.take")
    if take is None or "axis" not in take.attributes:
        return None
    table, indices = take.operands
    shapes = [dims_of(value) for value in (left, table, indices, matmul.results[0])]
    if any(shape is None for shape in shapes):
        return None
    x, stored, chosen, made = ([*(shape or ())] for shape in shapes)
    axis = take.attributes["axis"].value % len(stored)
    mode = text_attribute(take, "mode", "clip")
    dtype = matmul.results[0].type.dtype if "out_dtype" in matmul.attributes else None
    if len(chosen) != 1 or mode == "nan":
        return None  # an index out of range makes no NaN of a sum of nothing
    if len(stored) >= 2 and axis == len(stored) - 1:
        return op.take(op.matmul(left, table, dtype), indices, len(made) - 1, mode)
    if len(x) == len(stored) == 3 and axis == 0 and are_equal(x[:1], chosen, facts_at(matmul)):
        size, rows, columns = stored
        flat = op.reshape(op.permute_dims(table, [1, 0, 2]), [rows, size * columns])
        products = op.reshape(op.matmul(left, flat, dtype), [*x[:2], size, columns])
        return einsum("ijik->ijk", [op.take(products, indices, 2, mode)])
    return None
