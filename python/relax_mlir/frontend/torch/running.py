# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running extremes and sums of exponentials of ATen."""

from __future__ import annotations

from mlir import ir

from ...composites.scans import log_of_running_sums, running_extreme
from .registry import Graph, cast, converts, normal_axis, number, wide


@converts("cummax.default", "cummin.default")
def _extreme(graph: Graph, x: ir.Value, axis: int) -> list[ir.Value]:
    rank = graph.rank_of(0)
    if rank == 0:
        return [x, number(0, "int64")]
    data = cast(x, "uint8") if graph.dtype == "bool" else x
    found, at = running_extreme(data, normal_axis(axis, rank), graph.kind == "cummax")
    return [cast(found, graph.dtype), at]


@converts("logcumsumexp.default")
def _log_of_sums(graph: Graph, x: ir.Value, axis: int) -> ir.Value:
    rank = graph.rank_of(0)
    if rank == 0:
        return x
    return cast(log_of_running_sums(wide(x), normal_axis(axis, rank)), graph.dtype)
