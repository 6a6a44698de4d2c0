# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elements of arguments and constants, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from memory import narrow, widen
from plan import Data

Array = np.ndarray[Any, Any]

# None so large that what an operator computes on the way overflows where its result does not.
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, -0.0, 0.0, 1e-40, -1e-45, 6e-8, 1e-310, 100.0, 1.0]


def _uniform(rng: np.random.Generator, data: Data, shape: tuple[int, ...]) -> Array:
    return rng.uniform(data.low, data.high, shape)


def _integers(rng: np.random.Generator, data: Data, shape: tuple[int, ...]) -> Array:
    low, high = np.ceil(data.low), np.floor(data.high)
    if low > high:
        return np.full(shape, data.low)
    if high - low < 2**62:
        return rng.integers(int(low), int(high) + 1, shape)
    return rng.integers(-(2**63), 2**63 - 1, shape, endpoint=True)


def _special(rng: np.random.Generator, data: Data, shape: tuple[int, ...]) -> Array:
    numbers = _uniform(rng, data, shape)
    chosen = rng.random(shape) < 0.04
    return np.where(chosen, rng.choice(SPECIAL, shape), numbers)


def _positive(rng: np.random.Generator, data: Data, shape: tuple[int, ...]) -> Array:
    """Draw both signs of what is not close to zero."""
    size = rng.uniform(max(data.high / 4, 1e-3), max(data.high, 2e-3), shape)
    return np.where(rng.random(shape) < 0.5, size, -size) if data.low < 0 else size


def _least(rng: np.random.Generator, data: Data, shape: tuple[int, ...]) -> Array:
    """Draw integers, a few of which are the least and largest ones there are."""
    numbers = _integers(rng, data, shape)
    chosen = rng.random(shape) < 0.1
    return np.where(chosen, rng.choice([-(2**63), 2**63 - 1], shape), numbers)


def _zeros(rng: np.random.Generator, data: Data, shape: tuple[int, ...]) -> Array:
    del rng
    return np.full(shape, data.low)


KINDS: dict[str, Callable[[np.random.Generator, Data, tuple[int, ...]], Array]] = {
    "uniform": _uniform,
    "integers": _integers,
    "special": _special,
    "away from zero": _positive,
    "least": _least,
    "equal": _zeros,
}
LAYOUTS = ("contiguous", "reversed", "transposed", "broadcast", "sliced")


def elements(data: Data, shape: tuple[int, ...], dtype: str) -> Array:
    """Return the elements of a tensor; those of bfloat16 as numbers of float32."""
    rng = np.random.default_rng([data.seed, *shape])
    numbers = KINDS[data.kind](rng, data, shape)
    return np.asarray(converted(numbers, dtype))


def converted(numbers: Array, dtype: str) -> Array:
    """Return numbers of a data type, those out of range as the nearest one."""
    if dtype == "bool":
        middle = np.median(numbers) if numbers.size else 0
        return numbers > middle
    if dtype == "bfloat16":
        with np.errstate(all="ignore"):
            return widen(narrow(numbers.astype(np.float32))).reshape(numbers.shape)
    wanted = np.dtype(dtype)
    if wanted.kind == "f":
        with np.errstate(all="ignore"):
            return numbers.astype(wanted)
    info = np.iinfo(wanted)
    if numbers.dtype.kind == "f":
        numbers = np.nan_to_num(numbers, posinf=2**62, neginf=-(2**62)).astype(np.int64)
    low = max(info.min, -(2**63))
    return np.clip(numbers, low, min(info.max, 2**63 - 1)).astype(wanted)


def laid_out(array: Array, layout: str) -> Array:
    """Return an array of the same shape with other strides, and for "broadcast" other elements."""
    if array.ndim == 0 or array.size == 0 or layout == "contiguous":
        return array
    if layout == "reversed":
        return np.flip(array.copy())
    if layout == "transposed":
        return array.T.copy().T
    if layout == "broadcast":
        return np.broadcast_to(array[:1], array.shape)
    wide = np.repeat(array, 2, axis=-1)
    return wide[..., ::2]
