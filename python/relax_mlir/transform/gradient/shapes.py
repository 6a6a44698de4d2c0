# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules of differentiation compose of operators: shapes, sums, numbers of elements."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from ... import op, te
from ...core.expr import const
from ...core.ir import Dim, TensorStructInfo, TupleStructInfo
from .registry import Forward


def is_float(type_: Any) -> bool:
    """Say whether a type is that of a tensor of floats."""
    return isinstance(type_, TensorStructInfo) and "float" in (type_.dtype or "")


def is_differentiable(type_: Any) -> bool:
    """Say whether values of a type have gradients: tensors of floats, and tuples of them."""
    if isinstance(type_, TupleStructInfo):
        return any(map(is_differentiable, type_.fields))
    return is_float(type_)


def dims_of(value: Any) -> list[Dim]:
    """Return the dimensions of a tensor.

    Raises
    ------
    ValueError
        If they are not known.
    """
    shape = value.type.shape
    if shape is None:
        raise ValueError(
            f"Gradient: expected tensors of known shape, but got one of type {value.type}; insert "
            "match_cast"
        )
    return list(shape)


def reshaped(value: Any, dims: Sequence[Dim]) -> Any:
    """Return a tensor with other dimensions, itself where it has them."""
    shape = value.type.shape
    is_same = shape is not None and list(shape) == [Dim(dim) for dim in dims]
    return value if is_same else op.reshape(value, dims)


def sum_to(value: Any, like: Any) -> Any:
    """Return a tensor summed over the dimensions along which another one was broadcast."""
    given, wanted = dims_of(value), dims_of(like)
    lead = len(given) - len(wanted)
    axes = [i for i in range(len(given)) if _is_broadcast(given, wanted, i, lead)]
    return reshaped(op.sum(value, axes) if axes else value, wanted)


def _is_broadcast(given: Sequence[Dim], wanted: Sequence[Dim], i: int, lead: int) -> bool:
    return i < lead or (wanted[i - lead].value == 1 and given[i].value != 1)


def zeros_of(value: Any) -> Any:
    """Return zeros of the shape and data type of a tensor."""
    type_ = value.type
    if type_.shape is None:
        return op.zeros_like(value)
    return op.zeros(type_.shape, type_.dtype)


def product(dims: Sequence[Dim]) -> Dim:
    """Return the product of dimensions."""
    return functools.reduce(operator.mul, dims, Dim(1))


def number_of(forward: Forward, dims: Sequence[Dim], dtype: str) -> Any:
    """Return the number of elements of some dimensions, as a tensor of rank 0."""
    size = product(dims)
    if size.value is not None:
        return const(size.value, dtype)
    return forward.emit_te(_number, size, dtype, primfunc_name_hint="number_of_elements")


def _number(size: Any, dtype: str) -> Any:
    return te.compute((), lambda: size.astype(dtype))


def along(value: Any, ndim: int, axes: Sequence[int]) -> Any:
    """Return a tensor of some dimensions so that it broadcasts along all others."""
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    if order != list(range(len(axes))):
        value = op.permute_dims(value, order)
    dims = [Dim(1)] * ndim
    for axis, dim in zip(sorted(axes), dims_of(value), strict=True):
        dims[axis] = dim
    return reshaped(value, dims)


def sum_along(value: Any, axes: Sequence[int]) -> Any:
    """Return a tensor summed over all dimensions but some, in their order: `along` backwards."""
    others = [i for i in range(value.type.ndim) if i not in axes]
    total = op.sum(value, others) if others else value
    order = [sorted(axes).index(axis) for axis in axes]
    return total if order == sorted(order) else op.permute_dims(total, order)
