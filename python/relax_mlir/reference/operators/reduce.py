# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tensor import Array, is_float, overflow_limit
from .table import Args, attribute, axes_of, cast, count, expect, operator


def _axes(op: Any, data: Array) -> tuple[int, ...]:
    axes = attribute(op, "axis")
    return tuple(range(data.ndim)) if axes is None else axes_of(axes, data.ndim)


def _terms(op: Any, args: Args) -> int:
    data = args[0].data
    return count(data.shape, _axes(op, data))


def reduced(op: Any, args: Args, function: Any, **options: Any) -> Array:
    """Return the result of a function of NumPy over the axes of the operation."""
    data = args[0].data
    keepdims = attribute(op, "keepdims", False)
    return np.asarray(function(data, axis=_axes(op, data), keepdims=keepdims, **options))


@operator("sum", ulps=0.5, backward_error_per_term=1, terms=_terms)
def _sum(op: Any, args: Args, env: Any) -> Array:
    return reduced(op, args, np.sum, dtype=args[0].data.dtype)


def _target(args: Args) -> tuple[int, ...]:
    """Return the shape of a sum of what was broadcast: a shape, or that of a tensor."""
    target = args[1]
    return tuple(target.data.shape if hasattr(target, "data") else target)


def _collapsed_terms(op: Any, args: Args) -> int:
    kept = math.prod(_target(args))
    return int(args[0].data.size) // max(kept, 1)


@operator("collapse_sum_like", ulps=0.5, backward_error_per_term=1, terms=_collapsed_terms)
@operator("collapse_sum_to", ulps=0.5, backward_error_per_term=1, terms=_collapsed_terms)
def _collapse_sum(op: Any, args: Args, env: Any) -> Array:
    data, shape = args[0].data, _target(args)
    first = data.ndim - len(shape)
    sizes = (*([1] * first), *shape)
    axes = [i for i, size in enumerate(sizes) if i < first or size == 1]
    kept = [i for i in range(data.ndim) if i not in axes]
    expect([sizes[i] for i in kept], [data.shape[i] for i in kept], "dimensions")
    total = np.sum(data, axis=tuple(axes), keepdims=True, dtype=data.dtype)
    return np.reshape(total, shape)


@operator("prod", ulps=0.5, ulps_per_term=1, terms=_terms)
def _prod(op: Any, args: Args, env: Any) -> Array:
    return reduced(op, args, np.prod, dtype=args[0].data.dtype)


@operator("mean", ulps=1, backward_error_per_term=1, terms=_terms)
def _mean(op: Any, args: Args, env: Any) -> Array:
    return reduced(op, args, np.sum) / np.float64(_terms(op, args))


@operator("max", ulps=0, any_zero=True)
def _max(op: Any, args: Args, env: Any) -> Array:
    return reduced(op, args, np.max, initial=lowest(args[0].dtype))


@operator("min", ulps=0, any_zero=True)
def _min(op: Any, args: Args, env: Any) -> Array:
    return reduced(op, args, np.min, initial=highest(args[0].dtype))


def lowest(dtype: str) -> Any:
    """Return the least number of a data type: the maximum of no numbers."""
    if dtype == "bool":
        return False
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: str) -> Any:
    """Return the largest number of a data type: the minimum of no numbers."""
    if dtype == "bool":
        return True
    return np.inf if is_float(dtype) else np.iinfo(dtype).max


def mean_and_variance(data: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """Return both over some axes, which stay; NaN of no elements."""
    size = np.float64(count(data.shape, axes))
    mean = data.sum(axis=tuple(axes), keepdims=True) / size
    return mean, np.square(data - mean).sum(axis=tuple(axes), keepdims=True) / size


# Zeros have no relative error, but their squared differences from the mean do.
_SQUARES = {"ulps": 4, "ulps_per_term": 0.5, "backward_error": 1, "backward_error_per_term": 1}


def _variance(op: Any, args: Args) -> Array:
    data = args[0].data
    axes = _axes(op, data)
    variance = mean_and_variance(data, axes)[1]
    return variance if attribute(op, "keepdims", False) else variance.squeeze(axes)


@operator("variance", terms=_terms, **_SQUARES)
def _variance_of(op: Any, args: Args, env: Any) -> Array:
    return _variance(op, args)


@operator("std", terms=_terms, **_SQUARES)
def _std(op: Any, args: Args, env: Any) -> Array:
    return np.sqrt(_variance(op, args))


@operator("argmax", ulps=0)
def _argmax(op: Any, args: Args, env: Any) -> Array:
    return _index_of(op, args, np.argmax)


@operator("argmin", ulps=0)
def _argmin(op: Any, args: Args, env: Any) -> Array:
    return _index_of(op, args, np.argmin)


def _index_of(op: Any, args: Args, function: Any) -> Array:
    """Return indices of elements; 0 where there are none."""
    data, axis = args[0].data, attribute(op, "axis")
    keepdims = attribute(op, "keepdims", False)
    axes = _axes(op, data) if axis is None else axes_of(axis, data.ndim)
    if count(data.shape, axes) == 0:
        return np.asarray(np.sum(data, axis=axes, keepdims=keepdims, dtype=np.int64))
    return np.asarray(function(data, axis=axis, keepdims=keepdims), np.int64)


# ------------------------------------------------------------------------------
# Scans
# ------------------------------------------------------------------------------


def _scan_terms(op: Any, args: Args) -> int:
    data, axis = args[0].data, attribute(op, "axis")
    return data.size if axis is None else data.shape[axis]


@operator("cumsum", ulps=0.5, backward_error=1, backward_error_per_term=1, terms=_scan_terms)
def _cumsum(op: Any, args: Args, env: Any) -> Array:
    return _scan(op, args, np.add, lambda _: 0)


@operator("cumprod", ulps=1, ulps_per_term=2, terms=_scan_terms)
def _cumprod(op: Any, args: Args, env: Any) -> Array:
    return _scan(op, args, np.multiply, lambda _: 1)


@operator("cummax", ulps=0)
def _cummax(op: Any, args: Args, env: Any) -> Array:
    return _scan(op, args, np.maximum, lowest)


@operator("cummin", ulps=0)
def _cummin(op: Any, args: Args, env: Any) -> Array:
    return _scan(op, args, np.minimum, highest)


def _scan(op: Any, args: Args, function: np.ufunc, identity: Callable[[str], Any]) -> Array:
    axis, dtype = attribute(op, "axis"), attribute(op, "dtype", args[0].dtype)
    data = cast(args[0].data, dtype)
    if axis is None:
        data, axis = data.ravel(), 0
    if attribute(op, "exclusive", False):
        # Each one counts for the next element; the identity comes first.
        shape = [*data.shape]
        shape[axis] = 1
        first = np.full(shape, identity(dtype), data.dtype)
        last = data.shape[axis]
        data = np.concatenate([first, data], axis)
        data = np.take(data, range(last), axis)
    result = np.asarray(function.accumulate(data, axis=axis, dtype=data.dtype))
    computes = function in (np.add, np.multiply)
    is_short = computes and is_float(dtype) and dtype not in ("float32", "float64")
    if is_short and np.any(np.abs(result) >= _LIMIT):
        return _overflowing(np.moveaxis(data, axis, 0), function, axis)
    return result


# Scans compute smaller floats in float32, and float32 in float64.
_LIMIT = overflow_limit("float32")


def _overflowing(data: Array, function: np.ufunc, axis: int) -> Array:
    """Scan the first axis: each element comes of the one before, which may be infinite."""
    result = np.empty_like(data)
    last: Any = function.identity
    for index, element in enumerate(data):
        last = function(last, element)
        result[index] = last = np.where(np.abs(last) >= _LIMIT, np.copysign(np.inf, last), last)
    return np.moveaxis(result, 0, axis)
