# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compiled program where memory runs out, and in many threads.

First one allocation of a call fails, each in turn until none is left to fail, then again at another
size: the call has to end in a MemoryError or in the right result, the next call in the right
result, and nothing may stay allocated. Then threads share the executables, with a machine of their
own, at sizes that change from call to call: each result is compared with NumPy's, wrong arguments
must be refused, and what is allocated at the end must be what was at the start.

    python test/fuzz/faults.py --failures 1000 --threads 8 --seconds 600
"""

from __future__ import annotations

import argparse
import gc
import itertools
import random
import resource
import sys
import threading
import time
from typing import Any

import numpy as np
import relax_mlir as relax
import tvm_ffi
from numpy.typing import NDArray
from relax_mlir.runtime import memory_stats, release_memory
from relax_mlir.script import from_source

_fail_after = tvm_ffi.get_global_func("relax_mlir.runtime.fail_allocation_after")

WIDTH = 24
WEIGHTS = (np.arange(WIDTH * WIDTH, dtype="float32").reshape(WIDTH, WIDTH) % 7 - 3) / WIDTH
SIZES = (0, 1, 3, 16, 17, 200)

# Recursion, a branch, a tuple and kernels, at sizes that are known when it runs.
PROGRAM = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def power(
        x: R.Tensor(("n", 24), "float32"),
        w: R.Tensor((24, 24), "float32"),
        k: R.Tensor((), "int64"),
    ) -> R.Tensor(("n", 24), "float32"):
        n = T.int64()
        done: R.Tensor((), "bool") = R.less_equal(k, R.const(0, "int64"))
        if done:
            r: R.Tensor((n, 24), "float32") = x
        else:
            product: R.Tensor((n, 24), "float32") = R.tanh(R.add(R.matmul(x, w), x))
            less: R.Tensor((), "int64") = R.subtract(k, R.const(1, "int64"))
            r: R.Tensor((n, 24), "float32") = Module.power(product, w, less)
        return r

    @R.function
    def main(
        x: R.Tensor(("n", 24), "float32"),
        w: R.Tensor((24, 24), "float32"),
        k: R.Tensor((), "int64"),
    ):
        n = T.int64()
        y: R.Tensor((n, 24), "float32") = Module.power(x, w, k)
        rows = R.nn.softmax(R.concat([y, y], axis=0), axis=-1)
        return (y, R.sum(rows, axis=1), R.permute_dims(y))
"""


def arguments(size: int, steps: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return arguments of the program that depend on the numbers alone."""
    x = np.sin(np.arange(size * WIDTH, dtype="float32") + steps).reshape(size, WIDTH)
    return x, WEIGHTS, np.array(steps, "int64")


def expected(size: int, steps: int) -> tuple[NDArray[Any], ...]:
    """Return the results, by NumPy."""
    y = arguments(size, steps)[0].astype("float64")
    for _ in range(steps):
        y = np.tanh(y @ WEIGHTS + y)
    return y, np.ones(2 * size), y.T


def is_right(results: Any, wanted: tuple[NDArray[Any], ...]) -> bool:
    """Say whether the results of a call are those of NumPy."""
    return len(results) == len(wanted) and all(
        np.allclose(np.from_dlpack(ours), theirs, rtol=1e-4, atol=1e-5)
        for ours, theirs in zip(results, wanted, strict=True)
    )


def fail_each(executable: Any, count: int, mode: str) -> list[str]:
    """Make allocations fail `count` times; return what is wrong."""
    main = relax.VirtualMachine(executable)["main"]
    findings, failed = [], 0
    main(*arguments(1, 1))  # what the first call makes stays
    for size in itertools.cycle(SIZES):
        given, wanted = arguments(size, 3), expected(size, 3)
        for place in itertools.count():
            release_memory()
            before = memory_stats("cpu:0").in_use
            _fail_after(place)
            try:
                right = is_right(main(*given), wanted)
            except MemoryError:
                right = True
            except Exception as error:
                findings.append(f"{mode}, size {size}, place {place}: {error!r}")
                right = True
            is_left = _fail_after(-1) != -1  # there was nothing more to fail
            if not right or not is_right(main(*given), wanted):
                findings.append(f"{mode}, size {size}, place {place}: a wrong result")
            gc.collect()
            if memory_stats("cpu:0").in_use != before:
                findings.append(f"{mode}, size {size}, place {place}: memory stays in use")
            if is_left:
                break
            failed += 1
            if failed == count or len(findings) > 9:
                print(f"{mode}: {failed} allocations failed, {len(findings)} findings")
                return findings
    raise AssertionError("sizes have no end")


def run_thread(executables: list[Any], seed: int, end: float, findings: list[str]) -> int:
    """Call the programs until it is time; return the number of calls."""
    choice = random.Random(seed)
    mains = [relax.VirtualMachine(executable)["main"] for executable in executables]
    cases = [(size, steps) for size in SIZES for steps in range(4)]
    wanted = {case: expected(*case) for case in cases}
    calls = 0
    while time.monotonic() < end and not findings:
        case = choice.choice(cases)
        main = choice.choice(mains)
        given = arguments(*case)
        calls += 1
        if not is_right(main(*given), wanted[case]):
            findings.append(f"thread {seed}, call {calls}: a wrong result at {case}")
        if calls % 100 == 0:
            try:
                main(given[0], WEIGHTS[1:], given[2])
                findings.append(f"thread {seed}, call {calls}: wrong arguments were taken")
            except ValueError:
                pass
    return calls


def run_threads(executables: list[Any], count: int, seconds: float) -> list[str]:
    """Run threads for a time; return what is wrong."""
    findings: list[str] = []
    calls = [0] * count
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        try:
            calls[number] = run_thread(executables, number, end, findings)
        except Exception as error:
            findings.append(f"thread {number}: {error!r}")

    gc.collect()
    before = memory_stats("cpu:0").in_use
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 4)
    early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for thread in threads:
        thread.join()
    late = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.collect()
    kept = memory_stats("cpu:0").in_use - before
    if kept:
        findings.append(f"{kept} bytes stay in use after the threads")
    print(f"{count} threads, {seconds:.0f} s: {sum(calls)} calls, {len(findings)} findings")
    print(f"most memory of the process: {early} KiB in the first quarter, {late} KiB in all")
    return findings


def main() -> int:
    """Return 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failures", type=int, default=1000, help="allocations that fail, a mode")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60, help="how long the threads run")
    options = parser.parse_args()
    module = from_source(PROGRAM)
    modes = relax.transform.options.EXEC_MODES
    executables = [relax.compile(module, exec_mode=mode) for mode in modes]
    findings = []
    for mode, executable in zip(modes, executables, strict=True):
        findings += fail_each(executable, options.failures, mode)
    findings += run_threads(executables, options.threads, options.seconds)
    print(*findings, sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
