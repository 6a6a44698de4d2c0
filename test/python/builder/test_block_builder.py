"""BlockBuilder: functions, dataflow blocks, branches, and what goes wrong."""

import gc

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op
from relax_mlir.dialects import relax as dialect

KERNEL = """
func.func @copy(%x: memref<?xf32>, %y: memref<?xf32>) {
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  return
}
"""


def text(bb):
    return bb.get().operation.get_asm(use_name_loc_as_prefix=True)


def function_of(bb, name="main"):
    return bb.get()[name]


def result_type(bb):
    return str(function_of(bb).function_type.value.results[0])


def test_gr16_function(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x], {"tag": "a", "level": 3, "on": True, "rate": 0.5}):
        assert bb.emit_func_output(x) == relax.GlobalVar("main")
    assert text(bb).splitlines()[1] == (
        "  relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes "
        '{level = 3 : i64, on = true, rate = 5.000000e-01 : f64, tag = "a"} {'
    )


def test_gr16_private_impure_function():
    bb = relax.BlockBuilder()
    with bb.function("f", private=True, pure=False):
        bb.emit_func_output(None)
    assert "relax.func private impure @f() -> !relax.object {" in text(bb)


def test_gr17_dataflow_outputs(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n", 4))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.exp(x), "y")
            one = bb.emit_output(y, "one")
            two = bb.emit_output(op.sum(one, 1), "two")  # an output is a value inside too
        bb.emit_func_output((one, two))
    assert "%0:2 = relax.dataflow -> !relax.tensor<[n, 4], f32>, !relax.tensor<[n], f32> {" in text(
        bb
    )
    assert "%one = relax.exp" in text(bb)
    assert "relax.output %one, %two" in text(bb)


def test_dataflow_without_outputs():
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            pass
        bb.emit_func_output(0)
    assert "relax.dataflow {" in text(bb)


def test_dataflow_binds_for_what_follows(tensor):
    bb = relax.BlockBuilder()
    x, u = tensor(("n",)), tensor(ndim=1, name="u")
    with bb.function("main", [x, u]):
        with bb.dataflow():
            v = bb.emit_output(bb.match_cast(u, relax.TensorStructInfo(("m",), "float32"), "v"))
        bb.emit_func_output(op.concat([x, v]))
    # m means nothing to a caller, so only the rank is left of the result.
    assert result_type(bb) == "!relax.tensor<ndim = 1, f32>"
    assert "%v = relax.match_cast" in text(bb)


def test_declared_result_type(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x], ret_struct_info=relax.TensorStructInfo(ndim=1)):
        bb.emit_func_output(x)
    assert result_type(bb) == "!relax.tensor<ndim = 1>"


def test_gr15_if_unifies(tensor):
    bb = relax.BlockBuilder()
    c, x = tensor((), "bool", "c"), tensor(("n",))
    with bb.function("main", [c, x]):
        value = bb.if_(c, lambda: op.exp(x), lambda: op.concat([x, x]), "choice")
        bb.emit_func_output(value)
    assert result_type(bb) == "!relax.tensor<ndim = 1, f32>"
    assert "%choice = relax.if %c" in text(bb)


def test_gr15_if_erases_what_a_branch_binds(tensor):
    bb = relax.BlockBuilder()
    c, u = tensor((), "bool", "c"), tensor(ndim=1, name="u")

    def branch():
        return bb.match_cast(u, relax.TensorStructInfo(("m",), "float32"))

    with bb.function("main", [c, u]):
        value = bb.if_(c, branch, branch)
        assert str(value.type) == "!relax.tensor<ndim = 1, f32>"
        bb.match_cast(u, relax.TensorStructInfo(("q",), "float32"))
        kept = bb.if_(c, lambda: op.zeros(("q",)), lambda: op.zeros(("q",)))
        assert str(kept.type) == "!relax.tensor<[q], f32>"
        bb.emit_func_output(kept)
    bb.get()


def test_nested_if(tensor, load):
    bb = relax.BlockBuilder()
    c, x = tensor((), "bool", "c"), tensor(("n",))
    with bb.function("main", [c, x]):
        inner = lambda: bb.if_(op.logical_not(c), lambda: x, lambda: op.negative(x))  # noqa: E731
        bb.emit_func_output(bb.if_(c, inner, lambda: op.add(x, 1)))
    main, ones = load(bb), np.ones(2, "float32")
    assert np.from_dlpack(main(np.array(True), ones)).tolist() == [-1, -1]
    assert np.from_dlpack(main(np.array(False), ones)).tolist() == [2, 2]


def test_op01_add_func_text_and_call_tir(tensor, load):
    bb = relax.BlockBuilder()
    kernel = bb.add_func(KERNEL, "mine")
    assert kernel == relax.GlobalVar("mine")
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output(op.call_tir(kernel, [x], x.struct_info))
    data = np.arange(3, dtype="float32")
    assert np.from_dlpack(load(bb)(data)).tolist() == [0, 1, 2]


def test_add_func_operation():
    bb = relax.BlockBuilder()
    source = ir.Module.parse(KERNEL, context=relax.default_context())
    assert bb.add_func(source.body.operations[0]) == relax.GlobalVar("copy")
    assert len(source.body.operations) == 1
    del source
    gc.collect()
    assert "memref.copy" in text(bb)


def test_add_func_with_a_private_helper():
    bb = relax.BlockBuilder()
    helper = "func.func private @helper()\n"
    assert bb.add_func(helper + KERNEL) == relax.GlobalVar("copy")
    assert "@helper" in text(bb)


def test_gr14_call_of_a_function(tensor, load):
    bb = relax.BlockBuilder()
    x = tensor(("n", "m"))
    with bb.function("flat", [x], private=True):
        flat = bb.emit_func_output(op.flatten(x))
    y = tensor((2, "k"), name="y")
    with bb.function("main", [y]):
        value = op.call(flat, y)
        assert str(value.type) == "!relax.tensor<[k * 2], f32>"
        bb.emit_func_output(value)
    assert np.from_dlpack(load(bb)(np.ones((2, 3), "float32"))).shape == (6,)


def test_gr16_recursion(tensor, load):
    bb = relax.BlockBuilder()
    x = tensor((), "int64")
    with bb.function("main", [x], ret_struct_info=x.struct_info):
        again = lambda: op.add(op.call(relax.GlobalVar("main"), op.subtract(x, 1)), 2)  # noqa: E731
        bb.emit_func_output(bb.if_(op.greater(x, 0), again, lambda: x))
    assert np.from_dlpack(load(bb)(np.array(5))) == 10


def test_gr11_python_values_as_results():
    bb = relax.BlockBuilder()
    with bb.function("main"):
        bb.emit_func_output((1, 2.5, "a", None, True, ()))
    assert result_type(bb).startswith("!relax.tuple<!relax.prim<i64, 1>, !relax.prim<f64>")


def test_get_returns_a_copy(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("one", [x]):
        bb.emit_func_output(x)
    first = bb.get()
    with bb.function("two", [x]):
        bb.emit_func_output(x)
    assert (len(first.body.operations), len(bb.get().body.operations)) == (1, 2)


def test_module_outlives_the_builder(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    module = bb.get()
    del bb
    gc.collect()
    assert "relax.exp" in str(module)


def test_own_context():
    with ir.Context() as context:
        bb = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    assert bb.get().context is context


# Errors.


def test_error_two_contexts(tensor):
    x = tensor(("n",))
    with ir.Context():
        bb = relax.BlockBuilder()
        y = tensor(("n",))
    with pytest.raises(ValueError, match="of the context of this program"):
        bb.function("main", [x]).__enter__()
    with bb.function("main", [y]):
        with pytest.raises(ValueError, match="of the context of this program"):
            op.match_cast(y, x.struct_info)
        bb.emit_func_output(y)
    bb.get()


def test_error_value_of_a_discarded_function(tensor):
    bb = relax.BlockBuilder()
    x, values = tensor(("n",)), []
    with pytest.raises(RuntimeError), bb.function("main", [x]):
        values.append(op.exp(x))
        raise RuntimeError
    gc.collect()
    with bb.function("main", [x]):
        with pytest.raises(ValueError, match=r"a result of relax\.exp of function 'main'"):
            op.exp(values[0])
        bb.emit_func_output(x)
    bb.get()
    del bb
    gc.collect()
    assert str(values[0].struct_info) == str(x.struct_info)


def test_error_value_of_a_scope_that_has_ended(tensor):
    bb = relax.BlockBuilder()
    with bb.testing_scope(["n"]):
        value = bb.emit(op.zeros(("n", 2), "float32"))
    gc.collect()
    x = tensor(("n",))
    with bb.function("main", [x]):
        with pytest.raises(ValueError, match="'lv' of function 'scope'"):
            op.exp(value)
        bb.emit_func_output(x)
    bb.get()
    del bb
    gc.collect()
    assert str(value.struct_info) == "!relax.tensor<[n, 2], f32>"


def test_value_of_a_function_that_is_replaced(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        value = op.exp(x)
        bb.emit_func_output(value)
    unknown = ir.Location.unknown(value.context)
    with bb.function("other", [x]):
        bb.emit_func_output(dialect.ExpOp(value, loc=unknown).result)  # not checked
    bb.update_func(
        "main",
        "relax.func @f(%x: !relax.object) -> !relax.object {\n  relax.return %x : !relax.object\n}",
    )
    gc.collect()
    assert "unrealized_conversion_cast" in str(bb.get().module)  # something else in its place
    del bb, value
    gc.collect()


def test_error_function_without_output(tensor):
    bb = relax.BlockBuilder()
    message = "expected emit_func_output in function 'main'"
    with pytest.raises(ValueError, match=message), bb.function("main", [tensor(("n",))]):
        pass
    assert len(bb.get().body.operations) == 0


def test_error_inside_discards_the_function(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with pytest.raises(RuntimeError, match="mine"), bb.function("main", [x]), bb.dataflow():
        raise RuntimeError("mine")
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    assert len(bb.get().body.operations) == 1


def test_error_places(tensor):
    bb = relax.BlockBuilder()
    for call, where in [
        (lambda: bb.dataflow().__enter__(), "inside function"),
        (lambda: bb.emit_func_output(0), "inside function"),
        (lambda: bb.emit_output(0), "inside dataflow"),
        (lambda: bb.if_(0, int, int), "inside function"),
    ]:
        with pytest.raises(ValueError, match=where):
            call()
    with bb.function("main"):
        for call, where in [
            (lambda: bb.function("f").__enter__(), "outside of another one"),
            (lambda: bb.get(), "outside of function"),
        ]:
            with pytest.raises(ValueError, match=where):
                call()
        with bb.dataflow():
            for call, where in [
                (lambda: bb.dataflow().__enter__(), "outside of another one"),
                (lambda: bb.emit_func_output(0), "outside of dataflow"),
                (lambda: bb.if_(0, int, int), "outside of dataflow"),
            ]:
                with pytest.raises(ValueError, match=where):
                    call()
        bb.emit_func_output(0)
        with pytest.raises(ValueError, match="once in each function"):
            bb.emit_func_output(0)
        with pytest.raises(ValueError, match=r"expected relax.prim_value before the block ends"):
            op.prim_value(1)


def test_error_names(tensor):
    bb = relax.BlockBuilder()
    bb.add_func(KERNEL)
    with pytest.raises(ValueError, match="expected a new name for a function, but got 'copy'"):
        bb.add_func(KERNEL)
    with pytest.raises(ValueError, match="but got 'copy' again"):
        bb.function("copy").__enter__()
    with pytest.raises(ValueError, match="expected another name for an attribute"):
        bb.function("f", [], {"sym_name": "g"}).__enter__()
    with pytest.raises(
        TypeError, match="expected a bool, int, float, str, list, dict or Attribute as 'a'"
    ):
        bb.function("f", [], {"a": object()}).__enter__()


def test_error_add_func():
    bb = relax.BlockBuilder()
    with pytest.raises(ir.MLIRError, match="Unable to parse"):
        bb.add_func("func.func @f(")
    with pytest.raises(ValueError, match="expected one function, but got 2"):
        bb.add_func(KERNEL + KERNEL.replace("copy(", "again("))
    with pytest.raises(ValueError, match="expected one function, but got 0"):
        bb.add_func("")


def test_error_wf07_impure_call_in_dataflow(tensor):
    bb = relax.BlockBuilder()
    with bb.function("main", pure=False):
        with bb.dataflow():
            out = bb.emit_output(op.call_packed("f"))
        bb.emit_func_output(out)
    with pytest.raises(ir.MLIRError, match="impure, which is not allowed in a dataflow block"):
        bb.get()


def test_error_wf05_unbound_shape_variable(tensor):
    bb = relax.BlockBuilder()
    with bb.function("main", [tensor(("n",))]):
        bb.emit_func_output(op.zeros(("q",)))
    with pytest.raises(ir.MLIRError, match="q"):
        bb.get()


def test_error_value_of_a_finished_dataflow_block(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = bb.emit(op.exp(x), "hidden")
        with pytest.raises(ValueError, match="'hidden' is bound in a dataflow block: emit_output"):
            bb.emit_func_output(hidden)
        bb.emit_func_output(x)
    bb.get()


@pytest.mark.parametrize("use", [op.exp, lambda x: (x, x), lambda x: x])
def test_error_value_of_another_builder(tensor, use):
    other, bb = relax.BlockBuilder(), relax.BlockBuilder()
    x, y = tensor(("n",)), tensor(("n",))
    with other.function("main", [x]):
        value = op.exp(x)
        other.emit_func_output(value)
    with bb.function("f", [y]):
        with pytest.raises(ValueError, match=r"a result of relax\.exp of function 'main'"):
            bb.emit_func_output(use(value))
        bb.emit_func_output(y)
    del other
    gc.collect()
    bb.get()


def test_error_value_of_a_branch(tensor):
    bb = relax.BlockBuilder()
    x, inside = tensor(("n",)), []
    with bb.function("main", [x]):
        y = bb.if_(op.const(True), lambda: inside.append(op.exp(x)) or inside[0], lambda: x)
        with pytest.raises(ValueError, match=r"relax\.exp is bound in a branch"):
            op.add(y, inside[0])
        bb.emit_func_output(y)
    bb.get()


def test_error_value_of_a_closure(tensor):
    bb = relax.BlockBuilder()
    x, y = tensor(("n",)), tensor(("n",), name="y")
    with bb.function("main", [x]):
        with bb.closure("f", [y]):
            inside = op.exp(y)
            bb.emit_func_output(inside)
        with pytest.raises(ValueError, match=r"relax\.exp is bound in a closure"):
            op.add(x, inside)
        bb.emit_func_output(x)
    bb.get()


def test_error_two_parameters_of_one_name(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with pytest.raises(ValueError, match="function 'main' with distinct names, but got 'x' twice"):
        bb.function("main", [x, x]).__enter__()
    with pytest.raises(ValueError, match="'x' twice"), bb.function("main"):
        bb.emit_func_output(x, [x, tensor(("n",))])
