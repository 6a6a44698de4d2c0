# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types with holes, which are filled as programs say more of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .ast import (
    ANY,
    AnyDim,
    DataType,
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeVar,
)
from .text.type_printer import TypePrinter


class Hole(Type):
    """A type, or a dimension, that is not known yet.

    Attributes
    ----------
    target : Type, int or AnyDim, optional
        What it turned out to be.
    """

    def __init__(self) -> None:
        self.target: Any = None

    def __repr__(self) -> str:
        return "_" if self.target is None else repr(self.target)


class MismatchError(Exception):
    """Two types are different."""


def last(type_: Any) -> Any:
    """Return what holes lead to: a type or a dimension, or the hole at the end."""
    while isinstance(type_, Hole) and type_.target is not None:
        type_ = type_.target
    return type_


def mapped(type_: Any, function: Callable[[Any], Any]) -> Any:
    """Return a type with another one for each type and dimension in it that a function replaces.

    Parameters
    ----------
    type_ : Type or dimension
    function : callable
        Returns None for what stays; the parts of that are mapped.
    """
    found = function(type_)
    if found is not None:
        return found
    if isinstance(type_, TensorType):
        return TensorType(tuple(mapped(dim, function) for dim in type_.shape), type_.dtype)
    if isinstance(type_, TupleType):
        return TupleType(tuple(mapped(field, function) for field in type_.fields))
    if isinstance(type_, FuncType):
        params = tuple(mapped(param, function) for param in type_.params)
        return FuncType(params, mapped(type_.result, function), type_.type_params)
    if isinstance(type_, DataType):
        return DataType(type_.name, tuple(mapped(arg, function) for arg in type_.args))
    if isinstance(type_, RefType):
        return RefType(mapped(type_.value, function))
    return type_


def resolved(type_: Any) -> Any:
    """Return a type without the holes that are filled."""

    def fill(part: Any) -> Any:
        if isinstance(part, Hole) and part.target is not None:
            return resolved(last(part))
        return None

    return mapped(type_, fill)


def substituted(type_: Any, by: Mapping[TypeVar, Any]) -> Any:
    """Return a type with others for type parameters."""
    return mapped(type_, lambda part: by.get(part) if isinstance(part, TypeVar) else None)


def with_holes(type_: Type | None) -> Type:
    """Return a type with a hole for each part that was left out."""
    if type_ is None:
        return Hole()
    result: Type = mapped(type_, lambda part: Hole() if isinstance(part, IncompleteType) else None)
    return result


def type_text(type_: Type) -> str:
    """Return a type for messages, with ``_`` for what is not known."""
    type_vars: list[TypeVar] = []

    def without_hole(part: Any) -> Type | None:
        if isinstance(part, TypeVar):
            type_vars.append(part)
        return IncompleteType() if isinstance(part, Hole) else None

    printer = TypePrinter()
    known: Type = mapped(resolved(type_), without_hole)
    printer.type_params(list(dict.fromkeys(type_vars)))
    return printer.type(known)


def is_known(type_: Any) -> bool:
    """Say whether a type has no holes."""
    holes: list[Any] = []
    mapped(resolved(type_), lambda part: holes.append(part) if isinstance(part, Hole) else None)
    return not holes


def unify(first: Any, second: Any) -> Any:
    """Return what two types have in common, and fill their holes with it.

    Dimensions that differ are known when the program runs.

    Raises
    ------
    MismatchError
        If they are different, but for dimensions.
    """
    one, other = last(first), last(second)
    if one is other:
        return one
    if isinstance(one, Hole) or isinstance(other, Hole):
        hole, type_ = (one, other) if isinstance(one, Hole) else (other, one)
        if _occurs(hole, type_):
            raise MismatchError
        hole.target = type_
        return type_
    common = _common(one, other)
    for type_ in (first, second):
        _widen(type_, common)
    return common


def _occurs(hole: Hole, type_: Any) -> bool:
    found: list[Any] = []
    mapped(resolved(type_), lambda part: found.append(part) if part is hole else None)
    return bool(found)


def _widen(type_: Any, common: Any) -> None:
    """Have a hole lead to what its type turned out to have in common with another one."""
    while isinstance(type_, Hole):
        hole, type_ = type_, type_.target
        if not isinstance(type_, Hole):
            hole.target = common


def _common(one: Any, other: Any) -> Any:
    if isinstance(one, (int, AnyDim)) and isinstance(other, (int, AnyDim)):
        return one if one == other else ANY
    if type(one) is not type(other) or isinstance(one, TypeVar):
        raise MismatchError
    if isinstance(one, TensorType):
        if one.dtype != other.dtype:
            raise MismatchError
        return TensorType(_all(one.shape, other.shape), one.dtype)
    if isinstance(one, TupleType):
        return TupleType(_all(one.fields, other.fields))
    if isinstance(one, FuncType):
        params, result = _all(one.params, other.params), unify(one.result, other.result)
        return FuncType(params, result, one.type_params)
    if isinstance(one, DataType) and one.name == other.name:
        return DataType(one.name, _all(one.args, other.args))
    if isinstance(one, RefType):
        return RefType(unify(one.value, other.value))
    raise MismatchError


def _all(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(first) != len(second):
        raise MismatchError
    return tuple(unify(one, other) for one, other in zip(first, second, strict=True))
