"""Kernels as functions: called directly, as values, and by name."""

import numpy as np
import pytest
import relax_mlir as relax
from closure_programs import ALIASES, f32, machine
from mlir import ir
from relax_mlir import op

pytestmark = pytest.mark.usefixtures("exec_mode")

SCALE = """
func.func private @scale(%x: memref<?xf32>, %k: i64, %y: memref<?xf32>, %b: f32, %c: i1, %d: i32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %f = arith.sitofp %k : i64 to f32
  %e = arith.sitofp %d : i32 to f32
  scf.for %i = %zero to %n step %one {
    %0 = memref.load %x[%i] : memref<?xf32>
    %1 = arith.mulf %0, %f : f32
    %2 = arith.addf %1, %b : f32
    %3 = arith.addf %2, %e : f32
    %4 = arith.select %c, %3, %0 : f32
    memref.store %4, %y[%i] : memref<?xf32>
  }
  return
}
"""
SCALE_PARAMS = "%x: !vec, %k: !i64, %y: !vec, %b: !f32, %c: !i1, %d: !i32"
CALLS = {
    "direct": "%0 = relax.call @scale ARGS -> !unit",
    "value": """%f = relax.global_var @scale : !scale
      %t = relax.tuple %f : !scale
      %g = relax.get_item %t[0] : !relax.tuple<!scale>
      %0 = relax.call %g : !scale ARGS -> !unit""",
    "extern": """%f = relax.extern_func "scale"
      %0 = relax.call %f : !packed ARGS -> !any""",
    "packed": '%0 = relax.call_packed "scale" ARGS -> !any',
}
ARGS = "(%x, %k, %y, %b, %c, %d) : (!vec, !i64, !vec, !f32, !i1, !i32)"


@pytest.mark.parametrize("call", CALLS)
def test_se07_gr02_kernel_called_directly(call):
    kernel = SCALE.replace(" {\n", ' attributes {global_symbol = "scale"} {\n', 1)
    main = machine(f"""{kernel}
    relax.func @main({SCALE_PARAMS}) -> !unit attributes {{is_pure = false}} {{
      {CALLS[call].replace("ARGS", ARGS)}
      %1 = relax.tuple()
      relax.return %1 : !unit
    }}""")["main"]
    x, y = f32(1, 2, 3), f32(0, 0, 0)
    for k, b, c, d in ((2, 0.5, True, 1), (3, 2, False, -4)):
        assert len(main(x, k, y, b, c, d)) == 0
        assert y.tolist() == (x * k + b + d if c else x).tolist()


def kernel_call(param, arg):
    return f"""
    func.func private @fill(%x: {param}) {{
      return
    }}
    relax.func @main(%x: {arg}) -> !unit attributes {{is_pure = false}} {{
      %0 = relax.call @fill(%x) : ({arg}) -> !unit
      relax.return %0 : !unit
    }}"""


@pytest.mark.parametrize(
    ("param", "argument", "message"),
    [
        ("memref<?xf32>", f32(1, 2, 3, 4)[::2], "compact"),
        ("memref<?xf32>", np.ones((2, 2), "float32"), "rank"),
        ("memref<?xf32>", np.ones(2, "float64"), "float64"),
        ("memref<4xf32>", f32(1, 2), "dimension 0 is 2"),
        ("memref<?xf32>", 3, "integer"),
        ("i64", f32(1), "tensor"),
        ("i8", 300, "300"),
    ],
    ids=["strided", "rank", "dtype", "size", "kind", "scalar", "range"],
)
def test_se07_kernel_argument_error(param, argument, message):
    """The error names the function and the argument; nothing is copied."""
    main = machine(kernel_call(param, "!any"))["main"]
    with pytest.raises((TypeError, ValueError), match=rf"fill.closure: argument 0: .*{message}"):
        main(argument)


def test_se07_kernel_on_booleans(tmp_path):
    """The compiled module can be read again, though Booleans are bytes by then."""
    text = """
    func.func private @flip(%x: memref<?xi1>) {
      %zero = arith.constant 0 : index
      %true = arith.constant true
      %0 = memref.load %x[%zero] : memref<?xi1>
      %1 = arith.xori %0, %true : i1
      memref.store %1, %x[%zero] : memref<?xi1>
      return
    }
    relax.func @main(%x: !relax.tensor<ndim = 1, i1>) -> !unit attributes {is_pure = false} {
      %0 = relax.call @flip(%x) : (!relax.tensor<ndim = 1, i1>) -> !unit
      relax.return %0 : !unit
    }"""
    executable = relax.compile(ALIASES + text, dump_phases=tmp_path)
    flags = np.array([True, True])
    relax.VirtualMachine(executable)["main"](flags)
    assert flags.tolist() == [False, True]
    for dump in tmp_path.iterdir():
        assert ir.Module.parse(dump.read_text(), relax.default_context()).operation.verify()


def test_se07_kernel_on_tensors_updates_its_last_parameters():
    main = machine("""
    func.func private @copy(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %0 = linalg.copy ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }
    relax.func @main(%x: !vec, %y: !vec) -> !unit attributes {is_pure = false} {
      %0 = relax.call @copy(%x, %y) : (!vec, !vec) -> !unit
      relax.return %0 : !unit
    }""")["main"]
    x, y = f32(1, 2), f32(0, 0)
    main(x, y)
    assert (x.tolist(), y.tolist()) == ([1, 2], [1, 2])


def test_dr14_call_of_a_kernel_from_python(load, vector):
    bb = relax.BlockBuilder()
    kernel = bb.add_func("""
    func.func private @two(%x: memref<?xf32>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2.0 : f32
      %n = memref.dim %x, %zero : memref<?xf32>
      scf.for %i = %zero to %n step %one {
        memref.store %two, %x[%i] : memref<?xf32>
      }
      return
    }""")
    x = vector()
    with bb.function("main", [x], pure=False):
        bb.emit_func_output((op.call(kernel, x), op.global_var(kernel)))
    array = f32(1, 1, 1)
    unit, function = load(bb)(array)
    assert array.tolist() == [2, 2, 2]
    other = f32(5)
    function(other)
    assert (len(unit), other.tolist()) == (0, [2])
