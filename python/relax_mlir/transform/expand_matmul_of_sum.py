# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with a sum of matrices, as sums of products."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..core.functions import computable_at_compile_time
from ..core.ir import Facts
from ..core.struct_info import facts_at
from .fold_constant import is_computed_of_constants
from .python_pass import function_pass
from .rewriting import are_equal, dims_of, has_one_dtype, made_by, order_of, rewrite_operations


@function_pass(opt_level=1)
class ExpandMatmulOfSum:
    """Compute ``matmul(x, a + b)`` as ``matmul(x, a) + matmul(x, b)``.

    That is better where ``b`` is a product of small matrices, as in LoRA, see `AdjustMatmulOrder`.
    The sum may be transposed, ``permute_dims(a + b)``. It stays where both are known before the
    program runs (constants, and parameters after the first `num_input` ones), and where one of
    them is repeated over rows or columns of the other one.

    All matrices have one data type, so that integers overflow alike; sums of floats may be rounded
    in another way.

    Examples
    --------
    >>> from relax_mlir.transform import ExpandMatmulOfSum
    >>> mod = ExpandMatmulOfSum()('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>, %a: !relax.tensor<[4, 3], f32>,
    ...                  %b: !relax.tensor<[4, 3], f32>) -> !relax.tensor<[n, 3], f32> {
    ...   %0 = relax.add %a, %b : (!relax.tensor<[4, 3], f32>, !relax.tensor<[4, 3], f32>) -> !relax.tensor<[4, 3], f32>
    ...   %1 = relax.matmul %x, %0 : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 3], f32>) -> !relax.tensor<[n, 3], f32>
    ...   relax.return %1 : !relax.tensor<[n, 3], f32>
    ... }''')
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.matmul', 'relax.matmul', 'relax.add']
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Expand the products of a function."""
        expand_matmul_of_sum(func.operation)
        return func


def expand_matmul_of_sum(function: ir.Operation) -> None:
    """Expand the products of a function, which is changed.

    Parameters
    ----------
    function : mlir.ir.Operation
    """
    known = set(computable_at_compile_time(function)) if "num_input" in function.attributes else ()

    def is_known(value: ir.Value) -> bool:
        return value in known or is_computed_of_constants(value)

    def rewrite(matmul: ir.Operation) -> ir.Value | None:
        left, right = matmul.operands
        permute = made_by(right, "relax.permute_dims")
        total = made_by(right if permute is None else permute.operands[0], "relax.add")
        if total is None or all(map(is_known, total.operands)):
            return None
        order = None if permute is None else order_of(permute)
        if not has_one_dtype(matmul, total) or not _may_be_apart(total, order, facts_at(matmul)):
            return None

        def product(right: ir.Value) -> ir.Value:
            if permute is not None:
                right = op.permute_dims(right, permute.opview.axes)
            return op.matmul(left, right)

        return op.add(product(total.operands[0]), product(total.operands[1]))

    rewrite_operations(function, ["relax.matmul"], rewrite)


def _may_be_apart(total: ir.Operation, axes: list[int] | None, facts: Facts) -> bool:
    """Say whether both sides of a sum have its rows and columns; batches may be repeated."""
    shapes = [dims_of(value) for value in (*total.operands, total.results[0])]
    if any(shape is None or not shape for shape in shapes):
        return False
    a, b, whole = ([*(shape or ())] for shape in shapes)
    rank = len(whole)
    if axes is not None:
        if not len(a) == len(b) == rank:
            return False
        a, b, whole = ([shape[axis] for axis in axes] for shape in (a, b, whole))
    return all(are_equal(shape[-2:], whole[-2:], facts) for shape in (a, b))
