# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of operators that read and write elements at places that tensors or maps give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir

from ... import op, te
from ...composites.take_gradient import take_gradient
from ...core.ir import Dim
from .registry import Contribution, Forward, gradient, no_gradient
from .scatter import clipped, from_end, is_inside, vector_of
from .shapes import dims_of, is_float, number_of, reshaped, sum_along, sum_to, zeros_of

# ------------------------------------------------------------------------------
# Gather
# ------------------------------------------------------------------------------


@gradient("take")
def _take(f: Forward, g: Any) -> list[Contribution]:
    x, indices = f.operands
    axis = f.axis() if f.attribute("axis") is not None else 0
    found = take_gradient(g, indices, axis, dims_of(x)[axis], f.attribute("mode", "clip"))
    return [reshaped(found, dims_of(x)), None]


@gradient("gather_elements")
def _gather_elements(f: Forward, g: Any) -> list[Contribution]:
    x, indices = f.operands
    axis = f.axis()
    size = number_of(f, [dims_of(x)[axis]], "int64")
    places = clipped(from_end(indices, size), size)
    return [op.scatter_elements(zeros_of(x), places, g, axis, "add"), None]


def _sizes(f: Forward, x: Any, indices: Any, batch: int = 0) -> Any:
    """Return the sizes of the dimensions that the last one of `indices` has places in."""
    count = dims_of(indices)[-1].value
    if count is None:
        raise ValueError(
            f"Gradient: expected indices of known last dimension, but got {indices.type}"
        )
    numbers = [vector_of(number_of(f, [dim], "int64")) for dim in dims_of(x)[batch : batch + count]]
    return op.concat(numbers, 0)


@gradient("gather_nd")
def _gather_nd(f: Forward, g: Any) -> list[Contribution]:
    x, indices = f.operands
    batch = f.attribute("batch_dims", 0)
    if dims_of(indices)[-1].value == 0:
        return [sum_to(g, x), None]
    sizes = _sizes(f, x, indices, batch)
    places = clipped(from_end(indices, sizes), sizes)
    if batch:
        places = op.concat([*_batch_places(places, batch), places], -1)
    return [op.scatter_nd(zeros_of(x), places, g, "add"), None]


def _batch_places(places: Any, batch: int) -> list[Any]:
    """Return for each batch dimension the index that each place has in it."""
    dims = [*dims_of(places)[:-1], Dim(1)]
    found = []
    for axis in range(batch):
        shape = [dim if i == axis else Dim(1) for i, dim in enumerate(dims)]
        numbers = op.reshape(op.arange(0, dims[axis], 1, "int64"), shape)
        found.append(op.broadcast_to(numbers, dims))
    return found


@gradient("index_tensor")
def _index_tensor(f: Forward, g: Any) -> list[Contribution]:
    x, *indices = f.operands
    places_dims = dims_of(f.result)[: len(dims_of(f.result)) - len(dims_of(x)) + len(indices)]
    places = []
    for axis, each in enumerate(indices):
        size = number_of(f, [dims_of(x)[axis]], "int64")
        places.append(op.broadcast_to(clipped(from_end(each, size), size), places_dims))
    found = op.scatter_nd(zeros_of(x), op.stack(places, -1), g, "add")
    return [found, *[None] * len(indices)]


# ------------------------------------------------------------------------------
# Scatter
# ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Places:
    """The places of a scatter.

    Attributes
    ----------
    gather : callable
        Returns the elements of a tensor at the places, 0 for those outside.
    scatter : callable
        Returns a tensor, with updates at the places by a reduction.
    """

    gather: Callable[[Any], Any]
    scatter: Callable[[Any, Any, str], Any]

    def gathered(self, *tensors: Any) -> list[Any]:
        """Return the elements of tensors at the places."""
        return [self.gather(tensor) for tensor in tensors]


def _element_places(f: Forward) -> _Places:
    x, indices, _ = f.operands
    axis = f.axis()
    size = number_of(f, [dims_of(x)[axis]], "int64")
    places = from_end(indices, size)

    def gather(tensor: Any) -> Any:
        found = op.gather_elements(tensor, clipped(places, size), axis)
        return op.where(is_inside(places, size), found, zeros_of(found))

    def scatter(tensor: Any, updates: Any, reduction: str) -> Any:
        return op.scatter_elements(tensor, indices, updates, axis, reduction)

    return _Places(gather, scatter)


def _nd_places(f: Forward) -> _Places:
    x, indices, updates = f.operands
    sizes = _sizes(f, x, indices)
    places = from_end(indices, sizes)
    rest = updates.type.ndim - indices.type.ndim + 1

    def gather(tensor: Any) -> Any:
        found = op.gather_nd(tensor, clipped(places, sizes))
        inside = op.astype(is_inside(places, sizes), tensor.type.dtype)
        inside = op.prod(inside, [-1])
        dims = [*dims_of(inside), *[Dim(1)] * rest]
        return found * reshaped(inside, dims)

    def scatter(tensor: Any, values: Any, reduction: str) -> Any:
        return op.scatter_nd(tensor, indices, values, reduction)

    return _Places(gather, scatter)


def _of_update(f: Forward, g: Any, places: _Places) -> Sequence[Any]:
    updates = f.operands[2]
    # Where several elements go to one place, the last one stays: it alone has a gradient.
    return places.scatter(g, zeros_of(updates), "update"), _last_only(f, g, places)


def _last_only(f: Forward, g: Any, places: _Places) -> Any:
    x, _, updates = f.operands
    dims = dims_of(updates)
    count = op.arange(0, _elements(dims), 1, "int64")
    order = op.reshape(count, dims)
    last = places.scatter(op.zeros(dims_of(x), "int64"), order, "update")
    is_last = op.equal(places.gather(last), order)
    return op.where(is_last, places.gather(g), zeros_of(updates))


def _elements(dims: Sequence[Dim]) -> Dim:
    total = Dim(1)
    for dim in dims:
        total = total * dim
    return total


def _of_add(f: Forward, g: Any, places: _Places) -> Sequence[Any]:
    return g, places.gather(g)


def _of_mean(f: Forward, g: Any, places: _Places) -> Sequence[Any]:
    x, _, updates = f.operands
    count = places.scatter(op.ones_like(x), op.ones_like(updates), "add")
    return g / count, places.gather(g / count)


def _of_mul(f: Forward, g: Any, places: _Places) -> Sequence[Any]:
    x, _, updates = f.operands
    ones = op.ones_like(x)
    is_zero = op.equal(updates, 0.0)
    others = op.where(is_zero, op.ones_like(updates), updates)
    zeros = places.scatter(zeros_of(x), op.astype(is_zero, x.type.dtype), "add")
    # The product of all factors of a place but the zeros.
    rest = x * places.scatter(ones, others, "mul")
    at, zeros_at = places.gathered(g * rest, zeros)
    wanted = op.astype(is_zero, x.type.dtype)
    has_part = op.astype(op.equal(zeros_at, wanted), x.type.dtype)
    return g * places.scatter(ones, updates, "mul"), at / others * has_part


def _of_extreme(f: Forward, g: Any, places: _Places) -> Sequence[Any]:
    x, _, updates = f.operands
    dtype = x.type.dtype
    # All that are equal to the result share its gradient.
    of_data = op.astype(op.equal(x, f.result), dtype)
    of_updates = op.astype(op.equal(updates, places.gather(f.result)), dtype)
    share = g / op.maximum(places.scatter(of_data, of_updates, "add"), 1.0)
    return of_data * share, of_updates * places.gather(share)


_SCATTER: dict[str, Callable[[Forward, Any, _Places], Sequence[Any]]] = {
    "update": _of_update,
    "add": _of_add,
    "mul": _of_mul,
    "min": _of_extreme,
    "max": _of_extreme,
    "mean": _of_mean,
}


def _scattered(f: Forward, g: Any, places: _Places) -> list[Contribution]:
    of_data, of_updates = _SCATTER[f.attribute("reduction", "update")](f, g, places)
    return [of_data, None, of_updates]


@gradient("scatter_elements")
def _scatter_elements(f: Forward, g: Any) -> list[Contribution]:
    return _scattered(f, g, _element_places(f))


@gradient("scatter_nd")
def _scatter_nd(f: Forward, g: Any) -> list[Contribution]:
    return _scattered(f, g, _nd_places(f))


# ------------------------------------------------------------------------------
# Layouts and quantization
# ------------------------------------------------------------------------------


@gradient("layout_transform")
def _layout_transform(f: Forward, g: Any) -> list[Contribution]:
    results = f.attribute("index_map").results

    def layout_transform_backward(x: Any, gradient_: Any) -> Any:
        return te.compute(x.shape, lambda *i: gradient_(*(_index(expr, i) for expr in results)))

    return [f.emit_te(layout_transform_backward, f.operands[0], g)]


def _index(expr: Any, indices: Sequence[Any]) -> Any:
    """Return the value of an affine expression at indices."""
    if isinstance(expr, ir.AffineDimExpr):
        return indices[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    lhs, rhs = _index(expr.lhs, indices), _index(expr.rhs, indices)
    if isinstance(expr, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(expr, ir.AffineMulExpr):
        return lhs * rhs
    if isinstance(expr, ir.AffineModExpr):
        return lhs % rhs
    return lhs // rhs if isinstance(expr, ir.AffineFloorDivExpr) else -(-lhs // rhs)


@gradient("dequantize")
def _dequantize(f: Forward, g: Any) -> list[Contribution]:
    data, scale, zero_point = f.operands
    axis, block = f.axis(default=-1), f.attribute("block_size", 0)
    wide = [
        _broadcast_along(op.astype(each, g.type.dtype), g, axis, 0 if each is data else block)
        for each in (data, scale, zero_point)
    ]

    def of_parameter(value: Any, parameter: Any) -> Any:
        if block and parameter.type.ndim:
            return _as(_sum_blocks(value, dims_of(parameter), axis, block), parameter)
        total = sum_along(value, [axis]) if parameter.type.ndim else op.sum(value)
        if parameter.type.ndim and dims_of(parameter)[0].value == 1:
            total = op.sum(total, [0], keepdims=True)
        return _as(total, parameter)

    return [
        (lambda: _as(g * wide[1], data)) if is_float(data.type) else None,
        lambda: of_parameter(g * (wide[0] - wide[2]), scale),
        lambda: of_parameter(-g * wide[1], zero_point),
    ]


def _broadcast_along(value: Any, like: Any, axis: int, block: int) -> Any:
    ndim = like.type.ndim
    if block and value.type.ndim:
        each, size = op.repeat(value, block, axis), dims_of(like)[axis]
        return op.strided_slice(each, [axis], [0], [size], assume_inbound=True)
    if value.type.ndim != 1 or ndim == 1:
        return value
    return reshaped(value, [*dims_of(value), *[Dim(1)] * (ndim - axis - 1)])


def _sum_blocks(value: Any, dims: list[Any], axis: int, block: int) -> Any:
    """Return the sums of the blocks of an axis, and along dimensions that are 1 in `dims`."""
    missing = dims[axis] * block - dims_of(value)[axis]
    padding = [0] * (2 * value.type.ndim)
    padding[2 * axis + 1] = missing
    whole = value if missing.value == 0 else op.nn.pad(value, padding)
    *outer, _ = dims_of(whole)[: axis + 1]
    split = reshaped(whole, [*outer, dims[axis], Dim(block), *dims_of(whole)[axis + 1 :]])
    total = op.sum(split, [axis + 1])
    ones = [at for at, dim in enumerate(dims) if at != axis and dim.value == 1]
    return op.sum(total, ones, keepdims=True) if ones else total


def _as(value: Any, like: Any) -> Any:
    value = reshaped(value, dims_of(like))
    return value if value.type.dtype == like.type.dtype else op.astype(value, like.type.dtype)


no_gradient("gives numbers that do not depend on how large its operands are", "one_hot")
no_gradient("rounds to integers", "quantize")
