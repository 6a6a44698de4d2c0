# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice of values of a kernel that get names, so that all are computed in their order."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from mlir import ir

from .raised_values import NotRaisableError


def children_of(
    operands: Sequence[ir.Value],
    trace: Mapping[ir.Value | None, Sequence[ir.Value]],
    known: Container[ir.Value],
) -> Iterator[ir.Value]:
    """Yield those operands that are known, and those of the other ones."""
    for operand in operands:
        if operand in known:
            yield operand
        else:
            yield from children_of(trace.get(operand, ()), trace, known)


def segments(
    nodes: Sequence[ir.Value],
    children: dict[ir.Value | None, list[ir.Value]],
    roots: Sequence[ir.Value],
    kept: set[ir.Value],
) -> list[ir.Value]:
    """Return the values to name, so that all are computed in a given order.

    Parameters
    ----------
    nodes : sequence of mlir.ir.Value
        The computed values, in order.
    children : dict of mlir.ir.Value to list of mlir.ir.Value
        The operands, in order.
    roots : sequence of mlir.ir.Value
        The values that are used in the end, in order.
    kept : set of mlir.ir.Value
        The values that have to have a name.
    """
    positions = {value: i for i, value in enumerate(nodes)}
    named: list[ir.Value] = []
    end, wanted = len(nodes), list(roots)
    while True:
        start = _first(nodes, positions, children, wanted, kept, end, bool(named))
        if start == 0:
            return named[::-1]
        end = start
        named.append(nodes[end - 1])
        wanted = [nodes[end - 1]]


def _first(
    nodes: Sequence[ir.Value],
    positions: dict[ir.Value, int],
    children: dict[ir.Value | None, list[ir.Value]],
    wanted: Sequence[ir.Value],
    kept: set[ir.Value],
    end: int,
    is_named: bool,
) -> int:
    """Return the least position from which on nodes are what computing `wanted` computes."""
    lowest = max((i + 1 for i in range(end - is_named) if nodes[i] in kept), default=0)
    for start in range(lowest, end):
        if _computes(nodes, positions, children, wanted, start, end):
            return start
    if is_named:
        raise NotRaisableError("values in an order of their own")
    return end


def _computes(
    nodes: Sequence[ir.Value],
    positions: dict[ir.Value, int],
    children: dict[ir.Value | None, list[ir.Value]],
    wanted: Sequence[ir.Value],
    start: int,
    end: int,
) -> bool:
    """Say whether what comes before `start` being known, the nodes up to `end` are computed."""
    place = start
    for root in wanted:
        stack = [(root, iter(children.get(root, ())))]
        while stack:
            value, rest = stack[-1]
            at = positions.get(value)
            if at is None or at < place:
                stack.pop()
                continue
            child = next((each for each in rest if positions.get(each, -1) >= place), None)
            if child is not None:
                stack.append((child, iter(children.get(child, ()))))
                continue
            if at != place:
                return False
            place += 1
            stack.pop()
    return place == end
