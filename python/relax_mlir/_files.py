# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths that are no files: reading a FIFO waits for a writer, and renaming replaces a device."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def other_kind(path: str | os.PathLike[str]) -> str | None:
    """Return what is at a path in place of a file; None where there is a file, or nothing.

    Examples
    --------
    >>> other_kind("/"), other_kind("/dev/null"), other_kind("/nonexistent")
    ('a folder', 'a device', None)
    """
    try:
        mode = Path(path).stat().st_mode
    except OSError:  # said by who opens it
        return None
    if stat.S_ISREG(mode):
        return None
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
