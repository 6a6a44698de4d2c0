# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export a model as a shared library: python export_model.py PATH [--self-contained]."""

import argparse

import numpy as np
from relax_mlir import BlockBuilder, TensorStructInfo, Var, compile, op  # noqa: A004
from relax_mlir.op import const

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path")
parser.add_argument("--self-contained", action="store_true")
parser.add_argument("--exec-mode", default="compiled")
arguments = parser.parse_args()

# relu(x @ w + b), for any number of rows.
bb = BlockBuilder()
x = Var("x", TensorStructInfo(("n", 3), "float32"))
with bb.function("main", [x]):
    w = const(np.arange(6, dtype="float32").reshape(3, 2))
    b = const(np.array([-20, 1], "float32"))
    bb.emit_func_output(op.nn.relu(op.add(op.matmul(x, w), b)))

ex = compile(bb, exec_mode=arguments.exec_mode)
ex.export_library(arguments.path, self_contained=arguments.self_contained)
