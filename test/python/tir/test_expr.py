"""Scalar expressions against Python's numbers, and what they become against NumPy."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
import relax_mlir
from mlir import ir
from mlir.dialects import arith, func, memref, scf
from relax_mlir import (
    BlockBuilder,
    TensorStructInfo,
    Var,
    VirtualMachine,
    default_context,
    tir,
)
from relax_mlir import op as relax_op
from relax_mlir.tir import Emitter, from_dim, shape_var, to_dim

pytestmark = pytest.mark.usefixtures("exec_mode")

DTYPES = [
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


class Buffer:
    def __init__(self, name: str, dtype: str):
        self.name, self.dtype, self.shape = name, dtype, (tir.Var("n", "int64"),)


def run(expr, inputs, *arrays):
    """Compute an expression of elements of arrays, each for each."""
    out = expr.dtype
    bb = BlockBuilder()
    with default_context(), ir.Location.unknown():
        module = ir.Module.create()
        buffers = [*inputs, Buffer("out", out)]
        types = [
            ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], tir.kernel_type(b.dtype))
            for b in buffers
        ]
        with ir.InsertionPoint(module.body):
            kernel = func.FuncOp("kernel", ir.FunctionType.get(types, []))
            args = kernel.add_entry_block().arguments
            with ir.InsertionPoint(kernel.entry_block):
                zero = arith.ConstantOp(ir.IndexType.get(), 0)
                one = arith.ConstantOp(ir.IndexType.get(), 1)
                loop = scf.ForOp(zero, memref.DimOp(args[-1], zero), one)
                with ir.InsertionPoint(loop.body):
                    emitter = Emitter(
                        {INDEX: loop.induction_variable}, zip(inputs, args, strict=False)
                    )
                    value = emitter.value(expr)
                    memref.StoreOp(value, args[-1], [loop.induction_variable])
                    scf.YieldOp([])
                func.ReturnOp([])
        gvar = bb.add_func(kernel)
    params = [Var(b.name, TensorStructInfo(("n",), b.dtype)) for b in inputs]
    with bb.function("main", params):
        bb.emit_func_output(relax_op.call_tir(gvar, params, TensorStructInfo(("n",), out)))
    return np.from_dlpack(VirtualMachine(relax_mlir.compile(bb))["main"](*arrays))


INDEX = tir.Var("i", "int64")


def load(buffer: Buffer):
    return tir.BufferLoad(buffer, [INDEX])


def values(dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, 64).astype(bool)
    if dtype.startswith("float"):
        special = [0.0, -0.0, 0.5, 1.5, -2.5, np.inf, -np.inf, np.nan]
        return np.concatenate([special, rng.standard_normal(56) * 3]).astype(dtype)
    info = np.iinfo(dtype)
    small = rng.integers(max(info.min, -9), 10, 40)
    return np.concatenate(
        [[info.min, info.max, 0, 1], small, rng.integers(info.min, info.max, 20, dtype=dtype)]
    ).astype(dtype)


# ---------------------------------------------------------------------------------------------
# Nodes
# ---------------------------------------------------------------------------------------------


def test_promotion_is_symmetric_and_keeps_the_wider():
    for lhs, rhs in itertools.product(DTYPES, DTYPES):
        wanted = tir.expr.promote(lhs, rhs)
        if {lhs, rhs} != {"float16", "bfloat16"}:
            assert wanted == tir.expr.promote(rhs, lhs)
        assert wanted in (lhs, rhs)
        result = tir.Var("x", lhs) + tir.Var("y", rhs)
        assert result.dtype == wanted


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_take_the_dtype_of_the_other_operand(dtype):
    x = tir.Var("x", dtype)
    wide = dtype in ("bool", "int8", "int16", "uint8", "uint16")
    assert (x + 1).dtype == (1 + x).dtype == ("int32" if wide else dtype)
    assert (x + 1.5).dtype == ("float64" if dtype == "float64" else "float32")
    assert (x < 1).dtype == "bool"


def test_constants_fold():
    n = tir.Var("n", "int64")
    assert (n + 0) is n and (n * 1) is n and (n - 0) is n and (n // 1) is n
    assert (n * 0).value == 0 and (n % 1).value == 0
    for name in ("add", "sub", "mul", "floordiv", "mod", "lt", "ge", "eq"):
        for a, b in itertools.product((-7, 7), (-2, 2)):
            compute = getattr(operator, name)
            folded = compute(tir.const(a), b)
            assert folded.value == compute(a, b), name
    assert tir.truncdiv(-7, 2).value == -3 and tir.truncmod(-7, 2).value == -1
    assert tir.const(1.0) + tir.Var("x", "float32") is not None
    zero = tir.Var("x", "float32") * 0.0
    assert isinstance(zero, tir.Mul)  # not for inf and nan


def test_overflow_does_not_fold():
    assert isinstance(tir.const(2**31 - 1) + 1, tir.Add)


def test_equality_as_a_python_bool():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    assert bool(n + 1 == n + 1) and not bool(n + 1 == m + 1) and bool(n != m)
    assert tir.const(3, "int64") == 3
    assert {n: 1}[n] == 1 and m not in {n: 1}
    assert n in [m, n] and n not in [m]
    assert n != "n"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda x, n: bool(x < 1), "expected no 'and', 'or', 'not', 'if'"),
        (lambda x, n: n / 2, "write '//' \\(floordiv\\) or truncdiv"),
        (lambda x, n: x // 2.0, "expected integers in '//'"),
        (lambda x, n: x % 2.0, "expected integers in '%'"),
        (lambda x, n: n // 0, "divisor other than 0"),
        (lambda x, n: x & 1, "expected integers in bitwise_and"),
        (lambda x, n: ~x, "expected an integer after '~'"),
        (lambda x, n: n << 64, "expected to shift by 0 to 63 bits, but got 64"),
        (lambda x, n: x << 1, "expected integers in shift_left"),
        (lambda x, n: n + "m", "expected an expression or a number, but got 'm'"),
        (lambda x, n: tir.Select(n, x, x), "expected a condition of type bool, but got n"),
        (lambda x, n: tir.Select(n > 1, x, n), "one data type in Select, but got float32 and int"),
        (lambda x, n: tir.all(n), "expected a condition of type bool"),
        (lambda x, n: tir.power(n, 2), "expected floats in pow"),
        (lambda x, n: tir.const(300, "uint8"), "expected a value of uint8, but got 300"),
        (lambda x, n: tir.const("1"), "expected a number, but got '1'"),
        (lambda x, n: tir.Var("x", "int7"), "expected a data type"),
        (
            lambda x, n: (
                load(Buffer("A", "float32")).source and tir.BufferLoad(Buffer("A", "float32"), [x])
            ),
            "expected an integer as index, but got x",
        ),
        (lambda x, n: tir.BufferLoad(Buffer("A", "int8"), [n, n]), "expected 1 indices of 'A'"),
        (lambda x, n: tir.sum(x, axis=n, where=n > 1), "expected axes made by reduce_axis in sum"),
        (lambda x, n: tir.reduce_axis((0, 1, 2)), "expected a pair"),
        (lambda x, n: tir.popcount(x), "expected an integer in popcount"),
        (lambda x, n: tir.abs(x > 1), "expected a number in abs"),
        (lambda x, n: tir.reinterpret("int64", x), "expected 64 bits in reinterpret"),
        (lambda x, n: to_dim(x), "expected a dimension"),
        (lambda x, n: to_dim(tir.truncdiv(n, 2)), "expected a dimension"),
    ],
)
def test_wrong_expressions(make, message):
    with pytest.raises((TypeError, ValueError, ZeroDivisionError), match=message):
        make(tir.Var("x", "float32"), tir.Var("n", "int64"))


def test_substitute_folds():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    assert tir.substitute(n * m + 1, {n: m, m: 2}).a.a is m
    assert tir.substitute((n + 1) // 2, {n: 9}).value == 5


def test_undefined_vars():
    n, k = tir.Var("n", "int64"), tir.reduce_axis((0, tir.Var("m", "int64")), "k")
    total = tir.sum(n + k, axis=k)
    assert {v.name for v in tir.undefined_vars(total)} == {"n", "m"}


@pytest.mark.parametrize(
    "dim",
    [
        "n",
        "n * 4 + 1",
        "(n + 1) floordiv 2",
        "n mod 3",
        "min(n, m)",
        "max(n, m * 2)",
        "n floordiv m",
        "3",
        "n * n + m",
        "select(lt(n, m), n, m)",
        "n - m",
    ],
)
def test_dimensions_round_trip(dim):
    expr = from_dim(dim)
    assert expr.dtype == "int64"
    from relax_mlir import Dim

    attr = Dim(dim)
    assert to_dim(expr) == attr
    for n, m in itertools.product((1, 5, 8), (2, 3)):
        values = {shape_var("n"): n, shape_var("m"): m}
        folded = tir.substitute(expr, values)
        if isinstance(folded, tir.Select):
            folded = folded.true_value if folded.condition.value else folded.false_value
        assert folded.value == attr.evaluate({"n": n, "m": m})


def test_expressions_are_dimensions_of_types():
    n = tir.Var("n", "int64")
    assert TensorStructInfo((n, n * 2 + 1, 4), "float32") == TensorStructInfo(
        ("n", "n * 2 + 1", 4), "float32"
    )
    assert relax_mlir.Dim("m") + n is not None
    with pytest.raises(TypeError, match="expected a dimension"):
        TensorStructInfo((tir.Var("x", "float32"),), "float32")


def test_what_is_not_negative_is_divided_as_unsigned():
    a, x = Buffer("a", "int64"), np.arange(7)
    size = tir.SizeVar("i", "int64")
    expr = tir.substitute(load(a) * 0 + size // 3 + size % 3, {})
    bound = tir.transform(expr, lambda node: INDEX if node is size else None)
    np.testing.assert_array_equal(run(bound, [a], x), x // 3 + x % 3)
    assert tir.expr.is_non_negative(size // 3) and not tir.expr.is_non_negative(size - 1)


# ---------------------------------------------------------------------------------------------
# Emission
# ---------------------------------------------------------------------------------------------

ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "min": lambda a, b: tir.min(a, b) if isinstance(a, tir.PrimExpr) else np.minimum(a, b),
    "max": lambda a, b: tir.max(a, b) if isinstance(a, tir.PrimExpr) else np.maximum(a, b),
}


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float32"])
def test_arithmetic(name, dtype):
    a, b = Buffer("a", dtype), Buffer("b", dtype)
    x, y = values(dtype, 1), values(dtype, 2)
    with np.errstate(all="ignore"):
        expected = ARITHMETIC[name](x, y)
    actual = run(ARITHMETIC[name](load(a), load(b)), [a, b], x, y)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_integer_division(dtype):
    a, b = Buffer("a", dtype), Buffer("b", dtype)
    x, y = values(dtype, 1), values(dtype, 2)
    y = np.where(y == 0, 3, y).astype(dtype)
    with np.errstate(all="ignore"):
        floor, rest = x // y, x % y
        magnitude = np.abs(x.astype(object)) // np.abs(y.astype(object))
        sign = np.where((x < 0) == (y < 0), 1, -1)
        trunc = (magnitude * sign).astype(object)
    la, lb = load(a), load(b)
    np.testing.assert_array_equal(run(la // lb, [a, b], x, y), floor)
    np.testing.assert_array_equal(run(la % lb, [a, b], x, y), rest)
    width = np.iinfo(dtype).bits
    wrapped = np.array([int(t) % 2**width for t in trunc], dtype=object)
    actual = run(tir.truncdiv(la, lb), [a, b], x, y)
    assert [int(v) % 2**width for v in actual] == list(wrapped)
    remainder = run(tir.truncmod(la, lb), [a, b], x, y)
    assert list(map(int, remainder)) == [
        int(p) - int(t) * int(q) for p, q, t in zip(x, y, trunc, strict=True)
    ]
    for divisor in (3, 8):
        same = tir.const(divisor, dtype)
        np.testing.assert_array_equal(run(la // same, [a], x), x // np.dtype(dtype).type(divisor))
        np.testing.assert_array_equal(run(la % same, [a], x), x % np.dtype(dtype).type(divisor))


@pytest.mark.parametrize("make", [lambda a, b: a // b, lambda a, b: a % b, tir.truncdiv])
def test_division_by_zero_is_zero(make):
    a, b = Buffer("a", "int32"), Buffer("b", "int32")
    x, y = np.array([5, -5, -(2**31)], "int32"), np.array([0, 0, -1], "int32")
    assert list(run(make(load(a), load(b)), [a, b], x, y)[:2]) == [0, 0]


UNARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
    "nearbyint": np.rint, "abs": np.abs, "exp10": lambda x: 10.0**x,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_mathematics(dtype):
    a = Buffer("a", dtype)
    x = values(dtype)
    for name, reference in UNARY.items():
        with np.errstate(all="ignore"):
            expected = reference(x.astype("float32") if dtype == "float16" else x)
        actual = run(getattr(tir, name)(load(a)), [a], x)
        wanted = "bool" if name.startswith("is") else dtype
        assert actual.dtype == wanted, name
        tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}[dtype]
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                actual, expected.astype(wanted), tolerance, tolerance, err_msg=name
            )


def test_erf():
    import math

    a, x = Buffer("a", "float64"), np.linspace(-3, 3, 13)
    expected = [math.erf(v) for v in x]
    np.testing.assert_allclose(run(tir.erf(load(a)), [a], x), expected, 1e-6, 1e-7)


BINARY = {
    "power": np.power, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "fmod": np.fmod, "logaddexp": np.logaddexp,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_mathematics_of_two(name):
    a, b = Buffer("a", "float64"), Buffer("b", "float64")
    x, y = values("float64", 1), values("float64", 2)[::-1].copy()
    with np.errstate(all="ignore"):
        expected = BINARY[name](x, y)
    actual = run(getattr(tir, name)(load(a), load(b)), [a, b], x, y)
    np.testing.assert_allclose(actual, expected, 1e-10, 1e-12)


def test_logaddexp_of_infinities():
    a, b = Buffer("a", "float32"), Buffer("b", "float32")
    x = np.array([np.inf, -np.inf, np.inf, 0], "float32")
    y = np.array([np.inf, -np.inf, -np.inf, 1000], "float32")
    actual = run(tir.logaddexp(load(a), load(b)), [a, b], x, y)
    np.testing.assert_array_equal(actual, np.logaddexp(x, y))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_bits(dtype):
    a, b = Buffer("a", dtype), Buffer("b", dtype)
    x, y = values(dtype, 1), values(dtype, 2)
    for make in (operator.and_, operator.or_, operator.xor):
        np.testing.assert_array_equal(run(make(load(a), load(b)), [a, b], x, y), make(x, y))
    np.testing.assert_array_equal(run(~load(a), [a], x), ~x)
    amount = (np.abs(y.astype("int64")) % 20).astype(dtype)
    for make in (operator.lshift, operator.rshift):
        actual = run(make(load(a), load(b)), [a, b], x, amount)
        np.testing.assert_array_equal(actual, make(x, amount))
        constant = tir.const(2, dtype)
        np.testing.assert_array_equal(
            run(make(load(a), constant), [a], x), make(x, np.dtype(dtype).type(2))
        )
    width = np.iinfo(dtype).bits
    ones = [bin(int(v) % 2**width).count("1") for v in x]
    assert list(run(tir.popcount(load(a)), [a], x)) == ones
    zeros = [width - (int(v) % 2**width).bit_length() for v in x]
    assert list(run(tir.clz(load(a)), [a], x)) == zeros


SOME = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("to", SOME)
@pytest.mark.parametrize("dtype", SOME)
def test_cast(dtype, to):
    a, x = Buffer("a", dtype), values(dtype)
    if dtype.startswith("float") and not to.startswith("float") and to != "bool":
        x = x[np.isfinite(x)]
        info = np.iinfo(to)
        expected = np.array([min(max(int(v), info.min), info.max) for v in x], to)
    else:
        with np.errstate(all="ignore"):
            expected = x.astype(to)
    actual = run(load(a).astype(to), [a], x)
    np.testing.assert_array_equal(actual, expected)


def test_casts_to_integers_saturate():
    a = Buffer("a", "float32")
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -1], "float32")
    assert list(run(load(a).astype("int8"), [a], x)) == [0, 127, -128, 127, -128, -1]
    assert list(run(load(a).astype("uint8"), [a], x)) == [0, 255, 0, 255, 0, 0]


def test_reinterpret():
    a, x = Buffer("a", "float32"), values("float32")
    actual = run(tir.reinterpret("int32", load(a)), [a], x)
    np.testing.assert_array_equal(actual, x.view("int32"))


def test_if_then_else_loads_only_what_it_takes():
    a = Buffer("a", "float32")
    x = np.arange(4, dtype="float32")
    previous = tir.BufferLoad(a, [INDEX - 10**9])
    expr = tir.if_then_else(INDEX >= 10**9, previous, load(a) * 2)
    np.testing.assert_array_equal(run(expr, [a], x), x * 2)


def test_select_and_conditions():
    a, b = Buffer("a", "float32"), Buffer("b", "float32")
    x, y = values("float32", 1), values("float32", 2)
    la, lb = load(a), load(b)
    condition = tir.any(tir.all(la > 0, lb > 0), tir.logical_not(la < 1))
    expected = np.where(((x > 0) & (y > 0)) | ~(x < 1), x, y)
    np.testing.assert_array_equal(run(tir.Select(condition, la, lb), [a, b], x, y), expected)


def test_let_computes_once():
    a, x = Buffer("a", "float32"), np.arange(4, dtype="float32")
    v = tir.Var("v", "float32")
    actual = run(tir.Let(v, tir.exp(load(a)), v * v + v), [a], x)
    np.testing.assert_allclose(actual, np.exp(x) ** 2 + np.exp(x), 1e-5)


def test_indices_are_values_too():
    a, x = Buffer("a", "int32"), np.zeros(6, "int32")
    expr = load(a).astype("int64") + (INDEX * 3 + 1) // 2 % 4
    assert list(run(expr, [a], x)) == [(i * 3 + 1) // 2 % 4 for i in range(6)]


def test_gather():
    a, b = Buffer("a", "float32"), Buffer("b", "int32")
    x, order = np.arange(4, dtype="float32"), np.array([2, 0, 3, 1], "int32")
    actual = run(tir.BufferLoad(a, [load(b)]), [a, b], x, order)
    np.testing.assert_array_equal(actual, x[order])


def test_small_floats_are_rounded_once():
    a, x = Buffer("a", "float16"), np.array([1.0], "float16")
    tiny = tir.const(2.0**-12, "float16")
    # Each sum rounded by itself would stay 1.
    assert run(load(a) + tiny + tiny + tiny + tiny, [a], x) == np.float16(1 + 2.0**-10)
    assert run((load(a) + tiny).astype("float32"), [a], x) == np.float32(1 + 2.0**-12)


def test_shared_expressions_are_emitted_once():
    x = load(Buffer("a", "float32"))
    for _ in range(200):
        x = x + x  # 2**200 nodes as a tree
    a = x
    while isinstance(a, tir.Add):
        a = a.a
    assert len(repr(x)) < 10000
    assert tir.structural_equal(x, tir.transform(x, lambda node: None))
    doubled = tir.substitute(x, {INDEX: tir.SizeVar("i", "int64")})
    assert not tir.structural_equal(x, doubled) and not tir.expr.is_non_negative(doubled)
    assert np.isinf(run(x, [a.source], np.ones(1, "float32")))


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda a: tir.Call("float32", "other", [load(a)]),
            "a known intrinsic, but got 'other'",
        ),
        (lambda a: load(a) + tir.Var("y", "float32"), "expected the variable 'y' to be known"),
        (lambda a: load(Buffer("other", "int8")), "expected 'other' to be known here"),
        (
            lambda a: tir.sum(load(a), axis=tir.reduce_axis((0, 4))) + 1,
            "expected a reduction to be all that is computed",
        ),
    ],
)
def test_what_cannot_be_emitted(make, message):
    a = Buffer("a", "float32")
    with pytest.raises(ValueError, match=message):
        run(make(a), [a], np.ones(2, "float32"))
