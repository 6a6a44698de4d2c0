"""Workers and interleaved timing: what every suite of benchmarks uses.

A worker is a process in the environment of one peer; it answers requests, one line of JSON each
(see ``worker.py``). Timings of several workers are interleaved, A B C A B C, so that a disturbance
hits all of them; a round in which other processes used much of a core is taken again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# A round is taken again where processes of others used more than this share of one core.
DISTURBED = 0.2
RETRIES = 8
LONG = 2.0  # seconds; such a sample is not taken again


class WorkerError(RuntimeError):
    """A peer that could not do what it was asked."""


class Worker:
    """A process in the environment of a peer.

    Parameters
    ----------
    peer : str
        The name of a module of ``peers/``.
    python : str
        The interpreter of its environment.
    threads : int
        How many threads its kernels may use.
    """

    def __init__(self, peer: str, python: str, threads: int = 1) -> None:
        self.peer = peer
        count = str(threads)
        env = {**os.environ, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}
        env |= {
            "TVM_NUM_THREADS": count,
            "RELAX_MLIR_NUM_THREADS": count,
            "OPENBLAS_NUM_THREADS": count,
        }
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py"), peer, count],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.version: str = self.ask("version")

    def ask(self, request: str, **arguments: Any) -> Any:
        """Have the worker call a method of its peer; raise WorkerError where it fails."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps({"request": request, **arguments}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"{self.peer}: the process ended with code {process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            # Messages of peers name files; they leave out where the checkout is.
            raise WorkerError(
                f"{self.peer}: {answer['error']}".replace(f"{HERE.parent}{os.sep}", "")
            )
        return answer["value"]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _busy_seconds() -> float:
    """Return the processor time that all processes have used, of all cores."""
    with Path("/proc/stat").open() as file:
        times = [int(word) for word in file.readline().split()[1:9]]
    idle, waiting = times[3], times[4]
    return (sum(times) - idle - waiting) / os.sysconf("SC_CLK_TCK")


@dataclass
class Timing:
    """The cost of one way of doing a thing: nanoseconds per call, a sample for each round."""

    samples: list[float] = field(default_factory=list)
    disturbed: int = 0

    @property
    def median(self) -> float:
        """The median of the rounds, in nanoseconds."""
        return statistics.median(self.samples)


@dataclass(frozen=True)
class Way:
    """Something to time: a bound call of a worker."""

    worker: Worker
    handle: int

    def time(self, milliseconds: float) -> tuple[dict[str, float], float]:
        """Return the answer of the worker, and the share of a core that others used."""
        before = _busy_seconds()
        answer = self.worker.ask("time", handle=self.handle, milliseconds=milliseconds)
        others = _busy_seconds() - before - answer["cpu_s"]
        return answer, max(0.0, others) / max(answer["wall_s"], 1e-3)


def paired(theirs: Timing, ours: Timing) -> float:
    """Return the median of the ratios of rounds: their times over ours."""
    pairs = zip(theirs.samples, ours.samples, strict=False)
    return statistics.median(their / our for their, our in pairs)


def choose(peers: tuple[str, ...], wanted: list[str] | None) -> list[str]:
    """Return those of a suite's peers that are wanted, all where nothing is said; ours is first."""
    return [peer for peer in peers if peer in (wanted or peers) or peer == peers[0]]


def interleave(
    ways: Mapping[str, Way],
    rounds: int = 11,
    milliseconds: float = 50.0,
    slow_ns: float = float("inf"),
    slow_rounds: int = 1,
) -> dict[str, Timing]:
    """Time several ways of doing a thing, round by round.

    Parameters
    ----------
    ways : mapping of str to Way
    rounds : int
        How many samples of each.
    milliseconds : float
        How long a sample takes, about.
    slow_ns : float
        Ways that take longer than this for a call have `slow_rounds` samples.
    slow_rounds : int

    Returns
    -------
    dict of str to Timing
    """
    timings = {name: Timing() for name in ways}
    # Warms caches, and finds how many calls fit in the time.
    first = {name: way.time(milliseconds)[0]["ns"] for name, way in ways.items()}
    for number in range(rounds):
        for name, way in ways.items():
            if first[name] > slow_ns and number >= slow_rounds:
                continue
            best = None
            for attempt in range(RETRIES):
                answer, others = way.time(milliseconds)
                if best is None or others < best[1]:
                    best = (answer["ns"], others)
                if best[1] <= DISTURBED or answer["wall_s"] > LONG:
                    break
                time.sleep(0.02 * (attempt + 1))
            assert best is not None
            timings[name].samples.append(best[0])
            timings[name].disturbed += best[1] > DISTURBED
    return timings
