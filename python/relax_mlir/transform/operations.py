# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of a graph that a pass makes again, of other operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir import ir

from ..core.ir import TensorStructInfo


def copy_operation(
    found: ir.Operation,
    operands: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute] | None = None,
    without: Sequence[str] = (),
    name: str = "",
) -> ir.Operation:
    """Make an operation of other operands, with other attributes; its type is derived.

    Parameters
    ----------
    found : mlir.ir.Operation
    operands : sequence of mlir.ir.Value
    attributes : mapping of str to mlir.ir.Attribute, optional
        Those that differ.
    without : sequence of str
        The attributes to leave out.
    name : str
        The name of the operation; that of `found` where it is empty.
    """
    all_named = (found.attributes[i] for i in range(len(found.attributes)))
    kept = {named.name: named.attr for named in all_named if named.name not in without}
    return ir.Operation.create(
        name or found.name,
        operands=operands,
        attributes=kept | dict(attributes or {}),
        infer_type=True,
    )


def text_attribute(found: ir.Operation, name: str, default: str) -> str:
    """Return the value of an attribute that is a string."""
    return str(found.attributes[name].value) if name in found.attributes else default


def ints_attribute(found: ir.Operation, name: str, default: list[int]) -> list[int]:
    """Return the numbers of an attribute that is an array of them."""
    return list(found.attributes[name]) if name in found.attributes else default


def rank_of(value: ir.Value) -> int | None:
    """Return the rank of a tensor whose dimensions are known; None of any other value."""
    if not isinstance(value.type, TensorStructInfo) or value.type.shape is None:
        return None
    return len(value.type.shape)
