# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, and sums and products of what comes before."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.tensors import agreed, cast, normal_axis, number, product, size_tensor
from ....core.ir import Dim
from ...values import Value, rank_of, shape_of
from .elementwise import is_integer
from .operands import dtype_or, ints, normal_axes
from .registry import converts

_ATTRS: dict[str, Any] = {"axis": None, "keepdims": False, "exclude": False}


def reduced_axes(attrs: SimpleNamespace, rank: int) -> list[int]:
    """Return the axes that the attributes of a reduction mean, in order.

    Raises
    ------
    ValueError
        If there is no such axis, or none is given of those to exclude.
    """
    if attrs.axis is None and attrs.exclude:
        raise ValueError("expected an axis with exclude, but got none")
    given = [] if attrs.axis is None else normal_axes(ints(attrs.axis), rank)
    if not given:
        return list(range(rank))
    return [i for i in range(rank) if (i in given) != bool(attrs.exclude)]


def _of_conditions(operator: Callable[..., ir.Value]) -> Callable[..., ir.Value]:
    """Return a reduction of bool, by the greatest or least number of 0 and 1."""

    def reduce(data: ir.Value, axes: list[int], keepdims: bool) -> ir.Value:
        if data.type.dtype != "bool":
            raise ValueError(f"expected conditions of bool, but got {data.type.dtype}; cast them")
        return cast(operator(cast(data, "uint8"), axes, keepdims), "bool")

    return reduce


def _count(data: ir.Value, axes: list[int]) -> int | Dim:
    return product(shape_of(data)[axis] for axis in axes)


def _mean(data: ir.Value, axes: list[int], keepdims: bool) -> ir.Value:
    if not is_integer(data):
        return op.mean(data, axes, keepdims)
    return op.divide(op.sum(data, axes, keepdims), size_tensor(_count(data, axes), data.type.dtype))


def _or_of_conditions(
    operator: Callable[..., ir.Value], of_numbers: Callable[..., ir.Value]
) -> Callable[..., ir.Value]:
    """Return a reduction of numbers that is one of bool, too: whether any holds, or all of them."""
    of_conditions = _of_conditions(of_numbers)

    def reduce(data: ir.Value, axes: list[int], keepdims: bool) -> ir.Value:
        is_bool = data.type.dtype == "bool"
        return (of_conditions if is_bool else operator)(data, axes, keepdims)

    return reduce


_REDUCTIONS: dict[str, Callable[..., ir.Value]] = {
    "all": _of_conditions(op.min),
    "any": _of_conditions(op.max),
    "max": _or_of_conditions(op.max, op.max),
    "mean": _mean,
    "min": _or_of_conditions(op.min, op.min),
    "prod": _or_of_conditions(op.prod, op.min),
    "sum": _or_of_conditions(op.sum, op.max),
}


def _reduction(operator: Callable[..., ir.Value]) -> Callable[..., Value]:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        axes = reduced_axes(attrs, rank_of(data))
        return operator(data, axes, bool(attrs.keepdims)) if axes else data

    return convert


for _name, _operator in _REDUCTIONS.items():
    converts(_name, **_ATTRS)(_reduction(_operator))


@converts("variance", unbiased=False, **_ATTRS)
def _variance(attrs: SimpleNamespace, data: ir.Value, mean: ir.Value) -> ir.Value:
    axes, dtype = reduced_axes(attrs, rank_of(data)), data.type.dtype
    wide = "float32" if dtype == "float16" else dtype
    difference = cast(op.subtract(*agreed(data, mean)), wide)
    total = op.multiply(difference, difference)
    if axes:
        total = op.sum(total, axes, bool(attrs.keepdims))
    count = size_tensor(_count(data, axes) - (1 if attrs.unbiased else 0), wide)
    return cast(op.divide(total, count), dtype)


# -- places -------------------------------------------------------------------------------------


def _place_of(operator: Callable[..., ir.Value], data: ir.Value, last: bool) -> ir.Value:
    """Return places along the last axis, the last ones of those that are equal on demand."""
    axis = rank_of(data) - 1
    if not last:
        return operator(data, axis, False)
    extent = size_tensor(shape_of(data)[axis])
    mirrored = operator(op.flip(data, axis), axis, False)
    return op.subtract(op.subtract(extent, number(1, "int64")), mirrored)


def _arg_reduction(operator: Callable[..., ir.Value]) -> Callable[..., Value]:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        rank, dims = rank_of(data), shape_of(data)
        if rank == 0:
            raise ValueError("expected a tensor of rank 1 or more, but got rank 0")
        axes = reduced_axes(attrs, rank)
        if not axes:
            return op.zeros(dims, "int32")
        kept = [i for i in range(rank) if i not in axes]
        order = [*kept, *axes]
        moved = data if order == list(range(rank)) else op.permute_dims(data, order)
        if len(axes) > 1:
            # The place counts the elements of all axes, in row-major order.
            moved = op.reshape(moved, [*(dims[i] for i in kept), _count(data, axes)])
        found = cast(_place_of(operator, moved, bool(attrs.select_last_index)), "int32")
        return op.expand_dims(found, axes) if attrs.keepdims else found

    return convert


for _name, _operator in {"argmax": op.argmax, "argmin": op.argmin}.items():
    converts(_name, select_last_index=False, **_ATTRS)(_arg_reduction(_operator))


# -- scans --------------------------------------------------------------------------------------


def _scan(operator: Callable[..., ir.Value]) -> Callable[..., Value]:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        axis = None if attrs.axis is None else normal_axis(int(attrs.axis), rank_of(data))
        dtype = dtype_or(attrs.dtype, data.type.dtype)
        return operator(data, axis, dtype, bool(attrs.exclusive))

    return convert


for _name, _operator in {"cumsum": op.cumsum, "cumprod": op.cumprod}.items():
    converts(_name, axis=None, dtype=None, exclusive=False)(_scan(_operator))
