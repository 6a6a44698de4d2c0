"""Elementwise and broadcasting functions against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from relax_mlir import te, topi

rng = np.random.default_rng(1)


def check(actual, expected, tolerance=1e-5):
    expected = np.asarray(expected)
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, tolerance, tolerance)


UNARY = {
    "abs": np.abs, "acos": np.arccos, "acosh": lambda x: np.arccosh(x + 2), "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos,
    "cosh": np.cosh, "erf": np.vectorize(math.erf, otypes="f"), "exp": np.exp, "floor": np.floor,
    "identity": lambda x: x, "isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan,
    "log": lambda x: np.log(x + 2), "log10": lambda x: np.log10(x + 2),
    "log2": lambda x: np.log2(x + 2), "negative": np.negative, "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x + 2), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": lambda x: np.sqrt(x + 2),
    "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
SHIFTED = ("acosh", "log", "log10", "log2", "rsqrt", "sqrt")


def test_rf11_topi_unary(run_te):
    x = rng.uniform(-0.9, 0.9, (3, 4)).astype("float32")

    def every(A):
        two = topi.add(A, 2)
        return [getattr(topi, name)(two if name in SHIFTED else A) for name in UNARY]

    results = run_te(every, x)
    for (name, reference), actual in zip(UNARY.items(), results, strict=True):
        expected = reference(x)
        assert actual.dtype == expected.dtype, name
        np.testing.assert_allclose(actual, expected, 1e-5, 1e-5, err_msg=name)


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "floor_divide": np.floor_divide, "mod": np.fmod, "floor_mod": np.mod, "maximum": np.maximum,
    "minimum": np.minimum, "atan2": np.arctan2, "log_add_exp": np.logaddexp,
    "greater": np.greater, "greater_equal": np.greater_equal, "less": np.less,
    "less_equal": np.less_equal, "equal": np.equal, "not_equal": np.not_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2,))])
def test_rf11_topi_binary(run_te, shapes):
    x, y = (rng.standard_normal(shape).astype("float32") for shape in shapes)
    results = run_te(lambda A, B: [getattr(topi, name)(A, B) for name in BINARY], x, y)
    for (name, reference), actual in zip(BINARY.items(), results, strict=True):
        expected = reference(x, y)
        assert actual.shape == expected.shape and actual.dtype == expected.dtype, name
        np.testing.assert_allclose(actual, expected, 1e-5, 1e-5, err_msg=name)


INTEGERS = {
    "add": np.add, "floor_divide": np.floor_divide, "floor_mod": np.mod, "maximum": np.maximum,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "trunc_mod": np.fmod, "power": lambda x, y: x ** np.abs(y),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_rf11_topi_binary_of_integers(run_te, dtype):
    x = rng.integers(-9, 9, (2, 5)).astype(dtype)
    y = rng.integers(1, 5, (5,)).astype(dtype)
    results = run_te(lambda A, B: [getattr(topi, name)(A, B) for name in INTEGERS], x, y)
    for (name, reference), actual in zip(INTEGERS.items(), results, strict=True):
        np.testing.assert_array_equal(actual, reference(x, y), err_msg=name)


def test_rf11_topi_numbers_as_operands(run_te):
    x = rng.standard_normal((2, 3)).astype("float32")

    def function(A):
        return [topi.add(A, 1), topi.subtract(2.5, A), A * 2 + A / 4, -A, 1 - A]

    results = run_te(function, x)
    for actual, expected in zip(results, [x + 1, 2.5 - x, x * 2 + x / 4, -x, 1 - x], strict=True):
        np.testing.assert_allclose(actual, expected, 1e-6)
    assert repr(topi.add(1, 2)) == "3"
    assert topi.multiply(te.placeholder((2,), "float16"), 2).dtype == "float16"
    assert topi.multiply(te.placeholder((2,), "float16"), 0.5).dtype == "float32"


def test_rf11_topi_floor_mod_of_floats(run_te):
    x = np.array([5.5, -5.5, 5.5, -5.5, 6.0], "float32")
    y = np.array([2.0, 2.0, -2.0, -2.0, 3.0], "float32")
    check(run_te(topi.floor_mod, x, y), np.mod(x, y))


def test_rf11_topi_cast_clip_where(run_te):
    x = (rng.standard_normal((3, 4)) * 3).astype("float32")

    def function(A):
        return [
            topi.cast(A, "int32"),
            topi.clip(A, -1, 1.5),
            topi.where(topi.greater(A, 0), A, topi.full_like(A, -2)),
            topi.logical_not(topi.greater(A, 0)),
            topi.cast(A, "float16"),
        ]

    ints, clipped, chosen, no, half = run_te(function, x)
    check(ints, x.astype("int32"))
    check(clipped, np.clip(x, -1, 1.5))
    check(chosen, np.where(x > 0, x, np.float32(-2)))
    check(no, ~(x > 0))
    check(half, x.astype("float16"))


def test_rf11_topi_where_broadcasts(run_te):
    c, x, y = np.array([[True], [False]]), np.arange(3.0), np.array(7.0)
    check(run_te(topi.where, c, x, y), np.where(c, x, y))


def test_rf11_topi_broadcast_to(run_te):
    x = rng.standard_normal((3, 1)).astype("float32")
    check(
        run_te(lambda A: topi.broadcast_to(A, (2, A.shape[0], 4)), x), np.broadcast_to(x, (2, 3, 4))
    )


def test_rf11_topi_elementwise_is_one_operation_with_affine_maps():
    A, B = te.placeholder(("n", "m")), te.placeholder(("m",))
    text = str(te.create_prim_func([A, B, topi.where(topi.greater(A, 0), A, B)]))
    assert "tensor.extract" not in text and "scf.if" not in text


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda A, B, N: topi.add(A, B), r"\(3, n\) and \(4\) may not broadcast: n and 4"),
        (
            lambda A, B, N: topi.add(te.placeholder((2,)), te.placeholder((3,))),
            r"\(2\) and \(3\) do not broadcast: 2 and 3",
        ),
        (lambda A, B, N: topi.exp(N), "expected a tensor of floats in exp, but got one of int32"),
        (lambda A, B, N: topi.broadcast_to(B, (1,)), "expected a shape that .* broadcasts to"),
        (lambda A, B, N: topi.bitwise_and(A, A), "expected integers in bitwise_and"),
        (lambda A, B, N: topi.add(A, "x"), "expected an expression or a number, but got 'x'"),
    ],
)
def test_rf11_topi_invalid_operands(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(te.placeholder((3, "n")), te.placeholder((4,)), te.placeholder((3,), "int32"))
