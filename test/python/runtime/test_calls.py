# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of compiled functions: by name, lists, producers of DLPack, read-only arrays."""

import gc
import inspect
import subprocess
import sys
import traceback

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op
from relax_runtime.calls import make_callable

MATRIX = relax.TensorStructInfo(("n", 2), "float32")


@pytest.fixture(params=["extension", "python"])
def vm(exec_mode, request, monkeypatch):
    if request.param == "python":  # as where the extension was not built
        monkeypatch.setattr("relax_runtime.calls._Function", None)
    bb = relax.BlockBuilder()
    x, y = relax.Var("x", MATRIX), relax.Var("y", MATRIX)
    with bb.function("minus", [x, y]):
        bb.emit_func_output(op.subtract(x, y))
    pair = relax.Var("pair", relax.TupleStructInfo([MATRIX, MATRIX]))
    with bb.function("first_minus_second", [pair]):
        bb.emit_func_output(op.subtract(pair[0], pair[1]))
    i = relax.Var("i", relax.TensorStructInfo(("n",), "int8"))
    with bb.function("indices", [i]):
        bb.emit_func_output(i)
    return relax.VirtualMachine(relax.compile(bb, exec_mode=exec_mode))


ONE, TWO = [[1, 2], [3, 4]], [[5.5, 6], [7, 8]]
WANTED = np.subtract(ONE, TWO).astype("float32")


def test_functions_say_what_they_are(vm):
    minus = vm["minus"]
    assert minus.__name__ == minus.__qualname__ == "minus"
    assert "function minus" in repr(minus)
    with pytest.raises(TypeError, match=r"minus\(\) missing 1 required .* argument: 'y'"):
        minus(ONE)
    with pytest.raises(TypeError, match=r"minus\(\) got an unexpected keyword argument 'z'"):
        minus(ONE, TWO, z=1)


def test_functions_and_arguments_are_released(vm):
    minus = vm["minus"]
    minus.cycle = minus
    argument = np.array(ONE, "float32")
    with pytest.raises(ValueError, match="argument 'y'"):
        minus(argument, np.zeros((3, 2), "float32"))
    minus(argument, TWO)  # called again, with arrays
    gc.collect()
    assert sys.getrefcount(argument) == 2
    vm._functions.clear()
    del minus
    assert gc.collect() > 0


def test_by_name(vm):
    x, y = np.array(ONE, "float32"), np.array(TWO, "float32")
    assert list(inspect.signature(vm["minus"]).parameters) == ["x", "y"]
    np.testing.assert_array_equal(vm["minus"](y=y, x=x), WANTED)
    np.testing.assert_array_equal(vm["minus"](x, y=y), WANTED)


def test_lists_of_numbers(vm):
    np.testing.assert_array_equal(vm["minus"](ONE, TWO), WANTED)
    np.testing.assert_array_equal(vm["first_minus_second"]([ONE, tuple(TWO)]), WANTED)


@pytest.mark.parametrize("numbers", [[1.5], [300], [-129]])
def test_error_numbers_that_do_not_fit(vm, numbers):
    np.testing.assert_array_equal(vm["indices"]([1, -128, 127]), [1, -128, 127])
    with pytest.raises(TypeError, match="argument 'i': expected numbers of int8"):
        vm["indices"](numbers)


class Producer:
    """An array that only has DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_any_producer_of_dlpack(vm):
    x, y = (Producer(np.array(each, "float32")) for each in (ONE, TWO))
    np.testing.assert_array_equal(vm["minus"](x, y), WANTED)


def test_read_only_arrays_in_a_tuple(vm):
    x, y = np.array(ONE, "float32"), np.array(TWO, "float32")
    x.flags.writeable = False
    np.testing.assert_array_equal(vm["first_minus_second"]((x, y)), WANTED)


def cyclic_list():
    values = []
    values += [values, values]
    return values


def cyclic_dict():
    values = {}
    values["itself"] = values
    return values


def nested(depth):
    value = np.ones((2, 2), "float32")
    for _ in range(depth):
        value = (value,)
    return value


@pytest.mark.parametrize("make", [cyclic_list, cyclic_dict, lambda: nested(201)])
def test_error_arguments_that_are_nested_too_deep(vm, make):
    for call in (vm["first_minus_second"], vm.time_evaluator("first_minus_second")):
        with pytest.raises(ValueError, match=r"argument 'pair': expected values nested at most"):
            call(make())
    with pytest.raises(ValueError, match="but got a tuple of 1 field"):
        vm["first_minus_second"](nested(200))


def test_error_arrays_with_a_mask(vm):
    masked = np.ma.masked_array(np.ones((2, 2), "float32"), mask=np.eye(2))
    with pytest.raises(TypeError, match=r"argument 'y': expected an array without a mask"):
        vm["minus"](masked.filled(0), masked)


def test_measured_calls_take_the_same_arguments(vm):
    assert vm.time_evaluator("minus", number=1)(y=TWO, x=ONE).mean > 0
    array = np.array(ONE, "float32")
    array.flags.writeable = False
    assert vm.time_evaluator("minus", number=1)(array, array).mean > 0


def test_profiled_calls_take_the_same_arguments():
    bb = relax.BlockBuilder()
    x, y = relax.Var("x", MATRIX), relax.Var("y", MATRIX)
    with bb.function("minus", [x, y]):
        bb.emit_func_output(op.subtract(x, y))
    report = relax.VirtualMachine(relax.compile(bb, profile=True)).profile("minus", y=TWO, x=ONE)
    np.testing.assert_array_equal(report.result, WANTED)


def test_functions_stay_functions_of_tvm_ffi():
    identity = make_callable("f", tvm_ffi.convert(lambda f: f), ["f"], "", True)
    other = make_callable("g", tvm_ffi.convert(lambda: 3), [], "", True)
    assert isinstance(identity(other), tvm_ffi.Function)
    assert identity(other).same_as(other.packed)


def test_parameters_without_identifiers():
    add = make_callable("add", lambda x, y: x + y, ["a.b", "class"], "", True)
    assert add(1, 2) == 3
    with pytest.raises(TypeError):
        add(_relax_0=1, _relax_1=2)


ONCE = """
relax.func impure @main(%f: !relax.func<derive = @default_derive>, %s: !relax.prim<f64>)
    -> !relax.object {
  %0 = relax.call %f : !relax.func<derive = @default_derive> (%s)
    : (!relax.prim<f64>) -> !relax.object
  relax.return %0 : !relax.object
}"""


def test_error_of_a_function_that_runs_does_not_run_it_again(vm, exec_mode):
    """Arguments that could be converted are not, once the function has begun."""
    calls = []

    def fail(number):
        calls.append(number)
        raise ValueError("no such number")

    main = relax.VirtualMachine(relax.compile(ONCE, exec_mode=exec_mode))["main"]
    fail.packed = tvm_ffi.convert(fail)
    with pytest.raises(ValueError, match="no such number"):
        main(fail, np.float64(2))
    assert calls == [2]


def test_error_has_no_frames_of_the_runtime(exec_mode):
    mod = """
    relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
      relax.return %x : !relax.tensor<[n, 4], f32>
    }"""
    vm = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))
    for call in (vm["main"], vm["main"].packed):
        with pytest.raises(ValueError, match="dimension 1 is 5") as caught:
            call(np.zeros((2, 5), "float32"))
        assert "<unknown>" not in "".join(traceback.format_exception(caught.value))


def test_daemon_threads_in_calls_do_not_end_the_process():
    program = """
import threading, time
import numpy as np, relax_mlir as relax
vm = relax.VirtualMachine(relax.compile('''
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}'''))
def serve():
    while True:
        vm["main"](np.ones(20000, "float32"))
for _ in range(4):
    threading.Thread(target=serve, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
