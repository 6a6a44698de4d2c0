# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of matrices and what they solve, as kernels of loops.

All take matrices in the last two dimensions, of float32 or float64, of sizes that may be symbolic.
A matrix that has no inverse, or no root, gives infinite numbers or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .. import op
from ..core.ir import Dim, TensorStructInfo
from .kernels import add_kernel
from .tensors import number, product, shape_of

Dims = Sequence[int | Dim]

_HEAD = """
@I.ir_module
class Module:
    @T.prim_func
    def {name}({params}):
        {sizes}
"""

# By elimination of one column after the other, with the largest element of each as the pivot.
_INVERSE = """
        left = T.alloc_buffer((n, n), "{dtype}")
        right = T.alloc_buffer((n, n), "{dtype}")
        best = T.alloc_buffer((1,), "int64")
        kept = T.alloc_buffer((1,), "{dtype}")
        for k in range(batch):
            for i, j in T.grid(n, n):
                left[i, j] = a[k, i, j]
                right[i, j] = T.if_then_else(i == j, T.{dtype}(1), T.{dtype}(0))
            for c in range(n):
                best[0] = c
                for i in range(n):
                    if i > c:
                        if T.abs(left[i, c]) > T.abs(left[best[0], c]):
                            best[0] = i
                for j in range(n):
                    kept[0] = left[c, j]
                    left[c, j] = left[best[0], j]
                    left[best[0], j] = kept[0]
                    kept[0] = right[c, j]
                    right[c, j] = right[best[0], j]
                    right[best[0], j] = kept[0]
                kept[0] = left[c, c]
                for j in range(n):
                    left[c, j] = left[c, j] / kept[0]
                    right[c, j] = right[c, j] / kept[0]
                for i in range(n):
                    if i != c:
                        kept[0] = left[i, c]
                        for j in range(n):
                            left[i, j] = left[i, j] - kept[0] * left[c, j]
                            right[i, j] = right[i, j] - kept[0] * right[c, j]
            for i, j in T.grid(n, n):
                x[k, i, j] = right[i, j]
"""

# Rows are exchanged as LAPACK does: `pivots` are counted from 1.
_LU = """
        best = T.alloc_buffer((1,), "int64")
        kept = T.alloc_buffer((1,), "{dtype}")
        for k in range(batch):
            for i, j in T.grid(n, n):
                lu[k, i, j] = a[k, i, j]
            for c in range(n):
                best[0] = c
                for i in range(n):
                    if i > c:
                        if T.abs(lu[k, i, c]) > T.abs(lu[k, best[0], c]):
                            best[0] = i
                pivots[k, c] = T.Cast("int32", best[0]) + 1
                for j in range(n):
                    kept[0] = lu[k, c, j]
                    lu[k, c, j] = lu[k, best[0], j]
                    lu[k, best[0], j] = kept[0]
                for i in range(n):
                    if i > c:
                        if lu[k, c, c] != T.{dtype}(0):
                            lu[k, i, c] = lu[k, i, c] / lu[k, c, c]
                        for j in range(n):
                            if j > c:
                                lu[k, i, j] = lu[k, i, j] - lu[k, i, c] * lu[k, c, j]
"""

_EXCHANGED = """
        kept = T.alloc_buffer((1,), "{dtype}")
        for k in range(batch):
            for i, j in T.grid(n, m):
                x[k, i, j] = b[k, i, j]
            for c in range(n):
                for j in range(m):
                    kept[0] = x[k, c, j]
                    x[k, c, j] = x[k, T.Cast("int64", pivots[k, c]) - 1, j]
                    x[k, T.Cast("int64", pivots[k, c]) - 1, j] = kept[0]
"""

_LOWER = """
        for k in range(batch):
            for i in range(n):
                for j in range(m):
                    x[k, i, j] = b[k, i, j]
                for c in range(n):
                    if c < i:
                        for j in range(m):
                            x[k, i, j] = x[k, i, j] - a[k, i, c] * x[k, c, j]
                for j in range(m):
                    x[k, i, j] = x[k, i, j] / a[k, i, i]
"""

_CHOLESKY = """
        total = T.alloc_buffer((1,), "{dtype}")
        for k in range(batch):
            for i, j in T.grid(n, n):
                if j > i:
                    x[k, i, j] = T.{dtype}(0)
                else:
                    total[0] = a[k, i, j]
                    for c in range(n):
                        if c < j:
                            total[0] = total[0] - x[k, i, c] * x[k, j, c]
                    if i == j:
                        x[k, i, j] = T.sqrt(total[0])
                    else:
                        x[k, i, j] = total[0] / x[k, j, j]
"""


def inverse(a: ir.Value) -> ir.Value:
    """Return inverses of square matrices."""
    (x,) = _called("inverse", _INVERSE, {"a": a}, {"x": shape_of(a)})
    return x


def lu(a: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the factors of square matrices in one, and which rows were exchanged, from 1."""
    dims = shape_of(a)
    factors, pivots = _called("lu_factors", _LU, {"a": a}, {"lu": dims, "pivots": dims[:-1]})
    return factors, pivots


def exchanged(b: ir.Value, pivots: ir.Value) -> ir.Value:
    """Return matrices whose rows are exchanged as `lu` says."""
    inputs = {"b": b, "pivots": pivots}
    (x,) = _called("exchanged_rows", _EXCHANGED, inputs, {"x": shape_of(b)})
    return x


def solved_by_lu(factors: ir.Value, pivots: ir.Value, b: ir.Value) -> ir.Value:
    """Return `x` of `a @ x = b`, where `lu` has decomposed `a`."""
    below = solved_triangular(factors, exchanged(b, pivots), is_upper=False, has_unit_diagonal=True)
    return solved_triangular(factors, below, is_upper=True)


def solved_triangular(
    a: ir.Value, b: ir.Value, is_upper: bool, has_unit_diagonal: bool = False
) -> ir.Value:
    """Return `x` of `a @ x = b`, of which only one triangle of `a` counts."""
    if has_unit_diagonal:
        n = shape_of(a)[-1]
        is_diagonal = op.eye(n, n, 0, "bool")
        a = op.where(is_diagonal, number(1, a.type.dtype), a)
    if is_upper:  # from the last row to the first one
        last = len(shape_of(a)) - 1
        a, b = op.flip(op.flip(a, last - 1), last), op.flip(b, last - 1)
    (x,) = _called("lower_triangular", _LOWER, {"a": a, "b": b}, {"x": shape_of(b)})
    return op.flip(x, len(shape_of(x)) - 2) if is_upper else x


def cholesky(a: ir.Value) -> ir.Value:
    """Return lower triangular matrices whose product with their transpose is `a`."""
    (x,) = _called("cholesky", _CHOLESKY, {"a": a}, {"x": shape_of(a)})
    return x


def determinant(a: ir.Value) -> ir.Value:
    """Return determinants of square matrices."""
    factors, pivots = lu(a)
    return determinant_of(factors, pivots)


def determinant_of(factors: ir.Value, pivots: ir.Value) -> ir.Value:
    """Return determinants of matrices that `lu` has decomposed."""
    sign = sign_of(pivots, factors.type.dtype)
    return op.multiply(sign, op.prod(diagonal(factors), [-1]))


def diagonal(a: ir.Value) -> ir.Value:
    """Return the diagonals of square matrices."""
    n = shape_of(a)[-1]
    kept = op.where(op.eye(n, n, 0, "bool"), a, number(0, a.type.dtype))
    return op.sum(kept, [-1])


def sign_of(pivots: ir.Value, dtype: str) -> ir.Value:
    """Return 1 for an even number of exchanges of `lu`, -1 for an odd one."""
    n = shape_of(pivots)[-1]
    moved = op.not_equal(pivots, op.astype(op.arange(1, n + 1, 1, "int64"), "int32"))
    odd = op.bitwise_and(op.sum(op.astype(moved, "int32"), [-1]), number(1, "int32"))
    return op.astype(op.subtract(number(1, "int32"), op.multiply(odd, number(2, "int32"))), dtype)


def _called(
    name: str, body: str, inputs: dict[str, ir.Value], outputs: dict[str, Dims]
) -> list[ir.Value]:
    """Call a kernel for all matrices of a batch, whose dimensions are made one."""
    first = next(iter(inputs.values()))
    dtype, batch = first.type.dtype, shape_of(first)[:-2]
    arguments = [_batched(one, len(batch)) for one in inputs.values()]
    infos = [
        TensorStructInfo(
            [product(batch), *dims[len(batch) :]], "int32" if one == "pivots" else dtype
        )
        for one, dims in outputs.items()
    ]
    names = [*inputs, *outputs]
    source = _HEAD.format(
        name=name,
        params=", ".join(f"{one}_: T.handle" for one in names),
        sizes="batch, n, m = T.int64(), T.int64(), T.int64()"
        if "b" in inputs
        else "batch, n = T.int64(), T.int64()",
    )
    for one in names:
        dims = {"pivots": "(batch, n)", "b": "(batch, n, m)"}.get(one, "(batch, n, n)")
        dims = "(batch, n, m)" if one == "x" and "b" in inputs else dims
        kind = "int32" if one == "pivots" else dtype
        source += f'        {one} = T.match_buffer({one}_, {dims}, "{kind}")\n'
    kernel = add_kernel(source + body.replace("{dtype}", dtype), name)
    result = op.call_tir(kernel, arguments, infos if len(infos) > 1 else infos[0])
    results = [result] if len(infos) == 1 else [op.get_item(result, i) for i in range(len(infos))]
    return [op.reshape(one, dims) for one, dims in zip(results, outputs.values(), strict=True)]


def _batched(x: ir.Value, rank: int) -> ir.Value:
    """Return a tensor whose first dimensions are one."""
    dims = shape_of(x)
    return x if rank == 1 else op.reshape(x, [product(dims[:rank]), *dims[rank:]])
