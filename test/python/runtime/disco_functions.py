# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions for workers of sessions, which misbehave on some of them."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import tvm_ffi
from relax_runtime import disco

SUM, MAX = tvm_ffi.Shape((0,)), tvm_ffi.Shape((3,))


def function(name: str) -> Any:
    return tvm_ffi.get_global_func(f"relax_mlir.disco.{name}")


def allreduce(source: Any, target: Any, kind: Any = SUM, in_group: bool = True) -> None:
    function("allreduce")(source, kind, in_group, target)


def fail_on(worker: int, source: Any, target: Any) -> None:
    if disco.worker_id() == worker:
        raise KeyError("no such weight")
    allreduce(source, target)


def fail_after(worker: int, source: Any, target: Any) -> None:
    allreduce(source, target)
    fail_on(worker, source, target)


def leave_out(worker: int, source: Any, target: Any) -> None:
    if disco.worker_id() != worker:
        allreduce(source, target)


def reduce_differently(source: Any, target: Any) -> None:
    allreduce(source, target, MAX if disco.worker_id() == 1 else SUM)


def call_differently(source: Any, target: Any) -> None:
    if disco.worker_id() == 1:
        function("broadcast_from_worker0")(source, True, target)
    else:
        allreduce(source, target)


def use_other_groups(source: Any, target: Any) -> None:
    allreduce(source, target, in_group=disco.worker_id() != 1)


def die(worker: int, source: Any, target: Any) -> None:
    if disco.worker_id() == worker:
        os.kill(os.getpid(), signal.SIGKILL)
    allreduce(source, target)


def leave(worker: int, source: Any, target: Any) -> None:
    if disco.worker_id() == worker:
        os._exit(3)
    allreduce(source, target)


def come_late(worker: int, seconds: float, source: Any, target: Any) -> None:
    if disco.worker_id() == worker:
        time.sleep(seconds)
    allreduce(source, target)


def many(count: int, source: Any, target: Any) -> None:
    for _ in range(count):
        allreduce(source, target)


def process_and_threads() -> Any:
    return tvm_ffi.Shape(
        (os.getpid(), tvm_ffi.get_global_func("relax_mlir.runtime.get_num_threads")())
    )


def values(*given: Any) -> Any:
    return given


for _function in (
    call_differently,
    come_late,
    die,
    fail_after,
    fail_on,
    leave,
    leave_out,
    many,
    process_and_threads,
    reduce_differently,
    use_other_groups,
    values,
):
    tvm_ffi.register_global_func(f"test.disco.{_function.__name__}", _function, override=True)
