# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What makes the function of an operator that is like many others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mlir import ir

from ..expr import TensorLike, as_tensor, as_tensors, build

UnaryOperator = Callable[[TensorLike], ir.Value]
BinaryOperator = Callable[[TensorLike, TensorLike], ir.Value]


def unary(op_class: Any, meaning: str) -> UnaryOperator:
    """Return the function that makes `op_class`, an operation of one tensor."""

    def function(x: TensorLike) -> ir.Value:
        return build(op_class, as_tensor(x))

    function.__name__ = function.__qualname__ = op_class.OPERATION_NAME.removeprefix("relax.")
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

    def function(x1: TensorLike, x2: TensorLike) -> ir.Value:
        return build(op_class, *as_tensors(x1, x2))

    function.__name__ = function.__qualname__ = op_class.OPERATION_NAME.removeprefix("relax.")
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

    function.__name__ = function.__qualname__ = op_class.OPERATION_NAME.removeprefix("relax.")
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
