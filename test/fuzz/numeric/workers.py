# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that run programs: one that crashes or hangs is a finding, and is replaced."""

from __future__ import annotations

import faulthandler
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

SECONDS = 60.0  # a program that takes longer hangs
MEMORY_OF_TASKS = 300  # programs of one process after another

#: (kind, seed, number, mcpu, is_once) of a program that is drawn, or a program.
Task = Any


def work(pipe: Any) -> None:
    """Answer tasks with outcomes, until there are no more."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what programs print
    faulthandler.disable()
    from draw import MISFIT
    from evaluate import Outcome, evaluate
    from graphs import draw_program
    from templates import draw_template

    draws = {"program": draw_program, "template": draw_template}
    while (task := pipe.recv()) is not None:
        pipe.send(("at", 0, -2))
        if isinstance(task, tuple):
            kind, seed, number, mcpu, is_once = task
            try:
                program = draws[kind](seed, number, mcpu)
                if is_once:  # most often with the kernel classes
                    row = program.options[1 if number % 8 == 0 else 0]
                    program = program.changed(options=(row,))
            except MISFIT as error:
                pipe.send(("done", Outcome("misfit", f"{type(error).__name__}: {error}")))
                continue
        else:
            program = task
        pipe.send(("program", program))
        try:
            outcome = evaluate(program, lambda option, size: pipe.send(("at", option, size)))
        except Exception as error:
            outcome = Outcome("build error", f"{type(error).__name__}: {error}")
        pipe.send(("done", outcome))


@dataclass
class Worker:
    """A process, and what it is at."""

    process: Any
    pipe: Any
    task: Task = None
    begun: float = 0.0
    done: int = 0
    option: int = 0
    size: int = 0
    program: Any = None


class Workers:
    """A number of processes.

    Parameters
    ----------
    jobs : int
    seconds : float
        After which a program counts as one that hangs.
    """

    def __init__(self, jobs: int, seconds: float = SECONDS) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.seconds = seconds
        self.workers = [self._start() for _ in range(jobs)]

    def _start(self) -> Worker:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=work, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, ours)

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.process.terminate()
            worker.process.join()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Yield tasks with their outcomes, in the order in which they end."""
        waiting = iter(tasks)
        for index in range(len(self.workers)):
            self._give(index, waiting)
        while any(worker.task is not None for worker in self.workers):
            busy = [w.pipe for w in self.workers if w.task is not None]
            ready = multiprocessing.connection.wait(busy, timeout=1.0)
            for index, worker in enumerate(self.workers):
                if worker.task is None:
                    continue
                outcome = self._listen(worker) if worker.pipe in ready else None
                if outcome is None and time.monotonic() - worker.begun > self.seconds:
                    outcome = self._ended(worker, "timeout", f"after {self.seconds:.0f} s")
                if outcome is not None:
                    task = worker.task
                    worker.task = None
                    self._renew(index)
                    self._give(index, waiting)
                    yield task, outcome

    def _give(self, index: int, waiting: Iterator[Task]) -> None:
        worker = self.workers[index]
        task = next(waiting, None)
        if task is None:
            return
        worker.task, worker.begun, worker.program = task, time.monotonic(), None
        worker.done += 1
        worker.pipe.send(task)

    def _renew(self, index: int) -> None:
        worker = self.workers[index]
        if worker.process.is_alive() and worker.done < MEMORY_OF_TASKS:
            return
        worker.process.terminate()
        worker.process.join()
        self.workers[index] = self._start()

    def _listen(self, worker: Worker) -> Any:
        """Return the outcome of the task of a worker, if it is there."""
        try:
            kind, *rest = worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            worker.process.join()
            code = worker.process.exitcode or 0
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return self._ended(worker, "crash", name)
        if kind == "at":
            worker.option, worker.size = rest
        elif kind == "program":
            worker.program = rest[0]
        else:
            rest[0].program = worker.program
            return rest[0]
        return None

    def _ended(self, worker: Worker, kind: str, message: str) -> Any:
        from evaluate import Outcome

        worker.process.kill()
        worker.process.join()
        where = {-2: ", where it is drawn", -1: ", where it is compiled"}.get(worker.size, "")
        size = max(worker.size, 0)
        found = Outcome(kind, message + where, worker.option, size)
        found.program = worker.program
        return found
