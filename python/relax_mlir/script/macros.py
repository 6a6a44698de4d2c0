# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Macros: functions whose statements replace a call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import state
from .parser import entry
from .parser.environment import around_function
from .parser.source import Source, source_of_function


class Macro:
    """A function under ``@R.macro``.

    Parameters
    ----------
    source : Source
    node : ast.FunctionDef
    around : list of mapping of str to value
        The names where it is defined.
    signature : inspect.Signature
    hygienic : bool
        Whether names mean what they mean where it is defined, not where it is called.
    """

    def __init__(
        self,
        source: Source,
        node: ast.FunctionDef,
        around: list[Mapping[str, Any]],
        signature: inspect.Signature,
        hygienic: bool,
    ) -> None:
        self.source = source
        self.node = node
        self.around = around
        self.signature = signature
        self.hygienic = hygienic

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Write the statements at the current place of a program, and return their value."""
        try:
            given = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.node.name}{self.signature}: {error}") from None
        given.apply_defaults()
        return state.current("a macro").function_parser().inline(self, dict(given.arguments))


def macro(*args: Callable[..., Any], hygienic: bool = True) -> Any:
    """Define a macro, under ``@R.macro`` or ``@R.macro(hygienic=False)``."""

    def define(function: Callable[..., Any]) -> Macro:
        if not inspect.isfunction(function):
            raise TypeError(f"expected a function under @R.macro, but got {function!r}")
        source, node = source_of_function(function)
        around: list[Mapping[str, Any]] = [*around_function(function, entry.caller())]
        return Macro(source, node, around, inspect.signature(function), hygienic)

    return define(args[0]) if args else define
