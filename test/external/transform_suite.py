"""TVM's own tests of passes, run unchanged on the passes of this project.

The tests are read from a checkout and run with `transform_tvm` as the package ``tvm``. They compare
what a pass makes of a program with the program that they expect.

Run as a program it prints a table::

    python test/external/transform_suite.py <checkout of apache/tvm at v0.25.0> [--list] [file ...]
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import suites
from tvm_suite import BY_SPECIFICATION

FOLDER = "tests/python/relax"
PATTERN = "test_transform_*.py"

# Outcomes of a test.
AGREES = "agrees"
SAME = "same"  # the pass makes another program, which computes the same
DIFFERS = "differs"
RULE = "rule"  # the program breaks a rule of the specification that TVM does not check
REFUSED = "refused"
LACKS = "lacks"
CRASH = "crash"
OUTCOMES = (AGREES, SAME, DIFFERS, RULE, REFUSED, LACKS, CRASH)

# Errors of ours that say that something of TVM is not here.
NOT_HERE = re.compile(
    r"has no pass|to make a \w+, not its class|is the class of both, and makes none"
    r"|is not an operator of the dialect yet|expected a known option of the config"
    r"|to be a parameter of the function that is being built|or an InsertionPoint"
    r"|expected a member of [IRT], but got"
)
RULES = (*BY_SPECIFICATION, "expected 'global_symbol' to be its name")


@dataclasses.dataclass
class Result:
    """What came of one test."""

    file: str
    test: str
    outcome: str
    message: str = ""


def files(checkout: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the files of the suite, or those of some names; a part of a name is enough."""
    found = sorted((checkout / FOLDER).glob(PATTERN))
    return [path for path in found if not names or any(name in path.name for name in names)]


def outcome_of(error: BaseException, test: Path) -> str:
    """Return the outcome of a test that ends with an error."""
    name, text = type(error).__name__, str(error)
    if name == "LacksError" or NOT_HERE.search(text):
        return LACKS
    if name == "Failed" or (isinstance(error, AssertionError) and not _is_of_pass(error)):
        return DIFFERS
    if any(re.search(rule, text) for rule in RULES):
        return RULE
    frames = traceback.extract_tb(error.__traceback__)
    if Path(frames[-1].filename) == test and isinstance(error, (AttributeError, TypeError)):
        return LACKS  # a member that TVM's objects have
    return REFUSED


def _is_of_pass(error: BaseException) -> bool:
    """Say whether an assertion of our own fails."""
    return "/relax_mlir/" in traceback.extract_tb(error.__traceback__)[-1].filename


class Plugin:
    """Has pytest say what came of each test.

    Parameters
    ----------
    report : Path
        Lines of JSON are added to it.
    """

    def __init__(self, report: Path) -> None:
        self._lacking = importlib.import_module("transform_tvm").Lacking
        self._run = importlib.import_module("transform_run")
        self._report = report

    def pytest_runtest_setup(self, item: Any) -> None:
        """Begin a test."""
        self._lacking.is_importing = False
        self._write(started=item.nodeid.rpartition("/")[2])

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Say what came of a part of a test: its fixtures, or itself."""
        error = call.excinfo.value if call.excinfo else None
        name = type(error).__name__
        if name == "Skipped" or call.when == "teardown":
            return
        is_expected = name == "XFailed" or item.get_closest_marker("xfail")
        if error is None or is_expected:
            if call.when == "call":
                self._result(item, AGREES, "")
            return
        outcome, message = outcome_of(error, item.path), f"{name}: {error}"
        if name == "DiffersError" and outcome == DIFFERS:
            outcome, reason = self._compare(error)
            message = f"{message}\n{reason}"
        self._result(item, outcome, message)

    def _compare(self, error: Any) -> tuple[str, str]:
        """Say whether programs that differ compute the same."""
        try:
            found = self._run.difference(*error.programs)
        except self._run.NotRunError as reason:
            return DIFFERS, f"not run: {reason}"
        return (DIFFERS, f"results differ: {found}") if found else (SAME, "")

    def _result(self, item: Any, outcome: str, message: str) -> None:
        self._write(test=item.nodeid.rpartition("/")[2], outcome=outcome, message=message)

    def _write(self, **line: str) -> None:
        suites.write(self._report, **line)


def run_here(path: Path, report: Path, without: Sequence[str]) -> None:
    """Run the tests of a file in this process, for good: the stand-in stays."""
    import pytest

    sys.setrecursionlimit(10000)
    importlib.import_module("transform_tvm").install()
    options = ["-q", "-rs", "--tb=short", "-p", "no:cacheprovider", "--noconftest", "-W", "ignore"]
    options += ["--rootdir", str(path.parent), "-o", "addopts=", "--import-mode=importlib"]
    for test in without:
        options += ["--deselect", test]
    pytest.main([str(path), *options], [Plugin(report)])
    suites.write(report, started="")


def run_file(checkout: Path, path: Path, timeout: float = 1800) -> list[Result]:
    """Return what came of each test of a file; after a crash the others run on."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(os.environ.get("RELAX_MLIR_TRANSFORM_LOG", folder), path.stem + ".json")
        report.write_text("")
        results: list[Result] = []
        done: list[str] = []
        while True:
            last = _run_process(checkout, path, report, done, timeout)
            lines = [json.loads(line) for line in report.read_text().splitlines()]
            results = [Result(path.name, **line) for line in lines if "outcome" in line]
            done = [result.test for result in results]
            if not last or last in done or last == path.name:
                break
            suites.write(report, test=last, outcome=CRASH)
            done.append(last)
        if last == path.name:
            log = report.with_suffix(".log").read_text()
            results.append(Result(path.name, last, CRASH, log[-2000:]))
    return results


def _run_process(
    checkout: Path, path: Path, report: Path, without: Sequence[str], timeout: float
) -> str:
    """Run the tests of a file in a process; return the test that ended it, or ''."""
    command = [sys.executable, __file__, str(checkout), path.name, "--report", str(report)]
    for test in without:
        command += ["--without", test]
    begin = len(report.read_text().splitlines())
    with report.with_suffix(".log").open("w") as stream:
        subprocess.run(command, stdout=stream, stderr=stream, timeout=timeout, check=False)
    lines = [json.loads(line) for line in report.read_text().splitlines()[begin:]]
    return next((line["started"] for line in reversed(lines) if "started" in line), path.name)


def run_files(checkout: Path, paths: Sequence[Path]) -> list[Result]:
    """Return what came of each test of some files, two of which run at a time."""
    return suites.run_files(lambda path: run_file(checkout, path), paths)


def table(results: Sequence[Result]) -> str:
    """Return the number of tests of each file by outcome, as a table."""
    lines = [f"{'file':56}{'tests':>7}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES)]
    for name, count in suites.counts(results).items():
        numbers = "".join(f"{count[outcome]:9}" for outcome in OUTCOMES)
        lines.append(f"{name:56}{sum(count.values()):7}{numbers}")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and with --list the tests that do not agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--without", action="append", default=[], help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    paths = files(options.checkout, options.names)
    if options.report:
        run_here(paths[0], options.report, options.without)
        return
    results = run_files(options.checkout, paths)
    if options.list:
        for result in results:
            if result.outcome != AGREES:
                print(f"{result.test}: {result.outcome}: {result.message}")
    print(table(results))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
