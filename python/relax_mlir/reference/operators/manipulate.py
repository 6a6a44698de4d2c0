# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements, and those that create tensors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..tensor import Array, is_float
from .table import Args, attribute, cast, flat, operator

# ------------------------------------------------------------------------------
# Shapes
# ------------------------------------------------------------------------------


@operator("broadcast_to", ulps=0)
def _broadcast_to(op: Any, args: Args, env: Any) -> Array:
    return np.broadcast_to(args[0].data, args[1])


@operator("reshape", ulps=0)
def _reshape(op: Any, args: Args, env: Any) -> Array:
    return args[0].data.reshape(args[1])


@operator("flatten", ulps=0)
def _flatten(op: Any, args: Args, env: Any) -> Array:
    return args[0].data.ravel()


@operator("expand_dims", ulps=0)
def _expand_dims(op: Any, args: Args, env: Any) -> Array:
    return np.expand_dims(args[0].data, tuple(attribute(op, "axis")))


@operator("squeeze", ulps=0)
def _squeeze(op: Any, args: Args, env: Any) -> Array:
    axes = attribute(op, "axis")
    # Without axes, the dimensions that are not 1 are known.
    return np.squeeze(args[0].data, None if axes is None else tuple(axes))


@operator("permute_dims", ulps=0)
def _permute_dims(op: Any, args: Args, env: Any) -> Array:
    return np.transpose(args[0].data, attribute(op, "axes"))


# ------------------------------------------------------------------------------
# Parts
# ------------------------------------------------------------------------------


@operator("concat", ulps=0)
def _concat(op: Any, args: Args, env: Any) -> Array:
    return np.concatenate([arg.data for arg in flat(args)], attribute(op, "axis", 0))


@operator("stack", ulps=0)
def _stack(op: Any, args: Args, env: Any) -> Array:
    return np.stack([arg.data for arg in flat(args)], attribute(op, "axis", 0))


@operator("meshgrid", ulps=0)
def _meshgrid(op: Any, args: Args, env: Any) -> tuple[Array, ...]:
    vectors = [np.atleast_1d(arg.data) for arg in flat(args)]
    return tuple(np.meshgrid(*vectors, indexing=attribute(op, "indexing", "ij")))


#: The modes of `pad` by those of NumPy.
_PAD_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@operator("pad", ulps=0)
def _pad(op: Any, args: Args, env: Any) -> Array:
    data, mode = args[0].data, attribute(op, "pad_mode", "constant")
    widths = np.reshape(attribute(op, "pad_width"), (-1, 2))
    if mode == "constant":
        value = np.asarray(attribute(op, "pad_value", 0.0)).astype(data.dtype)
        return np.pad(data, widths, constant_values=value)
    if data.size == 0:
        return np.zeros([n + sum(w) for n, w in zip(data.shape, widths, strict=True)], data.dtype)
    return np.pad(data, widths, mode=_PAD_MODES[mode])  # type: ignore[call-overload]


@operator("pixel_shuffle", ulps=0)
def _pixel_shuffle(op: Any, args: Args, env: Any) -> Array:
    data, r = args[0].data, attribute(op, "upscale_factor")
    *batch, channels, height, width = data.shape
    if channels % (r * r):
        raise ValueError(f"expected channels that are a multiple of {r * r}, but got {channels}")
    parts = data.reshape(*batch, channels // (r * r), r, r, height, width)
    # Dimensions: ..., channel, row in the square, column in it, row, column.
    n = len(batch)
    parts = parts.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return parts.reshape(*batch, channels // (r * r), height * r, width * r)


@operator("split", ulps=0)
def _split(op: Any, args: Args, env: Any) -> tuple[Array, ...]:
    x, axis = args[0].data, attribute(op, "axis", 0)
    size, sections = x.shape[axis], attribute(op, "sections")
    if sections is not None:
        indices = [i * -(-size // sections) for i in range(1, sections)]
    else:
        indices = attribute(op, "indices")
    bounds = [0, *(min(max(index, 0), size) for index in indices), size]
    places = (range(begin, end) for begin, end in itertools.pairwise(bounds))
    return tuple(np.take(x, place, axis) for place in places)


@operator("strided_slice", ulps=0)
def _strided_slice(op: Any, args: Args, env: Any) -> Array:
    x, begins, ends, *rest = args
    axes = attribute(op, "axes")
    strides = rest[0] if rest and rest[0] is not None else [1] * len(axes)
    slices = [slice(None)] * x.data.ndim
    for axis, begin, end, stride in zip(axes, begins, ends, strides, strict=True):
        slices[axis] = slice(begin, end, stride)
    return x.data[tuple(slices)]


@operator("flip", ulps=0)
def _flip(op: Any, args: Args, env: Any) -> Array:
    return np.flip(args[0].data, attribute(op, "axis", 0))


@operator("repeat", ulps=0)
def _repeat(op: Any, args: Args, env: Any) -> Array:
    return np.repeat(args[0].data, attribute(op, "repeats"), attribute(op, "axis"))


@operator("tile", ulps=0)
def _tile(op: Any, args: Args, env: Any) -> Array:
    return np.tile(args[0].data, attribute(op, "repeats"))


# ------------------------------------------------------------------------------
# New tensors
# ------------------------------------------------------------------------------


@operator("full", ulps=0.5)
def _full(op: Any, args: Args, env: Any) -> Array:
    shape, value = args
    return np.full(shape, cast(value.data, attribute(op, "dtype", value.dtype)))


@operator("full_like", ulps=0.5)
def _full_like(op: Any, args: Args, env: Any) -> Array:
    x, value = args
    return np.full(x.data.shape, cast(value.data, attribute(op, "dtype", x.dtype)))


@operator("zeros", ulps=0)
def _zeros(op: Any, args: Args, env: Any) -> Array:
    return np.zeros(args[0], _numpy(attribute(op, "dtype")))


@operator("ones", ulps=0)
def _ones(op: Any, args: Args, env: Any) -> Array:
    return np.ones(args[0], _numpy(attribute(op, "dtype")))


@operator("zeros_like", ulps=0)
def _zeros_like(op: Any, args: Args, env: Any) -> Array:
    x = args[0]
    return np.zeros(x.data.shape, _numpy(attribute(op, "dtype", x.dtype)))


@operator("ones_like", ulps=0)
def _ones_like(op: Any, args: Args, env: Any) -> Array:
    x = args[0]
    return np.ones(x.data.shape, _numpy(attribute(op, "dtype", x.dtype)))


def _numpy(dtype: str) -> str:
    return "float64" if is_float(dtype) else dtype


@operator("arange", ulps=0.5, backward_error=2)
def _arange(op: Any, args: Args, env: Any) -> Array:
    start, end, step = args
    size = math.ceil((end - start) / step) if isinstance(start, float) else -((start - end) // step)
    places = np.arange(max(size, 0))
    return cast(start + places * step, attribute(op, "dtype"))


@operator("eye", ulps=0)
def _eye(op: Any, args: Args, env: Any) -> Array:
    rows, columns, k = args
    return _diagonal((rows, columns), k, attribute(op, "dtype"))


@operator("eye_like", ulps=0)
def _eye_like(op: Any, args: Args, env: Any) -> Array:
    x, k = args
    return _diagonal(x.data.shape, k, attribute(op, "dtype", x.dtype))


@operator("random_bits", ulps=0)
def _random_bits(op: Any, args: Args, env: Any) -> Array:
    """Compute Threefry-2x32 with 20 rounds."""
    key, count = int(args[0].data), args[1]
    keys = [np.uint32(key >> 32), np.uint32(key & 0xFFFFFFFF)]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    places = np.arange(count, dtype=np.uint64)
    high = (places >> np.uint64(32)).astype(np.uint32) + keys[0]
    low = places.astype(np.uint32) + keys[1]
    for group in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            high = high + low
            low = (low << np.uint32(bits)) | (low >> np.uint32(32 - bits))
            low = low ^ high
        high = high + keys[(group + 1) % 3]
        low = low + keys[(group + 2) % 3] + np.uint32(group + 1)
    return (high.astype(np.uint64) << np.uint64(32)) | low


def _distances(shape: tuple[int, ...]) -> Array:
    """Return the number of the diagonal that each place of a matrix is on."""
    return np.arange(shape[-1])[None, :] - np.arange(shape[-2])[:, None]


def _diagonal(shape: tuple[int, ...], k: int, dtype: str) -> Array:
    return (_distances(shape) == k).astype(_numpy(dtype))


@operator("tril", ulps=0)
def _tril(op: Any, args: Args, env: Any) -> Array:
    x, k = args
    return np.where(_distances(x.data.shape) <= k, x.data, np.zeros_like(x.data))


@operator("triu", ulps=0)
def _triu(op: Any, args: Args, env: Any) -> Array:
    x, k = args
    return np.where(_distances(x.data.shape) >= k, x.data, np.zeros_like(x.data))
