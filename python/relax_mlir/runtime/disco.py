# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of workers: the names of `relax_runtime.disco`."""

from relax_runtime.disco import (
    CollectiveError,
    DModule,
    DPackedFunc,
    DRef,
    ProcessSession,
    Session,
    ThreadedSession,
    worker_id,
)

__all__ = [
    "CollectiveError",
    "DModule",
    "DPackedFunc",
    "DRef",
    "ProcessSession",
    "Session",
    "ThreadedSession",
    "worker_id",
]
