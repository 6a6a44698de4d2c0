# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TVM does before it lowers: calls without promises, and tensors in storages."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir.transform import CallTIRRewrite, LowerAllocTensor, RemovePurityChecking, Sequential

X = np.arange(3, dtype="float32")
T = "!relax.tensor<[n], f32>"

CALLS = """
relax.func @main(%x: T) -> T {
  %f = relax.closure (%y: T) -> T {
    %2 = relax.call_pure_packed "purity.copy"(%y) {sinfo_args = [T]} : (T) -> T
    relax.return %2 : T
  }
  %0 = relax.dataflow -> T {
    %4 = relax.negative %x : (T) -> T
    %2 = relax.negative %4 : (T) -> T
    %3 = relax.call_inplace_packed "purity.copy"(%2) inplace [0] : (T) -> T
    relax.output %3 : T
  }
  %1 = relax.call %f : !relax.func<(T) -> T, pure> (%0) : (T) -> T
  relax.return %1 : T
}
relax.func impure @effects(%x: T) -> T {
  %0 = relax.call_pure_packed "purity.copy"(%x) : (T) -> T
  relax.return %0 : T
}""".replace("T", T)


@pytest.fixture(autouse=True)
def copy() -> None:
    tvm_ffi.register_global_func("purity.copy", lambda x: x, override=True)


def test_calls_promise_nothing_any_more(exec_mode: str) -> None:
    after = RemovePurityChecking()(CALLS)
    assert relax.analysis.well_formed(after) == []
    assert "call_pure_packed" not in str(after) and "call_inplace_packed" not in str(after)
    assert "relax.dataflow" not in str(after)
    assert str(after).count("relax.force_pure = true") == 2, "of the function and its closure"
    assert "relax.force_pure" not in after["effects"].attrs
    assert after["main"].struct_info.is_pure
    vm = relax.VirtualMachine(relax.compile(after))
    for name in ("main", "effects"):
        np.testing.assert_array_equal(np.from_dlpack(vm[name](X)), X)


def test_functions_as_values_are_called() -> None:
    mod = relax.IRModule(
        """
relax.func @main(%f: !relax.func<derive = @default_derive>, %x: T) -> T {
  %0 = relax.call_pure_packed %f : !relax.func<derive = @default_derive> (%x)
    {sinfo_args = [T]} : (T) -> T
  relax.return %0 : T
}""".replace("T", T)
    )
    after = RemovePurityChecking()(mod)
    assert "relax.call %f" in str(after)
    assert relax.analysis.well_formed(after) == []


def test_dataflow_blocks_without_such_calls_stay() -> None:
    mod = relax.IRModule(
        """
relax.func @main(%x: T) -> T {
  %0 = relax.dataflow -> T {
    %1 = relax.exp %x : (T) -> T
    relax.output %1 : T
  }
  relax.return %0 : T
}""".replace("T", T)
    )
    assert "relax.dataflow" in str(RemovePurityChecking()(mod))


ALLOC = """
module attributes {relax.global_info = {d0 = #relax.vdevice<"llvm", 0>}} {
  func.func @exp(%x: memref<?xf64>, %y: memref<?xf64>) {
    linalg.exp ins(%x : memref<?xf64>) outs(%y : memref<?xf64>)
    return
  }
  relax.func @main(%x: !relax.tensor<[n], f64, @d0>) -> !relax.tensor<[n], f64, @d0> {
    %0 = relax.call_tir @exp(%x) : (!relax.tensor<[n], f64, @d0>) -> !relax.tensor<[n], f64, @d0>
    %1 = relax.call_tir @exp(%0) : (!relax.tensor<[n], f64, @d0>) -> !relax.tensor<[n], f64, @d0>
    relax.return %1 : !relax.tensor<[n], f64, @d0>
  }
}"""


def test_each_tensor_gets_a_storage(exec_mode: str) -> None:
    after = Sequential([CallTIRRewrite(), LowerAllocTensor()])(ALLOC)
    assert str(after).count("relax.builtin.alloc_storage size <n * 8>") == 2
    assert str(after).count("relax.builtin.alloc_tensor from") == 2
    assert '#relax.vdevice<"llvm", 0>}' in str(after), "storages are on the device of the tensor"
    assert relax.structural_equal(LowerAllocTensor()(after), after)
    x = X.astype("float64")
    result = relax.VirtualMachine(relax.compile(after))["main"](x)
    np.testing.assert_allclose(np.from_dlpack(result), np.exp(np.exp(x)), rtol=1e-12)
