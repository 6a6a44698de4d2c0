"""The process of a peer: ``python worker.py PEER THREADS``, in the environment of the peer.

Reads requests from stdin, a JSON object a line, and writes an answer for each: ``{"value": ...}``
or ``{"error": "..."}``. A request names a method of the class ``Peer`` in ``peers/<peer>.py``;
those that every peer shares are here.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any


class Calls:
    """The calls that a peer has bound, by number, and their timing."""

    def __init__(self) -> None:
        self._bound: list[Callable[[], Any]] = []
        self._counts: dict[int, int] = {}
        self._seconds: dict[int, float] = {}

    def bind(self, call: Callable[[], Any]) -> int:
        """Keep a call; return its handle."""
        self._bound.append(call)
        return len(self._bound) - 1

    def call(self, handle: int) -> Any:
        """Call what was bound, once."""
        start = time.perf_counter()
        result = self._bound[handle]()
        self._seconds[handle] = time.perf_counter() - start
        return result

    def result(self, handle: int) -> list[float]:
        """Return the elements of the first tensor that a call returns, flat."""
        import numpy as np
        from peers.base import arrays_of

        return [float(x) for x in np.ravel(arrays_of(self._bound[handle]())[0])]

    def time(self, handle: int, milliseconds: float) -> dict[str, float]:
        """Return nanoseconds per call, the median of five stretches, with what they took in all."""
        call, count = self._bound[handle], self._counts.get(handle, 1)
        # A call that is known to take long is timed once.
        stretches = 1 if self._seconds.get(handle, 0) > 0.3 else 5
        wall, cpu = time.perf_counter(), time.process_time()
        samples = []
        for _ in range(stretches):
            start = time.perf_counter_ns()
            for _ in range(count):
                call()
            samples.append((time.perf_counter_ns() - start) / count)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        per_call = max(statistics.median(samples), 1.0)
        self._counts[handle] = max(1, int(milliseconds * 1e6 / stretches / per_call))
        self._seconds[handle] = per_call / 1e9
        return {"ns": per_call, "wall_s": wall, "cpu_s": cpu}


def serve(peer: Any, calls: Calls) -> None:
    """Answer requests until stdin ends."""
    # Output of libraries must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        arguments = json.loads(line)
        name = arguments.pop("request")
        try:
            method = getattr(calls if name in ("time", "result") else peer, name)
            answer = {"value": method(**arguments)}
        except Exception as error:
            answer = {"error": f"{name}: {type(error).__name__}: {error}"[:2000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    """Import the peer and serve."""
    name, threads = sys.argv[1], int(sys.argv[2])
    calls = Calls()
    peer = importlib.import_module(f"peers.{name}").Peer(calls, threads)
    serve(peer, calls)


if __name__ == "__main__":
    main()
