"""The time of each kernel of our models, beside the limits of the machine.

Kernels are measured in bytecode, by the profiler, in medians of calls. The bytes that a kernel
reads and writes are those of its operands; kernels that are far from the bandwidth of memory and
whose case is far from the peak of products have something to gain.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import CASES
from harness import Worker

from .models import OURS, measure_machine

PEERS = (OURS,)
NEEDS: dict[str, tuple[str, ...]] = {}
SHARED: dict[str, str] = {}


def run(start: Callable[[str, int], Worker], options: Any) -> list[dict[str, Any]]:
    """Return the rows: for each case, number of threads and size, the kernels by their time."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in options.threads:
            machine = measure_machine(threads, Path(folder))
            for case in [CASES[name] for name in options.cases or CASES]:
                worker = start(OURS, threads)
                worker.ask("build_kernels", name=case.name)
                for size in case.sizes:
                    found = worker.ask("kernels", name=case.name, size=size, rounds=options.rounds)
                    total = sum(row["us"] for row in found)
                    peak = case.flops(size) / total / 1e3 / machine["gflops"]
                    title = f"{case.title} {size}: all kernels, {peak:.0%} of the peak of products"
                    common = {"threads": threads, "unit": "us"}
                    rows.append({"title": title, OURS: total, **common})
                    for row in found:
                        share, gigabytes = row["us"] / total, row["bytes"] / row["us"] / 1e3
                        title = (
                            f"  {share:4.0%} {gigabytes:6.1f} GB/s {row['count']:3} {row['name']}"
                        )
                        rows.append({"title": title, OURS: row["us"], **common})
                worker.close()
    return rows
