# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values by what they are in the program that is imported, and facts about its dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ...core.ir import Dim, Facts
from .values import Size, Value


class Scope:
    """The values that the operations of a region see.

    Parameters
    ----------
    around : Scope, optional
        That of the region around it; a function has none.
    """

    def __init__(self, around: Scope | None = None) -> None:
        self.values: dict[Any, Value] = {}
        self._around = around
        self._constants: dict[int, tuple[np.ndarray, ir.Value]] = {}

    def __getitem__(self, value: Any) -> Value:
        scope: Scope | None = self
        while scope is not None:
            if value in scope.values:
                return scope.values[value]
            scope = scope._around
        raise ValueError(f"expected a value that is defined before, but got {value}")

    def constant(self, array: np.ndarray) -> ir.Value | None:
        """Return the constant that an array is in the program already."""
        scope: Scope | None = self
        while scope is not None:
            if id(array) in scope._constants:
                return scope._constants[id(array)][1]
            scope = scope._around
        return None

    def keep_constant(self, array: np.ndarray, value: ir.Value) -> None:
        """Have an array be one constant, however often it is used."""
        self._constants[id(array)] = (array, value)


class RestartError(Exception):
    """What dimensions are has turned out: the import begins again with it."""


class Dimensions:
    """What is known of the dynamic sizes of inputs.

    Parameters
    ----------
    least : int
        The least value of each.

    Attributes
    ----------
    lower, upper : dict of str to int
        Bounds by variable, which the program checks when it is called.
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self._replaced: dict[str, Dim] = {}
        self._names: list[str] = []
        self.lower: dict[str, int] = {}
        self.upper: dict[str, int] = {}

    def variable(self, name: str) -> Dim:
        """Return the dynamic size of an input, as the expression that it turned out to be."""
        dim = Dim(name)
        while any(name in self._replaced for name in dim.variables):
            dim = dim.substitute(self._replaced)
        for one in dim.variables:
            if one not in self._names:
                self._names.append(one)
        return dim

    def bounds(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the least and the greatest value of each variable that has one to be checked."""
        lower = {name: self._least for name in self._names if self._least > 0}
        lower |= {name: least for name, least in self.lower.items() if name in self._names}
        return lower, {name: most for name, most in self.upper.items() if name in self._names}

    def facts(self, *dims: Size) -> Facts:
        """Return the bounds of the variables of some expressions."""
        names = {name for dim in dims if isinstance(dim, Dim) for name in dim.variables}
        return Facts(
            bounds={
                name: (self.lower.get(name, self._least), self.upper.get(name)) for name in names
            }
        )

    def same(self, first: Size, second: Size) -> bool | None:
        """Say whether two sizes are equal; None where it is not decided."""
        return Dim(first).prove_equal(second, self.facts(first, second))

    def at_most(self, first: Size, second: Size) -> bool | None:
        """Say whether a size is at most another one; None where it is not decided."""
        return Dim(first).prove_less_equal(second, self.facts(first, second))

    def rename(self, old: str, new: str) -> None:
        """Give a variable another name, and begin again."""
        if old == new or new in self._names or old in self._replaced:
            return
        self._replace(old, Dim(new))

    def equate(self, first: Size, second: Size) -> bool:
        """Replace a variable by an expression that it is equal to, and begin again.

        Returns
        -------
        bool
            False where neither is a variable that the other one has not.
        """
        for one, other in ((second, first), (first, second)):
            if isinstance(one, Dim) and one.name and one.name not in Dim(other).variables:
                # A name of the program is kept.
                if isinstance(other, Dim) and other.name and one.name in self._given:
                    one, other = other, one
                self._replace(str(one.name), Dim(other))
        return False

    @property
    def _given(self) -> set[str]:
        return {dim.name for dim in self._replaced.values() if dim.name}

    def _replace(self, name: str, dim: Dim) -> None:
        self._replaced[name] = dim
        self._names.clear()
        self.lower.clear()
        self.upper.clear()
        raise RestartError
