# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of matrices, whose factors give the matrices again, and what they solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op
from relax_mlir.composites import linear_algebra
from relax_mlir.core.expr import as_tensor
from relax_mlir.core.ir import TensorStructInfo

SIZES = [1, 2, 7, 8, 9, 16, 23, 40, 65]


def run(
    function: Callable[..., Sequence[ir.Value]], *inputs: np.ndarray, exec_mode: str = "compiled",
    shapes: Sequence[Sequence[int | str]] = (("b", "n", "n"), ("b", "n", "m")),
) -> list[np.ndarray]:  # fmt: skip
    """Run a function of matrices whose sizes are symbolic, or of known shapes."""
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", TensorStructInfo(shapes[i], str(x.dtype))) for i, x in enumerate(inputs)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            results = function(*map(as_tensor, params))
            output = builder.emit_output(op.tuple(*results))
        builder.emit_func_output(output)
    executable = relax.compile(builder.finalize(), exec_mode=exec_mode)
    return [one.numpy() for one in relax.VirtualMachine(executable)["main"](*inputs)]


def matrices(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def definite(batch: int, n: int) -> np.ndarray:
    x = matrices(batch, n, n)
    return x @ x.transpose(0, 2, 1) / np.float32(n) + np.eye(n, dtype="float32")


def check(got: np.ndarray, wanted: np.ndarray, limit: float = 1e-5) -> None:
    """Compare numbers relative to the largest one."""
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max(initial=0) <= limit * np.abs(wanted).max(initial=1)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_factors_with_exchanged_rows(n: int, dtype: str) -> None:
    a = matrices(3, n, n, dtype=dtype)
    factors, pivots = run(linear_algebra.lu, a)
    assert np.abs(np.tril(factors, -1)).max(initial=0) <= 1
    for matrix, both, exchanges in zip(a, factors, pivots, strict=True):
        wanted = matrix.copy()
        for row, other in enumerate(exchanges - 1):
            assert other >= row
            wanted[[row, other]] = wanted[[other, row]]
        product = (np.tril(both, -1) + np.eye(n)) @ np.triu(both)
        check(product, wanted, 1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_roots(n: int) -> None:
    a = definite(3, n)
    (root,) = run(lambda x: [linear_algebra.cholesky(x)], a)
    check(root @ root.transpose(0, 2, 1), a)
    assert (np.triu(root, 1) == 0).all()


def test_roots_read_the_lower_triangle_only() -> None:
    a = definite(2, 20)
    (wanted,) = run(lambda x: [linear_algebra.cholesky(x)], a)
    (got,) = run(lambda x: [linear_algebra.cholesky(x)], np.tril(a) + np.triu(a * np.nan, 1))
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [1, 8, 19])
def test_solutions(n: int, columns: int) -> None:
    a, b = definite(2, n)[:, ::-1], matrices(2, n, columns)
    a = np.ascontiguousarray(a)
    solved, inverse = run(
        lambda x, y: [
            linear_algebra.solved_by_lu(*linear_algebra.lu(x), y), linear_algebra.inverse(x)
        ],
        a, b,
    )  # fmt: skip
    check(solved, np.linalg.solve(a.astype("float64"), b), 1e-4)
    check(inverse, np.linalg.inv(a.astype("float64")), 1e-4)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_solutions_of_triangles(n: int, upper: bool, unit: bool) -> None:
    # The other triangle, and a diagonal of ones, are not read.
    identity = np.eye(n, dtype="float32")
    triangle = (np.triu if upper else np.tril)(matrices(2, n, n) / n, 1 if upper else -1)
    others = np.where(triangle == 0, np.float32(np.nan), triangle)
    a = np.where(identity == 1, np.float32(np.nan if unit else 2), others)
    b = matrices(2, n, 5)
    (got,) = run(lambda x, y: [linear_algebra.solved_triangular(x, y, upper, unit)], a, b)
    whole = triangle.astype("float64") + identity * (1 if unit else 2)
    check(got, np.linalg.solve(whole, b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("batch", [1, 37])
@pytest.mark.parametrize("is_known", [True, False])
def test_many_small_matrices(
    exec_mode: str, batch: int, n: int, dtype: str, is_known: bool
) -> None:
    """Those of a batch are lanes of vectors."""
    a = matrices(batch, n, n, dtype=dtype)
    a[0] = 0  # nothing is divided by its pivots
    shapes = [[batch if is_known else "b", n, n]]
    factors, pivots = run(
        lambda x: list(linear_algebra.lu(x)), a, exec_mode=exec_mode, shapes=shapes
    )
    assert np.abs(np.tril(factors, -1)).max(initial=0) <= 1
    for matrix, both, exchanges in zip(a, factors, pivots, strict=True):
        exchanged = matrix.copy()
        for i, other in enumerate(exchanges - 1):
            exchanged[[i, other]] = exchanged[[other, i]]
        check((np.tril(both, -1) + np.eye(n)) @ np.triu(both), exchanged)
    s = definite(batch, n).astype(dtype)
    (root,) = run(lambda x: [linear_algebra.cholesky(x)], s, exec_mode=exec_mode, shapes=shapes)
    check(root, np.linalg.cholesky(s))


def test_matrices_in_any_mode(exec_mode: str) -> None:
    a, b = definite(2, 11), matrices(2, 11, 3)
    (got,) = run(
        lambda x, y: [linear_algebra.solved_by_lu(*linear_algebra.lu(x), y)], a, b,
        exec_mode=exec_mode,
    )  # fmt: skip
    check(got, np.linalg.solve(a, b))


def test_matrices_without_an_inverse() -> None:
    a = np.ones((2, 10, 10), "float32")
    a[1] = np.eye(10)
    inverse, determinant = run(
        lambda x: [linear_algebra.inverse(x), linear_algebra.determinant(x)], a
    )
    assert not np.isfinite(inverse[0]).all()
    np.testing.assert_array_equal(inverse[1], np.eye(10))
    np.testing.assert_array_equal(determinant, [0, 1])
    (root,) = run(lambda x: [linear_algebra.cholesky(x)], -a)
    assert np.isnan(root[:, 0, 0]).all()


def test_no_matrices() -> None:
    a = np.zeros((0, 9, 9), "float32")
    (root,) = run(lambda x: [linear_algebra.cholesky(x)], a)
    assert root.shape == (0, 9, 9)
