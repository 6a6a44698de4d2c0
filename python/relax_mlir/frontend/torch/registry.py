# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters from operators of ATen to Relax, by name, and what they share.

A converter is called with the node and with the arguments of the operator, tensors as values and
sizes as expressions. The sizes of the result are in the node, so what an operator says about shapes
is not computed again.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from mlir import ir

from ... import op
from ...core.dtypes import dtype_name
from ...core.expr import const
from ...core.ir import Dim, TensorStructInfo
from .shapes import as_shape

Converter = Callable[..., Any]

CONVERTERS: dict[str, Converter] = {}


@dataclasses.dataclass(frozen=True)
class Graph:
    """A node of the graph, as a converter sees it.

    Attributes
    ----------
    node : torch.fx.Node
    key : mlir.ir.Value, optional
        The key of a node that draws random numbers, outside of branches and loops.
    """

    node: torch.fx.Node
    key: ir.Value | None = None

    @property
    def shape(self) -> list[Dim]:
        """The shape of the result, of the first one where there are several."""
        return as_shape(self._first().shape)

    @property
    def dtype(self) -> str:
        """The data type of the result, of the first one where there are several.

        Of complex numbers it is that of their parts.
        """
        value = self._first()
        if isinstance(value, torch.Tensor):
            return dtype_name(value.dtype.to_real() if self.is_complex else value.dtype)
        return "float64" if isinstance(value, (float, torch.SymFloat)) else "int64"

    @property
    def is_complex(self) -> bool:
        """Whether the result, the first one where there are several, has complex numbers."""
        value = self._first()
        return isinstance(value, torch.Tensor) and value.is_complex()

    @property
    def kind(self) -> str:
        """The name of the operator without namespace and overload."""
        return str(self.node.target).split(".")[1]

    def kind_is(self, overload: str) -> bool:
        """Say whether the operator is this one of those with its name."""
        return str(self.node.target).endswith(f".{overload}")

    @property
    def results(self) -> list[torch.Tensor]:
        """The results of an operator that has several, as PyTorch describes them."""
        return list(self.node.meta["val"])

    def shape_of(self, argument: int) -> list[Dim]:
        """Return the shape of a tensor among the arguments."""
        return as_shape(self.meta(argument).shape)

    def rank_of(self, argument: int) -> int:
        """Return the number of dimensions of a tensor among the arguments."""
        return self.meta(argument).dim()

    def meta(self, argument: int) -> torch.Tensor:
        """Return a tensor among the arguments, as PyTorch describes it."""
        value = self.node.args[argument]
        if not isinstance(value, torch.fx.Node):
            raise NotImplementedError(f"expected a tensor, but got {value!r}")
        return value.meta["val"]

    def uses(self, result: int) -> bool:
        """Say whether one of several results is used."""
        return any(
            user.target is operator.getitem and user.args[1] == result and user.users
            for user in self.node.users
        )

    def unused(self, results: Sequence[int]) -> list[ir.Value]:
        """Return tensors of zeros in place of results that are for gradients alone.

        The converters of these compute again what they need of the other operator.

        Raises
        ------
        NotImplementedError
            If anything else uses one of the results.
        """
        for getter in self.node.users:
            if getter.target is operator.getitem and getter.args[1] in results:
                others = [user for user in getter.users if "_backward" not in str(user.target)]
                if others:
                    raise NotImplementedError(f"result {getter.args[1]}, which is for gradients")
        found = [self.results[i] for i in results]
        return [op.zeros(as_shape(one.shape), dtype_name(one.dtype)) for one in found]

    def random_key(self) -> ir.Value:
        """Return the key for the random numbers of this node.

        Raises
        ------
        NotImplementedError
            If the node is in a branch or a loop.
        """
        if self.key is None:
            raise NotImplementedError("random numbers in a branch or a loop")
        return self.key

    def _first(self) -> Any:
        value = self.node.meta["val"]
        return value[0] if isinstance(value, (tuple, list)) else value


def converts(*names: str, namespace: str = "aten") -> Callable[[Converter], Converter]:
    """Register the converter of some operators."""

    def register(converter: Converter) -> Converter:
        for name in names:
            CONVERTERS[f"{namespace}.{name}"] = converter
        return converter

    return register


def is_tensor(value: Any) -> bool:
    """Say whether an argument is a tensor, and no number."""
    return isinstance(value, ir.Value) or hasattr(value, "struct_info")


def is_float(dtype: str) -> bool:
    """Say whether a data type is one of floats."""
    return dtype.startswith(("float", "bfloat"))


def dtype_of(value: Any) -> str:
    """Return the name of the data type of a tensor."""
    return str(value.struct_info.dtype)


def shape_of(value: Any) -> list[Dim]:
    """Return the dimensions of a tensor."""
    return [Dim(dim) for dim in value.struct_info.shape]


def rank_of(value: Any) -> int:
    """Return the number of dimensions of a tensor."""
    return len(shape_of(value))


def number(value: Any, dtype: str) -> ir.Value:
    """Return a number, or a size, as a tensor of rank 0."""
    if isinstance(value, Dim) and value.value is None:
        # A range of one number: it is computed like any other tensor, in a kernel.
        return cast(op.reshape(op.arange(value, value + 1, 1, "int64"), []), dtype)
    value = value.value if isinstance(value, Dim) else value
    if dtype == "bool":
        return const(bool(value), dtype)
    return const(float(value) if is_float(dtype) else int(value), dtype)


def cast(value: Any, dtype: str) -> ir.Value:
    """Return a tensor, or a number, as one of a data type."""
    if not is_tensor(value):
        return number(value, dtype)
    return value if dtype_of(value) == dtype else op.astype(value, dtype)


def operand(graph: Graph, value: Any, dtype: str) -> ir.Value:
    """Return a tensor, or a number, as an operand of an operator on elements."""
    return fitted(cast(value, dtype), graph.shape)


def fitted(value: ir.Value, shape: Sequence[Dim]) -> ir.Value:
    """Return a tensor that can be broadcast to a shape as one whose type says so.

    Of sizes that PyTorch found to be equal, the types of Relax may not know it, as of ``n`` and
    ``64 - max(0, 64 - n)``. They are checked when the program runs.
    """
    dims = shape_of(value)
    sizes = shape[len(shape) - len(dims) :]
    fits = [
        dim.value == 1 or dim == size or dim.prove_equal(size) is True
        for dim, size in zip(dims, sizes, strict=True)
    ]
    if all(fits):
        return value
    checked = [dim if fit else size for dim, size, fit in zip(dims, sizes, fits, strict=True)]
    return op.match_cast(value, TensorStructInfo(checked, dtype_of(value)))


def wide(value: ir.Value) -> ir.Value:
    """Return floats of less than 32 bits as floats of 32 bits."""
    return cast(value, "float32") if dtype_of(value) in ("float16", "bfloat16") else value


def normal_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the begin."""
    return axis % rank if rank else 0


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of dimensions."""
    return functools.reduce(operator.mul, dims, Dim(1))


def known(dims: Sequence[Dim], what: str) -> list[int]:
    """Return dimensions as numbers.

    Raises
    ------
    NotImplementedError
        If one of them is symbolic.
    """
    numbers = [dim.value for dim in dims if dim.value is not None]
    if len(numbers) < len(dims):
        names = ", ".join(str(dim) for dim in dims)
        raise NotImplementedError(f"expected {what} of known size, but got {names}")
    return numbers


def part(x: ir.Value, axis: int, begin: Any, end: Any) -> ir.Value:
    """Return the elements of one axis from begin to end, which are in the tensor."""
    return op.strided_slice(x, [axis], [begin], [end], [1], assume_inbound=True)


def along(value: ir.Value, axis: int, rank: int) -> ir.Value:
    """Return a vector as a tensor that has it along one axis."""
    axes = [i for i in range(rank) if i != axis]
    return op.expand_dims(value, axes) if axes else value
