# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pools of the devices: statistics, memory used again, limits, failures, threads."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import tvm_ffi
from relax_mlir import op
from relax_mlir.runtime import (
    Executable,
    VirtualMachine,
    has_device,
    memory_stats,
    release_memory,
    reset_peak_memory,
    set_memory_limit,
    synchronize,
)

_fail_after = tvm_ffi.get_global_func("relax_mlir.runtime.fail_allocation_after")

# Makes an object of every kind on a device, and returns x + 0 by way of them.
PROGRAM = """
function main(x, n) registers 10 heap 2 {
  site 0 = "tensor", "", "a.py:1"
  $0 = call builtin prim_int(site 0, %1)
  $1 = call builtin mul($0, 4)
  %2 = call builtin storage_alloc(site 0, $1, 1, DEVICE)
  %3 = call builtin tensor_from_storage(site 0, %2, 0, [$0], float32)
  %4 = call builtin tensor_view(site 0, %3, [1, $0])
  %5 = call builtin tensor_to_device(site 0, %0, 1, DEVICE)
  %6 = call builtin shape_make([$0, 1])
  %7 = call builtin tuple_make(site 0, [%5, %6, %4])
  %8 = call builtin tuple_get(site 0, %7, 0)
  %9 = call builtin tensor_to_device(site 0, %8, 1, 0)
  ret %9
}
"""


def machine(device: int) -> VirtualMachine:
    return VirtualMachine(Executable.assemble(PROGRAM.replace("DEVICE", str(device))))


@pytest.fixture
def rest() -> Iterator[None]:
    """Leave no failure for later tests."""
    yield
    _fail_after(-1)


def test_rf09_pools_count_what_is_alive() -> None:
    empty = tvm_ffi.get_global_func("relax_mlir.runtime.empty")
    before = memory_stats()
    tensor = empty((1000,), "float32")
    during = memory_stats()
    assert 4000 <= during.in_use - before.in_use <= 5000
    assert during.allocations == before.allocations + 1
    assert during.peak >= during.in_use
    view = np.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert memory_stats().in_use == during.in_use  # NumPy keeps it
    del view
    gc.collect()
    assert memory_stats().in_use == before.in_use


def test_rf09_second_call_asks_the_system_for_nothing() -> None:
    vm = machine(21)
    x = tvm_ffi.from_dlpack(np.arange(3000, dtype=np.float32))
    result = vm["main"](x, 3000)
    result = vm["main"](x, 3000)  # while the first result is alive
    before = [memory_stats(f"cpu:{i}") for i in (0, 21)]
    for _ in range(10):
        result = vm["main"](x, 3000)
        np.testing.assert_array_equal(np.from_dlpack(result), np.from_dlpack(x))
    del result
    after = [memory_stats(f"cpu:{i}") for i in (0, 21)]
    for old, new in zip(before, after, strict=True):
        assert new.system_allocations == old.system_allocations
        assert new.allocations > old.allocations
    assert after[1].in_use == 0 and after[1].cached > 0


def test_rf09_compiled_program_asks_the_system_for_nothing(write, load, tensor) -> None:
    main = load(
        write(lambda x: (op.exp(op.add(x, x)), op.permute_dims(op.tanh(x))), tensor(("n", 4)))
    )
    arguments = [np.ones((n, 4), "float32") for n in (3, 1000, 70000)]
    for x in arguments:
        main(x)
    before = memory_stats()
    for _ in range(3):
        for x in arguments:
            total, _ = main(x)
            np.testing.assert_allclose(np.from_dlpack(total), np.exp(2 * x), rtol=1e-6)
            del total, _
    after = memory_stats()
    assert after.allocations >= before.allocations + 18
    assert after.system_allocations == before.system_allocations
    assert after.in_use == before.in_use


def test_vm11_devices_have_pools_of_their_own() -> None:
    vm = machine(22)
    x = tvm_ffi.from_dlpack(np.zeros(1000, dtype=np.float32))
    other = memory_stats("cpu:23")
    vm["main"](x, 1000)
    assert memory_stats("cpu:22").peak >= 8000
    assert memory_stats("cpu:23") == other


def test_peak_starts_again() -> None:
    vm = machine(24)
    for size in (100_000, 10):
        vm["main"](tvm_ffi.from_dlpack(np.zeros(size, dtype=np.float32)), size)
    assert memory_stats("cpu:24").peak >= 800_000
    reset_peak_memory("cpu:24")
    assert memory_stats("cpu:24").peak == 0
    vm["main"](tvm_ffi.from_dlpack(np.zeros(10, dtype=np.float32)), 10)
    assert 80 <= memory_stats("cpu:24").peak < 800


def test_release() -> None:
    device = tvm_ffi.device("cpu:25")
    machine(25)["main"](tvm_ffi.from_dlpack(np.zeros(64, dtype=np.float32)), 64)
    kept = memory_stats(device)
    assert kept.cached > 0
    release_memory(device)
    stats = memory_stats(device)
    assert stats.cached == 0
    assert stats.system_releases == stats.system_allocations


def test_limit() -> None:
    vm = machine(26)
    set_memory_limit(10 << 20, "cpu:26")
    for megabytes in range(1, 5):
        size = megabytes << 18
        vm["main"](tvm_ffi.from_dlpack(np.zeros(size, dtype=np.float32)), size)
        stats = memory_stats("cpu:26")
        assert stats.cached <= 10 << 20
    assert stats.system_releases > 0
    set_memory_limit(None, "cpu:26")
    with pytest.raises(
        ValueError, match=r"expected limit to be between 0 and .*, or None, but got -5"
    ):
        set_memory_limit(-5)


def test_devices_that_are_not_there() -> None:
    assert has_device("cpu:1023") and not has_device("cpu:1024")
    for function in (memory_stats, release_memory, reset_peak_memory, synchronize):
        with pytest.raises(RuntimeError, match="no device API for vulkan:0 in this runtime"):
            function("vulkan:0")
    with pytest.raises(RuntimeError, match="expected a device from cpu:0 to cpu:1023, but got"):
        set_memory_limit(1, "cpu:2000")
    synchronize("cpu:3")


def test_cuda_without_a_driver() -> None:
    program = """
        from relax_mlir.runtime import has_device, memory_stats
        assert not has_device("cuda:0")
        memory_stats("cuda:0")
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "RELAX_CUDA_DRIVER": "no_such_driver.so"},
        capture_output=True,
        text=True,
    )
    assert "RuntimeError: no device cuda:0: the CUDA driver " in result.stderr


def test_rf09_every_allocation_may_fail(rest: None) -> None:
    vm = machine(27)
    x = tvm_ffi.from_dlpack(np.arange(50, dtype=np.float32))
    vm["main"](x, 50)

    def stats(kind: str) -> list[int]:
        return [getattr(memory_stats(f"cpu:{i}"), kind) for i in (0, 27)]

    start, count = stats("in_use"), sum(stats("allocations"))
    vm["main"](x, 50)
    count = sum(stats("allocations")) - count
    assert count >= 7
    for _ in range(-(-1000 // count)):
        for i in range(count):
            _fail_after(i)
            with pytest.raises(MemoryError, match="out of memory for"):
                vm["main"](x, 50)
            assert _fail_after(-1) == -1
            assert stats("in_use") == start
    np.testing.assert_array_equal(np.from_dlpack(vm["main"](x, 50)), np.from_dlpack(x))


def test_threads_share_a_machine() -> None:
    vm = machine(28)
    wrong = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(100):
            x = rng.random(int(rng.integers(1, 2000)), dtype=np.float32)
            result = vm["main"](tvm_ffi.from_dlpack(x), len(x))
            if not np.array_equal(np.from_dlpack(result), x):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    gc.collect()
    assert memory_stats("cpu:28").in_use == 0
