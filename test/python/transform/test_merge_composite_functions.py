# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of patterns for the same codegen become one (RF15)."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.dpl import is_op, is_tuple_get_item, wildcard
from relax_mlir.script import from_source
from relax_mlir.transform import FuseOpsByPattern, MergeCompositeFunctions, Sequential


def unary(name: str) -> Any:
    return is_op(f"relax.{name}")(wildcard())


def binary(name: str) -> Any:
    return is_op(f"relax.{name}")(wildcard(), wildcard())


# Codegen a has these, codegen b those; exp is of neither.
A = [("a.relu", unary("relu")), ("a.gelu", unary("gelu")), ("a.add", binary("add"))]
B = [("b.tanh", unary("tanh"))]


def merge(body: str, *, patterns: Any = (*A, *B), params: str = "") -> Any:
    """Return a module after both passes; the lines are those of a dataflow block."""
    lines = "\n".join("            " + line for line in body.strip().splitlines())
    mod = from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main({params or 'x: R.Tensor(("n", 4), "float32")'}):
        with R.dataflow():
{lines}
            R.output(out)
        return out
""")
    fused = Sequential([FuseOpsByPattern(patterns), MergeCompositeFunctions()])(mod)
    fused.verify()
    return fused


def regions(mod: Any) -> dict[str, str]:
    return {
        name: function.attrs["Codegen"].value
        for name, function in mod.functions.items()
        if "Codegen" in function.attrs
    }


def called(mod: Any, name: str) -> list[str]:
    """Return the names of the patterns that a merged function calls, in order."""
    ops = [each.operation for each in mod[name].body.blocks[0].operations]
    closures = {op.results[0]: op for op in ops if op.name == "relax.closure"}
    calls = [op for op in ops if op.name == "relax.call"]
    return [closures[op.operands[0]].attributes["Composite"].value for op in calls]


def test_rf15_chain_becomes_one_function() -> None:
    mod = merge("y = R.nn.relu(x)\nz = R.nn.gelu(y)\nout = R.add(z, y)")
    (name,) = regions(mod)
    assert name == "fused_relax_nn_relu_relax_nn_gelu_relax_add_a"
    assert regions(mod) == {name: "a"}
    assert mod[name].attrs["global_symbol"].value == name
    assert mod[name].sym_visibility is None
    assert called(mod, name) == ["a.relu", "a.gelu", "a.add"]
    assert list(mod.functions) == ["main", name]


def test_rf15_a_function_that_is_called_twice_is_one_closure() -> None:
    mod = merge("y = R.nn.relu(x)\nz = R.nn.relu(y)\nout = R.add(z, y)")
    (name,) = regions(mod)
    assert called(mod, name) == ["a.relu", "a.relu", "a.add"]
    ops = [each.operation.name for each in mod[name].body.blocks[0].operations]
    assert ops.count("relax.closure") == 2


def test_rf15_single_calls_become_functions_too() -> None:
    mod = merge("out = R.nn.relu(x)")
    assert regions(mod) == {"fused_relax_nn_relu1_a": "a"}


def test_rf15_diamond_is_merged_and_does_not_cross_others() -> None:
    mod = merge("y = R.nn.relu(x)\na = R.nn.gelu(y)\nb = R.nn.relu(y)\nout = R.add(a, b)")
    assert len(regions(mod)) == 1
    # One side is of another codegen: the end cannot join the start.
    mod = merge("y = R.nn.relu(x)\na = R.nn.gelu(y)\nb = R.tanh(y)\nout = R.add(a, b)")
    assert sorted(regions(mod).values()) == ["a", "a", "b"]
    # The same for an operation that no codegen has.
    mod = merge("y = R.nn.relu(x)\na = R.nn.gelu(y)\nb = R.exp(y)\nout = R.add(a, b)")
    merged = "fused_relax_nn_relu_relax_nn_gelu_a"
    assert regions(mod) == {merged: "a", "fused_relax_add1_a": "a"}
    assert isinstance(mod[merged].ret_struct_info, relax.TupleStructInfo)


def test_rf15_producers_are_merged_by_their_user() -> None:
    params = 'x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")'
    mod = merge("a = R.nn.relu(x)\nb = R.nn.gelu(y)\nout = R.add(a, b)", params=params)
    (name,) = regions(mod)
    assert called(mod, name) == ["a.relu", "a.gelu", "a.add"]
    # What only shares no value stays apart.
    mod = merge("a = R.nn.relu(x)\nb = R.nn.gelu(y)\nout = (a, b)", params=params)
    assert len(regions(mod)) == 2


def test_rf15_later_dependencies_of_merged_groups_count() -> None:
    """The group of a depends on b's operation only after the merge of its two producers."""
    body = """
p = R.nn.relu(x)
q = R.tanh(x)
r = R.nn.relu(q)
s = R.tanh(p)
t = R.add(p, r)
out = R.add(t, s)
"""
    mod = merge(body)
    x = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
    found = relax.VirtualMachine(relax.compile(mod))["main"](x)
    p, q = np.maximum(x, 0), np.tanh(x)
    expected = p + np.maximum(q, 0) + np.tanh(p)
    np.testing.assert_allclose(np.from_dlpack(found), expected, rtol=1e-4)


def test_rf15_fields_between_calls_are_merged() -> None:
    split = is_op("relax.split")(wildcard())
    patterns = [("a.split", split), ("a.subtract", binary("subtract"))]
    body = "t = R.split(x, 2, axis=1)\nout = R.subtract(t[1], t[0])"
    mod = merge(body, patterns=patterns)
    (name,) = regions(mod)
    assert called(mod, name) == ["a.split", "a.subtract"]
    # The whole tuple is a result, too: its fields are taken outside.
    body = "t = R.split(x, 2, axis=1)\nu = R.subtract(t[1], t[0])\nout = (t, u)"
    assert len(regions(merge(body, patterns=patterns))) == 2
    fields = is_op("relax.add")(is_tuple_get_item(split, 0), is_tuple_get_item(split, 1))
    body = "t = R.split(x, 2, axis=1)\nout = R.add(t[0], t[1])"
    assert called(merge(body, patterns=[("a.both", fields)]), "fused_relax_split_relax_add1_a")


def test_rf15_kernels_between_calls_keep_them_apart() -> None:
    mod = merge("y = R.nn.relu(x)\nz = R.exp(y)\nout = R.nn.gelu(z)")
    assert len(regions(mod)) == 2


def test_rf15_equal_functions_are_one() -> None:
    body = "y = R.nn.relu(x)\nz = R.exp(y)\na = R.nn.relu(z)\nout = R.exp(a)"
    mod = merge(body)
    assert list(mod.functions) == ["main", "fused_relax_nn_relu1_a"]


def test_rf15_variables_of_a_function_are_those_of_the_caller() -> None:
    """Functions with variables of their own, one of which has another meaning in the caller."""
    mod = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def relu(x: R.Tensor(("m", "n"), "float32")) -> R.Tensor(("m", "n"), "float32"):
        R.func_attr({"Composite": "a.relu", "Primitive": True})
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        cls = Module
        with R.dataflow():
            y = cls.relu(x)
            z = cls.relu(y)
            R.output(z)
        return z
""")
    merged = MergeCompositeFunctions()(mod)
    (name,) = regions(merged)
    assert "relax.func @" + name + "(%x: !relax.tensor<[n, m], f32>)" in str(merged)
    x = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    found = relax.VirtualMachine(relax.compile(merged))["main"](x)
    np.testing.assert_array_equal(np.from_dlpack(found), np.maximum(x, 0))


def test_rf15_leaves_alone_what_has_no_functions_of_patterns() -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
""")
    relax.assert_structural_equal(MergeCompositeFunctions()(mod), mod)


def test_rf15_rejects_a_name_without_codegen() -> None:
    with pytest.raises(ValueError, match=r"expected the name of a pattern that begins with"):
        merge("out = R.exp(x)", patterns=[("exp", unary("exp"))])


def random_program(seed: int, count: int = 24) -> Any:
    """Return a module of random operations of two codegens and of none."""
    generator = random.Random(seed)
    x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            values = [x.value]
            for _ in range(count):
                kind = generator.choice(["relu", "gelu", "tanh", "sin", "add", "add"])
                left, right = (generator.choice(values[-6:]) for _ in range(2))
                if kind == "add":
                    made = op.multiply(op.const(0.5, "float32"), op.add(left, right))
                else:
                    made = getattr(op.nn if kind in ("relu", "gelu") else op, kind)(left)
                values.append(bb.emit(made))
            out = bb.emit_output(op.tuple(*values[-3:]))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("seed", range(6))
def test_rf15_random_programs_are_the_same(seed: int, exec_mode: str) -> None:
    mod = random_program(seed)
    passes = Sequential([FuseOpsByPattern([*A, *B]), MergeCompositeFunctions()])
    merged = passes(mod)
    assert regions(merged)
    x = np.random.default_rng(seed).standard_normal((3, 4)).astype("float32")
    expected = relax.VirtualMachine(relax.compile(mod))["main"](x)
    found = relax.VirtualMachine(relax.compile(merged))["main"](x)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), np.from_dlpack(other), rtol=1e-4, atol=1e-5)


def test_rf15_many_calls_take_little_time() -> None:
    mod = random_program(0, 1500)
    fused = FuseOpsByPattern([*A, *B])(mod)
    begin = time.perf_counter()
    merged = MergeCompositeFunctions()(fused)
    assert time.perf_counter() - begin < 20  # a second or two on a machine with nothing else to do
    assert len(regions(merged)) > 10
