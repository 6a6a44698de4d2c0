# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters by operator, and operations as they see them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxlib.mlir import ir as jax_ir
from mlir import ir

from ...core.context import at_place
from ...core.dtypes import dtype_name
from .values import Size, Value, shape_of

if TYPE_CHECKING:
    from .importer import Importer
    from .scope import Scope

Function: TypeAlias = Callable[..., Any]

_DTYPES = {
    "i1": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}


@dataclasses.dataclass(frozen=True)
class Converter:
    """How an operator becomes operators of Relax.

    Parameters
    ----------
    function : callable
        Called with the node and its operands.
    raw : bool
        Whether operands are passed as they are. Otherwise they are tensors of the program.
    """

    function: Function
    raw: bool


CONVERTERS: dict[str, Converter] = {}


def converts(*names: str, raw: bool = False) -> Callable[[Function], Function]:
    """Register the converter of operators.

    Parameters
    ----------
    *names : str
        With their dialect.
    raw : bool
        Whether operands are passed as they are, see `Converter`.
    """

    def register(function: Function) -> Function:
        for name in names:
            CONVERTERS[name] = Converter(function, raw)
        return function

    return register


def operators() -> list[str]:
    """Return the names of the operators that have a converter.

    Examples
    --------
    >>> "stablehlo.dot_general" in operators()
    True
    """
    return sorted(CONVERTERS)


@dataclasses.dataclass(frozen=True)
class TensorType:
    """The type of a tensor, as a program states it.

    Parameters
    ----------
    dims : list of int or None
        None where the size is dynamic.
    dtype : str
    """

    dims: list[int | None]
    dtype: str

    @staticmethod
    def of(type_: Any) -> TensorType:
        """Return a type of jaxlib's MLIR.

        Raises
        ------
        NotImplementedError
            If it is no tensor of a rank, or its elements have no data type here.
        """
        if not isinstance(type_, jax_ir.RankedTensorType):
            raise NotImplementedError(f"expected a tensor of known rank, but got type {type_}")
        element = str(type_.element_type)
        if element not in _DTYPES:
            raise NotImplementedError(
                f"expected elements of one of {', '.join(_DTYPES)}, but got type {type_}"
            )
        dims = [
            None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)
        ]
        return TensorType(dims, dtype_name(_DTYPES[element]))

    def __str__(self) -> str:
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.dims)
        return f"{self.dtype} and shape [{dims}]"


def is_token(type_: Any) -> bool:
    """Say whether a type of jaxlib's MLIR is that of tokens."""
    return str(type_) in ("!stablehlo.token", "!mhlo.token")


@dataclasses.dataclass(frozen=True)
class Node:
    """An operation, as a converter sees it.

    Parameters
    ----------
    operation : jaxlib.mlir.ir.Operation
    importer : Importer
    scope : Scope
        The values around it.
    """

    operation: Any
    importer: Importer
    scope: Scope

    @property
    def name(self) -> str:
        """The name of the operator, with its dialect."""
        return str(self.operation.name)

    @property
    def kind(self) -> str:
        """The name of the operator without its dialect."""
        return self.name.rpartition(".")[2]

    @property
    def result(self) -> TensorType:
        """The type of the first result."""
        return TensorType.of(self.operation.results[0].type)

    @property
    def regions(self) -> list[Any]:
        """The block of each region, which has one."""
        return [region.blocks[0] for region in self.operation.regions]

    def has(self, name: str) -> bool:
        """Say whether there is an attribute."""
        return name in self.operation.attributes

    def raw_attr(self, name: str) -> Any:
        """Return an attribute as jaxlib has it.

        Raises
        ------
        ValueError
            If it is missing.
        """
        if not self.has(name):
            raise ValueError(f"expected attribute '{name}'")
        return self.operation.attributes[name]

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute as a Python value; `default` where it is missing."""
        return python_value(self.operation.attributes[name]) if self.has(name) else default

    def enum(self, name: str) -> str:
        """Return the case of an attribute that is one of several, such as ``LT``."""
        return str(self.raw_attr(name)).rstrip(">").rpartition(" ")[2]

    def dims_like(self, value: Value) -> list[Size]:
        """Return the stated dimensions of the result, with those of a tensor where dynamic."""
        stated, found = self.result.dims, shape_of(value)
        return [f if s is None else s for s, f in zip(stated, found, strict=True)]

    def static_dims(self) -> list[int]:
        """Return the stated dimensions of the result.

        Raises
        ------
        NotImplementedError
            If one is dynamic.
        """
        dims = [dim for dim in self.result.dims if dim is not None]
        if len(dims) < len(self.result.dims):
            raise NotImplementedError(
                f"expected a result of static shape, but got {self.result}; operators of dynamic "
                "shape take it as an operand"
            )
        return dims

    def __str__(self) -> str:
        place = location_text(self.operation.location)
        return f"{self.name} at {place}" if place else self.name


def python_value(attribute: Any) -> Any:
    """Return an attribute of jaxlib's MLIR as a number, str, list or array."""
    if isinstance(attribute, jax_ir.DenseElementsAttr):
        return np.array(attribute)
    if isinstance(attribute, jax_ir.ArrayAttr):
        return [python_value(one) for one in attribute]
    if isinstance(
        attribute, (jax_ir.DenseI64ArrayAttr, jax_ir.DenseI32ArrayAttr, jax_ir.DenseBoolArrayAttr)
    ):
        return list(attribute)
    if isinstance(attribute, jax_ir.DictAttr):
        return {one.name: python_value(one.attr) for one in attribute}
    return attribute.value if hasattr(attribute, "value") else attribute


_FILE = re.compile(r'"([^"]+)":(\d+):(\d+)')


def place_of(operation: Any) -> ir.Location | None:
    """Return the line of the program that an operation comes from, None where it is unknown.

    Where there is no line, the place is the name of the operation in JAX, "jit(f)/dot_general".
    """
    text = location_text(operation.location)
    if found := _FILE.search(text):
        return at_place(found[1], int(found[2]), int(found[3]))
    name = re.match(r'"([^"]+)"', text)
    return at_place(name[1]) if name else None


def location_text(location: Any) -> str:
    """Return a location in words; nothing where it is unknown."""
    text = str(location).removeprefix("loc(").removesuffix(")")
    return "" if text == "unknown" else text
