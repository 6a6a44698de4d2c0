# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factories of the functions of convolutions and pooling, by number of spatial dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mlir import ir

from ..core.dtypes import element_type
from ..core.expr import TensorLike, as_tensor, as_tensors, build
from ._factory import name_function

Numbers = int | Sequence[int]
_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def numbers(value: Numbers, count: int) -> list[int]:
    """Return numbers for `count` dimensions; one number is that of all of them.

    Examples
    --------
    >>> numbers(2, 3)
    [2, 2, 2]
    """
    given = [value] if isinstance(value, int) else [int(number) for number in value]
    return given * count if len(given) == 1 else given


def complete_padding(value: Numbers, count: int) -> list[int]:
    """Return the padding before each dimension, then that after each.

    Examples
    --------
    >>> complete_padding((1, 2), 2)
    [1, 2, 1, 2]
    """
    given = numbers(value, count)
    return given * 2 if len(given) == count else given


def unless(value: Any, default: Any) -> Any:
    """Return None, which leaves an attribute out, where it has its default."""
    return None if value == default else value


def type_attr(dtype: Any) -> ir.Attribute | None:
    """Return a data type as an attribute; None where there is none."""
    if dtype is None or dtype in ("", "void"):
        return None
    return ir.TypeAttr.get(element_type(dtype))


class Convolution(Protocol):
    """The type of convolutions."""

    def __call__(
        self,
        data: TensorLike,
        weight: TensorLike,
        strides: Numbers = 1,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        data_layout: str = ...,
        kernel_layout: str = ...,
        out_layout: str | None = None,
        out_dtype: Any = None,
    ) -> ir.Value:
        """Return a convolution."""


def convolution(op_class: Any, count: int) -> Convolution:
    """Return the function that makes `op_class`, a convolution over `count` dimensions."""
    letters = _LETTERS[count]

    def function(
        data: TensorLike,
        weight: TensorLike,
        strides: Numbers = 1,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        data_layout: str = "NC" + letters,
        kernel_layout: str = "OI" + letters,
        out_layout: str | None = None,
        out_dtype: Any = None,
    ) -> ir.Value:
        return build(
            op_class,
            *as_tensors(data, weight),
            strides=unless(numbers(strides, count), [1] * count),
            padding=unless(complete_padding(padding, count), [0] * 2 * count),
            dilation=unless(numbers(dilation, count), [1] * count),
            groups=unless(groups, 1),
            data_layout=unless(data_layout, "NC" + letters),
            kernel_layout=unless(kernel_layout, "OI" + letters),
            out_layout=unless(out_layout or data_layout, data_layout),
            out_dtype=type_attr(out_dtype),
        )

    name_function(function, op_class)
    function.__doc__ = f"""Return the convolution of a tensor over {count} spatial dimension(s).

    Parameters
    ----------
    data : tensor
    weight : tensor
        It has the channels of a group of `data`.
    strides, dilation : int or sequence of int
        For each spatial dimension, or one number for all.
    padding : int or sequence of int
        The padding around each spatial dimension, or before each and then after each.
    groups : int
        The channels of data and result are so many groups, each convolved alone.
    data_layout, kernel_layout, out_layout : str
        The dimensions in their order: N batch, C channels, O and I channels of the result and of
        a group of data, {", ".join(letters)}. The result has the layout of `data` by default.
    out_dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        By default that of the operands.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If shapes, layouts or numbers do not fit.
    """
    return function


class Pooling(Protocol):
    """The type of pooling operators."""

    def __call__(
        self,
        data: TensorLike,
        pool_size: Numbers = 1,
        strides: Numbers = 1,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        layout: str = ...,
        out_layout: str | None = None,
    ) -> ir.Value:
        """Pool a tensor."""


def pooling(op_class: Any, count: int, meaning: str) -> Pooling:
    """Return the function that makes `op_class`, which pools `count` dimensions."""
    letters = _LETTERS[count]

    def function(
        data: TensorLike,
        pool_size: Numbers = 1,
        strides: Numbers = 1,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        layout: str = "NC" + letters,
        out_layout: str | None = None,
    ) -> ir.Value:
        return build(
            op_class,
            as_tensor(data),
            numbers(pool_size, count),
            strides=unless(numbers(strides, count), [1] * count),
            padding=unless(complete_padding(padding, count), [0] * 2 * count),
            dilation=unless(numbers(dilation, count), [1] * count),
            ceil_mode=unless(ceil_mode, False),
            count_include_pad=unless(count_include_pad, False),
            layout=unless(layout, "NC" + letters),
            out_layout=unless(out_layout or layout, layout),
        )

    name_function(function, op_class)
    function.__doc__ = f"""{meaning} in a window that moves over {count} spatial dimension(s).

    Parameters
    ----------
    data : tensor
    pool_size, strides, dilation : int or sequence of int
        For each spatial dimension, or one number for all.
    padding : int or sequence of int
        The padding around each spatial dimension, or before each and then after each.
    ceil_mode : bool
        Whether a window that ends beyond the padding counts.
    count_include_pad : bool
        Whether elements of the padding count for a mean, as zeros.
    layout, out_layout : str
        The dimensions in their order; the result has that of `data` by default.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If shapes, layouts or numbers do not fit.
    """
    return function


class AdaptivePooling(Protocol):
    """The type of adaptive pooling operators."""

    def __call__(
        self,
        data: TensorLike,
        output_size: Numbers | None = None,
        layout: str = ...,
        out_layout: str | None = None,
    ) -> ir.Value:
        """Pool a tensor."""


def adaptive_pooling(op_class: Any, count: int) -> AdaptivePooling:
    """Return the function that makes `op_class`, which pools `count` dimensions."""
    letters = _LETTERS[count]

    def function(
        data: TensorLike,
        output_size: Numbers | None = None,
        layout: str = "NC" + letters,
        out_layout: str | None = None,
    ) -> ir.Value:
        return build(
            op_class,
            as_tensor(data),
            output_size=None if output_size is None else numbers(output_size, count),
            layout=unless(layout, "NC" + letters),
            out_layout=unless(out_layout or layout, layout),
        )

    name_function(function, op_class)
    function.__doc__ = f"""Return means of parts of {count} spatial dimension(s).

    Parameters
    ----------
    data : tensor
    output_size : int or sequence of int, optional
        The number of parts of each spatial dimension; by default its size.
    layout, out_layout : str
        The dimensions in their order; the result has that of `data` by default.

    Returns
    -------
    mlir.ir.Value
    """
    return function
