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

from typing import TYPE_CHECKING as _TYPE_CHECKING

from mlir import ir as _ir

from ..core.expr import TensorLike as _TensorLike
from ._nn_ops_gen import *  # noqa: F403
from ._nn_ops_gen import attention as attention
from ._ops_gen import clip as _clip

# TVM's operator with a bias has a name of its own.
attention_bias = attention


def relu6(data: _TensorLike) -> _ir.Value:
    """Return min(max(x, 0), 6).

    Parameters
    ----------
    data : tensor, number or array
        The `x` of the formula.
    """
    return _clip(data, 0, 6)


if _TYPE_CHECKING:  # the generated modules are not among the sources
    from typing import Any as _Any

    def __getattr__(name: str) -> _Any: ...
