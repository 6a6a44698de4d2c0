# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.expr import TensorLike, as_tensors, build
from ..dialects import relax as _ops
from ._window import type_attr

__all__ = ["matmul"]


def matmul(x1: TensorLike, x2: TensorLike, out_dtype: Any = None) -> ir.Value:
    """Return the matrix product, with batch dimensions broadcast, as NumPy does.

    Parameters
    ----------
    x1, x2 : tensor or array
        Of rank 1 or more and the same data type.
    out_dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        The data type of the result, in which it is computed; by default that of the operands.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If the dimensions that are summed are not equal.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("b", "n", 4), "float32"))
    >>> w = Var("w", TensorStructInfo((4, "m"), "float32"))
    >>> with bb.function("main", [x, w]):
    ...     y = matmul(x, w)
    ...     print(y.type)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[b, n, m], f32>
    """
    return build(_ops.MatmulOp, *as_tensors(x1, x2), out_dtype=type_attr(out_dtype))
