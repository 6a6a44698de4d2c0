# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of tensor programs that are structured operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from mlir import ir

from ..core.context import current_context
from . import expr as _expr
from . import stmt as st
from .dims import to_dim
from .expr import BufferLoad, Call, IntImm, PrimExpr, Var


@dataclasses.dataclass
class Structure:
    """A block that is a ``linalg.generic``."""

    block: st.Block
    loops: list[st.For]
    iters: list[Var]  # by loop
    iterator_types: list[str]
    constants: dict[int, PrimExpr]  # axes without a loop
    lets: list[st.Let]
    stores: list[st.BufferStore]
    inputs: list[BufferLoad]
    maps: list[ir.AffineMap]  # of the inputs, then the outputs
    init: list[st.BufferStore]


def _calls_function(expr: PrimExpr) -> bool:
    """Say whether a function is called, which may have an effect."""
    calls = []
    _expr.post_order_visit(
        expr,
        lambda node: (
            calls.append(node) if isinstance(node, Call) and node.op == "call_extern" else None
        ),
    )
    return bool(calls)


class _NotStructuredError(Exception):
    """A block has to become loops."""


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    """Say whether two dimensions are equal for all values of their variables."""
    if _expr.structural_equal(a, b):
        return True
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return False
    try:
        return bool(to_dim(a) == to_dim(b))
    except (TypeError, ValueError):
        return False


def bare(expr: PrimExpr) -> PrimExpr:
    """Return an integer without the casts around it that keep its value."""
    while (
        isinstance(expr, _expr.Cast)
        and _expr.is_int(expr.dtype)
        and _expr.is_int(expr.value.dtype)
        and _expr.bits(expr.dtype) >= _expr.bits(expr.value.dtype)
    ):
        expr = expr.value
    return expr


class _Structurer:
    """Finds the structure of a nest of loops.

    Parameters
    ----------
    root : For or Block
    """

    def __init__(self, root: st.Stmt) -> None:
        self.loops: list[st.For] = []
        stmt = root
        while isinstance(stmt, st.For):
            if stmt.kind != "serial" or stmt.step is not None or stmt.annotations:
                raise _NotStructuredError
            if not _is_zero(stmt.min) or len(stmt.body) != 1:
                raise _NotStructuredError
            self.loops.append(stmt)
            stmt = stmt.body[0]
        if not isinstance(stmt, st.Block) or stmt.predicates or stmt.annotations:
            raise _NotStructuredError
        self.block = stmt
        # An extent that depends on a loop is not that of a box.
        variables = {id(loop.var) for loop in self.loops}
        for loop in self.loops:
            if any(id(var) in variables for var in _expr.undefined_vars(loop.extent)):
                raise _NotStructuredError

    def run(self, tensors: bool = False) -> Structure:
        """Return the structure.

        Parameters
        ----------
        tensors : bool
            Whether a block without loops has one, too.

        Raises
        ------
        _NotStructuredError
            If it has none.
        """
        self._bind_axes(tensors)
        self._split_body()
        self._find_operands()
        return Structure(
            self.block,
            self.loops,
            self.iters,
            self.iterator_types,
            self.constants,
            self.lets,
            self.stores,
            self.inputs,
            self.maps,
            self.init,
        )

    def _bind_axes(self, tensors: bool) -> None:
        positions = {id(loop.var): i for i, loop in enumerate(self.loops)}
        iters: list[Var | None] = [None] * len(self.loops)
        kinds = [""] * len(self.loops)
        self.constants: dict[int, PrimExpr] = {}
        if not self.loops and not tensors:
            raise _NotStructuredError
        for axis in self.block.axes:
            if axis.kind not in ("spatial", "reduce") or not _is_zero(axis.min):
                raise _NotStructuredError
            binding = bare(axis.binding)
            if _is_zero(binding) and isinstance(axis.extent, IntImm) and axis.extent.value == 1:
                self.constants[id(axis.var)] = _expr.const(0, axis.var.dtype)
                continue
            position = positions.get(id(binding))
            if position is None or iters[position] is not None:
                raise _NotStructuredError
            if not _same(axis.extent, self.loops[position].extent):
                raise _NotStructuredError
            iters[position] = axis.var
            kinds[position] = "parallel" if axis.kind == "spatial" else "reduction"
        found = [var for var in iters if var is not None]
        if len(found) != len(iters):
            raise _NotStructuredError
        self.iters, self.iterator_types = found, kinds
        self.dims = {id(var): i for i, var in enumerate(found)}

    def _split_body(self) -> None:
        self.lets = [stmt for stmt in self.block.body if isinstance(stmt, st.Let)]
        self.stores = [stmt for stmt in self.block.body if isinstance(stmt, st.BufferStore)]
        self.init = [stmt for stmt in self.block.init if isinstance(stmt, st.BufferStore)]
        if only_fills(self.block):
            self.stores = self.init
        elif not self.stores or [*self.lets, *self.stores] != self.block.body:
            raise _NotStructuredError
        if len(self.init) != len(self.block.init):
            raise _NotStructuredError
        outputs = {id(store.buffer): store for store in self.stores}
        if len(outputs) != len(self.stores):
            raise _NotStructuredError
        for init in self.init:
            store = outputs.get(id(init.buffer))
            if store is None or not _same_indices(init.indices, store.indices):
                raise _NotStructuredError
        if self.init and len(self.init) != len(self.stores):
            raise _NotStructuredError
        # Inside, the value of a loop variable of the source, or of another axis, is unknown.
        outer = {id(loop.var) for loop in self.loops}
        for expr in self._expressions():
            if any(id(var) in outer for var in _expr.undefined_vars(expr)) or _calls_function(expr):
                raise _NotStructuredError

    def _expressions(self) -> Iterator[PrimExpr]:
        stmts: list[Any] = [*self.lets, *self.stores, *self.init]
        for stmt in stmts:
            yield stmt.value
            if isinstance(stmt, st.BufferStore):
                yield from stmt.indices

    def _find_operands(self) -> None:
        outputs = {id(store.buffer): store for store in self.stores}
        context = current_context()
        output_maps = [self._output_map(store) for store in self.stores]
        self.inputs: list[BufferLoad] = []
        input_maps = []
        computed: list[Any] = [*self.lets, *self.stores]
        for position, stmt in enumerate(computed):
            stored = {id(s.buffer) for s in self.stores[: max(position - len(self.lets), 0)]}
            for load, guarded in loads(stmt.value):
                output = outputs.get(id(load.buffer))
                if output is not None:
                    # An output is read where it is written, and before that.
                    if not _same_indices(load.indices, output.indices) or id(load.buffer) in stored:
                        raise _NotStructuredError
                    continue
                exprs = self._input_exprs(load, guarded)
                if exprs is None or any(same_load(load, known) for known in self.inputs):
                    continue
                self.inputs.append(load)
                input_maps.append(ir.AffineMap.get(len(self.loops), 0, exprs, context))
        for init in self.init:
            for load, _ in loads(init.value):
                if id(load.buffer) in outputs:
                    raise _NotStructuredError
            if self._reductions(init.value):
                raise _NotStructuredError
        self.maps = [*input_maps, *output_maps]
        covered = {
            expr.position
            for affine_map in self.maps
            for expr in affine_map.results
            if isinstance(expr, ir.AffineDimExpr)
        }
        if len(covered) != len(self.loops):
            raise _NotStructuredError

    def _reductions(self, expr: PrimExpr) -> bool:
        reduced = {
            id(var)
            for var, kind in zip(self.iters, self.iterator_types, strict=True)
            if kind == "reduction"
        }
        return any(id(var) in reduced for var in _expr.undefined_vars(expr))

    def _output_map(self, store: st.BufferStore) -> ir.AffineMap:
        """Return where an output is stored: each element of it by one point of the spatial axes."""
        exprs = []
        used = set()
        for index, size in zip(store.indices, store.buffer.shape, strict=True):
            position = self.dims.get(id(bare(index)))
            if position is None:
                constant = self.constants.get(id(bare(index)), bare(index))
                if not (_is_zero(constant) and isinstance(size, IntImm) and size.value == 1):
                    raise _NotStructuredError
                exprs.append(ir.AffineExpr.get_constant(0))
                continue
            if position in used or not _same(size, self.loops[position].extent):
                raise _NotStructuredError
            used.add(position)
            exprs.append(ir.AffineExpr.get_dim(position))
        spatial = {i for i, kind in enumerate(self.iterator_types) if kind == "parallel"}
        if used != spatial:
            raise _NotStructuredError
        return ir.AffineMap.get(len(self.loops), 0, exprs, current_context())

    def _input_exprs(self, load: BufferLoad, guarded: bool) -> list[ir.AffineExpr] | None:
        """Return where an input is read; None if that is not affine, or not always in bounds."""
        exprs = []
        for index, size in zip(load.indices, load.buffer.shape, strict=True):
            linear = self._linear(bare(index))
            if linear is None:
                return None
            coefficients, offset = linear
            if len(coefficients) == 1 and offset == 0 and [*coefficients.values()] == [1]:
                (position,) = coefficients
                if not _same(size, self.loops[position].extent):
                    return None
                exprs.append(ir.AffineExpr.get_dim(position))
                continue
            if guarded or not self._in_bounds(coefficients, offset, size):
                return None
            expr = ir.AffineExpr.get_constant(offset)
            for position, factor in coefficients.items():
                expr = expr + ir.AffineExpr.get_dim(position) * factor
            exprs.append(expr)
        return exprs

    def _linear(self, expr: PrimExpr) -> tuple[dict[int, int], int] | None:
        """Return the factors of the loops, and the constant, in an index."""
        if isinstance(expr, IntImm):
            return {}, expr.value
        if id(expr) in self.constants:
            return {}, 0
        if id(expr) in self.dims:
            return {self.dims[id(expr)]: 1}, 0
        if isinstance(expr, _expr.Add | _expr.Sub):
            a, b = self._linear(bare(expr.a)), self._linear(bare(expr.b))
            if a is None or b is None:
                return None
            sign = 1 if isinstance(expr, _expr.Add) else -1
            factors = dict(a[0])
            for position, factor in b[0].items():
                factors[position] = factors.get(position, 0) + sign * factor
            return {p: f for p, f in sorted(factors.items()) if f}, a[1] + sign * b[1]
        if isinstance(expr, _expr.Mul):
            a, b = self._linear(bare(expr.a)), self._linear(bare(expr.b))
            if a is None or b is None or (a[0] and b[0]):
                return None
            (factors, offset), scale = (a, b[1]) if a[0] else (b, a[1])
            return {p: f * scale for p, f in factors.items() if f * scale}, offset * scale
        return None

    def _in_bounds(self, coefficients: dict[int, int], offset: int, size: PrimExpr) -> bool:
        """Say whether an index is in bounds; where sizes are not known, the program says so."""
        low = high = offset
        for position, factor in coefficients.items():
            extent = self.loops[position].extent
            if not isinstance(extent, IntImm):
                return low >= 0 and all(f > 0 for f in coefficients.values())
            last = max(extent.value - 1, 0) * factor
            low, high = low + min(last, 0), high + max(last, 0)
        return low >= 0 and (not isinstance(size, IntImm) or high < size.value)


def only_fills(block: st.Block) -> bool:
    """Say whether a block has nothing but ``T.init``, and ``T.evaluate(0)`` for what it lacks."""
    return bool(block.init) and all(
        isinstance(stmt, st.Evaluate) and isinstance(stmt.value, IntImm) for stmt in block.body
    )


def _is_zero(expr: PrimExpr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 0


def _same_indices(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    return all(_expr.structural_equal(bare(x), bare(y)) for x, y in zip(a, b, strict=True))


def same_load(a: BufferLoad, b: BufferLoad) -> bool:
    """Say whether two loads are of one element."""
    return a.buffer is b.buffer and _same_indices(a.indices, b.indices)


def loads(expr: PrimExpr, guarded: bool = False) -> Iterator[tuple[BufferLoad, bool]]:
    """Yield the loads of an expression, and whether each is only done on a condition."""
    if isinstance(expr, BufferLoad):
        yield expr, guarded
    operands = expr.operands()
    lazy = isinstance(expr, _expr.Select) or (isinstance(expr, Call) and expr.op == "if_then_else")
    for i, operand in enumerate(operands):
        yield from loads(operand, guarded or (lazy and i > 0))


def find_structure(stmt: st.Stmt, tensors: bool = False) -> Structure | None:
    """Return the structure of a nest of loops with a block, or None if it has none."""
    try:
        return _Structurer(stmt).run(tensors)
    except _NotStructuredError:
        return None
