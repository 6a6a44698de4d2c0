# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of operators: what each one computes, and how exact its result has to be.

A row is a function of NumPy arrays. Floats are `float64` in it whatever their data type is, and are
rounded to that of the result afterwards; integers have their own type and wrap around.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mlir import ir

from ...core.dtypes import dtype_name
from ..tensor import Array, is_float, limits, storage_dtype, wrap

Args = Sequence[Any]
Function = Callable[[Any, Args, Any], Any]
#: The number of terms that each element of a result is a sum or product of.
Terms = Callable[[Any, Args], int]
#: Numbers by whose size errors count, where the result is smaller.
Scale = Callable[[Any, Args], Any]


@dataclass(frozen=True)
class Operator:
    """The definition of an operator.

    The result of a conforming implementation is within `ulps` units in the last place of the exact
    one for inputs each of which differs from the given one by at most `backward_error` unit
    roundoffs of the data type of the result. Sums add `..._per_term` for each of their terms.

    Attributes
    ----------
    function : callable
        From the operation, its arguments and the environment to an array, or a tuple of them.
        Arguments stand for operands: tensors, numbers, tuples, and None for what is left out.
    ulps : float
        0: exact; 0.5: correctly rounded.
    backward_error : float
    ulps_per_term, backward_error_per_term : float
    terms : callable, optional
        From the operation and its arguments to the number of terms.
    scale : callable, optional
        From the operation and its arguments to numbers, in a tuple for each result of several: the
        units are those of their last place where the result is smaller than them.
    any_zero : bool
        Whether a result that is zero may have either sign: it is chosen from zeros that are equal.
    """

    function: Function
    ulps: float
    backward_error: float = 0.0
    ulps_per_term: float = 0.0
    backward_error_per_term: float = 0.0
    terms: Terms | None = None
    scale: Scale | None = None
    any_zero: bool = False

    def bounds(self, op: Any, args: Args) -> tuple[float, float]:
        """Return the largest error of these arguments' result, in units, and of their own.

        Examples
        --------
        >>> from relax_mlir.reference.operators import OPERATORS
        >>> OPERATORS["relax.add"].bounds(None, ())
        (0.5, 0.0)
        """
        count = self.terms(op, args) if self.terms else 0
        return (
            self.ulps + count * self.ulps_per_term,
            self.backward_error + count * self.backward_error_per_term,
        )


#: By the names of operations.
OPERATORS: dict[str, Operator] = {}


def operator(*names: str, ulps: float, **bounds: Any) -> Callable[[Function], Function]:
    """Add a function to the table, under the names of operations without the dialect."""

    def register(function: Function) -> Function:
        for name in names:
            name = f"relax.{name}"
            assert name not in OPERATORS, name
            OPERATORS[name] = Operator(_quiet(function), ulps, **bounds)
        return function

    return register


def _quiet(function: Function) -> Function:
    """Return a function to which overflow and NaN are results as any other."""

    @functools.wraps(function)
    def call(op: Any, args: Args, env: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(op, args, env)

    return call


def expect(wanted: Any, actual: Any, meaning: str) -> None:
    """Raise an error unless two values are equal.

    Examples
    --------
    >>> expect((2, 3), (2,), "updates of shape")
    Traceback (most recent call last):
    ValueError: expected updates of shape (2, 3), but got (2,)
    """
    if wanted != actual:
        raise ValueError(f"expected {meaning} {wanted}, but got {actual}")


def elementwise(*names: str, ulps: float, **bounds: Any) -> Callable[[Callable[..., Any]], Any]:
    """Add a function of the arrays that the operands hold."""

    def register(function: Callable[..., Any]) -> Any:
        operator(*names, ulps=ulps, **bounds)(
            lambda op, args, env: function(*(arg.data for arg in args))
        )
        return function

    return register


def attribute(op: Any, name: str, default: Any = None) -> Any:
    """Return an attribute as a Python value: a number, string, list, data type or map."""
    value = getattr(op, name)
    if value is None:
        return default
    if isinstance(value, ir.DenseI64ArrayAttr):
        return list(value)
    if isinstance(value, ir.TypeAttr):
        return dtype_name(value.value)
    return getattr(value, "value", value)


def flat(args: Args) -> Iterator[Any]:
    """Yield arguments, those of a variadic operand one by one."""
    for arg in args:
        if isinstance(arg, (tuple, list)):
            yield from flat(arg)
        else:
            yield arg


def cast(data: Array, dtype: str) -> Array:
    """Convert numbers to another data type; floats stay as exact as they are.

    Floats are rounded towards zero on the way to integers. One out of range becomes the nearest
    integer in range, NaN becomes 0. Integers wrap around. Zero is false.
    """
    data = np.asarray(data)
    if is_float(dtype):
        return data.astype(np.float64)
    if dtype == "bool":
        return data != 0
    if data.dtype.kind == "f":
        return saturate(np.trunc(data), dtype)
    return wrap(data, dtype)


def saturate(data: Array, dtype: str) -> Array:
    """Convert whole numbers to integers, those out of range to the nearest one; NaN to 0."""
    data = np.nan_to_num(data, nan=0.0, posinf=np.inf, neginf=-np.inf)
    (least, most), stored = limits(dtype), storage_dtype(dtype)
    # The limits may be no floats: 2^63 is the least float that is too large for 64 bits.
    low, high = data <= float(least), data >= float(most)
    inside = np.where(low | high, 0.0, data).astype(stored)
    inside = np.where(high, np.asarray(most, stored), inside)
    return np.where(low, np.asarray(least, stored), inside)


def axes_of(axes: Sequence[int] | int, ndim: int) -> tuple[int, ...]:
    """Return axes as numbers from 0 on."""
    axes = [axes] if isinstance(axes, int) else axes
    return tuple(axis + ndim if axis < 0 else axis for axis in axes)


def count(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Return the number of elements along some axes."""
    return int(np.prod([shape[axis] for axis in axes], dtype=np.int64))


def along(parameter: Array, ndim: int, axes: Sequence[int]) -> Array:
    """Return a parameter whose dimensions are those of `axes` so that it broadcasts."""
    order = np.argsort(axes, kind="stable")
    shape = [1] * ndim
    for axis, size in zip(axes, parameter.shape, strict=True):
        shape[axis] = size
    return parameter.transpose(order).reshape(shape)
