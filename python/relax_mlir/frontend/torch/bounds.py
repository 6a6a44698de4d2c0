# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges of dynamic sizes, as ``torch.export`` states them: bounds of shape variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from .shapes import symbol_name

Bounds = dict[str, dict[str, int]]

# PyTorch states 2 where it has only assumed that a size is neither 0 nor 1, which it allows.
_LEAST_STATED = 3


def _range(stated: Any) -> tuple[int | None, int | None]:
    """Return the least and the largest value of a size, None where there is none."""
    lower, upper = (
        int(end) if getattr(end, "is_Integer", False) else None
        for end in (stated.lower, stated.upper)
    )
    is_stated = lower is not None and lower >= _LEAST_STATED
    return lower if is_stated else None, upper


def sizes_of(value: Any) -> Sequence[Any]:
    """Return the sizes of what an input is described as: of a tensor, or the number itself."""
    return value.shape if isinstance(value, torch.Tensor) else [value]


def _symbol(size: Any) -> Any:
    """Return the variable that a size is, or None."""
    if not isinstance(size, torch.SymInt):
        return None
    expr = size.node.expr
    return expr if expr.is_Symbol else None


def bounds_of(ranges: Mapping[Any, Any], inputs: Iterable[Any]) -> Bounds:
    """Return attributes of a function that state the ranges of its shape variables.

    Parameters
    ----------
    ranges : mapping of sympy.Symbol to ValueRanges
    inputs : iterable of torch.Tensor, torch.SymInt or object
        What a program describes its inputs as; only their sizes are bound by arguments.

    Returns
    -------
    dict of str to dict
        ``tir_var_lower_bound`` and ``tir_var_upper_bound``, where there are any.
    """
    bounds: Bounds = {}
    for value in inputs:
        for size in sizes_of(value):
            symbol = _symbol(size)
            if symbol is None or symbol not in ranges:
                continue
            for name, limit in zip(("lower", "upper"), _range(ranges[symbol]), strict=True):
                if limit is not None:
                    bounds.setdefault(f"tir_var_{name}_bound", {})[symbol_name(symbol)] = limit
    return bounds


def describe_violation(program: torch.export.ExportedProgram, leaves: Sequence[Any]) -> str:
    """Say which of the arguments has a size out of its range.

    Parameters
    ----------
    program : torch.export.ExportedProgram
    leaves : sequence
        Arguments, one for each input of the user.

    Returns
    -------
    str
        A message, which is empty if none has.
    """
    for node, leaf in zip(_inputs(program), leaves, strict=True):
        expected = sizes_of(node.meta.get("val"))
        got = sizes_of(leaf)
        if len(expected) != len(got):
            continue
        for axis, (size, actual) in enumerate(zip(expected, got, strict=True)):
            symbol = _symbol(size)
            stated = program.range_constraints.get(symbol)
            lower, upper = (None, None) if stated is None else _range(stated)
            if (lower is None or actual >= lower) and (upper is None or actual <= upper):
                continue
            what = f"dimension {axis}" if isinstance(leaf, torch.Tensor) else "a number"
            limits = [f">= {lower}"] * (lower is not None) + [f"<= {upper}"] * (upper is not None)
            return (
                f"argument '{node.name}': expected {what} {' and '.join(limits)}, as the model "
                f"was exported, but got {actual}"
            )
    return ""


def _inputs(program: torch.export.ExportedProgram) -> Iterator[torch.fx.Node]:
    """Yield the inputs of the user."""
    nodes = (node for node in program.graph.nodes if node.op == "placeholder")
    for node, spec in zip(nodes, program.graph_signature.input_specs, strict=True):
        if spec.kind == InputKind.USER_INPUT:
            yield node
