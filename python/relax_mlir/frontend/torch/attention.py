# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of ATen, and what PyTorch decomposes it into."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...composites.tensors import transposed
from .registry import Graph, cast, converts, dtype_of, number, product, rank_of, shape_of


@converts("scaled_dot_product_attention.default")
def _attention(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, mask: Any = None,
    dropout: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
    enable_gqa: bool = False,
) -> ir.Value:  # fmt: skip
    if is_causal and mask is not None:
        raise NotImplementedError("attention that is causal and has a mask")
    if mask is None and (is_causal or enable_gqa) and not dropout:
        return _by_heads(graph, query, key, value, scale, is_causal)
    if enable_gqa:
        key, value = (_repeated(one, shape_of(query)) for one in (key, value))
    if is_causal:
        sizes = [shape_of(query)[-2], shape_of(key)[-2]]
        mask = cast(op.tril(op.ones(sizes, "uint8")), "bool")
    if mask is None:
        return _attended(graph, query, key, value, None, scale, dropout)
    result = _attended(graph, query, key, value, _added(mask, graph.dtype), scale, dropout)
    # A query that sees no key gets 0.
    return op.where(_seen(mask), result, number(0, graph.dtype))


def _added(mask: ir.Value, dtype: str) -> ir.Value:
    """Return what a mask adds to scores."""
    if dtype_of(mask) == "bool":
        return op.where(mask, number(0, dtype), number(float("-inf"), dtype))
    return cast(mask, dtype)


def _seen(mask: ir.Value) -> ir.Value:
    """Say which queries see a key."""
    last = rank_of(mask) - 1
    if dtype_of(mask) == "bool":
        return cast(op.max(cast(mask, "uint8"), [last], True), "bool")
    lowest = number(float("-inf"), dtype_of(mask))
    return op.not_equal(op.max(mask, [last], True), lowest)


def _attended(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, mask: Any, scale: float | None,
    dropout: float,
) -> ir.Value:  # fmt: skip
    factor = number(_scale(graph, 0) if scale is None else scale, graph.dtype)
    weights = _weights(op.multiply(query, factor), key, mask)
    if dropout:
        weights = op.random.dropout(graph.random_key(), weights, dropout)
    return op.matmul(weights, value)


def _scale(graph: Graph, query: int) -> float:
    """Return the scale that attention has by default, by the place of queries among arguments."""
    width = graph.shape_of(query)[-1].value
    if width is None:
        raise NotImplementedError("attention over a dynamic width without a scale")
    return float(width**-0.5)


def _weights(query: ir.Value, key: ir.Value, mask: Any) -> ir.Value:
    scores = op.matmul(query, transposed(key))
    return op.nn.softmax(scores if mask is None else op.add(scores, mask), -1)


def _repeated(x: ir.Value, wanted: list[Any]) -> ir.Value:
    """Return keys or values for each head of the queries: consecutive ones share one."""
    *batch, heads, length, width = shape_of(x)
    times = wanted[-3] // heads
    axis = len(batch) + 1
    copies = op.broadcast_to(op.expand_dims(x, axis), [*batch, heads, times, length, width])
    return op.reshape(copies, [*batch, wanted[-3], length, width])


def _by_heads(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, scale: Any, is_causal: bool
) -> ir.Value:
    """Compute attention by the operator, whose dimensions are batch, position, head, feature."""
    axes = [0, 2, 1, 3]
    parts = []
    for one in (query, key, value):
        *batch, length, width = shape_of(one)
        flat = [product(batch[:-1]), batch[-1] if batch else 1, length, width]
        parts.append(op.permute_dims(one if len(batch) == 2 else op.reshape(one, flat), axes))
    causal = "TopLeft" if is_causal else None
    queries, keys, values = parts
    attended = op.nn.attention(queries, keys, values, scale=scale, causal_mask=causal)
    attended = op.permute_dims(attended, axes)
    return attended if len(graph.shape) == 4 else op.reshape(attended, graph.shape)


@converts("_scaled_dot_product_flash_attention_for_cpu.default")
def _flash_attention(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, dropout: float = 0.0,
    is_causal: bool = False, *, attn_mask: Any = None, scale: float | None = None,
) -> list[ir.Value]:  # fmt: skip
    result = _attention(
        graph, query, key, value, attn_mask, dropout, is_causal, scale=scale,
        enable_gqa=_is_grouped(query, key),
    )  # fmt: skip
    return [result, *graph.unused([1])] if graph.uses(1) else [result]


@converts("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def _flash_attention_backward(
    graph: Graph, g: ir.Value, query: ir.Value, key: ir.Value, value: ir.Value, result: ir.Value,
    sums: ir.Value, dropout: float, is_causal: bool, *, attn_mask: Any = None,
    scale: float | None = None,
) -> list[ir.Value]:  # fmt: skip
    if dropout:
        raise NotImplementedError("the gradient of attention with dropout")
    if _is_grouped(query, key):
        raise NotImplementedError("the gradient of attention with grouped heads")
    scale = _scale(graph, 1) if scale is None else scale
    factor, order = number(scale, graph.dtype), [0, 1, 3, 2]
    if is_causal:
        sizes = [shape_of(query)[-2], shape_of(key)[-2]]
        attn_mask = cast(op.tril(op.ones(sizes, "uint8")), "bool")
    added = None if attn_mask is None else _added(attn_mask, graph.dtype)
    weights = _weights(op.multiply(query, factor), key, added)
    if attn_mask is not None:
        weights = op.where(_seen(attn_mask), weights, number(0, graph.dtype))
    of_weights = op.matmul(g, op.permute_dims(value, order))
    along = op.sum(op.multiply(g, result), [3], True)
    slope = op.multiply(op.multiply(weights, op.subtract(of_weights, along)), factor)
    return [
        op.matmul(slope, key),
        op.matmul(op.permute_dims(slope, order), query),
        op.matmul(op.permute_dims(weights, order), g),
    ]


def _is_grouped(query: ir.Value, key: ir.Value) -> bool:
    return str(shape_of(query)[-3]) != str(shape_of(key)[-3])


@converts("_scaled_dot_product_efficient_attention.default")
def _efficient_attention(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, bias: Any,
    compute_log_sumexp: bool, dropout: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None,
) -> list[ir.Value]:  # fmt: skip
    return [_attention(graph, query, key, value, bias, dropout, is_causal, scale=scale)]


@converts("_scaled_dot_product_flash_attention.default")
def _flash(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, dropout: float = 0.0,
    is_causal: bool = False, return_debug_mask: bool = False, *, scale: float | None = None,
) -> list[ir.Value]:  # fmt: skip
    return [_attention(graph, query, key, value, None, dropout, is_causal, scale=scale)]


@converts("_scaled_dot_product_attention_math.default")
def _attention_math(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, mask: Any = None,
    dropout: float = 0.0, is_causal: bool = False, dropout_mask: Any = None, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> list[ir.Value]:  # fmt: skip
    return [
        _attention(graph, query, key, value, mask, dropout, is_causal, scale=scale,
                   enable_gqa=enable_gqa)
    ]  # fmt: skip
