# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of neural networks."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ..dialects import relax as _ops
from ..expr import TensorLike, as_tensor, as_tensors, build
from ._factory import axes_of, unary

__all__ = ["gelu", "gelu_tanh", "layer_norm", "log_softmax", "relu", "silu", "softmax"]

gelu = unary(_ops.GeluOp, "x * 0.5 * (1 + erf(x / sqrt(2)))")
gelu_tanh = unary(_ops.GeluTanhOp, "The tanh approximation of gelu")
relu = unary(_ops.ReluOp, "max(x, 0)")
silu = unary(_ops.SiluOp, "x * sigmoid(x)")


def softmax(x: TensorLike, axis: int = -1) -> ir.Value:
    """Return exp(x) / sum(exp(x)) along an axis, without overflow.

    Parameters
    ----------
    x : tensor
    axis : int

    Returns
    -------
    mlir.ir.Value
    """
    return build(_ops.SoftmaxOp, as_tensor(x), axis=axis)


def log_softmax(x: TensorLike, axis: int = -1) -> ir.Value:
    """Return x - log(sum(exp(x))) along an axis, without overflow.

    Parameters
    ----------
    x : tensor
    axis : int

    Returns
    -------
    mlir.ir.Value
    """
    return build(_ops.LogSoftmaxOp, as_tensor(x), axis=axis)


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
