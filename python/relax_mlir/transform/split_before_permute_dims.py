# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a tensor that are taken after all of it was permuted."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..core.ir import Dim
from ..core.struct_info import facts_at
from ..core.variables import unnamed, walk
from .parts import Part, removes_axis
from .python_pass import function_pass
from .rewriting import (
    are_equal,
    dims_of,
    erase_unused,
    has_one_use,
    made_by,
    order_of,
    updates_tensors,
)


@function_pass(opt_level=1)
class SplitBeforePermuteDims:
    """Split a tensor along its last axis, where its parts are taken after it was permuted.

    Transformers compute queries, keys and values by one product, reshape it to
    ``[batch, length, 3, heads, depth]``, permute that to ``[3, batch, heads, length, depth]``, and
    take each of the three. The split becomes part of the kernel of the product, and permuted parts
    become operands of attention, so that nothing is copied. A function that updates tensors in
    place is left alone.

    Examples
    --------
    >>> from relax_mlir.transform import SplitBeforePermuteDims
    >>> mod = SplitBeforePermuteDims()('''
    ... relax.func @main(%x: !relax.tensor<[n, 6], f32>) -> !relax.tensor<[1, 3, n], f32> {
    ...   %0 = relax.shape <[n, 2, 3]>
    ...   %1 = relax.reshape %x, %0 : (!relax.tensor<[n, 6], f32>, !relax.shape<[n, 2, 3]>) -> !relax.tensor<[n, 2, 3], f32>
    ...   %2 = relax.permute_dims %1 {axes = array<i64: 1, 2, 0>} : (!relax.tensor<[n, 2, 3], f32>) -> !relax.tensor<[2, 3, n], f32>
    ...   %3 = relax.shape <[0]>
    ...   %4 = relax.shape <[1]>
    ...   %5 = relax.shape <[2]>
    ...   %6 = relax.strided_slice %2, %3, %4, %4 {axes = array<i64: 0>} : (!relax.tensor<[2, 3, n], f32>, !relax.shape<[0]>, !relax.shape<[1]>, !relax.shape<[1]>) -> !relax.tensor<[1, 3, n], f32>
    ...   %7 = relax.strided_slice %2, %4, %5, %4 {axes = array<i64: 0>} : (!relax.tensor<[2, 3, n], f32>, !relax.shape<[1]>, !relax.shape<[2]>, !relax.shape<[1]>) -> !relax.tensor<[1, 3, n], f32>
    ...   %8 = relax.add %6, %7 : (!relax.tensor<[1, 3, n], f32>, !relax.tensor<[1, 3, n], f32>) -> !relax.tensor<[1, 3, n], f32>
    ...   relax.return %8 : !relax.tensor<[1, 3, n], f32>
    ... }''')
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax.s" in line]
    ['relax.split', 'relax.shape', 'relax.shape']
    """  # noqa: E501 (the lines of MLIR)

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Split the tensors of a function."""
        if updates_tensors(func.operation):
            return func
        permutes = [each for each in walk(func.operation) if each.name == "relax.permute_dims"]
        for permute in permutes:
            _split(permute)
        return func


def _split(permute: ir.Operation) -> None:
    """Replace what is taken of a tensor that was reshaped and permuted, if that is all of it."""
    reshape = made_by(permute.operands[0], "relax.reshape")
    parts = [Part.of(use.owner) for use in permute.results[0].uses]
    order = order_of(permute)
    if reshape is None or order is None or not has_one_use(reshape.results[0]):
        return
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts) or len({part.axis for part in known}) > 1:
        return
    taken = known[0].axis
    axis = order[taken]
    shape = _shape_of_parts(reshape, axis)
    if shape is None:
        return
    count = reshape.results[0].type.shape[axis].value
    if {part.place for part in known} != set(range(count)):
        return
    with ir.InsertionPoint(permute), unnamed(reshape.location):
        split = op.split(reshape.operands[0], count, axis=axis)
    left = [each - (each > axis) for each in order if each != axis]
    for part in known:
        with ir.InsertionPoint(part.found), unnamed(part.found.location):
            new = op.permute_dims(op.reshape(op.get_item(split, part.place), shape), left)
            _replace(part, new)


def _replace(part: Part, new: ir.Value) -> None:
    """Replace a part by what it is without the axis that it is taken along."""
    users = [use.owner for use in part.found.results[0].uses] if part.has_axis else []
    squeezes = [user.operation for user in users if removes_axis(user, part.axis)]
    if part.has_axis and len(squeezes) < len(users):
        with ir.InsertionPoint(part.found), unnamed(part.found.location):
            part.found.results[0].replace_all_uses_except(op.expand_dims(new, part.axis), squeezes)
    for found in squeezes or [part.found]:
        found.results[0].replace_all_uses_with(new)
        erase_unused(found)


def _shape_of_parts(reshape: ir.Operation, axis: int) -> list[Dim] | None:
    """Return the shape without an axis if the last axis was reshaped to it and what follows it."""
    before, after = dims_of(reshape.operands[0]), dims_of(reshape.results[0])
    if before is None or after is None or len(before) != axis + 1 or after[axis].value is None:
        return None
    is_last = before[-1].value is not None and are_equal(
        before[:-1], after[:axis], facts_at(reshape)
    )
    return after[:axis] + after[axis + 1 :] if is_last else None
