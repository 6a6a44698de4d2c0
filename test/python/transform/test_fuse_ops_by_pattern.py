# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What patterns match becomes functions for external libraries (RF15)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op
from relax_mlir.analysis import var_name
from relax_mlir.backend import has_leaking_intermediate_variables
from relax_mlir.dpl import (
    is_op,
    is_tuple,
    is_tuple_get_item,
    make_fused_bias_activation_pattern,
    wildcard,
)
from relax_mlir.script import from_source
from relax_mlir.transform import FuseOpsByPattern, FusionPattern, PatternCheckContext

MATMUL = is_op("relax.matmul")(wildcard(), wildcard())
MATMUL_RELU = is_op("relax.nn.relu")(MATMUL)


def module(body: str, params: str = 'x: R.Tensor(("n", 4), "float32")') -> Any:
    """Return a module of a function whose lines are those of a dataflow block."""
    lines = "\n".join("            " + line for line in body.strip().splitlines())
    return from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main({params}):
        with R.dataflow():
{lines}
            R.output(out)
        return out
""")


XW = 'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")'


def names(mod: Any) -> list[str]:
    return [gvar.name for gvar in mod.get_global_vars()]


def attributes(mod: Any, name: str) -> dict[str, Any]:
    wanted = ("Composite", "Codegen", "Primitive", "global_symbol")
    return {key: attr.value for key, attr in mod[name].attrs.items() if key in wanted}


def inner(mod: Any, name: str) -> list[str]:
    """Return the operations in the dataflow block of a function."""
    (dataflow, *_) = mod[name].body.blocks[0].operations
    return [each.operation.name for each in dataflow.operation.regions[0].blocks[0].operations]


def test_rf15_match_becomes_a_private_function() -> None:
    mod = FuseOpsByPattern([("my.matmul_relu", MATMUL_RELU)])(
        module("y = R.matmul(x, w)\nout = R.nn.relu(y)", XW)
    )
    assert names(mod) == ["main", "fused_relax_matmul_relax_nn_relu"]
    assert attributes(mod, "fused_relax_matmul_relax_nn_relu") == {
        "Composite": "my.matmul_relu",
        "Primitive": True,
    }
    assert mod["fused_relax_matmul_relax_nn_relu"].sym_visibility.value == "private"
    assert inner(mod, "main") == ["relax.call", "relax.output"]
    assert inner(mod, names(mod)[1]) == ["relax.matmul", "relax.relu", "relax.output"]
    params = [var_name(value) for value in mod[names(mod)[1]].params]
    assert params == ["x", "w"]


def test_rf15_first_pattern_wins() -> None:
    mod = module("y = R.matmul(x, w)\nout = R.nn.relu(y)", XW)
    both = [("my.matmul", MATMUL), ("my.matmul_relu", MATMUL_RELU)]
    assert names(FuseOpsByPattern(both)(mod)) == ["main", "fused_relax_matmul"]
    assert names(FuseOpsByPattern(both[::-1])(mod))[1] == "fused_relax_matmul_relax_nn_relu"


def test_rf15_larger_match_of_a_pattern_replaces_smaller_ones() -> None:
    mod = module("y = R.matmul(x, w)\nz = R.add(y, x)\nout = R.nn.relu(z)", XW)
    add = is_op("relax.add")(MATMUL, wildcard())
    pattern = add | is_op("relax.nn.relu")(add)
    mod = FuseOpsByPattern([("my.or", pattern)])(mod)
    assert names(mod) == ["main", "fused_relax_matmul_relax_add_relax_nn_relu"]


def test_rf15_equal_functions_are_one() -> None:
    body = "y = R.matmul(x, w)\nz = R.matmul(y, w)\nout = R.matmul(z, w)"
    mod = FuseOpsByPattern([("my.matmul", MATMUL)])(module(body, XW))
    assert names(mod) == ["main", "fused_relax_matmul"]
    assert inner(mod, "main").count("relax.call") == 3


def test_rf15_different_attributes_are_different_functions() -> None:
    mod = module("y = R.sum(x, axis=0, keepdims=True)\nout = R.sum(y, axis=1)")
    mod = FuseOpsByPattern([("my.sum", is_op("relax.sum")(wildcard()))])(mod)
    assert names(mod) == ["main", "fused_relax_sum", "fused_relax_sum1"]


def test_rf15_intermediate_values_that_others_use_are_results() -> None:
    body = "y = R.matmul(x, w)\nz = R.nn.relu(y)\na = R.exp(z)\nb = R.exp(y)\nout = R.add(a, b)"
    mod = FuseOpsByPattern([("my.matmul_relu", MATMUL_RELU)])(module(body, XW))
    function = mod["fused_relax_matmul_relax_nn_relu"]
    assert isinstance(function.ret_struct_info, relax.TupleStructInfo)
    *_, tuple_, _ = function.body.blocks[0].operations
    # What is used first is the first field: the result of relu, which is the second one inside.
    assert [ir.OpResult(value).result_number for value in tuple_.operation.operands] == [1, 0]


def test_rf15_sole_result_may_precede_a_dead_operation() -> None:
    chain = is_op("relax.exp")(is_op("relax.exp")(wildcard()))
    mod = module("out = R.exp(x)\ndead = R.exp(out)")
    fused = FuseOpsByPattern([("my.exp", chain)], annotate_codegen=True)(mod)
    assert names(fused) == ["main", "fused_relax_exp_relax_exp_my"]
    assert inner(fused, "main") == ["relax.call", "relax.output"]


def test_rf15_operations_between_are_moved() -> None:
    """What uses an intermediate value comes after the call, though it came before the end."""
    body = "y = R.matmul(x, w)\ns = R.exp(y)\nz = R.nn.relu(y)\nout = R.add(s, z)"
    mod = FuseOpsByPattern([("my.matmul_relu", MATMUL_RELU)])(module(body, XW))
    assert inner(mod, "main") == [
        "relax.call",
        "relax.get_item",
        "relax.get_item",
        "relax.exp",
        "relax.add",
        "relax.output",
    ]


def test_rf15_rejects_matches_that_depend_on_each_other() -> None:
    body = "a = R.matmul(x, w)\nb = R.nn.relu(a)\nc = R.exp(a)\nout = R.add(b, c)"
    pattern = is_op("relax.add")(MATMUL_RELU, wildcard())
    with pytest.raises(RuntimeError, match="A cyclic dependency detected: what is made of 'c'"):
        FuseOpsByPattern([("my.cycle", pattern)])(module(body, XW))

    def check(context: PatternCheckContext) -> bool:
        return not has_leaking_intermediate_variables(context)

    mod = FuseOpsByPattern([("my.cycle", pattern, {}, check)])(module(body, XW))
    assert names(mod) == ["main"]


def test_rf15_constants_are_bound_or_arguments() -> None:
    mod = module('out = R.add(x, R.const(2.0, "float32"))')
    patterns = [("my.add", is_op("relax.add")(wildcard(), wildcard()))]
    bound = FuseOpsByPattern(patterns)(mod)
    assert "relax.constant" in inner(bound, "fused_relax_add")
    assert len(bound["fused_relax_add"].params) == 1
    lifted = FuseOpsByPattern(patterns, bind_constants=False)(mod)
    assert [var_name(p) for p in lifted["fused_relax_add"].params] == ["x", "param_1"]
    assert "relax.constant" in inner(lifted, "main")


def test_rf15_static_shapes_are_part_of_the_function() -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2, 2), "float32"):
        shape: R.Shape([2, 2]) = R.shape([2, 2])
        with R.dataflow():
            out = R.reshape(x, shape)
            R.output(out)
        return out
""")
    pattern = is_op("relax.reshape")(wildcard(), wildcard())
    fused = FuseOpsByPattern([("my.reshape", pattern)])(mod)
    assert len(fused["fused_relax_reshape"].params) == 1
    assert "relax.shape" in inner(fused, "fused_relax_reshape")


def test_rf15_symbolic_shapes_are_arguments() -> None:
    body = "out = R.reshape(x, (2, n * 2))"
    mod = from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        with R.dataflow():
            {body}
            R.output(out)
        return out
""")
    pattern = is_op("relax.reshape")(wildcard(), wildcard())
    fused = FuseOpsByPattern([("my.reshape", pattern)])(mod)
    assert len(fused["fused_relax_reshape"].params) == 2
    x = np.arange(12, dtype="float32").reshape(3, 4)
    found = relax.VirtualMachine(relax.compile(fused))["main"](x)
    np.testing.assert_array_equal(np.from_dlpack(found), x.reshape(2, 6))


def test_rf15_shape_variables_that_no_argument_binds_are_an_argument() -> None:
    """A tensor of n * 2 elements does not say what n is."""
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.concat([x, x])
            out = R.exp(y)
            R.output(out)
        return out
""")
    fused = FuseOpsByPattern([("my.exp", is_op("relax.exp")(wildcard()))])(mod)
    assert [var_name(p) for p in fused["fused_relax_exp"].params] == ["y", "tir_vars"]
    fused.verify()
    x = np.arange(3, dtype="float32")
    found = relax.VirtualMachine(relax.compile(fused))["main"](x)
    np.testing.assert_allclose(np.from_dlpack(found), np.exp(np.tile(x, 2)), rtol=1e-5)


def test_rf15_fields_of_tuples() -> None:
    body = "t = R.split(x, 2, axis=1)\nout = R.add(t[0], t[1])"
    split = is_op("relax.split")(wildcard())
    add = is_op("relax.add")(is_tuple_get_item(split, 0), is_tuple_get_item(split, 1))
    mod = FuseOpsByPattern([("my.split_add", add)])(module(body))
    assert names(mod) == ["main", "fused_relax_split_relax_add"]
    # Of a tuple from outside, the fields are the arguments.
    add = is_op("relax.add")(is_tuple_get_item(wildcard(), 0), is_tuple_get_item(wildcard(), 1))
    mod = FuseOpsByPattern([("my.add", add)])(module(body))
    assert [var_name(p) for p in mod["fused_relax_add"].params] == ["t_0", "t_1"]


def test_rf15_tuples_that_operators_take() -> None:
    body = "a = R.abs(x)\nb = R.exp(x)\nout = R.concat([a, b], axis=1)"
    parts = is_tuple([is_op("relax.abs")(wildcard()), is_op("relax.exp")(wildcard())])
    mod = FuseOpsByPattern([("my.concat", is_op("relax.concat")(parts))])(module(body))
    assert names(mod) == ["main", "fused_relax_abs_relax_exp_relax_concat"]


def test_rf15_check_sees_the_match() -> None:
    x, w = wildcard(), wildcard()
    product = is_op("relax.matmul")(x, w)
    pattern = is_op("relax.nn.relu")(product)
    seen: list[PatternCheckContext] = []

    def check(context: PatternCheckContext) -> bool:
        seen.append(context)
        return False

    mod = module("y = R.matmul(x, w)\nout = R.nn.relu(y)", XW)
    parts = {"x": x, "w": w, "product": product, "root": pattern}
    after = FuseOpsByPattern([("my.matmul_relu", pattern, parts, check)])(mod)
    relax.assert_structural_equal(after, mod)
    (context,) = seen
    found = context.annotated_expr
    assert [var_name(found[name]) for name in ("x", "w", "product")] == ["x", "w", "y"]
    assert found["root"] == context.matched_expr
    assert set(context.matched_bindings) == {found["product"], found["root"]}
    assert context.var_usages[found["product"]] == [found["root"]]
    assert context.value_to_bound_var[found["root"]] == found["root"]


def test_rf15_attributes_of_a_match() -> None:
    pattern = is_op("relax.exp")(wildcard())

    def getter(found: Any) -> dict[str, Any]:
        return {"width": found["root"].type.shape[-1].value}

    fusion = FusionPattern("my.exp", pattern, {"root": pattern}, attrs_getter=getter)
    mod = FuseOpsByPattern([fusion])(module("out = R.exp(x)"))
    assert mod["fused_relax_exp"].attrs["width"].value == 4


def test_rf15_annotated_function_calls_a_closure() -> None:
    mod = FuseOpsByPattern([("my.matmul", MATMUL)], annotate_codegen=True)(
        module("out = R.matmul(x, w)", XW)
    )
    assert names(mod) == ["main", "fused_relax_matmul_my"]
    assert attributes(mod, "fused_relax_matmul_my") == {
        "Codegen": "my",
        "global_symbol": "fused_relax_matmul_my",
    }
    closure, call, _ = mod["fused_relax_matmul_my"].body.blocks[0].operations
    assert closure.operation.attributes["Composite"].value == "my.matmul"
    assert "Primitive" not in closure.operation.attributes
    assert call.operation.name == "relax.call"


def test_rf15_functions_of_passes_stay_as_they_are() -> None:
    patterns = [("my.matmul", MATMUL)]
    for options in ({}, {"annotate_codegen": True}):
        once = FuseOpsByPattern(patterns, **options)(module("out = R.matmul(x, w)", XW))
        relax.assert_structural_equal(FuseOpsByPattern(patterns, **options)(once), once)
    # A function of an earlier run is annotated later.
    fused = FuseOpsByPattern(patterns)(module("out = R.matmul(x, w)", XW))
    assert names(FuseOpsByPattern([], annotate_codegen=True)(fused))[1] == "fused_relax_matmul_my"


@pytest.mark.parametrize("annotate", [False, True])
def test_rf15_leaves_alone_what_does_not_match(annotate: bool) -> None:
    mod = module("y = R.matmul(x, w)\nout = R.exp(y)", XW)
    after = FuseOpsByPattern([("my.matmul_relu", MATMUL_RELU)], annotate_codegen=annotate)(mod)
    relax.assert_structural_equal(after, mod)
    relax.assert_structural_equal(FuseOpsByPattern([], annotate_codegen=annotate)(mod), mod)


def test_rf15_leaves_alone_what_is_not_in_a_dataflow_block() -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        y = R.matmul(x, x)
        return y
""")
    relax.assert_structural_equal(FuseOpsByPattern([("my.matmul", MATMUL)])(mod), mod)


def test_rf15_does_not_match_through_casts() -> None:
    body = (
        'y = R.matmul(x, w)\nz = R.match_cast(y, R.Tensor((3, 4), "float32"))\nout = R.nn.relu(z)'
    )
    mod = module(body, XW)
    relax.assert_structural_equal(FuseOpsByPattern([("my.matmul_relu", MATMUL_RELU)])(mod), mod)


def test_rf15_branches_and_several_functions() -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), flag: R.Prim("bool")):
        if flag:
            with R.dataflow():
                y = R.matmul(x, x)
                R.output(y)
            z = y
        else:
            with R.dataflow():
                y = R.nn.relu(R.matmul(x, x))
                R.output(y)
            z = y
        return z

    @R.function
    def other(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.matmul(x, x)
            R.output(y)
        return y
""")
    patterns = [("my.matmul_relu", MATMUL_RELU), ("my.matmul", MATMUL)]
    fused = FuseOpsByPattern(patterns)(mod)
    assert set(names(fused)) == {
        "main",
        "other",
        "fused_relax_matmul",
        "fused_relax_matmul_relax_nn_relu",
    }
    chosen = FuseOpsByPattern(patterns, entry_functions=["other"])(mod)
    assert names(chosen) == ["main", "other", "fused_relax_matmul"]


def test_rf15_numbers_are_the_same(exec_mode: str) -> None:
    body = (
        "y = R.matmul(x, w)\nz = R.nn.relu(y)\na = R.add(z, y)\nb = R.matmul(a, w)\n"
        'out = R.add(b, R.const(np.arange(4), "float32"))'
    ).replace("np.arange(4)", "[0, 1, 2, 3]")
    mod = module(body, XW)
    pattern = make_fused_bias_activation_pattern("relax.matmul", activation="relax.nn.relu")
    bias = make_fused_bias_activation_pattern("relax.matmul", with_bias=True)
    patterns = [("my.matmul_relu", pattern), ("my.bias", bias)]
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype("float32") for shape in ((3, 4), (4, 4)))
    y = x @ w
    expected = (np.maximum(y, 0) + y) @ w + np.arange(4)
    for options in ({}, {"annotate_codegen": True}, {"bind_constants": False}):
        fused = FuseOpsByPattern(patterns, **options)(mod)
        assert len(names(fused)) == 3
        found = relax.VirtualMachine(relax.compile(fused))["main"](x, w)
        np.testing.assert_allclose(np.from_dlpack(found), expected, rtol=1e-4, atol=1e-4)


def test_rf15_many_operators_take_little_time() -> None:
    w = relax.Var("w", relax.TensorStructInfo((8, 8), "float32"))
    x = relax.Var("x", relax.TensorStructInfo(("n", 8), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            y = x.value
            for _ in range(1000):
                y = bb.emit(op.nn.relu(bb.emit(op.matmul(y, w))))
            out = bb.emit_output(y)
        bb.emit_func_output(out)
    mod = bb.get()
    begin = time.perf_counter()
    fused = FuseOpsByPattern([("my.matmul_relu", MATMUL_RELU)])(mod)
    assert time.perf_counter() - begin < 20  # a second or two on a machine with nothing else to do
    assert names(fused) == ["main", "fused_relax_matmul_relax_nn_relu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("my.exp",), "expected a list of patterns, but got 'my.exp'"),
        (([3],), r"expected a FusionPattern, or a tuple .* but got 3"),
        (([("my.exp",)],), "expected a FusionPattern, or a tuple"),
        (([("my.exp", "exp")],), "expected what is given for 'my.exp' to be patterns"),
        (([(3, MATMUL)],), "expected the name of a pattern, but got 3"),
        (([("my.exp", MATMUL, [])],), r"pattern 'my.exp': expected annotation_patterns by name"),
        (([("my.exp", MATMUL, {}, 3)],), "pattern 'my.exp': expected check to be a function"),
    ],
)
def test_rf15_rejects_wrong_arguments(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        FuseOpsByPattern(*arguments)


def test_rf15_rejects_functions_that_are_not_there() -> None:
    with pytest.raises(ValueError, match=r"expected the name of a Relax function \(main\)"):
        FuseOpsByPattern([], entry_functions=["man"])(module("out = R.exp(x)"))


def test_rf15_rejects_a_name_without_codegen() -> None:
    with pytest.raises(ValueError, match=r"begins with a codegen, such as 'dnnl\.matmul'"):
        FuseOpsByPattern([("matmul", MATMUL)], annotate_codegen=True)(
            module("out = R.matmul(x, w)", XW)
        )


def test_rf15_rejects_attributes_that_are_none() -> None:
    fusion = FusionPattern("my.exp", is_op("relax.exp")(wildcard()), attrs_getter=lambda found: 3)
    with pytest.raises(TypeError, match="expected a mapping of attributes from attrs_getter"):
        FuseOpsByPattern([fusion])(module("out = R.exp(x)"))
