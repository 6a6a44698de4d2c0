# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of reductions and scans."""

from __future__ import annotations

from typing import Any

from ... import op
from ...composites.scans import places_of_values
from ...core.ir import Dim
from .registry import Contribution, Forward, gradient, no_gradient
from .shapes import dims_of, number_of, reshaped, zeros_of

# ------------------------------------------------------------------------------
# Reductions
# ------------------------------------------------------------------------------


def _axes(f: Forward) -> list[int]:
    ndim: int = f.operands[0].type.ndim
    axes = f.attribute("axis")
    return list(range(ndim)) if axes is None else [axis % ndim for axis in axes]


def _kept(f: Forward, value: Any) -> Any:
    """Return a tensor of the shape of the result with reduced dimensions of size 1."""
    axes = _axes(f)
    dims = dims_of(f.operands[0])
    return reshaped(value, [Dim(1) if i in axes else dim for i, dim in enumerate(dims)])


def _count(f: Forward) -> Any:
    """Return the number of elements that each one of the result is computed of."""
    x = f.operands[0]
    dims = dims_of(x)
    return number_of(f, [dims[axis] for axis in _axes(f)], x.type.dtype)


def _spread(f: Forward, value: Any) -> Any:
    """Return a tensor of the shape of the result, broadcast to that of the operand."""
    axes = _axes(f)
    # Leading dimensions broadcast as they are.
    is_leading = sorted(axes) == list(range(len(axes)))
    kept = value if is_leading else _kept(f, value)
    return op.broadcast_to(kept, dims_of(f.operands[0]))


@gradient("sum")
def _sum(f: Forward, g: Any) -> list[Contribution]:
    return [_spread(f, g)]


@gradient("mean")
def _mean(f: Forward, g: Any) -> list[Contribution]:
    return [_spread(f, g / _count(f))]


@gradient("max", "min")
def _max(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    # Elements that are equal share the gradient.
    is_taken = op.astype(op.equal(x, _kept(f, f.result)), x.type.dtype)
    count = op.sum(is_taken, _axes(f), keepdims=True)
    return [is_taken * (_kept(f, g) / count)]


def _centred(x: Any, axes: list[int]) -> Any:
    return x - op.mean(x, axes, keepdims=True)


@gradient("variance")
def _variance(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    return [_centred(x, _axes(f)) * _kept(f, g * 2.0 / _count(f))]


@gradient("std")
def _std(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    slope = g / (f.result * _count(f))
    # As in PyTorch, where all elements are equal it is 0.
    slope = op.where(op.equal(f.result, 0.0), zeros_of(f.result), slope)
    return [_centred(x, _axes(f)) * _kept(f, slope)]


@gradient("prod")
def _prod(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    axes, is_zero = _axes(f), op.equal(x, 0.0)
    zeros = op.sum(op.astype(is_zero, x.type.dtype), axes, keepdims=True)
    others = op.where(is_zero, op.ones_like(x), x)
    rest = op.prod(others, axes, keepdims=True)
    # Beside one zero only that one has a gradient, beside two none.
    wanted = op.astype(is_zero, x.type.dtype)
    has_part = op.astype(op.equal(zeros, wanted), x.type.dtype)
    return [_kept(f, g) * (rest / others) * has_part]


# ------------------------------------------------------------------------------
# Scans
# ------------------------------------------------------------------------------


def _scan_axis(f: Forward) -> int:
    return 0 if f.attribute("axis") is None else f.axis()


def _flat(f: Forward, value: Any) -> Any:
    """Return the operand as what is scanned: a vector where there is no axis."""
    dtype = f.result.type.dtype
    value = value if value.type.dtype == dtype else op.astype(value, dtype)
    return op.flatten(value) if f.attribute("axis") is None else value


def _like_operand(f: Forward, value: Any) -> Any:
    (x,) = f.operands
    value = value if value.type.dtype == x.type.dtype else op.astype(value, x.type.dtype)
    return reshaped(value, dims_of(x))


def _sum_from(f: Forward, value: Any) -> Any:
    """Return the sum of the elements from each one on, without itself in an exclusive scan."""
    axis, exclusive = _scan_axis(f), f.attribute("exclusive", False)
    return op.flip(op.cumsum(op.flip(value, axis), axis, exclusive=exclusive), axis)


@gradient("cumsum")
def _cumsum(f: Forward, g: Any) -> list[Contribution]:
    return [_like_operand(f, _sum_from(f, g))]


@gradient("cumprod")
def _cumprod(f: Forward, g: Any) -> list[Contribution]:
    axis, exclusive = _scan_axis(f), f.attribute("exclusive", False)
    x = _flat(f, f.operands[0])
    is_zero = op.equal(x, 0.0)
    zeros = op.cumsum(op.astype(is_zero, x.type.dtype), axis)
    is_before = op.equal(zeros, 0.0)
    # The products that the first zero is a factor of, without it.
    is_first = op.logical_and(is_zero, op.equal(zeros, 1.0))
    others = op.where(is_first, op.ones_like(x), x)
    beside = op.cumprod(others, axis, exclusive=exclusive)
    at_first = op.where(is_first, _sum_from(f, g * beside), zeros_of(x))
    slope = _sum_from(f, g * f.result) / op.where(is_zero, op.ones_like(x), x)
    return [_like_operand(f, op.where(is_before, slope, at_first))]


@gradient("cummax", "cummin")
def _running_extreme(f: Forward, g: Any) -> list[Contribution]:
    if f.attribute("exclusive", False):
        raise NotImplementedError("extremes without the element itself")
    axis, x = _scan_axis(f), _flat(f, f.operands[0])
    values = (op.cummax if f.operation.name == "relax.cummax" else op.cummin)(x, axis)
    places = places_of_values(x, values, axis)
    total = op.scatter_elements(zeros_of(x), places, g, axis, "add")
    return [_like_operand(f, total)]


no_gradient("gives integers", "argmax argmin")


@gradient("collapse_sum_like", "collapse_sum_to")
def _collapse_sum(f: Forward, g: Any) -> list[Contribution]:
    return [op.broadcast_to(g, dims_of(f.operands[0])), None]
