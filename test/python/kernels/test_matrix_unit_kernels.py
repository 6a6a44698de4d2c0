"""Products of bytes and bfloat16 of more than one block, which a matrix unit has tiles for.

Without one, they are products of vectors: `./dev test sapphirerapids` runs them with AMX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_programs import random, run
from relax_mlir.op import add, astype, const, matmul, nn
from test_bfloat_matmul_kernels import check, product
from test_integer_matmul_kernels import numbers

# Rows of one tile and of two, and some more; depths of whole tiles, and others.
ROWS = pytest.mark.parametrize("m", [16, 20, 70])
DEPTHS = pytest.mark.parametrize("k", [64, 1401])


@ROWS
@DEPTHS
@pytest.mark.parametrize("right", ["int8", "uint8"])
@pytest.mark.parametrize("left", ["int8", "uint8"])
def test_bytes(exec_mode: str, left: str, right: str, k: int, m: int) -> None:
    x, y = numbers(m, k, dtype=left), numbers(k, 50, dtype=right)
    expected = x.astype("int32") @ y.astype("int32")

    def of_parameters(x: Any, y: Any) -> Any:
        return matmul(x, y, "int32")

    result = run(of_parameters, (("m", "k"), ("k", "n")), exec_mode, x, y)
    np.testing.assert_array_equal(result, expected)
    result = run(lambda x: of_parameters(x, const(y)), (("m", k),), exec_mode, x)
    np.testing.assert_array_equal(result, expected)


@ROWS
@DEPTHS
def test_bfloats(exec_mode: str, k: int, m: int) -> None:
    x, y = random(m, k), random(k, 50)
    check(run(product, ((m, k), (k, "n")), exec_mode, x, y), x, y)
    check(run(lambda x: product(x, const(y)), (("m", k),), exec_mode, x), x, y)


@DEPTHS
def test_batches(exec_mode: str, k: int) -> None:
    x, y = numbers(3, 33, k, dtype="int8"), numbers(3, k, 40, dtype="int8")

    def batched(x: Any, y: Any) -> Any:
        return matmul(x, y, "int32")

    result = run(batched, (("b", "m", "k"), ("b", "k", "n")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x.astype("int32") @ y.astype("int32"))


@ROWS
def test_epilogue(exec_mode: str, m: int) -> None:
    x, y = numbers(m, 100, dtype="uint8"), numbers(100, 70, dtype="int8")
    bias = random(70)

    def scaled(x: Any, bias: Any) -> Any:
        sums = astype(matmul(x, const(y), "int32"), "float32")
        return nn.relu(add(sums, bias))

    result = run(scaled, (("m", 100), (70,)), exec_mode, x, bias)
    sums = x.astype("int32") @ y.astype("int32")
    expected = np.maximum(sums.astype("float32") + bias, 0)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
