# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What converters have in common: tuples of operands, attributes in their forms, new sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from mlir import ir

from .... import op
from ....builder.places import visible_here
from ....composites.selection import true_places
from ....composites.tensors import agreed, matched, normal_axis, number, same
from ....core.ir import Dim
from ...values import Value, as_tensor, known_ints, known_sizes, shape_of

# How TVM writes the data type that is not set.
_UNSET = (None, "", "void", "handle", "handle0")


def known_fields(value: Value, what: str = "tensors") -> list[Value]:
    """Return the fields of a tuple; those that are known at import stay so.

    Raises
    ------
    ValueError
        If it is no tuple.
    """
    if isinstance(value, (list, tuple)):
        return list(value)
    types = getattr(value.type, "fields", None) if isinstance(value, ir.Value) else None
    if types is None:
        raise ValueError(f"expected a tuple of {what}, but got {getattr(value, 'type', value)}")
    return [op.get_item(value, i) for i in range(len(types))]


def fields(value: Value) -> list[ir.Value]:
    """Return the fields of a tuple as tensors of the program.

    Raises
    ------
    ValueError
        If it is no tuple.
    """
    return [as_tensor(field) for field in known_fields(value)]


def ints(value: Any) -> list[int]:
    """Return an attribute that is an integer or a list of them as a list.

    Raises
    ------
    ValueError
        If it is something else.
    """
    values = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(one, (int, np.integer)) for one in values):
        raise ValueError(f"expected an attribute of integers, but got {value!r}")
    return [int(one) for one in values]


def dtype_or(value: str | None, default: str) -> str:
    """Return a data type, or a default where the attribute is not set."""
    return default if value in _UNSET else str(value)


def one_of(name: str, value: str, *choices: str) -> str:
    """Return an attribute of a few choices.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    if value not in choices:
        raise ValueError(f"expected {name} {', '.join(choices)}, but got '{value}'")
    return value


def of_one_dtype(*tensors: ir.Value) -> list[ir.Value]:
    """Return operands that broadcast, of one data type.

    Raises
    ------
    ValueError
        If their data types differ.
    """
    dtypes = [tensor.type.dtype for tensor in tensors]
    if len(set(dtypes)) > 1:
        raise ValueError(
            f"expected operands of one data type, but got {' and '.join(dtypes)}; cast one of them"
        )
    return agreed(*tensors)


def of_equal_dims(
    x: ir.Value, y: ir.Value, axes: Iterable[tuple[int, int]]
) -> tuple[ir.Value, ir.Value]:
    """Return two tensors whose dimensions are known to be equal, which the program checks.

    Parameters
    ----------
    x, y : mlir.ir.Value
    axes : iterable of pairs of int
        Of an axis of `x` and one of `y`. Dimensions that are known to differ stay.
    """
    mine, other = shape_of(x), shape_of(y)
    for i, j in axes:
        if same(mine[i], other[j]) is not False:
            mine[i] = other[j] = mine[i] if isinstance(mine[i], int) else other[j]
    return matched(x, mine), matched(y, other)


def places_found(flags: ir.Value) -> ir.Value:
    """Return the places of a vector of bool that hold, as int64: how many, the program finds."""
    visible = visible_here()
    names = (f"found_{i}" for i in itertools.count(1))
    count = next(name for name in names if name not in visible)
    return true_places(flags, Dim(count))


def scalar_int(value: Value, what: str) -> int:
    """Return an operand of one integer, of rank 0 or 1, that is known at import.

    Raises
    ------
    ValueError
        If it has another number of elements.
    """
    (found,) = _one(known_ints(value, what), what)
    return found


def scalar_size(value: Value, what: str) -> int | Dim:
    """Return an operand of one integer that follows from constants and shapes.

    Raises
    ------
    ValueError
        If it has another number of elements.
    """
    (found,) = _one(known_sizes(value, what), what)
    return found


def _one(values: Sequence[Any], what: str) -> Sequence[Any]:
    if len(values) != 1:
        raise ValueError(f"expected {what} of one element, but got {len(values)}")
    return values


def along(vector: ir.Value, axis: int, rank: int) -> ir.Value:
    """Return a vector as a tensor of a rank that has it along an axis."""
    others = [i for i in range(rank) if i != axis]
    return op.expand_dims(vector, others) if others else vector


def counted(extent: int | Dim, axis: int, rank: int) -> ir.Value:
    """Return the numbers from 0 up to a size, as int64, along an axis of a rank."""
    return along(op.arange(0, extent, 1, "int64"), axis, rank)


def normal_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Return axes counted from the begin, each once.

    Raises
    ------
    ValueError
        If there is no such axis, or one comes up twice.
    """
    found = [normal_axis(axis, rank) for axis in axes]
    if len(set(found)) < len(found):
        raise ValueError(f"expected axes that differ, but got {list(axes)}")
    return found


def wrapped(indices: ir.Value, extent: ir.Value) -> ir.Value:
    """Return indices, of which negative ones count from the end, counted from the begin."""
    zero = number(0, indices.type.dtype)
    return op.where(op.less(indices, zero), op.add(indices, extent), indices)
