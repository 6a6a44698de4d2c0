"""Elementwise operators against NumPy and PyTorch."""

import numpy as np
import pytest
from operator_tables import FLOATS, INTEGERS, SIGNED, TOLERANCE, N, check, of_torch, table_of
from relax_mlir import op
from torch.nn import functional


def inside(function):
    """Return a function of numbers from -1 to 1."""
    return lambda x: function(op.tanh(x))


def selu(x):
    return of_torch(functional.selu)(x)


ELEMENTWISE = [
    ("acos", inside(op.acos), lambda x: np.arccos(np.tanh(x)), FLOATS[:2], [N]),
    (
        "acosh",
        lambda x: op.acosh(op.add(op.square(x), 1)),
        lambda x: np.arccosh(x * x + 1),
        FLOATS[:2],
        [N],
    ),
    ("asin", inside(op.asin), lambda x: np.arcsin(np.tanh(x)), FLOATS[:2], [N]),
    ("asinh", op.asinh, np.arcsinh, FLOATS, [N]),
    ("atan", op.atan, np.arctan, FLOATS, [N]),
    ("atanh", inside(op.atanh), lambda x: np.arctanh(np.tanh(x)), FLOATS[:2], [N]),
    ("bitwise_not", op.bitwise_not, np.invert, (*INTEGERS, "bool"), [N]),
    ("cosh", op.cosh, np.cosh, FLOATS, [N]),
    ("selu", op.nn.selu, selu, FLOATS, [N]),
    ("sinh", op.sinh, np.sinh, FLOATS, [N]),
    ("square", op.square, np.square, (*FLOATS, *INTEGERS), [N]),
    ("tan", op.tan, np.tan, FLOATS[:2], [N]),
    ("trunc", op.trunc, np.trunc, FLOATS, [N]),
    ("leakyrelu", op.nn.leakyrelu, of_torch(functional.leaky_relu), FLOATS, [N]),
    (
        "leakyrelu-alpha",
        lambda x: op.nn.leakyrelu(x, 0.3),
        of_torch(lambda x: functional.leaky_relu(x, 0.3)),
        ["float32"],
        [N],
    ),
    ("softplus", op.nn.softplus, of_torch(functional.softplus), FLOATS, [N]),
    (
        "softplus-beta",
        lambda x: op.nn.softplus(x, 2.0, 1.5),
        of_torch(lambda x: functional.softplus(x, 2.0, 1.5)),
        ["float32"],
        [N],
    ),
    ("relu6", op.nn.relu6, of_torch(functional.relu6), FLOATS, [N]),
    ("clip", lambda x: op.clip(x, -0.5, 0.75), lambda x: x.clip(-0.5, 0.75), FLOATS, [N]),
    ("clip-int", lambda x: op.clip(x, -3, 300), lambda x: x.clip(min=-3), SIGNED, [N]),
    ("clip-uint", lambda x: op.clip(x, -3, 4), lambda x: np.minimum(x, 4), ["uint8"], [N]),
    (
        "clip-symbolic",
        lambda x: op.clip(x, 0, "n"),
        lambda x: x.clip(0, x.shape[0]),
        ["int32", "float32"],
        [N],
    ),
    ("atan2", op.atan2, np.arctan2, FLOATS, [N, N]),
    ("bitwise_and", op.bitwise_and, np.bitwise_and, (*INTEGERS, "bool"), [N, N]),
    ("bitwise_or", op.bitwise_or, np.bitwise_or, (*INTEGERS, "bool"), [N, (3,)]),
    ("bitwise_xor", op.bitwise_xor, np.bitwise_xor, (*INTEGERS, "bool"), [N, N]),
    ("floor_mod", op.floor_mod, np.mod, (*FLOATS, *INTEGERS), [N, N]),
    ("log_add_exp", op.log_add_exp, np.logaddexp, FLOATS, [N, ("n", 1)]),
    ("logical_xor", op.logical_xor, np.logical_xor, ["bool"], [N, N]),
    (
        "ewise_fma",
        op.ewise_fma,
        lambda x, y, z: x * y + z,
        (*FLOATS[:2], *INTEGERS),
        [N, N, N],
    ),
    ("full_like", lambda x: op.full_like(x, 3), lambda x: np.full_like(x, 3), FLOATS, [N]),
    (
        "full_like-dtype",
        lambda x: op.full_like(x, op.const(2.75, "float32"), "int32"),
        lambda x: np.full_like(x, 2, "int32"),
        ["float32"],
        [N],
    ),
    ("ones_like", op.ones_like, np.ones_like, (*FLOATS, *INTEGERS, "bool"), [N]),
    (
        "zeros_like",
        lambda x: op.zeros_like(x, "int8"),
        lambda x: np.zeros_like(x, "int8"),
        ["float32"],
        [N],
    ),
]


@table_of(ELEMENTWISE)
def test_elementwise(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype] * len(shapes))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shift(run, name, dtype):
    x = np.array([1, 3, 64, 100, 127, 5, 5], dtype)
    if dtype.startswith("int"):
        x[1:3] *= -1
    width = x.dtype.itemsize * 8
    y = np.array([0, 1, 2, 3, width - 1, width, 100], dtype)
    expected = getattr(np, name)(x, np.minimum(y, width - 1))
    # All bits are gone.
    expected[5:] = 0
    result = run(getattr(op, name), x, y, shapes=[("n",), ("n",)])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan"])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_tests(run, name, dtype):
    x = np.array([0, -1.5, np.inf, -np.inf, np.nan], "float32")
    x = x.astype(dtype) if dtype.startswith("float") else np.array([0, 1], dtype)
    np.testing.assert_array_equal(run(getattr(op, name), x), getattr(np, name)(x))


def test_log_add_exp_of_infinities(run):
    x = np.array([np.inf, -np.inf, np.inf, 1e4], "float32")
    y = np.array([np.inf, -np.inf, -np.inf, 1e4], "float32")
    np.testing.assert_array_equal(run(op.log_add_exp, x, y), np.logaddexp(x, y))


def test_clip_keeps_nan(run):
    x = np.array([np.nan, 2, -2], "float32")
    np.testing.assert_array_equal(run(lambda x: op.clip(x, -1, 1), x), [np.nan, 1, -1])


@pytest.mark.parametrize("dtype", FLOATS)
def test_softplus_above_the_range_of_exp(run, dtype):
    x = np.array([-800, -90, 0, 89, 150, 199, 201, np.inf, -np.inf, np.nan], dtype)
    result = run(lambda x: op.nn.softplus(x, 1.0, 200.0), x)
    expected = np.logaddexp(0, x.astype("float64"))
    np.testing.assert_allclose(result, expected.astype(dtype), rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sin", "tan", "sinh", "tanh", "atan", "asin", "asinh", "erf"])
def test_zeros_keep_their_sign(run, name, dtype):
    if dtype == "float16" and name in ("tan", "asin"):
        dtype = "float32"
    x = np.array([0.0, -0.0], dtype)
    assert np.signbit(run(getattr(op, name), x)).tolist() == [False, True]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["floor_divide", "mod", "floor_mod"])
def test_signs_of_zeros_of_floor_division(run, name, dtype):
    values = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, np.inf, -np.inf], dtype)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = {"floor_divide": np.floor_divide}.get(name, np.mod)(x, y)
    result = run(getattr(op, name), x, y)
    np.testing.assert_array_equal(result, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[known], np.signbit(expected)[known])
