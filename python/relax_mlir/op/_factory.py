# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factories of the functions of operators that are like many others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mlir import ir

from ..core.dtypes import element_type
from ..core.expr import TensorLike, as_tensor, as_tensors, as_value, build

#: The names of the operations that compute each element of their result of one of each operand.
ELEMENTWISE: set[str] = set()

UnaryOperator = Callable[[TensorLike], ir.Value]
BinaryOperator = Callable[[TensorLike, TensorLike], ir.Value]


def name_function(function: Any, op_class: Any) -> None:
    """Give a function the name of the operator that it makes."""
    function.__name__ = function.__qualname__ = op_class.OPERATION_NAME.removeprefix("relax.")


def unary(op_class: Any, meaning: str) -> UnaryOperator:
    """Return the function that makes `op_class`, an operation of one tensor."""
    ELEMENTWISE.add(op_class.OPERATION_NAME)

    def function(x: TensorLike) -> ir.Value:
        return build(op_class, as_tensor(x))

    name_function(function, op_class)
    function.__doc__ = f"""{meaning}, element by element.

    Parameters
    ----------
    x : tensor

    Returns
    -------
    mlir.ir.Value
        A tensor of the type of `x`.

    Raises
    ------
    ValueError
        If the operation is not defined for the data type of `x`.
    """
    return function


def binary(op_class: Any, meaning: str) -> BinaryOperator:
    """Return the function that makes `op_class`, an operation of two tensors."""
    ELEMENTWISE.add(op_class.OPERATION_NAME)

    def function(x1: TensorLike, x2: TensorLike) -> ir.Value:
        return build(op_class, *as_tensors(x1, x2))

    name_function(function, op_class)
    function.__doc__ = f"""{meaning}, element by element, with broadcasting.

    Parameters
    ----------
    x1, x2 : tensor, number or array
        A number or an array becomes a constant of the other operand's data type.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If the shapes cannot be broadcast, or the data types differ or are not supported.
    """
    return function


class Reduction(Protocol):
    """The type of these functions."""

    def __call__(
        self, x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False
    ) -> ir.Value:
        """Reduce some dimensions of `x`."""


def axes_of(axis: int | Sequence[int] | None) -> list[int] | None:
    """Return axes as a list."""
    if axis is None:
        return None
    return [axis] if isinstance(axis, int) else list(axis)


def reduction(op_class: Any, meaning: str) -> Reduction:
    """Return the function that makes `op_class`, a reduction."""

    def function(
        x: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False
    ) -> ir.Value:
        return build(op_class, as_tensor(x), axis=axes_of(axis), keepdims=keepdims)

    name_function(function, op_class)
    function.__doc__ = f"""{meaning} over some dimensions.

    Parameters
    ----------
    x : tensor
    axis : int or sequence of int, optional
        The dimensions to reduce, all by default; negative numbers count from the end.
    keepdims : bool
        Whether reduced dimensions stay, with size 1.

    Returns
    -------
    mlir.ir.Value
    """
    return function


class IndexReduction(Protocol):
    """The type of functions that find an element."""

    def __call__(self, x: TensorLike, axis: int | None = None, keepdims: bool = False) -> ir.Value:
        """Return the index of an element of `x`."""


def index_reduction(op_class: Any, which: str) -> IndexReduction:
    """Return the function that makes `op_class`, which finds an element."""

    def function(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> ir.Value:
        return build(op_class, as_tensor(x), axis=axis, keepdims=keepdims)

    name_function(function, op_class)
    function.__doc__ = f"""Return the index of the first {which} element.

    Parameters
    ----------
    x : tensor
    axis : int, optional
        Where to look along. By default the index counts all elements.
    keepdims : bool
        Whether reduced dimensions stay, with size 1.

    Returns
    -------
    mlir.ir.Value
        A tensor of int64.
    """
    return function


class Scan(Protocol):
    """The type of functions that combine the elements up to each one."""

    def __call__(
        self,
        data: TensorLike,
        axis: int | None = None,
        dtype: Any = None,
        exclusive: bool = False,
    ) -> ir.Value:
        """Combine elements of `data`."""


def scan(op_class: Any, meaning: str) -> Scan:
    """Return the function that makes `op_class`, a scan."""

    def function(
        data: TensorLike,
        axis: int | None = None,
        dtype: Any = None,
        exclusive: bool = False,
    ) -> ir.Value:
        attr = None if dtype in (None, "", "void") else ir.TypeAttr.get(element_type(dtype))
        return build(op_class, as_tensor(data), axis=axis, dtype=attr, exclusive=bool(exclusive))

    name_function(function, op_class)
    function.__doc__ = f"""{meaning} of the elements up to each one.

    Parameters
    ----------
    data : tensor
    axis : int, optional
        By default the elements are taken as a vector.
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of `data`.
    exclusive : bool
        Whether an element itself does not count.

    Returns
    -------
    mlir.ir.Value
    """
    return function


def hint(op_class: Any, meaning: str) -> Callable[[Any], ir.Value]:
    """Return the function that makes `op_class`, which gives what it is given."""

    def function(x: Any) -> ir.Value:
        return build(op_class, as_value(x))

    name_function(function, op_class)
    function.__doc__ = f"""Return a value, {meaning}.

    Parameters
    ----------
    x
        A value.

    Returns
    -------
    mlir.ir.Value
    """
    return function
