"""Kernels of no class, as parallel loops over vectors, against NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from kernel_programs import compile_function, run
from relax_mlir.op import (
    add,
    argmax,
    argmin,
    concat,
    const,
    cumprod,
    cumsum,
    flip,
    gather_elements,
    gather_nd,
    matmul,
    one_hot,
    repeat,
    split,
    stack,
    strided_slice,
    take,
    tile,
)
from relax_mlir.op.nn import conv2d

ROWS = st.sampled_from([0, 1, 2, 5])
SIZES = st.sampled_from([0, 1, 2, 7, 8, 15, 16, 17, 33, 64, 65, 130])
FEW = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool"]


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape) * 3
    return np.asarray(numbers > 0 if dtype == "bool" else np.abs(numbers), dtype)


def indices(size: int, *shape: int, dtype: str = "int64") -> np.ndarray:
    return np.random.default_rng(size).integers(0, size, shape).astype(dtype)


# Functions of one matrix, and the same of NumPy: copies in other orders and at other places.
COPIES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "concat": (lambda x: concat([x, x], axis=1), lambda x: np.concatenate([x, x], axis=1)),
    "concat_rows": (lambda x: concat([x, x], axis=0), lambda x: np.concatenate([x, x], axis=0)),
    "stack": (lambda x: stack([x, x], axis=1), lambda x: np.stack([x, x], axis=1)),
    "flip": (lambda x: flip(x, axis=1), lambda x: np.flip(x, axis=1)),
    "flip_rows": (lambda x: flip(x, axis=0), lambda x: np.flip(x, axis=0)),
    "tile": (lambda x: tile(x, (2, 3)), lambda x: np.tile(x, (2, 3))),
    "repeat": (lambda x: repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, axis=1)),
    "slice": (
        lambda x: strided_slice(x, [0, 1], [0, 1], [100, 1000], [1, 1]),
        lambda x: x[:, 1:],
    ),
    "every_third": (
        lambda x: strided_slice(x, [1], [0], [1000], [3]),
        lambda x: x[:, ::3],
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COPIES)
def test_copies(exec_mode: str, name: str, dtype: str) -> None:
    function, reference = COPIES[name]
    for shape in ((3, 70), (2, 5), (5, 1), (0, 4), (1, 16), (3, 0)):
        x = random(*shape, dtype=dtype)
        np.testing.assert_array_equal(run(function, (("n", "m"),), exec_mode, x), reference(x))


@FEW
@given(n=ROWS, m=SIZES)
@pytest.mark.parametrize("bits", [0, 128])
def test_copies_of_any_size(exec_mode: str, bits: int, n: int, m: int) -> None:
    x = random(n, m)
    for name in ("concat", "flip", "stack", "every_third"):
        function, reference = COPIES[name]
        result = run(function, (("n", "m"),), exec_mode, x, vector_bits=bits)
        np.testing.assert_array_equal(result, reference(x))


def halves(x: Any) -> Any:
    return split(x, 2, axis=1)


def test_several_results(exec_mode: str) -> None:
    for m in (2, 16, 50, 200):
        x = random(3, m)
        main = compile_function(halves, (((3, m), "float32"),), exec_mode)
        for result, wanted in zip(main(x), np.split(x, 2, axis=1), strict=True):
            np.testing.assert_array_equal(np.from_dlpack(result), wanted)


# Elements at places that are computed.


def take_rows(x: Any, i: Any) -> Any:
    return take(x, i, axis=0)


def take_columns(x: Any, i: Any) -> Any:
    return take(x, i, axis=1)


def take_columns_around(x: Any, i: Any) -> Any:
    return take(x, i, axis=1, mode="wrap")


@pytest.mark.parametrize(
    ("dtype", "index"),
    [*((dtype, "int64") for dtype in DTYPES), ("float32", "int32"), ("float32", "uint8")],
)
def test_take(exec_mode: str, dtype: str, index: str) -> None:
    for n, m, k in ((9, 70, 5), (3, 1, 40), (1, 16, 17), (4, 33, 0)):
        x = random(n, m, dtype=dtype)
        rows, columns = indices(n, k, dtype=index), indices(m, k, dtype=index)
        shapes = (("n", "m"), ("k",))
        np.testing.assert_array_equal(run(take_rows, shapes, exec_mode, x, rows), x[rows])
        np.testing.assert_array_equal(
            run(take_columns, shapes, exec_mode, x, columns), x[:, columns]
        )


@FEW
@given(n=ROWS, m=SIZES, k=SIZES)
def test_take_of_any_size(exec_mode: str, n: int, m: int, k: int) -> None:
    x, rows = random(n + 1, m), indices(n + 1, k)
    shapes = (("n", "m"), ("k",))
    np.testing.assert_array_equal(run(take_rows, shapes, exec_mode, x, rows), x[rows])


def test_take_out_of_bounds(exec_mode: str) -> None:
    x = random(2, 20)
    places = np.array([-30, -1, 0, 5, 19, 20, 100] * 3)
    shapes = (("n", "m"), ("k",))
    np.testing.assert_array_equal(
        run(take_columns, shapes, exec_mode, x, places), x[:, np.clip(places, 0, 19)]
    )
    np.testing.assert_array_equal(
        run(take_columns_around, shapes, exec_mode, x, places), x[:, places % 20]
    )


def test_take_from_nothing(exec_mode: str) -> None:
    """No element is read where there is none, in no lane."""
    x, places = np.zeros((3, 0), "float32"), np.arange(20)
    result = run(take_columns, (("n", "m"), ("k",)), exec_mode, x, places)
    np.testing.assert_array_equal(result, np.zeros((3, 20), "float32"))


def elements_along(x: Any, i: Any) -> Any:
    return gather_elements(x, i, axis=1)


def elements_at(x: Any, i: Any) -> Any:
    return gather_nd(x, i)


@FEW
@given(n=ROWS, m=SIZES)
def test_gather(exec_mode: str, n: int, m: int) -> None:
    x = random(n, m + 1)
    places = indices(m + 1, n, m)
    np.testing.assert_array_equal(
        run(elements_along, (("n", "m"), ("n", "k")), exec_mode, x, places),
        np.take_along_axis(x, places, 1),
    )
    rows = indices(n + 1, 3, 1)
    y = random(n + 1, m)
    result = run(elements_at, (("n", "m"), ("k", 1)), exec_mode, y, rows)
    np.testing.assert_array_equal(result, y[rows[:, 0]])


def hot(i: Any) -> Any:
    return one_hot(i, 1.0, 0.0, 37)


def test_one_hot(exec_mode: str) -> None:
    places = indices(37, 50)
    np.testing.assert_array_equal(
        run(hot, (("n",),), exec_mode, places), np.eye(37, dtype="float32")[places]
    )


# Scans, and reductions with several results or over other axes.


@functools.cache
def scan(name: str, axis: int) -> Callable[..., Any]:
    op = {"cumsum": cumsum, "cumprod": cumprod}[name]
    return lambda x: op(x, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans(exec_mode: str, name: str, axis: int) -> None:
    for shape in ((3, 5, 70), (17, 2, 16), (1, 40, 1), (2, 0, 3)):
        x = random(*shape) / 3
        wanted = getattr(np, name)(x.astype("float64"), axis=axis)
        result = run(scan(name, axis), (("a", "b", "c"),), exec_mode, x)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@functools.cache
def best(name: str, axis: int) -> Callable[..., Any]:
    op = {"argmax": argmax, "argmin": argmin}[name]
    return lambda x: op(x, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *(("argmax", dtype) for dtype in ("float32", "float64", "float16", "int8")),
        ("argmin", "int64"),
    ],
)
def test_indices_of_the_best(exec_mode: str, name: str, axis: int, dtype: str) -> None:
    for shape in ((3, 5, 70), (17, 2, 16), (1, 40, 1), (2, 300, 3)):
        x = random(*shape, dtype=dtype)
        wanted = getattr(np, name)(x, axis=axis)
        result = run(best(name, axis), (("a", "b", "c"),), exec_mode, x)
        np.testing.assert_array_equal(result, wanted)


def test_indices_of_nan(exec_mode: str) -> None:
    for axis in (0, 1):
        for place in (0, 7, 39):
            x = random(40, 40)
            x[place], x[:, place] = np.nan, np.nan
            result = run(best("argmax", axis), (("a", "b"),), exec_mode, x)
            np.testing.assert_array_equal(result, np.argmax(x, axis))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float64"])
@FEW
@given(n=ROWS, m=SIZES, k=st.sampled_from([0, 1, 3, 40]))
def test_products(exec_mode: str, dtype: str, n: int, m: int, k: int) -> None:
    x, y = random(n, k, dtype=dtype), random(k, m, dtype=dtype)
    result = run(matmul, (("n", "k"), ("k", "m")), exec_mode, x, y)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(result, np.matmul(x, y), rtol=1e-12)


def images_last(x: Any, w: Any) -> Any:
    return conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO")


def test_convolution_with_channels_last(exec_mode: str) -> None:
    x, w = random(2, 6, 5, 7), random(3, 3, 7, 40)
    wide = np.pad(x.astype("float64"), [(0, 0), (1, 1), (1, 1), (0, 0)])
    wanted = sum(
        np.einsum("nhwc,cf->nhwf", wide[:, i : i + 6, j : j + 5], w[i, j].astype("float64"))
        for i in range(3)
        for j in range(3)
    )
    shapes = (("n", "h", "w", 7), (3, 3, 7, 40))
    result = run(images_last, shapes, exec_mode, x, w)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-4)


def gathered_sum(x: Any, i: Any) -> Any:
    return add(take(x, i, axis=0), const(1.0))


def test_threads_see_the_same(exec_mode: str) -> None:
    """Enough elements for several threads."""
    x, rows = random(500, 700), indices(500, 900)
    shapes = (("n", "m"), ("k",))
    np.testing.assert_array_equal(run(gathered_sum, shapes, exec_mode, x, rows), x[rows] + 1)
    for axis in (0, 1):
        result = run(scan("cumsum", axis), (("n", "m"),), exec_mode, x)
        np.testing.assert_allclose(result, np.cumsum(x.astype("float64"), axis), rtol=1e-4)
