"""The reference interpreter from Python: values of NumPy, under each arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op, reference
from relax_mlir.script import from_source


def f32(*numbers):
    return np.array(numbers, "float32")


@pytest.fixture
def increment(write, tensor):
    return write(lambda x: op.add(x, 0.1), tensor(("n",)))


def test_values_are_plain(write, tensor):
    program = write(
        lambda x, s: op.tuple(x, op.shape_of(x), op.prim_value(2), "a", s),
        *(tensor(("n",)), relax.Var("s", relax.ShapeStructInfo(ndim=2))),
    )
    x, shape, number, text, given = reference.run(program, "main", f32(1, 2), tvm_ffi.Shape((3, 4)))
    assert (x.data.tolist(), x.dtype) == ([1, 2], "float32")
    assert isinstance(shape, reference.Shape) and shape == (2,)
    assert (number, text, given) == (2, "a", (3, 4))


def test_arithmetic_is_rounded_or_exact(increment):
    x = f32(0.2)
    rounded = reference.run(increment, "main", x).data
    exact = reference.run(increment, "main", x, arithmetic=reference.Exact()).data
    assert (rounded.dtype, exact.dtype) == ("float32", "float64")
    assert rounded == np.float32(exact)
    assert exact != rounded


def test_exact_numbers_beyond_the_data_type_are_infinite(write, tensor):
    program = write(lambda x: op.multiply(x, x), tensor(("n",), "float16"))
    exact = reference.run(
        program, "main", np.array([300, -1], "float16"), arithmetic=reference.Exact()
    )
    assert exact.data.tolist() == [np.inf, 1]


@pytest.mark.parametrize(("mode", "sign"), [("up", 1), ("down", -1)])
def test_perturbed_results_are_moved_one_way(increment, mode, sign):
    x = f32(0.2)
    exact = reference.run(increment, "main", x, arithmetic=reference.Exact()).data
    arithmetic = reference.Perturbed(np.random.default_rng(0), mode)
    moved = reference.run(increment, "main", x, arithmetic=arithmetic).data
    assert 0 < sign * (moved - exact) <= 2**-25


def test_scans_do_not_overflow_on_the_way(write, tensor):
    """The product of four is infinite as float32, but the total is one of float64."""
    program = write(lambda x: op.cumprod(x, axis=0, dtype="float32"), tensor(("n",), "uint32"))
    x = np.array([2**32 - 1] * 4 + [1, 0, 2], "uint32")
    exact = reference.run(program, "main", x, arithmetic=reference.Exact()).data
    with np.errstate(all="ignore"):
        wanted = np.cumprod(x, dtype="float64").astype("float32")
    assert wanted[3:].tolist() == [np.inf, np.inf, 0, 0]
    np.testing.assert_array_equal(exact[3:].astype("float32"), wanted[3:])
    compiled = relax.VirtualMachine(relax.compile(program))["main"](x)
    np.testing.assert_array_equal(np.from_dlpack(compiled)[3:], wanted[3:])


def test_weights_that_float32_does_not_have_are_zero(write, tensor):
    """A weight of e^-200 is 0, which is no number times infinity."""
    params = [tensor((1, "n", 1, 1), name=name) for name in "qkv"]
    program = write(lambda q, k, v: op.nn.attention(q, k, v, scale=1.0), *params)
    query, key = np.ones((1, 2, 1, 1), "float32"), f32(100, -100).reshape(1, 2, 1, 1)
    value = f32(1, -np.inf).reshape(1, 2, 1, 1)
    exact = reference.run(program, "main", query, key, value, arithmetic=reference.Exact()).data
    assert np.isnan(exact).all()
    compiled = relax.VirtualMachine(relax.compile(program))["main"](query, key, value)
    assert np.isnan(np.from_dlpack(compiled)).all()


def test_weights_that_are_denormal_may_be_zero(write, tensor):
    """A weight of e^-103 has one bit: times infinity, it is infinite, or no number."""
    params = [tensor((1, "n", 1, 1), name=name) for name in "qkv"]
    program = write(lambda q, k, v: op.nn.attention(q, k, v, scale=1.0), *params)
    query, key = np.ones((1, 2, 1, 1), "float32"), f32(100, -3.3).reshape(1, 2, 1, 1)
    value = f32(1, -np.inf).reshape(1, 2, 1, 1)
    runs = [
        reference.run(program, "main", query, key, value, arithmetic=arithmetic).data[0, 0, 0, 0]
        for arithmetic in (reference.Perturbed(np.random.default_rng(i), "up") for i in range(20))
    ]
    assert any(np.isnan(runs)) and any(np.isneginf(runs))


def test_perturbed_results_are_zero_where_they_may_be(write, tensor):
    """The bound of gelu is that of its operand, which is large beside the result."""
    program = write(lambda x: op.nn.gelu_tanh(x), tensor(("n",)))
    arithmetic = reference.Perturbed(np.random.default_rng(0), "random")
    moved = reference.run(program, "main", f32(*[-7] * 100), arithmetic=arithmetic).data
    assert 20 < np.count_nonzero(moved == 0) < 80


def test_perturbed_results_that_are_exact_stay(write, tensor):
    program = write(lambda x: op.add(x, x), tensor(("n",)))
    arithmetic = reference.Perturbed(np.random.default_rng(0), "random")
    assert reference.run(program, "main", f32(1, 2), arithmetic=arithmetic).data.tolist() == [2, 4]


def test_chosen_zeros_have_either_sign(write, tensor):
    """What follows may be far apart then: the angle of (0, -1) is pi, that of (-0, -1) is -pi."""
    choices = [
        lambda x: op.minimum(op.negative(x), x),
        lambda x: op.nn.relu(op.negative(x)),
        lambda x: op.clip(x, 0, 1),
        lambda x: op.max(x, axis=0, keepdims=True),
    ]
    for choose in choices:
        program = write(
            lambda x, choose=choose: op.atan2(choose(x), op.const(-1.0)), tensor(("n",))
        )
        angles = [
            float(
                reference.run(
                    program,
                    "main",
                    f32(0),
                    arithmetic=reference.Perturbed(np.random.default_rng(0), mode),
                ).data[0]
            )
            for mode in ("up", "down")
        ]
        assert abs(angles[0] - np.pi) < 1e-5 and abs(angles[1] + np.pi) < 1e-5


def test_sums_are_moved_through_their_inputs(write, tensor):
    program = write(lambda x: op.sum(x), tensor(("n",)))
    x = f32(*range(1, 100))
    runs = {
        float(reference.run(program, "main", x, arithmetic=reference.Perturbed(rng, "random")).data)
        for rng in map(np.random.default_rng, range(5))
    }
    assert len(runs) == 5
    assert all(abs(each - 4950) < 4950 * 100 * 2**-23 for each in runs)


def test_sums_are_moved_as_far_as_they_may_go(write, tensor):
    """Roundings of equal terms do not cancel."""
    program = write(lambda x: op.mean(x), tensor(("n",)))
    x = np.full(3000, np.cosh(1), "float32")
    up, down = (
        float(reference.run(program, "main", x, arithmetic=reference.Perturbed(rng, mode)).data)
        for rng, mode in ((np.random.default_rng(0), "up"), (np.random.default_rng(0), "down"))
    )
    assert up / x[0] - 1 > 2999 * 2**-24
    assert down / x[0] - 1 < -2999 * 2**-24


NORMS = {
    "layer": lambda x, w, b: op.nn.layer_norm(x, w, b, axes=[0, 1]),
    "group": lambda x, w, b: op.nn.group_norm(x, w, b, num_groups=1, channel_axis=0, axes=[1]),
    "instance": lambda x, w, b: op.nn.instance_norm(x, w, b, channel_axis=0, axes=[0, 1]),
    "batch": lambda x, w, b: op.nn.batch_norm(x, w, b, b, w, axis=0)[0],
}


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
@pytest.mark.parametrize("value", [1.0, 1 / 3])
def test_an_error_of_the_mean_moves_a_row_alike(write, tensor, norm, value):
    """Elements that are equal are no longer 0 then, each of the same sign."""
    shape = (2, 100)
    of_parameters = shape if norm is NORMS["layer"] else shape[:1]
    parameters = [tensor(of_parameters, name=name) for name in "wb"]
    program = write(norm, tensor(shape), *parameters)
    ones, zeros = np.ones(of_parameters, "float32"), np.zeros(of_parameters, "float32")
    arithmetic = reference.Perturbed(np.random.default_rng(0), "up")
    x = np.full(shape, value, "float32")
    moved = reference.run(program, "main", x, ones, zeros, arithmetic=arithmetic).data
    unit = value * 2.0**-24 / np.sqrt(1e-5)
    assert np.all(moved > 50 * unit)
    assert np.all(moved < 1000 * unit)


def test_inputs_are_moved_by_the_data_type_of_the_result(write, tensor):
    """A sum of float64 in float32 rounds what it adds."""
    program = write(lambda x: op.cumsum(x, axis=0, dtype="float32"), tensor(("n",), "float64"))
    x = np.array([1 / 3, -1 / 3])
    runs = [
        reference.run(program, "main", x, arithmetic=reference.Perturbed(rng, "random")).data[1]
        for rng in map(np.random.default_rng, range(5))
    ]
    assert max(abs(each) for each in runs) > 2.0**-27


# ---------------------------------------------------------------------------------------------
# Floats that NumPy lacks
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [d for d in reference.tensor.FORMATS if "8" in d.split("_")[0]])
def test_gr18_small_floats_have_256_codes(dtype):
    codes = np.arange(256, dtype="uint8")
    numbers = reference.tensor.decode(codes, dtype)
    kept = ~np.isnan(numbers)
    again = reference.tensor.encode(reference.tensor.round_float(numbers, dtype), dtype)
    np.testing.assert_array_equal(again[kept], codes[kept])


def test_gr18_ties_are_rounded_to_even():
    halves = np.array([1 + 2**-8, 1 + 3 * 2**-8, -(1 + 2**-8)])
    expected = [1, 1 + 2**-6, -1]
    assert reference.tensor.round_float(halves, "bfloat16").tolist() == expected


# ---------------------------------------------------------------------------------------------
# The target of compile
# ---------------------------------------------------------------------------------------------


def test_executable_says_what_it_is(increment):
    ex = relax.compile(increment, target="reference", exec_mode="bytecode")
    assert ex.exec_mode == "reference"
    assert ex.function_names == ("main",)
    assert "relax.add" in ex.as_text()


def test_error_nothing_to_save(increment, tmp_path):
    ex = relax.compile(increment, target="reference")
    with pytest.raises(ValueError, match="expected a compiled module to save"):
        ex.save(tmp_path / "main.rx")
    with pytest.raises(ValueError, match="expected a compiled module to export"):
        ex.export_library(tmp_path / "main.so")


def test_error_no_phases(increment, tmp_path):
    with pytest.raises(ValueError, match="expected no dump_phases"):
        relax.compile(increment, target="reference", dump_phases=tmp_path)


def test_error_argument_of_complex_numbers(increment):
    main = relax.VirtualMachine(relax.compile(increment, "reference"))["main"]
    with pytest.raises(TypeError, match="expected a tensor of a known data type"):
        main(np.ones(3, "complex64"))


def test_error_unknown_function(increment):
    with pytest.raises(KeyError, match="expected the name of a public function"):
        reference.run(increment, "other")


def test_vm09_a_tail_call_needs_no_room():
    """Ten times as deep as the limit of recursion."""
    main = reference.VirtualMachine("""
    relax.func @main(%i: !relax.prim<i64, n>) -> !relax.prim<i64> {
      %c = relax.call_pure_packed "relax_mlir.run.truth"(%i) : (!relax.prim<i64, n>) -> !relax.prim<i1>
      %r = relax.if %c : !relax.prim<i1> -> !relax.prim<i64> {
        %p = relax.prim_value #relax.expr<n - 1>
        %0 = relax.call @main(%p) : (!relax.prim<i64, n - 1>) -> !relax.prim<i64>
        relax.yield %0 : !relax.prim<i64>
      } else {
        relax.yield %i : !relax.prim<i64, n>
      }
      relax.return %r : !relax.prim<i64>
    }""")["main"]  # noqa: E501 (the lines of MLIR)
    assert main(10_000) == 0


def test_mc02_error_negative_size(write):
    n = relax.Var("n", relax.PrimStructInfo("int64", "n"))
    program = write(lambda n: op.zeros(("n + 2",), "float32"), n)
    with pytest.raises(ValueError, match="main: argument 'n': expected n of at least 0"):
        reference.run(program, "main", -1)


def test_error_dimension_of_more_than_64_bits(write):
    n = relax.Var("n", relax.PrimStructInfo("int64", "n"))
    program = write(lambda n: op.shape(("n * n",)), n)
    with pytest.raises(ValueError, match="64 bits"):
        reference.run(program, "main", 2**33)


def test_operators_name_the_data_type_of_a_result_of_unknown_type():
    """Dequantization of int8 is f32, though its type does not say so."""
    program = from_source("""
@R.function
def main(x: R.Tensor(("n", 2), "int8"), s: R.Tensor((2,), "float32"), z: R.Tensor((2,), "int8")):
    y: R.Tensor = R.dequantize(x, s, z, out_dtype="float32", axis=1)
    return y
""")
    x, s, z = np.ones((3, 2), "int8"), np.full(2, 0.5, "float32"), np.zeros(2, "int8")
    result = reference.run(program, "main", x, s, z)
    assert result.dtype == "float32"
    np.testing.assert_array_equal(result.data, np.full((3, 2), 0.5))


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        ("R.one_hot(i, R.prim_value(T.float64(2)), R.prim_value(T.float64(0)), 3)", "float64"),
        ("R.one_hot(i, R.prim_value(T.int8(2)), R.prim_value(T.int8(0)), 3)", "int8"),
        ("R.where(b, x, x)", "float16"),
        ("R.take(x, i, axis=0)", "float16"),
        ("R.sum(i)", "int16"),
        ("R.argmax(x)", "int64"),
        ("R.less(x, x)", "bool"),
        ("R.astype(i, 'uint8')", "uint8"),
    ],
)
def test_data_types_of_results_of_unknown_type_follow_from_operands(call, dtype):
    program = from_source(f"""
@R.function
def main(i: R.Tensor((2,), "int16"), b: R.Tensor((2,), "bool"), x: R.Tensor((2,), "float16")):
    y: R.Tensor = {call}
    return y
""")
    args = np.array([0, 1], "int16"), np.array([True, False]), np.array([1, 2], "float16")
    assert reference.run(program, "main", *args).dtype == dtype


def test_fields_of_unknown_type():
    program = from_source("""
@R.function
def main(x: R.Tensor((4,), "int8")):
    y: R.Tuple(R.Tensor, R.Tensor) = R.split(x, 2)
    return y
""")
    first, second = reference.run(program, "main", np.arange(4, dtype="int8"))
    assert (first.dtype, second.data.tolist()) == ("int8", [2, 3])


def test_what_is_not_rounded_is_passed_to_packed_functions_again(write, tensor, capfd):
    def body(x):
        for _ in range(2):
            relax.BlockBuilder.current().emit(op.print(op.sqrt(x), format="{}"))
        y = op.sqrt(x)
        for _ in range(2):
            relax.BlockBuilder.current().emit(op.print(y, format="{}"))
        return y

    program = write(body, tensor((1,)), pure=False)
    reference.run(program, "main", f32(2), arithmetic=reference.Exact())
    assert capfd.readouterr().out == "[1.4142135]\n" * 4
