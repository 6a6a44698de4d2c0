# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurement of the running time of functions."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tvm_ffi

from ._ffi import vm_function
from .bounds import INT64, between

_time = vm_function("time")


@dataclass(frozen=True)
class BenchmarkResult:
    """The seconds that one call takes, measured several times.

    Attributes
    ----------
    results : tuple of float
        One a repetition, each the mean of its calls.
    """

    results: tuple[float, ...]

    def __post_init__(self) -> None:
        given: Any = self.results
        if not isinstance(given, tuple) or not given:
            raise TypeError(f"expected a tuple of seconds as results, but got {given!r}")

    @property
    def mean(self) -> float:
        """The mean of the repetitions."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """The repetition in the middle."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """The shortest repetition."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The longest repetition."""
        return max(self.results)

    @property
    def std(self) -> float:
        """The standard deviation of the repetitions."""
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "min", "max", "std")
        return ", ".join(f"{name} {getattr(self, name) * 1e6:.3f} us" for name in names)


def time_evaluator(
    function: tvm_ffi.Function, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0
) -> Callable[..., BenchmarkResult]:
    """Return a function that measures calls of a function; see `VirtualMachine.time_evaluator`."""
    calls = between("number", number, 1, INT64)
    repetitions = between("repeat", repeat, 1, INT64)

    def evaluate(*args: Any) -> BenchmarkResult:
        seconds = _time(function, calls, repetitions, float(min_repeat_ms), *args)
        return BenchmarkResult(tuple(float(value) for value in seconds))

    return evaluate
