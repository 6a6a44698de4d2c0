# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single elements along an axis that operations take of a tensor."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from .operations import rank_of
from .rewriting import dims_of, made_by


@dataclass(frozen=True)
class Part:
    """One element along an axis of a tensor.

    Attributes
    ----------
    found : mlir.ir.Operation
        What takes it of its first operand.
    axis, place : int
    has_axis : bool
        Whether the axis is left, of size 1.
    """

    found: ir.Operation
    axis: int
    place: int
    has_axis: bool

    @classmethod
    def of(cls, user: ir.OpView) -> Part | None:
        """Return what an operation takes of its first operand; None if not one element."""
        found = user.operation
        dims = dims_of(found.operands[0])
        if found.name == "relax.take":
            place = _number(found.operands[1])
            if dims is None or place is None or "axis" not in found.attributes:
                return None
            return cls(found, found.attributes["axis"].value % len(dims), place, has_axis=False)
        if found.name != "relax.strided_slice" or dims is None or len(user.axes) != 1:
            return None
        shapes = [place.type.values for place in list(found.operands)[1:]]
        places = [shape.dims[0].value if shape is not None else None for shape in shapes]
        begin, end, stride = (*places, 1)[:3]
        if begin is None or end != begin + 1 or stride != 1:
            return None
        return cls(found, user.axes[0] % len(dims), begin, has_axis=True)


def removes_axis(user: ir.OpView, axis: int) -> bool:
    """Say whether an operation removes one axis of size 1."""
    return user.operation.name == "relax.squeeze" and list(user.axis or ()) == [axis]


def _number(indices: ir.Value) -> int | None:
    """Return the number that a tensor of indices is, if it is one constant."""
    constant = made_by(indices, "relax.constant")
    if constant is None or rank_of(indices) != 0:
        return None
    value = constant.attributes["value"]
    return int(value[0]) if isinstance(value, ir.DenseIntElementsAttr) else None
