# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of neural networks, in modules by group."""

from .conv import (
    conv,
    conv1d,
    conv2d,
    conv2d_nchw,
    conv2d_nhwc,
    conv3d,
    group_conv2d_nchw,
)
from .dense import batch_matmul, dense, matmul
from .elemwise import (
    gelu,
    gelu_tanh,
    leaky_relu,
    prelu,
    relu,
    scale_shift,
    silu,
    softplus,
)
from .flatten import flatten
from .norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from .pad import circular_pad, dilate, mirror_pad, pad, reflect_pad, replicate_pad
from .pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
    pool1d,
    pool2d,
    pool3d,
)
from .softmax import log_softmax, softmax

__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "batch_matmul",
    "batch_norm",
    "circular_pad",
    "conv",
    "conv1d",
    "conv2d",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv3d",
    "dense",
    "dilate",
    "flatten",
    "gelu",
    "gelu_tanh",
    "global_pool",
    "group_conv2d_nchw",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "matmul",
    "mirror_pad",
    "pad",
    "pool1d",
    "pool2d",
    "pool3d",
    "prelu",
    "reflect_pad",
    "relu",
    "replicate_pad",
    "rms_norm",
    "scale_shift",
    "silu",
    "softmax",
    "softplus",
]
