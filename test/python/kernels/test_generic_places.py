"""Generic kernels that wrap around, repeat, gather, and reduce short rows, against NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_programs import compile_function, run
from relax_mlir.op import add, argmax, argmin, concat, repeat, take, tile
from relax_mlir.op.nn import relu


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape) * 3
    return np.asarray(numbers > 0 if dtype == "bool" else numbers, dtype)


WIDTHS = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257]


def check_both(
    function: Callable[..., Any], mode: str, wanted: np.ndarray, *arrays: np.ndarray
) -> None:
    """Check a function of matrices and vectors of known sizes, and of sizes that are not."""
    known = tuple((array.shape, array.dtype.name) for array in arrays)
    result = compile_function(function, known, mode)(*arrays)
    np.testing.assert_array_equal(np.from_dlpack(result), wanted)
    shapes = tuple(("n", "m") if array.ndim == 2 else ("k",) for array in arrays)
    np.testing.assert_array_equal(run(function, shapes, mode, *arrays), wanted)


@functools.cache
def tiled(*repeats: int) -> Callable[..., Any]:
    return lambda x: relu(tile(x, repeats))


@pytest.mark.parametrize("m", WIDTHS)
def test_tiles(exec_mode: str, m: int) -> None:
    """Loops over vectors end where the index wraps around."""
    for n in (0, 1, 3):
        x = random(n, m)
        check_both(tiled(2, 3), exec_mode, np.maximum(np.tile(x, (2, 3)), 0), x)


def test_tiles_of_many_elements(exec_mode: str) -> None:
    """Parts of what threads share begin anywhere between two wraps."""
    x = random(2, 3001)
    check_both(tiled(1, 7), exec_mode, np.maximum(np.tile(x, (1, 7)), 0), x)
    x = random(1, 3)
    check_both(tiled(1, 3001), exec_mode, np.maximum(np.tile(x, (1, 3001)), 0), x)


@functools.cache
def repeated(times: int, axis: int) -> Callable[..., Any]:
    return lambda x: relu(repeat(x, times, axis))


@pytest.mark.parametrize("times", [1, 2, 3, 4, 8, 16, 32, 100])
def test_repeats(exec_mode: str, times: int) -> None:
    """Lanes share elements; or, where vectors begin inside of them, gather them."""
    for m in (0, 1, 7, 16, 33):
        x = random(3, m)
        for axis in (0, 1):
            wanted = np.maximum(np.repeat(x, times, axis), 0)
            check_both(repeated(times, axis), exec_mode, wanted, x)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool"])
def test_repeats_of_types(exec_mode: str, dtype: str) -> None:
    x = random(3, 50, dtype=dtype)
    for times in (2, 5):
        result = run(lambda x, t=times: repeat(x, t, 1), (("n", "m"),), exec_mode, x)
        np.testing.assert_array_equal(result, np.repeat(x, times, 1))


def repeated_tile(x: Any) -> Any:
    return repeat(tile(x, (1, 2)), 2, axis=1)


def tiled_repeat(x: Any) -> Any:
    return tile(repeat(x, 2, axis=1), (1, 2))


def tiled_twice(x: Any) -> Any:
    return add(tile(x, (1, 4)), tile(tile(x, (1, 2)), (1, 2)))


def test_tiles_and_repeats(exec_mode: str) -> None:
    for m in (1, 5, 16, 70):
        x = random(2, m)
        check_both(repeated_tile, exec_mode, np.repeat(np.tile(x, 2), 2, 1), x)
        check_both(tiled_repeat, exec_mode, np.tile(np.repeat(x, 2, 1), 2), x)
        check_both(tiled_twice, exec_mode, np.tile(x, 4) * 2, x)


# Rows that turn out to be short.


@functools.cache
def best(name: str) -> Callable[..., Any]:
    op = {"argmax": argmax, "argmin": argmin}[name]
    return lambda x: op(x, axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_best_of_short_rows(exec_mode: str, name: str, dtype: str) -> None:
    for n, m in ((1, 1), (5, 3), (8, 7), (33, 8), (700, 7), (17, 31), (9, 32), (9, 33), (0, 5)):
        x = random(n, m, dtype=dtype)
        check_both(best(name), exec_mode, getattr(np, name)(x, 1), x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("m", [2, 7, 30, 50])
def test_best_of_rows_with_nan(exec_mode: str, name: str, m: int) -> None:
    """NaN is better than any number, and the first one is taken."""
    for dtype in ("float32", "float64"):
        x = random(40, m, dtype=dtype)
        x[1] = np.nan
        x[2] = np.inf
        x[3] = -np.inf
        x[4, m // 2 :] = np.nan
        x[5, m - 1] = np.nan
        x[6, 0], x[6, m - 1] = np.inf, np.nan
        x[7, 0] = np.nan
        x[8] = 0
        x[9, ::2], x[9, 1::2] = -0.0, 0.0
        check_both(best(name), exec_mode, getattr(np, name)(x, 1), x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_best_of_columns_with_nan(exec_mode: str, name: str) -> None:
    op = {"argmax": argmax, "argmin": argmin}[name]
    x = random(37, 150)
    for column in range(0, 150, 3):
        x[(column * 7) % 37 :: 5, column] = np.nan
    x[:, 1], x[:, 4] = np.inf, -np.inf
    result = run(lambda x: op(x, axis=0), (("n", "m"),), exec_mode, x)
    np.testing.assert_array_equal(result, getattr(np, name)(x, 0))


# Elements that are gathered.


def columns(x: Any, i: Any) -> Any:
    return relu(take(x, i, axis=1))


def columns_around(x: Any, i: Any) -> Any:
    return take(x, i, axis=1, mode="wrap")


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 11])
def test_columns(exec_mode: str, n: int) -> None:
    """Several rows are gathered at the same places together, and the rest one by one."""
    for m, k in ((5, 16), (40, 15), (70, 33), (3, 1), (1, 70), (9, 0)):
        x = random(n, m)
        places = np.random.default_rng(m).integers(-3, m + 3, k)
        wanted = np.maximum(x[:, np.clip(places, 0, m - 1)], 0)
        check_both(columns, exec_mode, wanted, x, places)
        check_both(columns, exec_mode, wanted, x, places.astype("int32"))


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "int64", "bool"])
def test_columns_of_types(exec_mode: str, dtype: str) -> None:
    x = random(6, 50, dtype=dtype)
    places = np.random.default_rng(0).integers(-50, 100, 37)
    check_both(columns_around, exec_mode, x[:, places % 50], x, places)


def test_columns_in_the_middle(exec_mode: str) -> None:
    """Iterations that are computed together are those of the last dimension but one."""
    x = random(3, 20, 6)
    places = np.random.default_rng(0).integers(0, 6, (5, 7))
    result = run(
        lambda x, i: take(x, i, axis=2), (("a", "b", "c"), ("k", "l")), exec_mode, x, places
    )
    np.testing.assert_array_equal(result, x[:, :, places])


def test_columns_of_many_rows(exec_mode: str) -> None:
    """Enough elements for several threads."""
    x = random(301, 500)
    places = np.random.default_rng(0).integers(0, 500, 5001)
    check_both(columns, exec_mode, np.maximum(x[:, places], 0), x, places)


# Rows of a few elements.


def side_by_side(x: Any, y: Any) -> Any:
    return concat([x, y], axis=1)


@pytest.mark.parametrize("m", [0, 1, 3, 7, 16, 40])
def test_narrow_concat(exec_mode: str, m: int) -> None:
    """Short rows that follow one another are one task."""
    for n in (0, 1, 50, 3001):
        x, y = random(n, m), random(n, 3)
        result = run(side_by_side, (("n", "m"), ("n", "k")), exec_mode, x, y)
        np.testing.assert_array_equal(result, np.concatenate([x, y], 1))
