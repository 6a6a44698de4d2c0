# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of tensor expressions, and where their operands are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from mlir import ir

from ..tir import expr as _expr
from ..tir.expr import (
    Call,
    IntImm,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Select,
    Var,
)
from ..tir.op import if_then_else
from .tensor import loads_of

is_zero = _expr.is_zero


@dataclasses.dataclass
class Map:
    """The access map of an operand, and the loops that linalg takes the bounds of from it."""

    map: ir.AffineMap
    bounds: set[int]


class Loops:
    """The loops of an operation: its axes and those it reduces over."""

    def __init__(self, axes: Sequence[IterVar], same: Callable[[PrimExpr, PrimExpr], bool]) -> None:
        self.axes = list(axes)
        self.position = {id(axis.var): index for index, axis in enumerate(axes)}
        self._same = same
        self._terms: dict[int, tuple[PrimExpr, tuple[dict[int, int], int] | None]] = {}

    def map_of(self, load: ProducerLoad) -> Map | None:
        """Return the indices as a map of the loops if they are affine, and may be an operand's."""
        results = []
        plain: set[int] = set()
        for index, size in zip(load.indices, load.producer.shape, strict=True):
            terms = self._linear(index)
            if terms is None or not self._fits(terms, size, load):
                return None
            if list(terms[0].values()) == [1] and terms[1] == 0:
                plain.update(terms[0])
            results.append(_affine(*terms))
        return Map(ir.AffineMap.get(len(self.axes), 0, results), plain)

    def _linear(self, index: PrimExpr) -> tuple[dict[int, int], int] | None:
        """Return the factors of the loops and a constant, or None."""
        if id(index) not in self._terms:
            self._terms[id(index)] = (index, self._find_terms(index))
        return self._terms[id(index)][1]

    def _find_terms(self, index: PrimExpr) -> tuple[dict[int, int], int] | None:
        if isinstance(index, IntImm):
            return {}, index.value
        if isinstance(index, Var):
            loop = self.position.get(id(index))
            first = None if loop is None else self.axes[loop].dom.min
            return (
                ({loop: 1}, first.value) if isinstance(first, IntImm) and loop is not None else None
            )
        if isinstance(index, _expr.Cast) and _expr.is_integer(index.dtype):
            same_sign = _expr.is_int(index.dtype) == _expr.is_int(index.value.dtype)
            wider = _expr.bits(index.dtype) >= _expr.bits(index.value.dtype)
            return self._linear(index.value) if same_sign and wider else None
        if isinstance(index, (_expr.Add, _expr.Sub, _expr.Mul)):
            a, b = self._linear(index.a), self._linear(index.b)
            return None if a is None or b is None else _combine(index, a, b)
        return None

    def is_inside(self, load: ProducerLoad) -> bool:
        """Say whether the indices are certain to be within the shape."""
        for index, size in zip(load.indices, load.producer.shape, strict=True):
            terms = self._linear(index)
            if terms is None:
                return False
            factors, offset = terms
            if list(factors.values()) == [1] and offset == 0:
                (loop,) = factors
                if not self._same(self.axes[loop].dom.extent, size):
                    return False
                continue
            ends = self._ends(factors, offset)
            if ends is None or not isinstance(size, IntImm):
                return False
            if ends[0] < 0 or ends[1] >= size.value:
                return False
        return True

    def _ends(self, factors: Mapping[int, int], offset: int) -> tuple[int, int] | None:
        """Return the least and the greatest value of an affine function, if they are known."""
        low = high = offset
        for loop, factor in factors.items():
            extent = self.axes[loop].dom.extent
            if not isinstance(extent, IntImm) or extent.value == 0:
                return None
            step = factor * (extent.value - 1)
            low, high = low + min(step, 0), high + max(step, 0)
        return low, high

    def _fits(self, terms: tuple[dict[int, int], int], size: PrimExpr, load: ProducerLoad) -> bool:
        """Say whether linalg takes a loop from this dimension, if at all, with the right bound."""
        factors, offset = terms
        if list(factors.values()) == [1] and offset == 0:
            (loop,) = factors
            return self._same(self.axes[loop].dom.extent, size)
        ends = self._ends(factors, offset)
        if not isinstance(size, IntImm) or ends is None:
            # Unknown sizes are not verified; but no loop that never runs.
            return not any(is_zero(self.axes[loop].dom.extent) for loop in factors)
        least, most = ends
        if least < 0 or most >= size.value:
            raise ValueError(
                f"expected indices of '{load.producer.name}' from 0 to {size.value - 1}, but got "
                f"{least} to {most} in {load}; if_then_else computes only what it takes"
            )
        return True


def _combine(
    node: PrimExpr, a: tuple[dict[int, int], int], b: tuple[dict[int, int], int]
) -> tuple[dict[int, int], int] | None:
    """Return a sum, difference or product of two affine functions, if that is one."""
    if isinstance(node, _expr.Mul):
        if a[0] and b[0]:
            return None
        (terms, offset), factor = (b, a[1]) if not a[0] else (a, b[1])
        scaled = {loop: value * factor for loop, value in terms.items()}
        return {loop: value for loop, value in scaled.items() if value}, offset * factor
    sign = -1 if isinstance(node, _expr.Sub) else 1
    total = dict(a[0])
    for loop, value in b[0].items():
        total[loop] = total.get(loop, 0) + sign * value
    return {loop: value for loop, value in total.items() if value}, a[1] + sign * b[1]


def _affine(factors: Mapping[int, int], offset: int) -> ir.AffineExpr:
    result = None
    for loop, factor in sorted(factors.items()):
        term = ir.AffineExpr.get_dim(loop)
        term = term if factor == 1 else ir.AffineExpr.get_mul(term, factor)
        result = term if result is None else ir.AffineExpr.get_add(result, term)
    constant = ir.AffineConstantExpr.get(offset)
    if result is None:
        return constant
    return ir.AffineExpr.get_add(result, constant) if offset else result


def certain_loads(exprs: Sequence[PrimExpr]) -> list[ProducerLoad]:
    """Return the loads that happen for each element, each node once."""
    found: dict[int, ProducerLoad] = {}
    seen: set[int] = set()
    todo = list(reversed(exprs))
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ProducerLoad):
            found[id(node)] = node
        operands = node.operands()
        if isinstance(node, Call) and node.op == "if_then_else":
            operands = operands[:1]
        todo.extend(reversed(operands))
    return list(found.values())


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
