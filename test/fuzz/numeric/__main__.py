# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs, whose results are compared with the reference, in float64.

Programs are graphs of all operators; templates are those of one kernel class with epilogues. Both
are compiled with options that are crossed pairwise, and run at several sizes, on arguments that end
at the end of memory. How far a result may be from the exact one follows from the operators
(`compare.py`). What is wrong is made smaller, and written as a test.

A seed and a number make the same program again.
"""

from __future__ import annotations

import argparse
import collections
import secrets
import sys
import time
from pathlib import Path
from typing import Any


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="./dev fuzz numbers", description=__doc__)
    parser.add_argument("--programs", type=int, default=300, help="how many graphs")
    parser.add_argument("--templates", type=int, default=300, help="how many of kernel classes")
    parser.add_argument("--programs-only", action="store_true")
    parser.add_argument("--templates-only", action="store_true")
    parser.add_argument("--seed", type=int, help="by default a new one, which is printed")
    parser.add_argument("--only", type=int, help="run one number alone, and print it")
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--mcpu", help="compile for this processor")
    parser.add_argument(
        "--once", action="store_true", help="compile each with one set of options, not with two"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for tests of findings")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--refused", action="store_true", help="print what the reference refuses")
    return parser.parse_args()


def tasks(options: argparse.Namespace) -> list[Any]:
    """Return the programs that are to run."""
    found = []
    for kind, count, other in (
        ("program", options.programs, options.templates_only),
        ("template", options.templates, options.programs_only),
    ):
        first = options.first
        numbers = range(first, first + count) if options.only is None else [options.only]
        rest = (options.mcpu, options.once)
        found += [] if other else [(kind, options.seed, n, *rest) for n in numbers]
    return found


class Report:
    """Prints findings, and counts."""

    def __init__(self, options: argparse.Namespace, workers: Any) -> None:
        from compare import Counts

        self.options, self.workers = options, workers
        self.kinds: collections.Counter[str] = collections.Counter()
        self.refused: collections.Counter[str] = collections.Counter()
        self.counts = Counts()
        self.findings: list[Any] = []

    def take(self, task: Any, outcome: Any) -> None:
        """Take note of an outcome."""
        self.kinds[outcome.kind] += 1
        self.counts.add(outcome.counts)
        self.refused.update(outcome.refused)
        if outcome.kind in ("ok", "misfit"):
            return
        program = outcome.program
        where = program.name if program else f"--seed {task[1]} ({task[0]} {task[2]})"
        print(f"./dev fuzz numbers {where}: {outcome.kind}: {outcome.message[:600]}", flush=True)
        self.findings.append(outcome)

    def shrink(self) -> None:
        """Make findings smaller, and print them."""
        from shrink import shrunk, write_test

        seen: set[str] = set()
        for index, outcome in enumerate(self.findings):
            if outcome.program is None or _sort_of(outcome) in seen:
                continue
            seen.add(_sort_of(outcome))
            small = outcome if self.options.no_shrink else shrunk(outcome, self.workers)
            text = write_test(small)
            print(f"\n{text}", flush=True)
            if self.options.keep:
                self.options.keep.mkdir(parents=True, exist_ok=True)
                name = f"test_{self.options.seed}_{index}.py"
                (self.options.keep / name).write_text(text, encoding="utf-8")

    def summary(self, seconds: float) -> str:
        """Return what was done, in words."""
        total = sum(self.kinds.values())
        share = 100 / max(self.counts.elements, 1)
        return (
            f"seed {self.options.seed}: {total} programs in {seconds:.0f} s, "
            f"{self.kinds['misfit']} not drawn, {sum(self.refused.values())} runs refused by the "
            f"reference; of {self.counts.elements} elements {self.counts.compared * share:.1f} % "
            f"compared, {self.counts.tight * share:.1f} % with a tight bound; "
            f"{len(self.findings)} findings"
        )


def _sort_of(outcome: Any) -> str:
    """Return what errors of the same sort have in common; each wrong number is one of its own."""
    if "error" not in outcome.kind:
        return f"{outcome.kind} {id(outcome)}"
    words = outcome.message.split("\n")[0].replace("'", " ").split()
    names = ("main", *(node.op for node in outcome.program.nodes))
    return " ".join(word for word in words if word.rstrip("0123456789_") not in names)


def main() -> int:
    """Return 1 where something was found."""
    options = parse()
    if options.seed is None:
        options.seed = secrets.randbelow(1 << 30)
    print(f"seed {options.seed}", flush=True)
    from workers import Workers

    start = time.monotonic()
    workers = Workers(options.jobs)
    report = Report(options, workers)
    try:
        for task, outcome in workers.run(tasks(options)):
            report.take(task, outcome)
        seconds = time.monotonic() - start
        report.shrink()
    finally:
        workers.close()
    if options.refused:
        for message, count in report.refused.most_common(40):
            print(count, message)
    print(report.summary(seconds))
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
