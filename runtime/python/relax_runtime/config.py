# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the package has what C++ programs build upon.

g++ program.cpp -I$(python -m relax_runtime.config --includedir) ...
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_PACKAGE = Path(__file__).parent
# What the folders hold, by the names of options.
_FOLDERS = {"includedir": "relax_runtime.h, relax_runtime.hpp", "libdir": "librelax_runtime.so"}
_PLACES = {"includedir": _PACKAGE / "include", "libdir": _PACKAGE / "lib"}


def main(arguments: list[str] | None = None) -> int:
    """Print the folders that are asked for, all of them without an option.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the command line.

    Returns
    -------
    int
        The exit status.

    Examples
    --------
    >>> main(["--libdir"])  # doctest: +ELLIPSIS
    /.../relax_runtime/lib
    0
    """
    parser = argparse.ArgumentParser(prog="python -m relax_runtime.config", description=__doc__)
    for name, content in _FOLDERS.items():
        help_ = f"print the folder of {content}"
        parser.add_argument(
            f"--{name}", dest="names", action="append_const", const=name, help=help_
        )
    names = parser.parse_args(arguments).names
    for name in names or _FOLDERS:
        print(_PLACES[name] if names else f"{name}: {_PLACES[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
