# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values while a model is imported: arrays, sizes, tensors of the program, and sequences.

What is known at import stays in Python: constants are arrays, and integers that follow from shapes
are `Sizes`, so that reading a shape, computing with it and reshaping by it leaves symbolic
dimensions and no kernels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from mlir import ir

from .. import op
from ..composites import tensors
from ..composites.tensors import cast, size, size_tensor
from ..core.expr import const
from ..core.ir import Dim


@dataclasses.dataclass(frozen=True)
class Sizes:
    """A tensor of numbers that follow from the shapes of the inputs.

    Parameters
    ----------
    elements : numpy.ndarray
        Of objects: int, or Dim where it is an expression.
    dtype : str
        The data type of the tensor.
    """

    elements: np.ndarray
    dtype: str = "int64"


Value: TypeAlias = Any
"""numpy.ndarray, Sizes, mlir.ir.Value, a list of them (a sequence), or None."""


class DataDependentError(NotImplementedError):
    """A size, or something else that has to be known at import, depends on data.

    Parameters
    ----------
    what : str
    value : mlir.ir.Value
        What was to be known.

    Attributes
    ----------
    inputs : set of str
        The inputs of the model that it is computed from.
    """

    inputs: frozenset[str] = frozenset()

    def __init__(self, what: str, value: Any) -> None:
        super().__init__(
            f"expected {what} that is known at import (a constant, or computed from shapes), but "
            "got one that is computed from data"
        )
        self.value = value


def is_known(value: Value) -> bool:
    """Say whether the elements of a tensor are known at import."""
    return isinstance(value, (np.ndarray, Sizes))


def objects(value: Value) -> np.ndarray:
    """Return known elements as objects: int, float, bool or Dim."""
    return value.elements if isinstance(value, Sizes) else value.astype(object)


def known(elements: np.ndarray, dtype: str) -> Value:
    """Return elements as an array, or as `Sizes` where some are expressions."""
    plain = np.empty(elements.shape, object)
    for place in np.ndindex(elements.shape):
        element = elements[place]
        plain[place] = size(element) if isinstance(element, Dim) else element
    if any(isinstance(element, Dim) for element in plain.flat):
        return Sizes(plain, dtype)
    return plain.astype(dtype)


def sizes(dims: Iterable[int | Dim]) -> Value:
    """Return dimensions as a vector of int64."""
    elements = list(dims)
    vector = np.empty(len(elements), object)
    vector[:] = elements
    return known(vector, "int64")


def shape_of(value: Value) -> list[int | Dim]:
    """Return the dimensions of a tensor.

    Raises
    ------
    NotImplementedError
        If they are not known.
    """
    if isinstance(value, Sizes):
        return list(value.elements.shape)
    if isinstance(value, np.ndarray):
        return list(value.shape)
    if isinstance(value, ir.Value):
        return tensors.shape_of(value)
    raise NotImplementedError(f"expected a tensor, but got {describe(value)}")


def describe(value: Value) -> str:
    """Return in words what kind of value it is."""
    if value is None:
        return "nothing"
    if isinstance(value, ir.Value):
        return f"a value of type {value.type}"
    return "a sequence" if isinstance(value, (list, tuple)) else f"{type(value).__name__}"


def rank_of(value: Value) -> int:
    """Return the number of dimensions of a tensor."""
    return len(shape_of(value))


def dtype_of(value: Value) -> str:
    """Return the name of the data type of a tensor."""
    if isinstance(value, Sizes):
        return value.dtype
    return value.dtype.name if isinstance(value, np.ndarray) else value.type.dtype


def as_tensor(value: Value) -> ir.Value:
    """Return a tensor as a value of the program.

    Raises
    ------
    NotImplementedError
        If it is a sequence, or left out.
    """
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, np.ndarray):
        return const(np.asarray(value))
    if isinstance(value, Sizes):
        vectors = [op.reshape(size_tensor(element), [1]) for element in value.elements.flat]
        vector = vectors[0] if len(vectors) == 1 else op.concat(vectors, 0)
        return cast(op.reshape(vector, list(value.elements.shape)), value.dtype)
    raise NotImplementedError(f"expected a tensor, but got {describe(value)}")


def known_ints(value: Value, what: str) -> list[int]:
    """Return the elements of a tensor of integers that are numbers at import.

    Raises
    ------
    DataDependentError
        If they depend on data.
    NotImplementedError
        If they depend on symbolic dimensions.
    """
    dims = known_sizes(value, what)
    numbers = [dim for dim in dims if isinstance(dim, int)]
    if len(numbers) < len(dims):
        raise NotImplementedError(
            f"expected {what} as numbers, but got {[str(dim) for dim in dims]}, which depend on "
            "symbolic dimensions"
        )
    return numbers


def known_sizes(value: Value, what: str) -> list[int | Dim]:
    """Return the elements of a tensor of integers that follow from constants and shapes.

    Raises
    ------
    DataDependentError
        If they depend on data.
    """
    if isinstance(value, Sizes):
        return list(value.elements.flat)
    return [int(element) for element in known_array(value, what).flat]


def known_array(value: Value, what: str) -> np.ndarray:
    """Return the elements of a tensor that is a constant.

    Raises
    ------
    DataDependentError
        If they depend on data.
    NotImplementedError
        If they depend on symbolic dimensions.
    """
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, ir.Value):
        raise DataDependentError(what, value)
    raise NotImplementedError(f"expected {what} as numbers, but got {describe(value)}")


Operator: TypeAlias = Callable[..., ir.Value]
