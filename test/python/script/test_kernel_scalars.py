"""Scalars that kernels take: written, checked, printed and run."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

DTYPES = {
    "bool": (True, 1.0),
    "int8": (-3, -3.0),
    "uint8": (200, 200.0),
    "int16": (-300, -300.0),
    "uint16": (60000, 60000.0),
    "int32": (-70000, -70000.0),
    "uint32": (2**24, 2.0**24),
    "int64": (2**20, 2.0**20),
    "uint64": (7, 7.0),
    "float16": (1.5, 1.5),
    "bfloat16": (2.5, 2.5),
    "float32": (0.25, 0.25),
    "float64": (-0.125, -0.125),
}
PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def shift(x: T.Buffer((4,), "float32"), by: T.{dtype}, y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("shift"):
                v = T.axis.spatial(4, i)
                y[v] = x[v] + T.Cast("float32", by)

    @R.function
    def given(x: R.Tensor((4,), "float32"), by: R.Prim("{dtype}")):
        with R.dataflow():
            y = R.call_tir(Module.shift, (x, by), R.Tensor((4,), "float32"))
            R.output(y)
        return y

    @R.function
    def literal(x: R.Tensor((4,), "float32")):
        return R.call_tir(Module.shift, (x, {value!r}), R.Tensor((4,), "float32"))

    @R.function
    def typed(x: R.Tensor((4,), "float32")):
        return R.call_tir(Module.shift, (x, R.prim_value(T.{dtype}({value!r}))),
                          R.Tensor((4,), "float32"))
"""
X = np.arange(4, dtype="float32")


def run(module, name, *args):
    """Return what a function gives, as an array."""
    return np.from_dlpack(relax.VirtualMachine(relax.compile(module))[name](*args))


@pytest.mark.parametrize("dtype", DTYPES)
def test_op01_scalar_of_any_type(dtype):
    value, number = DTYPES[dtype]
    module = from_source(PROGRAM.format(dtype=dtype, value=value))
    vm = relax.VirtualMachine(relax.compile(module))
    for name, args in [("given", (value,)), ("literal", ()), ("typed", ())]:
        np.testing.assert_array_equal(np.from_dlpack(vm[name](X, *args)), X + np.float32(number))


@pytest.mark.parametrize("dtype", DTYPES)
def test_op01_scalars_round_trip(dtype):
    module = from_source(PROGRAM.format(dtype=dtype, value=DTYPES[dtype][0]))
    again = from_source(module.script())
    relax.assert_structural_equal(module, again)
    assert again.script() == module.script()


@pytest.mark.parametrize(
    ("dtype", "value", "nearest"),
    [
        # Rounded to float32 first, these would lie between two halves and go to the even one.
        ("float16", 1 + 2**-11 + 2**-40, 1 + 2**-10),
        ("float16", -(1 + 2**-11 + 2**-40), -(1 + 2**-10)),
        ("float16", 1 + 3 * 2**-11 - 2**-40, 1 + 2**-10),
        ("float16", 1 + 2**-11, 1.0),
        ("float16", 65504.0, 65504.0),
        ("float16", 1e300, np.inf),
        ("float16", -1e-300, -0.0),
        ("float16", np.nan, np.nan),
        ("bfloat16", 1 + 2**-8 + 2**-40, 1 + 2**-7),
        ("bfloat16", 1 + 2**-8, 1.0),
        ("bfloat16", -np.inf, -np.inf),
    ],
)
def test_op01_scalar_is_rounded_once(dtype, value, nearest):
    module = from_source(PROGRAM.format(dtype=dtype, value=1.0))
    result = run(module, "given", np.zeros(4, "float32"), value)
    np.testing.assert_array_equal(result, np.full(4, nearest, "float32"))


def test_op01_scalar_that_does_not_fit_at_run_time():
    module = from_source(PROGRAM.format(dtype="uint8", value=1))
    with pytest.raises(ValueError, match=r"argument 'by': expected !relax.prim<ui8>.*300"):
        run(module, "given", X, 300)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("300", "expected a value of type uint8, but got 300"),
        (
            "R.prim_value(T.float32(1))",
            "expected a value for kernel parameter 1 of type 'i8', but got '!relax.prim<f32>'",
        ),
        (
            "x",
            r"expected a value for kernel parameter 1 of type 'i8', but got '!relax.tensor<\[4\]",
        ),
        (
            'R.str("2")',
            "expected a tensor, but got a value of type !relax.object",
        ),
    ],
)
def test_op01_wrong_scalar(argument, message):
    text = PROGRAM.format(dtype="uint8", value=1).replace("(x, 1)", f"(x, {argument})")
    with pytest.raises(ValueError, match=message):
        from_source(text)


def test_op01_shape_variable_and_scalar():
    @I.ir_module
    class Module:
        @T.prim_func
        def fill(value: T.float32, rows: T.int64, var_y: T.handle):
            n = T.int64()
            y = T.match_buffer(var_y, (n,), "float32")
            for i in range(n):
                with T.sblock("fill"):
                    v = T.axis.spatial(n, i)
                    y[v] = value * T.Cast("float32", rows)

        @R.function
        def main(s: R.Shape(["n"]), value: R.Prim("float32")):
            n = T.int64()
            return R.call_tir(Module.fill, (value, n * 2), R.Tensor((n,), "float32"))

    result = run(Module, "main", tvm_ffi.Shape((3,)), 1.5)
    np.testing.assert_array_equal(result, np.full(3, 9, "float32"))


def test_op02_update_beside_scalars():
    @I.ir_module
    class Module:
        @T.prim_func
        def scale(by: T.float64, x: T.Buffer((4,), "float64"), if_true: T.bool):
            for i in range(4):
                with T.sblock("scale"):
                    v = T.axis.spatial(4, i)
                    x[v] = T.if_then_else(if_true, x[v] * by, x[v])

        @R.function
        def main(x: R.Tensor((4,), "float64"), by: R.Prim("float64"), if_true: R.Prim("bool")):
            y = R.add(x, x)
            return R.call_tir_inplace(
                Module.scale, (by, y, if_true), [1], R.Tensor((4,), "float64")
            )

    x = np.arange(4.0)
    np.testing.assert_array_equal(run(Module, "main", x, 0.5, True), x)
    np.testing.assert_array_equal(run(Module, "main", x, 0.5, False), 2 * x)


def test_op01_builder_takes_numbers_and_variables():
    builder = relax.BlockBuilder()
    kernel = builder.add_func(
        """func.func @scale(%x: memref<4xf32>, %s: f32, %k: i32, %y: memref<4xf32>) {
          %n = arith.sitofp %k : i32 to f32
          linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                          iterator_types = ["parallel"]} ins(%x : memref<4xf32>)
              outs(%y : memref<4xf32>) {
          ^bb0(%a: f32, %b: f32):
            %0 = arith.mulf %a, %s : f32
            %1 = arith.addf %0, %n : f32
            linalg.yield %1 : f32
          }
          return
        }"""
    )
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    s = relax.Var("s", relax.PrimStructInfo("float32"))
    with builder.function("main", [x, s]):
        y = op.call_tir(kernel, [x, s, 3], x.struct_info)
        z = op.call_tir(kernel, [y, 2, np.int32(1)], x.struct_info)
        builder.emit_func_output(z)
    np.testing.assert_array_equal(run(builder.get(), "main", X, 0.5), (X * 0.5 + 3) * 2 + 1)
