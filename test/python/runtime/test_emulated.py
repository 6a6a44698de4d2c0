# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries for another machine, which an emulator runs: only with --emulate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
import tvm_ffi
from emulated import Emulator
from relax_mlir import op
from relax_mlir.op import const

MODES = pytest.mark.parametrize("mode", ["machine code", "bytes"])
X = np.arange(6, dtype="float32").reshape(2, 3)

VALUES = """
relax.func @main(%x: !relax.tensor<[n, m], bf16>, %s: !relax.shape<[k]>, %i: !relax.prim<i64>,
                 %f: !relax.prim<f64>, %b: !relax.prim<i1>, %t: !relax.tuple<!relax.object>)
    -> !relax.object {
  %0 = relax.shape <[n, k]>
  %1 = relax.tuple %x, %0, %s, %i, %f, %b, %t : !relax.tensor<[n, m], bf16>, !relax.shape<[n, k]>,
      !relax.shape<[k]>, !relax.prim<i64>, !relax.prim<f64>, !relax.prim<i1>,
      !relax.tuple<!relax.object>
  relax.return %1 : !relax.tuple<!relax.tensor<[n, m], bf16>, !relax.shape<[n, k]>,
      !relax.shape<[k]>, !relax.prim<i64>, !relax.prim<f64>, !relax.prim<i1>,
      !relax.tuple<!relax.object>>
}
"""


def export(emulator: Emulator, program: Any, mode: str = "machine code", **options: Any) -> Path:
    """Return a library for the machine of the emulator."""
    exec_mode = "compiled" if mode == "machine code" else "bytecode"
    made = relax.compile(program, emulator.machine.target, exec_mode=exec_mode)
    return emulator.export(made, **options)


@MODES
@pytest.mark.parametrize("self_contained", [False, True])
def test_rf17_libraries_of_another_machine(
    emulator: Emulator, mode: str, self_contained: bool
) -> None:
    """With a constant that has several pages."""
    weight = np.random.default_rng(0).standard_normal((3, 5000)).astype("float32")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 3), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.nn.relu(op.matmul(x, const(weight))))
    path = export(emulator, bb, mode, self_contained=self_contained)
    assert path.read_bytes()[18:20] == b"\xb7\0"  # EM_AARCH64
    result = emulator.call(path, "main", [tvm_ffi.from_dlpack(X)])
    np.testing.assert_allclose(np.from_dlpack(result), np.maximum(X @ weight, 0), rtol=1e-5)
    with pytest.raises(TypeError, match=r"main: argument 'x': expected .*, but got the integer 3"):
        emulator.call(path, "main", [3])


@MODES
def test_values_pass_as_they_are(emulator: Emulator, mode: str) -> None:
    x = torch.tensor([[1.5, -2], [float("inf"), 3e38]], dtype=torch.bfloat16)
    args = [tvm_ffi.from_dlpack(x), tvm_ffi.Shape((4,)), -(2**63), -0.0, True, ("text",)]
    result = emulator.call(export(emulator, VALUES, mode), "main", args)
    assert torch.equal(torch.from_dlpack(result[0]), x)
    assert tuple(result[1:]) == ((2, 4), (4,), -(2**63), -0.0, True, ("text",))
    assert isinstance(result[1], tvm_ffi.Shape) and result[5] is True
    assert np.signbit(result[4])


def test_arguments_are_changed(emulator: Emulator) -> None:
    vector = relax.TensorStructInfo(("n",), "float32")
    bb = relax.BlockBuilder()
    kernel = bb.add_func("""
        func.func @kernel(%x: memref<?xf32>) {
          linalg.map { arith.negf } ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
          return
        }""")
    x = relax.Var("x", vector)
    with bb.function("main", [x], pure=False):
        bb.emit_func_output(op.call_tir_inplace(kernel, x, 0, vector))
    data = np.array([1, -2, 3], "float32")
    result = emulator.call(export(emulator, bb), "main", [tvm_ffi.from_dlpack(data)])
    assert data.tolist() == np.from_dlpack(result).tolist() == [-1, 2, -3]


def test_error_a_process_that_ends_is_replaced(emulator: Emulator) -> None:
    path = export(emulator, VALUES)
    with pytest.raises(
        pytest.fail.Exception, match=r"relax_call_server ended with 1 during a call"
    ):
        emulator.exchange(b"\1" + b"\0" * 7 + b"/" + b"\0" * 8 + b"?")  # no value
    with pytest.raises(TypeError, match="expected 6 arguments, but got 0"):
        emulator.call(path, "main", [])
