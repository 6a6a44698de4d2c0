# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decorator ``R.rewriter``: rules of rewriting in TVMScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parser import entry

if TYPE_CHECKING:
    from ..dpl import PatternMatchingRewriter

# `PatternMatchingRewriter.from_module`, which `relax_mlir.dpl` sets.
from_module: Any = None


def _parse_rule(cls: type, check_well_formed: bool = True) -> PatternMatchingRewriter:
    """Return the rewriter that a decorated class stands for.

    It has the functions ``pattern`` and ``replacement``; see
    `relax_mlir.dpl.PatternMatchingRewriter.from_module`.
    """
    return from_module(entry.parse_class(cls, check_well_formed))


rewriter = entry.decorator("R.rewriter", "rewriter", _parse_rule)
