# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What depends on weights alone is computed once, by a function of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import frontend, op
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform import BindParams, LiftTransformParams, Sequential

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)).astype("float32")
W = RNG.standard_normal((2, 4)).astype("float32")
V = RNG.standard_normal((2, 4)).astype("float32")


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(*functions: tuple[str, int, list[relax.Var], Any]) -> Any:
    """Return a module: of each function the name, the number of inputs, parameters and body."""
    bb = relax.BlockBuilder()
    for name, inputs, params, write in functions:
        with bb.function(name, params, attrs={"num_input": inputs}):
            with bb.dataflow():
                out = bb.emit_output(write(*params))
            bb.emit_func_output(out)
    return bb.get()


def linear(x: Any, w: Any) -> Any:
    return op.matmul(x, op.permute_dims(w))


def arrays(result: Any) -> list[np.ndarray]:
    fields = [result] if hasattr(result, "__dlpack__") else list(result)
    return [np.from_dlpack(field) for field in fields]


def check(
    mod: Any, inputs: list[Any], weights: list[Any], name: str = "main", **options: Any
) -> Any:
    """Compare a function that was lifted with what it was; return the new module."""
    after = LiftTransformParams(**options)(mod)
    assert relax.analysis.well_formed(after) == []
    wanted = relax.VirtualMachine(relax.compile(mod, opt_level=1))[name](*inputs, *weights)
    vm = relax.VirtualMachine(relax.compile(after, opt_level=1))
    transform = "transform_params" if options else f"{name}_transform_params"
    found = vm[name](*inputs, *vm[transform](weights))
    for one, other in zip(arrays(found), arrays(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return after


def params(mod: Any, name: str = "main") -> list[str]:
    return [str(param.struct_info) for param in mod[name].params]


def names(mod: Any, name: str = "main") -> list[str]:
    return [value.value for value in mod[name].attrs["arg_names"]]


def ops(mod: Any, name: str = "main") -> list[str]:
    """Return the operators of a function, without tuples and what ends blocks."""
    found: list[str] = []

    def visit(operation: Any) -> None:
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    found.append(inner.operation.name.removeprefix("relax."))
                    visit(inner.operation)

    visit(mod[name].operation)
    left = ("dataflow", "output", "return", "tuple", "get_item", "yield")
    return [each for each in found if each not in left]


# -- one function ---------------------------------------------------------------------------------


def test_computations_on_weights_move(exec_mode: str) -> None:
    bias = tensor("b", 2)
    mod = build(
        (
            "main",
            1,
            [tensor("x", "n", 4), tensor("w", 2, 4), bias],
            lambda x, w, b: op.add(linear(x, w), b),
        )
    )
    after = check(mod, [X], [W, np.ones(2, "float32")])
    assert names(after) == ["x", "b", "param1"], "weights that stay come first"
    assert params(after)[1:] == ["!relax.tensor<[2], f32>", "!relax.tensor<[4, 2], f32>"]
    assert ops(after) == ["matmul", "add"]
    assert ops(after, "main_transform_params") == ["permute_dims"]
    assert after["main"].attrs["num_input"].value == 1
    assert after["main_transform_params"].attrs["num_input"].value == 0
    assert relax.structural_equal(LiftTransformParams()(after), after), "nothing is left"


def test_names_are_kept() -> None:
    bb = relax.BlockBuilder()
    x, w = tensor("x", "n", 4), tensor("w", 2, 4)
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            turned = bb.emit(op.permute_dims(w), "x")
            out = bb.emit_output(op.matmul(x, turned))
        bb.emit_func_output(out)
    assert names(LiftTransformParams()(bb.get())) == ["x", "x1"]


def test_several_blocks_and_what_is_between_them(exec_mode: str) -> None:
    bb = relax.BlockBuilder()
    x, v, w = tensor("x", "n", 2), tensor("v", 2, 4), tensor("w", 2, 4)
    with bb.function("main", [x, v, w], attrs={"num_input": 1}):
        with bb.dataflow():
            both = bb.emit_output(op.add(v, w))
            y = bb.emit_output(op.matmul(x, both))
        between = bb.emit(op.exp(v))
        with bb.dataflow():
            more = bb.emit(op.multiply(both, w))
            z = bb.emit_output(op.add(op.add(y, op.sum(more)), op.sum(between)))
        bb.emit_func_output(op.tuple(z, both))
    after = check(bb.get(), [X[:, :2]], [V, W])
    assert ops(after) == ["matmul", "exp", "add", "sum", "add"]
    assert ops(after, "main_transform_params") == ["add", "multiply", "sum"]


def test_what_depends_on_nothing_is_done_in_both(exec_mode: str) -> None:
    def write(x: Any, w: Any) -> Any:
        twos = op.full([2, 4], 2.0, "float32")
        return op.multiply(op.multiply(x, op.sum(twos)), op.sum(op.multiply(w, twos)))

    after = check(build(("main", 1, [tensor("x", "n", 4), tensor("w", 2, 4)], write)), [X], [W])
    assert "full" in ops(after) and "full" in ops(after, "main_transform_params")
    assert len(params(after)) == 2


def test_what_only_lifted_computations_used_goes(exec_mode: str) -> None:
    def write(x: Any, w: Any) -> Any:
        return op.multiply(x, op.sum(op.multiply(w, op.full([2, 4], 2.0, "float32"))))

    after = check(build(("main", 1, [tensor("x", "n", 4), tensor("w", 2, 4)], write)), [X], [W])
    assert ops(after) == ["multiply"]


def test_stop_lift_params(exec_mode: str) -> None:
    def write(x: Any, w: Any) -> Any:
        turned = op.builtin.stop_lift_params(op.permute_dims(w))
        return op.matmul(x, op.exp(turned))

    after = check(build(("main", 1, [tensor("x", "n", 4), tensor("w", 2, 4)], write)), [X], [W])
    assert ops(after) == ["exp", "matmul"]
    assert ops(after, "main_transform_params") == ["permute_dims"]


def test_integers_and_tuples(exec_mode: str) -> None:
    table = tensor("table", 4, dtype="int32")
    pair = relax.Var("pair", relax.TupleStructInfo([tensor("_", 4).struct_info] * 2))

    def write(x: Any, table: Any, pair: Any) -> Any:
        first = op.get_item(pair, 0)
        scale = op.multiply(op.astype(op.add(table, table), "float32"), first)
        return op.tuple(op.multiply(x, scale), pair)

    mod = build(("main", 1, [tensor("x", "n", 4), table, pair], write))
    numbers = np.arange(4, dtype="int32")
    after = check_tuple(mod, [X], [numbers, (W[0], W[1])])
    assert "add" not in ops(after)


def check_tuple(mod: Any, inputs: list[Any], weights: list[Any]) -> Any:
    after = LiftTransformParams()(mod)
    vm, old = (relax.VirtualMachine(relax.compile(each)) for each in (after, mod))
    found = vm["main"](*inputs, *vm["main_transform_params"](weights))
    wanted = old["main"](*inputs, *weights)
    np.testing.assert_allclose(np.from_dlpack(found[0]), np.from_dlpack(wanted[0]), rtol=1e-6)
    for one, other in zip(arrays(found[1]), arrays(wanted[1]), strict=True):
        np.testing.assert_array_equal(one, other)
    return after


def test_closures_and_branches_stay(exec_mode: str) -> None:
    mod = relax.IRModule("""
relax.func @main(%c: !relax.tensor<[], i1>, %w: !relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
    attributes {num_input = 1 : i64} {
  %0:2 = relax.dataflow -> !relax.tensor<[k], f32>, !relax.tensor<[k], f32> {
    %2 = relax.exp %w : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
    %3 = relax.sin %2 : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
    relax.output %2, %3 : !relax.tensor<[k], f32>, !relax.tensor<[k], f32>
  }
  %f = relax.closure (%y: !relax.tensor<[k], f32>) -> !relax.tensor<[k], f32> {
    %2 = relax.add %y, %0#1 : (!relax.tensor<[k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
    relax.return %2 : !relax.tensor<[k], f32>
  }
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[k], f32> {
    %2 = relax.call %f : !relax.func<(!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>, pure> (%0#0)
      : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
    relax.yield %2 : !relax.tensor<[k], f32>
  } else {
    %2 = relax.negative %w : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
    relax.yield %2 : !relax.tensor<[k], f32>
  }
  relax.return %1 : !relax.tensor<[k], f32>
}""")  # noqa: E501 (the lines of MLIR)
    for condition in (True, False):
        after = check(mod, [np.array(condition)], [X[0]])
    assert names(after) == ["c", "w", "param1", "param2"]
    assert ops(after, "main_transform_params") == ["exp", "sin"]


def test_weights_that_are_returned(exec_mode: str) -> None:
    mod = build(
        ("main", 1, [tensor("x", 2), tensor("w", 2, 4)], lambda x, w: op.tuple(x, op.exp(w), w))
    )
    after = check(mod, [X[0, :2]], [W])
    assert len(params(after)) == 3


def test_without_computations_the_weights_are_returned() -> None:
    mod = build(("main", 1, [tensor("x", "n", 4), tensor("w", "n", 4)], op.add))
    after = LiftTransformParams()(mod)
    assert relax.structural_equal(
        after["main"].with_attr("a", 1).module, mod["main"].with_attr("a", 1).module
    )
    assert ops(after, "main_transform_params") == []


# -- shape variables ------------------------------------------------------------------------------


def test_variables_of_weights(exec_mode: str) -> None:
    mod = build(("main", 1, [tensor("x", "n", "k"), tensor("w", "m", "k")], linear))
    after = check(mod, [X], [W])
    assert params(after) == ["!relax.tensor<[n, k], f32>", "!relax.tensor<[k, m], f32>"]


def test_variables_that_nothing_else_binds_are_passed_as_a_shape(exec_mode: str) -> None:
    def write(x: Any, w: Any) -> Any:
        zeros = op.zeros(["n", "m"], "float32")
        return op.add(op.add(zeros, op.sum(x)), op.sum(w))

    mod = build(("main", 1, [tensor("x", "n", 4), tensor("w", "m", 4)], write))
    after = check(mod, [X], [W])
    assert names(after)[1] == "vars_from_compile_time_params"
    assert params(after)[1] == "!relax.shape<[m]>"
    assert str(after["main"].ret_struct_info) == "!relax.tensor<[n, m], f32>"


def test_variables_that_only_inputs_bind(exec_mode: str) -> None:
    def write(x: Any, w: Any) -> Any:
        return op.tuple(op.add(x, op.sum(w)), op.exp(w))

    mod = build(("main", 1, [tensor("x", "n", 4), tensor("w", "n * 2", 4)], write))
    after = check(mod, [X], [RNG.standard_normal((6, 4)).astype("float32")])
    assert "tensor<ndim = 2, f32>" in params(after, "main_transform_params")[0]
    assert ops(after) == ["sum", "add", "exp"], "a type with n cannot be stated without x"


def test_weights_stay_that_bind_a_variable_together_with_inputs(exec_mode: str) -> None:
    def write(x: Any, w: Any) -> Any:
        return op.add(op.zeros(["n", "m"], "float32"), op.sum(x))

    mod = build(("main", 1, [tensor("x", "n", 4), tensor("w", "m", "n * 2")], write))
    after = check(mod, [X], [RNG.standard_normal((5, 6)).astype("float32")])
    assert params(after)[1] == "!relax.tensor<[m, n * 2], f32>"


def test_variables_that_types_of_inputs_name(exec_mode: str) -> None:
    mod = build(
        (
            "main",
            1,
            [tensor("x", "m * 2", 4), tensor("w", "m", 4)],
            lambda x, w: op.add(x, op.sum(w)),
        )
    )
    after = check(mod, [RNG.standard_normal((4, 4)).astype("float32")], [W])
    assert params(after)[1:] == ["!relax.shape<[m]>", "!relax.tensor<[], f32>"]


def test_blocks_that_pass_results_on(exec_mode: str) -> None:
    vector = "!relax.tensor<[n], f32>"
    mod = relax.IRModule(
        """
relax.func @main(%x: T, %w: T) -> !relax.object attributes {num_input = 1 : i64} {
  %0 = relax.dataflow -> T {
    %3 = relax.exp %w : (T) -> T
    relax.output %3 : T
  }
  %1:2 = relax.dataflow -> T, !relax.object {
    %3 = relax.add %x, %0 : (T, T) -> T
    relax.output %3, %0 : T, T
  }
  %2:2 = relax.dataflow -> T, T {
    %3 = relax.sin %0 : (T) -> T
    relax.output %0, %3 : T, T
  }
  %3 = relax.tuple %1#0, %1#1 : T, !relax.object
  relax.return %3 : !relax.tuple<T, !relax.object>
}""".replace("T", vector)
    )
    after = check(mod, [X[0]], [X[1]])
    assert ops(after) == ["match_cast", "add"]
    assert ops(after, "main_transform_params") == ["exp"]


def test_bounds_follow_their_variables() -> None:
    mod = relax.IRModule("""
relax.func @main(%x: !relax.tensor<[n], f32>, %w: !relax.tensor<[m, n], f32>) -> !relax.tensor<[n], f32>
    attributes {num_input = 1 : i64, tir_var_upper_bound = {m = 4 : i64, n = 8 : i64}} {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.sum %w {axis = array<i64: 0>} : (!relax.tensor<[m, n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.add %x, %1 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %2 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}""")  # noqa: E501 (the lines of MLIR)
    after = LiftTransformParams()(mod)
    assert str(after["main"].attrs["tir_var_upper_bound"]) == "{n = 8 : i64}"
    bounds = after["main_transform_params"].attrs["tir_var_upper_bound"]
    assert str(bounds) == "{m = 4 : i64, n = 8 : i64}"


def test_casts_of_weights(exec_mode: str) -> None:
    bb = relax.BlockBuilder()
    x = tensor("x", "n", 4)
    w = relax.Var("w", relax.TensorStructInfo(ndim=2, dtype="float32"))
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            known = bb.match_cast(w, relax.TensorStructInfo(("m", 4), "float32"))
            out = bb.emit_output(linear(x, known))
        bb.emit_func_output(out)
    check(bb.get(), [X], [W])


# -- the module -----------------------------------------------------------------------------------


def test_calls_compute_weights_first(exec_mode: str) -> None:
    mod = build(("main", 1, [tensor("x", "n", 4), tensor("w", "m", 4)], linear))
    bb = relax.BlockBuilder(mod)
    x, w = tensor("x", 3, 4), tensor("w", 2, 4)
    with bb.function("other", [x, w]):
        bb.emit_func_output(op.call(relax.GlobalVar("main"), op.exp(x), w))
    mod = bb.get()
    after = LiftTransformParams()(mod)
    assert [each for each in ops(after, "other") if each == "call"] == ["call", "call"]
    for each in (mod, after):
        result = relax.VirtualMachine(relax.compile(each))["other"](X, W)
        np.testing.assert_allclose(np.from_dlpack(result), np.exp(X) @ W.T, rtol=1e-5)


def test_a_caller_computes_weights_ahead_too(exec_mode: str) -> None:
    mod = build(("inner", 1, [tensor("x", "n", 4), tensor("w", "m", 4)], linear))
    bb = relax.BlockBuilder(mod)
    x, w = tensor("x", "n", 4), tensor("w", "m", 4)
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            out = bb.emit_output(op.call(relax.GlobalVar("inner"), x, op.exp(w)))
        bb.emit_func_output(out)
    after = check(bb.get(), [X], [W])
    assert ops(after) == ["call"]
    assert ops(after, "main_transform_params") == ["exp", "call"]


def test_a_function_that_is_there_is_the_first_step(exec_mode: str) -> None:
    mod = build(("main", 1, [tensor("x", "n", 4), tensor("w", "m", 4)], linear))
    bb = relax.BlockBuilder(mod)
    bundle = relax.Var("weights", relax.TupleStructInfo([tensor("_", "m", "j").struct_info]))
    with bb.function("main_transform_params", [bundle], attrs={"num_input": 0}):
        with bb.dataflow():
            out = bb.emit_output(op.tuple(op.exp(op.get_item(bundle, 0))))
        bb.emit_func_output(out)
    after = LiftTransformParams()(bb.get())
    assert set(after) == {"main", "main_transform_params"}
    assert names(after, "main_transform_params") == ["weights"]
    vm = relax.VirtualMachine(relax.compile(after, opt_level=1))
    (result,) = arrays(vm["main"](X, *vm["main_transform_params"]([W])))
    np.testing.assert_allclose(result, X @ np.exp(W).T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", ["relax.func private @helper", "relax.func @helper"])
def test_functions_without_inputs_and_values_stay(text: str) -> None:
    mod = relax.IRModule(
        text
        + """(%x: !relax.object, %w: !relax.object) -> !relax.object
    attributes {num_input = 1 : i64} {
  relax.return %w : !relax.object
}
relax.func @main(%x: !relax.object) -> !relax.object {
  %0 = relax.global_var @helper : !relax.func<(!relax.object, !relax.object) -> !relax.object, pure>
  relax.return %0 : !relax.func<(!relax.object, !relax.object) -> !relax.object, pure>
}"""
    )
    assert relax.structural_equal(LiftTransformParams()(mod), mod)


# -- several functions ----------------------------------------------------------------------------


def two() -> Any:
    def first(x: Any, v: Any, w: Any) -> Any:
        return op.add(linear(x, w), op.sum(op.exp(v)))

    def second(x: Any, v: Any, w: Any) -> Any:
        turned = op.permute_dims(w)
        same = op.permute_dims(w)
        return op.add(op.matmul(x, op.add(turned, same)), op.sum(op.sin(v)))

    return build(
        ("first", 1, [tensor("x", "n", "k"), tensor("v", "m", "k"), tensor("w", "m", "k")], first),
        ("second", 1, [tensor("x", "k", 4), tensor("v", "n", 4), tensor("w", "n", 4)], second),
    )


def same_types() -> Any:
    def first(x: Any, v: Any, w: Any) -> Any:
        return op.add(linear(x, w), op.sum(op.exp(v)))

    def second(x: Any, v: Any, w: Any) -> Any:
        turned, same = op.permute_dims(w), op.permute_dims(w)
        return op.add(op.matmul(op.sin(x), op.add(turned, same)), op.sum(op.sin(v)))

    return build(
        ("first", 1, [tensor("x", "n", "k"), tensor("v", "m", "k"), tensor("w", "m", "k")], first),
        (
            "second",
            1,
            [tensor("x", "k", "j"), tensor("v", "n", "j"), tensor("w", "n", "j")],
            second,
        ),
    )


@pytest.mark.parametrize("shared", [True, ["second", "first"]])
def test_functions_share_what_all_compute(shared: Any, exec_mode: str) -> None:
    mod = same_types()
    for name in ("first", "second"):
        after = check(mod, [X], [V, W], name, shared_transform=shared)
    assert set(after) == {"first", "second", "transform_params"}
    assert ops(after, "transform_params") == ["permute_dims"]
    assert params(after, "first")[1:] == [
        "!relax.tensor<[m, k], f32>",
        "!relax.tensor<[k, m], f32>",
    ]
    assert params(after, "second")[1:] == [
        "!relax.tensor<[n, j], f32>",
        "!relax.tensor<[j, n], f32>",
    ]


def test_functions_that_are_not_named_stay() -> None:
    mod = same_types()
    after = LiftTransformParams(["first"])(mod)
    assert set(after) == {"first", "second", "transform_params"}
    assert names(after, "second") == names(mod, "second")
    assert ops(after, "transform_params") == ["permute_dims", "exp", "sum"]


def test_shared_variables_are_passed_as_a_shape(exec_mode: str) -> None:
    def zeros(variable: str) -> Any:
        def write(x: Any, w: Any) -> Any:
            filled = op.add(op.zeros([variable, 4], "float32"), op.sum(x))
            return op.add(filled, op.sum(op.exp(w)))

        return write

    mod = build(
        ("first", 1, [tensor("x", "n", 4), tensor("w", "m", 4)], zeros("m")),
        ("second", 1, [tensor("x", "m", 4), tensor("w", "k", 4)], zeros("k")),
    )
    for name in ("first", "second"):
        after = check(mod, [X], [W], name, shared_transform=True)
    assert params(after, "first")[1:] == ["!relax.shape<[m]>", "!relax.tensor<[], f32>"]
    assert params(after, "second")[1:] == ["!relax.shape<[k]>", "!relax.tensor<[], f32>"]


# -- errors ---------------------------------------------------------------------------------------


def test_error_of_weights_that_differ() -> None:
    with pytest.raises(ValueError, match=r"weights of the same types, but got .*m, k.* of 'first'"):
        LiftTransformParams(shared_transform=True)(two())
    mod = build(
        ("first", 1, [tensor("x", 4), tensor("w", 4)], op.add),
        ("second", 0, [tensor("x", 4), tensor("w", 4)], op.add),
    )
    with pytest.raises(ValueError, match="but got 1 weights of 'first' and 2 of 'second'"):
        LiftTransformParams(shared_transform=True)(mod)


@pytest.mark.parametrize(
    ("shared", "error", "message"),
    [
        (["none"], ValueError, "with the attribute num_input, but got 'none'"),
        ("first", TypeError, "expected a bool or names of functions, but got 'first'"),
        ([3], TypeError, "expected a bool or names of functions"),
    ],
)
def test_error_of_names(shared: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        LiftTransformParams(shared_transform=shared)(two())


def test_error_of_a_name_that_is_taken() -> None:
    mod = build(("main", 1, [tensor("x", 4), tensor("w", 4)], op.add))
    bb = relax.BlockBuilder(mod)
    with bb.function("main_transform_params", [tensor("x", 4)]):
        bb.emit_func_output(op.const(1.0))
    with pytest.raises(ValueError, match="'main_transform_params' to be a function of one"):
        LiftTransformParams()(bb.get())


def test_error_of_functions_that_call_themselves() -> None:
    mod = relax.IRModule("""
relax.func @main(%x: !relax.object, %w: !relax.object) -> !relax.object
    attributes {num_input = 1 : i64} {
  %0 = relax.call @main(%x, %w) : (!relax.object, !relax.object) -> !relax.object
  relax.return %0 : !relax.object
}""")
    assert relax.structural_equal(LiftTransformParams()(mod), mod)
    with pytest.raises(ValueError, match="does not call itself, but got 'main'"):
        LiftTransformParams(["main"])(mod)


# -- imported models ------------------------------------------------------------------------------


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.norm = torch.nn.BatchNorm1d(32)
        self.second = torch.nn.Linear(32, 8)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.norm(self.first(x))))


def imported() -> tuple[Any, Any, Any, Any]:
    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(5, 16)
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: batch},))
    mod = from_exported_program(program, keep_params_as_input=True)
    return (*frontend.detach_params(mod), x, model(x).detach().numpy())


def test_weights_of_pytorch(exec_mode: str) -> None:
    mod, weights, x, wanted = imported()
    after = LiftTransformParams()(mod)
    assert "permute_dims" in ops(mod) and "permute_dims" not in ops(after)
    vm = relax.VirtualMachine(relax.compile(after, opt_level=1))
    once = vm["main_transform_params"](weights["main"])
    for _ in range(2):
        (result,) = arrays(vm["main"](x, *once))
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_results_as_constants(exec_mode: str) -> None:
    """What the new function returns may be bound: it is packed for products then."""
    mod, weights, x, wanted = imported()
    after = LiftTransformParams()(mod)
    once = relax.VirtualMachine(relax.compile(after))["main_transform_params"](weights["main"])
    bound = dict(zip(names(after)[1:], once, strict=True))
    steps = Sequential([LiftTransformParams(), BindParams("main", bound)])(mod)
    (result,) = arrays(relax.VirtualMachine(relax.compile(steps))["main"](x))
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_weights_of_onnx(exec_mode: str) -> None:
    onnx_parser = pytest.importorskip("onnx.parser")
    from relax_mlir.frontend.onnx import from_onnx

    model = onnx_parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
scaled (float[n, 2] x) => (float[n, 3] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
  t = Transpose(w)
  y = MatMul(x, t)
}""")
    mod = from_onnx(model, keep_params_in_input=True)
    mod, weights = frontend.detach_params(mod)
    after = check(mod, [X[:, :2]], weights["main"])
    assert ops(after) == ["matmul"]
