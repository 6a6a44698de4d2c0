"""Operators of Relay on elements, against NumPy and PyTorch."""

import numpy as np
import pytest
import torch
from relay_programs import Case, Known, check_cases, run_operator

RNG = np.random.default_rng(0)
SIGNED = np.array([[-2.5, -0.5, 0.0], [0.5, 1.5, 3.25]], "float32")
SHARES = np.array([-0.9, -0.25, 0.0, 0.5, 0.95], "float32")
POSITIVE = np.array([0.125, 1.0, 2.0, 10.0, 1000.0], "float32")
ODD = np.array([np.nan, np.inf, -np.inf, 1.0], "float32")
INTS = np.array([-7, -1, 0, 1, 6], "int32")
WHOLE = np.array([-7, -6, 7, 6, 5], "int32")
BY = np.array([3, -4, -3, 4, 5], "int32")
FLAGS = np.array([[True, False], [False, True]])
OTHER = np.array([True, True])


def _torch(function, x):
    return function(torch.from_numpy(x)).numpy()


def _away(x):
    return (np.sign(x) * np.floor(np.abs(x) + 0.5)).astype(x.dtype)


UNARY = [
    *(Case(name, [SIGNED], getattr(np, name)(SIGNED)) for name in
      ("abs", "ceil", "cos", "cosh", "exp", "floor", "negative", "sign", "sin", "sinh", "tan",
       "tanh", "trunc")),
    *(Case(name, [SHARES], getattr(torch, name)(torch.from_numpy(SHARES)).numpy()) for name in
      ("acos", "asin", "asinh", "atan", "atanh", "erf", "sigmoid")),
    *(Case(name, [POSITIVE], getattr(np, name)(POSITIVE)) for name in
      ("log", "log10", "log2", "sqrt")),
    Case("acosh", [POSITIVE[1:]], np.arccosh(POSITIVE[1:])),
    Case("rsqrt", [POSITIVE], 1 / np.sqrt(POSITIVE)),
    Case("fast_exp", [SIGNED], np.exp(SIGNED)),
    Case("fast_tanh", [SIGNED], np.tanh(SIGNED)),
    Case("fast_erf", [SIGNED], _torch(torch.erf, SIGNED)),
    Case("round", [SIGNED], _away(SIGNED)),
    *(Case(name, [ODD], getattr(np, name)(ODD)) for name in ("isnan", "isinf", "isfinite")),
    Case("bitwise_not", [INTS], ~INTS),
    Case("logical_not", [FLAGS], ~FLAGS),
]  # fmt: skip
INTEGERS = [
    *(Case(name, [INTS], INTS) for name in ("ceil", "floor", "round", "trunc", "copy")),
    Case("abs", [INTS], np.abs(INTS)),
    Case("abs", [INTS.astype("uint8")], INTS.astype("uint8")),
    Case("negative", [INTS], -INTS),
    Case("sign", [INTS], np.sign(INTS)),
    *(Case(name, [INTS], getattr(np, name)(INTS)) for name in ("isnan", "isinf", "isfinite")),
]
LEFT = RNG.uniform(-3, 3, (2, 1, 3)).astype("float32")
RIGHT = np.array([[-2.0], [0.75]], "float32")
COMPARED = np.array([[0.0, -0.5, 1.5]], "float32")
BINARY = [
    *(Case(name, [LEFT, RIGHT], getattr(np, name)(LEFT, RIGHT)) for name in
      ("add", "divide", "floor_divide", "maximum", "minimum", "multiply", "subtract")),
    Case("power", [np.abs(LEFT), RIGHT], np.power(np.abs(LEFT), RIGHT)),
    Case("floor_mod", [LEFT, RIGHT], np.mod(LEFT, RIGHT)),
    Case("mod", [LEFT, RIGHT], np.fmod(LEFT, RIGHT)),
    Case("trunc_mod", [LEFT, RIGHT], np.fmod(LEFT, RIGHT)),
    Case("trunc_divide", [LEFT, RIGHT], np.trunc(LEFT / RIGHT)),
    *(Case(name, [SIGNED, COMPARED], getattr(np, name)(SIGNED, COMPARED)) for name in
      ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")),
    *(Case(name, [FLAGS, OTHER], getattr(np, name)(FLAGS, OTHER)) for name in
      ("logical_and", "logical_or", "logical_xor")),
]  # fmt: skip
QUOTIENT = np.trunc(WHOLE / BY).astype("int32")
UNSIGNED = np.array([200, 7], "uint8")
BINARY_OF_INTEGERS = [
    Case("divide", [WHOLE, BY], QUOTIENT),
    Case("trunc_divide", [WHOLE, BY], QUOTIENT),
    Case("floor_divide", [WHOLE, BY], WHOLE // BY),
    Case("floor_mod", [WHOLE, BY], WHOLE % BY),
    Case("mod", [WHOLE, BY], np.fmod(WHOLE, BY)),
    Case("trunc_mod", [WHOLE, BY], np.fmod(WHOLE, BY)),
    Case("mod", [UNSIGNED, np.array([3, 200], "uint8")], np.array([2, 7], "uint8")),
    *(Case(name, [WHOLE, BY], getattr(np, name)(WHOLE, BY)) for name in
      ("bitwise_and", "bitwise_or", "bitwise_xor", "maximum")),
    Case("left_shift", [INTS, np.abs(BY)], INTS << np.abs(BY)),
    Case("right_shift", [INTS, np.abs(BY)], INTS >> np.abs(BY)),
]  # fmt: skip


@pytest.mark.parametrize(
    "cases", [UNARY, INTEGERS, BINARY, BINARY_OF_INTEGERS], ids=["unary", "ints", "binary", "whole"]
)
def test_ry06_elements(exec_mode, cases):
    check_cases(cases)


def test_ry06_symbolic_dimensions(exec_mode):
    x, y = SIGNED, SIGNED[:1] * 2
    check_cases([
        Case("add", [x, y], x + y, shapes=[("n", 3), (1, "m")]),
        Case("add", [x, x], x + x, shapes=[("n", "m"), ("k", 3)]),
        Case("round", [x], _away(x), shapes=[("n", "m")]),
        Case("where", [x > 0, x, y], np.where(x > 0, x, y), shapes=[("n", 3), ("n", 3), (1, 3)]),
    ])  # fmt: skip


def test_ry06_conversions(exec_mode):
    half = np.array([-1.5, 0.0, 2.75], "float32")
    check_cases([
        Case("cast", [half], half.astype("int8"), {"dtype": "int8"}),
        Case("cast", [half], half.astype("bool"), {"dtype": "bool"}),
        Case("cast", [INTS], INTS.astype("float64"), {"dtype": "float64"}),
        Case("cast", [INTS], INTS.astype("uint8"), {"dtype": "uint8"}),
        Case("cast_like", [half, INTS], half.astype("int32")),
        Case("reinterpret", [half], half.view("int32"), {"dtype": "int32"}),
        Case("reinterpret", [INTS], INTS.view("float32"), {"dtype": "float32"}),
        Case("reinterpret", [INTS], INTS.view("uint32"), {"dtype": "uint32"}),
        Case("clip", [half], np.clip(half, -1, 2), {"a_min": -1.0, "a_max": 2.0}),
        Case("clip", [INTS], np.clip(INTS, -2, 3), {"a_min": -2.0, "a_max": 3.0}),
        Case("where", [INTS, half[:1], np.full(1, 9, "float32")],
             np.where(INTS != 0, half[0], np.float32(9))),
    ])  # fmt: skip


def test_ry06_annotations_change_nothing(exec_mode):
    x = SIGNED
    names = ("bitpack_start", "bitpack_end", "checkpoint", "stop_fusion")
    check_cases([
        *(Case(f"annotation.{name}", [x], x) for name in names),
        Case("annotation.cast_hint", [x], x, {"dtype": "int8"}),
        Case("annotation.compiler_begin", [x], x, {"compiler": "dnnl"}),
        Case("annotation.compiler_end", [x], x, {"compiler": "dnnl"}),
        Case("copy", [x], x),
        Case("debug", [x], x),
        Case("device_copy", [x], x),
        Case("on_device", [x], x, {"constrain_result": True}),
    ])  # fmt: skip


def _fixed(x, multiplier, shift):
    """As exact integers: x * multiplier * 2**(shift - 31), rounded half up."""
    places = 31 + max(-shift, 0)
    product = (int(x) << max(shift, 0)) * int(multiplier)
    return (product + (1 << (places - 1))) >> places


@pytest.mark.parametrize("shift", [-5, 0, 3])
def test_ry06_fixed_point_multiply(exec_mode, shift):
    x = np.array([-100001, -3, 0, 5, 7, 123456], "int32")
    multiplier = 1288490189
    expected = np.array([_fixed(one, multiplier, shift) for one in x], "int32")
    attrs = {"multiplier": multiplier, "shift": shift}
    check_cases([Case("fixed_point_multiply", [x], expected, attrs)])


@pytest.mark.parametrize("left, right", [(True, True), (False, True), (True, False)])
def test_ry06_fixed_point_multiply_per_axis(exec_mode, left, right):
    x = RNG.integers(-5000, 5000, (2, 3, 2), "int32")
    multiplier = np.array([1 << 30, 1288490189, 1999999999], "int32")
    lshift, rshift = np.array([0, 2, 5], "int32"), np.array([4, 0, 1], "int32")
    expected = np.empty_like(x)
    for place in np.ndindex(x.shape):
        c = place[1]
        wide = int(x[place]) << (int(lshift[c]) if left else 0)
        expected[place] = _fixed(wide, multiplier[c], -int(rshift[c]) if right else 0)
    attrs = {"is_lshift_required": left, "is_rshift_required": right, "axes": [1]}
    operands = [x, Known(multiplier), Known(lshift), Known(rshift)]
    check_cases([Case("fixed_point_multiply_per_axis", operands, expected, attrs)])


@pytest.mark.parametrize(
    "name, operands, attrs, message",
    [
        ("add", [SIGNED, INTS], {}, "of one data type, but got float32 and int32; cast one"),
        ("add", [INTS, BY[:2]], {}, "expected"),
        ("add", [INTS], {}, "expected add of lhs, rhs, but got 1 operands"),
        ("exp", [SIGNED], {"base": 2}, "exp has no attribute 'base'"),
        ("clip", [SIGNED], {"a_min": 0.0}, "clip needs the attribute 'a_max'"),
        ("clip", [SIGNED], {"a_mim": 0.0, "a_max": 1.0}, "did you mean 'a_min'"),
        ("cast", [SIGNED], {}, "cast needs the attribute 'dtype'"),
        ("power", [INTS, BY], {}, "expected powers of floats, but got int32"),
        ("exp", [INTS], {}, "expected"),
        ("logical_and", [INTS, BY], {}, "expected"),
        ("reinterpret", [SIGNED], {"dtype": "int8"}, "expected a data type of 32 bits"),
        ("where", [FLAGS, SIGNED, INTS], {}, "expected operands of one data type"),
        ("fixed_point_multiply", [SIGNED], {"multiplier": 1, "shift": 0}, "expected .* int32"),
        ("fixed_point_multiply", [INTS], {"multiplier": 1, "shift": 40}, "expected a shift"),
        ("fixed_point_multiply_per_axis", [INTS, BY, BY, BY], {"axes": [3]}, "expected an axis"),
    ],
)
def test_ry06_elements_reject(name, operands, attrs, message):
    with pytest.raises(ValueError, match=message):
        run_operator(name, *operands, **attrs)
