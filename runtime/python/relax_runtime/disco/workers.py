# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workers of a session, each with a thread of the controller that attends to it."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from . import communicator
from .errors import Failure
from .executor import Executor

# What a process runs that becomes a worker: the path of imports and the rest come as arguments.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from relax_runtime.disco.process_worker import main; main(*map(int, sys.argv[2:]))"
)
# Seconds in which a process ends that has been told to.
_PATIENCE = 5.0


class Progress:
    """Which instructions the workers have ended, and what they raised.

    Attributes
    ----------
    changed : threading.Condition
        Holds the lock of the other attributes.
    ended : list of int
        The last instruction that each worker has ended.
    failures : dict of int to dict of int to Failure
        By instruction and by worker.
    """

    def __init__(self, num_workers: int) -> None:
        self.changed = threading.Condition()
        self.ended = [0] * num_workers
        self.failures: dict[int, dict[int, Failure]] = {}
        self._forgiven = 0

    def take_failures(self) -> dict[int, Failure] | None:
        """Return what the first instruction that failed raised; forget what followed from it."""
        if not self.failures:
            return None
        first = self.failures.pop(min(self.failures))
        self.failures = {
            number: found
            for number, found in self.failures.items()
            if not all(failure.is_consequence for failure in found.values())
        }
        return first

    def forgive(self, number: int) -> None:
        """Forget what instructions up to this one raise, as they are interrupted."""
        with self.changed:
            self._forgiven = number
            self.failures = {key: found for key, found in self.failures.items() if key > number}

    def note(self, worker: int, number: int, result: Any) -> None:
        """Note that a worker has ended an instruction."""
        with self.changed:
            self.ended[worker] = number
            if isinstance(result, Failure) and number > self._forgiven:
                self.failures.setdefault(number, {})[worker] = result
            self.changed.notify_all()


class Reply:
    """The result of what one worker does alone, when it is there."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._value: Any = None

    def give(self, value: Any) -> None:
        """Give the result."""
        self._value = value
        self._done.set()

    def wait(self) -> Any:
        """Wait for the result."""
        self._done.wait()
        return self._value


Item = tuple[int, str, "int | None", tuple[Any, ...], "Reply | None"]


class Worker(threading.Thread):
    """The thread that attends to a worker: it takes instructions off a queue, one by one."""

    def __init__(self, index: int, progress: Progress, shared: Any) -> None:
        super().__init__(name=f"disco worker {index}", daemon=True)
        self.index = index
        self._progress = progress
        self._shared = shared
        self._death: Failure | None = None
        self._items: queue.SimpleQueue[Item | None] = queue.SimpleQueue()

    def put(self, item: Item | None) -> None:
        """Let the worker execute an instruction when its time has come; None: no more."""
        self._items.put(item)

    def run(self) -> None:
        """Execute instructions until there are no more."""
        try:
            self._enter()
        except Exception as error:
            self.die(Failure.of(error))
        while (item := self._items.get()) is not None:
            number, action, target, args, reply = item
            result = self._death or self._execute(number, action, target, args)
            if number:
                self._progress.note(self.index, number, result)
            if reply is not None:
                reply.give(result)
            del item, args, result
        self._leave()

    def die(self, why: Failure) -> None:
        """Note that the worker will execute nothing any more, which others do not wait for."""
        self._death = why
        communicator.mark_dead(self._shared, self.index, why.message)

    def _enter(self) -> None:
        """Get ready, on the thread."""

    def _leave(self) -> None:
        """Give back what the worker has, on the thread."""

    def _execute(self, number: int, action: str, target: int | None, args: tuple[Any, ...]) -> Any:
        """Execute an instruction; see `Executor.execute`."""
        raise NotImplementedError

    def kill(self) -> None:
        """End the worker whatever it does, where that is possible."""


class ThreadWorker(Worker):
    """A worker that is the thread itself."""

    def __init__(self, index: int, progress: Progress, shared: Any, num_threads: int) -> None:
        super().__init__(index, progress, shared)
        self._num_threads = num_threads
        self._executor = Executor()

    def _enter(self) -> None:
        communicator.become_worker(self._shared, self.index, self._num_threads)

    def _leave(self) -> None:
        self._executor = Executor()
        communicator.leave()

    def _execute(self, number: int, action: str, target: int | None, args: tuple[Any, ...]) -> Any:
        return self._executor.execute(number, action, target, args)


class ProcessWorker(Worker):
    """A worker in a process of its own, which gets instructions through a socket."""

    def __init__(self, index: int, progress: Progress, shared: Any, settings: list[int]) -> None:
        super().__init__(index, progress, shared)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = _start_process(index, theirs.fileno(), settings)
        self._pipe = Connection(ours.detach())

    def _enter(self) -> None:
        try:
            self._pipe.recv()  # it is ready
        except (EOFError, OSError):
            self._note_death()

    def _leave(self) -> None:
        self._pipe.close()  # at which the process ends
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _execute(self, number: int, action: str, target: int | None, args: tuple[Any, ...]) -> Any:
        try:
            self._pipe.send((number, action, target, args))
            return self._pipe.recv()
        except (EOFError, OSError):
            self._note_death()
        return self._death

    def kill(self) -> None:
        """End the process."""
        self._process.kill()

    def _note_death(self) -> None:
        try:
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self.die(Failure("RuntimeError", f"its process has ended {_status_text(status)}"))


def _status_text(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    try:
        return f"by the signal {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"


def _start_process(index: int, pipe: int, settings: list[int]) -> subprocess.Popen[bytes]:
    """Start the process of a worker: a new interpreter, with the path of imports of this one."""
    package = Path(__file__).parents[2]  # the same package, whatever else is on the path
    path = json.dumps([str(Path(entry).absolute()) for entry in (str(package), *sys.path)])
    numbers = [str(number) for number in (pipe, index, *settings)]
    return subprocess.Popen(
        [sys.executable, "-c", _START, path, *numbers],
        stdin=subprocess.DEVNULL,
        pass_fds=(pipe, settings[-1]),
    )


def stop(workers: list[Worker], process: int, interrupt: Callable[[], None] | None) -> None:
    """End workers: after what they have to do, or with `interrupt` as soon as possible.

    The child of a fork, which is not the process that has them, leaves them alone.
    """
    if os.getpid() != process:
        return
    for worker in workers:
        worker.put(None)
    if interrupt is None:
        _join(workers, None)
        return
    interrupt()
    _join(workers, _PATIENCE)
    for worker in workers:
        if worker.is_alive():
            worker.kill()
    _join(workers, _PATIENCE)


def _join(workers: list[Worker], seconds: float | None) -> None:
    """Wait for the end of workers, but for the one that asks; for some seconds in all."""
    end = None if seconds is None else time.monotonic() + seconds
    for worker in workers:
        if worker is not threading.current_thread():
            worker.join(None if end is None else max(0.0, end - time.monotonic()))
