# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations."""

from __future__ import annotations

import math
from typing import Any

from ... import te
from ...tir import expr as _expr
from ...tir import op as _op
from ...tir.expr import PrimExpr
from ..elemwise import elementwise
from ..utils import Tensor, axis_of, constant, require_float


def relu(x: Tensor) -> Tensor:
    """Return the greater one of each element and 0.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor
    """
    return elementwise(x, lambda v: _op.max(v, te.const(0, x.dtype)), "T_relu")


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Return each element, times `alpha` where it is negative.

    Parameters
    ----------
    x : Tensor
    alpha : float

    Returns
    -------
    Tensor
    """
    require_float(x, "leaky_relu")
    zero, slope = te.const(0, x.dtype), te.const(alpha, x.dtype)
    return elementwise(x, lambda v: _expr.Select(v > zero, v, v * slope), "T_leaky_relu")


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """Return each element, times the slope of its channel where it is negative.

    Parameters
    ----------
    x : Tensor
    slope : Tensor
        Of rank 1.
    axis : int
        The channels.

    Returns
    -------
    Tensor
    """
    at = axis_of(axis, x.ndim)
    if slope.ndim != 1:
        raise ValueError(f"expected a slope of rank 1, but got {slope}")
    shared = constant(slope.shape[0]) == 1

    def value(*i: PrimExpr) -> PrimExpr:
        factor = slope(te.const(0, i[at].dtype) if shared else i[at])
        return _expr.Select(x(*i) > te.const(0, x.dtype), x(*i), x(*i) * factor)

    return te.compute(x.shape, value, name="T_prelu", tag="elemwise")


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return the logarithm of one plus the exponential of `beta` times each element, by `beta`.

    Parameters
    ----------
    x : Tensor
    beta : float
    threshold : float
        Where `beta` times the element is greater, the element itself is returned.

    Returns
    -------
    Tensor
    """
    require_float(x, "softplus")
    factor, limit = te.const(beta, x.dtype), te.const(threshold, x.dtype)

    def of(v: PrimExpr) -> PrimExpr:
        scaled = v * factor
        return _expr.Select(scaled > limit, v, _op.log1p(_op.exp(scaled)) / factor)

    return elementwise(x, of, "T_softplus")


def gelu(x: Tensor) -> Tensor:
    """Return each element times the normal distribution function of it.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor
    """
    require_float(x, "gelu")
    half, one = te.const(0.5, x.dtype), te.const(1, x.dtype)
    root = te.const(math.sqrt(0.5), x.dtype)
    return elementwise(x, lambda v: half * v * (one + _op.erf(v * root)), "T_gelu")


def gelu_tanh(x: Tensor) -> Tensor:
    """Return an approximation of `gelu` by the hyperbolic tangent.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor
    """
    require_float(x, "gelu_tanh")

    def number(value: float) -> PrimExpr:
        return te.const(value, x.dtype)

    def of(v: PrimExpr) -> PrimExpr:
        inner = number(math.sqrt(2 / math.pi)) * (v + number(0.044715) * v * v * v)
        return number(0.5) * v * (number(1) + _op.tanh(inner))

    return elementwise(x, of, "T_gelu_tanh")


def silu(x: Tensor) -> Tensor:
    """Return each element times the logistic function of it.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor
    """
    require_float(x, "silu")
    return elementwise(x, lambda v: v * _op.sigmoid(v), "T_silu")


def scale_shift(x: Tensor, scale: Any, shift: Any, axis: int) -> Tensor:
    """Return each element times the scale of its channel, plus its shift; None leaves one out.

    Parameters
    ----------
    x : Tensor
    scale, shift : Tensor of rank 1, or None
    axis : int
        The channels.

    Returns
    -------
    Tensor
    """
    at = axis_of(axis, x.ndim)

    def value(*i: PrimExpr) -> PrimExpr:
        result = x(*i)
        result = result if scale is None else result * scale(i[at])
        return result if shift is None else result + shift(i[at])

    return te.compute(x.shape, value, name="T_scale_shift", tag="broadcast")
