# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of files are read without running Python."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as relax
from relax_mlir.script import from_source
from relax_mlir.script.parser.diagnostics import ScriptError

MODULE = '''"""A module."""
from __future__ import annotations
from tvm.script import ir as I
from tvm.script import relax as RR
import tvm
{}

@I.ir_module
class Module:
    @T.prim_func
    def twice(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4))
        B = T.match_buffer(b, (n, 4))
        for i, j in T.grid(n, 4):
            with T.block("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, vj]

    @RR.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            y = R.nn.softmax(R.exp(x), axis=len([1, 2]) - 1)
            z = R.call_tir(cls.twice, (y,), R.Tensor((n, 4), "float32"))
            R.output(z)
        return z
'''

# What leads out of TVMScript.
ESCAPES = [
    "open('made', 'w')",
    "__import__('os')",
    "eval('1')",
    "getattr(R, 'exp')",
    "R.exp.__globals__",
    "''.format(R)",
    "(lambda: 0).__code__",
    "I.entry.from_source('')",
    "I.state",
    "R.const(1).owner",
    "relax.load('x')",
    "tvm.ir.load_json.__globals__",
]
FORMS = [
    "@R.function\ndef main(x: R.Tensor((1,), {})):\n    return x\n",
    "@R.function\ndef main(x: R.Tensor(({!r},), 'float32')):\n    return x\n",
    "@R.function\ndef main(x: R.Tensor((1,), 'float32')):\n    y = {}\n    return y\n",
    "@T.prim_func\ndef main(x: T.Buffer((1,), 'float32')):\n    y = {}\n    x[0] = y\n",
]


def test_the_same_module_as_with_python() -> None:
    read = from_source(MODULE.format(""), run_python=False)
    run = from_source(MODULE.format(""), {"RR": relax.script.relax})
    relax.assert_structural_equal(read, run)


@pytest.mark.parametrize(
    "statement", ["import os", "x = 1", "print(1)", "from os import path", "del I", "x: int = 1"]
)
def test_error_of_statements_that_would_run(statement: str) -> None:
    with pytest.raises(ScriptError, match="the file does not run as Python"):
        from_source(MODULE.format(statement), run_python=False)


def test_error_of_other_names_of_script() -> None:
    with pytest.raises(ScriptError, match="expected ir, relax or tir, but got 'parser'"):
        from_source(MODULE.format("from relax_mlir.script import parser"), run_python=False)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("escape", ESCAPES)
def test_error_of_expressions_that_leave_script(
    escape: str, form: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScriptError):
        from_source(form.format(escape), run_python=False)
    assert not list(tmp_path.iterdir())


def test_metadata_is_read() -> None:
    text = inspect.cleandoc(
        """
        metadata = [n for n in range(3)]
        @R.function
        def main(x: R.Tensor((len(metadata),), "float32")):
            return x
        """
    )
    found = from_source(text, run_python=False)
    assert str(found.struct_info.params[0]) == "!relax.tensor<[3], f32>"
