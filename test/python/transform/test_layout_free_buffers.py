# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of kernels that are known before the program runs, and what is computed of those."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as relax
from relax_mlir import op, te
from relax_mlir.script import from_source
from relax_mlir.transform import AttachAttrLayoutFreeBuffers, SplitLayoutRewritePreproc
from rewriting_cases import build, check, names, tensor

# Kernels that bring one of their parameters into blocks of 4 columns before they use it.
KERNEL = """
    @T.prim_func(private=True)
    def kernel(x_: T.handle, w: T.Buffer((8, 8), "float32"), y_: T.handle):
        n = T.int64()
        x = T.match_buffer(x_, (n, 8), "float32")
        y = T.match_buffer(y_, (n, 8), "float32")
        packed = T.alloc_buffer((2, 8, 4), "float32")
        for i, j in T.grid(8, 8):
            packed[j // 4, i, j % 4] = w[i, j]
        for i, j in T.grid(n, 8):
            y[i, j] = T.float32(0)
            for k in range(8):
                y[i, j] = y[i, j] + x[i, k] * packed[j // 4, k, j % 4]
"""


def module(kernel: str, main: str) -> Any:
    return from_source(f"@I.ir_module\nclass Module:{kernel}{main}")


def call(params: str, args: str, rows: str = "n", head: str = "") -> str:
    return f"""
    @R.function
    def main({params}):
        {head}
        n = T.int64()
        with R.dataflow():
            y = R.call_tir(Module.kernel, ({args}), out_sinfo=R.Tensor(({rows}, 8), "float32"))
            R.output(y)
        return y
"""


X, W = 'x: R.Tensor(("n", 8), "float32")', 'w: R.Tensor((8, 8), "float32")'
KNOWN = 'R.func_attr({"num_input": 1})'


def kernels(mod: Any) -> list[str]:
    return [gvar.name for gvar in mod.get_global_vars() if gvar.name != "main"]


# ---------------------------------------------------------------------------------------------
# Attributes
# ---------------------------------------------------------------------------------------------


def add(x: Any, w: Any) -> Any:
    return te.compute(x.shape, lambda i: x(i) + w(i))


def test_known_parameters_are_stated() -> None:
    bb = relax.BlockBuilder()
    x, v, w = (tensor(name, 4) for name in "xvw")
    with bb.function("main", [x, v, w], attrs={"num_input": 1}):
        with bb.dataflow():
            y = bb.emit_te(add, x, v)
            z = bb.emit_te(add, y, op.exp(w))
            u = bb.emit_te(add, op.const(np.ones(4, "float32")), z)
            out = bb.emit_output(bb.emit_te(add, u, y))
        bb.emit_func_output(out)
    changed = AttachAttrLayoutFreeBuffers()(bb.get())
    assert len(kernels(changed)) == 3
    stated = [
        str(changed[name].operation.attributes["layout_free_buffers"])
        for name in kernels(changed)
        if "layout_free_buffers" in changed[name].operation.attributes
    ]
    assert stated == ["[1]", "[0]"]
    assert str(AttachAttrLayoutFreeBuffers()(changed)) == str(changed)
    check(AttachAttrLayoutFreeBuffers(), bb.get(), names(bb.get()))


def test_nothing_is_known() -> None:
    bb = relax.BlockBuilder()
    x, w = tensor("x", 4), tensor("w", 4)
    with bb.function("main", [x, w]):
        bb.emit_func_output(bb.emit_te(add, x, w))
    check(AttachAttrLayoutFreeBuffers(), bb.get(), None)


# ---------------------------------------------------------------------------------------------
# Kernels in two parts
# ---------------------------------------------------------------------------------------------


def test_weights_are_packed_by_a_kernel_of_its_own() -> None:
    mod = module(KERNEL, call(f"{X}, {W}", "x, w", head=KNOWN))
    changed = check(SplitLayoutRewritePreproc(), mod, ["call_tir", "call_tir"], n=3)
    assert kernels(changed) == ["kernel_weight_prepack", "kernel_prepacked"]
    text = str(changed)
    assert "@kernel_weight_prepack(%w)" in text and "@kernel_prepacked(%x, %" in text
    assert "-> !relax.tensor<[2, 8, 4], f32>" in text


def test_parameters_that_the_kernel_states() -> None:
    source = module(KERNEL, call(f"{X}, {W}", "x, w"))
    check(SplitLayoutRewritePreproc(), source, None)
    stated = KERNEL.replace(
        "        n = T.int64()",
        '        T.func_attr({"layout_free_buffers": [1], "my.kind": 3})\n        n = T.int64()',
        1,
    )
    mod = module(stated, call(f"{X}, {W}", "x, w"))
    changed = check(SplitLayoutRewritePreproc(), mod, ["call_tir", "call_tir"], n=3)
    assert "layout_free_buffers" not in str(changed)
    assert str(changed).count("my.kind = 3") == 2


def test_known_arguments_of_two_calls() -> None:
    main = f"""
    @R.function
    def main({X}, v: R.Tensor((8, 8), "float32"), {W}):
        {KNOWN}
        n = T.int64()
        with R.dataflow():
            a = R.call_tir(Module.kernel, (x, v), out_sinfo=R.Tensor((n, 8), "float32"))
            b = R.call_tir(Module.kernel, (a, w), out_sinfo=R.Tensor((n, 8), "float32"))
            R.output(b)
        return b
"""
    changed = check(SplitLayoutRewritePreproc(), module(KERNEL, main), ["call_tir"] * 4, n=2)
    assert len(kernels(changed)) == 2


def test_several_buffers_of_which_one_is_made_of_another() -> None:
    kernel = """
    @T.prim_func(private=True)
    def kernel(v: T.Buffer((8,), "float32"), x: T.Buffer((8,), "float32"),
               w: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        a = T.alloc_buffer((8,), "float32")
        b = T.alloc_buffer((8,), "float32")
        c = T.alloc_buffer((8,), "float32")
        d = T.alloc_buffer((8,), "float32")
        for i in range(8):
            a[i] = w[7 - i]
        for i in range(8):
            b[i] = a[i] + v[i]
        for i in range(8):
            c[i] = x[i] * T.float32(2)
        for i in range(8):
            d[i] = v[i] * v[i]
        for i in range(8):
            y[i] = b[i] * c[i] + d[i] + v[i]
"""
    params = ", ".join(f'{name}: R.Tensor((8,), "float32")' for name in "xvw")
    main = f"""
    @R.function
    def main({params}):
        {KNOWN}
        with R.dataflow():
            y = R.call_tir(Module.kernel, (v, x, w), out_sinfo=R.Tensor((8,), "float32"))
            R.output(y)
        return y
"""
    wanted = ["call_tir", "get_item", "get_item", "call_tir"]
    changed = check(SplitLayoutRewritePreproc(), module(kernel, main), wanted)
    # The second part still reads v, but not w.
    (line,) = [line for line in str(changed).splitlines() if "call_tir @kernel_prepacked" in line]
    assert line.split("(")[1].split(")")[0].count("%") == 4 and "%w" not in line


def stays(kernel: str, rows: str = "n", params: str = f"{X}, {W}", args: str = "x, w") -> None:
    check(SplitLayoutRewritePreproc(), module(kernel, call(params, args, rows, KNOWN)), None)


def test_buffers_that_are_filled_of_others_stay() -> None:
    stays(KERNEL.replace("= w[i, j]", "= w[i, j] + x[0, j]"))
    # One that is changed later by what is not known.
    stays(
        KERNEL.replace(
            "y[i, j] = T.float32(0)", "y[i, j] = T.float32(0); packed[0, 0, 0] = x[0, 0]"
        )
    )
    # One that holds constants.
    stays(KERNEL.replace("= w[i, j]", "= T.float32(1)"))


def test_buffers_of_unknown_size_stay() -> None:
    stays("""
    @T.prim_func(private=True)
    def kernel(x_: T.handle, w: T.Buffer((8, 8), "float32"), y_: T.handle):
        n = T.int64()
        x = T.match_buffer(x_, (n, 8), "float32")
        y = T.match_buffer(y_, (n, 8), "float32")
        rows = T.alloc_buffer((n, 8), "float32")
        for i, j in T.grid(n, 8):
            rows[i, j] = w[0, j]
        for i, j in T.grid(n, 8):
            y[i, j] = x[i, j] + rows[i, j]
""")


def test_kernels_on_tensors_stay() -> None:
    mod = build(
        lambda x, w: op.matmul(x, op.permute_dims(w)),
        tensor("x", 3, 4),
        tensor("w", 5, 4),
        attrs={"num_input": 1},
    )
    lowered = relax.transform.LegalizeOps()(mod)
    check(SplitLayoutRewritePreproc(), lowered, None)
