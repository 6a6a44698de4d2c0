# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of matrices of ATen, and what is solved with them.

What ATen says of success (`info`) is not computed: a matrix that has no inverse, or no root, gives
infinite numbers or NaN, where PyTorch raises an error.
"""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...composites import linear_algebra
from ...composites.tensors import transposed
from .registry import Graph, converts, number, rank_of, shape_of


def _solved(solve: Any, a: ir.Value, b: ir.Value, is_vector: bool = False) -> ir.Value:
    """Solve for matrices, or for vectors, whose batch may be broadcast."""
    batch = shape_of(a)[:-2]
    if is_vector:
        b = op.expand_dims(b, rank_of(b))
    dims = shape_of(b)
    if len(dims) - 2 != len(batch) or dims[:-2] != batch:
        common = shape_of(op.add(op.sum(a, [-2, -1]), op.sum(b, [-2, -1])))
        a = op.broadcast_to(a, [*common, *shape_of(a)[-2:]])
        b = op.broadcast_to(b, [*common, *dims[-2:]])
    x = solve(a, b)
    return op.squeeze(x, [-1]) if is_vector else x


def _without_info(graph: Graph, place: int, results: list[Any]) -> list[Any]:
    if graph.uses(place):
        raise NotImplementedError("the result that says whether a matrix was decomposed")
    return [*results, None]


@converts("linalg_inv.default", "inverse.default")
def _inverse(_: Graph, a: ir.Value) -> ir.Value:
    return linear_algebra.inverse(a)


@converts("linalg_inv_ex.default")
def _inverse_ex(graph: Graph, a: ir.Value, check_errors: bool = False) -> list[Any]:
    return _without_info(graph, 1, [linear_algebra.inverse(a)])


@converts("linalg_cholesky_ex.default")
def _cholesky_ex(
    graph: Graph, a: ir.Value, *, upper: bool = False, check_errors: bool = False
) -> list[Any]:
    return _without_info(graph, 1, [_cholesky(graph, a, upper)])


@converts("cholesky.default", "linalg_cholesky.default")
def _cholesky(graph: Graph, a: ir.Value, upper: bool = False, **_: Any) -> ir.Value:
    lower = linear_algebra.cholesky(transposed(a) if upper else a)
    return transposed(lower) if upper else lower


@converts("cholesky_solve.default")
def _cholesky_solve(graph: Graph, b: ir.Value, a: ir.Value, upper: bool = False) -> ir.Value:
    lower = transposed(a) if upper else a

    def solve(first: ir.Value, second: ir.Value) -> ir.Value:
        below = linear_algebra.solved_triangular(first, second, is_upper=False)
        return linear_algebra.solved_triangular(transposed(first), below, is_upper=True)

    return _solved(solve, lower, b)


@converts("cholesky_inverse.default")
def _cholesky_inverse(graph: Graph, a: ir.Value, upper: bool = False) -> ir.Value:
    n = shape_of(a)[-1]
    unit = op.broadcast_to(op.eye(n, n, 0, graph.dtype), shape_of(a))
    return _cholesky_solve(graph, unit, a, upper)


@converts("linalg_lu_factor_ex.default")
def _lu_factor(
    graph: Graph, a: ir.Value, *, pivot: bool = True, check_errors: bool = False
) -> list[Any]:
    return _without_info(graph, 2, _lu(a, pivot))


@converts("linalg_lu_factor.default")
def _lu_factor_alone(_: Graph, a: ir.Value, *, pivot: bool = True) -> list[ir.Value]:
    return _lu(a, pivot)


def _lu(a: ir.Value, pivot: bool = True) -> list[ir.Value]:
    rows, columns = shape_of(a)[-2:]
    if not pivot or rows != columns:
        raise NotImplementedError("expected a square matrix, and rows that may be exchanged")
    return list(linear_algebra.lu(a))


@converts("linalg_lu_solve.default")
def _lu_solve(
    graph: Graph, factors: ir.Value, pivots: ir.Value, b: ir.Value, *, left: bool = True,
    adjoint: bool = False,
) -> ir.Value:  # fmt: skip
    if not left or adjoint or shape_of(factors)[:-2] != shape_of(b)[:-2]:
        raise NotImplementedError("expected left=True, no adjoint, and equal batches")
    return linear_algebra.solved_by_lu(factors, pivots, b)


@converts("_linalg_det.default")
def _determinant(graph: Graph, a: ir.Value) -> list[ir.Value]:
    factors, pivots = _lu(a)
    return [linear_algebra.determinant_of(factors, pivots), factors, pivots]


@converts("_linalg_slogdet.default")
def _sign_and_logarithm(graph: Graph, a: ir.Value) -> list[ir.Value]:
    factors, pivots = _lu(a)
    diagonal, zero = linear_algebra.diagonal(factors), number(0, graph.dtype)
    signs = op.prod(op.sign(diagonal), [-1])
    sign = op.multiply(linear_algebra.sign_of(pivots, graph.dtype), signs)
    logarithm = op.sum(op.log(op.abs(diagonal)), [-1])
    lowest = number(float("-inf"), graph.dtype)
    return [sign, op.where(op.equal(sign, zero), lowest, logarithm), factors, pivots]


@converts("linalg_solve.default")
def _solve(graph: Graph, a: ir.Value, b: ir.Value, *, left: bool = True) -> ir.Value:
    if not left:
        a, b = transposed(a), transposed(b)

    def solve(first: ir.Value, second: ir.Value) -> ir.Value:
        return linear_algebra.solved_by_lu(*linear_algebra.lu(first), second)

    x = _solved(solve, a, b, _is_vector(a, b, len(graph.shape)))
    return x if left else transposed(x)


def _is_vector(a: ir.Value, b: ir.Value, wanted: int) -> bool:
    """Say whether a right side has vectors: one, or as many as the batch has matrices."""
    return rank_of(b) == 1 or (rank_of(b) == rank_of(a) - 1 == wanted)


@converts("_linalg_solve_ex.default")
def _solve_ex(
    graph: Graph, a: ir.Value, b: ir.Value, *, left: bool = True, check_errors: bool = False
) -> list[Any]:
    if graph.uses(1) or graph.uses(2):
        raise NotImplementedError("the factors of a matrix that is solved with")
    return _without_info(graph, 3, [_solve(graph, a, b, left=left), None, None])


@converts("linalg_solve_triangular.default")
def _solve_triangular(
    graph: Graph, a: ir.Value, b: ir.Value, *, upper: bool, left: bool = True,
    unitriangular: bool = False,
) -> ir.Value:  # fmt: skip
    if not left:
        a, b, upper = transposed(a), transposed(b), not upper

    def solve(first: ir.Value, second: ir.Value) -> ir.Value:
        return linear_algebra.solved_triangular(first, second, upper, unitriangular)

    x = _solved(solve, a, b)
    return x if left else transposed(x)


@converts("triangular_solve.default")
def _triangular_solve(
    graph: Graph, b: ir.Value, a: ir.Value, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> list[ir.Value]:  # fmt: skip
    matrix, is_upper = (transposed(a), not upper) if transpose else (a, upper)
    x = _solve_triangular(graph, matrix, b, upper=is_upper, unitriangular=unitriangular)
    return [x, a]
