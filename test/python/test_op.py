"""Operators: what they build, the types they derive, and Python values as operands."""

import re

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import Dim, GlobalVar, ShapeExpr, op
from relax_mlir.core.constants import bytes_of


@pytest.fixture
def inside():
    """Return a builder inside of a function with the parameters x, y, i, s, t, b."""
    bb = relax.BlockBuilder()
    info = relax.TensorStructInfo
    params = {
        "x": info(("n", 4), "float32"),
        "y": info((4,), "float32"),
        "i": info(("k",), "int64"),
        "b": info(("n", 4), "bool"),
        "s": relax.ShapeStructInfo(("n", 4)),
        "t": relax.TupleStructInfo([info(("n",), "float32"), relax.ShapeStructInfo(("n",))]),
        "u": info(dtype="float32"),
    }
    variables = {name: relax.Var(name, type_) for name, type_ in params.items()}
    with bb.function("main", list(variables.values()), pure=False):
        yield type("Inside", (), {"bb": bb, **variables})
        bb.emit_func_output(variables["x"])
    bb.get()


def pair(first, second):
    return f"tuple<!relax.tensor<{first}>, !relax.tensor<{second}>>"


UNARY = ["abs", "ceil", "cos", "erf", "exp", "floor", "log", "negative", "round", "rsqrt"]
UNARY += ["sigmoid", "sign", "sin", "sqrt", "tanh"]
NN_UNARY = ["gelu", "gelu_tanh", "relu", "silu"]
ARITHMETIC = ["add", "divide", "floor_divide", "maximum", "minimum", "mod", "multiply"]
ARITHMETIC += ["power", "subtract"]
COMPARISON = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"]


@pytest.mark.parametrize("name", UNARY)
def test_unary(inside, name):
    value = getattr(op, name)(inside.x)
    assert value.owner.name == f"relax.{name}"
    assert value.type == inside.x.struct_info


@pytest.mark.parametrize("name", NN_UNARY)
def test_nn_unary(inside, name):
    value = getattr(op.nn, name)(inside.x)
    assert value.owner.name == f"relax.{name}"
    assert value.type == inside.x.struct_info


@pytest.mark.parametrize("name", ARITHMETIC)
def test_binary(inside, name):
    value = getattr(op, name)(inside.x, inside.y)
    assert value.owner.name == f"relax.{name}"
    assert value.type == inside.x.struct_info


@pytest.mark.parametrize("name", COMPARISON)
def test_comparison(inside, name):
    value = getattr(op, name)(inside.x, 0)
    assert value.owner.name == f"relax.{name}"
    assert value.type == inside.b.struct_info


@pytest.mark.parametrize("name", ["logical_and", "logical_or"])
def test_logical(inside, name):
    assert getattr(op, name)(inside.b, True).type == inside.b.struct_info
    assert op.logical_not(inside.b).type == inside.b.struct_info


@pytest.mark.parametrize("name", ["max", "mean", "min", "prod", "sum"])
def test_reduce(inside, name):
    function = getattr(op, name)
    assert str(function(inside.x).type) == "!relax.tensor<[], f32>"
    assert str(function(inside.x, 1).type) == "!relax.tensor<[n], f32>"
    assert str(function(inside.x, [-1], keepdims=True).type) == "!relax.tensor<[n, 1], f32>"


@pytest.mark.parametrize(
    ("build", "type_"),
    [
        (lambda p: op.matmul(p.x, p.y), "tensor<[n], f32>"),
        (lambda p: op.matmul(p.x, np.ones((4, 3))), "tensor<[n, 3], f32>"),
        (lambda p: op.where(p.b, p.x, 0.5), "tensor<[n, 4], f32>"),
        (lambda p: op.reshape(p.x, ("n * 2", 2)), "tensor<[n * 2, 2], f32>"),
        (lambda p: op.reshape(p.x, (2, -1)), "tensor<[2, n * 2], f32>"),
        (lambda p: op.reshape(p.x, (-1,)), "tensor<[n * 4], f32>"),
        (lambda p: op.reshape(p.x, p.s), "tensor<[n, 4], f32>"),
        (lambda p: op.reshape(p.x, ShapeExpr((4, -1))), "tensor<[4, n], f32>"),
        (lambda p: op.reshape(p.x, (0, 2, -1)), "tensor<[n, 2, 2], f32>"),
        (lambda p: op.reshape(p.x, (-1, 0)), "tensor<[n, 4], f32>"),
        (lambda p: op.reshape(op.zeros((0, 4), "float32"), (0, 2, 2)), "tensor<[0, 2, 2], f32>"),
        (lambda p: op.reshape(op.zeros((4, 0), "float32"), (0, 3)), "tensor<[0, 3], f32>"),
        (lambda p: op.flatten(p.x), "tensor<[n * 4], f32>"),
        (lambda p: op.permute_dims(p.x), "tensor<[4, n], f32>"),
        (lambda p: op.permute_dims(p.x, (1, 0)), "tensor<[4, n], f32>"),
        (lambda p: op.concat([p.x, p.x], axis=1), "tensor<[n, 8], f32>"),
        (lambda p: op.concat([p.x, np.ones((1, 4))]), "tensor<[n + 1, 4], f32>"),
        (
            lambda p: op.split(p.x, 2, 1),
            pair("[n, 2], f32", "[n, 2], f32"),
        ),
        (
            lambda p: op.split(p.x, [Dim("n") - 1], 0),
            pair("[n - 1, 4], f32", "[1, 4], f32"),
        ),
        (
            lambda p: op.split(p.x, [1], 1),
            pair("[n, 1], f32", "[n, 3], f32"),
        ),
        (lambda p: op.take(p.x, p.i, axis=0), "tensor<[k, 4], f32>"),
        (lambda p: op.take(p.x, [0, 2], axis=1, mode="wrap"), "tensor<[n, 2], f32>"),
        (lambda p: op.take(p.y, 1), "tensor<[], f32>"),
        (lambda p: op.astype(p.x, "int32"), "tensor<[n, 4], i32>"),
        (lambda p: op.expand_dims(p.y, 0), "tensor<[1, 4], f32>"),
        (lambda p: op.expand_dims(p.y, (0, -1)), "tensor<[1, 4, 1], f32>"),
        (lambda p: op.squeeze(op.expand_dims(p.y, 0)), "tensor<[4], f32>"),
        (lambda p: op.squeeze(op.expand_dims(p.y, 0), 0), "tensor<[4], f32>"),
        (lambda p: op.broadcast_to(p.y, ("n", 4)), "tensor<[n, 4], f32>"),
        (lambda p: op.full(("n",), 2.5), "tensor<[n], f32>"),
        (lambda p: op.full(("n",), 1, "int8"), "tensor<[n], i8>"),
        (lambda p: op.zeros(("n", 2), "int64"), "tensor<[n, 2], i64>"),
        (lambda p: op.ones(p.s), "tensor<[n, 4], f32>"),
        (lambda p: op.nn.softmax(p.x), "tensor<[n, 4], f32>"),
        (lambda p: op.nn.log_softmax(p.x, axis=0), "tensor<[n, 4], f32>"),
        (lambda p: op.nn.layer_norm(p.x, p.y, np.zeros(4), -1), "tensor<[n, 4], f32>"),
        # OP07
        (lambda p: op.shape_of(p.x), "shape<[n, 4]>"),
        (lambda p: op.null_value(), "object"),
        # GR10, GR11, GR12, GR13
        (lambda p: op.tuple(p.x, 1), "tuple<!relax.tensor<[n, 4], f32>, !relax.prim<i64, 1>>"),
        (lambda p: op.tuple(), "tuple<>"),
        (lambda p: op.get_item(p.t, 1), "shape<[n]>"),
        (lambda p: op.prim_value(3), "prim<i64, 3>"),
        (lambda p: op.prim_value(2.5), "prim<f64>"),
        (lambda p: op.prim_value(True), "prim<i1, 1>"),
        (lambda p: op.prim_value(np.int8(3)), "prim<i8, 3>"),
        (lambda p: op.prim_value(Dim("n + 1")), "prim<i64, n + 1>"),
        (lambda p: op.string("a"), "object"),
        (lambda p: op.dtype("float32"), "object"),
        (lambda p: op.shape(("n", "n * 2")), "shape<[n, n * 2]>"),
        (lambda p: op.extern_func("f"), "func<derive = @default_derive>"),
        (lambda p: op.match_cast(p.u, relax.TensorStructInfo(("n", "q"))), "tensor<[n, q]>"),
        # GR14, OP03, OP04
        (lambda p: op.call(op.extern_func("f"), p.x), "object"),
        (lambda p: op.call_packed("f", p.x, 1, "a", None, (1.5, p.s), np.float32), "object"),
        (lambda p: op.call_packed("f", sinfo_args=relax.ShapeStructInfo(("n",))), "shape<[n]>"),
        (
            lambda p: op.call_dps_packed("f", p.x, relax.TensorStructInfo((2,), "int8")),
            "tensor<[2], i8>",
        ),
        (
            lambda p: op.call_dps_packed("f", [p.x, p.s], 2 * [relax.TensorStructInfo((), "int8")]),
            pair("[], i8", "[], i8"),
        ),
    ],
)
def test_derived_type(inside, build, type_):
    assert str(build(inside).type) == f"!relax.{type_}"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1, None, "dense<1> : tensor<i32>"),
        (1.5, None, "dense<1.500000e+00> : tensor<f32>"),
        (True, None, "dense<true> : tensor<i1>"),
        ([True, False, True], None, "dense<[true, false, true]> : tensor<3xi1>"),
        (np.array(True), None, "dense<true> : tensor<i1>"),
        (np.arange(3), None, "dense<[0, 1, 2]> : tensor<3xi64>"),
        (np.arange(3, dtype=">i4"), None, "dense<[0, 1, 2]> : tensor<3xi32>"),
        (np.arange(3, dtype="uint8"), None, "dense<[0, 1, 2]> : tensor<3xui8>"),
        (np.zeros((2, 0)), None, "dense<> : tensor<2x0xf64>"),
        (np.zeros((0,), bool), None, "dense<> : tensor<0xi1>"),
        (np.arange(6.0).reshape(2, 3).T, None, "dense<[[0.000000e+00, 3.000000e+00], "),
        (1, "bfloat16", "dense<1.000000e+00> : tensor<bf16>"),
        ([1.0, -2.5], "bfloat16", "dense<[1.000000e+00, -2.500000e+00]> : tensor<2xbf16>"),
        ([1.0, 2.0], "float8_e4m3fn", "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf8E4M3FN>"),
        (255, "uint8", "dense<255> : tensor<ui8>"),
    ],
)
def test_gr09_constant(inside, value, dtype, text):
    assert str(op.const(value, dtype).owner.attributes["value"]).startswith(text)


def test_bfloat16_rounds_to_even(inside):
    numbers = np.array([1 + 2**-8, 1 + 3 * 2**-8, np.inf, -np.inf], "float32")
    text = str(op.const(numbers, "bfloat16").owner.attributes["value"])
    assert text == "dense<[1.000000e+00, 1.015630e+00, 0x7F80, 0xFF80]> : tensor<4xbf16>"
    assert "0x7FC0" in str(op.const(np.float32("nan"), "bfloat16").owner.attributes["value"])


def test_constant_takes_the_type_of_the_other_operand(inside):
    half = op.astype(inside.x, "float16")
    for value in (2, 2.5, np.ones(4), [1, 2, 3, 4], np.float64(1)):
        assert op.add(half, value).type == half.type
        assert op.add(value, half).type == half.type


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("bfloat16", None),
        ("bfloat16", "float32"),
        ("bfloat16", "bfloat16"),
        ("float8_e4m3fn", "float16"),
        ("int4", "int32"),
        ("int4", "float32"),
        ("float32", "bfloat16"),
        ("bool", "bfloat16"),
    ],
)
def test_operands_of_ml_dtypes(inside, dtype, wanted):
    array = np.array([1, 0, 1, 1]).astype(getattr(ml_dtypes, dtype, dtype))
    if wanted is None:
        assert str(op.exp(array).type) == "!relax.tensor<[4], bf16>"
        return
    x = op.astype(inside.x, wanted)
    given = op.add(x, array).owner.operands[1]
    assert given.type.dtype == wanted
    attr = given.owner.attributes["value"]
    numbers = np.frombuffer(bytes_of(attr), getattr(ml_dtypes, wanted, wanted))
    assert numbers.astype("float64").tolist() == [1, 0, 1, 1]


def test_generated_functions_have_documentation():
    for function in (op.exp, op.add, op.sum, op.nn.relu):
        assert function.__doc__.splitlines()[0].endswith((".", "broadcasting."))
        assert function.__name__ in ("exp", "add", "sum", "relu")


def test_location_is_the_line_that_called(inside):
    location = op.exp(inside.x).owner.location
    assert location.filename == __file__


def test_current_location_wins(inside):
    with ir.Location.file("model.py", 7, 3):
        assert op.exp(inside.x).owner.location.filename == "model.py"


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda p: op.add(p.x, p.i), ValueError, "relax.add: expected"),
        (lambda p: op.matmul(p.x, np.ones((3, 2))), ValueError, "relax.matmul: expected"),
        (lambda p: op.exp(p.i), ValueError, "relax.exp: expected"),
        (lambda p: op.sum(p.x, 2), ValueError, "relax.sum: expected"),
        (lambda p: op.split(p.x, 0, 1), ValueError, "relax.split: expected"),
        (lambda p: op.reshape(p.x, (-1, -1)), ValueError, "one dimension of -1, but got 2"),
        (
            lambda p: op.reshape(op.zeros((0, 4), "float32"), (-1, 0)),
            ValueError,
            "no dimension of 0 beside",
        ),
        (lambda p: op.reshape(p.x, (2, -1, 0)), ValueError, "a dimension of 0 where x has one"),
        (
            lambda p: op.split(p.u, [Dim("n")], 0),
            ValueError,
            "relax.split: expected a tensor of known",
        ),
        (lambda p: op.take(p.i, 1, 0, "nan"), ValueError, "expected x of float data type"),
        (
            lambda p: op.reshape(p.u, (-1,)),
            ValueError,
            "tensor of known shape for a dimension of -1",
        ),
        (lambda p: op.reshape(p.x, p.x), TypeError, "expected a shape, but got a value of type"),
        (lambda p: op.exp(p.s), TypeError, "expected a tensor, but got a value of type"),
        (lambda p: op.exp("a"), TypeError, "expected a tensor, a number or an array, but got 'a'"),
        (lambda p: op.add(p.i, 0.5), ValueError, "expected a value of type int64, but got 0.5"),
        (lambda p: op.add(p.i, 2**63), ValueError, "expected a value of type int64"),
        (lambda p: op.add(p.i, np.ones(1)), ValueError, "an array of type int64, but got float64"),
        (
            lambda p: op.add(p.i, np.ones(1, ml_dtypes.bfloat16)),
            ValueError,
            "expected an array of type int64, but got bfloat16",
        ),
        (lambda p: op.add(p.b, 1), ValueError, "expected a value of type bool, but got 1"),
        (lambda p: op.const("a"), TypeError, "expected numbers, but got 'a'"),
        (lambda p: op.const(np.array(1j)), TypeError, "expected numbers"),
        (
            lambda p: op.const(300, "uint8"),
            ValueError,
            "expected a value of type uint8, but got 300",
        ),
        (lambda p: op.prim_value("a"), TypeError, "expected a number, but got 'a'"),
        (lambda p: op.prim_value(0.5, "int8"), ValueError, "expected a value of type int8"),
        (lambda p: op.astype(p.x, "quad"), ValueError, "expected a data type"),
        (lambda p: op.get_item(p.t, 2), ValueError, "relax.get_item: expected an index below 2"),
        (lambda p: op.get_item(p.x, 0), ValueError, "relax.get_item: expected a tuple"),
        (
            lambda p: op.call(GlobalVar("f"), p.x),
            ValueError,
            "a function of the module, but got 'f'",
        ),
        (lambda p: op.call(p.x, p.x), ValueError, "expected a function, but got"),
        (lambda p: op.call_packed("f", object()), TypeError, "expected a value of a Relax program"),
    ],
)
def test_error_operands(inside, build, error, message):
    with pytest.raises(error, match=re.escape(message)):
        build(inside)


def test_error_outside_of_a_function():
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with pytest.raises(ValueError, match="'x' to be a parameter of the function"):
        op.exp(x)
    with pytest.raises(ValueError, match=r"expected relax.shape inside BlockBuilder.function"):
        op.zeros((2,))
