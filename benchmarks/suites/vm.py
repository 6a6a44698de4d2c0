"""Costs of running apart from kernels: calls, loading, artefacts and memory, beside TVM.

The same TVMScript goes to both. Figures are medians of interleaved rounds on one thread; a ratio is
TVM's figure over ours, so above 1 we are ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import programs
from harness import Way, Worker, interleave

MODES = ("bytecode", "compiled")
OURS, THEIRS = "relax_mlir", "tvm"
PEERS = (OURS, THEIRS)
NEEDS: dict[str, tuple[str, ...]] = {}
SHARED: dict[str, str] = {}
SIZES = {"n": 128}
Start = Callable[[str, int], Worker]


def _both(title: str, figures: dict[str, float], scale: float, unit: str) -> dict[str, object]:
    ours, theirs = figures[OURS] / scale, figures[THEIRS] / scale
    return {
        "title": title,
        "unit": unit,
        OURS: ours,
        THEIRS: theirs,
        "ratio": theirs / ours,
    }


def _timed(
    workers: dict[str, Worker],
    title: str,
    rounds: int,
    scale: float,
    unit: str,
    **binding: object,
) -> dict[str, object]:
    ways = {peer: Way(w, w.ask("bind", **binding)) for peer, w in workers.items()}
    results = [way.worker.ask("result", handle=way.handle) for way in ways.values()]
    if any(result != results[0] for result in results):
        raise RuntimeError(f"{title}: the results differ: {results}")
    timings = interleave(ways, rounds)
    row = _both(title, {peer: t.median for peer, t in timings.items()}, scale, unit)
    row["disturbed"] = sum(timing.disturbed for timing in timings.values())
    return row


def run(start: Start, options: Any) -> list[dict[str, object]]:
    """Return the rows of the table.

    Parameters
    ----------
    start : callable
        From the name of a peer and a number of threads to a worker.
    options : argparse.Namespace
        `rounds`: interleaved rounds of each timing; `torch`: whether arguments of PyTorch, too.
    """
    workers = {peer: start(peer, 1) for peer in PEERS}
    try:
        kinds = ("tvm_ffi", "numpy", "torch") if options.torch else ("tvm_ffi", "numpy")
        return _rows(workers, options.rounds, kinds)
    finally:
        for worker in workers.values():
            worker.close()


def _rows(
    workers: dict[str, Worker], rounds: int, kinds: tuple[str, ...]
) -> list[dict[str, object]]:
    texts = {
        "chain": programs.chain(),
        "add": programs.add(),
        "transformer": programs.transformer(),
        "transformer_bound": programs.transformer(bound=384),
        "residual": programs.residual(),
    }
    rows = []
    for worker in workers.values():
        for name, text in texts.items():
            worker.ask("parse", name=name, text=text)

    for mode in MODES:
        seconds = {p: w.ask("compile", name="chain", mode=mode) for p, w in workers.items()}
        rows.append(_both(f"compile the chain, {mode}", seconds, 1e-3, "ms"))
        for worker in workers.values():
            worker.ask("compile", name="add", mode=mode)
        for function in ("static", "symbolic"):
            title = f"chain of {programs.CHAIN_LENGTH} kernels, {function}, {mode}: a kernel"
            binding = {"name": "chain", "mode": mode, "function": function, "shapes": [[1]]}
            scale = programs.CHAIN_LENGTH
            rows.append(_timed(workers, title, rounds, scale, "ns", **binding, kind="tvm_ffi"))
        for kind in kinds:
            binding = {"name": "add", "mode": mode, "function": "main", "shapes": [[4, 4]] * 2}
            title = f"one 4x4 add from Python, {kind} arguments, {mode}: a call"
            rows.append(_timed(workers, title, rounds, 1, "ns", **binding, kind=kind))
        artefacts = {
            p: w.ask("artefact", name="chain", mode=mode, function="static", rounds=rounds)
            for p, w in workers.items()
        }
        for key, title, scale, unit in (
            ("load_s", "load the chain's library", 1e-6, "us"),
            ("bytes", "size of the chain's library", 1024, "KiB"),
        ):
            figures = {p: artefact[key] for p, artefact in artefacts.items()}
            rows.append(_both(f"{title}, {mode}", figures, scale, unit))

    for name, title in (
        ("transformer", f"plan of a transformer layer, n unbounded, at n = {SIZES['n']}"),
        ("transformer_bound", "plan of a transformer layer, n at most 384"),
        ("residual", "plan of a residual network"),
    ):
        planned = {
            p: w.ask("planned_bytes", name=name, sizes=SIZES if "transformer" in name else {})
            for p, w in workers.items()
        }
        rows.append(_both(title, planned, 1024, "KiB"))
    return rows
