# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of the Relax RFC, from Python to numbers.

A kernel (D0), a shape that is known at run time only (D1), and a dataflow block beside a call with
side effects (D2), in one function: match, dot, flatten, call_tir, call_packed, return.
"""

from __future__ import annotations

import sys

import numpy as np
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op

# D0: a kernel writes its last parameter.
EXP = """
func.func private @tir_exp_func(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}
"""


@tvm_ffi.register_global_func("custom_inplace_update")
def custom_inplace_update(x: tvm_ffi.Tensor) -> None:
    """Add 1 to each element, through a view."""
    array = np.from_dlpack(x)
    array += 1


def write() -> relax.BlockBuilder:
    """Return the program. Its types name n, k and m; only n and k are bound by the arguments."""
    bb = relax.BlockBuilder()
    kernel = bb.add_func(EXP)
    x = relax.Var("x", relax.TensorStructInfo(("n", "k"), "float32"))
    w = relax.Var("w", relax.TensorStructInfo(dtype="float32"))
    with bb.function("relax_func", [x, w], pure=False):
        with bb.dataflow():  # D2
            lv0 = bb.match_cast(w, relax.TensorStructInfo(("k", "m"), "float32"), "lv0")  # D1
            lv1 = bb.emit(op.matmul(x, lv0), "lv1")
            lv2 = bb.emit(op.flatten(lv1), "lv2")  # of shape (n * m,)
            out = relax.TensorStructInfo(("n * m",), "float32")
            gv0 = bb.emit_output(op.call_tir(kernel, [lv2], out), "gv0")  # D0
        bb.emit(op.call_packed("custom_inplace_update", gv0))  # D0, D2
        bb.emit_func_output(gv0)
    return bb


def main() -> int:
    """Run it at two sizes and show two errors; return 1 where it differs from NumPy."""
    program = write()
    print(program.get().operation.get_asm(use_name_loc_as_prefix=True))
    relax_func = relax.VirtualMachine(relax.compile(program))["relax_func"]

    rng = np.random.default_rng(0)
    passed = True
    for n, k, m in ((2, 3, 4), (5, 16, 7)):
        x, w = rng.random((n, k), "float32"), rng.random((k, m), "float32")
        result = np.from_dlpack(relax_func(x, w))
        expected = np.exp((x @ w).flatten()) + 1
        difference = abs(result / expected - 1).max()
        print(f"n = {n}, k = {k}, m = {m}: {result.shape}, relative difference {difference:.1e}")
        passed &= result.shape == expected.shape and bool(difference < 1e-5)

    print("\nWhat does not fit is refused:\n")
    for wrong in (np.zeros((4, 3), "float32"), np.zeros((3, 4), "float64")):
        try:
            relax_func(np.zeros((2, 3), "float32"), wrong)
            passed = False
        except (TypeError, ValueError) as error:
            print(f"  {type(error).__name__}: {error}")
    print("\nPASSED" if passed else "\nFAILED: expected what NumPy computes")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
