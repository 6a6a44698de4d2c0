# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that others express: R.make_closure, R.call_py_func, R.call_tir_with_grad, ..."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import te, transform
from relax_mlir.script import from_source
from relax_mlir.training.utils import register_te_gradient

FUNCTIONS = """
    @T.prim_func
    def cube(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * A[vi] * A[vi]

    @R.function
    def inner(
        y: R.Tensor(("m",), "float32"), x: R.Tensor(("m",), "float32")
    ) -> R.Tensor(("m",), "float32"):
        return R.subtract(y, x)

    @R.function
    def join(
        a: R.Tensor(("n", 2), "float32"), b: R.Tensor(("k", 2), "float32")
    ) -> R.Tensor(("n + k", 2), "float32"):
        return R.concat((a, b), axis=0)

    @R.function(pure=False)
    def shout(y: R.Tensor(("m",), "float32"), x: R.Object) -> R.Tensor(("m",), "float32"):
        R.print(y)
        return y
"""
X = np.array([1, -2, 3.5, 4], "float32")


def module(body, result="R.Object"):
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return from_source(f"""
@I.ir_module
class Module:
{FUNCTIONS}
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), o: R.Object) -> {result}:
        n = T.int64()
{lines}
""")


def run(mod, mode, *args):
    relax.assert_structural_equal(mod, from_source(mod.script()))
    options = {"target": "reference"} if mode == "reference" else {"exec_mode": mode}
    result = relax.VirtualMachine(relax.compile(mod, **options))["main"](*(args or (X, 0)))
    return np.from_dlpack(result)


MODES = pytest.mark.parametrize("mode", ["compiled", "bytecode", "reference"])


@MODES
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The values that are given are the last arguments.
        (
            """
closure = R.make_closure(Module.inner, (x,))
return R.invoke_pure_closure(closure, (R.add(x, x),), sinfo_args=R.Tensor((n,), "float32"))
""",
            X,
        ),
        (
            """
closure: R.Object = R.make_closure(Module.inner, x)
y = R.invoke_closure(closure, (R.add(x, x),), sinfo_args=R.Tensor((n,), "float32"))
return R.add(y, x)
""",
            2 * X,
        ),
        # All arguments, and none.
        ("f = R.make_closure(Module.inner, (x, x))\nreturn R.invoke_closure(f)", 0 * X),
        ("f = R.make_closure(Module.inner, ())\nreturn R.invoke_closure(f, (x, x))", 0 * X),
        # A variable of the function has a name that means something else around the closure.
        (
            """
pair = R.stack((x, x), axis=1)
f = R.make_closure(Module.join, (pair,))
return R.invoke_pure_closure(f, R.const([[7, 8]], "float32"), R.Tensor((n + 1, 2), "float32"))
""",
            np.vstack([[[7, 8]], np.stack([X, X], 1)]),
        ),
        # A closure over a closure.
        (
            """
f = R.make_closure(Module.inner, ())
g = R.make_closure(f, x)
return R.invoke_pure_closure(g, R.multiply(x, R.const(3.0, "float32")))
""",
            2 * X,
        ),
        ("f = R.make_closure(Module.shout, o)\nreturn R.invoke_closure(f, x)", X),
        (
            """
make = R.ExternFunc("vm.builtin.make_closure")
f: R.Object = R.call_builtin_with_ctx(make, (Module.inner, x), sinfo_args=(R.Object,))
y = R.call_builtin_with_ctx(
    "vm.builtin.invoke_closure", (f, x), sinfo_args=(R.Tensor((n,), "float32"),)
)
s = R.call_builtin_with_ctx(
    "vm.builtin.alloc_storage",
    (R.shape([n * 4]), R.prim_value(0), R.dtype("uint8"), R.str("global")),
    sinfo_args=(R.Object,),
)
return y
""",
            0 * X,
        ),
    ],
)
def test_closures(body, expected, mode, capsys):
    np.testing.assert_array_equal(run(module(body), mode), expected)


def test_the_name_of_a_closure_is_that_of_the_variable():
    mod = module("by_x = R.make_closure(Module.inner, x)\nreturn by_x")
    assert "def by_x(" in mod.script()


@MODES
def test_error_of_a_run_where_an_object_is_no_such_closure(mode):
    call = 'R.{}(f, x, sinfo_args=R.Tensor((n,), "float32"))'
    mod = module(
        f"f: R.Object = R.make_closure(Module.shout, o)\nreturn {call}".format(
            "invoke_pure_closure"
        )
    )
    with pytest.raises(TypeError, match="match_cast"):
        run(mod, mode)
    mod = module(f"f: R.Object = o\nreturn {call}".format("invoke_closure"))
    with pytest.raises(TypeError, match="match_cast"):
        run(mod, mode)


@MODES
def test_functions_of_python(mode):
    @tvm_ffi.register_global_func("relax_mlir.test.sorted", override=True)
    def sort(x):
        return tvm_ffi.from_dlpack(np.sort(np.from_dlpack(x)))

    with_types = 'R.call_py_func("relax_mlir.test.sorted", (x,), {}=R.Tensor((n,), "float32"))'
    for name in ("out_sinfo", "out_ty"):
        np.testing.assert_array_equal(
            run(module(f"return {with_types.format(name)}"), mode), np.sort(X)
        )
    tvm_ffi.remove_global_func("relax_mlir.test.sorted")


def test_emit_with_sinfo(exec_mode):
    mod = module("y = R.emit_with_sinfo(R.add(x, x), R.Tensor(ndim=1))\nreturn y")
    assert "y: R.Tensor(ndim=1) = R.add(x, x)" in mod.script()
    np.testing.assert_array_equal(run(mod, exec_mode), 2 * X)
    with pytest.warns(relax.StructInfoWarning, match="says more"):
        mod = module('y = R.emit_with_sinfo(o, ty=R.Tensor((n,), "float32"))\nreturn y')
    np.testing.assert_array_equal(run(mod, exec_mode, X, X + 1), X + 1)


@register_te_gradient("relax_mlir.test.cube")
def _cube_gradient(adjoint, x, scale=1.0, power=2):
    assert power == 2
    return te.compute(x.shape, lambda *i: adjoint(*i) * x(*i) * x(*i) * 3.0 * scale)


@pytest.mark.parametrize("exec_mode", ["compiled", "bytecode"])
def test_a_kernel_with_a_gradient(exec_mode):
    mod = module(
        """
y = R.call_tir_with_grad(
    Module.cube, (x,), out_sinfo=R.Tensor((n,), "float32"),
    te_grad_name="relax_mlir.test.cube", te_grad_kwargs={"scale": T.float32(2), "power": 2}
)
return y
"""
    )
    call = (
        'R.call_tir_with_grad(cls.cube, (x,), out_sinfo=R.Tensor((n,), dtype="float32"), '
        'te_grad_name="relax_mlir.test.cube", te_grad_kwargs={"power": 2, "scale": 2.0})'
    )
    assert call in mod.script()
    np.testing.assert_allclose(run(mod, exec_mode), X**3)

    loss = from_source(f"""
@I.ir_module
class Module:
{FUNCTIONS}
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        y = R.call_tir_with_grad(
            Module.cube, (x,), out_ty=R.Tensor((4,), "float32"), te_grad_name="relax_mlir.test.cube"
        )
        return R.sum(y)
""")
    assert "te_grad_kwargs" not in loss.script()
    relax.assert_structural_equal(loss, from_source(loss.script()))
    made = transform.Gradient("main")(loss)
    vm = relax.VirtualMachine(relax.compile(made, exec_mode=exec_mode))
    value, gradients = vm["main_adjoint"](X)
    np.testing.assert_allclose(np.from_dlpack(value), (X**3).sum(), rtol=1e-6)
    np.testing.assert_allclose(np.from_dlpack(gradients[0]), 3 * X * X, rtol=1e-6)


OUT = 'R.Tensor((n,), "float32")'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R.make_closure(x, (x,))", "expected a function of known parameters, but got a value"),
        (
            "R.make_closure(Module.inner, (x, x, x))",
            "expected at most 2 values for the parameters of the function, but got 3",
        ),
        (
            "R.make_closure(Module.inner, (R.shape([n]),))",
            "relax.call: expected argument 1 of type '!relax.tensor<[m], f32>', but got "
            "'!relax.shape<[n]>'",
        ),
        ("R.invoke_closure(x, (x,))", "relax.call: expected a function, but got a value of type"),
        (
            "R.invoke_closure(o, (x,))",
            "expected sinfo_args, the type of the result, to call a closure of type !relax.object",
        ),
        ("R.call_py_func(3, (x,), R.Tensor)", "expected the name of a function as a str"),
        (
            'R.call_builtin_with_ctx("vm.builtin.foo", (x,), sinfo_args=R.Object)',
            "but got 'vm.builtin.foo': there is no context of TVM's virtual machine to call it "
            "with; register a function with tvm_ffi.register_global_func and call it by "
            "call_packed",
        ),
        (
            "R.call_builtin_with_ctx(x, (x,), sinfo_args=R.Object)",
            "expected the name of a function as a str, but got a value of type !relax.tensor",
        ),
        (
            f"R.call_tir_with_grad(Module.cube, (x,), out_sinfo={OUT})",
            "expected te_grad_name as the name of a gradient, but got None",
        ),
        (
            f'R.call_tir_with_grad(Module.cube, x, {OUT}, "f", te_grad_kwargs=3)',
            "expected te_grad_kwargs as a dict of arguments, but got 3",
        ),
        ("R.call_tir_with_grad(x, x, R.Tensor, 'f')", "expected a kernel of the module"),
        ("R.emit_with_sinfo(R.add(x, x), R.Shape)", "expected a value of type !relax.shape<*>"),
        ("R.emit_with_sinfo(R.add(x, x))", "expected the StructInfo once, but got it 0 times"),
    ],
)
def test_errors(text, message):
    with pytest.raises(Exception) as error:
        module(f"y = {text}\nreturn y")
    assert message in str(error.value)
    assert "y = " in str(error.value) and "^" in str(error.value)
