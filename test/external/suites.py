"""What the runners of TVM's tests share: reports, runs of two files at a time, and counts."""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def write(report: Path, **line: str) -> None:
    """Add a line of JSON to a report."""
    with report.open("a") as stream:
        print(json.dumps(line), file=stream)


def run_files(run_file: Callable[[Path], Iterable[Any]], paths: Sequence[Path]) -> list[Any]:
    """Return the results of some files, two of which run at a time."""
    with ThreadPoolExecutor(2) as pool:
        return [result for run in pool.map(run_file, paths) for result in run]


def counts(results: Sequence[Any]) -> dict[str, collections.Counter[str]]:
    """Return the number of results of each file by outcome, and of all of them as "total"."""
    by_file: dict[str, collections.Counter[str]] = {}
    for result in results:
        by_file.setdefault(result.file, collections.Counter())[result.outcome] += 1
    return {**by_file, "total": sum(by_file.values(), collections.Counter())}
