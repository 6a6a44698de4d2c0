# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elementary functions of kernels are within 4 units in the last place."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op

_PATH = Path(__file__).parents[2] / "scripts" / "math_accuracy.py"
_SPEC = importlib.util.spec_from_file_location("math_accuracy", _PATH)
assert _SPEC and _SPEC.loader
math_accuracy = importlib.util.module_from_spec(_SPEC)
sys.modules["math_accuracy"] = math_accuracy
_SPEC.loader.exec_module(math_accuracy)

# A prime, so that the last digits of the numbers differ.
_STRIDE = 6007


@pytest.mark.parametrize("name", math_accuracy.FUNCTIONS)
def test_function_is_within_4_ulp(name: str) -> None:
    result = math_accuracy.measure(name, _STRIDE)
    assert result.count > (1 << 32) // _STRIDE
    assert result.error < 4, result


# Of the functions that fast math computes in another way, and of what is made of them.
_FAST = {
    "cos": 100,
    "cosh": 12,
    "erf": 6,
    "exp": 12,
    "exp2": 4,
    "expm1": 20,
    "powf": 400,
    "sigmoid": 12,
    "sinh": 20,
    "tanh": 6,
}


@pytest.mark.parametrize("name", sorted({*math_accuracy.FUNCTIONS} - {"sin"}))
def test_fast_math_has_fewer_digits(name: str) -> None:
    result = math_accuracy.measure(name, 100003, fast=True)
    assert result.error < _FAST.get(name, 4), result


@pytest.mark.parametrize("function", [op.erf, op.tanh])
def test_fast_math_keeps_results_within_1(function) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(function(x)))
    main = relax.VirtualMachine(relax.compile(bb, fast_math=True))["main"]
    y = np.from_dlpack(main(np.linspace(3, 10, 100001, dtype=np.float32)))
    assert y.max() == 1 and y.min() > 0.99
    special = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 3e38], np.float32)
    y = np.from_dlpack(main(special))
    np.testing.assert_array_equal(y, [1, -1, np.nan, 0, 0, 1])
    assert np.signbit(y[4]) and not np.signbit(y[3])


@pytest.mark.parametrize("fast", [False, True])
def test_gelu_is_close(fast: bool) -> None:
    """1 + erf is computed as a whole: it has no digits to lose where erf is near -1."""
    torch = pytest.importorskip("torch")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.nn.gelu(x)))
    main = relax.VirtualMachine(relax.compile(bb, fast_math=fast))["main"]
    special = [np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, -1e-40, 3e38, -3e38, -13.43, -13.44]
    numbers = np.concatenate([np.linspace(-15, 15, 1000003), special]).astype(np.float32)
    exact = torch.nn.functional.gelu(torch.from_numpy(numbers).double()).numpy()
    actual = np.from_dlpack(main(numbers))
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(exact))
    close = np.isfinite(exact)
    error = np.abs(actual[close] - exact[close])
    assert np.all(error <= 2.0**-23 * np.maximum(np.abs(numbers[close]), 2.0**-126))
    assert np.all(actual[close & (numbers < -14)] == 0)


def test_gelu_of_bfloat16_is_close() -> None:
    """It has half of the terms, so a result may be one that is next to the nearest."""
    torch = pytest.importorskip("torch")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "bfloat16"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.nn.gelu(x)))
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    every = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).view(torch.bfloat16)
    numbers = every.double().numpy()
    exact = numbers * torch.special.erfc(-every.double() / 2**0.5).numpy() / 2
    actual = torch.from_dlpack(main(every)).double().numpy()
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(actual[~finite], exact[~finite])
    near = finite & (numbers > -5)
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), 2.0**-126))) - 7)
    assert np.all(np.abs(actual - exact)[near] <= 0.6 * unit[near])
    assert np.all(np.abs(actual[finite & (numbers <= -5)]) <= 5e-6)


def test_fast_sines_are_close() -> None:
    x = _numbers()
    with np.errstate(invalid="ignore"):
        exact = np.sin(x.astype(np.float64))
    actual = math_accuracy.compile_function("sin", fast=True)(x)
    np.testing.assert_allclose(actual, exact, rtol=1e-6, atol=2.0**-26)


def test_fast_sums_are_computed_in_another_order(tmp_path: Path) -> None:
    mod = """
    func.func private @f(%x: memref<?xf32>, %y: memref<f32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %zero = arith.constant 0.0 : f32
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> f32 {
        %a = memref.load %x[%i] : memref<?xf32>
        %after = arith.addf %before, %a : f32
        scf.yield %after : f32
      }
      memref.store %sum, %y[] : memref<f32>
      return
    }
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[], f32> {
      %0 = relax.call_tir @f(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[], f32>
      relax.return %0 : !relax.tensor<[], f32>
    }"""
    x = np.arange(100, dtype=np.float32)
    for fast in (False, True):
        executable = relax.compile(mod, fast_math=fast, dump_phases=tmp_path / str(fast))
        (text,) = (tmp_path / str(fast)).glob("*-llvm.mlir")
        assert ("reassoc" in text.read_text()) == fast
        assert np.from_dlpack(relax.VirtualMachine(executable)["main"](x)) == 4950


@pytest.mark.parametrize("opt_level", [0, 3])
def test_fast_math_keeps_nan_and_infinities(opt_level: int) -> None:
    """x - mean(x) of rows of one element, fused with what x is made of, and (x - y) + y."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 1), "float32"))
    rows = relax.Var("rows", relax.TensorStructInfo(("n", 1), "int32"))
    scale, bias = (relax.Var(name, relax.TensorStructInfo((1,), "float32")) for name in "sb")
    with bb.function("main", [x, rows, scale, bias]):
        means = bb.emit(op.scatter_elements(x, rows, x, reduction="mean"))
        norm = bb.emit(op.nn.layer_norm(means, scale, bias, axes=[1]))
        difference = bb.emit(op.add(op.subtract(x, scale), scale))
        bb.emit_func_output((norm, difference))
    vm = relax.VirtualMachine(relax.compile(bb, fast_math=True, opt_level=opt_level))
    values = np.array([[1], [np.nan], [np.inf], [-2]], np.float32)
    one = np.ones(1, np.float32)
    norm, _ = vm["main"](values, np.arange(4, dtype=np.int32)[:, None], one, one)
    np.testing.assert_array_equal(np.from_dlpack(norm)[:, 0], [1, np.nan, np.nan, 1])
    infinity = np.array([np.inf], np.float32)
    _, difference = vm["main"](values, np.zeros((4, 1), np.int32), infinity, one)
    np.testing.assert_array_equal(np.from_dlpack(difference), np.full((4, 1), np.nan))


@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64-v2", "llvm"])
@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (op.exp, np.exp),
        (op.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        (op.nn.silu, lambda x: x / (1 + np.exp(-x))),
        (op.nn.softplus, lambda x: np.log1p(np.exp(x))),
        (
            lambda x: op.nn.softmax(op.stack([x, op.zeros_like(x)], axis=1)),
            lambda x: np.stack([1 / (1 + np.exp(-x)), 1 / (1 + np.exp(x))], axis=1),
        ),
    ],
    ids=["exp", "sigmoid", "silu", "softplus", "softmax"],
)
def test_fast_math_keeps_results_above_its_underflow(function, exact, target: str) -> None:
    """Where exponentials are too small, results are off by less than 2^-118."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(function(x)))
    vm = relax.VirtualMachine(relax.compile(bb, fast_math=True, target=target))
    values = np.linspace(-105, -70, 2001, dtype=np.float32)
    actual = np.from_dlpack(vm["main"](values)).astype(np.float64)
    np.testing.assert_allclose(actual, exact(values.astype(np.float64)), rtol=1e-5, atol=2.0**-118)


def _run(body: str, x: np.ndarray, type_: str = "f32") -> np.ndarray:
    """Run the body of a loop, from %a to %r, on scalars."""
    text = f"""
func.func private @f(%x: memref<?x{type_}>, %y: memref<?x{type_}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x{type_}>
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %x[%i] : memref<?x{type_}>
    {body}
    memref.store %r, %y[%i] : memref<?x{type_}>
  }}
  return
}}
relax.func @main(%x: !relax.tensor<[n], {type_}>) -> !relax.tensor<[n], {type_}> {{
  %0 = relax.call_tir @f(%x) : (!relax.tensor<[n], {type_}>) -> !relax.tensor<[n], {type_}>
  relax.return %0 : !relax.tensor<[n], {type_}>
}}
"""
    return np.from_dlpack(relax.VirtualMachine(relax.compile(text))["main"](x))


def _numbers(count: int = 20000) -> np.ndarray:
    """Return numbers of all sizes, and special ones."""
    bits = np.random.default_rng(0).integers(0, 1 << 32, count, np.uint32)
    return np.concatenate([np.array(math_accuracy.SPECIAL, np.float32), bits.view(np.float32)])


@pytest.mark.parametrize("name", math_accuracy.UNARY)
def test_scalars_and_vectors_give_the_same(name: str) -> None:
    x = _numbers(10007)
    scalars = _run(f"%r = math.{name} %a : f32", x)
    vector = f"""%v = vector.broadcast %a : f32 to vector<2x3xf32>
    %w = math.{name} %v : vector<2x3xf32>
    %r = vector.extract %w[1, 2] : f32 from vector<2x3xf32>"""
    np.testing.assert_allclose(_run(vector, x), scalars, rtol=3e-7, atol=1e-44)
    np.testing.assert_allclose(
        math_accuracy.compile_function(name)(x), scalars, rtol=3e-7, atol=1e-44
    )


@pytest.mark.parametrize("lanes", [1, 3, 16, 40])
def test_one_large_angle_among_small_ones(lanes: int) -> None:
    x = np.array([3e38, 0.5, -7e7, np.inf, 1.0], np.float32)
    body = f"""%small = arith.constant dense<0.5> : vector<{lanes}xf32>
    %v = vector.insert %a, %small[{lanes - 1}] : f32 into vector<{lanes}xf32>
    %w = math.sin %v : vector<{lanes}xf32>
    %r = vector.extract %w[{lanes - 1}] : f32 from vector<{lanes}xf32>"""
    with np.errstate(invalid="ignore"):
        exact = np.sin(x.astype(np.float64))
    np.testing.assert_allclose(_run(body, x), exact, rtol=3e-7)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin"])
def test_half_floats_are_computed_in_float32(name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64)).astype(np.float16)
    actual = math_accuracy.compile_function(name, "f16")(x)
    same = (actual == exact) | (np.isnan(actual) & np.isnan(exact))
    # Rounded twice: once in a while the other neighbour.
    assert (~same).mean() < 1e-3
    close = actual[~same].view(np.int16).astype(int) - exact[~same].view(np.int16)
    assert (np.abs(close) <= 1).all()


@pytest.mark.parametrize("name", ["expm1", "log1p"])
def test_doubles_are_exact_near_zero(name: str) -> None:
    x = np.array(
        [0.0, -0.0, 1e-300, -1e-20, 1e-10, -1e-5, 0.1, -0.7, -1, 3, 50, 700, np.inf, np.nan]
    )
    x = np.concatenate([x, np.random.default_rng(0).normal(size=1000)])
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x)
    actual = math_accuracy.compile_function(name, "f64")(x)
    np.testing.assert_allclose(actual, exact, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(actual[:2]), [False, True])


@pytest.mark.parametrize("name", ["exp", "log"])
def test_doubles_are_within_1_ulp(name: str) -> None:
    rng = np.random.default_rng(0)
    special = [0.0, -0.0, 5e-324, 2e-308, 1.0, -1.0, 709.7, 709.8, -745.1, -745.2, 1e308]
    special += [np.inf, -np.inf, np.nan]
    bits = rng.integers(0, 1 << 64, 100000, np.uint64).view(np.float64)
    x = np.concatenate([special, bits, rng.normal(size=100000), rng.uniform(-750, 750, 100000)])
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.longdouble))
        nearest = exact.astype(np.float64)
    actual = math_accuracy.compile_function(name, "f64")(x)
    same = (actual == nearest) | (np.isnan(actual) & np.isnan(nearest))
    with np.errstate(invalid="ignore"):
        distance = np.abs(actual - exact)
    assert (same | (distance < np.spacing(np.abs(nearest)))).all()


def _check_division(x: np.ndarray, y: np.ndarray) -> None:
    bb = relax.BlockBuilder()
    params = [relax.Var(name, relax.TensorStructInfo(("n",), "float32")) for name in "xy"]
    with bb.function("main", params):
        bb.emit_func_output((op.floor_divide(*params), op.floor_mod(*params)))
    results = relax.VirtualMachine(relax.compile(bb))["main"](x, y)
    quotient, rest = map(np.from_dlpack, results)
    np.testing.assert_array_equal(quotient, np.floor_divide(x, y))
    np.testing.assert_array_equal(rest, np.mod(x, y))
    np.testing.assert_array_equal(np.signbit(rest), np.signbit(np.mod(x, y)))


# Those from 2^23 on are computed in another way, with all that are in one vector.
@pytest.mark.parametrize("largest", [1.0, 2.0**12, 2.0**23, 2.0**24, 2.0**60, 2.0**200])
def test_remainders_are_exact(largest: float) -> None:
    rng = np.random.default_rng(0)
    sizes = np.ldexp(rng.uniform(0.5, 1, 20000), -100 if largest > 2.0**60 else 1)
    y = (sizes * rng.choice([-1, 1], sizes.size)).astype(np.float32)
    counts = np.exp2(rng.uniform(-1, np.log2(largest), y.size))
    # Multiples of the divisor, what is next to them, and all between.
    x = (np.where(rng.random(y.size) < 0.5, np.rint(counts), counts) * y).astype(np.float32)
    x = np.where(rng.random(y.size) < 0.3, np.nextafter(x, np.float32(0)), x)
    _check_division(x, y)


def test_remainders_of_tiny_numbers_are_exact() -> None:
    x, y = (np.random.default_rng(0).integers(-2000, 2000, (2, 1000)) * 2.0**-149).astype("f4")
    _check_division(x, np.where(y == 0, np.float32(1), y))


@pytest.mark.parametrize("lanes", [1, 3, 16, 40])
def test_one_large_quotient_among_small_ones(lanes: int) -> None:
    x = np.array([3e38, 0.5, -7e7, np.inf, 1.0, np.nan, -0.0], np.float32)
    body = f"""%small = arith.constant dense<0.5> : vector<{lanes}xf32>
    %by = arith.constant dense<0.3> : vector<{lanes}xf32>
    %v = vector.insert %a, %small[{lanes - 1}] : f32 into vector<{lanes}xf32>
    %w = arith.remf %v, %by : vector<{lanes}xf32>
    %r = vector.extract %w[{lanes - 1}] : f32 from vector<{lanes}xf32>"""
    actual = _run(body, x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(actual, np.fmod(x, np.float32(0.3)))
    assert np.signbit(actual[-1])


def test_errors_are_measured() -> None:
    one = np.float32(1)
    actual = np.array([1, np.nextafter(one, np.float32(2)), 2**-149, 0, np.inf, np.nan, 0.0, -0.0])
    exact = np.array([1, 1, 0, 2**-149, 2.0**128, np.nan, 0.0, 0.0])
    errors = math_accuracy.measure_errors(actual.astype(np.float32), exact)
    assert errors.tolist() == [0, 1, 1, 1, 0, 0, 0, np.inf]
    errors = math_accuracy.measure_errors(
        np.array([np.nan, 1, np.inf], np.float32), np.array([1, np.nan, (2 - 2.0**-24) * 2.0**127])
    )
    assert errors.tolist() == [np.inf, np.inf, 0.5]
