"""Shapes that programs of Relay compute as tensors are known where they are wanted."""

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.frontend.relay.converters.registry import CONVERTERS
from relax_mlir.frontend.values import Sizes, as_tensor, is_known

X = np.arange(24, dtype="float32").reshape(2, 3, 4)


def call(name, *operands, **attrs):
    return CONVERTERS[name](attrs, operands)


def const(*numbers, dtype="int64"):
    return np.array(numbers, dtype)


def run(function, shape=("n", 3, "m"), array=X):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, array.dtype.name))
    with builder.function("main", [x]):
        result = function(x.value)
        builder.emit_func_output(builder.emit(as_tensor(result) if is_known(result) else result))
    return np.from_dlpack(relax.VirtualMachine(relax.compile(builder, opt_level=0))["main"](array))


def _flattened(x):
    """As exporters write it: the first dimension, and the product of the others."""
    shape = call("shape_of", x, dtype="int64")
    first = call("take", shape, np.array(0), axis=0)
    rest = call("prod", call("strided_slice", shape, begin=[1], end=[3], strides=[1]), axis=[0])
    pair = [call("expand_dims", one, axis=0) for one in (first, rest)]
    return call("dyn.reshape", x, call("concatenate", pair))


def _halves(x):
    shape = call("shape_of", x, dtype="int64")
    half = call("floor_divide", shape, const(1, 1, 2))
    wanted = call("where", const(True, True, False, dtype="bool"), shape, half)
    ends = call("maximum", wanted, call("minimum", wanted, const(1, 1, 1)))
    return call("dyn.strided_slice", x, const(0, 0, 0), ends, const(1, 1, 1))


def _copies(x):
    shape = call("cast", call("shape_of", x, dtype="int32"), dtype="int64")
    shape = call("reshape", call("subtract", call("add", shape, shape), shape), newshape=[1, -1])
    shape = call("squeeze", call("transpose", shape, axes=[1, 0]), axis=[1])
    joined = call("stack", [call("take", shape, np.array(i), axis=0) for i in (1, 0)])
    row = call("dyn.ones", call("sum", joined, keepdims=True), dtype="int32")
    return call("multiply", row, np.array(3, "int32"))


def _expanded(x):
    """As exporters broadcast: to the greater of two shapes, of which one is shorter."""
    wanted, shape = const(5, 2, 1, 4), call("shape_of", x, dtype="int64")
    ones = call("full", const(1).reshape(()), shape=[1])
    longer = call("concatenate", [ones, shape])
    turned = call("reverse", call("reverse", call("maximum", longer, wanted), axis=0), axis=0)
    assert is_known(call("max", call("tile", turned, reps=[2]), axis=[0]))
    assert is_known(call("min", call("ones_like", turned)))
    part = call("dyn.strided_slice", turned, const(0), const(4), const(1))
    return call("dyn.broadcast_to", x, part)


@pytest.mark.parametrize(
    "function, expected",
    [
        (_flattened, X.reshape(2, 12)),
        (_halves, X[..., :2]),
        (_copies, np.full(5, 3, "int32")),
        (_expanded, np.broadcast_to(X, (5, 2, 3, 4))),
    ],
    ids=["flattened", "halves", "copies", "expanded"],
)
def test_ry06_computed_shapes(exec_mode, function, expected):
    np.testing.assert_array_equal(run(function), expected)


def test_ry06_decided_comparisons(exec_mode):
    def compare(x):
        shape = call("shape_of", x, dtype="int64")
        is_known_one = call("equal", shape, shape)
        assert isinstance(is_known_one, np.ndarray) and is_known_one.all()
        # Nothing is known of the size: the program compares.
        compared = call("greater", shape, const(2, 2, 2))
        assert not is_known(compared)
        return compared

    np.testing.assert_array_equal(run(compare), [False, True, True])


def test_ry06_known_conditions():
    yes, no = np.array([True]), np.array([False])
    assert call("logical_and", yes, no).tolist() == [False]
    assert call("logical_or", yes, no).tolist() == [True]
    assert call("logical_xor", yes, yes).tolist() == [False]
    assert call("logical_not", no).dtype == "bool"


@pytest.mark.parametrize(
    "name, first, second, expected",
    [
        ("divide", -7, 2, -3),
        ("floor_divide", -7, 2, -4),
        ("mod", -7, 2, -1),
        ("trunc_mod", 7, -2, 1),
        ("floor_mod", -7, 2, 1),
        ("minimum", -7, 2, -7),
        ("less", -7, 2, True),
    ],
)
def test_ry06_known_integers(name, first, second, expected):
    result = call(name, const(first), const(second))
    assert isinstance(result, np.ndarray) and result.tolist() == [expected]
    assert result.dtype == ("bool" if name == "less" else "int64")


def test_ry06_what_is_not_computed_is_left_to_the_program(exec_mode):
    def compute(x):
        several = [
            call("divide", const(1), const(0)),
            call("add", const(127, dtype="int8"), const(1, dtype="int8")),
            call("multiply", np.arange(300), np.arange(300)),
        ]
        assert not any(is_known(one) for one in several)
        return several[1]

    np.testing.assert_array_equal(run(compute), [-128])


def test_ry06_sizes_take_the_data_type_of_a_tensor(exec_mode):
    def like(x):
        sizes = call(
            "cast_like", call("shape_of", x, dtype="int32"), call("cast", x, dtype="int64")
        )
        assert isinstance(sizes, Sizes) and sizes.dtype == "int64"
        return call("cast_like", sizes, x)

    np.testing.assert_array_equal(run(like), np.array([2, 3, 4], "float32"))


def test_ry06_shape_of_a_tuple_rejects():
    with pytest.raises(NotImplementedError, match="expected a tensor, but got a value of type"):
        run(lambda x: call("shape_of", call("split", x, indices_or_sections=3, axis=1)))


def test_ry06_sizes_of_two_data_types_reject():
    def add(x):
        sizes = call("shape_of", x, dtype="int32")
        assert isinstance(sizes, Sizes)
        return call("add", sizes, const(1, 1, 1))

    with pytest.raises(ValueError, match="of one data type, but got int32 and int64"):
        run(add)
