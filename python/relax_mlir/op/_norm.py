# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ..core.expr import TensorLike, as_tensors, build
from ..dialects import relax as _ops
from ._factory import axes_of


def layer_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> ir.Value:
    """Return (data - mean) / sqrt(variance + epsilon) * gamma + beta.

    Parameters
    ----------
    data : tensor
    gamma, beta : tensor or array
        Of the dimensions of `data` at `axes`.
    axes : int or sequence of int
        The dimensions over which mean and variance are taken.
    epsilon : float
    center, scale : bool
        Whether `beta` is added, and `gamma` multiplied.

    Returns
    -------
    mlir.ir.Value
    """
    operands = as_tensors(data, gamma, beta)
    return build(
        _ops.LayerNormOp,
        *operands,
        axes_of(axes),
        epsilon=epsilon,
        center=center,
        scale=scale,
    )


def batch_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    moving_mean: TensorLike,
    moving_var: TensorLike,
    axis: int,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> ir.Value:
    """Return (data - mean) / sqrt(variance + epsilon) * gamma + beta for each index of an axis.

    Parameters
    ----------
    data : tensor
    gamma, beta, moving_mean, moving_var : tensor or array
        Of the dimension of `data` at `axis`.
    axis : int
    epsilon : float
    center, scale : bool
        Whether `beta` is added, and `gamma` multiplied.
    momentum : float
        The part that the mean and variance of `data` have of the new moving ones.
    training : bool
        Whether mean and variance are those of `data`, or the moving ones.

    Returns
    -------
    mlir.ir.Value
        A tuple of the result, the new moving mean and the new moving variance.
    """
    operands = as_tensors(data, gamma, beta, moving_mean, moving_var)
    return build(
        _ops.BatchNormOp,
        *operands,
        axis,
        epsilon=epsilon,
        center=center,
        scale=scale,
        momentum=momentum,
        training=training,
    )


def group_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    num_groups: int,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> ir.Value:
    """Return (data - mean) / sqrt(variance + epsilon) * gamma + beta, by groups of channels.

    Parameters
    ----------
    data : tensor
    gamma, beta : tensor or array
        Of the dimension of `data` at `channel_axis`.
    num_groups : int
    channel_axis : int
    axes : int or sequence of int
        The dimensions, beside the channels of a group, over which mean and variance are taken.
    epsilon : float
    center, scale : bool
        Whether `beta` is added, and `gamma` multiplied.

    Returns
    -------
    mlir.ir.Value
    """
    return build(
        _ops.GroupNormOp,
        *as_tensors(data, gamma, beta),
        num_groups,
        channel_axis,
        axes_of(axes),
        epsilon=epsilon,
        center=center,
        scale=scale,
    )


def instance_norm(
    data: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> ir.Value:
    """Return (data - mean) / sqrt(variance + epsilon) * gamma + beta, for each channel.

    Parameters
    ----------
    data : tensor
    gamma, beta : tensor or array
        Of the dimension of `data` at `channel_axis`.
    channel_axis : int
    axes : int or sequence of int
        The dimensions over which mean and variance are taken.
    epsilon : float
    center, scale : bool
        Whether `beta` is added, and `gamma` multiplied.

    Returns
    -------
    mlir.ir.Value
    """
    return build(
        _ops.InstanceNormOp,
        *as_tensors(data, gamma, beta),
        channel_axis,
        axes_of(axes),
        epsilon=epsilon,
        center=center,
        scale=scale,
    )


def rms_norm(
    data: TensorLike,
    weight: TensorLike,
    axes: int | Sequence[int] = -1,
    epsilon: float = 1e-5,
) -> ir.Value:
    """Return data / sqrt(mean(data * data) + epsilon) * weight.

    Parameters
    ----------
    data : tensor
    weight : tensor or array
        Of the dimensions of `data` at `axes`.
    axes : int or sequence of int
        The dimensions over which the mean is taken.
    epsilon : float

    Returns
    -------
    mlir.ir.Value
    """
    return build(_ops.RMSNormOp, *as_tensors(data, weight), axes_of(axes), epsilon=epsilon)


def attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: TensorLike | None = None,
    scale: Any = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> ir.Value:
    """Return softmax(query * transpose(key) * scale + bias) * value, for each batch and head.

    Parameters
    ----------
    query, key, value : tensor
        Of the dimensions batch, position, head, feature.
    bias : tensor, optional
        Of the dimensions batch, head, query, key; the first three may be 1.
    scale : float, optional
        By default 1 / sqrt(features).
    causal_mask : str, optional
        The keys that a query sees: "TopLeft", those up to its own position; "BottomRight", those up
        to the one that the last query, at the last key, has at its distance.
    window_size : int, optional
        How many keys up to that one it sees.

    Returns
    -------
    mlir.ir.Value
    """
    query, key, value, *rest = as_tensors(query, key, value, *([] if bias is None else [bias]))
    return build(
        _ops.AttentionOp,
        query,
        key,
        value,
        bias=rest[0] if rest else None,
        scale=None if scale is None else float(getattr(scale, "value", scale)),
        causal_mask=causal_mask,
        window_size=getattr(window_size, "value", window_size),
    )


# TVM's operator with a bias has a name of its own.
attention_bias = attention
