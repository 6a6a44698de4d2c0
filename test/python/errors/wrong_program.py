# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the wrong inputs of the tables use, and how one is run."""

import contextlib
import functools
import io
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import relax_mlir as relax
from mlir import ir
from relax_mlir import analysis, dpl, op, runtime, transform
from relax_mlir.script import from_source

_FOLDER = tempfile.TemporaryDirectory()

TEXT = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
"""


class CommandError(Exception):
    """A command ended with an exit status; the text is what it wrote to stderr."""


def emit(write):
    """Write a function of parameters x, y, i, t and p, whose result `write` returns."""
    bb = relax.BlockBuilder()
    matrix = relax.TensorStructInfo(("n", 4), "float32")
    types = {
        "x": matrix,
        "y": relax.TensorStructInfo((4,), "float32"),
        "i": relax.TensorStructInfo(("n",), "int64"),
        "t": relax.TupleStructInfo([matrix, matrix]),
        "p": relax.PrimStructInfo("int64"),
    }
    params = {name: relax.Var(name, type_) for name, type_ in types.items()}
    with bb.function("main", list(params.values())):
        values = [params[name].value for name in write.__code__.co_varnames]
        bb.emit_func_output(write(*values))
    return bb.get()


@functools.cache
def machine(exec_mode="compiled"):
    """Return a machine for functions of one tensor, and of a tuple and a number."""
    bb = relax.BlockBuilder()
    matrix = relax.TensorStructInfo(("n", 4), "float32")
    x = relax.Var("x", matrix)
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    t = relax.Var("t", relax.TupleStructInfo([matrix, matrix]))
    p = relax.Var("p", relax.PrimStructInfo("int64"))
    with bb.function("pair", [t, p]):
        bb.emit_func_output(op.add(t[0], t[1]))
    return relax.VirtualMachine(relax.compile(bb, exec_mode=exec_mode))


def module():
    return relax.IRModule(TEXT)


def kernel_script(body):
    """Parse a function of TVMScript of x: R.Tensor(("n", 4)) with a body."""
    lines = "\n".join("        " + line for line in body.splitlines())
    return from_source(
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main(x: R.Tensor(('n', 4), 'float32')):\n{lines}\n"
    )


def tir_script(body):
    """Parse a kernel of two buffers, A and B, of 4 elements, with a body."""
    lines = "\n".join("    " + line for line in body.splitlines())
    buffer = "T.Buffer((4,), 'float32')"
    return from_source(f"@T.prim_func\ndef f(A: {buffer}, B: {buffer}):\n{lines}\n")


def command(*words, text=""):
    """Run a command; raise CommandError where it fails."""
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        raise CommandError(done.stderr)


def temporary(name, data=b""):
    """Return the path of a new file."""
    path = Path(_FOLDER.name) / name
    path.write_bytes(data)
    return path


def names():
    """Return what a wrong input may use."""
    return {
        **globals(),
        "x_type": relax.TensorStructInfo(("n", 4), "float32"),
        "zeros": np.zeros((2, 4), "float32"),
        "contextlib": contextlib,
    }


def run(code):
    """Run a wrong input; return the exception that it raises, or None."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "<wrong input>", "exec"), names())
    except BaseException as error:
        return error
    return None


__all__ = ["CommandError", "analysis", "dpl", "ir", "names", "run", "runtime", "transform"]
