# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move known elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...composites.tensors import normal_axis
from .folds import LARGEST, NotFoldedError, fold_axes, folds, is_plain, unfolded
from .model import array_of
from .registry import Node


@folds("Identity")
def _identity(_: Node, x: np.ndarray) -> np.ndarray:
    return x


@folds("NonZero")
def _non_zero(_: Node, x: np.ndarray) -> np.ndarray:
    return unfolded() if x.dtype == object or not x.ndim else np.stack(np.nonzero(x))


@folds("Tile")
def _tile(_: Node, x: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    if not is_plain(repeats) or x.size * math.prod(map(int, repeats)) > LARGEST:
        raise NotFoldedError
    return np.tile(x, [int(count) for count in repeats])


@folds("GatherND")
def _gather_nd(node: Node, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    if node.attr("batch_dims", 0) or not is_plain(indices):
        raise NotFoldedError
    places = np.moveaxis(indices.astype(np.int64), -1, 0)
    return np.asarray(x[tuple(places)], x.dtype)


@folds("Concat")
def _concat(node: Node, *parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts, node.attr("axis"))


@folds("Gather")
def _gather(node: Node, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    places = indices.astype(np.int64) if is_plain(indices) else unfolded()
    axis = normal_axis(node.attr("axis", 0), x.ndim)
    if places.size and not (-x.shape[axis] <= places.min() <= places.max() < x.shape[axis]):
        raise ValueError(f"expected indices into {x.shape[axis]} elements, but got {places}")
    return np.take(x, places, axis)


@folds("Slice")
def _slice(node: Node, x: np.ndarray, *places: np.ndarray | None) -> np.ndarray:
    if node.opset < 10:
        starts, ends = node.attr("starts"), node.attr("ends")
        axes = node.attr("axes", list(range(len(starts))))
        steps = [1] * len(starts)
    else:
        given = [*places, None, None][:4]
        if not is_plain(*(one for one in given if one is not None)):
            raise NotFoldedError
        starts, ends = (list(map(int, one)) for one in given[:2] if one is not None)
        axes = range(len(starts)) if given[2] is None else map(int, given[2])
        steps = [1] * len(starts) if given[3] is None else list(map(int, given[3]))
    index: list[Any] = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # Before the begin is how Python spells the end of a slice that runs backwards.
        before = end < -x.shape[axis] and step < 0
        index[axis] = slice(start, None if before else end, step)
    return x[tuple(index)]


@folds("Squeeze")
def _squeeze(node: Node, x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    given = fold_axes(node, axes)
    return np.squeeze(x, None if given is None else tuple(given))


@folds("Unsqueeze")
def _unsqueeze(node: Node, x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    return np.expand_dims(x, tuple(fold_axes(node, axes) or ()))


@folds("Reshape")
def _reshape(node: Node, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    if not is_plain(shape) or node.attr("allowzero", 0):
        raise NotFoldedError
    dims = [int(dim) for dim in shape.flat]
    return x.reshape([x.shape[i] if dim == 0 else dim for i, dim in enumerate(dims)])


@folds("Transpose")
def _transpose(node: Node, x: np.ndarray) -> np.ndarray:
    return np.transpose(x, node.attr("perm", None))


@folds("Range")
def _range(_: Node, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    if not is_plain(start, limit, delta) or start.dtype.kind == "f" or start.dtype == object:
        raise NotFoldedError
    first, last, step = (int(one.reshape(())) for one in (start, limit, delta))
    if not step or len(range(first, last, step)) > LARGEST:
        raise NotFoldedError
    return np.arange(first, last, step).astype(start.dtype)


@folds("ConstantOfShape")
def _constant_of_shape(node: Node, shape: np.ndarray) -> np.ndarray:
    if not is_plain(shape) or math.prod(map(int, shape)) > LARGEST:
        raise NotFoldedError
    value = node.attr("value", None)
    element = np.zeros(1, "float32") if value is None else array_of(value, node.importer.folder)
    return np.full([int(dim) for dim in shape], element.reshape(()), element.dtype)


@folds("Expand")
def _expand(_: Node, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    if not is_plain(shape) or math.prod(map(int, shape)) > LARGEST:
        raise NotFoldedError
    wanted = np.broadcast_shapes(x.shape, tuple(int(dim) for dim in shape))
    return np.broadcast_to(x, wanted)
