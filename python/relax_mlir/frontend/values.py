# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values while a model is imported: arrays, sizes, tensors of the program, and sequences.

What is known at import stays in Python: constants are arrays, and integers that follow from shapes
are `Sizes`, so that reading a shape, computing with it and reshaping by it leaves symbolic
dimensions and no kernels.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir import Dim, Facts, TensorStructInfo


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


def size(dim: int | Dim) -> int | Dim:
    """Return a dimension as a number where it is one."""
    number = dim if isinstance(dim, int) else dim.value
    return dim if number is None else number


def facts(*dims: int | Dim) -> Facts:
    """Return that no dimension is negative, of those in some expressions."""
    names = {name for dim in dims if isinstance(dim, Dim) for name in dim.variables}
    return Facts(bounds=dict.fromkeys(names, (0, None)))


def same(first: int | Dim, second: int | Dim) -> bool | None:
    """Say whether two sizes are equal; None where it is not decided."""
    return Dim(first).prove_equal(second, facts(first, second))


def product(dims: Iterable[int | Dim]) -> int | Dim:
    """Return the product of dimensions."""
    return functools.reduce(operator.mul, dims, 1)


def quotient(dims: Sequence[int | Dim], divisors: Sequence[int | Dim]) -> int | Dim:
    """Return what is left of the elements of a tensor beside some dimensions."""
    left, below = list(dims), []
    for divisor in divisors:
        equal = next((dim for dim in left if same(dim, divisor)), None)
        if equal is None:
            below.append(divisor)
        else:
            left.remove(equal)
    over, under = product(left), product(below)
    if isinstance(over, int) and isinstance(under, int):
        return over // under
    # A multiple is what it is for one choice of sizes, if it is so for all.
    names = {name for one in (over, under) if isinstance(one, Dim) for name in one.variables}
    sample = {name: 101 + 6 * i for i, name in enumerate(sorted(names))}
    values = [Dim(one).evaluate(sample) for one in (over, under)]
    if values[0] and values[1] and same(over, under * (values[0] // values[1])):
        return values[0] // values[1]
    return size(over // under)


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
    if isinstance(value, ir.Value) and isinstance(value.type, TensorStructInfo):
        shape = value.type.shape
        if shape is None:
            raise NotImplementedError(
                f"expected a tensor of known shape, but got one of type {value.type}"
            )
        return [size(dim) for dim in shape]
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


def number(value: Any, dtype: str) -> ir.Value:
    """Return a number as a constant of rank 0; floats become integers where the type is."""
    if dtype.startswith(("int", "uint")):
        value = int(value)
    return const(bool(value) if dtype == "bool" else value, dtype)


def size_tensor(dim: int | Dim, dtype: str = "int64") -> ir.Value:
    """Return a size as a tensor of rank 0."""
    if isinstance(dim, int):
        return number(dim, dtype)
    # A range of one number: it is computed like any other tensor, in a kernel.
    vector = op.arange(dim, dim + 1, 1, "int64")
    return cast(op.reshape(vector, []), dtype)


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


def agreed(*tensors: ir.Value) -> list[ir.Value]:
    """Return operands of one operator on elements, whose dimensions are known to broadcast.

    Two dimensions of which it is not known whether they are equal are taken to be so, which the
    program checks when it runs: that one of them is 1 is an error then.
    """
    ranks = [rank_of(tensor) for tensor in tensors]
    common: list[int | Dim] = [1] * max(ranks)
    for tensor in tensors:
        for i, dim in enumerate(reversed(shape_of(tensor))):
            # A number says more than an expression.
            if common[-1 - i] == 1 or (isinstance(dim, int) and dim != 1):
                common[-1 - i] = dim
    return [
        matched(tensor, [
            dim if dim == 1 else wanted
            for dim, wanted in zip(shape_of(tensor), common[len(common) - rank :], strict=True)
        ])
        for tensor, rank in zip(tensors, ranks, strict=True)
    ]  # fmt: skip


def matched(value: ir.Value, dims: Sequence[int | Dim]) -> ir.Value:
    """Return a tensor as one of given dimensions, checked when the program runs.

    Raises
    ------
    ValueError
        If it never has these dimensions.
    """
    known_dims = shape_of(value)
    answers = [same(mine, other) for mine, other in zip(known_dims, dims, strict=True)]
    if False in answers:
        raise ValueError(
            f"expected dimensions {[str(dim) for dim in dims]}, but got "
            f"{[str(dim) for dim in known_dims]}"
        )
    if all(answers):
        return value
    return op.match_cast(value, TensorStructInfo(list(dims), value.type.dtype))


def cast(value: ir.Value, dtype: str) -> ir.Value:
    """Return a tensor of another data type."""
    return value if value.type.dtype == dtype else op.astype(value, dtype)


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


def normal_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the begin.

    Raises
    ------
    ValueError
        If there is no such axis.
    """
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"expected an axis from {-rank} to {rank - 1}, but got {axis}")
    return axis % rank if rank else 0


Operator: TypeAlias = Callable[..., ir.Value]
