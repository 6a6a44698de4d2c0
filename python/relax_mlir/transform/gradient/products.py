# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of products of matrices, softmax and attention."""

from __future__ import annotations

import math
from typing import Any

from ... import op
from ...core.ir import Dim
from .registry import Contribution, Forward, gradient
from .shapes import dims_of, number_of, product, reshaped, sum_to, zeros_of

# ------------------------------------------------------------------------------
# Products
# ------------------------------------------------------------------------------


def _transposed(x: Any) -> Any:
    ndim = x.type.ndim
    return op.permute_dims(x, [*range(ndim - 2), ndim - 1, ndim - 2])


def _cast(x: Any, dtype: str) -> Any:
    return x if x.type.dtype == dtype else op.astype(x, dtype)


@gradient("matmul")
def _matmul(f: Forward, g: Any) -> list[Contribution]:
    left, right = f.operands
    dtype = f.result.type.dtype
    # A vector is a matrix of one row on the left, of one column on the right.
    a = _cast(left if left.type.ndim > 1 else op.expand_dims(left, 0), dtype)
    b = _cast(right if right.type.ndim > 1 else op.expand_dims(right, 1), dtype)
    if right.type.ndim == 1:
        g = op.expand_dims(g, g.type.ndim)
    if left.type.ndim == 1:
        g = op.expand_dims(g, g.type.ndim - 1)

    def of_left() -> Any:
        return _like(op.matmul(g, _transposed(b)), a, left)

    def of_right() -> Any:
        if b.type.ndim == 2 and a.type.ndim > 2:
            return _like(op.matmul(_transposed(_rows(a)), _rows(g)), b, right)
        return _like(op.matmul(_transposed(a), g), b, right)

    return [of_left, of_right]


def _like(value: Any, matrix: Any, operand: Any) -> Any:
    """Return a gradient of a matrix as that of the operand that it is."""
    value = reshaped(sum_to(value, matrix), dims_of(operand))
    return _cast(value, operand.type.dtype)


def _rows(x: Any) -> Any:
    """Return matrices below each other."""
    *rows, columns = dims_of(x)
    return op.reshape(x, [product(rows), columns])


# ------------------------------------------------------------------------------
# Softmax
# ------------------------------------------------------------------------------


@gradient("softmax")
def _softmax(f: Forward, g: Any) -> list[Contribution]:
    return [_softmax_backward(f.result, g, f.axis(default=-1))]


def _softmax_backward(y: Any, g: Any, axis: int) -> Any:
    part = g * y
    return part - y * op.sum(part, [axis], keepdims=True)


@gradient("log_softmax")
def _log_softmax(f: Forward, g: Any) -> list[Contribution]:
    total = op.sum(g, [f.axis(default=-1)], keepdims=True)
    return [g - op.exp(f.result) * total]


# ------------------------------------------------------------------------------
# Attention
# ------------------------------------------------------------------------------


@gradient("attention")
def _attention(f: Forward, g: Any) -> list[Contribution]:
    query, key, value, *bias = f.operands
    heads = dims_of(query)[2]
    q, k, v, dy = (_by_head(each, heads) for each in (query, key, value, g))
    scale = f.attribute("scale")
    if scale is None:
        scale = _default_scale(f, query)
    scores = op.matmul(q, _transposed(k)) * scale
    if bias:
        scores = scores + bias[0]
    seen = _seen(f, query, key)
    weights = _weights(scores, seen)
    slopes = _softmax_backward(weights, op.matmul(dy, _transposed(v)), 3)
    return [
        lambda: _by_place(op.matmul(slopes, k) * scale, query),
        lambda: _by_place(op.matmul(_transposed(slopes), q) * scale, key),
        lambda: _by_place(op.matmul(_transposed(weights), dy), value),
        *([lambda: sum_to(slopes, bias[0])] if bias else []),
    ]


def _default_scale(f: Forward, query: Any) -> Any:
    features = dims_of(query)[3]
    if features.value is not None:
        return 1 / math.sqrt(features.value)
    return op.rsqrt(number_of(f, [features], query.type.dtype))


def _by_head(x: Any, heads: Dim) -> Any:
    """Return a tensor with heads before places, each key head once for each query that has it."""
    x = op.permute_dims(x, [0, 2, 1, 3])
    dims = dims_of(x)
    if dims[1] == heads:
        return x
    shared = _sharing(dims[1], heads)
    wide = op.broadcast_to(op.expand_dims(x, 2), [*dims[:2], shared, *dims[2:]])
    return op.reshape(wide, [dims[0], heads, *dims[2:]])


def _by_place(x: Any, operand: Any) -> Any:
    """Return the gradient of an operand for that with a head for each query."""
    wanted = dims_of(operand)
    dims = dims_of(x)
    if dims[1] != wanted[2]:
        shared = _sharing(wanted[2], dims[1])
        x = op.sum(op.reshape(x, [dims[0], wanted[2], shared, *dims[2:]]), [2])
    return reshaped(op.permute_dims(x, [0, 2, 1, 3]), wanted)


def _sharing(keys: Dim, queries: Dim) -> Dim:
    """Return how many heads of the query share one of the keys."""
    return queries // keys


def _seen(f: Forward, query: Any, key: Any) -> Any:
    """Return which query looks at which key; None where each looks at all."""
    mask, window = f.attribute("causal_mask"), f.attribute("window_size")
    queries, keys = dims_of(query)[1], dims_of(key)[1]
    if mask is None and window is None:
        return None
    place = op.reshape(op.arange(0, keys, 1, "int64"), [1, keys])
    last = number_of(f, [keys], "int64") - 1
    if mask is not None:
        last = op.reshape(op.arange(0, queries, 1, "int64"), [queries, 1])
    if mask == "BottomRight":
        last = last + (number_of(f, [keys], "int64") - number_of(f, [queries], "int64"))
    seen = op.less_equal(place, last)
    return seen if window is None else op.logical_and(seen, op.greater(place, last - window))


def _weights(scores: Any, seen: Any) -> Any:
    """Return the softmax of scores over the keys that are seen, zeros where none is."""
    if seen is None:
        return op.nn.softmax(scores)
    weights = op.nn.softmax(op.where(seen, scores, op.full_like(scores, _LOWEST)))
    return op.where(seen, weights, zeros_of(weights))


# Below all scores, and finite, also in float16.
_LOWEST = -60000.0


@gradient("outer")
def _outer(f: Forward, g: Any) -> list[Contribution]:
    x, y = f.operands
    return [lambda: op.matmul(g, y), lambda: op.matmul(x, g)]
