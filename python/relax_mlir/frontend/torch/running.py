# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running extremes and sums of exponentials of ATen.

Each step combines elements with those a power of two before them (Hillis and Steele 1986), so that
as many steps do as the number of elements has bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

from ... import op
from .registry import Graph, cast, converts, is_float, known, normal_axis, number, part

_Combine = Callable[[Sequence[ir.Value], Sequence[ir.Value]], list[ir.Value]]


def _running(
    values: Sequence[ir.Value], axis: int, extent: int, combine: _Combine
) -> list[ir.Value]:
    """Return what all elements up to each one are combined to.

    Parameters
    ----------
    values : sequence of mlir.ir.Value
        Tensors of one shape, which are combined together.
    axis, extent : int
    combine : callable
        Called with values before others, and these; it has to be associative.
    """
    step, current = 1, list(values)
    while step < extent:
        before = [part(one, axis, 0, extent - step) for one in current]
        behind = [part(one, axis, step, extent) for one in current]
        first = [part(one, axis, 0, step) for one in current]
        combined = combine(before, behind)
        current = [op.concat(list(pair), axis) for pair in zip(first, combined, strict=True)]
        step *= 2
    return current


@converts("cummax.default", "cummin.default")
def _extreme(graph: Graph, x: ir.Value, axis: int) -> list[ir.Value]:
    is_beyond = op.greater_equal if graph.kind == "cummax" else op.less_equal
    if graph.rank_of(0) == 0:
        return [x, number(0, "int64")]
    axis = normal_axis(axis, graph.rank_of(0))
    (extent,) = known(graph.shape_of(0)[axis : axis + 1], "a dimension")
    others = [one for one in range(graph.rank_of(0)) if one != axis]
    places = op.arange(0, extent, 1, "int64")
    places = op.broadcast_to(op.expand_dims(places, others) if others else places, graph.shape)

    def combine(before: Sequence[ir.Value], behind: Sequence[ir.Value]) -> list[ir.Value]:
        # The last one of equal ones; NaN is beyond all numbers.
        is_last = is_beyond(behind[0], before[0])
        if is_float(graph.dtype):
            is_last = op.logical_and(is_last, op.logical_not(op.isnan(before[0])))
            is_last = op.logical_or(is_last, op.isnan(behind[0]))
        return [op.where(is_last, *pair) for pair in zip(behind, before, strict=True)]

    wide = cast(x, "uint8") if graph.dtype == "bool" else x
    found, at = _running([wide, places], axis, extent, combine)
    return [cast(found, graph.dtype), at]


@converts("logcumsumexp.default")
def _log_of_sums(graph: Graph, x: ir.Value, axis: int) -> ir.Value:
    if graph.rank_of(0) == 0:
        return x
    axis = normal_axis(axis, graph.rank_of(0))
    (extent,) = known(graph.shape_of(0)[axis : axis + 1], "a dimension")
    (total,) = _running([x], axis, extent, lambda before, behind: [
        op.log_add_exp(before[0], behind[0])])  # fmt: skip
    return total
