# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding of ATen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ...composites.padding import pad
from ...core.ir import Dim
from .registry import Graph, converts, dtype_of, number, rank_of

# The modes of PyTorch, by the names that NumPy has for them.
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _is_negative(width: Any) -> bool:
    return isinstance(width, int) and width < 0


def _padded(x: ir.Value, widths: Sequence[Any], mode: str, value: Any = 0) -> ir.Value:
    """Return a tensor with elements around it.

    Parameters
    ----------
    x : mlir.ir.Value
    widths : sequence of int or Dim
        Before and after the last dimension, then the one before it, and so on; negative ones take
        elements away.
    mode : str
    value : number
        What is added with the mode constant.
    """
    sizes = [one.value if isinstance(one, Dim) and one.value is not None else one for one in widths]
    if mode == "circular" and any(_is_negative(one) for one in sizes):
        # What is left comes again, not what is taken away.
        x = _padded(x, [one if _is_negative(one) else 0 for one in sizes], "constant")
        sizes = [0 if _is_negative(one) else one for one in sizes]
    others = [0] * (rank_of(x) - len(sizes) // 2)
    begins, ends = [*others, *sizes[-2::-2]], [*others, *sizes[::-2]]
    return pad(x, [*begins, *ends], _MODES[mode], number(value, dtype_of(x)))


@converts("constant_pad_nd.default")
def _constant(graph: Graph, x: ir.Value, widths: Sequence[Any], value: Any = 0) -> ir.Value:
    return _padded(x, widths, "constant", value)


@converts("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def _reflection(graph: Graph, x: ir.Value, widths: Sequence[Any]) -> ir.Value:
    return _padded(x, widths, "reflect")


@converts("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def _replication(graph: Graph, x: ir.Value, widths: Sequence[Any]) -> ir.Value:
    return _padded(x, widths, "replicate")


@converts("_pad_circular.default")
def _circular(graph: Graph, x: ir.Value, widths: Sequence[Any]) -> ir.Value:
    return _padded(x, widths, "circular")


@converts("pad.default")
def _pad(
    graph: Graph, x: ir.Value, widths: Sequence[Any], mode: str = "constant", value: Any = None
) -> ir.Value:
    return _padded(x, widths, mode, 0 if value is None else value)
