"""Whole models beside every peer: one compilation for all sizes, results checked.

PyTorch has the models (``models.py``) and its results are what others are compared with. A result
that is wrong has no time. Ratios are those of the best peer to ours, paired by round, so above 1 we
are ahead.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import CASES, Case
from harness import HERE, Way, Worker, WorkerError, choose, interleave, paired

OURS = "relax_mlir"
WRITER = "pytorch"  # writes what the others read
PEERS = (
    OURS,
    "onnxruntime",
    "openvino",
    "pytorch",
    "pytorch_compile",
    "jax",
    "iree",
    "tvm",
)
NEEDS = {"tvm": ("torch==2.13.0",)}
SHARED = {"pytorch_compile": "pytorch"}
# Those that change their inputs.
INPLACE = (OURS, "pytorch", "pytorch_compile")
TOLERANCE = 2e-3
# Calls that take longer than this are timed in fewer rounds.
SLOW_NS, SLOW_ROUNDS = 3e8, 2
# Peers that take longer than this are left out at larger sizes.
SLOWEST_US = 1e6

Row = dict[str, Any]
Start = Callable[[str, int], Worker]


def run(start: Start, options: Any) -> list[Row]:
    """Return the rows of the table.

    Parameters
    ----------
    start : callable
        From the name of a peer and a number of threads to a worker.
    options : argparse.Namespace
        `cases`, `peers`, `rounds` and `threads`: which to run, and how often.
    """
    rows: list[Row] = []
    cases = [CASES[name] for name in options.cases or CASES]
    peers = choose(PEERS, options.peers)
    with tempfile.TemporaryDirectory() as folder:
        writer = start(WRITER, 1)
        for case in cases:
            writer.ask("prepare", name=case.name, folder=folder)
        writer.close()
        for threads in options.threads:
            machine = measure_machine(threads, Path(folder))
            rows.append({"case": "machine", "threads": threads, **machine})
            for case in cases:
                rows += _case(case, peers, start, threads, folder, options.rounds, machine)
    rows += [_mean(rows, threads) for threads in options.threads]
    return rows


def measure_machine(threads: int, folder: Path) -> Row:
    """Return the limits of the machine: GFLOP/s, GB/s read, and GB/s copied."""
    tool = folder / "machine"
    if not tool.exists():
        flags = ["-O3", "-march=native", "-fopenmp"]
        subprocess.run(["cc", *flags, str(HERE / "machine.c"), "-o", str(tool)], check=True)
    done = subprocess.run([str(tool), str(threads)], check=True, capture_output=True, text=True)
    gflops, read, copied = map(float, done.stdout.split())
    return {"gflops": gflops, "read_gb": read, "copy_gb": copied}


def _case(
    case: Case,
    peers: list[str],
    start: Start,
    threads: int,
    folder: str,
    rounds: int,
    machine: Row,
) -> list[Row]:
    """Return the rows of a case: what compiling costs, then each size."""
    workers: dict[str, Worker] = {}
    costs: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for peer in peers:
        if case.is_inplace and peer not in INPLACE:
            continue
        try:
            workers[peer] = start(peer, threads)
            costs[peer] = workers[peer].ask("build_model", name=case.name, folder=folder)
        except WorkerError as error:
            failures[peer] = str(error)
            print(f"{case.title}: {peer} is left out: {error}", file=sys.stderr)
            if peer in workers:
                workers.pop(peer).close()
    rows = [
        {"case": case.name, "title": f"{case.title}: {what}", "threads": threads, "unit": unit,
         **{peer: cost[key] for peer, cost in costs.items()}, "failures": failures}
        for what, key, unit in (("compile", "seconds", "s"), ("memory", "peak_mib", "MiB"))
    ]  # fmt: skip
    if OURS in workers:
        where = {"name": case.name, "folder": folder}
        rows[0]["cached"] = workers[OURS].ask("build_cached", **where)["seconds"]
    for size in case.sizes:
        row = _size(case, size, workers, rounds, folder)
        row |= {"threads": threads, "dynamic": bool(case.dynamic)}
        if OURS in row:
            row["peak_share"] = case.flops(size) / row[OURS] / 1e3 / machine["gflops"]
            row["memory_share"] = case.traffic(size) / row[OURS] / 1e3 / machine["read_gb"]
        rows.append(row)
        print(_line(row, peers), flush=True)
        for peer in [p for p in workers if row.get(p, 0) > SLOWEST_US and p != OURS]:
            workers.pop(peer).close()
    for worker in workers.values():
        worker.close()
    return rows


def _size(case: Case, size: int, workers: dict[str, Worker], rounds: int, folder: str) -> Row:
    """Check and time the workers at a size; return microseconds, and the ratio."""
    ways: dict[str, Way] = {}
    failures: dict[str, str] = {}
    for peer, worker in workers.items():
        try:
            way = Way(worker, worker.ask("bind_model", name=case.name, size=size))
            where = {"name": case.name, "size": size, "folder": folder}
            error = worker.ask("error", handle=way.handle, **where)
            if error <= TOLERANCE:
                ways[peer] = way
            else:
                failures[peer] = f"wrong by {error:.2g}"
                print(f"{case.title} {size}: {peer} is {failures[peer]}", file=sys.stderr)
        except WorkerError as error:
            failures[peer] = str(error)
    timings = interleave(ways, rounds, slow_ns=SLOW_NS, slow_rounds=SLOW_ROUNDS)
    row: Row = {"case": case.name, "title": f"{case.title} {size}", "size": size, "unit": "us"}
    row |= {peer: timing.median / 1e3 for peer, timing in timings.items()}
    row |= {"failures": failures, "disturbed": sum(t.disturbed for t in timings.values())}
    others = [peer for peer in timings if peer != OURS]
    if OURS in timings and others:
        row["best"] = min(others, key=lambda peer: timings[peer].median)
        row["ratio"] = paired(timings[row["best"]], timings[OURS])
    return row


def _line(row: Row, peers: list[str]) -> str:
    figures = [f"{peer} {row[peer]:.4g}" for peer in peers if peer in row]
    figures += [f"{peer}: {why[:80]}" for peer, why in row["failures"].items()]
    ratio = f"  ratio {row['ratio']:.2f} to {row['best']}" if "ratio" in row else ""
    return f"{row['title']}, {row['threads']} threads: {', '.join(figures)}{ratio}"


def _mean(rows: list[Row], threads: int) -> Row:
    """Return the geometric mean of the ratios of all cases with dynamic sizes."""
    found = [row for row in rows if row["threads"] == threads and row.get("dynamic")]
    ratios = [row["ratio"] for row in found if "ratio" in row]
    mean = math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan
    title = f"geometric mean of {len(ratios)} dynamic cases"
    return {"case": "mean", "title": title, "threads": threads, "ratio": mean, "unit": ""}
