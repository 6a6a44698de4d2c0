# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints random programs as TVMScript, parses the text, and compares.

A program that was parsed has to be structurally equal to what was printed, and to be printed as the
same text again. Programs are numbered; a number makes the same program again (`generator.py`).
"""

from __future__ import annotations

import argparse
import ast
import difflib
import multiprocessing
import os
import sys
import time
import warnings
from typing import Any

from generator import MISFIT, Generator

MEMORY_OF_TASKS = 50  # programs of one process after another


def check(module: Any) -> str | None:
    """Return what is wrong with the round trip of a module, or None."""
    from relax_mlir import assert_structural_equal
    from relax_mlir.script import from_source, printer

    text = ""
    try:
        text = printer.script(module)
        ast.parse(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = from_source(text, check_well_formed=False)
        assert_structural_equal(module, again)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{text}"
    second = printer.script(again)
    if second != text:
        lines = difflib.unified_diff(text.split("\n"), second.split("\n"), lineterm="")
        return "not stable:\n" + "\n".join(lines)
    return None


def check_seed(task: tuple[int, int]) -> tuple[int, bool, str | None]:
    """Return the number of a program, whether it is valid, and what is wrong."""
    seed, size = task
    try:
        module = Generator(seed, size).module()
    except MISFIT:
        return seed, False, None
    return seed, True, check(module)


def main() -> int:
    """Return 1 where a program was not the same again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many valid programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--size", type=int, default=10, help="statements of a function, about")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, help="print one program as TVMScript, and end")
    options = parser.parse_args()
    if options.show is not None:
        from relax_mlir.script import printer

        print(printer.script(Generator(options.show, options.size).module()))
        return 0
    start = time.monotonic()
    valid, drawn, found = 0, 0, []
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=2000) as pool:
        tasks = ((seed, options.size) for seed in range(options.first, sys.maxsize))
        for seed, is_valid, problem in _first(pool, tasks, options.count, options.jobs):
            drawn += 1
            valid += is_valid
            if problem is not None:
                found.append(seed)
                print(f"program {seed}: {problem}\n", flush=True)
            if valid >= options.count:
                pool.terminate()
                break
    seconds = time.monotonic() - start
    print(f"{valid} programs of {drawn} draws in {seconds:.0f} s: {len(found)} not the same again")
    return 1 if found else 0


def _first(pool: Any, tasks: Any, count: int, jobs: int) -> Any:
    """Yield results, with no more tasks at work than are of use."""
    size = max(1, min(MEMORY_OF_TASKS, count // jobs // 4))
    while True:
        batch = [task for task, _ in zip(tasks, range(size * jobs), strict=False)]
        yield from pool.imap_unordered(check_seed, batch, size)


if __name__ == "__main__":
    sys.exit(main())
