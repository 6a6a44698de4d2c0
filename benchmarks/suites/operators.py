"""Single operators beside PyTorch: sorting, scans, selection, resizing, indexing, random numbers.

`operators.py` has them. Ours are the programs of ``torch.export``, with dynamic dimensions, which
are imported and compiled once for all samples. Results are compared with those of PyTorch, apart
from random ones. A ratio is PyTorch's time over ours, the median of those of the rounds, so above 1
we are ahead. `--operators` takes parts of their names.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Way, Worker, WorkerError, interleave, paired

OURS, THEIRS = "relax_mlir", "pytorch"
PEERS = (OURS, THEIRS)
NEEDS: dict[str, tuple[str, ...]] = {}
SHARED: dict[str, str] = {}
#: Of the largest element of a result.
TOLERANCE = 1e-4
# Calls that take longer than this are timed in fewer rounds.
SLOW_NS, SLOW_ROUNDS = 3e8, 3

Row = dict[str, Any]


def run(start: Callable[[str, int], Worker], options: Any) -> list[Row]:
    """Return the rows of the table.

    Parameters
    ----------
    start : callable
        From the name of a peer and a number of threads to a worker.
    options : argparse.Namespace
        `operators`, `rounds` and `threads`: which to run, and how often.
    """
    from operators import OPERATORS

    wanted = options.operators or [""]
    names = [name for name in OPERATORS if any(part in name for part in wanted)]
    if not names:
        raise SystemExit(f"run.py: expected parts of {'; '.join(OPERATORS)}, but got {wanted}")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in options.threads:
            workers = {peer: start(peer, threads) for peer in PEERS}
            for name in names:
                rows += _operator(name, OPERATORS[name], workers, folder, options.rounds, threads)
            for worker in workers.values():
                worker.close()
    return rows


def _operator(
    name: str, operator: Any, workers: dict[str, Worker], folder: str, rounds: int, threads: int
) -> list[Row]:
    try:
        for worker in workers.values():
            worker.ask("build_operator", name=name)
    except WorkerError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return []
    rows = []
    for sample in operator.samples:
        title = f"{name}: {sample}"
        ways = {
            peer: Way(worker, worker.ask("bind_operator", name=name, sample=sample))
            for peer, worker in workers.items()
        }
        if error := _error(ways, folder, operator.is_random):
            print(f"{title} is left out: {error}", file=sys.stderr)
            continue
        timings = interleave(ways, rounds, slow_ns=SLOW_NS, slow_rounds=SLOW_ROUNDS)
        row: Row = {"title": title, "threads": threads, "unit": "us"}
        row |= {peer: timing.median / 1e3 for peer, timing in timings.items()}
        row["ratio"] = paired(timings[THEIRS], timings[OURS])
        row["disturbed"] = sum(timing.disturbed for timing in timings.values())
        figures = ", ".join(f"{peer} {row[peer]:.4g} us" for peer in PEERS)
        print(f"{title}, {threads} threads: {figures}, ratio {row['ratio']:.2f}", flush=True)
        rows.append(row)
    return rows


def _error(ways: dict[str, Way], folder: str, is_random: bool) -> str:
    """Return how results differ; nothing where they do not."""
    results = []
    for peer in PEERS:
        ways[peer].worker.ask("save", handle=ways[peer].handle, path=f"{folder}/{peer}.npz")
        with np.load(f"{folder}/{peer}.npz") as file:
            results.append(list(file.values()))
    for ours, theirs in zip(*results, strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"{ours.dtype} of {ours.shape} in place of {theirs.dtype} of {theirs.shape}"
        if is_random:
            continue
        if theirs.dtype.kind != "f":
            if not np.array_equal(ours, theirs):
                return f"{np.count_nonzero(ours != theirs)} elements differ"
            continue
        largest = max(1.0, float(np.abs(theirs).max()))
        if not (error := float(np.abs(ours - theirs).max()) / largest) <= TOLERANCE:
            return f"wrong by {error:.2g}"
    return ""
