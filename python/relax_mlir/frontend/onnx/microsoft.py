# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of onnxruntime, in the domain com.microsoft, that optimized models have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir

from ... import op
from ...composites.convolution import along_channels
from ...composites.tensors import cast, number, transposed
from ..values import rank_of, shape_of
from .elementwise import hard_sigmoid, scaled
from .manipulate import split
from .nn import fitting, gemm, layer_norm
from .registry import Node, converter
from .windows import convolve

_DOMAIN = "com.microsoft"


@converter("Gelu", domain=_DOMAIN)
def _gelu(_: Node, x: ir.Value) -> ir.Value:
    return op.nn.gelu(x)


@converter("BiasGelu", domain=_DOMAIN)
def _bias_gelu(_: Node, x: ir.Value, bias: ir.Value) -> ir.Value:
    return op.nn.gelu(op.add(x, bias))


@converter("FastGelu", domain=_DOMAIN)
def _fast_gelu(_: Node, x: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    return op.nn.gelu_tanh(x if bias is None else op.add(x, bias))


@converter("QuickGelu", domain=_DOMAIN)
def _quick_gelu(node: Node, x: ir.Value) -> ir.Value:
    alpha = op.const(node.attr("alpha", 1.702), x.type.dtype)
    return op.multiply(x, op.sigmoid(op.multiply(x, alpha)))


@converter("SkipLayerNormalization", domain=_DOMAIN)
def _skip_layer_normalization(
    node: Node, x: ir.Value, skip: ir.Value, gamma: ir.Value, beta: ir.Value | None = None,
    bias: ir.Value | None = None,
) -> Any:  # fmt: skip
    total = op.add(x, skip)
    if bias is not None:
        total = op.add(total, bias)
    epsilon = node.attr("epsilon", 1e-12)
    result = layer_norm(total, gamma, beta, rank_of(x) - 1, epsilon)
    # Mean and deviation are for training.
    return result if not node.wants(3) else (result, None, None, total)


@converter("SimplifiedLayerNormalization")
@converter("SimplifiedLayerNormalization", domain=_DOMAIN)
def _simplified_layer_normalization(node: Node, x: ir.Value, gamma: ir.Value) -> ir.Value:
    axis = node.attr("axis", -1)
    axis += rank_of(x) if axis < 0 else 0
    return op.nn.rms_norm(x, gamma, list(range(axis, rank_of(x))), node.attr("epsilon", 1e-5))


@converter("SkipSimplifiedLayerNormalization", domain=_DOMAIN)
def _skip_simplified_layer_normalization(
    node: Node, x: ir.Value, skip: ir.Value, gamma: ir.Value, bias: ir.Value | None = None
) -> Any:
    total = op.add(x, skip)
    if bias is not None:
        total = op.add(total, bias)
    result = op.nn.rms_norm(total, gamma, [rank_of(x) - 1], node.attr("epsilon", 1e-12))
    return result if not node.wants(3) else (result, None, None, total)


@converter("BiasAdd", domain=_DOMAIN)
def _bias_add(_: Node, x: ir.Value, bias: ir.Value, skip: ir.Value) -> ir.Value:
    return op.add(op.add(x, bias), skip)


@converter("BiasSplitGelu", domain=_DOMAIN)
def _bias_split_gelu(_: Node, x: ir.Value, bias: ir.Value) -> ir.Value:
    total, last = op.add(x, bias), rank_of(x) - 1
    width = shape_of(x)[last]
    if width % 2 != 0:
        raise ValueError(f"expected an even number of features, but got {width}")
    states, gates = split(total, last, [width // 2] * 2)
    return op.multiply(states, op.nn.gelu(gates))


@converter("EmbedLayerNormalization", domain=_DOMAIN)
def _embed_layer_normalization(
    node: Node, words: ir.Value, segments: ir.Value | None, word_table: ir.Value,
    position_table: ir.Value, segment_table: ir.Value | None, gamma: ir.Value, beta: ir.Value,
    mask: ir.Value | None = None, positions: ir.Value | None = None,
) -> Any:  # fmt: skip
    node.refuse("mask_index_type", default=0)
    batch, length = shape_of(words)
    if positions is None:
        positions = op.reshape(op.arange(0, length, 1, "int64"), [1, length])
    total = op.add(op.take(word_table, words, 0), op.take(position_table, positions, 0))
    if segments is not None and segment_table is not None:
        total = op.add(total, op.take(segment_table, segments, 0))
    result = layer_norm(total, gamma, beta, 2, node.attr("epsilon", 1e-12))
    counts = op.zeros([batch], "int32")
    if mask is not None:
        counts = op.sum(op.astype(op.equal(mask, number(1, mask.type.dtype)), "int32"), [1])
    return result, counts, total


@converter("GroupNorm", domain=_DOMAIN)
def _group_norm(node: Node, x: ir.Value, gamma: ir.Value, beta: ir.Value) -> ir.Value:
    is_last, rank = bool(node.attr("channels_last", 1)), rank_of(x)
    channel = rank - 1 if is_last else 1
    axes = [axis for axis in range(1, rank) if axis != channel]
    epsilon, groups = node.attr("epsilon", 1e-5), node.attr("groups")
    kind = gamma.type.dtype
    wide = op.nn.group_norm(cast(x, kind), gamma, beta, groups, channel, axes, epsilon)
    result = op.nn.silu(wide) if node.attr("activation") else wide
    return cast(result, x.type.dtype)


@converter("SkipGroupNorm", domain=_DOMAIN)
def _skip_group_norm(
    node: Node, x: ir.Value, gamma: ir.Value, beta: ir.Value, skip: ir.Value,
    bias: ir.Value | None = None,
) -> Any:  # fmt: skip
    if not node.attr("channels_last", 1):
        raise NotImplementedError("expected channels_last=1, but got 0")
    if rank_of(skip) == 2:
        skip = op.expand_dims(skip, [1, 2])
    total = op.add(x, skip)
    total = total if bias is None else op.add(total, bias)
    return _group_norm(node, total, gamma, beta), total


# -- products with what follows them ------------------------------------------------------------


@converter("FusedMatMul", "TransposeMatMul", domain=_DOMAIN)
def _fused_matmul(node: Node, x: ir.Value, y: ir.Value) -> ir.Value:
    for name in ("transBatchA", "transBatchB"):
        node.refuse(name, default=0)
    x = _transposed(x) if node.attr("transA", 0) else x
    y = _transposed(y) if node.attr("transB", 0) else y
    return scaled(op.matmul(*fitting(x, y)), node.attr("alpha", 1.0))


def _transposed(x: ir.Value) -> ir.Value:
    # A vector stays one.
    return x if rank_of(x) < 2 else transposed(x)


def _activated(name: str, x: ir.Value, params: Sequence[float]) -> ir.Value:
    """Apply an activation by its name."""
    given = [*params, *[None] * 2]
    activations: dict[str, Callable[[], ir.Value]] = {
        "": lambda: x,
        "Relu": lambda: op.nn.relu(x),
        "Sigmoid": lambda: op.sigmoid(x),
        "Tanh": lambda: op.tanh(x),
        "LeakyRelu": lambda: op.nn.leakyrelu(x, _or(given[0], 0.01)),
        "HardSigmoid": lambda: hard_sigmoid(x, _or(given[0], 0.2), _or(given[1], 0.5)),
        "Clip": lambda: op.clip(x, given[0], given[1]),
    }
    if name not in activations or (name == "Clip" and len(params) != 2):
        raise NotImplementedError(f"expected one of {list(activations)}, but got {name}, {params}")
    return activations[name]()


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


@converter("FusedGemm", domain=_DOMAIN)
def _fused_gemm(node: Node, x: ir.Value, y: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    params = [node.attr(name) for name in names if name in node.attributes]
    return _activated(node.attr("activation", ""), gemm(node, x, y, bias), params)


@converter("FusedConv", domain=_DOMAIN)
def _fused_conv(
    node: Node, x: ir.Value, weight: ir.Value, bias: ir.Value | None = None,
    other: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    result = convolve(node, x, weight)
    if bias is not None:
        result = op.add(result, along_channels(bias, rank_of(x)))
    if other is not None:
        result = op.add(result, other)
    return _activated(node.attr("activation", ""), result, node.attr("activation_params", []))
