# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``relax-mlir profile``: where the time of a model goes, by kernel or by line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from . import options
from .compiling import add_model_options
from .errors import CommandError
from .running import add_input_options, prepare, set_threads

_KINDS = ("kernel", "builtin", "packed", "function", "closure")


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "profile",
        help="show where the time of a model goes",
        description="Compile a model, unless the file is compiled, and measure each call that it "
        "makes. A compiled file has to be bytecode, or compiled with --profile. Inputs that are "
        "not given are random.",
    )
    add_model_options(parser)
    add_input_options(parser)
    group = parser.add_argument_group("profile")
    group.add_argument(
        "--by",
        choices=("name", "place"),
        default="name",
        help="join calls of the same callee and shapes (name), or of the same line (place)",
    )
    group.add_argument("--kind", choices=_KINDS, help="only calls of this kind")
    group.add_argument("--trace", type=Path, metavar="FILE.json", help="write a trace for Perfetto")
    group.add_argument(
        "--folded", type=Path, metavar="FILE", help="write stacks for flame graphs and speedscope"
    )
    group.add_argument("--threads", type=int, help="threads of kernels")
    group.add_argument("--warm-up", type=int, default=3, metavar="N", help="calls before; 3")
    options.add_compile_options(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    if given.warm_up < 0:
        raise CommandError(f"expected a --warm-up of 0 or more, but got {given.warm_up}")
    set_threads(given.threads)
    prepared = prepare(given, is_random=True, is_profiled=True)
    for _ in range(given.warm_up):
        prepared.machine[given.function](*prepared.arguments)
    report = prepared.machine.profile(given.function, *prepared.arguments)
    rows = report.by_name(given.kind) if given.by == "name" else report.by_place(given.kind)
    print(report.table(rows))
    for path, export in ((given.trace, report.export_trace), (given.folded, report.export_folded)):
        if path is not None:
            export(path)
            print(f"{path}: {path.stat().st_size:,} bytes")
    return 0
