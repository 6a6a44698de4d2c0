# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of neural networks.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
>>> bb = BlockBuilder()
>>> image = Var("image", TensorStructInfo(("n", 3, "h", "w"), "float32"))
>>> weight = Var("weight", TensorStructInfo((8, 3, 3, 3), "float32"))
>>> scale = Var("scale", TensorStructInfo((8,), "float32"))
>>> with bb.function("main", [image, weight, scale]):
...     x = conv2d(image, weight, strides=2, padding=1)
...     y = group_norm(x, scale, scale, num_groups=4, channel_axis=1, axes=[2, 3])
...     z = adaptive_avg_pool2d(max_pool2d(relu(y), 2, strides=2), 1)
...     _ = bb.emit_func_output(z)
>>> print(x.type)
!relax.tensor<[n, 8, (h - 1) floordiv 2 + 1, (w - 1) floordiv 2 + 1], f32>
>>> print(z.type)
!relax.tensor<[n, 8, 1, 1], f32>

>>> bb = BlockBuilder()
>>> q = Var("q", TensorStructInfo(("b", "n", 8, 64), "float16"))
>>> k = Var("k", TensorStructInfo(("b", "m", 2, 64), "float16"))
>>> with bb.function("main", [q, k]):
...     x = attention(q, k, k, causal_mask="BottomRight", window_size=128)
...     _ = bb.emit_func_output(x)
>>> print(x.type)
!relax.tensor<[b, n, 8, 64], f16>
"""

from __future__ import annotations

from mlir import ir

from ..core.expr import TensorLike, as_tensor, build
from ..dialects import relax as _ops
from ._factory import unary
from ._norm import (
    attention,
    attention_bias,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from ._window import adaptive_pooling, convolution, pooling
from .unary import clip

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "attention",
    "attention_bias",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "gelu",
    "gelu_tanh",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leakyrelu",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "relu",
    "relu6",
    "rms_norm",
    "selu",
    "silu",
    "softmax",
    "softplus",
]

gelu = unary(_ops.GeluOp, "x * 0.5 * (1 + erf(x / sqrt(2)))")
gelu_tanh = unary(_ops.GeluTanhOp, "The tanh approximation of gelu")
relu = unary(_ops.ReluOp, "max(x, 0)")
selu = unary(_ops.SeluOp, "1.0507 * x where x is positive, else 1.0507 * 1.67326 * (exp(x) - 1)")
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


def leakyrelu(data: TensorLike, alpha: float = 0.01) -> ir.Value:
    """Return x where it is positive, else alpha * x.

    Parameters
    ----------
    data : tensor
    alpha : float

    Returns
    -------
    mlir.ir.Value
    """
    return build(_ops.LeakyReluOp, as_tensor(data), alpha=alpha)


def relu6(data: TensorLike) -> ir.Value:
    """Return min(max(x, 0), 6)."""
    return clip(data, 0, 6)


def softplus(data: TensorLike, beta: float = 1.0, threshold: float = 20.0) -> ir.Value:
    """Return log(1 + exp(beta * x)) / beta.

    Parameters
    ----------
    data : tensor
    beta : float
    threshold : float
        Where beta * x is more, the result is x.

    Returns
    -------
    mlir.ir.Value
    """
    return build(_ops.SoftplusOp, as_tensor(data), beta=beta, threshold=threshold)


# -- convolution and pooling ----------------------------------------------------------------------

conv1d = convolution(_ops.Conv1DOp, 1)
conv2d = convolution(_ops.Conv2DOp, 2)
conv3d = convolution(_ops.Conv3DOp, 3)
max_pool1d = pooling(_ops.MaxPool1DOp, 1, "The largest element")
max_pool2d = pooling(_ops.MaxPool2DOp, 2, "The largest element")
max_pool3d = pooling(_ops.MaxPool3DOp, 3, "The largest element")
avg_pool1d = pooling(_ops.AvgPool1DOp, 1, "The mean")
avg_pool2d = pooling(_ops.AvgPool2DOp, 2, "The mean")
avg_pool3d = pooling(_ops.AvgPool3DOp, 3, "The mean")
adaptive_avg_pool1d = adaptive_pooling(_ops.AdaptiveAvgPool1DOp, 1)
adaptive_avg_pool2d = adaptive_pooling(_ops.AdaptiveAvgPool2DOp, 2)
adaptive_avg_pool3d = adaptive_pooling(_ops.AdaptiveAvgPool3DOp, 3)
