# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the files of a version of the format that later versions have to load.

Run it once for each version of the format, with the name of a new folder beside this file:

    python test/data/compatibility/make.py format-1
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import relax_mlir as relax
from relax_mlir import op

# Files hold machine code, so they are for what every processor of this architecture can do.
TARGET = "llvm -mcpu=x86-64"


def program() -> relax.IRModule:
    """Return a program with constants, symbolic shapes, a branch and a tuple."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            w = op.const(np.arange(12, dtype="float32").reshape(4, 3))
            y = bb.emit(op.nn.softmax(op.matmul(x, w)))
            out = bb.emit_output(op.tuple(y, op.flatten(x)))
        bb.emit_func_output(out)
    return bb.get()


def main(name: str) -> None:
    """Write the files."""
    folder = Path(__file__).parent / name
    folder.mkdir(exist_ok=True)
    module = program()
    with (folder / "program.mlirbc").open("wb") as file:
        module.operation.write_bytecode(file)
    for mode in ("compiled", "bytecode"):
        relax.compile(module, TARGET, exec_mode=mode).save(folder / f"{mode}.rx")


if __name__ == "__main__":
    main(sys.argv[1])
