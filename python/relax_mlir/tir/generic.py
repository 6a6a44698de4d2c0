# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops as ``linalg.generic``: indices that are affine functions of them, and the operation.

Tensor expressions and blocks of tensor programs both come here; they differ in which elements they
take as operands, and which ones they load in the body.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir

from . import expr as _expr
from .dims import same_dim
from .expr import Call, Cast, IntImm, PrimExpr, Reduce, Select, Var, widens


@dataclasses.dataclass(frozen=True)
class Affine:
    """An affine function of loops.

    Attributes
    ----------
    factors : mapping of int to int
        The factor of each loop that it depends on; none is 0.
    offset : int
    """

    factors: Mapping[int, int]
    offset: int = 0

    @property
    def loop(self) -> int | None:
        """The loop that the function is, or None."""
        is_loop = list(self.factors.values()) == [1] and self.offset == 0
        return next(iter(self.factors)) if is_loop else None

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """Return the sum with a multiple of another function."""
        total = dict(self.factors)
        for loop, value in other.factors.items():
            total[loop] = total.get(loop, 0) + factor * value
        factors = {loop: value for loop, value in total.items() if value}
        return Affine(factors, self.offset + factor * other.offset)

    def expr(self) -> ir.AffineExpr:
        """Return the function as an affine expression, in the current context."""
        result = ir.AffineExpr.get_constant(self.offset)
        for loop, factor in sorted(self.factors.items()):
            result = result + ir.AffineExpr.get_dim(loop) * factor
        return result


class IterationSpace:
    """The loops of an operation.

    Parameters
    ----------
    extents : sequence of PrimExpr
        By loop.
    variables : mapping of Var to Affine
        What variables stand for.
    same : callable, optional
        Says whether two dimensions are known to be equal. By default `same_dim`.
    """

    def __init__(
        self,
        extents: Sequence[PrimExpr],
        variables: Mapping[Var, Affine],
        same: Callable[[PrimExpr, PrimExpr], bool] = same_dim,
    ) -> None:
        self.extents = list(extents)
        self._same = same
        # With the nodes, so that they live and their ids stay theirs.
        self._known: dict[int, tuple[PrimExpr, Affine | None]] = {
            id(var): (var, affine) for var, affine in variables.items()
        }

    def affine(self, index: PrimExpr) -> Affine | None:
        """Return an index as a function of the loops, None if it is not affine."""
        if id(index) not in self._known:
            self._known[id(index)] = index, self._find_affine(index)
        return self._known[id(index)][1]

    def _find_affine(self, index: PrimExpr) -> Affine | None:
        if isinstance(index, IntImm):
            return Affine({}, index.value)
        if isinstance(index, Cast):
            return self.affine(index.value) if widens(index.value.dtype, index.dtype) else None
        if not isinstance(index, _expr.Add | _expr.Sub | _expr.Mul):
            return None
        a, b = self.affine(index.a), self.affine(index.b)
        if a is None or b is None:
            return None
        if not isinstance(index, _expr.Mul):
            return a.plus(b, -1 if isinstance(index, _expr.Sub) else 1)
        if a.factors and b.factors:
            return None
        return Affine({}).plus(a, b.offset) if a.factors else Affine({}).plus(b, a.offset)

    def map_of(
        self,
        indices: Sequence[PrimExpr],
        shape: Sequence[PrimExpr],
        fits: Callable[[Affine, PrimExpr], bool] | None,
    ) -> ir.AffineMap | None:
        """Return indices as a map of the loops, None where they cannot be those of an operand.

        An index that is a loop has to run over a whole dimension.

        Parameters
        ----------
        indices, shape : sequence of PrimExpr
        fits : callable, optional
            Is asked whether any other index may be an operand's, given the size of its dimension.
            By default none may.
        """
        results = []
        for index, size in zip(indices, shape, strict=True):
            affine = self.affine(index)
            if affine is None:
                return None
            loop = affine.loop
            is_whole = loop is not None and self._same(self.extents[loop], size)
            if not is_whole:
                is_taken = fits is not None and fits(affine, size)
                if not is_taken or loop is not None:  # linalg takes the bounds of loops from here
                    return None
            results.append(affine.expr())
        return ir.AffineMap.get(len(self.extents), 0, results)

    def ends(self, index: Affine) -> tuple[int, int] | None:
        """Return the least and the greatest value of an index, None if they are not known."""
        low = high = index.offset
        for loop, factor in index.factors.items():
            extent = self.extents[loop]
            if not isinstance(extent, IntImm):
                return None
            last = max(extent.value - 1, 0) * factor
            low, high = low + min(last, 0), high + max(last, 0)
        return low, high

    def out_of_bounds(self, index: Affine, size: PrimExpr) -> str | None:
        """Return the values of an index in words if one is certain to be out of bounds.

        Loops of unknown extents count as ones that run.
        """
        lows = [self._reach(loop, min(factor, 0)) for loop, factor in index.factors.items()]
        highs = [self._reach(loop, max(factor, 0)) for loop, factor in index.factors.items()]
        low = None if None in lows else index.offset + sum(filter(None, lows))
        high = None if None in highs else index.offset + sum(filter(None, highs))
        ends = f"{low}" if low == high else f"{low} to {high}"
        if high is None:
            ends = f"{low} and more"
        if low is not None and low < 0:
            return ends
        if isinstance(size, IntImm):
            return ends if low is not None and high is not None and high >= size.value else None
        return self._beyond(index, size)

    def _reach(self, loop: int, factor: int) -> int | None:
        """Return the product of a factor with the last value of a loop, None if it is unknown."""
        extent = self.extents[loop]
        if factor == 0:
            return 0
        return max(extent.value - 1, 0) * factor if isinstance(extent, IntImm) else None

    def _beyond(self, index: Affine, size: PrimExpr) -> str | None:
        """Return in words how far an index goes beyond a size that one of its loops has."""
        last = None if index.loop is None else self._last_beyond(self.extents[index.loop], size)
        if last is not None:
            return f"up to {last}"
        for loop, factor in index.factors.items():
            others = [self._reach(each, max(index.factors[each], 0)) for each in index.factors]
            rest = [each for key, each in zip(index.factors, others, strict=True) if key != loop]
            if factor == 1 and self._same(self.extents[loop], size) and None not in rest:
                more = index.offset + sum(filter(None, rest))
                return f"up to {size + (more - 1)}" if more > 0 else None
        return None

    def _last_beyond(self, extent: PrimExpr, size: PrimExpr) -> PrimExpr | None:
        """Return the last value of a loop over a multiple of a size, or over that and more."""
        operands = extent.operands() if isinstance(extent, _expr.Add | _expr.Mul) else ()
        for more, other in zip(operands, reversed(operands), strict=True):
            if isinstance(more, IntImm) and self._same(other, size):
                if isinstance(extent, _expr.Add):
                    return size + (more.value - 1) if more.value > 0 else None
                return extent - 1 if more.value > 1 else None
        return None


def bare(expr: PrimExpr) -> PrimExpr:
    """Return an integer without the casts around it that keep its value."""
    while isinstance(expr, Cast) and widens(expr.value.dtype, expr.dtype):
        expr = expr.value
    return expr


def bounded_loops(maps: Sequence[ir.AffineMap]) -> set[int]:
    """Return the loops that linalg takes the bounds of from operands with such maps."""
    exprs = [expr for affine_map in maps for expr in affine_map.results]
    return {expr.position for expr in exprs if isinstance(expr, ir.AffineDimExpr)}


def loads(exprs: Sequence[PrimExpr], selects: bool = True) -> Iterator[tuple[Any, bool]]:
    """Yield the loads in expressions, and whether each is done on a condition only.

    Parameters
    ----------
    exprs : sequence of PrimExpr
    selects : bool
        Whether a load in one of the values of a Select is, too.
    """
    seen: set[tuple[int, bool]] = set()
    todo = [(expr, False) for expr in reversed(exprs)]
    while todo:
        node, guarded = todo.pop()
        if (id(node), guarded) in seen:
            continue
        seen.add((id(node), guarded))
        if isinstance(node, _expr.Load):
            yield node, guarded
        is_lazy = isinstance(node, Call) and node.op == "if_then_else"
        is_lazy = is_lazy or (selects and isinstance(node, Select))
        operands = node.operands()
        todo += [(operand, guarded or is_lazy) for operand in reversed(operands[1:])]
        todo += [(operand, guarded) for operand in operands[:1]]


def used_vars(exprs: Sequence[PrimExpr], is_operand: Callable[[Any], bool]) -> set[int]:
    """Return the ids of variables that expressions need besides the indices of operands."""
    found: set[int] = set()
    seen: set[int] = set()
    todo = list(exprs)
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Var):
            found.add(id(node))
        elif isinstance(node, Reduce):
            todo += [end for axis in node.axis for end in (axis.dom.min, axis.dom.extent)]
        if not (isinstance(node, _expr.Load) and is_operand(node)):
            todo += node.operands()
    return found


def linalg() -> Any:
    """Return MLIR's module for linalg.

    It takes an eighth of the time that the package takes to import, and few programs need it.
    """
    from mlir.dialects import linalg

    return linalg


def build_generic(
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    kinds: Sequence[str],
    body: Callable[[list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """Write a ``linalg.generic`` at the current insertion point.

    Parameters
    ----------
    inputs, outputs : sequence of mlir.ir.Value
        Tensors or memrefs.
    maps : sequence of mlir.ir.AffineMap
        Of the inputs, then the outputs.
    kinds : sequence of str
        "parallel" or "reduction", by loop.
    body : callable
        Writes the new elements of the outputs, given an element of each input and output.

    Returns
    -------
    list of mlir.ir.Value
        The outputs, if they are tensors.
    """
    op = linalg().GenericOp(
        [value.type for value in outputs if isinstance(value.type, ir.RankedTensorType)],
        inputs,
        outputs,
        ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]),
    )
    types = [value.type.element_type for value in (*inputs, *outputs)]
    block = op.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        linalg().YieldOp(body(list(block.arguments)))
    return list(op.results)
