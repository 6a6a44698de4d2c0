# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import, compile and run architectures of model libraries, and compare with PyTorch.

python benchmarks/architectures/run.py [PATTERN ...] [--json FILE]

Each architecture has random weights. It is exported with dynamic sizes, compiled once, and run at
two sizes. A process of its own takes each, so that neither a crash nor a time-out ends the others.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import measure

MODELS = ["torchvision_models", "timm_models", "transformers_models"]
TABLES = [*MODELS, "torch_functions"]
STAGES = ["export", "import", "compile", "run", "match"]


def load(tables: list[str], patterns: list[str]) -> list[Any]:
    """Return the cases whose names or families match patterns, in their order; all without any."""
    cases = [case for table in tables for case in importlib.import_module(table).CASES]
    wanted = [
        case
        for pattern in patterns or ["*"]
        for case in cases
        if any(fnmatch.fnmatch(text, pattern) for text in (case.name, case.family))
    ]
    return list({case.name: case for case in wanted}.values())


def attempt(case: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Measure a case in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=measure.measure, args=(case, sender, options))
    process.start()
    sender.close()
    row = _receive(receiver, time.monotonic() + options.timeout)
    has_ended = row.pop("end", False)
    process.join(timeout=5)
    if process.is_alive():
        process.kill()
        process.join()
    if not has_ended:
        code = process.exitcode
        row["error"] = f"no end in {options.timeout:.0f} s" if code == -9 else f"exit code {code}"
    return {"name": case.name, "family": case.family, **row}


def _receive(receiver: Connection, deadline: float) -> dict[str, Any]:
    row: dict[str, Any] = {}
    try:
        while "end" not in row and receiver.poll(max(0.0, deadline - time.monotonic())):
            row.update(receiver.recv())
    except EOFError:
        pass
    return row


def describe(row: dict[str, Any]) -> str:
    """Return a row as a line of a table."""
    seconds = [f"{row[stage]:7.1f}" if stage in row else f"{'-':>7}" for stage in STAGES[:4]]
    error = f"{row['match']:9.1e}" if "match" in row else f"{'-':>9}"
    notes = "; ".join(str(row[key]) for key in ("note", "error") if key in row)
    return f"{row['name']:44}{''.join(seconds)}{error}  {row.get('dims', ''):14} {notes}"


def main() -> int:
    """Print a row for each architecture; return 1 where one does not match."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", help="names or families, as in a shell: 'timm/*'")
    parser.add_argument("--tables", nargs="+", default=MODELS, choices=TABLES)
    parser.add_argument("--mode", default="compiled", choices=["compiled", "bytecode"])
    parser.add_argument("--via", default="torch", choices=["torch", "onnx"], help="the importer")
    parser.add_argument("--until", default="run", choices=STAGES[:4], help="the last stage")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each")
    parser.add_argument("--json", type=Path, help="a file for the rows, one JSON object a line")
    options = parser.parse_args()
    print(f"{'seconds':44}" + "".join(f"{stage:>7}" for stage in STAGES[:4]) + f"{'error':>9}")
    bad = 0
    measure.warm_up()
    for case in load(options.tables, options.patterns):
        row = attempt(case, options)
        bad += "error" in row
        print(describe(row), flush=True)
        if options.json:
            with options.json.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
