# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``relax-mlir``, or ``python -m relax_mlir``.

``relax-mlir config`` says where the package has what C++ projects build upon:

    cmake -B build -DRelaxMLIR_DIR=$(relax-mlir config --cmakedir)

``relax-mlir doctor`` says what the package finds on this machine, and whether it works.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__, _doctor

_PACKAGE = Path(__file__).parent
# The folders that `config` knows: what they hold, and their places in the package.
_FOLDERS = {
    "includes": ("the headers", "include"),
    "libdir": ("the static libraries", "lib"),
    "cmakedir": ("the CMake package RelaxMLIR", "lib/cmake/RelaxMLIR"),
    "tablegendir": ("the TableGen files of the dialect", "include/relax-mlir/dialect"),
}


def _print_folders(names: Sequence[str]) -> int:
    for name in names or _FOLDERS:
        folder = _PACKAGE / _FOLDERS[name][1]
        if not folder.is_dir():
            print(
                f"relax-mlir: expected {_FOLDERS[name][0]} in {folder}, but there is no such "
                "folder: the package is that of a build tree, so install it "
                "(pip install, or cmake --install)",
                file=sys.stderr,
            )
            return 1
        print(folder if names else f"{name}: {folder}")
    return 0


def _print_report() -> int:
    has_problem = False
    for finding in _doctor.examine():
        print(finding)
        has_problem |= finding.is_problem
    return int(has_problem)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="relax-mlir", description="Tells about the package.")
    parser.add_argument("--version", action="version", version=f"relax-mlir {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    config = commands.add_parser("config", help="print folders; all of them without an option")
    for name, (content, _) in _FOLDERS.items():
        config.add_argument(
            f"--{name}",
            dest="names",
            action="append_const",
            const=name,
            help=f"the folder of {content}",
        )
    commands.add_parser("doctor", help="check the installation and report about the machine")
    given = parser.parse_args(arguments)
    if given.command == "doctor":
        return _print_report()
    return _print_folders(given.names or [])


if __name__ == "__main__":
    sys.exit(main())
