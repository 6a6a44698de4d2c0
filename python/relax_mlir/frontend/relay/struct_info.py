# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of Relay as structural information, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mlir import ir

from ...core.ir import (
    Dim,
    FuncStructInfo,
    ObjectStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .ast import ANY, AnyDim, DataType, FuncType, RefType, TensorType, TupleType, Type, TypeDim


def struct_info(
    type_: Type, fresh: Callable[[], str] | None = None, is_pure: bool = True
) -> ir.Type:
    """Return the structural information of a type.

    Parameters
    ----------
    type_ : Type
        Without type parameters.
    fresh : callable, optional
        Returns a new name of a dimension for each ``?``. By default only the rank of such a tensor
        is known.
    is_pure : bool
        Whether functions have no visible side effects.

    Raises
    ------
    NotImplementedError
        If there is none.
    """
    if isinstance(type_, TensorType):
        if fresh is None and ANY in type_.shape:
            return TensorStructInfo(None, type_.dtype, ndim=len(type_.shape))
        return TensorStructInfo([_dim(dim, fresh) for dim in type_.shape], type_.dtype)
    if isinstance(type_, TupleType):
        return TupleStructInfo([struct_info(field, fresh, is_pure) for field in type_.fields])
    if isinstance(type_, FuncType):
        # The dimensions of its parameters are its own.
        params = [struct_info(param, fresh, is_pure) for param in type_.params]
        return FuncStructInfo(params, struct_info(type_.result, None, is_pure), purity=is_pure)
    if isinstance(type_, DataType | RefType):
        return ObjectStructInfo()
    raise NotImplementedError(
        f"expected a tensor, tuple, function, data type or reference, but got {type_}"
    )


def _dim(dim: TypeDim, fresh: Callable[[], str] | None) -> int | str:
    if isinstance(dim, int):
        return dim
    if isinstance(dim, AnyDim) and fresh is not None:
        return fresh()
    raise NotImplementedError(f"expected a dimension that is a number or ?, but got {dim}")


def type_of(info: ir.Type) -> Type:
    """Return structural information as a type of Relay; what is symbolic is ``?``.

    Raises
    ------
    NotImplementedError
        If there is none.
    """
    if isinstance(info, TensorStructInfo) and info.ndim >= 0 and info.dtype is not None:
        dims = [None] * info.ndim if info.shape is None else info.shape
        return TensorType(tuple(_any(dim) for dim in dims), info.dtype)
    if isinstance(info, TupleStructInfo):
        return TupleType(tuple(type_of(field) for field in info.fields))
    raise NotImplementedError(f"expected a tensor of known rank or a tuple, but got type {info}")


def _any(dim: Dim | None) -> int | AnyDim:
    number = None if dim is None else dim.value
    return ANY if number is None else number


def names(prefix: str) -> Callable[[], str]:
    """Return what returns a new name each time it is called."""

    def count() -> Iterator[str]:
        number = 0
        while True:
            yield f"{prefix}{number}"
            number += 1

    return count().__next__
