# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``relax-mlir config`` and ``relax-mlir doctor``: the installation.

``config`` says where the package has what C++ projects build upon:

    cmake -B build -DRelaxMLIR_DIR=$(relax-mlir config --cmakedir)
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import _doctor
from .errors import CommandError

_PACKAGE = Path(__file__).parents[1]
# The folders that `config` knows: what they hold, and their places in the package.
_FOLDERS = {
    "includes": ("the headers", "include"),
    "libdir": ("the static libraries", "lib"),
    "cmakedir": ("the CMake package RelaxMLIR", "lib/cmake/RelaxMLIR"),
    "tablegendir": ("the TableGen files of the dialect", "include/relax-mlir/dialect"),
}


def add_parsers(commands: Any) -> None:
    """Add the commands."""
    config = commands.add_parser("config", help="print folders; all of them without an option")
    for name, (content, _) in _FOLDERS.items():
        config.add_argument(
            f"--{name}",
            dest="names",
            action="append_const",
            const=name,
            help=f"the folder of {content}",
        )
    config.set_defaults(run=_config)
    doctor = commands.add_parser(
        "doctor", help="check the installation and report about the machine"
    )
    doctor.set_defaults(run=_report)


def _config(given: argparse.Namespace) -> int:
    for name in given.names or _FOLDERS:
        content, place = _FOLDERS[name]
        folder = _PACKAGE / place
        if not folder.is_dir():
            raise CommandError(
                f"expected {content} in {folder}, but there is no such folder: the package is that "
                "of a build tree, so install it (pip install, or cmake --install)"
            )
        print(folder if given.names else f"{name}: {folder}")
    return 0


def _report(given: argparse.Namespace) -> int:
    has_problem = False
    for finding in _doctor.examine():
        print(finding)
        has_problem |= finding.is_problem
    return int(has_problem)
