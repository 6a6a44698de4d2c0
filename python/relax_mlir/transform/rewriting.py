# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replacement of operations by what computes the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..core.ir import Dim, Facts, TensorStructInfo
from ..core.struct_info import facts_at, is_subtype
from ..core.variables import defining_op, unnamed, walk

_UPDATES = frozenset({"relax.call_tir_inplace", "relax.call_inplace_packed"})

Rewrite = Callable[[ir.Operation], "ir.Value | None"]


def rewrite_operations(function: ir.Operation, names: Iterable[str], rewrite: Rewrite) -> bool:
    """Replace operations of a function, which is changed, until nothing is left to replace.

    Parameters
    ----------
    function : mlir.ir.Operation
    names : iterable of str
        The operations to look at, which have one result.
    rewrite : callable
        It gets an operation and returns the value that replaces its result, or None. What it
        inserts is inserted before the operation. The replacement is left out where its type is not
        provably that of the result, or a subtype of it.

    Returns
    -------
    bool
        Whether anything was replaced.
    """
    wanted = frozenset(names)
    changed = False
    while _sweep(function, wanted, rewrite):
        changed = True
    return changed


def _sweep(function: ir.Operation, names: frozenset[str], rewrite: Rewrite) -> bool:
    """Look at each operation once, in order: only those before it are erased meanwhile."""
    changed = False
    for found in list(walk(function)):
        if found.name in names:
            changed |= rewrite_operation(found, rewrite)
    return changed


def rewrite_operation(found: ir.Operation, rewrite: Rewrite) -> bool:
    """Replace an operation, and erase what nothing uses then.

    Parameters
    ----------
    found : mlir.ir.Operation
        It has one result.
    rewrite : callable
        As `rewrite_operations` takes it.

    Returns
    -------
    bool
        Whether it was replaced.
    """
    new, made = _make(found, rewrite)
    old = found.results[0]
    if new is None or new == old or not _may_stand_for(new, old, found):
        for each in reversed(made):
            each.erase()
        return False
    if made and defining_op(new) == made[-1]:
        made[-1].location = found.location
    old.replace_all_uses_with(new)
    erase_unused(found)
    return True


def _make(found: ir.Operation, rewrite: Rewrite) -> tuple[ir.Value | None, list[ir.Operation]]:
    """Return the replacement of an operation, and what was inserted for it."""
    point = ir.InsertionPoint(found)
    start = ir.Operation.create("builtin.unrealized_conversion_cast", loc=found.location, ip=point)
    try:
        with found.context, point, unnamed(found.location):
            new = rewrite(found)
    finally:
        made = list(_between(start, found))
        start.erase()
    return new, made


def _between(start: ir.Operation, end: ir.Operation) -> Iterator[ir.Operation]:
    each = _ext.next_operation(start)
    while each is not None and each != end:
        yield each
        each = _ext.next_operation(each)


def _may_stand_for(new: ir.Value, old: ir.Value, place: ir.Operation) -> bool:
    if new.type == old.type or is_subtype(new.type, old.type):
        return True
    return bool(is_subtype(new.type, old.type, facts_at(place)))


def erase_unused(found: ir.Operation) -> None:
    """Erase an operation if nothing uses it, and then what it alone was computed of."""
    pending = [found]
    while pending:
        op = pending.pop()
        if not _is_unused(op):
            continue
        owners = [defining_op(operand) for operand in op.operands]
        op.erase()
        pending += dict.fromkeys(owner for owner in owners if owner is not None)


def erase_all_unused(function: ir.Operation) -> None:
    """Erase the operations of a function that nothing uses."""
    for found in reversed(list(walk(function))):  # users come before what they use
        if _is_unused(found):
            found.erase()


def _is_unused(found: ir.Operation) -> bool:
    """Say whether an operation of this dialect, without effects, has results that nobody uses."""
    if len(found.regions) or len(found.results) == 0 or not found.name.startswith("relax."):
        return False
    return _ext.is_pure(found) and not any(True for result in found.results for _ in result.uses)


def updates_tensors(function: ir.Operation) -> bool:
    """Say whether a function updates tensors in place, so that it matters when others are read."""
    return any(found.name in _UPDATES for found in walk(function))


def made_by(value: ir.Value, name: str) -> ir.Operation | None:
    """Return the operation that makes a value if it has a certain name."""
    op = defining_op(value)
    return op if op is not None and op.name == name else None


def has_one_use(value: ir.Value) -> bool:
    """Say whether a value is used in one place."""
    return len(list(value.uses)) == 1


def dims_of(value: ir.Value) -> list[Dim] | None:
    """Return the dimensions of a tensor; None where they are not known."""
    type_ = value.type
    if not isinstance(type_, TensorStructInfo) or type_.shape is None:
        return None
    return list(type_.shape)


def dtype_of(value: ir.Value) -> str | None:
    """Return the data type of a tensor; None where it is not known, or of anything else."""
    return value.type.dtype if isinstance(value.type, TensorStructInfo) else None


def has_one_dtype(*found: ir.Operation) -> bool:
    """Say whether operations have tensors of one data type, as operands and results.

    An operator takes operands of one data type, be it known or not; its ``out_dtype`` is another
    one.
    """
    values = [value for each in found for value in (*each.operands, *each.results)]
    dtypes = {dtype_of(value) for value in values}
    return len(dtypes) == 1 and (
        None not in dtypes or not any("out_dtype" in each.attributes for each in found)
    )


def are_equal(lhs: Iterable[Dim], rhs: Iterable[Dim], facts: Facts | None = None) -> bool:
    """Say whether dimensions are provably equal, one by one, and as many."""
    pairs = list(lhs), list(rhs)
    return len(pairs[0]) == len(pairs[1]) and all(
        one == other or one.prove_equal(other, facts) for one, other in zip(*pairs, strict=True)
    )


def have_one_shape(one: ir.Value, other: ir.Value, facts: Facts) -> bool:
    """Say whether two tensors provably have the same shape."""
    dims = dims_of(one), dims_of(other)
    return dims[0] is not None and dims[1] is not None and are_equal(dims[0], dims[1], facts)


def order_of(permute: ir.Operation) -> list[int] | None:
    """Return the axes of a `permute_dims`, not negative; None where the rank is not known."""
    dims = dims_of(permute.operands[0])
    if dims is None:
        return None
    if "axes" not in permute.attributes:
        return list(range(len(dims)))[::-1]
    return [axis % len(dims) for axis in permute.attributes["axes"]]


def transposed(value: ir.Value) -> ir.Operation | None:
    """Return the `permute_dims` that makes a value if it swaps the last two axes."""
    permute = made_by(value, "relax.permute_dims")
    order = order_of(permute) if permute is not None else None
    if order is None or len(order) < 2:
        return None
    return permute if order == swapped(len(order)) else None


def swapped(rank: int) -> list[int]:
    """Return the axes of a `permute_dims` that swaps the last two."""
    return [*range(rank - 2), rank - 1, rank - 2]
