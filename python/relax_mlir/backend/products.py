# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with what follows them: patterns, and what codegens of such read of functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from mlir import ir

from ..transform import FusionPattern, PatternCheckContext
from .patterns import Annotated, make_matmul_pattern, make_residual_block_pattern
from .region import Region, Step, constant_of
from .utils import is_bias_of, is_transposition


def product_patterns(
    codegen: str, activations: Iterable[str], check: Callable[[PatternCheckContext], bool]
) -> list[FusionPattern]:
    """Return the patterns of products of matrices, transposed or not, and what may follow.

    Parameters
    ----------
    codegen : str
    activations : iterable of str
        The names of operations, after a bias of a number for each column and a sum.
    check : callable
        Says of the parts "lhs", "rhs", "root" (the product), "bias" and "residual" whether the
        codegen computes a match.

    Returns
    -------
    list of FusionPattern
        The smallest first: later ones are tried first.
    """
    flags = (False, True)
    choices = itertools.product(flags, flags, flags, flags, (None, *activations))
    rows = sorted(choices, key=lambda row: sum(map(bool, row)))
    return [FusionPattern(f"{codegen}.{_name(*row)}", *_pattern(*row), check) for row in rows]


def _name(left: bool, right: bool, bias: bool, residual: bool, activation: str | None) -> str:
    words = ["transposed_lhs"] * left + ["transposed"] * right + ["bias"] * bias
    words += ["residual"] * residual + ([activation.removeprefix("relax.")] if activation else [])
    return "_".join(["matmul", *words])


def _pattern(
    left: bool, right: bool, bias: bool, residual: bool, activation: str | None
) -> Annotated:
    """Return the pattern of a product, and of what follows it."""
    first = None if residual else activation
    made = make_matmul_pattern(bias, first, transposed_rhs=right, transposed_lhs=left)
    return make_residual_block_pattern(made, activation=activation) if residual else made


class Slots:
    """Names of the values of a function: arguments, constants, and results of steps.

    Parameters
    ----------
    region : Region
    constant_names : mapping of mlir.ir.Value to str
    arrays : dict of str to numpy.ndarray
        To which the constants that steps take are added.
    """

    def __init__(
        self,
        region: Region,
        constant_names: Mapping[Any, str],
        arrays: dict[str, np.ndarray],
    ) -> None:
        self._region, self._constant_names, self._arrays = region, constant_names, arrays
        self._slots = {value: f"arg{i}" for i, value in enumerate(region.params)}

    def set(self, value: ir.Value, name: str) -> None:
        """Name the result of a step."""
        self._slots[value] = name

    def get(self, value: ir.Value) -> str:
        """Return the name of a value; "" for one that no step has."""
        return self._slots.get(value, "")

    def __call__(self, value: ir.Value) -> str:
        """Return the name of an operand.

        Raises
        ------
        ValueError
            If it is neither an argument nor a constant, nor the result of a step.
        """
        found = self._region.resolve(value)
        if found not in self._slots:
            array = constant_of(found)
            symbol = self._region.symbol
            if array is None:
                raise ValueError(f"function '{symbol}': expected a tensor, but got {found}")
            name = self._constant_names.get(found, f"{symbol}_const_{len(self._arrays)}")
            self._arrays[name] = np.ascontiguousarray(array)
            self._slots[found] = name
        return self._slots[found]


class ProductReader:
    """Reads the operations of a step: a product, a bias, a sum and an activation.

    Parameters
    ----------
    region : Region
    step : Step
    slot : callable
        Returns the name of an operand; see `Slots`.

    Attributes
    ----------
    row : dict
        The step as data: ``kind``; names of the operands ``src``, ``weights``, and ``bias`` and
        ``sum`` or None; ``transposed``, whether the last two dimensions of both matrices are
        swapped; ``activation`` or None.
    """

    #: The names of the codegen and of its library.
    codegen, library = "", ""
    #: What products are called.
    kinds: tuple[str, ...] = ("relax.matmul",)
    activations: tuple[str, ...] = ()
    #: Operations that change the shape of an operand, but not what the library is told of it.
    reshapes: tuple[str, ...] = ()

    def __init__(self, region: Region, step: Step, slot: Callable[[ir.Value], str]) -> None:
        self._region, self._step, self._slot = region, step, slot
        self._renamed: dict[ir.Value, ir.Value] = {}
        self._transposed: set[ir.Value] = set()
        self._current: ir.Value | None = None
        self.row: dict[str, Any] = {"activation": None, "sum": None, "bias": None}

    def read(self) -> dict[str, Any]:
        """Return the step as data.

        Raises
        ------
        ValueError
            If it has other operations.
        """
        for op in self._step.ops:
            self._visit(op.operation)
        if "kind" not in self.row:
            kinds = " or ".join(kind.removeprefix("relax.") for kind in self.kinds)
            self.fail(f"a product ({kinds})", "none")
        return self.row

    def fail(self, expected: str, got: str) -> None:
        """Raise ValueError with what was expected in the step."""
        raise ValueError(
            f"function '{self._region.symbol}': codegen '{self.codegen}': expected {expected} in "
            f"'{self._step.composite}', but got {got}"
        )

    def name(self, value: ir.Value) -> str:
        """Return the name of an operand."""
        found = self._renamed.get(value, value)
        return self._slot(self._step.source(found))

    def _visit(self, op: ir.Operation) -> None:
        result = op.results[0]
        if op.name == "relax.permute_dims" and is_transposition(op):
            self._transposed.add(result)
            self._renamed[result] = op.operands[0]
        elif op.name in self.reshapes:
            self._renamed[result] = op.operands[0]
        elif op.name in self.kinds and "kind" not in self.row:
            self.visit_product(op)
            self._current = result
        elif op.name == "relax.add" and self._current in list(op.operands):
            self._add(op)
            self._current = result
        elif op.name in self.activations and self.row["activation"] is None:
            self.row["activation"] = op.name
            self._current = result
        else:
            self.fail(f"operations that {self.library} fuses", op.name)

    def visit_product(self, op: ir.Operation) -> None:
        """Note what a product takes."""
        source, weights = op.operands
        self.row |= {"src": self.name(source), "weights": self.name(weights)}
        self.row["kind"] = op.name.removeprefix("relax.")
        self.row["transposed"] = [each in self._transposed for each in (source, weights)]

    def _add(self, op: ir.Operation) -> None:
        left, right = op.operands
        other = right if left == self._current else left
        is_bias = is_bias_of(other, op.results[0], self.row["kind"])
        what = "bias" if is_bias and self.row["bias"] is None else "sum"
        if self.row[what] is not None or self.row["activation"] is not None:
            self.fail("a bias and a sum, each once, before an activation", "another one")
        if what == "bias" and self.row["sum"] is not None:
            what = "sum"
        self.row[what] = self.name(other)
