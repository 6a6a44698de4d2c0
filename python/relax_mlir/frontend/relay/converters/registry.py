# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators by name, with the attributes of each and their defaults."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

from mlir import ir

from ....core.ir import TensorStructInfo
from ...values import Value, as_tensor

Function: TypeAlias = Callable[..., Value]

# Attributes that every call may have, and that say nothing about its result.
_IGNORED = ("schedule_rule", "span")
# Say how TVM's tuners have laid out weights, where they have.
_REWRITTEN = ("auto_scheduler_rewritten_layout", "meta_schedule_original_shape")


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()
"""The default of an attribute that has to be given."""


@dataclasses.dataclass(frozen=True)
class Converter:
    """How an operator becomes operators of Relax.

    Parameters
    ----------
    name : str
    function : callable
        Called with the attributes, as a namespace, and with the operands. It returns a value, which
        is a tuple where the operator has several results.
    attrs : mapping of str
        The attributes with their defaults.
    raw : bool
        Whether operands that are known at import are passed as they are: constants as arrays, what
        follows from shapes as `Sizes`. Otherwise they are tensors of the program.
    """

    name: str
    function: Function
    attrs: Mapping[str, Any]
    raw: bool = False

    def __call__(self, attrs: Mapping[str, Any], operands: Sequence[Value]) -> Value:
        """Write the operator at the current place of the program.

        Raises
        ------
        ValueError
            If an attribute is unknown or missing, or the number of operands is wrong.
        """
        ignored = {*_IGNORED, *(name for name in _REWRITTEN if name not in self.attrs)}
        rewritten = [name for name in _REWRITTEN if name in ignored and attrs.get(name)]
        if rewritten:
            raise NotImplementedError(
                f"its weights are laid out by TVM's tuners ({rewritten[0]}); import the program as "
                "it was before"
            )
        named = {k: v for k, v in attrs.items() if k not in ignored}
        for name in named:
            if name not in self.attrs:
                raise ValueError(f"{self.name} has no attribute '{name}'{self._hint(name)}")
        given = {**self.attrs, **named}
        for name, value in given.items():
            if value is REQUIRED:
                raise ValueError(f"{self.name} needs the attribute '{name}'")
        self._check_count(len(operands))
        namespace = SimpleNamespace(**given)
        for fold in FOLDERS:
            known = fold(self.name, namespace, operands)
            if known is not None:
                return known
        values = operands if self.raw else [self._tensor(operand) for operand in operands]
        return self.function(namespace, *values)

    def _tensor(self, operand: Value) -> ir.Value:
        tensor = as_tensor(operand)
        if not isinstance(tensor.type, TensorStructInfo):
            raise ValueError(f"expected tensors for {self.name}, but got {tensor.type}")
        return tensor

    def _check_count(self, count: int) -> None:
        """Raise an error unless the function takes so many operands."""
        try:
            inspect.signature(self.function).bind(None, *range(count))
        except TypeError:
            params = list(inspect.signature(self.function).parameters)[1:]
            raise ValueError(
                f"expected {self.name} of {', '.join(params)}, but got {count} operands"
            ) from None

    def _hint(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.attrs, 1)
        if near:
            return f"; did you mean '{near[0]}'?"
        return f"; it has {', '.join(self.attrs)}" if self.attrs else ""


def identity(_: SimpleNamespace, data: Value) -> Value:
    """Return the operand of an operator that says something of it; it may be of any type."""
    return data


CONVERTERS: dict[str, Converter] = {}

FOLDERS: list[Callable[[str, SimpleNamespace, Sequence[Value]], Value | None]] = []
"""What computes results of operands that are known at import; the first one that can is used."""


def converts(*names: str, raw: bool = False, **attrs: Any) -> Callable[[Function], Function]:
    """Register the converter of operators.

    Parameters
    ----------
    *names : str
        As Relay has them, as in ``nn.conv2d``.
    raw : bool
        Whether operands are passed as they are, see `Converter`.
    **attrs
        Their attributes with TVM's defaults, or `REQUIRED`.
    """

    def register(function: Function) -> Function:
        for name in names:
            CONVERTERS[name] = Converter(name, function, attrs, raw)
        return function

    return register


def operators() -> list[str]:
    """Return the names of the operators that have a converter.

    Examples
    --------
    >>> "nn.conv2d" in operators()
    True
    """
    return sorted(CONVERTERS)
