# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in the language of ``cuda.tile``: products of matrices, and attention.

The package reads the source of these functions; nothing calls them here. A block computes one tile
of the result. What `PRODUCT` and `ATTENTION` list as constants is known when a kernel is compiled,
all else when it is launched. Sizes that are no multiples of a tile are filled up with zeros.
"""

from __future__ import annotations

import math
from typing import Any

#: The package ``cuda.tile``, which `compiler` opens where a kernel is first compiled.
ct: Any = None

#: The operations that may follow a product, each by its number in kernels.
ACTIVATIONS = {
    "relax.relu": 1,
    "relax.gelu": 2,
    "relax.gelu_tanh": 3,
    "relax.silu": 4,
    "relax.sigmoid": 5,
    "relax.tanh": 6,
}
#: The masks of attention, each by its number in kernels.
MASKS = {None: 0, "TopLeft": 1, "BottomRight": 2}

#: The constants of kernels, after their other parameters.
PRODUCT = (
    *("tile_m", "tile_n", "tile_k", "transposed_lhs", "transposed_rhs"),
    *("has_bias", "has_sum", "activation"),
)
ATTENTION = ("tile_m", "tile_n", "tile_d", "tile_v", "mask", "has_window", "has_bias", "bias_rows")

# Blocks that follow each other have as many rows of tiles, which a cache then holds.
_GROUP = 8

_LOG2_E = 1 / math.log(2)
_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_BY_PI = math.sqrt(2 / math.pi)


# ---------------------------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------------------------


def product(
    lhs: Any,
    rhs: Any,
    bias: Any,
    added: Any,
    out: Any,
    steps: Any,
    tile_m: Any,
    tile_n: Any,
    tile_k: Any,
    transposed_lhs: Any,
    transposed_rhs: Any,
    has_bias: Any,
    has_sum: Any,
    activation: Any,
) -> None:
    """Compute ``activation(lhs @ rhs + bias + added)``.

    Parameters
    ----------
    lhs, rhs, added, out : array
        Of the dimensions batch, row, column; `lhs` and `rhs` may have one matrix for all of a
        batch, and their rows and columns may be swapped.
    bias : array
        A number for each column.
    steps : int
        How many tiles there are along the dimension that is summed up.
    tile_m, tile_n, tile_k : int
        The sizes of a tile, powers of two.
    transposed_lhs, transposed_rhs : bool
    has_bias, has_sum : bool
        Whether there are `bias` and `added`.
    activation : int
        A number of `ACTIVATIONS`, or 0.
    """
    rows, columns = ct.cdiv(out.shape[1], tile_m), ct.cdiv(out.shape[2], tile_n)
    block = ct.bid(0)
    batch = block // (rows * columns)
    row, column = _place(block % (rows * columns), rows, columns)
    left, right = min(batch, lhs.shape[0] - 1), min(batch, rhs.shape[0] - 1)
    total = ct.zeros((tile_m, tile_n), dtype=ct.float32)
    for step in range(steps):
        a = _matrix(lhs, left, row, step, tile_m, tile_k, transposed_lhs)
        b = _matrix(rhs, right, step, column, tile_k, tile_n, transposed_rhs)
        total = ct.mma(a, b, total)
    if has_bias:
        numbers = ct.load(bias, (column,), (tile_n,), padding_mode=ct.PaddingMode.ZERO)
        total = total + numbers.astype(ct.float32).reshape((1, tile_n))
    if has_sum:
        other = _matrix(added, batch, row, column, tile_m, tile_n, False)
        total = total + other.astype(ct.float32)
    result = _activated(total, activation).astype(out.dtype)
    ct.store(out, (batch, row, column), result.reshape((1, tile_m, tile_n)))


def _place(index: Any, rows: Any, columns: Any) -> Any:
    """Return the row and the column of a tile: groups of rows follow each other."""
    first = index // (_GROUP * columns) * _GROUP
    height = min(rows - first, _GROUP)
    within = index % (_GROUP * columns)
    return first + within % height, within // height


def _matrix(
    array: Any, batch: Any, row: Any, column: Any, height: Any, width: Any, transposed: Any
) -> Any:
    """Return a tile of a matrix of a batch, which has rows and columns swapped or not."""
    shape = (1, height, width)
    place = (batch, row, column)
    zero = ct.PaddingMode.ZERO
    if transposed:
        tile = ct.load(array, place, shape, order=(0, 2, 1), padding_mode=zero)
    else:
        tile = ct.load(array, place, shape, padding_mode=zero)
    return tile.reshape((height, width))


def _activated(x: Any, activation: Any) -> Any:
    """Return what an activation makes of a tile of float32."""
    y = x
    if activation == 1:
        y = ct.maximum(x, 0.0, propagate_nan=True)
    elif activation == 2:
        y = x * _normal_distribution(x)
    elif activation == 3:
        inner = _SQRT_2_BY_PI * (x + 0.044715 * x * x * x)
        y = 0.5 * x * (1.0 + ct.tanh(inner))
    elif activation == 4:
        y = x / (1.0 + ct.exp(-x))
    elif activation == 5:
        y = 1.0 / (1.0 + ct.exp(-x))
    elif activation == 6:
        y = ct.tanh(x)
    return y  # one return: several would be a loop in Tile IR


def _normal_distribution(x: Any) -> Any:
    """Return ``0.5 * (1 + erf(x / sqrt(2)))``, whose digits are right also where it is nearly 0.

    The approximation of erf is 7.1.26 of Abramowitz and Stegun, "Handbook of Mathematical
    Functions".
    """
    z = ct.abs(x) * _SQRT_HALF
    t = 1.0 / (1.0 + 0.3275911 * z)
    series = t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))
    series = t * (0.254829592 + t * (-0.284496736 + series))
    tail = 0.5 * series * ct.exp(-z * z)
    return ct.where(x < 0.0, tail, 1.0 - tail)


# ---------------------------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------------------------


def attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    out: Any,
    scale: Any,
    window: Any,
    tile_m: Any,
    tile_n: Any,
    tile_d: Any,
    tile_v: Any,
    mask: Any,
    has_window: Any,
    has_bias: Any,
    bias_rows: Any,
) -> None:
    """Compute ``softmax(query @ key^T * scale + bias) @ value`` in one pass over the keys.

    Parameters
    ----------
    query, key, value, out : array
        Of the dimensions batch, position, head, feature. A head of `key` and `value` is that of
        several consecutive ones of `query`.
    bias : array
        Of the dimensions batch, head, query, key, of which the first two may be 1.
    scale : float
        Times ``log2(e)``.
    window : int
        How many keys a query sees at most.
    tile_m, tile_n : int
        How many queries and how many keys a tile has.
    tile_d, tile_v : int
        Powers of two that are not less than the features of keys and values.
    mask : int
        A number of `MASKS`.
    has_window, has_bias : bool
    bias_rows : bool
        Whether `bias` differs between queries.
    """
    queries, heads = query.shape[1], query.shape[2]
    blocks = ct.cdiv(queries, tile_m)
    block = ct.bid(0)
    row, head, batch = block % blocks, block // blocks % heads, block // (blocks * heads)
    key_head = head // (heads // key.shape[2])
    value_head = head // (heads // value.shape[2])
    keys = key.shape[1]
    offset = keys - queries if mask == 2 else 0
    zero = ct.PaddingMode.ZERO
    q = ct.load(query, (batch, row, head, 0), (1, tile_m, 1, tile_d), padding_mode=zero)
    q = q.reshape((tile_m, tile_d))
    # The last key that each query sees.
    last = row * tile_m + offset + ct.arange(tile_m, dtype=ct.int32).reshape((tile_m, 1))
    begin, end = _range(row, offset, keys, window, tile_m, tile_n, mask, has_window)
    largest = ct.full((tile_m, 1), -math.inf, dtype=ct.float32)
    weights = ct.zeros((tile_m, 1), dtype=ct.float32)
    total = ct.zeros((tile_m, tile_v), dtype=ct.float32)
    for step in range(begin, end):
        k = ct.load(
            key,
            (batch, 0, key_head, step),
            (1, tile_d, 1, tile_n),
            order=(0, 3, 2, 1),
            padding_mode=zero,
        )
        scores = ct.zeros((tile_m, tile_n), dtype=ct.float32)
        scores = ct.mma(q, k.reshape((tile_d, tile_n)), scores) * scale
        if has_bias:
            scores = scores + _bias(bias, batch, head, row, step, tile_m, tile_n, bias_rows)
        place = step * tile_n + ct.arange(tile_n, dtype=ct.int32).reshape((1, tile_n))
        visible = place < keys
        if mask != 0:
            visible = visible & (place <= last)
        if has_window:
            visible = visible & (place > last - window)
        scores = ct.where(visible, scores, -math.inf)
        new = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        # Of queries that have seen no key yet, all scores are -inf.
        base = ct.where(new == -math.inf, 0.0, new)
        exponentials = ct.exp2(scores - base)
        factor = ct.exp2(largest - base)
        v = ct.load(value, (batch, step, value_head, 0), (1, tile_n, 1, tile_v), padding_mode=zero)
        weights = weights * factor + ct.sum(exponentials, axis=1, keepdims=True)
        rounded = exponentials.astype(query.dtype)
        total = ct.mma(rounded, v.reshape((tile_n, tile_v)), total * factor)
        largest = new
    total = ct.where(weights == 0.0, 0.0, total / weights)
    result = total.astype(out.dtype).reshape((1, tile_m, 1, tile_v))
    ct.store(out, (batch, row, head, 0), result)


def _range(
    row: Any,
    offset: Any,
    keys: Any,
    window: Any,
    tile_m: Any,
    tile_n: Any,
    mask: Any,
    has_window: Any,
) -> Any:
    """Return the first tile of keys that a tile of queries sees, and the one after the last."""
    end = keys
    if mask != 0:
        end = max(min(keys, (row + 1) * tile_m + offset), 0)
    begin = 0
    if has_window:
        begin = max(row * tile_m + offset - window + 1, 0) // tile_n
    return begin, ct.cdiv(end, tile_n)


def _bias(
    bias: Any,
    batch: Any,
    head: Any,
    row: Any,
    step: Any,
    tile_m: Any,
    tile_n: Any,
    bias_rows: Any,
) -> Any:
    """Return a tile of what is added to scores, of one row where all queries have the same."""
    batch, head = min(batch, bias.shape[0] - 1), min(head, bias.shape[1] - 1)
    zero = ct.PaddingMode.ZERO
    if bias_rows:
        tile = ct.load(bias, (batch, head, row, step), (1, 1, tile_m, tile_n), padding_mode=zero)
        tile = tile.reshape((tile_m, tile_n))
    else:
        tile = ct.load(bias, (batch, head, 0, step), (1, 1, 1, tile_n), padding_mode=zero)
        tile = tile.reshape((1, tile_n))
    return tile.astype(ct.float32) * _LOG2_E
