"""Kernels that return a scalar, called by Relax functions and by other kernels."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.script import ScriptError, from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Scalars:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return R.call_tir(Scalars.shifted, (x,), R.Tensor((n,), "float32"))

    @T.prim_func
    def shifted(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("shifted"):
                v = T.axis.spatial(n, i)
                B[v] = Scalars.sum(A[v], Scalars.sum(A[v], 1)) * 2.0

    @T.prim_func(private=True)
    def sum(x: T.float32, y: T.float32) -> T.float32:
        return x + y

    @T.prim_func(private=True)
    def is_even(n: T.int64) -> T.bool:
        T.func_attr({"tirx.is_host_func": True})
        T.ret(n % 2 == 0)

    @T.prim_func(private=True)
    def low_byte(n: T.int64) -> T.uint8:
        shifted: T.int64 = n + 256
        return T.Cast("uint8", shifted)

    @T.prim_func(private=True)
    def half(n: T.int64) -> T.float16:
        return T.Cast("float16", n) / T.float16(2)

    @R.function
    def numbers(n: R.Prim("int64"), x: R.Prim("float32")):
        with R.dataflow():
            even = Scalars.is_even(n)
            byte = Scalars.low_byte(n)
            total = Scalars.sum(x, R.prim_value(T.float32(2)))
            half = Scalars.half(n)
            R.output(even, byte, total, half)
        return (even, byte, total, half)

    @R.function
    def branch(x: R.Tensor(("n",), "float32")) -> R.Prim("int64"):
        n = T.int64()
        if Scalars.is_even(R.prim_value(n)):  # noqa: SIM108
            y = R.prim_value(1)
        else:
            y = R.prim_value(2)
        return y

    @T.prim_func(private=True)
    def first(x: T.Buffer((2,), "int32")) -> T.int32:
        x[1] = 7
        return x[0]

    @R.function(pure=False)
    def memory(x: R.Tensor((2,), "int32")):
        y = Scalars.first(x)
        return y


@pytest.fixture(scope="module")
def vm():
    return relax.VirtualMachine(relax.compile(Scalars))


@pytest.mark.parametrize("n", [4, 3, 0, -1, 200])
def test_dr14_results(vm, n):
    even, byte, total, half = vm["numbers"](n, 1.5)
    assert (even, byte, total, half) == (n % 2 == 0, n % 256, 3.5, n / 2)
    assert isinstance(even, bool)


def test_dr14_kernel_of_kernels(vm):
    x = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(np.from_dlpack(vm["main"](x)), 4 * x + 2)


@pytest.mark.parametrize("n", [0, 3])
def test_dr14_condition(vm, n):
    assert vm["branch"](np.zeros(n, "float32")) == 1 + n % 2


def test_dr14_kernel_that_changes_its_argument(vm):
    x = np.array([5, 6], "int32")
    assert vm["memory"](x) == 5
    np.testing.assert_array_equal(x, [5, 7])


def test_gr02_round_trip():
    text = Scalars.script()
    assert "def is_even(a: T.int64) -> T.bool:" in text.replace("n: T", "a: T")
    assert "Scalars.sum(" in text
    assert "I.mlir" not in text
    again = from_source(text)
    relax.assert_structural_equal(Scalars, again)
    assert again.script() == text


def test_nested_calls_are_emitted_once():
    assert str(Scalars).count("call @sum(") == 3  # one of them in Relax


def test_gr02_callee_behind_its_caller():
    names = [var.name for var in Scalars.get_global_vars()]
    assert names.index("shifted") < names.index("sum")


PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def callee(x: T.float32) -> T.float32:
        return x

    @T.prim_func(private=True)
    def on_memory(x: T.Buffer((2,), "float32")) -> T.float32:
        return x[0]

    @T.prim_func(private=True)
    def silent(x: T.float32):
        T.evaluate(x)

    @T.prim_func
    def caller(A: T.Buffer((4,), "float32"), n: T.int64) -> T.float32:
        {body}

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return x
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return Module.callee(A[0], 1)", "expected 1 arguments of 'callee'"),
        ("return Module.callee(x=A[0])", "expected 1 arguments of 'callee'"),
        ("return Module.callee(A)", "expected a number, but got buffer 'A'"),
        ("return Module.on_memory(A[0])", "expected 'on_memory' to take scalars and to return one"),
        ("return Module.silent(A[0])", "expected 'silent' to take scalars and to return one"),
        ("return Module.caller(A, n)", "expected a kernel of the module that does not call this"),
        ("return Module.main(A[0])", "expected a kernel of the module that does not call this"),
        ("return Module.missing(A[0])", "expected a function of the module"),
        ("return A", "expected a number, but got buffer 'A'"),
        ("pass", "expected a return statement at the end"),
        ("return", "expected a value of type float32 to return"),
        ("return A[0]\n        A[1] = 0.0", "expected nothing after the return statement"),
        ("if n > 1:\n            return A[0]", "expected a return statement at the end"),
    ],
)
def test_error_rf14_scalar_kernel(body, message):
    with pytest.raises(ScriptError, match=message):
        from_source(PROGRAM.format(body=body))


def test_error_rf14_kernels_that_call_each_other():
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def one(x: T.float32) -> T.float32:
        return Module.two(x)

    @T.prim_func(private=True)
    def two(x: T.float32) -> T.float32:
        return Module.one(x)
"""
    with pytest.raises(ScriptError, match="expected a kernel of the module that does not call"):
        from_source(text)


def test_names_of_python_need_no_statement():
    factor = 2.0

    def program():
        @R.function
        def scaled(x: R.Tensor((2,), "float32")):
            nonlocal factor
            y = R.multiply(x, R.const(factor, "float32"))
            return y

        return scaled

    assert "dense<2.0" in str(program())
