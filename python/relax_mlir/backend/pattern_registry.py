# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of external libraries, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from .._arguments import require_str, shown
from ..transform import FusionPattern

Pattern: TypeAlias = "FusionPattern | tuple[Any, ...]"

# Those that were registered last come last.
_patterns: list[FusionPattern] = []


def register_patterns(patterns: Iterable[Pattern]) -> None:
    """Register patterns.

    Parameters
    ----------
    patterns : iterable of FusionPattern or tuple
        Later ones are tried first. One with a name that is taken replaces the one of that name.

    Raises
    ------
    TypeError
        If something is no pattern.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> register_patterns([("sample.exp", is_op("relax.exp")(wildcard()))])
    >>> get_pattern("sample.exp").pattern
    relax.exp(*)
    """
    if isinstance(patterns, (str, FusionPattern)) or not isinstance(patterns, Iterable):
        raise TypeError(f"expected a list of patterns, but got {shown(patterns)}")
    given = {pattern.name: pattern for pattern in map(FusionPattern.of, patterns)}
    _patterns[:] = [pattern for pattern in _patterns if pattern.name not in given]
    _patterns.extend(given.values())


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """Return the patterns whose names begin with a prefix, those that are tried first first.

    Parameters
    ----------
    prefix : str
    """
    require_str("prefix", prefix)
    return [pattern for pattern in reversed(_patterns) if pattern.name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """Return the pattern of a name; None if there is none.

    Parameters
    ----------
    name : str
    """
    return next((pattern for pattern in _patterns if pattern.name == name), None)
