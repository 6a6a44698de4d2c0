"""Kernels whose rows are shorter than vectors, and rows that are read backwards or in steps."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from kernel_programs import random, run
from relax_mlir.op import (
    add,
    argmax,
    argmin,
    cumsum,
    exp,
    flip,
    floor_divide,
    less,
    logical_not,
    mean,
    multiply,
    permute_dims,
    strided_slice,
    variance,
    where,
)
from relax_mlir.op import max as max_
from relax_mlir.op import sum as sum_
from relax_mlir.op.nn import layer_norm, softmax

ROWS = [0, 1, 300]
NARROW = [1, 3, 7, 8, 17, 33]


def both(
    function: Any,
    shapes: tuple[tuple[Any, ...], ...],
    mode: str,
    *arrays: np.ndarray,
    **options: Any,
) -> np.ndarray:
    """Run with static and with dynamic sizes, which give the same."""
    known = tuple(a.shape for a in arrays)
    static = run(function, known, mode, *arrays, **options)
    dynamic = run(function, shapes, mode, *arrays, **options)
    np.testing.assert_allclose(static, dynamic, rtol=1e-5, atol=1e-6)
    return dynamic


def scaled(x: Any, row: Any, column: Any) -> Any:
    return add(multiply(exp(x), row), column)


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("m", NARROW)
def test_elements(exec_mode: str, n: int, m: int) -> None:
    x, row, column = random(n, m) / 4, random(m), random(n, 1)
    result = both(scaled, (("n", "m"), ("m",), ("n", 1)), exec_mode, x, row, column)
    np.testing.assert_allclose(result, np.exp(x) * row + column, rtol=1e-5, atol=1e-5)


def outer(x: Any, y: Any) -> Any:
    return add(x, y)


@pytest.mark.parametrize("shape", [(5, 4, 3), (64, 3, 7), (3, 100, 2), (40, 70, 5), (2, 0, 3)])
def test_operands_that_lack_dimensions(exec_mode: str, shape: tuple[int, int, int]) -> None:
    x, names = random(*shape), ("a", "b", "c")
    for kept in ((0, 2), (1,), (0,), (2,), (0, 1)):
        y = random(*(size if i in kept else 1 for i, size in enumerate(shape)))
        other = tuple(name if i in kept else 1 for i, name in enumerate(names))
        np.testing.assert_array_equal(both(outer, (names, other), exec_mode, x, y), x + y)


FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


def mixed(x: Any, row: Any, column: Any, plane: Any, one: Any) -> Any:
    return add(multiply(add(x, row), column), multiply(plane, one))


@FEW
@given(
    a=st.sampled_from([0, 1, 2, 5]),
    b=st.sampled_from([0, 1, 3, 64, 700]),
    c=st.sampled_from([0, 1, 2, 3, 5, 7, 9, 15, 16, 17, 24, 31, 33, 47, 48, 49]),
)
def test_rows_are_one_range(exec_mode: str, a: int, b: int, c: int) -> None:
    # Rows of several blocks and tasks, whose operands lack any of the dimensions.
    x, row, column, plane = random(a, b, c), random(c), random(a, b, 1), random(a, 1, c)
    one = random(1)
    shapes = (("a", "b", "c"), ("c",), ("a", "b", 1), ("a", 1, "c"), (1,))
    result = run(mixed, shapes, exec_mode, x, row, column, plane, one)
    np.testing.assert_allclose(result, (x + row) * column + plane * one, rtol=1e-6, atol=1e-6)
    # Where the length of rows is known, and that of others is not.
    shapes = (("a", "b", c), (c,), ("a", "b", 1), ("a", 1, c), (1,))
    again = run(mixed, shapes, exec_mode, x, row, column, plane, one)
    np.testing.assert_array_equal(again, result)


def divided(x: Any, column: Any) -> Any:
    return floor_divide(x, column)


def chosen(c: Any, x: Any, row: Any) -> Any:
    return where(c, x, row)


def permuted(x: Any, row: Any) -> Any:
    return add(permute_dims(x, [1, 0, 2]), row)


def doubled(x: Any, column: Any) -> Any:
    return multiply(add(x, x), column)


@pytest.mark.parametrize("m", [*NARROW, 50])
def test_operands_of_a_range(exec_mode: str, m: int) -> None:
    x, row, column = random(900, m), random(m), random(900, 1)
    # Numbers are divided by no element that is not there.
    numbers, divisors = (x * 100).astype("int32"), np.arange(1, 901, dtype="int32")[:, None]
    wanted = numbers // divisors
    shapes: tuple[tuple[Any, ...], ...] = (("n", "m"), ("n", 1))
    np.testing.assert_array_equal(both(divided, shapes, exec_mode, numbers, divisors), wanted)
    # A Boolean for each row; a byte that is not zero is true.
    flags = np.arange(900, dtype="uint8")[:, None]
    shapes = (("n", 1), ("n", "m"), ("m",))
    result = run(chosen, shapes, exec_mode, flags.view("bool"), x, row)
    np.testing.assert_array_equal(result, np.where(flags != 0, x, row))
    # Rows in another order.
    cube = x.reshape(30, 30, m)
    shapes = (("a", "b", "m"), ("m",))
    result = both(permuted, shapes, exec_mode, cube, row)
    np.testing.assert_array_equal(result, cube.transpose(1, 0, 2) + row)
    # The result takes the place of an operand that dies.
    result = both(doubled, (("n", "m"), ("n", 1)), exec_mode, x, column)
    np.testing.assert_array_equal(result, (x + x) * column)
    # NaN and infinities stay where they are.
    column[::7], row[0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        result = both(scaled, (("n", "m"), ("m",), ("n", 1)), exec_mode, x / 4, row, column)
        wanted = np.exp(x / 4) * row + column
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_ranges_at_any_address(exec_mode: str, offset: int) -> None:
    memory, column = random(5 * 700 + 3), random(700, 1)
    x = memory[offset : offset + 3500].reshape(700, 5)
    strided = random(700, 10)[:, ::2]
    shapes = (("n", "m"), ("n", 1))
    np.testing.assert_array_equal(run(outer, shapes, exec_mode, x, column), x + column)
    np.testing.assert_array_equal(run(outer, shapes, exec_mode, strided, column), strided + column)


def compared(x: Any, y: Any) -> Any:
    return logical_not(less(x, y))


@pytest.mark.parametrize("dtype", ["float16", "int8", "int64", "float64"])
@pytest.mark.parametrize("m", [1, 3, 7])
def test_data_types(exec_mode: str, dtype: str, m: int) -> None:
    x, y = random(50, m, dtype=dtype), random(m, dtype=dtype)
    shapes = (("n", "m"), ("m",))
    np.testing.assert_array_equal(both(outer, shapes, exec_mode, x, y), x + y)
    np.testing.assert_array_equal(run(compared, ((50, m), (m,)), exec_mode, x, y), ~(x < y))


def softmax_last(x: Any) -> Any:
    return softmax(x, axis=-1)


def softmax_first(x: Any) -> Any:
    return softmax(x, axis=0)


def normed(x: Any, scale: Any, shift: Any) -> Any:
    return layer_norm(x, scale, shift, axes=[-1])


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("m", NARROW)
def test_rows(exec_mode: str, n: int, m: int) -> None:
    x, scale, shift = random(n, m), random(m), random(m + 1)[1:].copy()
    wide = x.astype("float64")
    result = both(softmax_last, (("n", "m"),), exec_mode, x)
    weights = np.exp(wide - wide.max(1, keepdims=True, initial=-np.inf))
    np.testing.assert_allclose(result, weights / weights.sum(1, keepdims=True), rtol=1e-5)
    result = both(normed, (("n", "m"), ("m",), ("m",)), exec_mode, x, scale, shift)
    centered = wide - wide.mean(1, keepdims=True)
    wanted = centered / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-5) * scale + shift
    np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-4)
    if n:
        weights = np.exp(wide - wide.max(0, keepdims=True))
        result = both(softmax_first, (("n", "m"),), exec_mode, x)
        np.testing.assert_allclose(result, weights / weights.sum(0, keepdims=True), rtol=1e-5)


REDUCTIONS = {
    "sum": (sum_, np.sum),
    "max": (max_, np.max),
    "mean": (mean, np.mean),
    "variance": (variance, np.var),
}


@pytest.mark.parametrize("axis", [[0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(20, 30, 3), (3, 20, 30), (30, 3, 20)])
def test_reductions(name: str, axis: list[int], shape: tuple[int, int, int]) -> None:
    function, reference = REDUCTIONS[name]

    def reduced(x: Any) -> Any:
        return function(x, axis=axis)

    x = random(*shape)
    result = both(reduced, (("a", "b", "c"),), "compiled", x)
    wanted = reference(x.astype("float64"), axis=tuple(axis))
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
@pytest.mark.parametrize("n", [70])
@pytest.mark.parametrize("m", [*NARROW, 130])
def test_places_of_extremes(axis: int, dtype: str, n: int, m: int) -> None:
    x = random(n, m).round().astype(dtype)
    for function, reference in ((argmax, np.argmax), (argmin, np.argmin)):

        def place(x: Any, function: Any = function) -> Any:
            return function(x, axis=axis)

        result = both(place, (("n", "m"),), "compiled", x)
        np.testing.assert_array_equal(result, reference(x, axis=axis))


@pytest.mark.parametrize("dims", [[0, 2, 1], [2, 1, 0], [1, 2, 0]])
@pytest.mark.parametrize(
    "shape", [(64, 64, 3), (3, 64, 64), (50, 7, 9), (9, 1, 300), (2, 300, 2), (33, 5, 17)]
)
def test_transposes(exec_mode: str, dims: list[int], shape: tuple[int, int, int]) -> None:
    def copied(x: Any) -> Any:
        return permute_dims(x, dims)

    def doubled(x: Any) -> Any:
        return add(permute_dims(x, dims), permute_dims(x, dims))

    x = random(*shape)
    for function, wanted in ((copied, x), (doubled, x + x)):
        result = both(function, (("a", "b", "c"),), exec_mode, x)
        np.testing.assert_array_equal(result, wanted.transpose(dims))


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "int8", "bool"])
@pytest.mark.parametrize("m", [0, 1, 16, 17, 100])
def test_rows_are_reversed(exec_mode: str, dtype: str, m: int) -> None:
    def reverse(x: Any) -> Any:
        return flip(x, axis=1)

    x = random(5, m).astype(dtype)
    np.testing.assert_array_equal(both(reverse, (("n", "m"),), exec_mode, x), x[:, ::-1])


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "int8"])
@pytest.mark.parametrize("step", [-1, 2, 3])
@pytest.mark.parametrize("m", [1, 31, 32, 33, 34, 100])
def test_every_second_element(exec_mode: str, dtype: str, step: int, m: int) -> None:
    begin, end = (0, m) if step > 0 else (m - 1, -m - 1)

    def sliced(x: Any) -> Any:
        return strided_slice(x, [1], [begin], [end], [step])

    x = random(5, m).astype(dtype)
    np.testing.assert_array_equal(run(sliced, ((5, m),), exec_mode, x), x[:, ::step])


def summed(x: Any) -> Any:
    return cumsum(x, axis=1)


@pytest.mark.parametrize("m", NARROW)
def test_scans(exec_mode: str, m: int) -> None:
    x = random(20, m)
    wanted = np.cumsum(x.astype("float64"), 1)
    np.testing.assert_allclose(
        both(summed, (("n", "m"),), exec_mode, x), wanted, rtol=1e-4, atol=1e-5
    )
