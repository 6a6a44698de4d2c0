"""The public interface of the builder, as users of TVM Relax know it."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import BlockBuilder, GlobalVar, TensorStructInfo, Var, op, te, tir

F32 = "float32"


def tensor(name="x", shape=("n", 4)):
    return Var(name, TensorStructInfo(shape, F32))


def name_of(value):
    return value.owner.location.name_str


def test_rf12_names_are_unique():
    bb = BlockBuilder()
    x = tensor()
    with bb.function("main", [x]):
        with bb.dataflow():
            first, second = bb.emit(op.exp(x)), bb.emit(op.exp(x))
            assert (name_of(first), name_of(second)) == ("lv", "lv1")
            out = bb.emit_output(op.add(first, second))
            assert out.name == "gv"
        third = bb.emit(op.exp(out))
        assert name_of(third) == "gv1"
        hinted = [bb.emit(op.exp(x), "x") for _ in range(2)]
        assert [name_of(value) for value in hinted] == ["x1", "x2"]
        assert bb.get_unique_name("lv") == "lv2"
        bb.emit_func_output(third)
    with bb.function("other", [x]):
        value = bb.emit(op.exp(x))
        assert name_of(value) == "gv"
        bb.emit_func_output(value)
    text = bb.get().operation.get_asm(use_name_loc_as_prefix=True)
    assert "%lv1 = relax.exp" in text and "%gv1 = relax.exp" in text


def test_rf12_a_name_that_is_given_stays():
    bb = BlockBuilder()
    x = tensor()
    with bb.function("main", [x]):
        value = bb.emit(op.exp(x), "y")
        assert bb.emit(value) is not None and name_of(value) == "y"
        bb.emit_func_output(value)


def test_rf12_current():
    assert BlockBuilder.current() is None
    outer, inner = BlockBuilder(), BlockBuilder()
    x = tensor()
    with outer.function("main", [x]):
        assert BlockBuilder.current() is outer
        with inner.function("main", [tensor()]) as _:
            assert BlockBuilder.current() is inner
            inner.emit_func_output(op.zeros((1,), F32))
        assert BlockBuilder.current() is outer
        outer.emit_func_output(x)
    assert BlockBuilder.current() is None
    with pytest.raises(RuntimeError), outer.function("failing", [x]):
        raise RuntimeError
    assert BlockBuilder.current() is None


def test_rf12_parameters_can_come_last(exec_mode):
    bb = BlockBuilder()
    x, y, z = tensor("x"), tensor("y"), tensor("z")
    with bb.function("main"):
        total = bb.emit(op.subtract(y, x))
        bb.emit_func_output(total, params=[x, y, z])
    mod = bb.get()
    assert [name.value for name in mod["main"].operation.attributes["arg_names"]] == ["x", "y", "z"]
    a, b = np.ones((2, 4), F32), np.full((2, 4), 3, F32)
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a, b, a)), b - a)


def test_rf12_invalid_parameters():
    x, y = tensor("x"), tensor("y")
    bb = BlockBuilder()
    with (
        pytest.raises(ValueError, match="expected 'y', which is used, to be among the parameters"),
        bb.function("main"),
    ):
        bb.emit_func_output(op.add(x, y), params=[x])
    with (
        pytest.raises(ValueError, match="expected the parameters once"),
        bb.function("main", [x]),
    ):
        bb.emit_func_output(x, params=[x])
    with pytest.raises(ValueError, match="expected 'x' to be a parameter of the function"):
        x.value  # noqa: B018


def test_rf12_one_parameter_and_none():
    bb = BlockBuilder()
    x = tensor()
    with bb.function("one", x):
        bb.emit_func_output(x)
    with bb.function("none"):
        bb.emit_func_output(op.zeros((2,), F32))
    types = [str(op.function_type.value) for op in bb.get().functions.values()]
    assert types[1] == "() -> !relax.tensor<[2], f32>"


def test_rf12_builder_of_a_module():
    first = BlockBuilder()
    x = tensor()
    with first.function("f", [x]):
        first.emit_func_output(op.exp(x))
    bb = BlockBuilder(first.get())
    with bb.function("main", [x]):
        bb.emit_func_output(op.call(GlobalVar("f"), x))
    assert [gvar.name for gvar in bb.get().get_global_vars()] == ["f", "main"]
    assert len(first.get()) == 1
    assert len(BlockBuilder(str(first.get())).get()) == 1
    with pytest.raises(TypeError, match="expected a module"):
        BlockBuilder(3)


def test_rf12_get_and_finalize_return_modules():
    bb = BlockBuilder()
    x = tensor()
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    assert isinstance(bb.get(), relax.IRModule)
    assert relax.structural_equal(bb.get(), bb.finalize())
    with bb.function("other", [x]), pytest.raises(ValueError, match="get outside of function"):
        bb.emit_func_output(x)
        bb.finalize()


def test_rf12_testing_scope():
    bb = BlockBuilder()
    n, m = tir.Var("n", "int64"), relax.shape_var("m")
    with bb.testing_scope(def_vars=[n, m, "k"]):
        assert bb.current_block_is_dataflow()
        value = bb.emit(op.zeros(("n", "m + k"), F32))
        assert value.type == TensorStructInfo(("n", "m + k"), F32)
        assert name_of(value) == "lv"
    assert not bb.current_block_is_dataflow()
    assert len(bb.get()) == 0


def test_rf12_scopes():
    bb = BlockBuilder()
    x = tensor()
    bb.begin_scope([x])
    assert bb.emit(op.exp(x)).type == x.struct_info
    assert not bb.current_block_is_dataflow()
    with pytest.raises(ValueError, match="begin_scope outside of function"):
        bb.begin_scope()
    bb.end_scope()
    with pytest.raises(ValueError, match="end_scope after begin_scope"):
        bb.end_scope()
    with pytest.raises(ValueError, match="expected 'x' to be a parameter"):
        op.exp(x)


def test_rf12_emit_te_in_a_testing_scope():
    bb = BlockBuilder()
    with bb.testing_scope(["n"]):
        x = bb.emit(op.zeros(("n",), F32))
        y = bb.emit_te(lambda a: te.compute(a.shape, lambda i: a[i] + 1), x)
        assert y.type == TensorStructInfo(("n",), F32)


def test_rf12_lookup_binding():
    bb = BlockBuilder()
    x = tensor()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.exp(x))
            assert bb.lookup_binding(y).operation.name == "relax.exp"
            assert bb.lookup_binding(x) is None
            out = bb.emit_output(y)
        assert bb.lookup_binding(out).operation.name == "relax.dataflow"
        bb.emit_func_output(out)


def test_rf12_normalize_and_emit_normalized():
    bb = BlockBuilder()
    x = tensor()
    with bb.function("main", [x]):
        pair = bb.normalize((x, (x, 3)))
        assert isinstance(pair.type, relax.TupleStructInfo)
        y = op.exp(x)
        copy = y.owner.clone()
        detached = copy.operation.detach_from_parent()
        value = bb.emit_normalized(detached)
        assert value.type == x.struct_info and name_of(value) == "gv"
        assert bb.emit_normalized(y) == y
        bb.emit_func_output(value)
    assert str(bb.get()).count("relax.exp") == 2


def test_rf12_match_cast():
    bb = BlockBuilder()
    x = Var("x", TensorStructInfo(ndim=2, dtype=F32))
    with bb.function("main", [x]):
        y = bb.match_cast(x, TensorStructInfo(("n", "m"), F32), name_hint="y")
        assert y.type == TensorStructInfo(("n", "m"), F32) and name_of(y) == "y"
        bb.emit_func_output(bb.emit(op.exp(y)))
    assert "relax.match_cast" in str(bb.get())


KERNEL = """func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = linalg.copy ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}"""


def test_rf12_update_func():
    bb = BlockBuilder()
    gvar = bb.add_func(KERNEL, "kernel")
    bb.add_func(KERNEL, "after")
    bb.update_func(gvar, KERNEL.replace("linalg.copy", "linalg.exp"))
    mod = bb.get()
    assert [each.name for each in mod.get_global_vars()] == ["kernel", "after"]
    assert "linalg.exp" in str(mod["kernel"]) and "linalg.copy" in str(mod["after"])
    with pytest.raises(ValueError, match="expected a function of the module, but got 'other'"):
        bb.update_func("other", KERNEL)
    with pytest.raises(ValueError, match="expected one function, but got 0"):
        bb.update_func(gvar, "module {}")
    mod = bb.get()
    assert "linalg.exp" in str(mod["kernel"])


def test_rf12_whole_program(exec_mode):
    bb = BlockBuilder()
    x, w = tensor("x", ("n", 4)), tensor("w", (4, 3))

    def matmul(a, b):
        k = te.reduce_axis((0, a.shape[1]), name="k")
        shape = (a.shape[0], b.shape[1])
        return te.compute(shape, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="matmul")

    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            lv0 = bb.emit_te(matmul, x, w)
            lv1 = bb.emit(op.maximum(lv0, 0.0))
            gv0 = bb.emit_output(lv1)
        bb.emit_func_output(gv0)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(F32) for shape in ((5, 4), (4, 3)))
    main = relax.VirtualMachine(relax.compile(bb.get()))["main"]
    np.testing.assert_allclose(np.from_dlpack(main(a, b)), np.maximum(a @ b, 0), 1e-5, 1e-6)
