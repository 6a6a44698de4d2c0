# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that are computed of a permuted tensor, along other axes.

A carrier takes an operation, its first operand as it was before it was permuted back, and the axes
of that permutation. It returns the new operation and the axes that permute its result back, or None
where the operation needs the old layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

from ..op._ops_gen import POOLS, REDUCTIONS
from .operations import copy_operation, text_attribute

Axes = tuple[int, ...]
_Carried = tuple[ir.Operation, Axes] | None
_Carrier = Callable[[ir.Operation, ir.Value, Axes], _Carried]


def _remake(found: ir.Operation, source: ir.Value, **attributes: ir.Attribute) -> ir.Operation:
    return copy_operation(found, [source, *list(found.operands)[1:]], attributes)


def _array(values: Sequence[int]) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(values))


def moved_axis(found: ir.Operation, axes: Axes, default: int = 0) -> ir.Attribute:
    """Return the attribute `axis`, or its default, as the axis of what is permuted."""
    axis = found.attributes["axis"].value if "axis" in found.attributes else default
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axes[axis % len(axes)])


def _along_axis(default: int | None) -> _Carrier:
    """Return the carrier of operations along one axis; None: they have to state it."""

    def carry(found: ir.Operation, source: ir.Value, axes: Axes) -> _Carried:
        if default is None and "axis" not in found.attributes:
            return None
        return _remake(found, source, axis=moved_axis(found, axes, default or 0)), axes

    return carry


def _strided_slice(found: ir.Operation, source: ir.Value, axes: Axes) -> _Carried:
    moved = [axes[axis % len(axes)] for axis in found.attributes["axes"]]
    return _remake(found, source, axes=_array(moved)), axes


def _without(axes: Axes, removed: set[int]) -> Axes:
    """Return the permutation of what is left when some axes of the old layout are removed."""
    left = [axis for i, axis in enumerate(axes) if i not in removed]
    return tuple(map(sorted(left).index, left))


def _expand_dims(found: ir.Operation, source: ir.Value, axes: Axes) -> _Carried:
    given = list(found.attributes["axis"])
    rank = len(axes) + len(given)
    added = {axis % rank for axis in given}
    # Where the axes of the operand are in the result, in either layout.
    places = [axis for axis in range(rank) if axis not in added]
    moved = {place: places[axes[i]] for i, place in enumerate(places)}
    return _remake(found, source), tuple(moved.get(axis, axis) for axis in range(rank))


def _tile(found: ir.Operation, source: ir.Value, axes: Axes) -> _Carried:
    given = list(found.attributes["repeats"])
    if len(given) > len(axes):
        return None
    repeats = [1] * (len(axes) - len(given)) + given
    moved = [repeats[axes.index(axis)] for axis in range(len(axes))]
    return _remake(found, source, repeats=_array(moved)), axes


def _layer_norm(found: ir.Operation, source: ir.Value, axes: Axes) -> _Carried:
    moved = [axes[axis % len(axes)] for axis in found.attributes["axes"]]
    if moved != sorted(moved):  # the axes of the other operands are in their order
        return None
    return _remake(found, source, axes=_array(moved)), axes


def _along_layout(found: ir.Operation, source: ir.Value, axes: Axes) -> _Carried:
    """Carry an operation that states the layout of what it is computed of."""
    rank = len(axes)
    layout = text_attribute(found, "layout", {3: "NCW", 4: "NCHW", 5: "NCDHW"}[rank])
    if text_attribute(found, "out_layout", layout) != layout:
        return None
    moved = ir.StringAttr.get("".join(layout[axes.index(i)] for i in range(rank)))
    operands = [source, *list(found.operands)[1:]]
    return copy_operation(found, operands, {"layout": moved}, without=("out_layout",)), axes


def _reduction(found: ir.Operation, source: ir.Value, axes: Axes) -> _Carried:
    if "axis" not in found.attributes:
        return None
    reduced = {axis % len(axes) for axis in found.attributes["axis"]}
    new = _remake(found, source, axis=_array(sorted(axes[axis] for axis in reduced)))
    keeps = "keepdims" in found.attributes and found.attributes["keepdims"].value
    return new, axes if keeps else _without(axes, reduced)


#: The carriers by operation. Of `split` and `batch_norm` the axes are those of the fields.
CARRIERS: dict[str, _Carrier] = {
    "relax.batch_norm": _along_axis(0),
    "relax.expand_dims": _expand_dims,
    "relax.flip": _along_axis(0),
    "relax.layer_norm": _layer_norm,
    "relax.log_softmax": _along_axis(-1),
    "relax.repeat": _along_axis(None),
    "relax.softmax": _along_axis(-1),
    "relax.split": _along_axis(0),
    "relax.squeeze": _reduction,
    "relax.strided_slice": _strided_slice,
    "relax.tile": _tile,
    **dict.fromkeys(POOLS, _along_layout),
    **dict.fromkeys(REDUCTIONS, _reduction),
}
