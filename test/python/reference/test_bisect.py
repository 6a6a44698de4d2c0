"""`bisect_wrong` names the pass, or the kernel, that makes a wrong number."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op, transform
from relax_mlir.driver import compiler
from relax_mlir.transform import phases


@pytest.fixture
def program(write, tensor):
    def body(x):
        return op.nn.softmax(op.matmul(op.add(x, op.exp(x)), op.const(np.eye(4, dtype="float32"))))

    return write(body, tensor(("n", 4)))


@pytest.fixture
def x():
    return np.random.default_rng(0).random((3, 4), "float32")


def replace(operation, name):
    """Put an operation of another name, with the same operands, in the place of one."""
    with operation.context, ir.InsertionPoint(operation), operation.location:
        types = [result.type for result in operation.results]
        other = ir.Operation.create(name, types, list(operation.operands))
    operation.results[0].replace_all_uses_with(other.results[0])


@transform.module_pass(opt_level=0, name="Break")
def break_exp(mod, ctx):
    """Take the wrong function."""

    def visit(operation):
        if operation.name == "relax.exp":
            replace(operation, "relax.tanh")
        return ir.WalkResult.ADVANCE

    mod.operation.walk(visit)
    return mod


def test_nothing_is_wrong(program, x):
    report = relax.bisect_wrong(program, [x])
    assert report.is_right
    assert "pass LegalizeOps" in report.checked
    assert any(each.startswith("kernel") for each in report.checked)
    assert "nothing differs" in repr(report)


def test_a_wrong_pass_is_found(program, x, monkeypatch):
    monkeypatch.setattr(phases, "_foldings", lambda options: [break_exp])
    report = relax.bisect_wrong(program, [x])
    assert (report.place, report.name) == ("pass", "Break")
    assert "pass DeriveStructInfo" in report.checked
    assert "pass Break" in repr(report)
    assert "expected" in repr(report)


def test_a_wrong_kernel_is_found(program, x, monkeypatch):
    """The lowered kernel is another one than the phases before it left."""
    run_phase = compiler._run_phase

    def run(name, module, options):
        if name == "kernels":
            module.operation.walk(break_kernel)
        run_phase(name, module, options)

    def break_kernel(operation):
        if operation.name == "math.exp":
            replace(operation, "math.tanh")
        return ir.WalkResult.ADVANCE

    monkeypatch.setattr(compiler, "_run_phase", run)
    report = relax.bisect_wrong(program, [x])
    assert report.place == "kernel"
    assert report.name is not None
    assert not report.is_right
    assert all(each.startswith("pass") or each.startswith("kernel") for each in report.checked)


def test_floats_may_be_as_far_apart_as_rtol_says(program, x, monkeypatch):
    monkeypatch.setattr(phases, "_foldings", lambda options: [break_exp])
    assert relax.bisect_wrong(program, [x], rtol=100.0).is_right


def test_kernels_with_the_names_of_builtins(tensor):
    """The machine has a builtin `add`, too, for dimensions."""
    bb = relax.BlockBuilder()
    i, k = tensor((), "int64", name="i"), tensor((), "int64", name="k")
    with bb.function("main", [i]):
        with bb.closure("down", [k], ret_struct_info=k.struct_info) as down:

            def again():
                return op.add(op.call(down, op.subtract(k, 1)), 1)

            bb.emit_func_output(bb.if_(op.less_equal(k, 0), lambda: op.const(0, "int64"), again))
        bb.emit_func_output(op.call(down, i))
    report = relax.bisect_wrong(bb, [np.array(4)])
    assert report.is_right
    assert report.checked.count("kernel add") == 4


def test_kernels_that_update_arguments(tensor):
    vector = relax.TensorStructInfo(("n",), "float32")
    bb = relax.BlockBuilder()
    kernel = bb.add_func("""func.func @kernel(%x: memref<?xf32>, %y: memref<?xf32>) {
      linalg.add ins(%x, %y : memref<?xf32>, memref<?xf32>) outs(%y : memref<?xf32>)
      return
    }""")
    x = relax.Var("x", vector)
    with bb.function("main", [x]):
        bb.emit_func_output(op.call_tir_inplace(kernel, [x, op.exp(x)], [1], vector))
    report = relax.bisect_wrong(bb, [np.ones(3, "float32")])
    assert report.is_right
    assert "kernel kernel" in report.checked
