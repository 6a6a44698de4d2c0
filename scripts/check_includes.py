"""Check that the sources of a library include headers of the layers below it alone.

Usage: check_includes.py FOLDER... --layers LAYER..., with the folders of a library's sources and
public headers, and the folders of include/relax-mlir/ that it may read. The build calls this for
each library (cmake/RelaxLibrary.cmake).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

INCLUDE = re.compile(r'#include "(?:relax-mlir/(\w+)/|(\.\./))')


def wrong_includes(folder: Path, layers: Sequence[str]) -> Iterator[str]:
    """Yield a message for each include of another layer, or of a folder above."""
    for path in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.h"), *folder.rglob("*.in")]):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if found and found[1] not in layers:
                yield (
                    f"{path}:{number}: error: expected a header of {', '.join(layers)} or of this "
                    f"folder, but got {line}"
                )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--layers", nargs="+", required=True)
    options = parser.parse_args(arguments)
    messages = [m for folder in options.folders for m in wrong_includes(folder, options.layers)]
    for message in messages:
        print(message, file=sys.stderr)
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
