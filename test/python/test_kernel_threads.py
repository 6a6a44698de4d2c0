# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scratch memory of kernels, and their loops over several threads."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir.runtime import get_num_threads, memory_stats, set_num_threads
from relax_mlir.script import from_source

_fail_after = tvm_ffi.get_global_func("relax_mlir.runtime.fail_allocation_after")

# Doubles x by way of a row in scratch memory, several rows at once, and adds what lies in scratch
# memory of the kernel.
ROWS = """
func.func private @rows(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  %ones = memref.alloc(%m) : memref<?xf32>
  scf.for %j = %c0 to %m step %c1 {
    memref.store %one, %ones[%j] : memref<?xf32>
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %t = memref.alloc(%m) : memref<?xf32>
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      %b = arith.addf %a, %a : f32
      memref.store %b, %t[%j] : memref<?xf32>
    }
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %t[%j] : memref<?xf32>
      %b = memref.load %ones[%j] : memref<?xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %y[%i, %j] : memref<?x?xf32>
    }
    memref.dealloc %t : memref<?xf32>
  } {relax.grain = 2 : i64}
  return
}
relax.func @main(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32> {
  %0 = relax.call_tir @rows(%x) : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}
"""

# The same in scratch memory of a function that a kernel calls, and that returns a number.
SUM = """
func.func private @ones(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc(%n) : memref<?xf32>
  scf.for %j = %c0 to %n step %c1 {
    memref.store %one, %t[%j] : memref<?xf32>
  }
  %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
    %a = memref.load %t[%j] : memref<?xf32>
    %b = arith.addf %a, %s : f32
    scf.yield %b : f32
  }
  return %sum : f32
}
func.func private @sum(%x: memref<?xf32>, %y: memref<f32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %sum = func.call @ones(%n) : (index) -> f32
  memref.store %sum, %y[] : memref<f32>
  return
}
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[], f32> {
  %0 = relax.call_tir @sum(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}
"""


@pytest.fixture(autouse=True)
def rest() -> Iterator[None]:
    """Leave no failure for later tests."""
    yield
    _fail_after(-1)


def _rows(n: int, m: int) -> np.ndarray:
    return np.arange(n * m, dtype="float32").reshape(n, m)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_kernel_with_scratch_memory_computes(load, threads) -> None:
    set_num_threads(threads)
    main = load(ROWS)
    for n, m in [(0, 3), (1, 1), (3, 0), (7, 5), (100, 300)]:
        x = _rows(n, m)
        np.testing.assert_array_equal(np.from_dlpack(main(x)), 2 * x + 1)


def test_rf09_scratch_memory_is_used_again(load) -> None:
    set_num_threads(1)
    main = load(ROWS)
    x = _rows(50, 3000)
    main(x)
    before = memory_stats()
    for _ in range(5):
        main(x)
    after = memory_stats()
    assert after.system_allocations == before.system_allocations
    assert after.allocations >= before.allocations + 5 * 2  # the result, and scratch memory
    assert after.in_use == before.in_use


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("program", "shape"), [(ROWS, (20, 30)), (SUM, (40,))], ids=["rows", "sum"]
)
def test_kernel_without_scratch_memory_raises(load, program, shape, threads) -> None:
    set_num_threads(threads)
    main = load(program)
    x = np.ones(shape, "float32")
    expected = np.from_dlpack(main(x)).copy()
    gc.collect()  # tensors of other tests, in cycles
    before = memory_stats().in_use
    messages = []
    for count in range(100):
        _fail_after(count)
        try:
            main(x)
        except MemoryError as error:
            messages.append(str(error))
        if _fail_after(-1) != -1:
            break
    assert any("main: alloc_tensor" in message for message in messages)
    kernel = "kernel 'rows'" if program is ROWS else "kernel 'ones'"
    assert any(f"{kernel}: out of memory for" in message for message in messages)
    assert memory_stats().in_use == before
    np.testing.assert_array_equal(np.from_dlpack(main(x)), expected)


def test_kernel_with_too_much_scratch_memory_raises(load) -> None:
    main = load(
        SUM.replace(
            "memref.alloc(%n) : memref<?xf32>", "memref.alloc(%n, %n) : memref<?x?xf32>"
        ).replace("%t[%j] : memref<?xf32>", "%t[%j, %j] : memref<?x?xf32>")
    )
    assert np.from_dlpack(main(np.ones(3, "float32"))) == 3
    with pytest.raises(MemoryError, match="of scratch memory"):
        main(np.ones(1 << 24, "float32"))


@pytest.mark.parametrize("self_contained", [False, True])
def test_exported_library_has_scratch_memory_and_threads(tmp_path, self_contained) -> None:
    path = tmp_path / "model.so"
    relax.compile(ROWS).export_library(path, self_contained=self_contained)
    x = _rows(64, 200)
    result = tvm_ffi.load_module(str(path))["main"](tvm_ffi.from_dlpack(x))
    np.testing.assert_array_equal(np.from_dlpack(result), 2 * x + 1)


def test_parallel_loop_of_tensorir(load) -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @T.prim_func
    def scale(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        for i in T.parallel(n):
            total = T.alloc_buffer((1,), "float32")
            total[0] = 0.0
            for j in range(m):
                total[0] = total[0] + A[i, j]
            for j in range(m):
                B[i, j] = A[i, j] / total[0]

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        return R.call_tir(Module.scale, (x,), out_sinfo=R.Tensor((n, m), "float32"))
""")
    main = load(mod)
    x = _rows(41, 7) + 1
    for threads in (1, 3):
        set_num_threads(threads)
        np.testing.assert_allclose(np.from_dlpack(main(x)), x / x.sum(1, keepdims=True), rtol=1e-6)


def test_many_threads_call_a_kernel(load) -> None:
    set_num_threads(3)
    main = load(ROWS)
    wrong = []

    def call(seed: int) -> None:
        x = np.random.default_rng(seed).random((64, 50), "float32")
        for _ in range(30):
            if not (np.from_dlpack(main(x)) == 2 * x + 1).all():
                wrong.append(seed)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_number_of_threads() -> None:
    default = get_num_threads()
    assert 1 <= default <= len(os.sched_getaffinity(0))
    set_num_threads(7)
    assert get_num_threads() == 7
    for count, expected in [(0, "between 1 and 512, or None, but got 0"), (513, "but got 513")]:
        with pytest.raises(ValueError, match=expected):
            set_num_threads(count)
    assert get_num_threads() == 7
    set_num_threads(None)
    assert get_num_threads() == default


@pytest.mark.parametrize(("value", "expected"), [("3", 3), ("", None), ("0", None), ("two", None)])
def test_environment_sets_the_number_of_threads(value, expected) -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import relax_mlir.runtime as r; print(r.get_num_threads())"],
        env={**os.environ, "RELAX_MLIR_NUM_THREADS": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(result.stdout) == (expected or get_num_threads())
    wrong = "expected a number from 1 to 512, but got" in result.stderr
    assert wrong == (value in ("0", "two"))
