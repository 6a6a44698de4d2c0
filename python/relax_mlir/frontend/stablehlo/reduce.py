# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from . import regions
from .elementwise import binary
from .registry import Function, Node, converts
from .values import Value, as_known, as_tensor, cast, dtype_of, is_float, rank_of

_REDUCTIONS: dict[str, Function] = {
    "add": op.sum,
    "multiply": op.prod,
    "maximum": op.max,
    "minimum": op.min,
}
_OF_CONDITIONS = {"or": "maximum", "and": "minimum", "add": "maximum", "multiply": "minimum",
                  "maximum": "maximum", "minimum": "minimum"}  # fmt: skip


def identity(kind: str, dtype: str) -> Any:
    """Return the number that a reduction begins with; None where it has none here."""
    if kind in ("add", "or", "xor"):
        return 0
    if kind == "multiply":
        return 1
    if dtype == "bool":
        return kind in ("and", "minimum")
    if kind == "and":
        return -1
    if kind not in ("maximum", "minimum"):
        return None
    if is_float(dtype):
        return float("-inf" if kind == "maximum" else "inf")
    limits = np.iinfo(dtype)
    return limits.min if kind == "maximum" else limits.max


def begins_neutral(initial: Value, kind: str) -> bool:
    """Say whether a reduction is known to begin with a number that changes nothing."""
    array = as_known(initial)
    neutral = identity(kind, dtype_of(initial))
    return isinstance(array, np.ndarray) and neutral is not None and array.item() == neutral


@converts("stablehlo.reduce", raw=True)
def _reduce(node: Node, *operands: Value) -> Any:
    count = len(operands) // 2
    inputs, initials = operands[:count], operands[count:]
    block, axes = node.regions[0], list(node.attr("dimensions"))
    kinds = regions.each(block)
    if kinds is None:
        return _extreme(node, inputs, initials, axes)
    return tuple(
        _reduced(node, x, initial, kind, axes)
        for x, initial, kind in zip(inputs, initials, kinds, strict=True)
    )


def _reduced(node: Node, x: Value, initial: Value, kind: str, axes: list[int]) -> ir.Value:
    combine = binary(kind)
    result = combine and reduced(as_tensor(x), kind, axes)
    if combine is None or result is None:
        raise regions.unsupported(
            node, node.regions[0], "add, multiply, maximum, minimum, and, or, argmax or argmin"
        )
    return result if begins_neutral(initial, kind) else combine(result, as_tensor(initial))


def reduced(x: ir.Value, kind: str, axes: list[int]) -> ir.Value | None:
    """Return a reduction by an operator; None where there is none for it.

    Parameters
    ----------
    x : mlir.ir.Value
    kind : str
        The name of the operator in StableHLO, without its dialect.
    axes : list of int
    """
    if not axes:
        return x
    if dtype_of(x) == "bool":
        if kind not in _OF_CONDITIONS:
            return None
        return cast(_REDUCTIONS[_OF_CONDITIONS[kind]](cast(x, "uint8"), axes), "bool")
    return _REDUCTIONS[kind](x, axes) if kind in _REDUCTIONS else None


def _extreme(node: Node, inputs: Any, initials: Any, axes: list[int]) -> Any:
    """Return an extreme with its place, which two operands of a reduction are."""
    block = node.regions[0]
    kind = regions.extreme_with_place(node, block) if len(inputs) == 2 else None
    if kind is None or len(axes) != 1 or not _is_count(node, axes[0]):
        raise regions.unsupported(
            node, block, "add, multiply, maximum, minimum, and, or, or an extreme of numbers with "
            "their places along one dimension",
        )  # fmt: skip
    if not begins_neutral(initials[0], f"{kind}imum"):
        raise NotImplementedError("expected an extreme that begins with infinity")
    x, dtype = as_tensor(inputs[0]), dtype_of(inputs[1])
    largest, place = (op.max, op.argmax) if kind == "max" else (op.min, op.argmin)
    return largest(x, axes), cast(place(x, axes[0]), dtype)


def _is_count(node: Node, axis: int) -> bool:
    """Say whether the second operand counts along an axis."""
    owner = node.operation.operands[1].owner
    operation = getattr(owner, "operation", owner)
    name = getattr(operation, "name", "")
    if name not in ("stablehlo.iota", "stablehlo.dynamic_iota"):
        return False
    return bool(operation.attributes["iota_dimension"].value == axis)


@converts("stablehlo.torch_index_select")
def _index_select(node: Node, x: ir.Value, places: ir.Value) -> ir.Value:
    if node.attr("batch_dims", 0):
        raise NotImplementedError("expected torch_index_select without batch dimensions")
    return op.take(x, places, node.attr("dim") % max(rank_of(x), 1))
