# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of operators as operands and attributes, for the functions that are generated."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from mlir import ir

from ..core.dtypes import dtype_name, element_type
from ..core.expr import TensorLike, Var, as_tensors, tensor_type
from ..core.ir import Dim
from ..core.sharding import DeviceMesh, Placement, device_mesh_attr, placement_attr

__all__ = [
    "DTypeLike",
    "DeviceMesh",
    "Placement",
    "PrimLike",
    "device_mesh_attr",
    "dtype_of",
    "integers",
    "optional_dtype",
    "optional_tensors",
    "optional_type_attr",
    "padding_of",
    "placement_attr",
    "plain_float",
    "plain_int",
    "spatial",
    "type_attr",
    "unless",
]

#: A number, or an expression over shape variables, as a primitive value.
PrimLike: TypeAlias = bool | int | float | np.generic | str | Dim | ir.Value | Var
#: A data type: str, numpy.dtype, torch.dtype or mlir.ir.Type.
DTypeLike: TypeAlias = Any


def integers(value: int | Sequence[int] | None) -> list[int] | None:
    """Return one or several numbers as a list.

    Examples
    --------
    >>> integers(-1), integers((0, 2)), integers(None)
    ([-1], [0, 2], None)
    """
    if value is None:
        return None
    numbers = [value] if isinstance(value, int) else value
    return [operator.index(getattr(number, "value", number)) for number in numbers]


def type_attr(dtype: DTypeLike) -> ir.Attribute:
    """Return a data type as an attribute."""
    return ir.TypeAttr.get(element_type(dtype))


def optional_type_attr(dtype: DTypeLike) -> ir.Attribute | None:
    """Return a data type as an attribute; None where there is none."""
    return None if _is_void(dtype) else type_attr(dtype)


def optional_dtype(dtype: DTypeLike) -> str | None:
    """Return the name of a data type; None where there is none."""
    return None if _is_void(dtype) else dtype_name(dtype)


def _is_void(dtype: DTypeLike) -> bool:
    """Say whether a data type is left out, in Python's way or in one of TVM's."""
    return dtype is None or dtype in ("", "void")


def dtype_of(tensor: ir.Value) -> str | None:
    """Return the name of the data type of a tensor; None where it is not known."""
    return tensor_type(tensor).dtype


def optional_tensors(*operands: TensorLike | None) -> list[ir.Value | None]:
    """Return operands as tensors of one data type, and None for each that is left out."""
    given = iter(as_tensors(*(operand for operand in operands if operand is not None)))
    return [None if operand is None else next(given) for operand in operands]


def plain_int(value: Any) -> int | None:
    """Return a number, or an attribute that holds one, as a number."""
    return getattr(value, "value", value)


def plain_float(value: Any) -> float | None:
    """Return a number, or an attribute that holds one, as a float."""
    return None if value is None else float(getattr(value, "value", value))


def unless(value: Any, default: Any) -> Any:
    """Return None, which leaves an attribute out, where it has its default."""
    return None if value == default else value


def spatial(
    value: int | Sequence[int] | None, count: int, default: int | None = None
) -> list[int] | None:
    """Return numbers for `count` spatial dimensions; one number is that of all of them.

    Where all are the default the attribute is left out.

    Examples
    --------
    >>> spatial(2, 3), spatial(1, 2, default=1), spatial(None, 2)
    ([2, 2, 2], None, None)
    """
    given = integers(value)
    if given is None:
        return None
    numbers = given * count if len(given) == 1 else given
    return unless(numbers, [default] * count)


def padding_of(value: int | Sequence[int], count: int) -> list[int] | None:
    """Return the padding before each spatial dimension, then that after each; None without any.

    Examples
    --------
    >>> padding_of((1, 2), 2), padding_of(0, 3)
    ([1, 2, 1, 2], None)
    """
    given = spatial(value, count) or []
    numbers = given * 2 if len(given) == count else given
    return unless(numbers, [0] * 2 * count)
