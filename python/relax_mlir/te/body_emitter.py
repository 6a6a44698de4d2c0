# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of tensor expressions as operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlir import ir
from mlir.dialects import arith, scf, tensor

from ..tir import expr as _expr
from ..tir.emit import Emitter
from ..tir.expr import (
    Call,
    CommReducer,
    IntImm,
    IterVar,
    PrimExpr,
    Reduce,
)
from .loops import guard_selects
from .tensor import ComputeOp, Tensor

if TYPE_CHECKING:
    from .lower import Kernel


class BodyEmitter(Emitter):
    """Emits what one element is computed from.

    Parameters
    ----------
    kernel : Kernel
    elements : mapping of int to mlir.ir.Value, optional
        The elements of operands that stand for loads, by the ids of these.
    """

    def __init__(self, kernel: Kernel, elements: Mapping[int, ir.Value] | None = None) -> None:
        super().__init__(resolve=kernel.variable)
        self._kernel = kernel
        self._elements = elements or {}
        # Operations whose elements are computed where they are used, see `Kernel._scan`.
        self.inlined: set[int] = set()
        self.states: dict[int, ir.Value] = {}

    def load(self, node: Any) -> ir.Value:
        """Return an element of an operand, or one that is extracted."""
        known = self._elements.get(id(node))
        if known is not None:
            return known
        source: Tensor = node.producer
        if id(source.op) in self.inlined:
            return self.element(source, node.indices)
        value = self.states.get(id(source))
        if value is None:
            value = self._kernel.value_of(source)
        return tensor.ExtractOp(value, [self._index(index) for index in node.indices]).result

    def element(self, source: Tensor, indices: Sequence[PrimExpr]) -> ir.Value:
        """Return an element, computed here."""
        op = source.op
        if not isinstance(op, ComputeOp):
            raise ValueError(f"expected '{source.name}' in a scan to be made by compute")
        values = {axis.var: index for axis, index in zip(op.axis, indices, strict=True)}
        body = _expr.substitute(guard_selects(op.body[source.value_index]), values)
        if not isinstance(body, Reduce):
            return self.value(body)
        axes = {axis.var: _expr.Var(axis.var.name, axis.var.dtype) for axis in body.axis}
        moved = [
            IterVar(
                _expr.Range.from_min_extent(
                    _expr.substitute(axis.dom.min, values),
                    _expr.substitute(axis.dom.extent, values),
                ),
                axes[axis.var],
                axis.iter_type,
            )
            for axis in body.axis
        ]
        parts = [_expr.substitute(part, axes) for part in body.operands()]
        renamed = body.rebuild(parts)
        assert isinstance(renamed, Reduce)
        renamed.axis = tuple(moved)
        results = self.reduce([renamed])
        return self._narrow_any(results[body.value_index], body.dtype)

    def reduce(self, reductions: Sequence[Reduce]) -> list[ir.Value]:
        """Return the outputs of a reduction, by loops at this place, as they are computed with."""
        first = reductions[0]
        values = [self._value(start) for start in first.init or first.combiner.identity_element]
        return self._reduce_loops(first, list(first.axis), values)

    def _reduce_loops(
        self, reduction: Reduce, axes: list[IterVar], values: list[ir.Value]
    ) -> list[ir.Value]:
        if not axes:
            return self.combine(reduction, values)
        axis, *rest = axes
        begin = self._index(axis.dom.min)
        end = arith.AddIOp(begin, self._index(axis.dom.extent)).result
        step = self._index(_expr.const(1, "int64"))
        loop = scf.ForOp(begin, end, step, values)
        with self.scope(loop.body):
            self.bind(axis.var, loop.induction_variable)
            scf.YieldOp(self._reduce_loops(reduction, rest, list(loop.inner_iter_args)))
        return list(loop.results)

    def combine(self, reduction: Reduce, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the outputs with one more element, as they are computed with."""
        combiner: CommReducer = reduction.combiner
        condition = reduction.condition
        certain = isinstance(condition, IntImm) and bool(condition)
        for index, source in enumerate(reduction.source):
            guarded = source
            if not certain:
                identity = combiner.identity_element[index]
                guarded = Call(source.dtype, "if_then_else", (condition, source, identity))
            self.bind(combiner.lhs[index], values[index])
            self.bind(combiner.rhs[index], self._value(guarded))
        return [self._value(result) for result in combiner.result]
