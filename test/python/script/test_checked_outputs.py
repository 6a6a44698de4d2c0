"""Outputs of kernels that know more of their dimensions than the call says, or contradict it."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.script import ScriptError, from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Transposed:
    @T.prim_func
    def transpose(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (4, n), "float32")
        for i, j in T.grid(4, n):
            with T.sblock("transpose"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[w, v]

    @R.function
    def main(x: R.Tensor((3, "m"), "float32")):
        m = T.int64()
        y = R.call_tir(Transposed.transpose, (x,), R.Tensor((m, 3), "float32"))
        return y

    @T.prim_func
    def split(
        x: T.Buffer((4,), "float32"), y: T.Buffer((2,), "float32"), z: T.Buffer((2,), "float32")
    ):
        for i in range(2):
            with T.sblock("split"):
                v = T.axis.spatial(2, i)
                y[v] = x[v]
                z[v] = x[v + 2]

    @R.function
    def tuple(x: R.Tensor(("m",), "float32")):
        m = T.int64()
        t = R.call_tir(
            Transposed.split, (x,), [R.Tensor((m // 2,), "float32"), R.Tensor((2,), "float32")]
        )
        return t[1]


def test_op01_output_is_checked_at_run_time():
    vm = relax.VirtualMachine(relax.compile(Transposed))
    x = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(np.from_dlpack(vm["main"](x)), x.T)
    with pytest.raises(ValueError, match=r"expected.*4"):
        vm["main"](x.reshape(3, 2, 2)[:, :, 0].copy())


def test_op01_outputs_in_a_tuple():
    vm = relax.VirtualMachine(relax.compile(Transposed))
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(np.from_dlpack(vm["tuple"](x)), x[2:])


def test_op01_type_is_that_of_the_call():
    assert '-> R.Tensor(("m", 3), ' in Transposed.script()


def test_op01_round_trip():
    again = from_source(Transposed.script())
    relax.assert_structural_equal(Transposed, again)


PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def flatten(a: T.handle, b: T.handle):
        m = T.int64()
        n = T.int64()
        A = T.match_buffer(a, (m, n), "float32")
        B = T.match_buffer(b, (m * n,), "float32")
        for i in range(m * n):
            with T.sblock("flatten"):
                v = T.axis.spatial(m * n, i)
                B[v] = A[v // n, v % n]

    @R.function
    def main(x: R.Tensor(({dims}), "float32"), s: R.Shape(["k", "l"])):
        k = T.int64()
        l = T.int64()
        return R.call_tir(Module.flatten, (x,), R.Tensor(({size},), "float32"))
"""


@pytest.mark.parametrize(
    ("dims", "size"),
    [("8, 4", "32"), ('"k", 4', "k * 4"), ('"k", 4', "l"), ('"k", "l"', "64"), ("8, 4", "k")],
)
def test_op01_output_of_fitting_size(dims, size):
    assert "call_tir" in str(from_source(PROGRAM.format(dims=dims, size=size)))


@pytest.mark.parametrize(
    ("dims", "size"), [("8, 4", "64"), ('"k", 4', "k * 4 + 1"), ('"k", "l"', "k * l + 2")]
)
def test_op01_output_of_another_size(dims, size):
    with pytest.raises(
        ScriptError, match=r"expected a value for kernel parameter 1 of type .*, as"
    ):
        from_source(PROGRAM.format(dims=dims, size=size))
