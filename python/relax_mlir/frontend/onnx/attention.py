# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention as onnxruntime has it: with keys of earlier calls, masks, and rotated positions.

Heads have the dimensions batch, position, head, feature here; what is kept for later calls has
heads before positions.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from mlir import ir

from ... import op
from ...composites.tensors import agreed, cast, matched, number, same, size_tensor
from ..values import rank_of, shape_of
from .manipulate import at, part, split
from .qlinear import to_float
from .registry import Node, converter

_DOMAIN = "com.microsoft"


def _heads(x: ir.Value, count: int) -> ir.Value:
    """Return the features of each position as those of heads."""
    batch, length, features = shape_of(x)
    if features % count != 0:
        raise ValueError(f"expected features for {count} heads, but got {features}")
    return op.reshape(x, [batch, length, count, features // count])


def _joined(x: ir.Value) -> ir.Value:
    batch, length, count, features = shape_of(x)
    return op.reshape(x, [batch, length, count * features])


def _swapped(x: ir.Value) -> ir.Value:
    """Swap positions and heads."""
    return op.permute_dims(x, [0, 2, 1, 3])


def _scale(node: Node) -> float | None:
    return node.attr("scale", 0.0) or None  # 0 stands for the default


def _sum(*biases: ir.Value | None) -> ir.Value | None:
    """Return the sum of those that are there."""
    given = [bias for bias in biases if bias is not None]
    return functools.reduce(lambda x, y: op.add(*agreed(x, y)), given) if given else None


def _chosen(flags: ir.Value, other: float, dtype: str) -> ir.Value:
    """Return a bias that is 0 where flags hold."""
    return op.where(flags, number(0, dtype), number(other, dtype))


def _padding(node: Node, mask: ir.Value | None, q: ir.Value, keys: Any) -> ir.Value | None:
    """Return the bias of a mask: of lengths, of keys, or of pairs of queries and keys."""
    if mask is None:
        return None
    other, dtype, rank = node.attr("mask_filter_value", -10000.0), q.type.dtype, rank_of(mask)
    if rank > 1:
        if rank > 3:
            raise NotImplementedError(f"expected a mask of rank 1 to 3, but got rank {rank}")
        flags = op.greater(mask, number(0, mask.type.dtype))
        return _chosen(op.expand_dims(flags, [1, 2] if rank == 2 else [1]), other, dtype)
    batch, count = shape_of(q)[0], shape_of(mask)[0]
    places = op.arange(0, keys, 1, "int64")
    ends = cast(mask, "int64")
    if same(count, batch):
        flags = op.less(places, op.reshape(ends, [batch, 1, 1, 1]))
        return _chosen(flags, other, dtype)
    if not same(count, batch * 2):
        raise NotImplementedError(f"expected a mask of {batch} or {batch * 2}, but got {count}")
    # The ends, then the begins.
    begins = op.reshape(part(ends, 0, batch, count), [batch, 1, 1, 1])
    ends = op.reshape(part(ends, 0, 0, batch), [batch, 1, 1, 1])
    flags = op.logical_and(op.less(places, ends), op.greater_equal(places, begins))
    return _chosen(flags, other, dtype)


def _with_past(past: ir.Value | None, new: ir.Value) -> ir.Value:
    """Return heads of earlier calls and new ones, with heads before positions."""
    return _swapped(new) if past is None else op.concat([past, _swapped(new)], 2)


def _attend(node: Node, q: ir.Value, k: ir.Value, v: ir.Value, bias: ir.Value | None) -> ir.Value:
    """Return the attention of queries, where keys and values have heads before positions."""
    mask = "BottomRight" if node.attr("unidirectional", 0) else None
    bias = _fitting(bias, q, shape_of(k)[2])
    result = op.nn.attention(q, _swapped(k), _swapped(v), bias, _scale(node), mask)
    return _joined(result)


def _fitting(bias: ir.Value | None, q: ir.Value, keys: Any) -> ir.Value | None:
    """Return a bias whose dimensions are known to be those of the attention."""
    if bias is None:
        return None
    batch, queries, count, _ = shape_of(q)
    wanted = [batch, count, queries, keys]
    pairs = zip(shape_of(bias), wanted, strict=True)
    return matched(bias, [mine if mine == 1 else other for mine, other in pairs])


def _refuse_shared(node: Node, *values: Any) -> None:
    if any(value is not None for value in values) or node.attr("past_present_share_buffer", 0):
        raise NotImplementedError("expected keys and values that share no buffer with earlier ones")


@converter("Attention", domain=_DOMAIN)
def _attention(
    node: Node, x: ir.Value, weights: ir.Value, shift: ir.Value | None = None,
    mask: ir.Value | None = None, past: ir.Value | None = None, bias: ir.Value | None = None,
    past_length: ir.Value | None = None,
) -> Any:  # fmt: skip
    _refuse_shared(node, past_length)
    node.refuse("do_rotary", default=0)
    product = op.matmul(x, weights)
    product = product if shift is None else op.add(product, shift)
    return _attend_within(node, product, mask, past, bias)


@converter("QAttention", domain=_DOMAIN)
def _quantized_attention(
    node: Node, x: ir.Value, weights: ir.Value, shift: ir.Value, x_scale: ir.Value,
    scale: ir.Value, mask: ir.Value | None = None, x_zero: ir.Value | None = None,
    zero: ir.Value | None = None, past: ir.Value | None = None,
) -> Any:  # fmt: skip
    _refuse_shared(node)
    node.refuse("do_rotary", default=0)
    product = to_float(x, weights, (x_scale, scale), (x_zero, zero), shift)
    return _attend_within(node, product, mask, past, None)


def _attend_within(
    node: Node, product: ir.Value, mask: ir.Value | None, past: ir.Value | None,
    bias: ir.Value | None,
) -> Any:  # fmt: skip
    """Return the attention of queries, keys and values that are beside each other."""
    sizes = node.attr("qkv_hidden_sizes", None) or [shape_of(product)[2] // 3] * 3
    q, k, v = (_heads(one, node.attr("num_heads")) for one in split(product, 2, sizes))
    olds = [None, None] if past is None else [at(past, 0, i) for i in range(2)]
    k, v = (_with_past(old, new) for old, new in zip(olds, (k, v), strict=True))
    result = _attend(node, q, k, v, _sum(_padding(node, mask, q, shape_of(k)[2]), bias))
    return (result, op.stack([k, v], 0)) if node.wants(1) else result


@converter("MultiHeadAttention", domain=_DOMAIN)
def _multi_head_attention(
    node: Node, query: ir.Value, key: ir.Value | None = None, value: ir.Value | None = None,
    shift: ir.Value | None = None, mask: ir.Value | None = None, bias: ir.Value | None = None,
    past_key: ir.Value | None = None, past_value: ir.Value | None = None, *shared: Any,
) -> Any:  # fmt: skip
    _refuse_shared(node, *shared)
    q, k, v = _packed_heads(node, query, key, value)
    if shift is not None:
        if key is not None and rank_of(key) == 4:
            raise NotImplementedError("expected no bias beside keys that have heads")
        widths = [shape_of(one)[2] * shape_of(one)[3] for one in (q, k, v)]
        shifts = split(shift, 0, widths)
        q, k, v = (
            op.add(one, op.reshape(row, shape_of(one)[2:]))
            for one, row in zip((q, k, v), shifts, strict=True)
        )
    k, v = _with_past(past_key, k), _with_past(past_value, v)
    result = _attend(node, q, k, v, _sum(_padding(node, mask, q, shape_of(k)[2]), bias))
    return (result, k, v) if node.outputs > 1 else result


def _packed_heads(
    node: Node, query: ir.Value, key: ir.Value | None, value: ir.Value | None
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return heads of queries, keys and values, which one tensor may have together."""
    count = node.attr("num_heads")
    if key is None:
        if rank_of(query) != 5:
            raise NotImplementedError("expected keys, or queries of rank 5 with them")
        return at(query, 3, 0), at(query, 3, 1), at(query, 3, 2)
    q = _heads(query, count)
    if value is None:
        if rank_of(key) != 5:
            raise NotImplementedError("expected values, or keys of rank 5 with them")
        return q, at(key, 3, 0), at(key, 3, 1)
    if rank_of(key) == 4:
        return q, _swapped(key), _swapped(value)
    return q, _heads(key, count), _heads(value, count)


# -- grouped heads ------------------------------------------------------------------------------


@converter("GroupQueryAttention", domain=_DOMAIN)
def _group_query_attention(
    node: Node, query: ir.Value, key: ir.Value | None, value: ir.Value | None,
    past_key: ir.Value | None, past_value: ir.Value | None, last: ir.Value, _: ir.Value,
    cosine: ir.Value | None = None, sine: ir.Value | None = None,
    positions: ir.Value | None = None, bias: ir.Value | None = None, *others: Any,
) -> Any:  # fmt: skip
    node.refuse("smooth_softmax", -1, default=0)
    for name in ("qk_output", "kv_cache_bit_width"):
        node.refuse(name, default=0)
    for name in ("k_quant_type", "v_quant_type"):
        node.refuse(name, default="NONE")
    if any(other is not None for other in others):
        raise NotImplementedError("expected up to 11 inputs, without sinks and scales")
    q, k, v = _grouped(node, query, key, value)
    batch, length = shape_of(q)[:2]
    # The place of the last key of each row, and how many keys it had before.
    ends = op.reshape(cast(last, "int64"), [batch, 1])
    before = op.subtract(op.add(ends, number(1, "int64")), size_tensor(length))
    begins = op.maximum(before, number(0, "int64"))
    places = op.add(begins, op.arange(0, length, 1, "int64"))
    if node.attr("do_rotary", 0):
        if cosine is None or sine is None:
            raise ValueError("expected cos_cache and sin_cache with do_rotary=1")
        at = places if positions is None else positions
        q, k = (
            _rotated(one, op.take(cosine, at, 0), op.take(sine, at, 0),
                     bool(node.attr("rotary_interleaved", 0)))
            for one in (q, k)
        )  # fmt: skip
    k, v = _present(past_key, k, begins, places), _present(past_value, v, begins, places)
    seen = _seen(node, op.minimum(places, ends), shape_of(k)[2], q.type.dtype)
    bias = _fitting(_sum(seen, bias), q, shape_of(k)[2])
    result = _grouped_attention(node, q, _swapped(k), _swapped(v), bias)
    return (_joined(result), k, v)


def _grouped(
    node: Node, query: ir.Value, key: ir.Value | None, value: ir.Value | None
) -> list[ir.Value]:
    """Return heads of queries, keys and values."""
    queries, keys = node.attr("num_heads"), node.attr("kv_num_heads")
    counts = (queries, keys, keys)
    if key is not None and value is not None:
        return [_heads(x, n) for x, n in zip((query, key, value), counts, strict=True)]
    features = shape_of(query)[2]
    if not isinstance(features, int) or features % (queries + 2 * keys):
        raise ValueError(f"expected features for {queries + 2 * keys} heads, but got {features}")
    each = features // (queries + 2 * keys)
    parts = split(query, 2, [each * count for count in counts])
    return [_heads(x, n) for x, n in zip(parts, counts, strict=True)]


def _present(past: ir.Value | None, new: ir.Value, begins: ir.Value, places: ir.Value) -> ir.Value:
    """Return earlier heads, and new ones after the last one of each row; zeros after these."""
    rows = _swapped(new)
    if past is None:
        return rows
    batch, count, length, features = shape_of(rows)
    zero = number(0, rows.type.dtype)
    at = op.reshape(op.arange(0, shape_of(past)[2], 1, "int64"), [1, 1, -1, 1])
    kept = op.where(op.less(at, op.reshape(begins, [batch, 1, 1, 1])), past, zero)
    room = op.zeros([batch, count, length, features], rows.type.dtype)
    wide = op.broadcast_to(op.reshape(places, [batch, 1, length, 1]), shape_of(rows))
    return op.scatter_elements(op.concat([kept, room], 2), wide, rows, 2)


def _seen(node: Node, places: ir.Value, keys: Any, dtype: str) -> ir.Value:
    """Return the bias of what queries at given places see: keys up to there, in a window."""
    at, limit = op.arange(0, keys, 1, "int64"), op.expand_dims(places, [1, 3])
    flags = op.less_equal(at, limit)
    window = node.attr("local_window_size", -1)
    if window >= 0:
        first = op.subtract(limit, number(window, "int64"))
        flags = op.logical_and(flags, op.greater(at, first))
    return _chosen(flags, -math.inf, dtype)


def _grouped_attention(
    node: Node, q: ir.Value, k: ir.Value, v: ir.Value, bias: ir.Value | None
) -> ir.Value:
    cap = node.attr("softcap", 0.0)
    if not cap:
        return op.nn.attention(q, k, v, bias, _scale(node))
    dtype, features = q.type.dtype, shape_of(q)[3]
    times = node.attr("num_heads") // node.attr("kv_num_heads")
    wide = [cast(one, "float32") for one in (q, op.repeat(k, times, 2), op.repeat(v, times, 2))]
    q, k, v = (_swapped(one) for one in wide)
    scale = _scale(node) or 1 / math.sqrt(features)
    scores = op.multiply(op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])), number(scale, "float32"))
    limit = number(cap, "float32")
    scores = op.multiply(op.tanh(op.divide(scores, limit)), limit)
    if bias is not None:
        scores = op.add(scores, cast(bias, "float32"))
    return cast(_swapped(op.matmul(op.nn.softmax(scores, 3), v)), dtype)


# -- rotated positions --------------------------------------------------------------------------


def _rotated(x: ir.Value, cosine: ir.Value, sine: ir.Value, interleaved: bool) -> ir.Value:
    """Return heads whose first features are pairs that are turned by the angle of a position."""
    half, last = shape_of(cosine)[-1], rank_of(x) - 1
    features = shape_of(x)[last]
    turned, rest = part(x, last, 0, 2 * half), None
    if not same(features, 2 * half):
        rest = part(x, last, 2 * half, features)
    if interleaved:
        pairs = op.reshape(turned, [*shape_of(x)[:last], half, 2])
        first, second = at(pairs, last + 1, 0), at(pairs, last + 1, 1)
    else:
        first, second = part(turned, last, 0, half), part(turned, last, half, 2 * half)
    cosine, sine = op.expand_dims(cosine, 2), op.expand_dims(sine, 2)
    real = op.subtract(op.multiply(first, cosine), op.multiply(second, sine))
    imaginary = op.add(op.multiply(first, sine), op.multiply(second, cosine))
    if interleaved:
        result = op.reshape(op.stack([real, imaginary], last + 1), shape_of(turned))
    else:
        result = op.concat([real, imaginary], last)
    return result if rest is None else op.concat([result, rest], last)


@converter("RotaryEmbedding", domain=_DOMAIN)
def _rotary_embedding(
    node: Node, x: ir.Value, positions: ir.Value, cosine: ir.Value, sine: ir.Value
) -> ir.Value:
    node.refuse("scale", default=1.0)
    node.refuse("is_packed_batching", default=0)
    count, dims = node.attr("num_heads", 0), shape_of(x)
    if rank_of(x) == 4:
        heads = _swapped(x)
    elif count:
        heads = _heads(x, count)
    else:
        if node.attr("rotary_embedding_dim", 0):
            raise ValueError("expected num_heads with rotary_embedding_dim")
        heads = _heads(x, dims[2] // (2 * shape_of(cosine)[1]))
    if rank_of(positions) == 1:
        steps = op.arange(0, shape_of(heads)[1], 1, positions.type.dtype)
        positions = op.expand_dims(op.add(positions, steps), 0)
    cosine, sine = (op.take(table, positions, 0) for table in (cosine, sine))
    result = _rotated(heads, cosine, sine, bool(node.attr("interleaved", 0)))
    return _swapped(result) if rank_of(x) == 4 else op.reshape(result, dims)
