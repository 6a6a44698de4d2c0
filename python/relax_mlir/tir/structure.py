# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of tensor programs that are structured operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlir import ir

from . import expr as _expr
from . import stmt as st
from .dims import same_dim
from .expr import BufferLoad, Call, IntImm, PrimExpr, Var, is_one, is_zero
from .generic import Affine, IterationSpace, bare, bounded_loops, loads

EFFECTS = ("call_extern", "prefetch")
"""Calls that may be more than a value."""


@dataclasses.dataclass
class Generic:
    """What a ``linalg.generic`` computes."""

    iters: list[Var]  # by loop
    kinds: list[str]  # "parallel" or "reduction", by loop
    stores: list[st.BufferStore] = dataclasses.field(default_factory=list)
    lets: list[st.Let] = dataclasses.field(default_factory=list)
    inputs: list[BufferLoad] = dataclasses.field(default_factory=list)
    # Of the inputs, then the outputs.
    maps: list[ir.AffineMap] = dataclasses.field(default_factory=list)

    @property
    def statements(self) -> list[st.Let | st.BufferStore]:
        """The statements of the body."""
        return [*self.lets, *self.stores]

    def loops_of(self, kind: str) -> list[int]:
        """Return the loops of a kind."""
        return [loop for loop, each in enumerate(self.kinds) if each == kind]


class _NotStructuredError(Exception):
    """A block has to become loops."""


def _require(condition: bool) -> None:
    if not condition:
        raise _NotStructuredError


class Structure:
    """A nest of loops with a block that is a ``linalg.generic``: see `find_structure`.

    Attributes
    ----------
    block : Block
    generic : Generic
        What the block computes, but for its initial values.
    init : list of BufferStore
        The initial values of the outputs, in their order; or none.
    constants : list of Var
        The axes without a loop, which are 0.
    """

    def __init__(self, root: st.Stmt, tensors: bool) -> None:
        self._loops: list[st.For] = []
        stmt = root
        while isinstance(stmt, st.For):
            _require(stmt.kind == "serial" and stmt.step is None and not stmt.annotations)
            _require(is_zero(stmt.min) and len(stmt.body) == 1)
            self._loops.append(stmt)
            stmt = stmt.body[0]
        if not isinstance(stmt, st.Block) or stmt.predicates or stmt.annotations:
            raise _NotStructuredError
        _require(tensors or bool(self._loops))
        # An extent that depends on a loop is not that of a box.
        self._variables = [loop.var for loop in self._loops]
        _require(not _use([loop.extent for loop in self._loops], self._variables))
        self.block = stmt
        self._bind_axes()
        self._split_body()
        self._find_operands()

    def initial(self, init: st.BufferStore) -> Generic:
        """Return how the initial values of an output are computed."""
        spatial = self.generic.loops_of("parallel")
        iters = [self.generic.iters[loop] for loop in spatial]
        space = IterationSpace([self._loops[loop].extent for loop in spatial], self._known(iters))
        map_ = space.map_of(init.indices, init.buffer.shape, _is_only)
        assert map_ is not None
        return Generic(iters, ["parallel"] * len(iters), [init], maps=[map_])

    def _known(self, iters: Sequence[Var]) -> dict[Var, Affine]:
        loops = {var: Affine({loop: 1}) for loop, var in enumerate(iters)}
        return loops | {var: Affine({}) for var in self.constants}

    def _bind_axes(self) -> None:
        """Find the axis of each loop."""
        bound: dict[int, st.Axis] = {}
        positions = {id(var): loop for loop, var in enumerate(self._variables)}
        self.constants: list[Var] = []
        for axis in self.block.axes:
            _require(axis.kind in ("spatial", "reduce") and is_zero(axis.min))
            binding = bare(axis.binding)
            if is_zero(binding) and is_one(axis.extent):
                self.constants.append(axis.var)
                continue
            loop = positions.get(id(binding))
            if loop is None or loop in bound:
                raise _NotStructuredError
            _require(same_dim(axis.extent, self._loops[loop].extent))
            bound[loop] = axis
        _require(len(bound) == len(self._loops))
        axes = [bound[loop] for loop in range(len(bound))]
        kinds = ["parallel" if axis.kind == "spatial" else "reduction" for axis in axes]
        self.generic = Generic([axis.var for axis in axes], kinds)
        extents = [loop.extent for loop in self._loops]
        self._space = IterationSpace(extents, self._known(self.generic.iters))

    def _split_body(self) -> None:
        """Find the statements, and the initial values of the outputs."""
        block, generic = self.block, self.generic
        init = {id(stmt.buffer): stmt for stmt in block.init if isinstance(stmt, st.BufferStore)}
        _require(len(init) == len(block.init))
        if only_fills(block):
            generic.stores = list(init.values())
        else:
            generic.lets = [stmt for stmt in block.body if isinstance(stmt, st.Let)]
            generic.stores = [stmt for stmt in block.body if isinstance(stmt, st.BufferStore)]
            _require(bool(generic.stores) and generic.statements == block.body)
        outputs = {id(store.buffer): store for store in generic.stores}
        _require(len(outputs) == len(generic.stores))
        _require(not init or init.keys() == outputs.keys())
        self.init = [init[buffer] for buffer in outputs] if init else []
        # Inside, the value of a loop variable of the source, or of another axis, is unknown.
        values = [stmt.value for stmt in (*generic.statements, *self.init)]
        indices = [index for store in generic.stores for index in store.indices]
        _require(not _use([*values, *indices], self._variables))
        _require(not any(map(_calls_function, values)))
        reduced = [generic.iters[loop] for loop in generic.loops_of("reduction")]
        for first in self.init:
            _require(_same_indices(first.indices, outputs[id(first.buffer)].indices))
            _require(not _use([first.value], reduced))
            _require(not any(id(load.buffer) in outputs for load, _ in loads([first.value])))

    def _find_operands(self) -> None:
        generic, space = self.generic, self._space
        outputs = {id(store.buffer): store for store in generic.stores}
        stored: set[int] = set()
        for stmt in generic.statements:
            for load, guarded in loads([stmt.value]):
                output = outputs.get(id(load.buffer))
                if output is not None:
                    # An output is read where it is written, and before that.
                    _require(_same_indices(load.indices, output.indices))
                    _require(id(load.buffer) not in stored)
                    continue
                fits = None if guarded else self._in_bounds
                map_ = space.map_of(load.indices, load.buffer.shape, fits)
                if map_ is not None and not any(same_load(load, known) for known in generic.inputs):
                    generic.inputs.append(load)
                    generic.maps.append(map_)
            if isinstance(stmt, st.BufferStore):
                stored.add(id(stmt.buffer))
        generic.maps += [self._output_map(store) for store in generic.stores]
        _require(len(bounded_loops(generic.maps)) == len(self._loops))

    def _output_map(self, store: st.BufferStore) -> ir.AffineMap:
        """Return where an output is stored: each element of it by one point of the spatial axes."""
        _require(all(isinstance(bare(index), Var | IntImm) for index in store.indices))
        map_ = self._space.map_of(store.indices, store.buffer.shape, _is_only)
        if map_ is None:
            raise _NotStructuredError
        loops = [expr.position for expr in map_.results if isinstance(expr, ir.AffineDimExpr)]
        _require(sorted(loops) == self.generic.loops_of("parallel"))
        return map_

    def _in_bounds(self, index: Affine, size: PrimExpr) -> bool:
        """Say whether an index is in bounds; where sizes are not known, the program says so."""
        ends = self._space.ends(index)
        if ends is None:
            return index.offset >= 0 and all(factor > 0 for factor in index.factors.values())
        return ends[0] >= 0 and (not isinstance(size, IntImm) or ends[1] < size.value)


def find_structure(stmt: st.Stmt, tensors: bool) -> Structure | None:
    """Return the structure of a nest of loops with a block, or None if it has none.

    A block without loops has one in a function on tensors only.
    """
    try:
        return Structure(stmt, tensors)
    except _NotStructuredError:
        return None


def only_fills(block: st.Block) -> bool:
    """Say whether a block has nothing but ``T.init``, and ``T.evaluate(0)`` for what it lacks."""
    return bool(block.init) and all(
        isinstance(stmt, st.Evaluate) and isinstance(stmt.value, IntImm) for stmt in block.body
    )


def same_load(a: BufferLoad, b: BufferLoad) -> bool:
    """Say whether two loads are of one element."""
    return a.buffer is b.buffer and _same_indices(a.indices, b.indices)


def _same_indices(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    return all(_expr.structural_equal(bare(x), bare(y)) for x, y in zip(a, b, strict=True))


def _is_only(index: Affine, size: PrimExpr) -> bool:
    """Say whether an index is that of the only element of a dimension."""
    return index == Affine({}) and is_one(size)


def _use(exprs: Sequence[PrimExpr], variables: Sequence[Var]) -> bool:
    """Say whether expressions use one of some variables."""
    ids = {id(var) for var in variables}
    return any(id(var) in ids for expr in exprs for var in _expr.undefined_vars(expr))


def _calls_function(expr: PrimExpr) -> bool:
    """Say whether a function is called, which may have an effect."""
    nodes: list[PrimExpr] = []
    _expr.post_order_visit(expr, nodes.append)
    return any(isinstance(node, Call) and node.op in EFFECTS for node in nodes)
