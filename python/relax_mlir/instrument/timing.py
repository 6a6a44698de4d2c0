# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timing of passes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .base import PassInstrument

if TYPE_CHECKING:
    from ..core.ir_module import IRModule
    from ..transform import PassInfo


@dataclass
class PassProfile:
    """The time of one run of a pass.

    Attributes
    ----------
    name : str
    start, end : float
        In seconds; `end` is None where the pass did not finish.
    children : list of PassProfile
        The passes that ran in it.
    """

    name: str
    start: float
    end: float | None = None
    children: list[PassProfile] = field(default_factory=list)

    @property
    def duration(self) -> float:
        """The time with that of the passes in it, in seconds; 0 where it did not finish."""
        return 0.0 if self.end is None else self.end - self.start


class PassTimingInstrument(PassInstrument):
    """Measures how long each pass takes.

    Attributes
    ----------
    profiles : list of PassProfile
        The passes that ran, those in sequences below them. A context that is entered starts a new
        list.

    Examples
    --------
    >>> from relax_mlir import transform
    >>> timing = PassTimingInstrument()
    >>> with transform.PassContext(instruments=[timing]):
    ...     _ = transform.Sequential([transform.Normalize()])("module {}")
    >>> [(profile.name, len(profile.children)) for profile in timing.profiles]
    [('sequential', 1)]
    """

    def __init__(self) -> None:
        self.profiles: list[PassProfile] = []
        self._open: list[PassProfile] = []

    def enter_pass_ctx(self) -> None:
        """Forget what was measured before."""
        self.profiles = []
        self._open = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Start the clock."""
        profile = PassProfile(info.name, time.perf_counter())
        (self._open[-1].children if self._open else self.profiles).append(profile)
        self._open.append(profile)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Stop the clock."""
        now = time.perf_counter()
        # Passes that failed have not been told of.
        while self._open and self._open[-1].name != info.name:
            self._open.pop()
        if self._open:
            self._open.pop().end = now

    def render(self) -> str:
        """Return the times as text, a line a pass: in all, by itself, and its parts of the whole.

        Returns
        -------
        str
        """
        whole = sum(profile.duration for profile in self.profiles)
        return "".join(_lines(self.profiles, whole, whole, 0))


def _lines(profiles: list[PassProfile], around: float, whole: float, depth: int) -> Iterator[str]:
    for profile in profiles:
        if profile.end is None:
            yield f"{'  ' * depth}{profile.name}: did not finish\n"
        else:
            own = profile.duration - sum(child.duration for child in profile.children)
            yield (
                f"{'  ' * depth}{profile.name}: {profile.duration * 1e6:.0f}us "
                f"[{own * 1e6:.0f}us] ({_part(profile.duration, whole)}; "
                f"{_part(profile.duration, around)})\n"
            )
        yield from _lines(profile.children, profile.duration, whole, depth + 1)


def _part(time_: float, whole: float) -> str:
    return f"{time_ / whole:.2%}" if whole > 0 else "0.00%"
