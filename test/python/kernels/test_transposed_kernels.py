"""Kernels with operands that are contiguous along another dimension than the output."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from kernel_programs import random, run
from relax_mlir.op import add, exp, multiply, permute_dims, where
from relax_mlir.op.nn import relu

SIZES = st.sampled_from([0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 130, 300])
FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


def transposed(x: Any) -> Any:
    return permute_dims(x, [1, 0])


def added(x: Any, y: Any) -> Any:
    return add(x, permute_dims(y, [1, 0]))


def scaled(x: Any, row: Any, column: Any) -> Any:
    return multiply(relu(permute_dims(x, [1, 0])), add(exp(row), column))


def both(x: Any, y: Any) -> Any:
    return multiply(permute_dims(x, [1, 0]), permute_dims(y, [1, 0]))


def chosen(c: Any, x: Any, y: Any) -> Any:
    return where(permute_dims(c, [1, 0]), x, permute_dims(y, [1, 0]))


def to_channels_last(x: Any) -> Any:
    return permute_dims(x, [0, 2, 3, 1])


def reversed_dims(x: Any) -> Any:
    return permute_dims(x, [2, 1, 0])


def two_orders(x: Any, y: Any) -> Any:
    return add(permute_dims(x, [2, 1, 0]), permute_dims(y, [0, 2, 1]))


@pytest.mark.parametrize("bits", [0, 128, 256])
@FEW
@given(n=SIZES, m=SIZES)
def test_copies(exec_mode: str, bits: int, n: int, m: int) -> None:
    x = random(n, m)
    result = run(transposed, (("n", "m"),), exec_mode, x, vector_bits=bits)
    np.testing.assert_array_equal(result, x.T)


DTYPES = ["float64", "float16", "int8", "int16", "int32", "int64", "uint8", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (40, 3), (8, 9), (33, 65), (70, 129), (257, 64)])
def test_data_types(exec_mode: str, dtype: str, shape: tuple[int, int]) -> None:
    x = random(*shape).astype(dtype)
    np.testing.assert_array_equal(run(transposed, (("n", "m"),), exec_mode, x), x.T)
    np.testing.assert_array_equal(run(transposed, (shape,), exec_mode, x), x.T)


@FEW
@given(n=SIZES, m=SIZES)
def test_one_operand_of_several(exec_mode: str, n: int, m: int) -> None:
    x, y = random(n, m), random(m, n)
    result = run(added, (("n", "m"), ("m", "n")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x + y.T)


@FEW
@given(n=SIZES, m=SIZES)
def test_operands_of_rows_and_columns(exec_mode: str, n: int, m: int) -> None:
    x, row, column = random(m, n), random(m), random(n, 1)
    result = run(scaled, (("m", "n"), ("m",), ("n", 1)), exec_mode, x, row, column)
    wanted = np.maximum(x.T, 0) * (np.exp(row.astype("float64")) + column)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


@FEW
@given(n=SIZES, m=SIZES)
def test_several_operands(exec_mode: str, n: int, m: int) -> None:
    x, y = random(n, m), random(n, m)[::-1].copy()
    shapes = (("n", "m"), ("n", "m"))
    np.testing.assert_array_equal(run(both, shapes, exec_mode, x, y), x.T * y.T)
    # Elements of several widths, Booleans among them.
    condition, other = x > 0, random(m, n)
    picked = run(chosen, (("n", "m"), ("m", "n"), ("n", "m")), exec_mode, condition, other, y)
    np.testing.assert_array_equal(picked, np.where(condition.T, other, y.T))


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (2, 17, 9, 11), (1, 64, 12, 13), (3, 130, 1, 4)])
def test_channels_last(exec_mode: str, shape: tuple[int, ...]) -> None:
    x = random(*shape)
    result = run(to_channels_last, (("n", shape[1], "h", "w"),), exec_mode, x)
    np.testing.assert_array_equal(result, x.transpose(0, 2, 3, 1))


@FEW
@given(n=SIZES, m=st.sampled_from([0, 1, 5]), k=SIZES)
def test_more_dimensions(exec_mode: str, n: int, m: int, k: int) -> None:
    x, y = random(n, m, k), random(k, n, m)
    result = run(reversed_dims, (("n", "m", "k"),), exec_mode, x)
    np.testing.assert_array_equal(result, x.transpose(2, 1, 0))
    result = run(two_orders, (("n", "m", "k"), ("k", "n", "m")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x.transpose(2, 1, 0) + y.transpose(0, 2, 1))


def test_inputs_at_any_address(exec_mode: str) -> None:
    memory = random(70 * 50 + 3)
    for offset in (0, 1, 3):
        x = memory[offset : offset + 3500].reshape(70, 50)
        np.testing.assert_array_equal(run(transposed, (("n", "m"),), exec_mode, x), x.T)


def symmetric(x: Any) -> Any:
    y = add(x, x)
    return add(y, permute_dims(y, [1, 0]))


def test_an_input_that_dies_is_read_before_it_is_written(exec_mode: str) -> None:
    x = random(150, 150)
    wanted = (x + x) + (x + x).T
    np.testing.assert_array_equal(run(symmetric, (("n", "n"),), exec_mode, x), wanted)
