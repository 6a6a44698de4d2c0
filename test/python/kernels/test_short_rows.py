"""Rows that are shorter than vectors: as many as vectors have lanes are computed together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from kernel_programs import random, run
from relax_mlir.op import (
    add,
    equal,
    exp,
    expand_dims,
    floor_divide,
    less,
    mean,
    multiply,
    prod,
    subtract,
    variance,
    where,
)
from relax_mlir.op import max as max_
from relax_mlir.op import min as min_
from relax_mlir.op import sum as sum_
from relax_mlir.op.nn import layer_norm, log_softmax, rms_norm, softmax

# Tails of blocks of 4, 8 and 16 rows, and more rows than a task has.
ROWS = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 100, 2100])
SIZES = st.integers(0, 9)
BITS = st.sampled_from([0, 128, 256])
SOME = settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def both(
    function: Callable[..., Any],
    shapes: tuple[tuple[Any, ...], ...],
    mode: str,
    *arrays: np.ndarray,
    **options: Any,
) -> list[np.ndarray]:
    """Run with static and with dynamic sizes."""
    known = tuple(a.shape for a in arrays)
    return [run(function, sizes, mode, *arrays, **options) for sizes in (known, shapes)]


def check(
    function: Callable[..., Any],
    shapes: tuple[tuple[Any, ...], ...],
    mode: str,
    wanted: np.ndarray,
    *arrays: np.ndarray,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    **options: Any,
) -> None:
    for result in both(function, shapes, mode, *arrays, **options):
        np.testing.assert_allclose(result, wanted, rtol=rtol, atol=atol)


def softmax_of(x: np.ndarray) -> np.ndarray:
    wide = x.astype("float64")
    exps = np.exp(wide - wide.max(-1, keepdims=True, initial=-np.inf))
    return exps / exps.sum(-1, keepdims=True)


@SOME
@given(n=ROWS, m=SIZES, bits=BITS)
def test_softmax(exec_mode: str, n: int, m: int, bits: int) -> None:
    x = random(n, m)
    wanted = softmax_of(x)
    check(softmax, (("n", "m"),), exec_mode, wanted, x, rtol=3e-6, atol=0, vector_bits=bits)
    if m:
        check(log_softmax, (("n", "m"),), exec_mode, np.log(wanted), x, vector_bits=bits)


def normed(x: Any, scale: Any, shift: Any) -> Any:
    return layer_norm(x, scale, shift, axes=[-1])


def normed_by_squares(x: Any, scale: Any) -> Any:
    return rms_norm(x, scale, axes=[-1])


@SOME
@given(n=ROWS, m=st.integers(1, 9), bits=BITS)
def test_norms(exec_mode: str, n: int, m: int, bits: int) -> None:
    x, scale, shift = random(n, m) + 2, random(m), random(m + 1)[1:].copy()
    wide = x.astype("float64")
    centered = wide - wide.mean(1, keepdims=True)
    wanted = centered / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-5) * scale + shift
    shapes = (("n", "m"), ("m",), ("m",))
    options = {"rtol": 1e-3, "atol": 1e-3, "vector_bits": bits}
    check(normed, shapes, exec_mode, wanted, x, scale, shift, **options)
    wanted = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * scale
    check(normed_by_squares, shapes[:2], exec_mode, wanted, x, scale, **options)


REDUCTIONS = {
    "sum": (sum_, np.sum),
    "mean": (mean, np.mean),
    "max": (max_, np.max),
    "min": (min_, np.min),
    "prod": (prod, np.prod),
    "variance": (variance, np.var),
}


@functools.cache
def reduction(name: str, axes: tuple[int, ...]) -> Callable[..., Any]:
    return lambda x: REDUCTIONS[name][0](x, axis=list(axes))


@pytest.mark.parametrize("name", REDUCTIONS)
@SOME
@given(n=ROWS, m=st.integers(1, 9), bits=BITS)
def test_reductions(name: str, n: int, m: int, bits: int) -> None:
    x = random(n, m)
    wanted = REDUCTIONS[name][1](x.astype("float64"), axis=1)
    check(reduction(name, (1,)), (("n", "m"),), "compiled", wanted, x, atol=1e-4, vector_bits=bits)


@pytest.mark.parametrize("name", REDUCTIONS)
@SOME
@given(k=st.sampled_from([0, 1, 2, 9]), n=ROWS, m=st.integers(1, 9), bits=BITS)
def test_reductions_on_both_sides(name: str, k: int, n: int, m: int, bits: int) -> None:
    """Reduced dimensions lie before and after the rows: elements of blocks are reduced first."""
    if k == 0 and name not in ("sum", "prod"):
        return
    x = random(k, n, m) / 3 + 0.5
    wanted = REDUCTIONS[name][1](x.astype("float64"), axis=(0, 2))
    check(reduction(name, (0, 2)), (("k", "n", "m"),), "compiled", wanted, x, vector_bits=bits)


def squared_sum(x: Any, scale: Any) -> Any:
    return sum_(multiply(multiply(x, x), scale), axis=[0, 2])


def scaled_sum(x: Any, scale: Any) -> Any:
    return multiply(sum_(multiply(x, scale), axis=[0, 2]), sum_(scale))


@pytest.mark.parametrize("shape", [(7, 1, 1), (1, 1, 1), (1, 40, 1), (7, 40, 3), (1, 1, 3)])
def test_operands_of_what_is_reduced_on_both_sides(exec_mode: str, shape: tuple[int, ...]) -> None:
    x, scale = random(7, 40, 3), random(*shape)
    wide = x.astype("float64")
    sizes = (x.shape, shape)
    result = run(squared_sum, sizes, exec_mode, x, scale)
    np.testing.assert_allclose(result, (wide * wide * scale).sum((0, 2)), rtol=1e-4, atol=1e-4)
    result = run(scaled_sum, sizes, exec_mode, x, scale)
    wanted = (wide * scale).sum((0, 2)) * scale.sum(dtype="float64")
    np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float64"])
def test_data_types(name: str, dtype: str) -> None:
    kind = {"dtype": dtype} if name in ("sum", "prod") else {}
    for shape, axes in (((70, 3), (1,)), ((37, 8), (1,)), ((5, 37, 6), (0, 2)), ((9, 5), (1,))):
        x = np.abs(random(*shape) / (8 if name == "prod" else 1) + 1).astype(dtype)
        wanted = REDUCTIONS[name][1](x, axis=axes, **kind)
        names = tuple("abc"[: len(shape)])
        for result in both(reduction(name, axes), (names,), "compiled", x):
            if np.issubdtype(np.dtype(dtype), np.integer):
                np.testing.assert_array_equal(result, wanted)
            else:
                tolerance = 2e-2 if dtype == "float16" else 1e-12
                np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("m", [2, 3, 7, 8])
def test_softmax_of_other_floats(exec_mode: str, dtype: str, m: int) -> None:
    x = random(45, m, dtype=dtype)
    tolerance = 2e-3 if dtype == "float16" else 1e-12
    check(softmax, (("n", "m"),), exec_mode, softmax_of(x), x, rtol=tolerance, atol=1e-7)


@pytest.mark.parametrize("m", [2, 3, 5, 8])
@pytest.mark.parametrize("n", [8, 9, 40, 41])
def test_nan_and_infinity(exec_mode: str, n: int, m: int) -> None:
    """They reach the results of their row alone, be it the last one of a block."""
    x = random(n, m)
    for row, value in ((0, np.nan), (3, np.inf), (n - 1, np.nan), (n - 2, -np.inf)):
        x[row, row % m] = value
    with np.errstate(invalid="ignore"):
        for name in ("sum", "max", "min", "mean"):
            wanted = REDUCTIONS[name][1](x.astype("float64"), axis=1)
            check(reduction(name, (1,)), (("n", "m"),), exec_mode, wanted, x)
        check(softmax, (("n", "m"),), exec_mode, softmax_of(x), x, rtol=3e-6)
    x[:] = -np.inf
    check(reduction("max", (1,)), (("n", "m"),), exec_mode, x[:, 0], x)
    assert all(np.isnan(result).all() for result in both(softmax, (("n", "m"),), exec_mode, x))


def test_sums_of_negative_zeros(exec_mode: str) -> None:
    """The sum starts with a zero that is not negative."""
    x = np.full((40, 3), -0.0, "float32")
    for result in both(reduction("sum", (1,)), (("n", "m"),), exec_mode, x):
        assert not np.signbit(result).any()


def quotients(x: Any, y: Any) -> Any:
    total = sum_(floor_divide(x, y), axis=[1], keepdims=True)
    return add(floor_divide(x, y), total)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("m", [2, 3, 8])
@pytest.mark.parametrize("n", [1, 5, 8, 16, 21])
def test_integers_are_divided(exec_mode: str, dtype: str, n: int, m: int) -> None:
    """Lanes of rows that are not there divide by nothing."""
    x, y = (random(n, m) * 20).astype(dtype), np.abs(random(n, m) * 3).astype(dtype) + 1
    for result in both(quotients, (("n", "m"),) * 2, exec_mode, x, y):
        np.testing.assert_array_equal(result, x // y + (x // y).sum(1, keepdims=True))


def masked_softmax(x: Any, mask: Any) -> Any:
    return softmax(where(mask, x, multiply(x, x)), axis=-1)


def is_largest(x: Any) -> Any:
    return equal(x, max_(x, axis=[-1], keepdims=True))


def is_below_mean_of_exps(x: Any) -> Any:
    exps = exp(x)
    return less(exps, mean(exps, axis=[-1], keepdims=True))


@pytest.mark.parametrize("m", [2, 5, 8])
@pytest.mark.parametrize("n", [1, 8, 40, 41])
def test_booleans(exec_mode: str, n: int, m: int) -> None:
    x = random(n, m) / 4
    mask = random(m, n).T.copy() > 0
    wanted = softmax_of(np.where(mask, x, x * x))
    check(masked_softmax, (("n", "m"),) * 2, exec_mode, wanted, x, mask)
    for result in both(is_largest, (("n", "m"),), exec_mode, x):
        np.testing.assert_array_equal(result, x == x.max(1, keepdims=True))
    exps = np.exp(x.astype("float64"))
    for result in both(is_below_mean_of_exps, (("n", "m"),), exec_mode, x):
        np.testing.assert_array_equal(result, exps < exps.mean(1, keepdims=True))


def biased_softmax(x: Any, bias: Any) -> Any:
    return softmax(add(x, bias), axis=-1)


@pytest.mark.parametrize("kept", [(0, 2), (1,), (0,), (2,), (0, 1), (1, 2)], ids=str)
@pytest.mark.parametrize("shape", [(3, 20, 5), (20, 3, 4), (6, 9, 8), (2, 40, 9)])
def test_operands_that_lack_dimensions(
    exec_mode: str, kept: tuple[int, ...], shape: tuple[int, int, int]
) -> None:
    x, names = random(*shape), ("a", "b", "c")
    bias = random(*(size if i in kept else 1 for i, size in enumerate(shape)))
    other = tuple(name if i in kept else 1 for i, name in enumerate(names))
    wanted = softmax_of(x + bias)
    check(biased_softmax, (names, other), exec_mode, wanted, x, bias, rtol=1e-5)


def centered_sums_of_squares(x: Any) -> Any:
    centered = subtract(exp(x), mean(exp(x), axis=[1], keepdims=True))
    return multiply(centered, expand_dims(sum_(multiply(centered, centered), axis=[1]), 1))


@SOME
@given(n=ROWS, m=st.integers(1, 9), bits=BITS)
def test_buffers(exec_mode: str, n: int, m: int, bits: int) -> None:
    """Exponentials are kept until their mean and then the sum of squares is known."""
    x = random(n, m) / 4
    exps = np.exp(x.astype("float64"))
    centered = exps - exps.mean(1, keepdims=True)
    wanted = centered * (centered**2).sum(1, keepdims=True)
    check(centered_sums_of_squares, (("n", "m"),), exec_mode, wanted, x, vector_bits=bits)


def sum_of_those_below(x: Any) -> Any:
    are_below = less(exp(x), multiply(x, x))
    total = sum_(where(are_below, x, multiply(x, x)), axis=[1], keepdims=True)
    return where(are_below, total, x)


@pytest.mark.parametrize("m", [2, 3, 8, 20])
def test_buffers_of_booleans(exec_mode: str, m: int) -> None:
    """Booleans that take long are kept, too."""
    x = random(41, m)
    wide = x.astype("float64")
    are_below = np.exp(wide) < wide * wide
    total = np.where(are_below, wide, wide * wide).sum(1, keepdims=True)
    wanted = np.where(are_below, total, wide)
    check(sum_of_those_below, (("n", "m"),), exec_mode, wanted, x)


def softmax_in_place(x: Any) -> Any:
    return softmax(add(x, x), axis=-1)


def softmax_twice(x: Any) -> Any:
    return softmax(softmax(x, axis=-1), axis=-1)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("m", [3, 8])
def test_outputs_in_the_place_of_inputs(exec_mode: str, m: int, fuse: bool) -> None:
    x = random(50, m)
    options = {"fuse": fuse, "rtol": 1e-5}
    check(softmax_in_place, (("n", "m"),), exec_mode, softmax_of(x + x), x, **options)
    check(softmax_twice, (("n", "m"),), exec_mode, softmax_of(softmax_of(x)), x, **options)
