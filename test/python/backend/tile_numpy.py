# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of ``cuda.tile`` that kernels use, in NumPy: it has the place of ``ct``.

A tile is an array, and runs on the host. What the language leaves undefined is an error, or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

float16, float32, int32 = np.float16, np.float32, np.int32


class PaddingMode(Enum):
    UNDETERMINED = 0
    ZERO = 1


class Array:
    """Memory of the device, which a kernel loads tiles from.

    Parameters
    ----------
    data : numpy.ndarray
        All elements, of one dimension.
    shape, strides : sequence of int
    """

    def __init__(self, data: np.ndarray, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.dtype, self.shape = data.dtype, tuple(shape)
        steps = [stride * data.itemsize for stride in strides]
        self.view = as_strided(data, self.shape, steps)


#: The number of the block that runs.
block = 0


def bid(axis: int) -> int:
    assert axis == 0
    return block


def _place(array: np.ndarray, index: Sequence[int], shape: Sequence[int]) -> Any:
    """Return the elements of an array that a tile has, and where these are in the tile."""
    assert array.ndim == len(index) == len(shape)
    assert all(size & (size - 1) == 0 for size in shape), "sizes of tiles are powers of two"
    starts = [place * size for place, size in zip(index, shape, strict=True)]
    limits = list(zip(starts, array.shape, strict=True))
    assert all(0 <= start < most for start, most in limits), "the tile is outside of the array"
    counts = [min(size, most - start) for size, (start, most) in zip(shape, limits, strict=True)]
    inside = tuple(slice(start, start + n) for start, n in zip(starts, counts, strict=True))
    return inside, tuple(slice(0, n) for n in counts)


def load(
    array: Array,
    index: Sequence[int],
    shape: Sequence[int],
    *,
    order: Sequence[int] | None = None,
    padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
) -> np.ndarray:
    view = array.view if order is None else array.view.transpose(order)
    inside, here = _place(view, index, shape)
    padding = 0 if padding_mode is PaddingMode.ZERO else np.nan
    tile = np.full(shape, padding, array.dtype)
    tile[here] = view[inside]
    return tile


def store(array: Array, index: Sequence[int], tile: np.ndarray) -> None:
    assert tile.dtype == array.dtype
    inside, here = _place(array.view, index, tile.shape)
    array.view[inside] = tile[here]


def mma(x: np.ndarray, y: np.ndarray, acc: np.ndarray) -> np.ndarray:
    assert x.dtype == y.dtype and x.dtype.itemsize == 2 and acc.dtype == np.float32
    assert acc.shape == (x.shape[0], y.shape[1])
    return x.astype(np.float32) @ y.astype(np.float32) + acc


def zeros(shape: Sequence[int], dtype: Any) -> np.ndarray:
    return np.zeros(shape, dtype)


def full(shape: Sequence[int], value: float, dtype: Any) -> np.ndarray:
    return np.full(shape, value, dtype)


def arange(size: int, *, dtype: Any) -> np.ndarray:
    return np.arange(size, dtype=dtype)


def maximum(x: Any, y: Any, *, propagate_nan: bool = False) -> np.ndarray:
    return np.maximum(x, y) if propagate_nan else np.fmax(x, y)


def where(condition: np.ndarray, x: Any, y: Any) -> np.ndarray:
    return np.where(condition, np.float32(x), np.float32(y))


def max(x: np.ndarray, axis: int, *, keepdims: bool) -> np.ndarray:  # noqa: A001
    return np.fmax.reduce(x, axis=axis, keepdims=keepdims)


def sum(x: np.ndarray, axis: int, *, keepdims: bool) -> np.ndarray:  # noqa: A001
    return x.sum(axis=axis, keepdims=keepdims)


def cdiv(x: int, y: int) -> int:
    return -(-x // y)


abs, exp, exp2, tanh = np.abs, np.exp, np.exp2, np.tanh  # noqa: A001
