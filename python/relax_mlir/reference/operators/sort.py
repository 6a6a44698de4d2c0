# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that order elements, and search for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Array
from .table import Args, attribute, axes_of, expect, operator


def _order(data: Array, axis: int, is_descending: bool) -> Array:
    """Return the stable order of elements; NaN is the greatest, as in NumPy."""
    if not is_descending:
        return np.argsort(data, axis=axis, kind="stable")
    # The last one of equal elements in the opposite direction is the first one.
    order = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(order, axis)


@operator("sort", ulps=0)
def _sort(op: Any, args: Args, env: Any) -> Array:
    x = args[0].data
    (axis,) = axes_of(attribute(op, "axis", -1), x.ndim)
    return np.take_along_axis(x, _order(x, axis, attribute(op, "descending", False)), axis)


@operator("argsort", ulps=0)
def _argsort(op: Any, args: Args, env: Any) -> Array:
    data = args[0].data
    (axis,) = axes_of(attribute(op, "axis", -1), data.ndim)
    return _order(data, axis, attribute(op, "descending", False))


@operator("kth_index", ulps=0)
def _kth_index(op: Any, args: Args, env: Any) -> Array:
    data, k = args[0].data, args[1]
    (axis,) = axes_of(attribute(op, "axis", -1), data.ndim)
    if not 1 <= k <= data.shape[axis]:
        raise ValueError(f"expected k of 1 to {data.shape[axis]}, but got {k}")
    return np.take(_order(data, axis, False), [k - 1], axis)


@operator("topk", ulps=0)
def _topk(op: Any, args: Args, env: Any) -> Array | tuple[Array, Array]:
    data = args[0].data
    (axis,) = axes_of(attribute(op, "axis", -1), data.ndim)
    k, kind = attribute(op, "k", 1), attribute(op, "ret_type", "both")
    if k > data.shape[axis]:
        raise ValueError(f"expected k of at most {data.shape[axis]}, but got {k}")
    order = _order(data, axis, attribute(op, "largest", True))
    if k >= 1:
        order = np.take(order, range(k), axis)
    values = np.take_along_axis(data, order, axis)
    if kind == "both":
        return values, order
    return values if kind == "values" else order


@operator("bucketize", ulps=0)
def _bucketize(op: Any, args: Args, env: Any) -> Array:
    elements, boundaries = (arg.data for arg in args)
    expect(boundaries.ndim, 1, "boundaries of rank")
    is_right = attribute(op, "right", False)
    return np.searchsorted(boundaries, elements, "right" if is_right else "left")
