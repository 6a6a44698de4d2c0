# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import op
from .registry import Contribution, Forward, gradient
from .shapes import along, dims_of, number_of, reshaped, sum_along, zeros_of


@dataclass(frozen=True)
class _Normalized:
    """Elements less their mean, over their deviation.

    Attributes
    ----------
    x : tensor
        The elements, normalized.
    inverse : tensor
        One over the deviation.
    axes : sequence of int
        The dimensions over which mean and deviation are taken.
    """

    x: Any
    inverse: Any
    axes: Sequence[int]

    @staticmethod
    def of(data: Any, axes: Sequence[int], epsilon: float) -> _Normalized:
        """Normalize a tensor."""
        centred = data - op.mean(data, axes, keepdims=True)
        square = op.mean(centred * centred, axes, keepdims=True)
        inverse = op.rsqrt(square + epsilon)
        return _Normalized(centred * inverse, inverse, axes)

    def backward(self, g: Any) -> Any:
        """Return the gradient of the elements for that of the normalized ones."""
        mean = op.mean(g, self.axes, keepdims=True)
        slope = op.mean(g * self.x, self.axes, keepdims=True)
        return self.inverse * (g - mean - self.x * slope)


def _scaled(f: Forward, g: Any, gamma: Any) -> Any:
    return g * gamma if f.attribute("scale", True) else g


def _parameters(f: Forward, g: Any, x: Any, axes: Sequence[int]) -> list[Contribution]:
    """Return the gradients of gamma and beta, which are along some dimensions."""

    def of_gamma() -> Any:
        return reshaped(sum_along(g * x, axes), dims_of(f.operands[1]))

    def of_beta() -> Any:
        return reshaped(sum_along(g, axes), dims_of(f.operands[2]))

    return [
        of_gamma if f.attribute("scale", True) else None,
        of_beta if f.attribute("center", True) else None,
    ]


def _axes(f: Forward) -> list[int]:
    ndim = f.operands[0].type.ndim
    return [axis % ndim for axis in f.attribute("axes")]


@gradient("layer_norm")
def _layer_norm(f: Forward, g: Any) -> list[Contribution]:
    data, gamma, _ = f.operands
    axes = _axes(f)
    norm = _Normalized.of(data, axes, f.attribute("epsilon", 1e-5))
    scaled = _scaled(f, g, along(gamma, data.type.ndim, axes))
    return [lambda: norm.backward(scaled), *_parameters(f, g, norm.x, axes)]


@gradient("instance_norm")
def _instance_norm(f: Forward, g: Any) -> list[Contribution]:
    data, gamma, _ = f.operands
    channel = f.axis("channel_axis")
    norm = _Normalized.of(data, _axes(f), f.attribute("epsilon", 1e-5))
    scaled = _scaled(f, g, along(gamma, data.type.ndim, [channel]))
    return [lambda: norm.backward(scaled), *_parameters(f, g, norm.x, [channel])]


@gradient("group_norm")
def _group_norm(f: Forward, g: Any) -> list[Contribution]:
    data, gamma, _ = f.operands
    channel, groups = f.axis("channel_axis"), f.attribute("num_groups")
    dims = dims_of(data)
    # The channels of a group are a dimension of their own.
    split = [*dims[:channel], groups, dims[channel] // groups, *dims[channel + 1 :]]
    axes = [channel + 1, *(axis + (axis > channel) for axis in _axes(f))]
    norm = _Normalized.of(op.reshape(data, split), axes, f.attribute("epsilon", 1e-5))
    scaled = op.reshape(_scaled(f, g, along(gamma, len(dims), [channel])), split)
    return [
        lambda: op.reshape(norm.backward(scaled), dims),
        *_parameters(f, g, op.reshape(norm.x, dims), [channel]),
    ]


@gradient("rms_norm")
def _rms_norm(f: Forward, g: Any) -> list[Contribution]:
    data, weight = f.operands
    axes = _axes(f)
    square = op.mean(data * data, axes, keepdims=True)
    inverse = op.rsqrt(square + f.attribute("epsilon", 1e-5))
    x = data * inverse
    scaled = g * along(weight, data.type.ndim, axes)

    def of_data() -> Any:
        return inverse * (scaled - x * op.mean(scaled * x, axes, keepdims=True))

    return [of_data, lambda: reshaped(sum_along(g * x, axes), dims_of(weight))]


# ------------------------------------------------------------------------------
# Batch normalization
# ------------------------------------------------------------------------------


@gradient("batch_norm")
def _batch_norm(f: Forward, g: Any) -> list[Contribution]:
    of_result, of_mean, of_variance = g
    data = f.operands[0]
    channel = f.axis()
    of_result = zeros_of(data) if of_result is None else of_result
    if f.attribute("training", True):
        return _in_training(f, channel, of_result, of_mean, of_variance)
    return _in_inference(f, channel, of_result, of_mean, of_variance)


def _in_training(
    f: Forward, channel: int, g: Any, of_mean: Any, of_variance: Any
) -> list[Contribution]:
    data, gamma, *_ = f.operands
    ndim, momentum = data.type.ndim, f.attribute("momentum", 0.1)
    others = [axis for axis in range(ndim) if axis != channel]
    norm = _Normalized.of(data, others, f.attribute("epsilon", 1e-5))

    def of_data() -> Any:
        total = norm.backward(_scaled(f, g, along(gamma, ndim, [channel])))
        dims = dims_of(data)
        count = number_of(f, [dims[axis] for axis in others], data.type.dtype)
        if of_mean is not None:
            total = total + along(of_mean, ndim, [channel]) * momentum / count
        if of_variance is not None:
            centred = data - op.mean(data, others, keepdims=True)
            part = along(of_variance, ndim, [channel]) * (2 * momentum) / count
            total = total + centred * part
        return total

    def of_moving(of_new: Any) -> Contribution:
        return None if of_new is None else lambda: of_new * (1 - momentum)

    moving = [of_moving(of_mean), of_moving(of_variance)]
    return [of_data, *_parameters(f, g, norm.x, [channel]), *moving]


def _in_inference(
    f: Forward, channel: int, g: Any, of_mean: Any, of_variance: Any
) -> list[Contribution]:
    data, gamma, _, mean, variance = f.operands
    ndim = data.type.ndim
    wide = [along(each, ndim, [channel]) for each in (gamma, mean, variance)]
    inverse = op.rsqrt(wide[2] + f.attribute("epsilon", 1e-5))
    x = (data - wide[1]) * inverse
    slope = _scaled(f, g, wide[0]) * inverse

    def to_channels(value: Any, moving: Any, own: Any) -> Any:
        total = reshaped(sum_along(value, [channel]), dims_of(moving))
        return total if own is None else total + own

    return [
        slope,
        *_parameters(f, g, x, [channel]),
        lambda: to_channels(-slope, mean, of_mean),
        lambda: to_channels(slope * x * inverse * -0.5, variance, of_variance),
    ]
