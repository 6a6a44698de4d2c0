# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds on the distance of a result from the exact one, which follow from the operators.

A program is evaluated exactly, and several times with each float moved within the bound of its
operator. How far these results are apart says how far two right implementations may be. Where they
disagree about integers, NaN or infinities, an element is not determined, and is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from relax_mlir import reference
from relax_mlir.reference.tensor import FORMATS, round_float, unit_in_last_place

Array = np.ndarray[Any, Any]
FACTOR = 8.0  # a few runs seldom meet the worst case
LAST_PLACES = 2.0
FAST_MATH = 8.0
FAST_UNDERFLOW = 2.0**-118  # see docs/dev/accuracy.md
MODES = ("rounded random", "rounded", "random", "random", "down", "up")  # the last one first


class Rounded(reference.Perturbed):
    """Moved, and rounded as an implementation does: so that equal numbers may come about."""

    def finish(self, op_name: str, data: Any, dtype: str) -> Any:
        """Return the result of an operator as a tensor."""
        tensor = super().finish(op_name, data, dtype)
        if "float" not in dtype:
            return tensor
        return reference.Tensor(round_float(tensor.data, dtype).astype(np.float64), dtype)


class RoundedAlike(Rounded):
    """All elements of a tensor moved alike, and rounded.

    Numbers that are closer than the error of an implementation become equal: tanh of large ones.
    """

    def _factors(self, shape: tuple[int, ...]) -> Array:
        return np.full(shape, self.rng.uniform(-1.0, 1.0))


class Fast(reference.Perturbed):
    """Moved as far as fast math may be wrong, and also where a result is exact by chance.

    Small numbers are 0.
    """

    def finish(self, op_name: str, data: Any, dtype: str) -> Any:
        """Return the result of an operator as a tensor."""
        tensor = super().finish(op_name, data, dtype)
        if "float" not in dtype or not self._ulps:
            return tensor
        with np.errstate(all="ignore"):
            unit = np.nan_to_num(unit_in_last_place(np.abs(tensor.data), dtype), posinf=0)
            noise = FAST_MATH * self._ulps * unit * self.rng.uniform(-1, 1, tensor.shape)
            moved = np.asarray(tensor.data + noise)
            is_small = np.abs(moved) < fast_underflow(dtype)
            return reference.Tensor(np.where(is_small, np.copysign(0, moved), moved), dtype)


def fast_underflow(dtype: str) -> float:
    """Return the least magnitude that fast math keeps."""
    least = 2.0 ** (1 - FORMATS[dtype].bias)
    return max(least, FAST_UNDERFLOW) if dtype != "float64" else least


def arithmetic_of(seed: int, mode: str) -> Any:
    """Return how a perturbed run computes."""
    rng = np.random.default_rng(seed)
    if mode == "fast":
        return Fast(rng, "random")
    if mode == "rounded":
        return reference.Arithmetic()
    if mode == "rounded random":
        return Rounded(rng, "random")
    if mode == "rounded alike":
        return RoundedAlike(rng, "random")
    return reference.Perturbed(rng, mode)  # type: ignore[arg-type]


@dataclass
class Counts:
    """Numbers of elements: all, compared ones, and those with a tight bound."""

    elements: int = 0
    compared: int = 0
    tight: int = 0

    def add(self, other: Counts) -> None:
        """Add those of another comparison."""
        self.elements += other.elements
        self.compared += other.compared
        self.tight += other.tight


@dataclass
class Difference:
    """An element that is wrong."""

    output: int
    place: tuple[int, ...]
    expected: float
    actual: float
    allowed: float
    wrong: int = 1
    total: int = 1

    def __str__(self) -> str:
        return (
            f"output {self.output}, element {self.place}: expected {self.expected!r} "
            f"+- {self.allowed:.3g}, but got {self.actual!r} "
            f"({self.wrong} of {self.total} elements are wrong)"
        )


def flatten(result: Any) -> list[Any]:
    """Return the tensors of a result, which may be a tuple."""
    if isinstance(result, (tuple, list)) or type(result).__name__ == "Array":
        return [part for field in result for part in flatten(field)]
    return [result]


class Expected:
    """The results that a program may return for some arguments.

    Parameters
    ----------
    module : mlir.ir.Module
    args : sequence
        As the reference takes them.
    is_measured : bool
        Whether to count what is compared: the perturbed runs are needed then, even where nothing
        is far from the exact result.
    """

    def __init__(self, module: Any, args: Sequence[Any], is_measured: bool = True) -> None:
        self.module, self.args = module, args
        self.exact = self._run(reference.Exact())
        self.spread = [np.zeros(tensor.shape) for tensor in self.exact]
        self.known: list[Any] = [np.ones(tensor.shape, bool) for tensor in self.exact]
        self.is_measured = is_measured
        self.modes = list(MODES)
        while is_measured and self.modes:
            self.perturb(len(self.modes), self.modes.pop())

    def _run(self, arithmetic: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            return flatten(reference.run(self.module, "main", *self.args, arithmetic=arithmetic))

    def perturb(self, seed: int, mode: Any) -> None:
        """Take one more perturbed run into account."""
        moved = self._run(arithmetic_of(seed, mode))
        for index, (exact, other) in enumerate(zip(self.exact, moved, strict=True)):
            if exact.shape != other.shape:  # which depends on the data
                self.known[index] = np.zeros(exact.shape, bool)
                continue
            if "float" not in exact.dtype:
                self.known[index] = self.known[index] & (exact.data == other.data)
                continue
            x, y = exact.data.astype(float), other.data.astype(float)
            with np.errstate(all="ignore"):
                apart = np.abs(x - y)
            same = (np.isnan(x) & np.isnan(y)) | (x == y)
            self.known[index] = self.known[index] & (same | np.isfinite(apart))
            apart = np.where(np.isfinite(apart), apart, 0.0)
            self.spread[index] = np.maximum(self.spread[index], apart)

    def more(self, count: int, is_fast: bool) -> None:
        """Take more random runs into account, to confirm a finding."""
        modes = ["random", "rounded random", "rounded alike", *(["fast"] * 3 if is_fast else [])]
        for seed in range(count):
            self.perturb(1000 + seed, modes[seed % len(modes)])

    def allowed(self, index: int, options: dict[str, Any], is_winograd: bool) -> Array:
        """Return how far each element of an output may be from the exact one."""
        exact = self.exact[index]
        spread = self.spread[index] * FACTOR
        if options.get("fast_math") and exact.dtype in FORMATS:
            spread = spread * FAST_MATH + fast_underflow(exact.dtype)
        if is_winograd and spread.size:
            spread = np.maximum(spread, 2 * spread.max())
        with np.errstate(all="ignore"):
            size = np.nan_to_num(np.abs(exact.data.astype(float)), posinf=0)
            return spread + LAST_PLACES * unit_in_last_place(size + spread, exact.dtype)

    def compare(
        self, actual: Sequence[tuple[Array, str]], options: dict[str, Any], is_winograd: bool
    ) -> tuple[Counts, Difference | None]:
        """Compare what a program returned; return the worst element that is wrong.

        Runs are perturbed until none is.
        """
        while True:
            counts, worst = self._compare(actual, options, is_winograd)
            if worst is None or not self.modes:
                return counts if self.is_measured else Counts(), worst
            self.perturb(len(self.modes), self.modes.pop())

    def _compare(
        self, actual: Sequence[tuple[Array, str]], options: dict[str, Any], is_winograd: bool
    ) -> tuple[Counts, Difference | None]:
        counts, worst = Counts(), None
        for index, exact in enumerate(self.exact):
            given, dtype = actual[index]
            if dtype != exact.dtype or given.shape != exact.shape:
                place = (*exact.shape, -1, *given.shape)
                return counts, Difference(index, place, np.nan, np.nan, 0)
            if "float" in dtype:
                allowed = self.allowed(index, options, is_winograd)
                wrong = self._wrong_floats(index, given.astype(float), allowed, options)
            else:
                allowed = np.zeros(exact.shape)
                wrong = self.known[index] & (given != exact.data)
            counts.add(self._count(index, allowed))
            if wrong.any() and worst is None:
                worst = _worst(index, exact.data, given, allowed, wrong)
        return counts, worst

    def _wrong_floats(
        self, index: int, given: Array, allowed: Array, options: dict[str, Any]
    ) -> Array:
        exact = self.exact[index].data.astype(float)
        with np.errstate(all="ignore"):
            same = (np.isnan(exact) & np.isnan(given)) | (exact == given)
            near = np.abs(exact - given) <= allowed
            # A number that is almost too large for the data type may be too large.
            largest = FORMATS[self.exact[index].dtype].largest
            edge = np.isfinite(exact) & (np.abs(exact) + allowed >= largest)
            edge |= np.isinf(exact) & (np.abs(given) >= largest * (1 - 2.0**-6))
        del options
        return np.asarray(self.known[index] & ~same & ~near & ~edge)

    def _count(self, index: int, allowed: Array) -> Counts:
        exact, known = self.exact[index], self.known[index]
        if "float" not in exact.dtype:
            return Counts(known.size, int(known.sum()), int(known.sum()))
        digits = FORMATS[exact.dtype].fraction
        with np.errstate(all="ignore"):
            size = np.abs(exact.data.astype(float))
            tight = known & ~(allowed > size * 2.0 ** -(digits // 2))
            loose = known & (allowed > np.maximum(size, 1e-2))
        compared = int(known.sum()) - int(loose.sum())
        return Counts(known.size, compared, int(tight.sum()))


def _worst(index: int, exact: Array, given: Array, allowed: Array, wrong: Array) -> Difference:
    """Return the element that is most wrong."""
    with np.errstate(all="ignore"):
        apart = np.abs(np.asarray(exact, float) - np.asarray(given, float))
        excess = np.where(wrong, np.nan_to_num(apart - allowed, nan=np.inf, posinf=np.inf), -1)
    place = np.unravel_index(int(np.argmax(excess)), exact.shape) if exact.ndim else ()
    return Difference(
        index,
        tuple(int(i) for i in place),
        float(exact[place]),
        float(given[place]),
        float(allowed[place]),
        int(wrong.sum()),
        int(wrong.size),
    )
