# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks that are being rewritten: parts between effects, their order, and what becomes unused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..core.lifetimes import key_of as key_of
from ..core.variables import _bound_names, _used_names, blocks_of, defining_op, free_vars
from .expressions import LEAVES, Scope

# Operations that nobody misses, wherever they are.
_FREE = (LEAVES - {"relax.extern_func"}) | {"relax.tuple", "relax.get_item", "relax.closure"}
_NEVER_ERASED = ("relax.match_cast", "relax.call_tir_inplace", "relax.call_inplace_packed")


def operations(block: ir.Block) -> list[ir.Operation]:
    """Return the operations of a block."""
    return [op.operation for op in block.operations]


def blocks_inside(op: ir.Operation) -> Iterator[ir.Block]:
    """Yield the blocks in an operation, those inside of others first."""
    for block in blocks_of(op):
        for inner in block.operations:
            yield from blocks_inside(inner.operation)
        yield block


def is_barrier(op: ir.Operation) -> bool:
    """Say whether nothing may be moved over an operation, and matching ends there."""
    if len(op.regions) > 0:
        return op.name != "relax.closure"
    return not _ext.is_pure(op)


def segments(block: ir.Block) -> list[list[ir.Operation]]:
    """Return the parts of a block without barriers, in order; none of them is empty."""
    found: list[list[ir.Operation]] = [[]]
    *ops, _ = operations(block)
    for op in ops:
        if is_barrier(op):
            found.append([])
        else:
            found[-1].append(op)
    return [segment for segment in found if segment]


def scope_after(block: ir.Block, barrier: ir.Operation | None) -> Scope:
    """Return the scope of a part of a block that begins after a barrier."""

    def scope(op: ir.Operation) -> bool:
        return op.block == block and (barrier is None or barrier.is_before_in_block(op))

    return scope


# ---------------------------------------------------------------------------------------------
# Order
# ---------------------------------------------------------------------------------------------


def sorted_segment(
    segment: Sequence[ir.Operation], new: set[int], replacements: Mapping[ir.Value, ir.Value]
) -> list[ir.Operation] | None:
    """Return operations in an order in which each value is made before it is used.

    Parameters
    ----------
    segment : sequence of mlir.ir.Operation
    new : set of int
        The keys of those of them that use what is replaced itself.
    replacements : mapping of mlir.ir.Value to mlir.ir.Value
        The values that all others use in place of the old ones.

    Returns
    -------
    list of mlir.ir.Operation or None
        As close to the given order as it gets. None if a value would depend on itself.
    """
    own = {key_of(op): op for op in segment}
    binders: dict[str, ir.Operation] = {}
    for op in segment:
        if op.name == "relax.match_cast":
            for name in _bound_names(op):
                binders.setdefault(name, op)

    def needed(op: ir.Operation) -> Iterator[ir.Operation]:
        values: Iterable[ir.Value] = free_vars(op) if len(op.regions) > 0 else op.operands
        for value in values:
            source = value if key_of(op) in new else replacements.get(value, value)
            made = defining_op(source)
            if made is not None and key_of(made) in own:
                yield own[key_of(made)]
        for name in _used_names(op) if binders else ():
            if name in binders and binders[name] != op:
                yield binders[name]

    return _topological(segment, needed)


def _topological(
    ops: Sequence[ir.Operation], needed: Callable[[ir.Operation], Iterator[ir.Operation]]
) -> list[ir.Operation] | None:
    order: list[ir.Operation] = []
    state: dict[int, bool] = {}  # whether it is in the order, or else on the way
    for start in ops:
        work = [] if key_of(start) in state else [(start, needed(start))]
        while work:
            op, left = work[-1]
            state.setdefault(key_of(op), False)
            following = next((dep for dep in left if state.get(key_of(dep)) is not True), None)
            if following is None:
                work.pop()
                state[key_of(op)] = True
                order.append(op)
            elif key_of(following) in state:
                return None
            else:
                work.append((following, needed(following)))
    return order


def move(segment: Sequence[ir.Operation], order: Sequence[ir.Operation]) -> None:
    """Put the operations of a part of a block into another order."""
    if all(left == right for left, right in zip(segment, order, strict=True)):
        return
    if order[0] != segment[0]:
        order[0].move_before(segment[0])
    for first, second in itertools.pairwise(order):
        second.move_after(first)


# ---------------------------------------------------------------------------------------------
# Unused operations
# ---------------------------------------------------------------------------------------------


def bury(op: ir.Operation, values: Sequence[Any]) -> None:
    """Erase an operation of the program, but keep it as long as values of it are in use.

    Parameters
    ----------
    op : mlir.ir.Operation
    values : sequence of relax_mlir.core.values.Expr
        Its results, as someone may hold them.
    """
    grave = ir.Module.create(ir.Location.unknown(op.context))
    grave.body.append(op)
    for index, operand in enumerate(list(op.operands)):
        stand_in = ir.Operation.create(
            "builtin.unrealized_conversion_cast",
            results=[operand.type],
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        op.operands[index] = stand_in.results[0]
    for value in values:
        value._module = grave


def erase_unused(
    ops: Iterable[ir.Operation],
    replaced: set[int],
    forget: Callable[[int], None],
    held: Mapping[int, Sequence[Any]] | None = None,
) -> None:
    """Erase operations that nobody uses, and then those that only they used.

    Parameters
    ----------
    ops : iterable of mlir.ir.Operation
        Where to begin.
    replaced : set of int
        The keys of operations for which others stand now; of these an error that they may end
        with is not missed.
    forget : callable
        Is told the keys of what is erased.
    held : mapping of int to sequence of Expr, optional
        By keys of operations, their values that someone may hold: they stay valid.
    """
    work = [(key_of(op), op) for op in ops]
    erased: set[int] = set()
    while work:
        key, op = work.pop()
        if key in erased or not _is_erasable(op, key in replaced):
            continue
        for operand in op.operands:
            made = defining_op(operand)
            if made is not None:
                work.append((key_of(made), made))
        erased.add(key)
        forget(key)
        if held and key in held:
            bury(op, held[key])
        else:
            op.erase()


def _is_erasable(op: ir.Operation, is_replaced: bool) -> bool:
    if any(True for result in op.results for _ in result.uses) or len(op.results) == 0:
        return False
    if op.name in _FREE:
        return True
    if op.name in _NEVER_ERASED or len(op.regions) > 0 or not _ext.is_pure(op):
        return False
    in_dataflow: bool = op.parent.operation.name == "relax.dataflow"
    return is_replaced or (in_dataflow and op.name.startswith("relax."))
