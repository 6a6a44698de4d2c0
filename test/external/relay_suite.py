"""The programs in TVM's last tests of Relay, imported, run in both modes and compared by the tests.

The tests are read from a checkout and run unchanged, with `relay_tvm` as the package ``tvm``; what
they compare the numbers with is theirs: NumPy, and TVM's reference in ``tvm.topi.testing``.

Run as a program it prints a table::

    python test/external/relay_suite.py <checkout of apache/tvm at 21095b98bb> [--list] [file ...]
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import suites
from relay_run import AGREED, ERROR, REFUSED, UNREAD, WRONG

FOLDER = "tests/python/relay"
PATTERNS = (
    "test_adt.py",
    "test_any.py",
    "test_backend_graph_executor.py",
    "test_backend_interpreter.py",
    "test_cmp_op.py",
    "test_executor.py",
    "test_op_*.py",
    "test_prng.py",
    "test_tensor_array.py",
    "test_vm.py",
    "dyn/test_*.py",
)

# Outcomes, from the best one to the worst one.
LACKS = "the stand-in lacks what the test needs"
CRASH = "crash"
OUTCOMES = (LACKS, UNREAD, AGREED, REFUSED, ERROR, WRONG, CRASH)


@dataclasses.dataclass
class Result:
    """What came of one evaluation, or of a test that cannot be evaluated further."""

    file: str
    test: str
    key: str
    outcome: str
    message: str = ""


def files(checkout: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the files of the suite, or those of some names."""
    found = {path for pattern in PATTERNS for path in (checkout / FOLDER).glob(pattern)}
    return sorted(path for path in found if not names or path.name in names)


class Plugin:
    """Has pytest say what came of each program.

    Parameters
    ----------
    report : Path
        Lines of JSON are added to it.
    """

    def __init__(self, report: Path) -> None:
        self._run = importlib.import_module("relay_run")
        self._lacking = importlib.import_module("relay_tvm").Lacking
        self._report = report

    def pytest_runtest_setup(self, item: Any) -> None:
        """Begin a test."""
        # Of a seed with which no point is halfway between two elements, where TVM's kernels and its
        # references round differently.
        np.random.seed(1)
        self._write(started=item.nodeid.rpartition("/")[2])
        self._run.RECORD.test = item.nodeid
        self._run.RECORD.programs.clear()
        self._lacking.is_importing = False

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """End a test: what it raises is of the program that it evaluated last."""
        if call.when != "call" and call.excinfo is None:
            return
        programs = self._run.RECORD.programs
        error = call.excinfo.value if call.excinfo else None
        name = type(error).__name__
        is_expected = name in ("Skipped", "XFailed") or item.get_closest_marker("xfail")
        if error is not None and not is_expected:
            message = f"{name}: {error}"
            last = programs[-1] if programs else None
            if last is not None and last.outcome in (self._run.AGREED, self._run.UNREAD):
                if isinstance(error, AssertionError) and not self._run.RECORD.is_refused:
                    last.outcome, last.message = self._run.WRONG, message
                else:
                    self._lacks(item, message)
            elif last is None:
                self._lacks(item, message)
        for one in programs:
            self._write(test=one.test, key=one.key, outcome=one.outcome, message=one.message)
        programs.clear()

    def _lacks(self, item: Any, message: str) -> None:
        self._write(test=item.nodeid, key=item.nodeid, outcome=LACKS, message=message)

    def _write(self, **line: str) -> None:
        suites.write(self._report, **line)


def _reshape(array: Any, *shape: Any, newshape: Any = None, **options: Any) -> Any:
    """Reshape an array, with the name of the argument that the tests use."""
    return _RESHAPE(array, *(shape if newshape is None else [newshape]), **options)


_RESHAPE = np.reshape


def run_here(checkout: Path, path: Path, report: Path) -> None:
    """Run the tests of a file in this process, for good: the stand-in stays."""
    import pytest

    sys.setrecursionlimit(10000)
    np.product, np.reshape = np.prod, _reshape
    stand_in = importlib.import_module("relay_tvm")
    stand_in.install(checkout)
    plugins = [Plugin(report), importlib.import_module("tvm.testing.plugin")]
    options = ["-q", "-rs", "--tb=short", "-p", "no:cacheprovider", "--noconftest", "-W", "ignore"]
    pytest.main([str(path), "--rootdir", str(path.parent), "-o", "addopts=", *options], plugins)
    suites.write(report, started="")


def run_file(checkout: Path, path: Path, timeout: float = 3600) -> list[Result]:
    """Return what came of each program of a file."""
    with tempfile.TemporaryDirectory() as folder:
        folder = os.environ.get("RELAX_MLIR_RELAY_LOG", folder)
        report = Path(folder, path.stem + ".json")
        report.write_text("")
        log = report.with_suffix(".log")
        command = [sys.executable, __file__, str(checkout), path.name, "--report", str(report)]
        with log.open("w") as stream:
            subprocess.run(command, stdout=stream, stderr=stream, timeout=timeout, check=False)
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    results = [Result(path.name, **line) for line in lines if "outcome" in line]
    last = next((line["started"] for line in reversed(lines) if "started" in line), "the file")
    return [*results, Result(path.name, last, last, CRASH)] if last else results


def run_files(checkout: Path, paths: Sequence[Path]) -> list[Result]:
    """Return what came of each program of some files, two of which run at a time."""
    return suites.run_files(lambda path: run_file(checkout, path), paths)


def distinct(results: Sequence[Result]) -> list[Result]:
    """Return one result for each program: the worst where it was evaluated several times."""
    by_key: dict[str, Result] = {}
    for result in results:
        known = by_key.get(result.key)
        if known is None or _rank(result.outcome) > _rank(known.outcome):
            by_key[result.key] = result
    return list(by_key.values())


def _rank(outcome: str) -> int:
    return OUTCOMES.index(outcome)


def table(results: Sequence[Result]) -> str:
    """Return the number of programs of each file by outcome, as a table."""
    lines = [f"{'file':36}" + "".join(f"{outcome[:11]:>12}" for outcome in OUTCOMES)]
    for name, count in suites.counts(results).items():
        lines.append(f"{name:36}" + "".join(f"{count[outcome]:12}" for outcome in OUTCOMES))
    return "\n".join(lines)


def reasons(results: Sequence[Result], outcome: str) -> str:
    """Return why programs have an outcome, the most frequent reason first."""
    count = collections.Counter(
        re.sub(r"\d+", "0", one.message.partition("\n")[0])[:150]
        for one in results
        if one.outcome == outcome
    )
    return "\n".join(f"{number:5} {message}" for message, number in count.most_common())


def main() -> None:
    """Print the table, and with --list the reasons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    paths = files(options.checkout, options.names)
    if options.report:
        run_here(options.checkout, paths[0], options.report)
        return
    results = run_files(options.checkout, paths)
    programs = distinct(results)
    if options.list:
        for result in programs:
            if result.outcome != "agreed":
                print(f"{result.test}: {result.outcome}: {result.message[:300]}")
    print(table(programs))
    print(f"{len(programs)} programs, evaluated {len(results)} times")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
