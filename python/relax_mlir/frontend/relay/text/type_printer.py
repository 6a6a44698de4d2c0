# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types and attributes as text of Relay."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import ast
from ..converters.registry import CONVERTERS
from ..saved.json_writer import Metadata
from .names import Names

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_KEY = re.compile(r"[A-Za-z_][\w/]*(?:\.[A-Za-z_][\w/]*)*", re.ASCII)
_LARGEST = float(np.finfo("float32").max)


class TypePrinter:
    """Writes types and attributes."""

    def __init__(self) -> None:
        self.meta = Metadata()
        self.type_names = Names()
        self._type_vars: dict[int, str] = {}

    def type_params(self, params: Sequence[ast.TypeVar]) -> str:
        """Return the type parameters of a definition, which get their names, in brackets."""
        for param in params:
            self._type_vars[id(param)] = self.type_names.unique(param.name)
        names = [self._type_vars[id(param)] for param in params]
        return f"[{', '.join(names)}]" if names else ""

    def type(self, type_: ast.Type) -> str:
        """Return a type."""
        if isinstance(type_, ast.TensorType):
            return self._tensor_type(type_)
        if isinstance(type_, ast.TupleType):
            return tuple_text([self.type(field) for field in type_.fields])
        if isinstance(type_, ast.FuncType):
            params = self.type_params(type_.type_params)
            types = ", ".join(self.type(param) for param in type_.params)
            return f"fn {params}({types}) -> {self.type(type_.result)}"
        if isinstance(type_, ast.RefType):
            return f"ref({self.type(type_.value)})"
        if isinstance(type_, ast.DataType):
            return type_.name + self.type_args(type_.args)
        if isinstance(type_, ast.TypeVar):
            return self._type_var(type_)
        assert isinstance(type_, ast.IncompleteType), type_
        return "_"

    def type_args(self, types: Sequence[ast.Type]) -> str:
        """Return types in brackets, "" if there are none."""
        return f"[{', '.join(map(self.type, types))}]" if types else ""

    def _tensor_type(self, type_: ast.TensorType) -> str:
        if not type_.shape:
            return type_.dtype
        dims = ", ".join(map(self._dim, type_.shape))
        return f"Tensor[({dims}), {type_.dtype}]"

    def _dim(self, dim: ast.TypeDim) -> str:
        if not isinstance(dim, ast.TypeVar):
            return str(dim)
        return self._type_vars.get(id(dim)) or self.meta.reference(dim)

    def _type_var(self, var: ast.TypeVar) -> str:
        if id(var) not in self._type_vars:
            raise ast.RelayError(
                f"expected a type parameter of what is around it, but got {var.name}"
            )
        return self._type_vars[id(var)]

    # -- attributes -----------------------------------------------------------------------------

    def attrs(self, attrs: Mapping[str, Any], operator: str = "") -> list[str]:
        """Return attributes as ``name=value``, without those that are the operator's defaults."""
        converter = CONVERTERS.get(operator)
        defaults = converter.attrs if converter else {}
        return [
            self._attr(name, value)
            for name, value in attrs.items()
            if name not in defaults or not attributes_equal(defaults[name], value)
        ]

    def _attr(self, name: str, value: Any) -> str:
        if not _KEY.fullmatch(name):
            raise ast.RelayError(f"expected an attribute with a name of letters, but got {name!r}")
        return f"{name}={self._attr_value(value)}"

    def _attr_value(self, value: Any) -> str:
        if value is None or isinstance(value, bool | np.bool_ | int | np.integer | ast.AnyDim):
            return str(value)
        if isinstance(value, float | np.floating):
            return _float(float(value))
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self._attr_value, value))}]"
        return self.meta.reference(value)


def attributes_equal(first: Any, second: Any) -> bool:
    """Say whether two values of attributes are the same; a tuple is a list."""
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(attributes_equal, first, second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            attributes_equal(value, second[name]) for name, value in first.items()
        )
    if isinstance(first, ast.Constant) and isinstance(second, ast.Constant):
        return arrays_equal(first.data, second.data)
    if isinstance(first, float) and isinstance(second, float) and first != first:
        return second != second
    return bool(first == second)


def arrays_equal(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Say whether two arrays are the same in all bits."""
    same = first.dtype == second.dtype and first.shape == second.shape
    return same and first.tobytes() == second.tobytes()


def quoted(text: str) -> str:
    """Return a string in quotes, with escapes."""
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in text) + '"'


def digits(value: float | np.floating[Any]) -> str:
    """Return the fewest digits that are a number of its data type."""
    text = repr(float(value)) if isinstance(value, float) else str(value)
    return text.removesuffix(".0")


def _float(value: float) -> str:
    is_large = _LARGEST < abs(value) < float("inf")
    return digits(float(value)) + ("f64" if is_large else "f")


def tuple_text(parts: Sequence[str]) -> str:
    """Return a tuple, of one part with a comma."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
