# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that are nearly right, for messages of errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], owner: str = "", cutoff: float = 0.6) -> str:
    """Return "; did you mean 'x'?" for the known name that is most like one, "" where none is.

    Names that end alike behind their last dot are the next to try: `relu` finds `nn.relu`.

    Parameters
    ----------
    name : str
    known : iterable of str
    owner : str
        What the names are members of, which the hint names before a dot.
    cutoff : float
        How alike names have to be, from 0 to 1.

    Examples
    --------
    >>> did_you_mean("mainn", ["main", "exp"])
    "; did you mean 'main'?"
    >>> did_you_mean("relu", ["relax", "nn.relu"], owner="op", cutoff=0.8)
    "; did you mean 'op.nn.relu'?"
    >>> did_you_mean("xyz", ["main"])
    ''
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    if not close:
        ends = {each.rpartition(".")[2]: each for each in names}
        last = name.rpartition(".")[2]
        close = [ends[each] for each in difflib.get_close_matches(last, ends, n=1, cutoff=cutoff)]
    if not close:
        return ""
    return f"; did you mean '{owner}.{close[0]}'?" if owner else f"; did you mean '{close[0]}'?"
