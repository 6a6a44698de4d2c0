"""Copies of modules, types, programs and tensors, and what pickle makes of them."""

import copy
import pickle

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import runtime
from relax_mlir.runtime import VirtualMachine

TEXT = """
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("y")
  relax.return %0 : !relax.tensor<[n], f32>
}
"""
HOW = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


@pytest.fixture(params=HOW)
def how(request):
    return HOW[request.param]


def test_module(how):
    module = relax.IRModule(TEXT)
    made = how(module)
    assert made.operation != module.operation
    text = module.operation.get_asm(enable_debug_info=True)
    assert made.operation.get_asm(enable_debug_info=True) == text
    assert relax.structural_equal(made, module)
    del made["main"]
    assert list(module) == ["main"]


def test_module_with_a_name_and_weights():
    module = relax.IRModule(TEXT)
    module.name, module.params = "Model", {"main": [np.ones(3)]}
    for made in (HOW["deepcopy"](module), HOW["pickle"](module)):
        assert made.name == "Model"
        assert made.params["main"][0] is not module.params["main"][0]
        assert made.params["main"][0].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "value",
    [
        relax.TensorStructInfo(("n", "m * 4"), "float32"),
        relax.ShapeStructInfo(("n", 2)),
        relax.PrimStructInfo("int64"),
        relax.ObjectStructInfo(),
        relax.TupleStructInfo([relax.TensorStructInfo(ndim=2)]),
        relax.FuncStructInfo([relax.ObjectStructInfo()], relax.ObjectStructInfo()),
        relax.Dim("n * 2 + 1"),
        relax.ShapeExpr(("n", 2)),
    ],
    ids=str,
)
def test_types_and_dimensions(how, value):
    made = how(value)
    assert made == value
    assert type(made) is type(value)


def test_type_goes_to_the_current_context():
    stored = pickle.dumps(relax.Dim("n"))
    with ir.Context() as context:
        assert pickle.loads(stored).context is context


def test_variable(how):
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    made = how(x)
    assert (made.name, made.struct_info) == (x.name, x.struct_info)


@pytest.mark.parametrize("exec_mode", ["compiled", "bytecode"])
def test_executable(how, exec_mode):
    executable = relax.compile(TEXT, exec_mode=exec_mode)
    made = how(executable)
    assert (made.exec_mode, made.reads_only) == (exec_mode, True)
    y = VirtualMachine(made)["main"](np.zeros(3, "float32"))
    assert y.tolist() == [1, 1, 1]


def test_tensor(how):
    x = runtime.tensor([[1, 2]], dtype="int8")
    made = how(x)
    assert (made.tolist(), str(made.dtype), type(made)) == ([[1, 2]], "int8", type(x))


def test_error_machine(how):
    vm = VirtualMachine(relax.compile(TEXT, exec_mode="bytecode"))
    with pytest.raises(TypeError, match="expected an Executable to copy or to store, but got a V"):
        how(vm)


def test_error_executable_of_the_runtime_alone():
    executable = runtime.Executable.assemble("function main(x) { ret %0 }")
    assert copy.deepcopy(executable) is executable
    with pytest.raises(TypeError, match="store the file that it comes from"):
        pickle.dumps(executable)
