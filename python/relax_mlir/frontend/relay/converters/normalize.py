# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.padding import window_means
from ....composites.tensors import normal_axis, number
from ...values import rank_of
from .registry import REQUIRED, converts

_AFFINE: dict[str, Any] = {"epsilon": 1e-5, "center": True, "scale": True}


def _options(attrs: SimpleNamespace) -> dict[str, Any]:
    return {
        "epsilon": float(attrs.epsilon), "center": bool(attrs.center), "scale": bool(attrs.scale),
    }  # fmt: skip


@converts("nn.batch_norm", axis=1, **_AFFINE)
def _batch_norm(
    attrs: SimpleNamespace, data: ir.Value, gamma: ir.Value, beta: ir.Value,
    moving_mean: ir.Value, moving_var: ir.Value,
) -> ir.Value:  # fmt: skip
    axis = normal_axis(int(attrs.axis), rank_of(data))
    return op.nn.batch_norm(
        data, gamma, beta, moving_mean, moving_var, axis, training=False, **_options(attrs)
    )


@converts("nn.layer_norm", axis=-1, **_AFFINE)
def _layer_norm(
    attrs: SimpleNamespace, data: ir.Value, gamma: ir.Value, beta: ir.Value
) -> ir.Value:
    axis = normal_axis(int(attrs.axis), rank_of(data))
    return op.nn.layer_norm(data, gamma, beta, [axis], **_options(attrs))


@converts("nn.group_norm", num_groups=REQUIRED, axis=1, **_AFFINE)
def _group_norm(
    attrs: SimpleNamespace, data: ir.Value, gamma: ir.Value, beta: ir.Value
) -> ir.Value:
    axis, groups = normal_axis(int(attrs.axis), rank_of(data)), int(attrs.num_groups)
    if groups < 1:
        raise ValueError(f"expected num_groups from 1 on, but got {groups}")
    # Dimensions before the channels are kept, whatever they are.
    axes = list(range(axis + 1, rank_of(data)))
    return op.nn.group_norm(data, gamma, beta, groups, axis, axes, **_options(attrs))


@converts("nn.instance_norm", axis=1, **_AFFINE)
def _instance_norm(
    attrs: SimpleNamespace, data: ir.Value, gamma: ir.Value, beta: ir.Value
) -> ir.Value:
    axis, rank = normal_axis(int(attrs.axis), rank_of(data)), rank_of(data)
    if rank < 3:
        raise ValueError(f"expected data of rank 3 or more, but got rank {rank}")
    axes = [i for i in range(1, rank) if i != axis]
    return op.nn.instance_norm(data, gamma, beta, axis, axes, **_options(attrs))


@converts("nn.l2_normalize", eps=REQUIRED, axis=None)
def _l2_normalize(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    given = [attrs.axis] if isinstance(attrs.axis, int) else attrs.axis
    rank = rank_of(data)
    axes = [normal_axis(int(axis), rank) for axis in given] if given else list(range(rank))
    total = op.sum(op.multiply(data, data), axes, True)
    return op.divide(data, op.sqrt(op.maximum(total, number(attrs.eps, data.type.dtype))))


@converts("nn.lrn", size=5, axis=1, bias=2.0, alpha=0.0001, beta=0.75)
def _lrn(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    size, dtype = int(attrs.size), data.type.dtype
    if size % 2 == 0:
        raise ValueError(f"expected an odd size, but got {size}")
    axis = normal_axis(int(attrs.axis), rank_of(data))
    means = window_means(op.multiply(data, data), axis, size // 2, size)
    base = op.add(op.multiply(means, number(attrs.alpha, dtype)), number(attrs.bias, dtype))
    return op.divide(data, op.power(base, number(attrs.beta, dtype)))
