# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, softmax, normalization and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tensor import Array
from .reduce import mean_and_variance
from .table import Args, along, attribute, axes_of, cast, count, expect, operator

# ------------------------------------------------------------------------------
# Products
# ------------------------------------------------------------------------------


@operator("outer", ulps=0.5)
def _outer(op: Any, args: Args, env: Any) -> Array:
    return np.multiply.outer(*(arg.data for arg in args))


@operator("prelu", ulps=0.5)
def _prelu(op: Any, args: Args, env: Any) -> Array:
    data, alpha = (arg.data for arg in args)
    (axis,) = axes_of(attribute(op, "axis", 1), data.ndim)
    if alpha.shape != (1,):
        expect((data.shape[axis],), alpha.shape, "alpha of shape")
    return np.where(data > 0, data, along(alpha, data.ndim, [axis]) * data)


def _matmul_terms(op: Any, args: Args) -> int:
    return int(args[0].data.shape[-1])


@operator("matmul", ulps=0.5, backward_error=1, backward_error_per_term=1, terms=_matmul_terms)
def _matmul(op: Any, args: Args, env: Any) -> Array:
    dtype = attribute(op, "out_dtype", args[0].dtype)
    return np.asarray(np.matmul(*(cast(arg.data, dtype) for arg in args)))


# ------------------------------------------------------------------------------
# Softmax
# ------------------------------------------------------------------------------


def _softmax_terms(op: Any, args: Args) -> int:
    return int(args[0].data.shape[attribute(op, "axis", -1)])


def _differences(x: Array, axis: int) -> Array:
    """Return the difference of each element and the largest one of its row."""
    return x - x.max(axis=axis, keepdims=True, initial=-np.inf)


@operator("softmax", ulps=6, ulps_per_term=1, backward_error=2, terms=_softmax_terms)
def _softmax(op: Any, args: Args, env: Any) -> Array:
    axis = attribute(op, "axis", -1)
    powers = np.exp(_differences(args[0].data, axis))
    return powers / powers.sum(axis=axis, keepdims=True)


@operator(
    "log_softmax",
    ulps=6,
    ulps_per_term=1,
    backward_error=2,
    terms=_softmax_terms,
    scale=lambda op, args: np.ones(()),
)
def _log_softmax(op: Any, args: Args, env: Any) -> Array:
    axis = attribute(op, "axis", -1)
    below = _differences(args[0].data, axis)
    return below - np.log(np.exp(below).sum(axis=axis, keepdims=True))


# ------------------------------------------------------------------------------
# Normalization
# ------------------------------------------------------------------------------


def _normalize(
    op: Any, data: Array, mean: Array, variance: Array, parameters: Sequence[Array]
) -> Array:
    """Return (data - mean) / sqrt(variance + epsilon) * gamma + beta."""
    gamma, beta = parameters
    result = (data - mean) / np.sqrt(variance + attribute(op, "epsilon", 1e-5))
    if attribute(op, "scale", True):
        result = result * gamma
    return result + beta if attribute(op, "center", True) else result


def _parameters(args: Args, axes: Sequence[int] | int) -> list[Array]:
    """Return the parameters of some axes so that they broadcast."""
    data = args[0].data
    axes = axes_of(axes, data.ndim)
    for arg in args[1:]:
        expect(tuple(data.shape[axis] for axis in axes), arg.data.shape, "parameters of shape")
    return [along(arg.data, data.ndim, axes) for arg in args[1:]]


def _norm_terms(op: Any, args: Args) -> int:
    shape = args[0].data.shape
    return count(shape, axes_of(attribute(op, "axes"), len(shape)))


def _group_terms(op: Any, args: Args) -> int:
    channels = args[0].data.shape[attribute(op, "channel_axis")]
    return _norm_terms(op, args) * int(channels) // int(attribute(op, "num_groups"))


# Zeros have no relative error, but their squared differences from the mean do.
_NORM = {"ulps": 8, "ulps_per_term": 0.5, "backward_error": 4, "backward_error_per_term": 1}


def _mean_error(op: Any, data: Array, axes: Sequence[int], gamma: Array) -> Array:
    """Return what an error of the mean counts by: it moves all elements of a row alike."""
    largest = np.abs(data).max(axis=tuple(axes), keepdims=True, initial=0)
    variance = mean_and_variance(data, axes)[1]
    size = largest / np.sqrt(variance + attribute(op, "epsilon", 1e-5))
    return size * np.abs(gamma) if attribute(op, "scale", True) else size


def _layer_error(op: Any, args: Args) -> Array:
    data = args[0].data
    axes = axes_of(attribute(op, "axes"), data.ndim)
    return _mean_error(op, data, axes, _parameters(args, axes)[0])


@operator("layer_norm", terms=_norm_terms, scale=_layer_error, **_NORM)
def _layer_norm(op: Any, args: Args, env: Any) -> Array:
    data = args[0].data
    axes = axes_of(attribute(op, "axes"), data.ndim)
    parameters = _parameters(args, axes)
    return _normalize(op, data, *mean_and_variance(data, axes), parameters)


def _instance_error(op: Any, args: Args) -> Array:
    data = args[0].data
    gamma = _parameters(args, attribute(op, "channel_axis"))[0]
    return _mean_error(op, data, axes_of(attribute(op, "axes"), data.ndim), gamma)


@operator("instance_norm", terms=_norm_terms, scale=_instance_error, **_NORM)
def _instance_norm(op: Any, args: Args, env: Any) -> Array:
    data = args[0].data
    axes = axes_of(attribute(op, "axes"), data.ndim)
    parameters = _parameters(args, attribute(op, "channel_axis"))
    return _normalize(op, data, *mean_and_variance(data, axes), parameters)


def _by_group(op: Any, args: Args) -> tuple[Array, list[Array], tuple[int, ...]]:
    """Return the data and its parameters with an axis of groups, and the axes of a group."""
    data, groups = args[0].data, attribute(op, "num_groups")
    (channel,) = axes_of(attribute(op, "channel_axis"), data.ndim)
    expect(0, data.shape[channel] % groups, f"channels modulo {groups}")
    parameters = _parameters(args, channel)
    axes = axes_of(attribute(op, "axes"), data.ndim)

    def split(array: Array) -> Array:
        before, after = array.shape[:channel], array.shape[channel + 1 :]
        return array.reshape(*before, groups, data.shape[channel] // groups, *after)

    of_group = (channel + 1, *(axis + 1 if axis > channel else axis for axis in axes))
    return split(data), [split(parameter) for parameter in parameters], of_group


def _group_error(op: Any, args: Args) -> Array:
    data, (gamma, _), axes = _by_group(op, args)
    error = _mean_error(op, data, axes, gamma)
    return np.broadcast_to(error, data.shape).reshape(args[0].data.shape)


@operator("group_norm", terms=_group_terms, scale=_group_error, **_NORM)
def _group_norm(op: Any, args: Args, env: Any) -> Array:
    data, parameters, axes = _by_group(op, args)
    result = _normalize(op, data, *mean_and_variance(data, axes), parameters)
    return result.reshape(args[0].data.shape)


@operator("rms_norm", ulps=8, ulps_per_term=1, terms=_norm_terms)
def _rms_norm(op: Any, args: Args, env: Any) -> Array:
    data = args[0].data
    axes = axes_of(attribute(op, "axes"), data.ndim)
    (weight,) = _parameters(args, axes)
    total = np.square(data).sum(axis=axes, keepdims=True)
    square = total / np.float64(count(data.shape, axes))
    root = np.sqrt(square + attribute(op, "epsilon", 1e-5))
    return data / root * weight


def _batch_axes(op: Any, args: Args) -> list[int]:
    ndim = args[0].data.ndim
    return [axis for axis in range(ndim) if axis not in axes_of(attribute(op, "axis"), ndim)]


def _batch_terms(op: Any, args: Args) -> int:
    if not attribute(op, "training", True):
        return 0
    return count(args[0].data.shape, _batch_axes(op, args))


def _batch_error(op: Any, args: Args) -> tuple[Array, ...]:
    if not attribute(op, "training", True):
        return ()
    gamma = _parameters(args[:2], attribute(op, "axis"))[0]
    moved = _mean_error(op, args[0].data, _batch_axes(op, args), gamma)
    return moved, np.zeros(()), np.zeros(())


@operator("batch_norm", terms=_batch_terms, scale=_batch_error, **_NORM)
def _batch_norm(op: Any, args: Args, env: Any) -> tuple[Array, ...]:
    data = args[0].data
    gamma, beta, mean, variance = _parameters(args, attribute(op, "axis"))
    moving = [args[3].data, args[4].data]
    if attribute(op, "training", True):
        mean, variance = mean_and_variance(data, _batch_axes(op, args))
        momentum = attribute(op, "momentum", 0.1)
        moving = [
            (1 - momentum) * old + momentum * new.ravel()
            for old, new in zip(moving, (mean, variance), strict=True)
        ]
    return _normalize(op, data, mean, variance, (gamma, beta)), *moving


# ------------------------------------------------------------------------------
# Attention
# ------------------------------------------------------------------------------


def _attention_terms(op: Any, args: Args) -> int:
    key = args[1].data
    return int(key.shape[1] + key.shape[3])


@operator(
    "attention",
    ulps=8,
    backward_error=8,
    backward_error_per_term=1,
    terms=_attention_terms,
)
def _attention(op: Any, args: Args, env: Any) -> Array:
    # Dimensions: batch, head, position, feature.
    query, key, value = (arg.data.swapaxes(1, 2) for arg in args[:3])
    expect(query.shape[0], key.shape[0], "keys of as many batches as the queries,")
    expect(query.shape[3], key.shape[3], "keys of as many features as the queries,")
    expect((key.shape[0], key.shape[2]), (value.shape[0], value.shape[2]), "values of the keys,")
    key, value = (_shared(tensor, query.shape[1]) for tensor in (key, value))
    scale = attribute(op, "scale")
    if scale is None:
        scale = 1 / np.sqrt(np.float64(query.shape[3]))
    scores = query @ key.swapaxes(2, 3) * scale
    if len(args) > 3 and args[3] is not None:
        scores = scores + args[3].data
    seen = _is_seen(op, *scores.shape[2:])
    scores = np.where(seen, scores, -np.inf)
    powers = np.where(seen, np.exp(_differences(scores, -1)), 0)
    if args[0].dtype != "float64":  # what float32 does not have is 0, which counts beside infinity
        least = env.interpreter.arithmetic.smallest_term()
        powers = np.where(powers < least, 0, powers)
    sums = powers.sum(axis=-1, keepdims=True)
    # A query that looks at no key gets 0.
    weights = np.where(np.any(seen, axis=-1, keepdims=True), powers / sums, 0)
    result = np.zeros((*weights.shape[:3], value.shape[3]))
    for i in range(key.shape[2]):
        # Keys that a query does not look at are left out, even NaN.
        product = weights[..., i, None] * value[:, :, i, None]
        result += np.where(seen[:, i, None], product, 0)
    return result.swapaxes(1, 2)


def _shared(tensor: Array, heads: int) -> Array:
    """Return keys or values for each head of the query: consecutive ones share one."""
    return np.repeat(tensor, heads // max(tensor.shape[1], 1), axis=1)


def _is_seen(op: Any, queries: int, keys: int) -> Array:
    """Say which query looks at which key."""
    mask, window = attribute(op, "causal_mask"), attribute(op, "window_size")
    place = np.arange(keys)[None, :]
    last = np.full((queries, 1), keys - 1)
    if mask:
        offset = keys - queries if mask == "BottomRight" else 0
        last = np.arange(queries)[:, None] + offset
    seen: Array = np.less_equal(place, last)
    return seen & (place > last - window) if window is not None else seen
