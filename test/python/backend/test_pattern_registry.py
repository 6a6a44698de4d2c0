# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns by name (RF15)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from relax_mlir.backend import (
    FusionPattern,
    get_pattern,
    get_patterns_with_prefix,
    pattern_registry,
    register_patterns,
)
from relax_mlir.dpl import is_op, wildcard

EXP, SIN = (is_op(f"relax.{name}")(wildcard()) for name in ("exp", "sin"))


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Leave the patterns that were there."""
    before = list(pattern_registry._patterns)
    yield
    pattern_registry._patterns[:] = before


def test_rf15_later_patterns_come_first() -> None:
    register_patterns([("one.exp", EXP), FusionPattern("one.sin", SIN)])
    register_patterns([("one.both", EXP | SIN), ("two.exp", EXP)])
    names = [pattern.name for pattern in get_patterns_with_prefix("one.")]
    assert names == ["one.both", "one.sin", "one.exp"]
    assert get_patterns_with_prefix("three") == []


def test_rf15_pattern_of_a_name() -> None:
    register_patterns([("one.exp", EXP)])
    found = get_pattern("one.exp")
    assert found is not None and found.pattern is EXP
    assert get_pattern("one") is None
    register_patterns([("one.exp", SIN)])  # replaces it
    assert [pattern.pattern for pattern in get_patterns_with_prefix("one.")] == [SIN]


def test_rf15_rejects_what_is_no_pattern() -> None:
    for given in ("one.exp", FusionPattern("one.exp", EXP), 3):
        with pytest.raises(TypeError, match="expected a list of patterns, but got"):
            register_patterns(given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a FusionPattern, or a tuple"):
        register_patterns([EXP])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected prefix to be a str"):
        get_patterns_with_prefix(3)  # type: ignore[arg-type]
