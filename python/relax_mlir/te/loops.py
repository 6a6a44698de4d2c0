# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of tensor expressions, and where their operands are read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from mlir import ir

from ..tir import expr as _expr
from ..tir.expr import IntImm, IterVar, PrimExpr, ProducerLoad, Select, is_zero
from ..tir.generic import Affine, IterationSpace
from ..tir.op import if_then_else
from .tensor import loads_of


class Loops(IterationSpace):
    """The loops of an operation: its axes and those it reduces over."""

    def __init__(self, axes: Sequence[IterVar], same: Callable[[PrimExpr, PrimExpr], bool]) -> None:
        self.axes = list(axes)
        known = {
            axis.var: Affine({loop: 1}, axis.dom.min.value)
            for loop, axis in enumerate(axes)
            if isinstance(axis.dom.min, IntImm)
        }
        super().__init__([axis.dom.extent for axis in axes], known, same)

    def operand_map(self, load: ProducerLoad) -> ir.AffineMap | None:
        """Return where a load reads an operand, None if it has to be done in the body.

        Raises
        ------
        ValueError
            If it is out of bounds.
        """
        return self.map_of(load.indices, load.producer.shape, functools.partial(self._fits, load))

    def is_inside(self, load: ProducerLoad) -> bool:
        """Say whether the indices are certain to be within the shape."""
        return self.map_of(load.indices, load.producer.shape, self._is_inside) is not None

    def _is_inside(self, index: Affine, size: PrimExpr) -> bool:
        ends = None if self._never_runs(index) else self.ends(index)
        if ends is None or not isinstance(size, IntImm):
            return False
        return 0 <= ends[0] <= ends[1] < size.value

    def _never_runs(self, index: Affine) -> bool:
        return any(is_zero(self.extents[loop]) for loop in index.factors)

    def _fits(self, load: ProducerLoad, index: Affine, size: PrimExpr) -> bool:
        """Say whether linalg takes an index that is not a loop."""
        if self._never_runs(index):
            return False
        found = self.out_of_bounds(index, size)
        if found is not None:
            raise ValueError(
                f"expected indices of '{load.producer.name}' from 0 to {_last(size)}, but got "
                f"{found} in {load}; if_then_else computes only what it takes"
            )
        return True


def _last(size: PrimExpr) -> str:
    """Return the last index of a dimension in words."""
    return str(size.value - 1 if isinstance(size, IntImm) else size - 1)


def guard_selects(
    expr: PrimExpr, is_inside: Callable[[ProducerLoad], bool] = lambda load: False
) -> PrimExpr:
    """Let a Select compute only what it takes, where the other value may be out of bounds."""

    def is_safe(node: PrimExpr) -> bool:
        return all(is_inside(load) for load in loads_of([node]))

    def replace(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, Select) or (is_safe(node.true_value) and is_safe(node.false_value)):
            return None
        condition, *values = (guard_selects(each, is_inside) for each in node.operands())
        return if_then_else(condition, *values)

    return _expr.transform(expr, replace)
