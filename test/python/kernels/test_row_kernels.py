"""Kernels of rows as vector loops, against NumPy in float64, at sizes around those of vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import HealthCheck, given, settings
from kernel_programs import random, run
from relax_mlir.op import divide, mean, prod
from relax_mlir.op import max as max_
from relax_mlir.op import min as min_
from relax_mlir.op import sum as sum_
from relax_mlir.op.nn import layer_norm, log_softmax, softmax

SIZES = st.sampled_from([1, 2, 7, 15, 16, 17, 33, 63, 64, 65, 127, 129, 300])
ROWS = st.sampled_from([0, 1, 2, 5])
FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


def reference_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    wide = x.astype("float64")
    exps = np.exp(wide - wide.max(axis, keepdims=True))
    return exps / exps.sum(axis, keepdims=True)


@pytest.mark.parametrize("bits", [0, 128])
@FEW
@given(n=ROWS, m=SIZES)
def test_softmax(exec_mode: str, bits: int, n: int, m: int) -> None:
    x = random(n, m)
    result = run(softmax, (("n", "m"),), exec_mode, x, vector_bits=bits)
    np.testing.assert_allclose(result, reference_softmax(x), rtol=3e-6)


@FEW
@given(n=ROWS, m=SIZES)
def test_log_softmax(exec_mode: str, n: int, m: int) -> None:
    x = random(2, n, m)
    result = run(log_softmax, ((2, "n", "m"),), exec_mode, x)
    np.testing.assert_allclose(result, np.log(reference_softmax(x)), rtol=3e-6, atol=2e-6)


def normalized(x: Any, gamma: Any, beta: Any) -> Any:
    return layer_norm(x, gamma, beta, axes=[-1])


def normalized_twice(x: Any, gamma: Any, beta: Any) -> Any:
    return layer_norm(x, gamma, beta, axes=[-2, -1])


@FEW
@given(n=ROWS, m=SIZES)
def test_layer_norm(exec_mode: str, n: int, m: int) -> None:
    x, gamma, beta = random(n, m) + 2, random(m), random(m + 1)[1:]
    wide = x.astype("float64")
    wanted = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    result = run(normalized, (("n", "m"), ("m",), ("m",)), exec_mode, x, gamma, beta)
    np.testing.assert_allclose(result, wanted * gamma + beta, rtol=1e-4, atol=1e-4)


@FEW
@given(n=ROWS, m=SIZES)
def test_layer_norm_over_two_axes(exec_mode: str, n: int, m: int) -> None:
    x, gamma, beta = random(n, 3, m) + 2, random(3, m), random(3, m) + 1
    wide = x.astype("float64")
    mean_, variance = wide.mean((1, 2), keepdims=True), wide.var((1, 2), keepdims=True)
    wanted = (wide - mean_) / np.sqrt(variance + 1e-5) * gamma + beta
    shapes = (("n", 3, "m"), (3, "m"), (3, "m"))
    result = run(normalized_twice, shapes, exec_mode, x, gamma, beta)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


REDUCTIONS = {
    "sum": (sum_, np.sum),
    "mean": (mean, np.mean),
    "max": (max_, np.max),
    "min": (min_, np.min),
    "prod": (prod, np.prod),
}


@functools.cache
def reduction(name: str, axes: tuple[int, ...], keepdims: bool) -> Callable[..., Any]:
    return lambda x: REDUCTIONS[name][0](x, axis=list(axes), keepdims=keepdims)


CASES = [((2,), False), ((2,), True), ((1, 2), False), ((0, 1, 2), False)]
CASES += [((0, 2), True), ((0,), False), ((1,), False), ((0, 1), False)]


@pytest.mark.parametrize(("axes", "keepdims"), CASES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(exec_mode: str, name: str, axes: tuple[int, ...], keepdims: bool) -> None:
    function = reduction(name, axes, keepdims)
    for shape in ((2, 3, 5), (3, 1, 65), (1, 4, 130), (2, 17, 16)):
        x = random(*shape) / 3 + 0.5
        wanted = REDUCTIONS[name][1](x.astype("float64"), axis=axes, keepdims=keepdims)
        result = run(function, (("a", "b", "c"),), exec_mode, x)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@functools.cache
def softmax_along(axis: int) -> Callable[..., Any]:
    return lambda x: softmax(x, axis=axis)


# Elements of rows that are far apart: vectors go along the rows.


@pytest.mark.parametrize("bits", [0, 128])
@FEW
@given(n=SIZES, m=st.sampled_from([0, 1, 3, 16, 63, 64, 65, 130, 200]))
def test_reductions_over_the_first_axis(exec_mode: str, bits: int, n: int, m: int) -> None:
    x = random(n, m) / 3
    for name in ("sum", "max"):
        function = reduction(name, (0,), False)
        result = run(function, (("n", "m"),), exec_mode, x, vector_bits=bits)
        wanted = REDUCTIONS[name][1](x.astype("float64"), axis=0)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


@FEW
@given(n=ROWS, c=SIZES, m=st.sampled_from([1, 5, 64, 77]))
def test_channels(exec_mode: str, n: int, c: int, m: int) -> None:
    """Means over the middle axis, and softmax and layer norm along it."""
    x = random(n, c, m)
    shapes = (("n", "c", "m"),)
    wide = x.astype("float64")
    result = run(reduction("mean", (1,), True), shapes, exec_mode, x)
    np.testing.assert_allclose(result, wide.mean(1, keepdims=True), rtol=1e-4, atol=1e-5)
    result = run(softmax_along(1), shapes, exec_mode, x)
    np.testing.assert_allclose(result, reference_softmax(x, 1), rtol=3e-6)


def test_nan_in_columns(exec_mode: str) -> None:
    x = random(70, 70)
    x[5, 3], x[69, 69] = np.nan, -np.inf
    for name in ("sum", "max", "min"):
        result = run(reduction(name, (0,), False), (("n", "m"),), exec_mode, x)
        wanted = REDUCTIONS[name][1](x.astype("float64"), axis=0)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float64"])
def test_data_types(exec_mode: str, name: str, dtype: str, axis: int) -> None:
    if name == "mean" and dtype != "float64":
        pytest.skip("means of integers are not defined")
    function = reduction(name, (axis,), False)
    for m in (1, 63, 200):
        x = np.abs(random(3, m)).astype(dtype)
        with np.errstate(over="ignore"):
            wanted = (
                REDUCTIONS[name][1](x, axis=axis, dtype=dtype)
                if name in ("sum", "prod")
                else (REDUCTIONS[name][1](x, axis=axis))
            )
        result = run(function, (("n", "m"),), exec_mode, x)
        if dtype == "float64":
            np.testing.assert_allclose(result, wanted, rtol=1e-12)
        else:
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_softmax_of_other_floats(exec_mode: str, dtype: str) -> None:
    x = random(4, 77, dtype=dtype)
    result = run(softmax, (("n", "m"),), exec_mode, x)
    tolerance = 1e-3 if dtype == "float16" else 1e-12
    np.testing.assert_allclose(result, reference_softmax(x), rtol=tolerance, atol=1e-7)


def test_empty_rows(exec_mode: str) -> None:
    x = np.zeros((3, 0), "float32")
    np.testing.assert_array_equal(
        run(reduction("sum", (1,), False), (("n", "m"),), exec_mode, x), 0
    )
    largest = run(reduction("max", (1,), False), (("n", "m"),), exec_mode, x)
    np.testing.assert_array_equal(largest, -np.inf)
    assert run(softmax, (("n", "m"),), exec_mode, x).shape == (3, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("m", [1, 7, 33, 150])
def test_nan_at_any_place(exec_mode: str, name: str, m: int, dtype: str) -> None:
    # One NaN a row, and a row without; infinities beside it change nothing.
    x = random(m + 1, m).astype(dtype)
    x[:, m // 2] = np.inf if name == "min" else -np.inf
    x[np.arange(m), np.arange(m)] = np.nan
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(x, axis=1)
    for bits in (0, 128, 256):
        program = reduction(name, (1,), False)
        actual = run(program, (("n", "m"),), exec_mode, x, vector_bits=bits)
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("m", [5, 16, 70, 200])
def test_nan_and_infinity(exec_mode: str, m: int) -> None:
    for place in {0, m // 2, m - 1}:
        x = random(2, m)
        x[0, place] = np.nan
        for name in REDUCTIONS:
            result = run(reduction(name, (1,), False), (("n", "m"),), exec_mode, x)
            assert np.isnan(result[0])
            assert not np.isnan(result[1])
        result = run(softmax, (("n", "m"),), exec_mode, x)
        assert np.isnan(result[0]).all()
        np.testing.assert_allclose(result[1], reference_softmax(x[1]), rtol=3e-6)
        x[0, place] = -np.inf
        result = run(softmax, (("n", "m"),), exec_mode, x)
        np.testing.assert_allclose(result, reference_softmax(x), rtol=3e-6)
        x[0, place] = np.inf
        assert run(reduction("max", (1,), False), (("n", "m"),), exec_mode, x)[0] == np.inf
        assert run(reduction("sum", (1,), False), (("n", "m"),), exec_mode, x)[0] == np.inf


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_along_any_axis(exec_mode: str, axis: int) -> None:
    for shape in ((2, 3, 5), (3, 17, 65), (1, 4, 1)):
        x = random(*shape)
        result = run(softmax_along(axis), (("a", "b", "c"),), exec_mode, x)
        np.testing.assert_allclose(result, reference_softmax(x, axis), rtol=3e-6)


FUSED = """
#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module {
  relax.func @main(%x: !relax.tensor<[n, m], f32>, %s: !relax.tensor<[], f32>) -> !relax.tensor<[n, m], f32> {
    %0 = relax.call_tir @kernel(%x, %s) : (!relax.tensor<[n, m], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, m], f32>
    relax.return %0 : !relax.tensor<[n, m], f32>
  }
  func.func private @kernel(%x: tensor<?x?xf32>, %s: tensor<f32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %exp = linalg.generic {indexing_maps = [#full, affine_map<(i, j) -> ()>, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<?x?xf32>, tensor<f32>) outs(%out : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<?x?xf32>
    %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %o, %a : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %quotient = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%out : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    return %quotient : tensor<?x?xf32>
  }
}
"""  # noqa: E501 (the lines of MLIR)


@pytest.mark.parametrize("scale", [1.0, -28.0, 28.0])
def test_divisors_are_very_small_or_large(exec_mode: str, scale: float) -> None:
    """Sums near the limits of float32, by whose reciprocals elements are multiplied."""
    main = relax.VirtualMachine(relax.compile(FUSED, exec_mode=exec_mode))["main"]
    rows = [np.full((2, 5), 3.1, "float32"), np.linspace(2.9, 3.0, 40, dtype="float32")[None]]
    rows.append(np.linspace(2.9, 3.1, 100, dtype="float32").reshape(20, 5))
    for x in rows:
        exps = np.exp(x.astype("float64") * scale)
        result = np.from_dlpack(main(x, np.array(scale, "float32")))
        # Subnormal numbers have few digits.
        rtol = 1e-2 if scale < 0 else 1e-4
        np.testing.assert_allclose(result, exps / exps.sum(1, keepdims=True), rtol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_divisions_are_rounded_once(
    exec_mode: str, dtype: str, axis: int | tuple[int, int]
) -> None:
    """Sums of integers are exact, so what elements are divided by is known."""

    def shares(x: Any) -> Any:
        return divide(x, sum_(x, axis=axis, keepdims=True))

    for shape in ((37, 5), (6, 100), (40, 1), (1, 33)):
        x = np.random.default_rng(1).integers(1, 50, shape).astype(dtype)
        result = run(shares, (("n", "m"),), exec_mode, x)
        np.testing.assert_array_equal(result, x / x.sum(axis, keepdims=True))
