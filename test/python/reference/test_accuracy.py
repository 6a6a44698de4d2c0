# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled elementwise operators are as exact as their rows, and the page of docs, promise."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.reference.operators import OPERATORS
from relax_mlir.reference.tensor import Tensor, round_float, unit_in_last_place

_ROOT = Path(__file__).parents[3]
FLOATS = ("float32", "float16", "bfloat16", "float64")
# In which results are compared: what there is of more than 64 bits.
_WIDE = np.longdouble

UNARY = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "gelu",
    "gelu_tanh",
    "leakyrelu",
    "log",
    "negative",
    "relu",
    "round",
    "rsqrt",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]
BINARY = [
    "add",
    "atan2",
    "divide",
    "floor_divide",
    "floor_mod",
    "log_add_exp",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "power",
    "subtract",
]
# Two zeros of different signs have no larger one.
_ANY_ZERO = ("maximum", "minimum")


def test_the_page_is_that_of_the_table() -> None:
    path = _ROOT / "scripts" / "operator_accuracy.py"
    spec = importlib.util.spec_from_file_location("operator_accuracy", path)
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (_ROOT / "docs" / "dev" / "accuracy.md").read_text()
    assert all(f"`{name.removeprefix('relax.')}`" in page for name in OPERATORS)
    assert script.insert(page) == page, (
        "run python scripts/operator_accuracy.py --write docs/dev/accuracy.md"
    )


def _numbers(dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Return numbers of a data type, of all sizes, and special ones; those of f32 for bfloat16."""
    kind = np.dtype("float32" if dtype == "bfloat16" else dtype)
    info = np.finfo(kind)
    special = [0, 1, 0.5, 1.5, 2.5, 3.5, 5, 7, 11.1, 17, 20.5, 30, 87.4, 88.8, 100, 103, 709.5, 745]
    special += [np.inf, np.nan, info.max, info.tiny, info.tiny * 3, info.smallest_subnormal]
    special += [1 - info.epsneg, 1 + info.eps]
    with np.errstate(over="ignore"):
        special = np.array([*special, *(-number for number in special)]).astype(kind)
    bits = rng.integers(0, 1 << 16, (3000, kind.itemsize // 2), np.uint16).view(kind).ravel()
    normal = [rng.standard_normal(2000) * scale for scale in (1, 8)]
    # Small numbers side by side, and with infinities: a vector of them is computed another way.
    zeros = np.tile(np.array([0.0, -0.0, 0.25]).astype(kind), 32)
    zeros = np.concatenate([zeros, np.tile(np.array([-0.0, np.inf, 0.0]).astype(kind), 32)])
    numbers = np.concatenate([special, bits, *(part.astype(kind) for part in normal), zeros])
    return round_float(numbers, dtype) if dtype == "bfloat16" else numbers


def _arguments(dtype: str, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    numbers = _numbers(dtype, rng)
    if count == 1:
        return [numbers]
    first = numbers[:52]
    pairs = np.meshgrid(first, first)
    others = (numbers, rng.permutation(numbers))
    return [np.concatenate([a.ravel(), b]) for a, b in zip(pairs, others, strict=True)]


def _function(name: str) -> Callable[..., Any]:
    return getattr(op, name, None) or getattr(op.nn, name)


@functools.cache
def _compiled(dtype: str) -> relax.VirtualMachine:
    """Return functions of all operators, from vectors to a vector."""
    bb = relax.BlockBuilder()
    given = "float32" if dtype == "bfloat16" else dtype
    for names, count in ((UNARY, 1), (BINARY, 2)):
        for name in names:
            info = relax.TensorStructInfo(("n",), given)
            params = [relax.Var(f"x{i}", info) for i in range(count)]
            with bb.function(name, params):
                args = [op.astype(x, dtype) if dtype != given else x for x in params]
                result = _function(name)(*args)
                bb.emit_func_output(op.astype(result, given) if dtype != given else result)
    return relax.VirtualMachine(relax.compile(bb))


class _Defaults:
    """An operation whose attributes are all left out."""

    def __getattr__(self, name: str) -> None:
        return None


def _exact(name: str, args: Sequence[np.ndarray], dtype: str) -> np.ndarray:
    tensors = [Tensor(arg, dtype) for arg in args]
    return np.asarray(OPERATORS[f"relax.{name}"].function(_Defaults(), tensors, None), _WIDE)


def measure(actual: np.ndarray, name: str, args: Sequence[np.ndarray], dtype: str) -> np.ndarray:
    """Return the errors of results, in units in the last place."""
    row = OPERATORS[f"relax.{name}"]
    # Longer numbers do not help where 24 bits of a result are wanted.
    wide = [arg.astype(_WIDE if dtype == "float64" else np.float64) for arg in args]
    exact = _exact(name, wide, dtype)
    with np.errstate(all="ignore"):
        nearest = round_float(exact.astype(np.float64), dtype)
        same = (actual == nearest) | (np.isnan(actual) & np.isnan(nearest))
        size = np.abs(exact.astype(np.float64))
        if row.scale is not None:
            size = np.maximum(size, row.scale(None, [Tensor(arg, dtype) for arg in wide]))
        largest = np.finfo("float32" if dtype == "bfloat16" else dtype)
        unit = unit_in_last_place(np.minimum(size, float(largest.max)), dtype)
        beyond = np.copysign(np.ldexp(_WIDE(1), largest.maxexp), actual)
        distance = np.abs(np.where(np.isinf(actual), beyond, actual.astype(_WIDE)) - exact)
        distance = distance - _slack(name, wide, exact, dtype)
        errors = np.where(same, 0, np.maximum(distance, 0) / unit)
    return np.where(np.isnan(actual) != np.isnan(nearest), np.inf, errors).astype(np.float64)


def _slack(name: str, args: Sequence[np.ndarray], exact: np.ndarray, dtype: str) -> np.ndarray:
    """Return how much results change with the arguments, as far as these may be changed."""
    growth = OPERATORS[f"relax.{name}"].backward_error
    slack = np.zeros_like(exact)
    if not growth:
        return slack
    roundoff = float(unit_in_last_place(1.0, dtype)) / 2 * growth
    for i, arg in enumerate(args):
        moved = [*args[:i], arg * (1 + roundoff), *args[i + 1 :]]
        change = np.abs(_exact(name, moved, dtype) - exact)
        slack += np.where(np.isfinite(change), change, 0)
    return slack


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_operator_keeps_its_promise(name: str, dtype: str) -> None:
    args = _arguments(dtype, 1 if name in UNARY else 2)
    actual = np.from_dlpack(_compiled(dtype)[name](*args))
    errors = measure(actual, name, args, dtype)
    worst = int(errors.argmax())
    at = [arg[worst] for arg in args]
    # Results that are computed in f32 are rounded twice, which is hardly more than once.
    bound = OPERATORS[f"relax.{name}"].ulps * (1 + 2.0**-11)
    assert errors[worst] <= bound, f"{errors[worst]} units of {actual[worst]} at {at}"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*UNARY, *sorted(set(BINARY) - set(_ANY_ZERO))])
def test_zeros_have_the_right_sign(name: str, dtype: str) -> None:
    args = _arguments(dtype, 1 if name in UNARY else 2)
    actual = np.from_dlpack(_compiled(dtype)[name](*args))
    exact = _exact(name, [arg.astype(np.float64) for arg in args], dtype)
    wrong = (actual == 0) & (exact == 0) & (np.signbit(actual) != np.signbit(exact))
    assert not wrong.any(), [arg[wrong.argmax()] for arg in args]


def test_errors_are_seen() -> None:
    x = np.array([1.0, 2.0, np.nan, -0.0, 1e30], "float32")
    exact = np.square(x.astype(np.float64))
    right = exact.astype("float32")
    assert measure(right, "square", [x], "float32").tolist() == [0] * 5
    wrong = np.array([1 + 2**-23, 4 - 2**-21, 0.0, np.nan, 3e38], "float32")
    errors = measure(wrong, "square", [x], "float32").tolist()
    assert errors[:4] == [1, 1, np.inf, np.inf]
    assert errors[4] > 1


# ------------------------------------------------------------------------------
# Divisors that several elements share
# ------------------------------------------------------------------------------

SHARED = {
    "row": (("n", 64), ("n", 1)),
    "column": (("n", 64), (64,)),
    "scalar": (("n", 64), ()),
    "matrix": (("n", 8, 8), ("n", 1, 1)),
    "numerator": (("n", 1), ("n", 64)),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("shapes", SHARED.values(), ids=SHARED)
def test_shared_divisors_divide(shapes: Sequence[Any], dtype: str) -> None:
    rng = np.random.default_rng(0)
    sizes = [[33 if dim == "n" else dim for dim in shape] for shape in shapes]
    x, y = (rng.standard_normal(size).astype(dtype) for size in sizes)
    bb = relax.BlockBuilder()
    params = [
        relax.Var(name, relax.TensorStructInfo(shape, dtype))
        for name, shape in zip("xy", shapes, strict=True)
    ]
    with bb.function("main", params):
        bb.emit_func_output(op.divide(*params))
    actual = np.from_dlpack(relax.VirtualMachine(relax.compile(bb))["main"](x, y))
    np.testing.assert_array_equal(actual, x / y)


# The divisor of each row, of the rows.
DIVISORS = {
    "sum": lambda x: op.sum(x, 1, keepdims=True),
    "max": lambda x: op.max(x, 1, keepdims=True),
    "std": lambda x: op.std(x, 1, keepdims=True),
    "root": lambda x: op.sqrt(op.mean(op.square(x), 1, keepdims=True)),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("size", ["m", 5, 64, 200])
@pytest.mark.parametrize("name", DIVISORS)
def test_divisors_of_rows_divide(name: str, size: int | str, dtype: str) -> None:
    x = np.random.default_rng(0).random((33, 64 if size == "m" else size)).astype(dtype)
    bb = relax.BlockBuilder()
    param = relax.Var("x", relax.TensorStructInfo(("n", size), dtype))
    with bb.function("main", [param]):
        divisor = bb.emit(DIVISORS[name](param))
        bb.emit_func_output(op.tuple(divisor, op.divide(param, divisor)))
    result = relax.VirtualMachine(relax.compile(bb))["main"](x)
    shared, actual = (np.from_dlpack(part) for part in result)
    # In one kernel, too, the divisor is a number of the data type.
    np.testing.assert_array_equal(actual, x / shared)


@pytest.mark.parametrize("divisor", [3.0, 0.1, 49.0])
def test_constant_divisors_divide(divisor: float) -> None:
    x = np.random.default_rng(0).standard_normal(1000).astype("float32")
    bb = relax.BlockBuilder()
    param = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [param]):
        bb.emit_func_output(op.divide(param, op.const(divisor, "float32")))
    actual = np.from_dlpack(relax.VirtualMachine(relax.compile(bb))["main"](x))
    np.testing.assert_array_equal(actual, x / np.float32(divisor))


# ------------------------------------------------------------------------------
# Sums
# ------------------------------------------------------------------------------

# Linear in what is summed: the sum of sizes bounds what a change of the terms does.
LINEAR: dict[str, tuple[Callable[..., Any], dict[str, Any], list[tuple[int, ...]]]] = {
    "sum": (lambda x: op.sum(x, 1), {"axis": [1]}, [(20, 3000)]),
    "mean": (lambda x: op.mean(x, 0), {"axis": [0]}, [(3000, 20)]),
    "cumsum": (lambda x: op.cumsum(x, 1), {"axis": 1}, [(20, 1000)]),
    "matmul": (op.matmul, {}, [(20, 1000), (1000, 30)]),
    "conv1d": (op.nn.conv1d, {}, [(2, 60, 50), (8, 60, 5)]),
    "avg_pool1d": (lambda x: op.nn.avg_pool1d(x, 49), {"pool_size": [49]}, [(2, 3, 200)]),
}
# Of numbers that do not cancel: their relative error has a bound.
RELATIVE: dict[str, tuple[Callable[..., Any], dict[str, Any], list[tuple[int, ...]]]] = {
    "prod": (lambda x: op.prod(x, 1), {"axis": [1]}, [(50, 40)]),
    "cumprod": (lambda x: op.cumprod(x, 1), {"axis": 1}, [(50, 40)]),
    "rms_norm": (lambda x, w: op.nn.rms_norm(x, w), {"axes": [1]}, [(50, 300), (300,)]),
    "softmax": (op.nn.softmax, {"axis": -1}, [(50, 300)]),
}


class _Given(_Defaults):
    def __init__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)


def _run(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> np.ndarray:
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(x.shape, x.dtype.name))
        for i, x in enumerate(arrays)
    ]
    with bb.function("main", params):
        bb.emit_func_output(function(*params))
    return np.from_dlpack(relax.VirtualMachine(relax.compile(bb))["main"](*arrays))


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("name", [*LINEAR, *RELATIVE])
def test_sums_keep_their_promise(name: str, dtype: str) -> None:
    function, attributes, shapes = {**LINEAR, **RELATIVE}[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    if name.endswith("prod"):
        arrays = [1 + array / 8 for array in arrays]
    row, op_ = OPERATORS[f"relax.{name}"], _Given(attributes)

    def evaluate(arrays: Sequence[np.ndarray]) -> Any:
        # A row of more digits than the result.
        wide = _WIDE if dtype == "float64" else np.float64
        return row.function(op_, [Tensor(x.astype(wide), dtype) for x in arrays], None)

    exact = evaluate(arrays)
    ulps, growth = row.bounds(op_, [Tensor(x, dtype) for x in arrays])
    unit = unit_in_last_place(exact.astype(np.float64), dtype)
    growth *= float(unit_in_last_place(1.0, dtype)) / 2
    if name in LINEAR:
        # Each factor may differ.
        slack = growth * len(arrays) * evaluate([np.abs(x) for x in arrays])
    else:
        slack = 2 * growth * np.abs(exact) * max(float(np.abs(x).max()) for x in arrays)
    actual = _run(function, arrays)
    assert actual.shape == exact.shape
    errors = np.abs(actual.astype(_WIDE) - exact)
    assert (errors <= ulps * unit + slack).all(), (errors / unit).max()
    # The promise means something: what is off by a hundredth of the largest result breaks it.
    assert dtype == "float16" or (slack < np.abs(exact).max() / 100).all()
