"""Programs of TVM, with only the import changed: building, machines, constants, kinds."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from relax_mlir import vm
from relax_mlir.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4,), "float32")
    ) -> R.Tensor(("n", 4), "float32"):
        with R.dataflow():
            y = R.multiply(x, w)
            z = R.add(y, x)
            R.output(z)
        return z

    @R.function
    def pair(x: R.Tensor(("n",), "float32")):
        return (x, (R.add(x, x),))
"""
X = np.arange(8, dtype="float32").reshape(2, 4)
W = np.array([1, 2, 3, 4], "float32")


@pytest.fixture
def mod():
    return from_source(PROGRAM)


# ---------------------------------------------------------------------------------------------
# Building
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [relax.build, vm.build])
@pytest.mark.parametrize("exec_mode", ["compiled", "bytecode"])
def test_build(mod, build, exec_mode):
    ex = build(mod, "llvm", exec_mode=exec_mode)
    machine = relax.VirtualMachine(ex.jit(), relax.cpu())
    np.testing.assert_array_equal(machine["main"](X, W).numpy(), X * W + X)
    assert ex.exec_mode == exec_mode
    assert ex.mod is ex


def test_build_binds_params(mod):
    machine = relax.VirtualMachine(relax.build(mod, params={"w": W}), "cpu")
    np.testing.assert_array_equal(machine["main"](X).numpy(), X * W + X)
    assert len(mod["main"].params) == 2  # of the module that was given


@pytest.mark.parametrize(
    "pipeline",
    [
        *("zero", "default", None, lambda mod: mod),
        *(relax.get_pipeline("zero"), relax.get_pipeline("default_build")),
    ],
)
def test_pipeline_runs_before(mod, pipeline):
    ex = relax.compile(mod, "llvm", relax_pipeline=pipeline)
    result = relax.VirtualMachine(ex)["main"](X, W)
    np.testing.assert_array_equal(result.numpy(), X * W + X)


def test_pipeline_is_run_once(mod):
    seen = []

    def watch(module):
        seen.append(module)
        return module

    relax.build(mod, relax_pipeline=watch)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("options", "error", "expected"),
    [
        ({"relax_pipeline": "nosuch"}, ValueError, "expected the name of a pipeline"),
        (
            {"relax_pipeline": relax.get_pipeline("default", fuse=False)},
            ValueError,
            "expected options as arguments of compile",
        ),
        ({"relax_pipeline": 3}, TypeError, "expected a pass, or the name of a pipeline"),
        ({"tir_pipeline": "tuned"}, ValueError, "no pipeline for kernels"),
        ({"system_lib": True}, ValueError, "export_library"),
        ({"exec_mode": "fast"}, ValueError, "exec_mode"),
        ({"params": {"nosuch": W}}, ValueError, "nosuch"),
    ],
)
def test_errors_of_build(mod, options, error, expected):
    with pytest.raises(error, match=expected):
        relax.build(mod, **options)


# ---------------------------------------------------------------------------------------------
# Machines
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def machine(mod, exec_mode):
    return relax.VirtualMachine(relax.compile(mod))


@pytest.mark.parametrize(
    "device", ["cpu", "cpu:0", tvm_ffi.device("cpu"), ["cpu"], [relax.cpu(0), relax.cpu(1)]]
)
def test_devices(mod, device):
    machine = relax.VirtualMachine(relax.compile(mod), device, memory_cfg="pooled")
    np.testing.assert_array_equal(machine["main"](X, W).numpy(), X * W + X)


@pytest.mark.parametrize(
    ("arguments", "error", "expected"),
    [
        (("hexagon",), ValueError, "a device of this machine, but got 'hexagon:0'"),
        (("gpu0",), ValueError, "expected a device such as 'cpu'"),
        ((7,), TypeError, "device"),
        (("cpu", "naive"), ValueError, "'pooled'"),
        (("cpu", {"cpu": "naive"}), ValueError, "'pooled'"),
    ],
)
def test_errors_of_devices(mod, arguments, error, expected):
    with pytest.raises(error, match=expected):
        relax.VirtualMachine(relax.compile(mod), *arguments)


def test_stateful_calls(machine):
    machine.set_input("main", X, w=W)
    machine.invoke_stateful("main")
    first = machine.get_outputs("main")
    np.testing.assert_array_equal(first.numpy(), X * W + X)
    machine.set_input("main", X, 2 * W)
    with pytest.raises(ValueError, match="expected a call first"):
        machine.get_outputs("main")
    machine.invoke_stateful("main")
    np.testing.assert_array_equal(machine.get_outputs("main").numpy(), X * 2 * W + X)
    np.testing.assert_array_equal(machine["main"](X, W).numpy(), X * W + X)  # as before


def test_outputs_are_tuples(machine):
    machine.set_input("pair", W)
    machine.invoke_stateful("pair")
    first, (second,) = outputs = machine.get_outputs("pair")
    assert type(outputs) is tuple
    np.testing.assert_array_equal(first.numpy(), W)
    np.testing.assert_array_equal(second.numpy(), 2 * W)


def test_errors_of_stateful_calls(machine):
    with pytest.raises(ValueError, match="expected the inputs of 'main' first"):
        machine.invoke_stateful("main")
    with pytest.raises(ValueError, match="expected a call first"):
        machine.get_outputs("main")
    for call in (machine.set_input, machine.invoke_stateful, machine.get_outputs):
        with pytest.raises(KeyError, match="expected the name of a public function"):
            call("mean")


def test_saved_functions(machine):
    machine.save_function("main", "saved", X, W)
    np.testing.assert_array_equal(machine["saved"]().numpy(), X * W + X)
    assert len(machine.time_evaluator("saved", "cpu", number=2, repeat=3)().results) == 3
    machine.save_function("main", "saved", X, w=0 * W, include_return=False)
    assert machine["saved"]() is None
    with pytest.raises(ValueError, match="a name that the program does not have"):
        machine.save_function("main", "pair", X, W)


CLOSURES = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        @R.function
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.add(x, y)
        return inner
"""


def test_closures(exec_mode):
    machine = relax.VirtualMachine(relax.compile(from_source(CLOSURES)))
    closure = machine["main"](W)
    np.testing.assert_array_equal(machine.invoke_closure(closure, W).numpy(), 2 * W)
    with pytest.raises(TypeError, match="expected a closure, but got 3"):
        machine.invoke_closure(3)


# ---------------------------------------------------------------------------------------------
# Functions and modules
# ---------------------------------------------------------------------------------------------


def test_functions(mod):
    main = mod["main"]
    assert isinstance(main, relax.Function)
    assert [str(param.struct_info.dtype) for param in main.params] == ["float32"] * 2
    assert main.ret_struct_info == main.struct_info.ret == main.params[0].struct_info
    changed = main.with_attr({"global_symbol": "main", "tile": [2, 3]})
    assert "tile" not in mod["main"].attrs
    assert isinstance(changed, relax.Function)
    mod["main"] = changed.with_attr("num_input", 1)
    assert str(mod["main"].attrs["tile"]) == "[2, 3]"
    mod.update_func(mod.get_global_var("main"), mod["main"].without_attr("tile"))
    assert "tile" not in mod["main"].attrs
    assert mod["main"].attrs["num_input"].value == 1
    assert list(mod.functions) == ["main", "pair"]
    np.testing.assert_array_equal(relax.VirtualMachine(relax.build(mod))["main"](X, W), X * W + X)


def test_errors_of_attributes(mod):
    with pytest.raises(TypeError, match="as 'tile', but got"):
        mod["main"].with_attr("tile", object())
    for name in ("sym_name", "", 3):
        with pytest.raises((TypeError, ValueError), match="expected"):
            mod["main"].with_attr(name, 1) if isinstance(name, str) else mod["main"].without_attr(
                name
            )


def test_attributes_of_modules(mod):
    changed = mod.with_attr("workers", 2).with_attr("my.kind", "x")
    assert not mod.attrs
    assert changed.get_attr("workers").value == 2
    assert changed.get_attr("nosuch") is None
    assert list(changed.without_attr("workers").attrs) == ["my.kind"]
    assert list(changed.without_attr("my.kind").attrs) == ["workers"]
    assert list(changed.without_attr("nosuch").attrs) == list(changed.attrs)


# ---------------------------------------------------------------------------------------------
# Expressions
# ---------------------------------------------------------------------------------------------


def written(make, *params):
    """Return a module with one function, of what a function makes of its parameters."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(make(bb, *params))
    return bb.get()


@pytest.mark.parametrize("value", [2.5, np.float32(2.5), [2.5], tvm_ffi.from_dlpack(np.array(2.5))])
def test_constants_without_a_program(value, exec_mode):
    constant = relax.const(value, "float32")
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    made = written(lambda bb, x: bb.emit(relax.op.add(x, constant * constant)), x)
    result = relax.VirtualMachine(relax.compile(made))["main"](W)
    np.testing.assert_array_equal(result.numpy(), W + 6.25)
    assert constant.struct_info.dtype == "float32"


def test_constants_keep_their_data_type():
    assert relax.const(1).struct_info.dtype == "int32"
    assert relax.const(np.arange(3)).struct_info.shape == relax.ShapeExpr([3])
    with pytest.raises(ValueError, match="expected a value of type int8, but got 300"):
        relax.const(300, "int8")
    with pytest.raises(TypeError, match="expected numbers"):
        relax.const("text")


def test_leaves_are_arguments(exec_mode):
    seen = []
    tvm_ffi.register_global_func("test.surface", lambda *args: seen.append(args), override=True)

    def make(bb, x):
        call = relax.extern("test.surface")
        fields = relax.Tuple([x, relax.PrimValue(3)])
        assert len(fields) == 2
        assert fields[0] is x
        assert str(fields.struct_info) == "!relax.tuple<!relax.tensor<[n], f32>, !relax.prim<i64>>"
        bb.emit(call(fields, relax.StringImm("text"), relax.DataTypeImm("float32")))
        bb.emit(call(relax.PrimValue("n + 1")))
        return bb.emit(fields)

    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x], pure=False):
        bb.emit_func_output(make(bb, x))
    first, second = relax.VirtualMachine(relax.compile(bb))["main"](W)
    np.testing.assert_array_equal(first.numpy(), W)
    assert second == 3
    (pair, text, dtype), (size,) = seen
    assert pair[1] == 3
    assert (text, str(dtype), size) == ("text", "float32", 5)


def test_leaf_needs_a_program():
    with pytest.raises(ValueError, match="inside BlockBuilder"):
        relax.op.add(relax.const(1.0), relax.const(2.0))


def test_kinds_of_expressions(mod):
    multiply, add, output = mod["main"].body.blocks[0].operations[0].body.blocks[0].operations
    for expr in (multiply, multiply.result, multiply.operation):
        assert isinstance(expr, relax.Call)
        assert not isinstance(expr, (relax.Constant, relax.Tuple, relax.If))
    assert isinstance(multiply.result, relax.DataflowVar)
    assert not isinstance(add.result, relax.DataflowVar)
    assert not isinstance(output, relax.Call)
    assert isinstance(mod["main"].body.blocks[0].operations[0], relax.DataflowBlock)
    for param in mod["main"].params:
        assert not isinstance(param, relax.Call)
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    kinds = {
        "constant": relax.Constant,
        "tuple": relax.Tuple,
        "get_item": relax.TupleGetItem,
        "match_cast": relax.MatchCast,
        "prim_value": relax.PrimValue,
        "string": relax.StringImm,
        "dtype": relax.DataTypeImm,
        "extern_func": relax.ExternFunc,
    }

    def make(bb, x):
        pair = bb.emit(relax.Tuple([x, relax.const(1), relax.PrimValue(2), relax.StringImm("s")]))
        bb.emit(relax.Tuple([relax.DataTypeImm("int8"), relax.ExternFunc("f")]))
        return bb.match_cast(bb.emit(pair[0]), relax.TensorStructInfo(("m",), "float32"))

    made = written(make, x)
    ops = made["main"].body.blocks[0].operations
    found = {op.operation.name.removeprefix("relax."): op for op in ops}
    for name, kind in kinds.items():
        assert [one for one in kinds.values() if isinstance(found[name], one)] == [kind]
        assert isinstance(found[name].operation.results[0], kind)
        assert not isinstance(found[name], relax.Call)


def test_kinds_are_made_by_a_builder():
    with pytest.raises(TypeError, match="BlockBuilder"):
        relax.Call(relax.op.add, [])


def test_devices_by_function():
    assert relax.cpu(1) == tvm_ffi.device("cpu", 1)
    tensor = relax.runtime.tensor([[1, 2]], dtype="int8")
    assert tensor.shape == (1, 2)
    assert str(tensor.dtype) == "int8"
    array = np.ones(3)
    copied = relax.runtime.tensor(array)
    array[:] = 2
    np.testing.assert_array_equal(copied.numpy(), np.ones(3))
    assert relax.runtime.tensor(array, device="cpu:1").numpy().tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="no device API for rocm:0"):
        relax.runtime.tensor(array, device=tvm_ffi.device("rocm", 0))


def test_values_are_expressions(mod):
    assert isinstance(mod["main"].params[0], (relax.Expr, ir.Value))
