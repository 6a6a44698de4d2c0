# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make tensors."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..dialects import relax as _ops
from ..dtypes import dtype_name, element_type
from ..expr import ShapeLike, TensorLike, as_shape, as_tensor, build

__all__ = ["full", "ones", "zeros"]


def _type_attr(dtype: Any) -> ir.Attribute:
    return ir.TypeAttr.get(element_type(dtype))


def full(shape: ShapeLike, fill_value: TensorLike, dtype: Any = None) -> ir.Value:
    """Return a tensor filled with a scalar.

    Parameters
    ----------
    shape : shape, or sequence of int, str or PrimExpr
    fill_value : tensor of rank 0, or number
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of `fill_value`.

    Returns
    -------
    mlir.ir.Value
    """
    wanted = None if dtype is None else dtype_name(dtype)
    fill = as_tensor(fill_value, wanted)
    attr = None if dtype is None else _type_attr(dtype)
    return build(_ops.FullOp, as_shape(shape), fill, dtype=attr)


def zeros(shape: ShapeLike, dtype: Any = "float32") -> ir.Value:
    """Return a tensor of zeros.

    Parameters
    ----------
    shape : shape, or sequence of int, str or PrimExpr
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
    """
    return build(_ops.ZerosOp, as_shape(shape), _type_attr(dtype))


def ones(shape: ShapeLike, dtype: Any = "float32") -> ir.Value:
    """Return a tensor of ones.

    Parameters
    ----------
    shape : shape, or sequence of int, str or PrimExpr
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
    """
    return build(_ops.OnesOp, as_shape(shape), _type_attr(dtype))
