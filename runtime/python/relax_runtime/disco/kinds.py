# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of sessions: workers that are threads, or processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..bounds import between
from ..executable import Executable
from ..threads import get_num_threads
from . import communicator
from .session import Session
from .workers import ProcessWorker, Progress, ThreadWorker, Worker

_MOST_WORKERS = 256
_MOST_THREADS = 512


def _settings(
    num_workers: int, num_groups: int, threads_per_worker: int | None, timeout: float | None
) -> tuple[int, float]:
    """Check the arguments of a session; return the threads of each worker, and seconds or 0."""
    between("num_workers", num_workers, 1, _MOST_WORKERS)
    between("num_groups", num_groups, 1, num_workers)
    if num_workers % num_groups:
        raise ValueError(
            f"expected num_groups that divides num_workers, but got {num_groups} and {num_workers}"
        )
    if timeout is not None and not timeout > 0:
        raise ValueError(f"expected a timeout of more than 0 seconds, or None, but got {timeout}")
    threads = max(1, get_num_threads() // num_workers)
    if threads_per_worker is not None:
        threads = between("threads_per_worker", threads_per_worker, 1, _MOST_THREADS)
    return threads, 0.0 if timeout is None else float(timeout)


class ThreadedSession(Session):
    """A session whose workers are threads of this process.

    Programs and constants are shared; nothing is copied to another process. What Python functions
    do on workers takes turns, as Python's lock has it.

    Parameters
    ----------
    num_workers : int
        From 1 to 256.
    num_groups : int
        Groups of the same size, of workers that follow each other.
    threads_per_worker : int, optional
        The threads of the kernels of each worker; by default the workers share those of
        `relax_runtime.get_num_threads`.
    timeout : float, optional
        Seconds after which a worker that waits for others gives up with TimeoutError; None: never.

    Raises
    ------
    ValueError
        If there are too few or too many workers, or groups of the same size cannot be made.

    Examples
    --------
    >>> import numpy as np
    >>> with ThreadedSession(num_workers=4, num_groups=2) as sess:
    ...     x = sess.broadcast(np.ones(3, "float32"))
    ...     y = sess.allreduce(x, sess.empty((3,), "float32"))
    ...     y.debug_get_from_remote(3).numpy()
    array([2., 2., 2.], dtype=float32)
    """

    def __init__(
        self,
        num_workers: int,
        num_groups: int = 1,
        *,
        threads_per_worker: int | None = None,
        timeout: float | None = 600.0,
    ) -> None:
        threads, seconds = _settings(num_workers, num_groups, threads_per_worker, timeout)
        shared = communicator.make(num_workers, num_groups, seconds)
        progress = Progress(num_workers)
        workers = [ThreadWorker(i, progress, shared, threads) for i in range(num_workers)]
        super().__init__(workers, num_groups, shared, progress)


class ProcessSession(Session):
    """A session whose workers are processes of this machine, which share memory.

    Each is a new interpreter, with the path of imports of this one; functions that programs call
    are registered there by `import_python_module`. They end with the session, and with this
    process.

    Parameters
    ----------
    num_workers, num_groups, threads_per_worker, timeout
        As of `ThreadedSession`.

    Raises
    ------
    OSError
        If there is no memory for them, or a process cannot be started.
    ValueError
        As `ThreadedSession` does.

    Examples
    --------
    >>> import numpy as np
    >>> with ProcessSession(num_workers=2) as sess:
    ...     x = sess.broadcast(np.ones(3, "float32"))
    ...     y = sess.allreduce(x, sess.empty((3,), "float32"))
    ...     y.debug_get_from_remote(1).numpy()
    array([2., 2., 2.], dtype=float32)
    """

    def __init__(
        self,
        num_workers: int,
        num_groups: int = 1,
        *,
        threads_per_worker: int | None = None,
        timeout: float | None = 600.0,
    ) -> None:
        threads, seconds = _settings(num_workers, num_groups, threads_per_worker, timeout)
        file = communicator.make_file(num_workers)
        progress = Progress(num_workers)
        workers: list[Worker] = []
        try:
            shared = communicator.make(num_workers, num_groups, seconds, file)
            settings = [num_workers, num_groups, threads, file]
            for i in range(num_workers):
                workers.append(ProcessWorker(i, progress, shared, settings))
        except BaseException:
            for worker in workers:
                worker.kill()
            raise
        finally:
            os.close(file)
        super().__init__(workers, num_groups, shared, progress)
        try:
            self._issue("sync")
            self._wait()
        except BaseException:
            self._finalizer()
            raise

    def _program(self, source: Path | Executable) -> Any:
        if isinstance(source, Path):
            return str(source)
        to_bytes = getattr(source, "to_bytes", None)
        if to_bytes is None:
            raise TypeError(
                "expected the path of a file, as the workers are other processes, but got an "
                "executable that was loaded"
            )
        return to_bytes()
