# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of onnxruntime, in the domain com.microsoft, that optimized models have."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from .nn import layer_norm
from .registry import Node, converter
from .values import rank_of

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
