# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values against their structural information: ``match_cast``, arguments, results (MC01 to MC09).

A value of the wrong kind or data type is a TypeError; a wrong rank, dimension, size or range is a
ValueError. Devices are not compared: there is only one here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import tvm_ffi
from mlir import ir

from ..core.ir import (
    Dim,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from ..core.struct_info import is_subtype
from .dimensions import evaluate, resolve
from .tensor import Tensor, is_float
from .values import Closure, Shape, count, describe


@dataclass(frozen=True)
class Place:
    """The value that is checked, as errors name it."""

    function: str
    what: str

    def field(self, index: int) -> Place:
        """Return the place of a field of a tuple that is here."""
        return Place(self.function, f"field {index} of {self.what}")

    def fail(self, error: type[Exception], text: str) -> NoReturn:
        """Raise an error (MC07)."""
        raise error(f"{self.function}: {self.what}: {text}")


class Matcher:
    """Checks values, and binds shape variables to what it finds.

    Parameters
    ----------
    dims : dict
        The shape variables that are bound; `match` adds to them.
    sizes : set of str
        Those that sizes of tensors depend on. They, and what a dimension binds, are not negative.
    """

    def __init__(self, dims: dict[str, Any], sizes: frozenset[str] = frozenset()) -> None:
        self.dims = dims
        self.sizes = sizes

    def match(self, pairs: list[tuple[Any, ir.Type, Place]]) -> None:
        """Check values against types, binding positions first (MC08), then from left to right.

        Examples
        --------
        >>> dims = {}
        >>> x = Tensor(np.zeros((2, 3), "float32"), "float32")
        >>> place = Place("main", "argument 'x'")
        >>> Matcher(dims).match([(x, TensorStructInfo(("n", "m"), "float32"), place)])
        >>> dims
        {'n': 2, 'm': 3}
        >>> Matcher(dims).match([(x, TensorStructInfo(("n", "n"), "float32"), place)])
        Traceback (most recent call last):
            ...
        ValueError: main: argument 'x': expected !relax.tensor<[n, n], f32>, but dimension 1 is 3, \
where n = 2
        """
        for value, type_, place in pairs:
            self._bind(value, type_, place)
        for value, type_, place in pairs:
            self.check(value, type_, place)

    # --------------------------------------------------------------------------
    # Binding
    # --------------------------------------------------------------------------

    def _bind(self, value: Any, type_: ir.Type, place: Place) -> None:
        """Bind the variables of a type that stand alone and are new (WF05)."""
        if isinstance(type_, TupleStructInfo):
            if not any(self._binds(field) for field in type_.fields):
                return
            self._check_kind(value, type_, place)
            for index, (field_type, field) in enumerate(zip(type_.fields, value, strict=True)):
                self._bind(field, field_type, place.field(index))
        elif self._binds(type_):
            self._check_kind(value, type_, place)
            self._bind_here(value, type_, place)

    def _binds(self, type_: ir.Type) -> bool:
        if isinstance(type_, TupleStructInfo):
            return any(self._binds(field) for field in type_.fields)
        if isinstance(type_, ShapeStructInfo) and type_.var is not None:
            return type_.var not in self.dims
        return any(self._is_new(dim) for dim in _dims(type_))

    def _is_new(self, dim: Dim) -> bool:
        return dim.kind == "var" and dim.name not in self.dims

    def _bind_here(self, value: Any, type_: ir.Type, place: Place) -> None:
        if isinstance(type_, ShapeStructInfo) and type_.var is not None:
            self.dims[type_.var] = value
            return
        for dim, size in _pairs(type_, value):
            if not self._is_new(dim):
                continue
            if size < 0 and (dim.name in self.sizes or not isinstance(type_, PrimStructInfo)):
                place.fail(ValueError, f"expected {dim.text} of at least 0, but it is {size}")
            self.dims[str(dim.name)] = int(size)

    # --------------------------------------------------------------------------
    # Checking
    # --------------------------------------------------------------------------

    def check(self, value: Any, type_: ir.Type, place: Place) -> None:
        """Check a value against a type whose variables are bound."""
        self._check_kind(value, type_, place)
        if isinstance(type_, TupleStructInfo):
            for index, (field_type, field) in enumerate(zip(type_.fields, value, strict=True)):
                self.check(field, field_type, place.field(index))
        elif isinstance(type_, FuncStructInfo):
            self._check_function(value, type_, place)
        else:
            self._check_dims(value, type_, place)

    def _check_kind(self, value: Any, type_: ir.Type, place: Place) -> None:
        for struct_info, check in _KINDS:
            if isinstance(type_, struct_info):
                if error := check(value, type_):
                    place.fail(error[0], f"expected {type_}, but got {error[1]}")
                return

    def _check_dims(self, value: Any, type_: ir.Type, place: Place) -> None:
        variable = getattr(type_, "shape_var", None) or getattr(type_, "var", None)
        if variable is not None:
            self._check_shape(value, type_, variable, place)
        for index, (dim, size) in enumerate(_pairs(type_, value)):
            wanted = self._evaluate(dim, place)
            if size == wanted:
                continue
            where = "it" if isinstance(type_, PrimStructInfo) else f"dimension {index}"
            text = f"expected {type_}, but {where} is {size}"
            shown = (
                f", expected {wanted}" if dim.kind == "int" else f", where {dim.text} = {wanted}"
            )
            place.fail(ValueError, text + shown)

    def _evaluate(self, dim: Dim, place: Place) -> int:
        try:
            return evaluate(dim, self.dims)
        except (ValueError, ZeroDivisionError) as error:
            raise type(error)(f"{place.function}: {error}") from None

    def _check_shape(self, value: Any, type_: ir.Type, variable: str, place: Place) -> None:
        """Compare with a variable that stands for the shape as a whole (MC02)."""
        wanted = self.dims.get(variable)
        shape = value.shape if isinstance(value, Tensor) else value
        if wanted is not None and tuple(shape) != tuple(wanted):
            place.fail(
                ValueError,
                f"expected {type_} of shape {tuple(wanted)}, but its shape is {tuple(shape)}",
            )

    def _check_function(self, value: Any, type_: FuncStructInfo, place: Place) -> None:
        """Compare the run-time structural information of a closure (MC06)."""
        if not isinstance(value, Closure) or value.info is None:
            return
        with type_.context:
            problem = _function_problem(value.info, resolve(type_, self.dims))
        if problem:
            place.fail(
                problem[0], f"expected {type_}, but got a closure of {value.info}: {problem[1]}"
            )


Problem = tuple[type[Exception], str]


def _dims(type_: ir.Type) -> list[Dim]:
    if isinstance(type_, PrimStructInfo):
        return [] if type_.value is None else [type_.value]
    shape = getattr(type_, "shape", None) or getattr(type_, "values", None)
    return [] if shape is None else list(shape.dims)


def _pairs(type_: ir.Type, value: Any) -> Iterator[tuple[Dim, int]]:
    """Yield each dimension, or the primitive value, as the type has it and as it is."""
    dims = _dims(type_)
    if isinstance(value, Tensor):
        value = value.shape
    return (
        zip(dims, value if isinstance(value, tuple) else [value], strict=True) if dims else iter(())
    )


# ------------------------------------------------------------------------------
# Kinds: None where a value is of the kind, rank and data type
# ------------------------------------------------------------------------------


def _check_tensor(value: Any, type_: TensorStructInfo) -> Problem | None:
    if not isinstance(value, Tensor):
        return TypeError, describe(value)
    if type_.ndim >= 0 and value.data.ndim != type_.ndim:
        return ValueError, describe(value)
    return (TypeError, describe(value)) if type_.dtype not in (None, value.dtype) else None


def _check_shape(value: Any, type_: ShapeStructInfo) -> Problem | None:
    if not isinstance(value, Shape):
        return TypeError, describe(value)
    return (ValueError, describe(value)) if type_.ndim not in (-1, len(value)) else None


def _check_prim(value: Any, type_: PrimStructInfo) -> Problem | None:
    dtype = type_.dtype
    if dtype == "bool":
        return None if isinstance(value, bool) else (TypeError, describe(value))
    if is_float(dtype):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if is_number else (TypeError, describe(value))
    if not isinstance(value, int) or isinstance(value, bool):
        return TypeError, describe(value)
    if not -(2**63) <= value < 2**63:
        return ValueError, describe(value)
    info = np.iinfo(dtype)
    if info.min <= value <= info.max:
        return None
    return ValueError, f"{describe(value)}, which does not fit {dtype}"


def _check_tuple(value: Any, type_: TupleStructInfo) -> Problem | None:
    if not isinstance(value, tuple) or isinstance(value, Shape):
        return TypeError, describe(value)
    return (ValueError, describe(value)) if len(value) != len(type_.fields) else None


def _check_func(value: Any, type_: FuncStructInfo) -> Problem | None:
    if type_.derive is None:
        if isinstance(value, Closure):
            return None
        is_packed = isinstance(value, tvm_ffi.Function)
        return TypeError, "a packed function, not a closure" if is_packed else describe(value)
    if isinstance(value, tvm_ffi.Function):
        return None
    is_closure = isinstance(value, Closure)
    return TypeError, "a closure, not a packed function" if is_closure else describe(value)


# An object may be anything (MC01), so there is no row for it.
_KINDS: list[tuple[Any, Callable[[Any, Any], Problem | None]]] = [
    (TensorStructInfo, _check_tensor),
    (ShapeStructInfo, _check_shape),
    (PrimStructInfo, _check_prim),
    (TupleStructInfo, _check_tuple),
    (FuncStructInfo, _check_func),
]


# ------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------


def _function_problem(actual: FuncStructInfo, expected: FuncStructInfo) -> Problem | None:
    """Return why a closure is not of a function type, None where it is (ST06)."""
    if expected.derive is not None or is_subtype(actual, expected):
        return None
    if len(actual.params) != len(expected.params):
        wanted = count(len(expected.params), "parameter")
        return ValueError, f"{count(len(actual.params), 'parameter')} are not {wanted}"
    if expected.is_pure and not actual.is_pure:
        return TypeError, "impure is not pure"
    return _part_problem(actual, expected)


def _part_problem(actual: FuncStructInfo, expected: FuncStructInfo) -> Problem:
    anything = ObjectStructInfo()
    for index, (param, wanted) in enumerate(zip(actual.params, expected.params, strict=True)):
        if not is_subtype(FuncStructInfo([param], anything), FuncStructInfo([wanted], anything)):
            return ValueError, f"parameter {index}: {wanted} is not {param}"
    return ValueError, f"result: {actual.ret} is not {expected.ret}"


def location_name(op: Any) -> str | None:
    """Return the name that an operation has in the source."""
    location = op.location
    return location.name_str if location.is_a_name() else None


def tensor_types(type_: ir.Type) -> list[TensorStructInfo]:
    """Return the type of a tensor, or those of the fields of a tuple."""
    if isinstance(type_, TupleStructInfo):
        return [tensor for field in type_.fields for tensor in tensor_types(field)]
    return [type_] if isinstance(type_, TensorStructInfo) else []
