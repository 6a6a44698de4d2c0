# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values while a program is imported: arrays, sizes, tensors, and tensors still to be broadcast.

What is known at import stays in Python: constants are arrays, and integers that follow from shapes
are `Sizes`, so that what a program computes from its shapes leaves symbolic dimensions and no
kernels. A broadcast is written only where an operator needs the whole tensor.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from mlir import ir

from ... import op
from ...core.expr import const
from ...core.ir import Dim, TensorStructInfo

Size: TypeAlias = int | Dim

Value: TypeAlias = Any
"""numpy.ndarray, Sizes, Spread, Rows, mlir.ir.Value, or None for a token."""

# Larger tensors are computed by the program even where all operands are constants.
MOST_KNOWN = 1024


@dataclasses.dataclass(frozen=True)
class Sizes:
    """A tensor of numbers that follow from the shapes of the inputs.

    Parameters
    ----------
    elements : numpy.ndarray
        Of objects: int, bool, or Dim where it is an expression.
    dtype : str
    """

    elements: np.ndarray
    dtype: str


@dataclasses.dataclass(frozen=True)
class Spread:
    """A tensor that is broadcast where the whole of it is needed.

    Parameters
    ----------
    source : numpy.ndarray or mlir.ir.Value
        It broadcasts to the dimensions as in NumPy.
    dims : tuple of int or Dim
    """

    source: np.ndarray | ir.Value
    dims: tuple[Size, ...]


@dataclasses.dataclass(frozen=True)
class Rows:
    """A tensor of which parts along the first dimension were replaced.

    Parameters
    ----------
    base : mlir.ir.Value, numpy.ndarray or Spread
        What it was.
    parts : dict of int to (int, mlir.ir.Value)
        By begin, the end and the tensor there. No two overlap.
    """

    base: Value
    parts: dict[int, tuple[int, ir.Value]]


def size(dim: Size) -> Size:
    """Return a dimension as a number where it is one."""
    number = dim if isinstance(dim, int) else dim.value
    return dim if number is None else number


def product(dims: Iterable[Size]) -> Size:
    """Return the product of dimensions."""
    return functools.reduce(operator.mul, dims, 1)


def shape_of(value: Value) -> list[Size]:
    """Return the dimensions of a tensor.

    Raises
    ------
    NotImplementedError
        If they are not known, or the value is no tensor.
    """
    if isinstance(value, Sizes):
        return list(value.elements.shape)
    if isinstance(value, np.ndarray):
        return list(value.shape)
    if isinstance(value, Spread):
        return list(value.dims)
    if isinstance(value, Rows):
        return shape_of(value.base)
    type_ = value.type if isinstance(value, ir.Value) else None
    if isinstance(type_, TensorStructInfo) and type_.shape is not None:
        return [size(dim) for dim in type_.shape]
    raise NotImplementedError(f"expected a tensor of known shape, but got {describe(value)}")


def describe(value: Value) -> str:
    """Return in words what kind of value it is."""
    if value is None:
        return "a token"
    return f"a value of type {value.type}" if isinstance(value, ir.Value) else f"{type(value)}"


def rank_of(value: Value) -> int:
    """Return the number of dimensions of a tensor."""
    return len(shape_of(value))


def dtype_of(value: Value) -> str:
    """Return the name of the data type of a tensor."""
    if isinstance(value, Sizes):
        return value.dtype
    if isinstance(value, (Spread, Rows)):
        return dtype_of(value.source if isinstance(value, Spread) else value.base)
    return value.dtype.name if isinstance(value, np.ndarray) else str(value.type.dtype)


def is_float(dtype: str) -> bool:
    """Say whether a data type is one of floats."""
    return dtype.startswith(("float", "bfloat"))


def known(elements: np.ndarray, dtype: str) -> Value:
    """Return elements as an array, or as `Sizes` where some are expressions."""
    plain = np.empty(elements.shape, object)
    for place in np.ndindex(elements.shape):
        element = elements[place]
        plain[place] = size(element) if isinstance(element, Dim) else element
    if any(isinstance(element, Dim) for element in plain.flat):
        return Sizes(plain, dtype)
    return plain.astype(_numpy_dtype(dtype))


def _numpy_dtype(dtype: str) -> np.dtype:
    if dtype == "bfloat16":
        import ml_dtypes  # jaxlib needs it, too

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def as_known(value: Value) -> np.ndarray | Sizes | None:
    """Return a value whose elements are known and few as an array or `Sizes`; None otherwise."""
    if isinstance(value, Spread) and isinstance(value.source, np.ndarray):
        dims = [dim for dim in value.dims if isinstance(dim, int)]
        if len(dims) < len(value.dims) or math.prod(dims) > MOST_KNOWN:
            return None
        return np.broadcast_to(value.source, dims)
    if isinstance(value, np.ndarray):
        return value if value.size <= MOST_KNOWN else None
    return value if isinstance(value, Sizes) else None


def known_sizes(value: Value, what: str) -> list[Size]:
    """Return the elements of a vector, or of a scalar, of sizes.

    Raises
    ------
    NotImplementedError
        If they are computed from data.
    """
    array = as_known(value)
    if array is None:
        raise NotImplementedError(
            f"expected {what} that is a constant, or computed from shapes, but got one that is "
            "computed from data"
        )
    elements = array.elements if isinstance(array, Sizes) else array
    return [one if isinstance(one, Dim) else int(one) for one in elements.reshape(-1).tolist()]


def known_ints(value: Value, what: str) -> list[int]:
    """Return the elements of a vector of numbers.

    Raises
    ------
    NotImplementedError
        If they are not constants.
    """
    return ints(known_sizes(value, what), what)


def ints(dims: Sequence[Size], what: str) -> list[int]:
    """Return dimensions as numbers.

    Raises
    ------
    NotImplementedError
        If one of them is symbolic.
    """
    numbers = [dim for dim in dims if isinstance(dim, int)]
    if len(numbers) < len(dims):
        names = ", ".join(str(dim) for dim in dims)
        raise NotImplementedError(f"expected {what} of known size, but got {names}")
    return numbers


def number(value: Any, dtype: str) -> ir.Value:
    """Return a number as a constant of rank 0."""
    if dtype == "bool":
        return const(bool(value), dtype)
    return const(float(value) if is_float(dtype) else int(value), dtype)


def size_tensor(dim: Size | bool, dtype: str) -> ir.Value:
    """Return a size as a tensor of rank 0."""
    if not isinstance(dim, Dim):
        return number(dim, dtype)
    # A range of one number: it is computed like any other tensor, in a kernel.
    return cast(op.reshape(op.arange(dim, dim + 1, 1, "int64"), []), dtype)


def as_tensor(value: Value) -> ir.Value:
    """Return a tensor as a value of the program.

    Raises
    ------
    NotImplementedError
        If it is none.
    """
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, np.ndarray):
        return const(np.ascontiguousarray(value).reshape(value.shape))
    if isinstance(value, Spread):
        return _broadcast(value)
    if isinstance(value, Rows):
        return _joined(value)
    if isinstance(value, Sizes):
        if not value.elements.shape:
            return size_tensor(value.elements.item(), value.dtype)
        vectors = [
            op.reshape(size_tensor(element, value.dtype), [1]) for element in value.elements.flat
        ]
        vector = vectors[0] if len(vectors) == 1 else op.concat(vectors, 0)
        return op.reshape(vector, list(value.elements.shape))
    raise NotImplementedError(f"expected a tensor, but got {describe(value)}")


def _broadcast(value: Spread) -> ir.Value:
    source, dims = as_tensor(value.source), list(value.dims)
    if rank_of(source) == 0 and isinstance(value.source, np.ndarray):
        return op.full(dims, source, dtype_of(source))
    return source if shape_of(source) == dims else op.broadcast_to(source, dims)


def _joined(rows: Rows) -> ir.Value:
    """Return the parts of a tensor along its first dimension as one."""
    length, place, pieces = ints(shape_of(rows.base)[:1], "rows")[0], 0, []

    def piece(begin: int, end: int) -> ir.Value:
        if isinstance(rows.base, Spread) and rank_of(rows.base.source) < len(rows.base.dims):
            return as_tensor(Spread(rows.base.source, (end - begin, *rows.base.dims[1:])))
        return part(as_tensor(rows.base), 0, begin, end)

    for begin, (end, block) in sorted(rows.parts.items()):
        if begin > place:
            pieces.append(piece(place, begin))
        pieces.append(block)
        place = end
    if place < length:
        pieces.append(piece(place, length))
    return pieces[0] if len(pieces) == 1 else op.concat(pieces, 0)


def part(x: ir.Value, axis: int, begin: Any, end: Any, step: int = 1) -> ir.Value:
    """Return the elements of one axis from begin to end, which are in the tensor."""
    if begin == 0 and step == 1 and end == shape_of(x)[axis]:
        return x
    return op.strided_slice(x, [axis], [begin], [end], [step], assume_inbound=True)


def permuted(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Return a tensor with its dimensions in another order."""
    return x if list(axes) == list(range(len(axes))) else op.permute_dims(x, list(axes))


def reshaped(x: ir.Value, dims: Sequence[Size]) -> ir.Value:
    """Return a tensor with other dimensions."""
    return x if shape_of(x) == list(dims) else op.reshape(x, list(dims))


def cast(value: ir.Value, dtype: str) -> ir.Value:
    """Return a tensor of another data type."""
    return value if value.type.dtype == dtype else op.astype(value, dtype)
