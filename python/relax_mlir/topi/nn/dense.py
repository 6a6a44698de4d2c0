# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices."""

from __future__ import annotations

from typing import Any

from ... import te
from ...tir.expr import PrimExpr
from ..utils import Tensor, constant, is_equal


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Tensor:
    """Return the product of two matrices, plus a bias of each column.

    Parameters
    ----------
    tensor_a, tensor_b : Tensor
        Of rank 2.
    bias : Tensor, optional
        Of rank 1.
    out_dtype : str or numpy.dtype, optional
        By default that of `tensor_a`.
    transpose_a, transpose_b : bool
        Whether rows and columns are swapped.

    Returns
    -------
    Tensor
    """
    if tensor_a.ndim != 2 or tensor_b.ndim != 2:
        raise ValueError(f"expected two matrices, but got {tensor_a} and {tensor_b}")
    depth, rows = tensor_a.shape if transpose_a else tensor_a.shape[::-1]
    columns, other = tensor_b.shape if transpose_b else tensor_b.shape[::-1]
    if is_equal(depth, other) is False:
        raise ValueError(f"expected matrices that fit, but got {tensor_a} and {tensor_b}")
    if bias is not None and (bias.ndim != 1 or is_equal(bias.shape[0], columns) is False):
        raise ValueError(f"expected a bias of {columns} elements, but got {bias}")
    dtype = out_dtype or tensor_a.dtype
    k = te.reduce_axis((0, depth), name="k")

    def value(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        a = tensor_a(k, i) if transpose_a else tensor_a(i, k)
        b = tensor_b(j, k) if transpose_b else tensor_b(k, j)
        return te.sum(a.astype(dtype) * b.astype(dtype), axis=k)

    letters = f"{'T' if transpose_a else 'N'}{'T' if transpose_b else 'N'}"
    result = te.compute((rows, columns), value, name=f"T_matmul_{letters}", tag="matmul")
    if bias is None:
        return result
    return te.compute(
        (rows, columns),
        lambda i, j: result(i, j) + bias(j).astype(dtype),
        name="T_add_bias",
        tag="broadcast",
    )


def dense(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """Return a layer of neurons: the product with the transposed weights, plus a bias.

    Parameters
    ----------
    data : Tensor
        Of shape (samples, inputs).
    weight : Tensor
        Of shape (outputs, inputs).
    bias : Tensor, optional
        Of shape (outputs,).
    out_dtype : str or numpy.dtype, optional
        By default that of `data`.

    Returns
    -------
    Tensor
        Of shape (samples, outputs).
    """
    return matmul(data, weight, bias, out_dtype, False, True)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: Any = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """Return the products of matrices, one of each batch.

    Parameters
    ----------
    tensor_a, tensor_b : Tensor
        Of rank 3. One of them may hold one matrix for all.
    oshape : sequence of int or PrimExpr, optional
        The shape of the result, which follows from the operands.
    out_dtype : str or numpy.dtype, optional
        By default that of `tensor_a`.
    transpose_a, transpose_b : bool
        Whether rows and columns are swapped; those of `tensor_b` are by default.

    Returns
    -------
    Tensor
    """
    if tensor_a.ndim != 3 or tensor_b.ndim != 3:
        raise ValueError(f"expected two batches of matrices, but got {tensor_a} and {tensor_b}")
    a_batch, b_batch = tensor_a.shape[0], tensor_b.shape[0]
    depth, rows = tensor_a.shape[1:] if transpose_a else tensor_a.shape[:0:-1]
    columns, other = tensor_b.shape[1:] if transpose_b else tensor_b.shape[:0:-1]
    a_one, b_one = constant(a_batch) == 1, constant(b_batch) == 1
    fits = is_equal(depth, other) is not False
    if not fits or not (a_one or b_one or is_equal(a_batch, b_batch) is not False):
        raise ValueError(f"expected batches that fit, but got {tensor_a} and {tensor_b}")
    dtype = out_dtype or tensor_a.dtype
    k = te.reduce_axis((0, depth), name="k")

    def value(b: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        zero = te.const(0, b.dtype)
        first, second = zero if a_one else b, zero if b_one else b
        x = tensor_a(first, k, i) if transpose_a else tensor_a(first, i, k)
        y = tensor_b(second, j, k) if transpose_b else tensor_b(second, k, j)
        return te.sum(x.astype(dtype) * y.astype(dtype), axis=k)

    shape = (b_batch if a_one else a_batch, rows, columns)
    return te.compute(shape, value, name="T_batch_matmul", tag="batch_matmul")
