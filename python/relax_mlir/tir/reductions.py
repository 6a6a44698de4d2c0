# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions: ranges, axes, combiners and the values that are reduced over axes."""

from __future__ import annotations

from collections.abc import Sequence

from .nodes import FUNCTIONS, ExprLike, ExprOp, PrimExpr, Var, const, convert


class Range:
    """The integers from ``min`` on, ``extent`` of them.

    Parameters
    ----------
    begin, end : PrimExpr
        The first and, exclusively, the last one. With one argument it is the end.
    """

    def __init__(self, begin: ExprLike, end: ExprLike | None = None) -> None:
        first = const(0, convert(begin).dtype) if end is None else convert(begin)
        self.min: PrimExpr = first
        self.extent: PrimExpr = convert(begin) if end is None else convert(end) - first

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike) -> Range:
        """Return the range of a first value and an extent."""
        made = Range(extent)
        made.min = convert(min_value)
        return made

    def __repr__(self) -> str:
        return f"Range({self.min}, {self.min + self.extent})"


class IterVar(ExprOp):
    """A variable that runs over a range: an axis of a tensor, or one of a reduction.

    Parameters
    ----------
    dom : Range
    var : Var
    iter_type : str
        "DataPar" or "CommReduce".
    """

    def __init__(self, dom: Range, var: Var, iter_type: str = "DataPar") -> None:
        self.dom, self.var, self.iter_type = dom, var, iter_type
        var.is_reduced = iter_type == "CommReduce"

    @property
    def dtype(self) -> str:
        """The data type of the variable."""
        return self.var.dtype

    def as_prim_expr(self) -> PrimExpr:
        """Return the variable."""
        return self.var

    def __repr__(self) -> str:
        return f"IterVar({self.var}, {self.dom}, {self.iter_type!r})"


class CommReducer:
    """A commutative reducer, which combines two values, or two lists of them, into one.

    Parameters
    ----------
    lhs, rhs : sequence of Var
    result : sequence of PrimExpr
        Of these variables.
    identity_element : sequence of PrimExpr
        The neutral element, which changes no value.
    """

    def __init__(
        self,
        lhs: Sequence[Var],
        rhs: Sequence[Var],
        result: Sequence[PrimExpr],
        identity_element: Sequence[PrimExpr],
    ) -> None:
        self.lhs, self.rhs = tuple(lhs), tuple(rhs)
        self.result, self.identity_element = tuple(result), tuple(identity_element)

    def __call__(self, lhs: Sequence[PrimExpr], rhs: Sequence[PrimExpr]) -> list[PrimExpr]:
        """Return the results for given values."""
        values = dict(zip((*self.lhs, *self.rhs), (*lhs, *rhs), strict=True))
        return [FUNCTIONS["substitute"](expr, values) for expr in self.result]


class Reduce(PrimExpr):
    """A value reduced over axes. It can only be all that an element is computed as.

    Parameters
    ----------
    combiner : CommReducer
    source : sequence of PrimExpr
        One for each output.
    axis : sequence of IterVar
    condition : PrimExpr
        Where it is false, an element does not count.
    value_index : int
        The index of this output.
    init : sequence of PrimExpr
        The initial values of the outputs. Empty: the identity.
    """

    def __init__(
        self,
        combiner: CommReducer,
        source: Sequence[PrimExpr],
        axis: Sequence[IterVar],
        condition: PrimExpr,
        value_index: int,
        init: Sequence[PrimExpr] = (),
    ) -> None:
        self.combiner, self.source, self.axis = combiner, tuple(source), tuple(axis)
        self.condition, self.value_index, self.init = condition, value_index, tuple(init)
        self.dtype = self.source[value_index].dtype

    def _operands(self) -> tuple[PrimExpr, ...]:
        return (*self.source, self.condition, *self.init)

    def _rebuild(self, operands: Sequence[PrimExpr]) -> PrimExpr:
        count = len(self.source)
        return Reduce(
            self.combiner,
            operands[:count],
            self.axis,
            operands[count],
            self.value_index,
            operands[count + 1 :],
        )
