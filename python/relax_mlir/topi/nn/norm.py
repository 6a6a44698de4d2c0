# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations. Floats of 16 bits are computed with as float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import te
from ...tir import op as _op
from ...tir.expr import PrimExpr
from ..elemwise import cast
from ..reduction import mean
from ..transform import reshape
from ..utils import (
    Tensor,
    axes_of,
    axis_of,
    canonical,
    constant,
    is_equal,
    require_float,
    wide_dtype,
)


def _wide(x: Tensor, name: str) -> Tensor:
    require_float(x, name)
    return x if wide_dtype(x.dtype) == x.dtype else cast(x, wide_dtype(x.dtype))


def _drop(indices: Sequence[PrimExpr], axes: Sequence[int]) -> list[PrimExpr]:
    return [index for i, index in enumerate(indices) if i not in axes]


def _moments(x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the mean over axes, and the mean of the squares of the differences from it."""
    average = mean(x, axes)

    def square(*i: PrimExpr) -> PrimExpr:
        difference = x(*i) - average(*_drop(i, axes))
        return difference * difference

    return average, mean(te.compute(x.shape, square, name="T_square"), axes)


def _require_shape(x: Any, wanted: Sequence[PrimExpr], what: str) -> None:
    if x is None:
        return
    if x.ndim != len(wanted) or any(
        is_equal(a, b) is False for a, b in zip(x.shape, wanted, strict=True)
    ):
        shape = ", ".join(str(dim) for dim in wanted)
        raise ValueError(f"expected {what} of shape ({shape}), but got {x}")


def _normalized(
    data: Tensor,
    axes: Sequence[int],
    gamma: Any,
    beta: Any,
    weight_axes: Sequence[int],
    epsilon: float,
    name: str,
) -> Tensor:
    """Return elements minus their mean, by their deviation, scaled and shifted."""
    x = _wide(data, name)
    average, variance = _moments(x, axes)
    wanted = [data.shape[i] for i in weight_axes]
    _require_shape(gamma, wanted, "gamma")
    _require_shape(beta, wanted, "beta")

    def value(*i: PrimExpr) -> PrimExpr:
        outer, own = _drop(i, axes), [i[axis] for axis in weight_axes]
        scale = _op.rsqrt(variance(*outer) + te.const(epsilon, x.dtype))
        result = (x(*i) - average(*outer)) * scale
        if gamma is not None:
            result = result * gamma(*own).astype(x.dtype)
        if beta is not None:
            result = result + beta(*own).astype(x.dtype)
        return result.astype(data.dtype)

    return te.compute(data.shape, value, name=f"T_{name}", tag="injective")


def layer_norm(data: Tensor, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Normalize over axes.

    Parameters
    ----------
    data : Tensor
    gamma, beta : Tensor or None
        Scale and shift, of the shape of the axes.
    axis : int or sequence of int
    epsilon : float
        Is added to the variance.

    Returns
    -------
    Tensor
    """
    axes = axes_of(axis, data.ndim)
    return _normalized(data, axes, gamma, beta, axes, epsilon, "layer_norm")


def instance_norm(
    data: Tensor, gamma: Any, beta: Any, channel_axis: int, axis: Any, epsilon: float = 1e-5
) -> Tensor:
    """Normalize each channel of each sample.

    Parameters
    ----------
    data : Tensor
    gamma, beta : Tensor or None
        Scale and shift of each channel.
    channel_axis : int
    axis : sequence of int
        The axes to normalize over.
    epsilon : float
        Is added to the variance.

    Returns
    -------
    Tensor
    """
    axes = axes_of(axis, data.ndim)
    channel = [axis_of(channel_axis, data.ndim)]
    return _normalized(data, axes, gamma, beta, channel, epsilon, "instance_norm")


def rms_norm(data: Tensor, weight: Any, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """Divide by the root of the mean of squares over axes.

    Parameters
    ----------
    data : Tensor
    weight : Tensor or None
        The scale, of the shape of the axes.
    axis : int or sequence of int
    epsilon : float
        Is added to the mean of squares.

    Returns
    -------
    Tensor
    """
    axes = axes_of(axis, data.ndim)
    x = _wide(data, "rms_norm")
    _require_shape(weight, [data.shape[i] for i in axes], "weight")
    square = te.compute(x.shape, lambda *i: x(*i) * x(*i), name="T_square")
    average = mean(square, axes)

    def value(*i: PrimExpr) -> PrimExpr:
        result = x(*i) * _op.rsqrt(average(*_drop(i, axes)) + te.const(epsilon, x.dtype))
        if weight is not None:
            result = result * weight(*(i[axis] for axis in axes)).astype(x.dtype)
        return result.astype(data.dtype)

    return te.compute(data.shape, value, name="T_rms_norm", tag="injective")


def group_norm(
    data: Tensor,
    gamma: Any,
    beta: Any,
    num_groups: int,
    channel_axis: int,
    axes: Any,
    epsilon: float = 1e-5,
) -> Tensor:
    """Normalize over axes and over the channels of each group.

    Parameters
    ----------
    data : Tensor
    gamma, beta : Tensor or None
        Scale and shift of each channel.
    num_groups : int
    channel_axis : int
    axes : sequence of int
        The axes to normalize over, besides channels.
    epsilon : float
        Is added to the variance.

    Returns
    -------
    Tensor
    """
    at = axis_of(channel_axis, data.ndim)
    own = [i for i in axes_of(axes, data.ndim) if i != at]
    channels = data.shape[at]
    number = constant(channels)
    if num_groups < 1 or (number is not None and number % num_groups):
        raise ValueError(f"expected {channels} channels to be {num_groups} equal groups")
    size = canonical(channels // num_groups)
    _require_shape(gamma, [channels], "gamma")
    _require_shape(beta, [channels], "beta")
    x = _wide(data, "group_norm")
    shape = [*x.shape[:at], te.const(num_groups, channels.dtype), size, *x.shape[at + 1 :]]
    grouped = reshape(x, shape)
    reduced = [at + 1, *(i if i < at else i + 1 for i in own)]
    average, variance = _moments(grouped, sorted(reduced))

    def value(*i: PrimExpr) -> PrimExpr:
        split = [*i[:at], i[at] // size, i[at] % size, *i[at + 1 :]]
        outer = _drop(split, reduced)
        result = x(*i) - average(*outer)
        result = result * _op.rsqrt(variance(*outer) + te.const(epsilon, x.dtype))
        if gamma is not None:
            result = result * gamma(i[at]).astype(x.dtype)
        if beta is not None:
            result = result + beta(i[at]).astype(x.dtype)
        return result.astype(data.dtype)

    return te.compute(data.shape, value, name="T_group_norm", tag="injective")


def batch_norm(
    data: Tensor,
    gamma: Any,
    beta: Any,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """Normalize each channel over all samples.

    Parameters
    ----------
    data : Tensor
    gamma, beta : Tensor
        Scale and shift of each channel.
    moving_mean, moving_var : Tensor
        Mean and variance of each channel so far.
    axis : int, optional
        The channels, by default 1.
    epsilon : float, optional
        Is added to the variance, by default 1e-5.
    center, scale : bool, optional
        Whether beta and gamma are used, by default both.
    training : bool, optional
        Whether to use mean and variance of `data`, and to return new moving ones.
    momentum : float, optional
        How much these count there, by default 0.1.

    Returns
    -------
    list of Tensor
        The result, and mean and variance so far.
    """
    at = axis_of(1 if axis is None else axis, data.ndim)
    rate = 0.1 if momentum is None else momentum
    if not 0 <= rate <= 1:
        raise ValueError(f"expected a momentum from 0 to 1, but got {momentum}")
    x = _wide(data, "batch_norm")
    for each, what in (
        (gamma, "gamma"),
        (beta, "beta"),
        (moving_mean, "moving_mean"),
        (moving_var, "moving_var"),
    ):
        _require_shape(each, [data.shape[at]], what)
    others = [i for i in range(data.ndim) if i != at]
    average, variance = _moments(x, others) if training else (moving_mean, moving_var)

    def value(*i: PrimExpr) -> PrimExpr:
        deviation = _op.sqrt(variance(i[at]).astype(x.dtype) + te.const(epsilon or 1e-5, x.dtype))
        result = (x(*i) - average(i[at]).astype(x.dtype)) / deviation
        if gamma is not None and scale is not False:
            result = result * gamma(i[at]).astype(x.dtype)
        if beta is not None and center is not False:
            result = result + beta(i[at]).astype(x.dtype)
        return result.astype(data.dtype)

    out = te.compute(data.shape, value, name="T_batch_norm", tag="injective")
    if not training:
        return [out, moving_mean, moving_var]
    return [out, _moved(moving_mean, average, rate), _moved(moving_var, variance, rate)]


def _moved(old: Tensor, new: Tensor, rate: float) -> Tensor:
    def value(c: PrimExpr) -> PrimExpr:
        kept = te.const(1 - rate, new.dtype) * old(c).astype(new.dtype)
        return (kept + te.const(rate, new.dtype) * new(c)).astype(old.dtype)

    return te.compute(old.shape, value, name="T_moving", tag="elemwise")
