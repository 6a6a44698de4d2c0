# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``relax-mlir``, or ``python -m relax_mlir``: a module for each command.

Errors are one line on ``sys.stderr`` and exit code 1, or 2 where the command line itself is wrong;
``--traceback`` raises them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__
from . import benchmark, compiling, exploring, inspection, installation, profiling, running
from .errors import complain, plain_warnings, words


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, not after all that would be right."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists the options\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="relax-mlir",
        description="Compiles, runs, measures and inspects models.",
        epilog="relax-mlir COMMAND --help lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"relax-mlir {__version__}")
    parser.add_argument(
        "--traceback", action="store_true", help="raise errors, with the calls that led to them"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (compiling, running, benchmark, profiling, inspection, exploring):
        module.add_parser(commands)
    installation.add_parsers(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int
        The exit code: 0, or 1 after an error, which is said in one line.

    Raises
    ------
    SystemExit
        If the command line is wrong, or asks for help.

    Examples
    --------
    >>> import contextlib, sys
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     main(["inspect", "missing.onnx"])
    relax-mlir: missing.onnx: No such file or directory
    1
    """
    given = _parser().parse_args(arguments)
    if given.traceback:
        return int(given.run(given))
    try:
        with plain_warnings():
            return int(given.run(given))
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BrokenPipeError:
        # Nobody reads any more; what Python writes at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        complain(words(error))
        return 1
