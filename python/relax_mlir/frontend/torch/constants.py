# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch as constants."""

from __future__ import annotations

import torch
from mlir import ir

from ...core.constants import bits_attr
from ...core.dtypes import dtype_name, is_numpy
from ...core.expr import build, const
from ...dialects import relax as _ops

_BITS = {1: torch.uint8, 2: torch.int16}


def as_constant(tensor: torch.Tensor) -> ir.Value:
    """Return the elements of a tensor as a constant, of any data type that both sides have.

    A sparse tensor becomes a dense one.
    """
    dense = tensor.detach() if tensor.layout == torch.strided else tensor.detach().to_dense()
    elements = dense.cpu().contiguous()
    name = dtype_name(tensor.dtype)
    if is_numpy(name):
        return const(elements.numpy())
    # NumPy has no bfloat16, and no float8.
    bits = elements.view(_BITS[elements.element_size()]).numpy()
    return build(_ops.ConstantOp, bits_attr(bits, name))
