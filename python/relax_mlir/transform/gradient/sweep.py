# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reverse mode: a block is walked backwards, from adjoints of its values to those they depend on.

A branch is computed again where its adjoint is: only what it captures is kept. So is what is
between `start_checkpoint` and `end_checkpoint`, and a function that is called (see `functions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mlir import ir

from ... import op
from ...builder.places import set_name
from ...core.ir import TupleStructInfo
from ...core.struct_info import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from ...core.variables import blocks_of, defining_op, unnamed, var_name, walk
from ...dialects import relax as _ops
from ...te import call_kernel
from .registry import NO_GRADIENT, RULES, Adjoint, Forward
from .shapes import is_differentiable
from .structure import added, adjoint_type, as_adjoint, as_value


class Kernels:
    """Writes kernels into a module.

    Parameters
    ----------
    add : callable
        ``add(kernel, name)`` adds one to the module, and returns its name.
    """

    def __init__(self, add: Callable[[Any, str], Any]) -> None:
        self._add = add

    def emit_te(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function of tensor expressions as a kernel."""
        made = call_kernel(function, args, kwargs)
        name = self._add(made.kernel, made.name)
        return op.call_tir(name, made.args, made.out_sinfo, made.tir_vars or None)


class Sweep:
    """The adjoints of the values of a block.

    Parameters
    ----------
    kernels : Kernels
    call : callable
        ``call(operation, adjoint, operands)`` writes the adjoint of a call, and returns that of
        each of its operands.
    active : iterable of mlir.ir.Value
        The values that gradients are wanted of.
    """

    def __init__(self, kernels: Kernels, call: Any, active: Iterable[Any]) -> None:
        self._kernels = kernels
        self._call = call
        self._active = set(active)
        self._adjoints: dict[Any, Adjoint] = {}

    def adjoint(self, value: Any) -> Adjoint:
        """Return the adjoint of a value; None where it is zero."""
        return self._adjoints.get(value)

    def add(self, value: Any, part: Adjoint) -> None:
        """Add to the adjoint of a value, if anybody wants it."""
        if value not in self._active or part is None:
            return
        total = added(self._adjoints.get(value), part)
        self._adjoints[value] = total
        if not isinstance(total, list):
            _name_adjoint(total, value)

    # -- which values have gradients ----------------------------------------------------------

    def mark(self, operations: Sequence[ir.Operation]) -> None:
        """Find the values that depend on those that gradients are wanted of."""
        for operation in operations:
            if operation.name in NO_GRADIENT:
                continue
            used = {value for each in walk(operation) for value in each.operands}
            if used & self._active:
                self._active.update(
                    result for result in operation.results if is_differentiable(result.type)
                )

    # -- backwards ----------------------------------------------------------------------------

    def run(self, operations: Sequence[ir.Operation]) -> None:
        """Write the adjoints of the operands of operations, from the last one to the first."""
        again = _Again(operations)
        for operation in reversed(operations):
            if len(operation.results) != 1:
                continue
            adjoint = self._adjoints.get(operation.results[0])
            if adjoint is None:
                continue
            with unnamed(operation.location):
                self._step(operation, adjoint, again)

    def _step(self, operation: ir.Operation, adjoint: Adjoint, again: _Again) -> None:
        if operation.name == "relax.if":
            self._branch(operation, adjoint)
            return
        operands = list(operation.operands)
        if operation.name == "relax.call":
            parts = self._call(operation, adjoint, operands)
        else:
            rule = RULES.get(operation.name)
            if rule is None:
                raise ValueError(_without_rule(operation))
            result = again.value(operation.results[0])
            forward = Forward(
                operation, [again.value(each) for each in operands], result, self._kernels.emit_te
            )
            parts = rule(forward, adjoint)
        for operand, part in zip(operands, parts, strict=True):
            if operand in self._active:
                self.add(operand, part() if callable(part) and not _is_value(part) else part)

    def _branch(self, operation: ir.Operation, adjoint: Adjoint) -> None:
        """Write a branch that computes the adjoints of what both branches capture."""
        captured = self._captured(operation)
        types = TupleStructInfo([adjoint_type(value.type) for value in captured])
        made = _ops.IfOp(types, operation.operands[0])
        for given, region in zip(operation.regions, made.operation.regions, strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                _ops.YieldOp(self._branch_adjoints(given.blocks[0], adjoint, captured))
        for i, value in enumerate(captured):
            self.add(value, as_adjoint(op.get_item(made.operation.results[0], i), value.type))

    def _captured(self, operation: ir.Operation) -> list[Any]:
        """Return the values that the regions of an operation use and that have gradients."""
        inner = [each for each in walk(operation) if each != operation]
        bound = {result for each in inner for result in each.results}
        used = dict.fromkeys(value for each in inner for value in each.operands)
        return [value for value in used if value in self._active and value not in bound]

    def _branch_adjoints(self, block: ir.Block, adjoint: Adjoint, captured: Sequence[Any]) -> Any:
        """Compute a branch again and return the adjoints of what it captures, as a tuple."""
        *body, end = (each.operation for each in block.operations)
        copies: dict[Any, Any] = {}
        made = [copy_operation(each, copies) for each in body]
        sweep = Sweep(self._kernels, self._call, captured)
        sweep.mark(made)
        result = copies.get(end.operands[0], end.operands[0])
        sweep.add(result, adjoint)
        sweep.run(made)
        return op.tuple(*(as_value(sweep.adjoint(value), value) for value in captured))


def _is_value(part: Any) -> bool:
    return isinstance(part, (ir.Value, list))


def _without_rule(operation: ir.Operation) -> str:
    return (
        f"Gradient: expected operators that have a gradient, but got {operation.name}; register a "
        "rule by relax_mlir.transform.gradient.register_gradient, or stop the gradient by "
        "relax_mlir.op.grad.no_grad"
    )


def _name_adjoint(adjoint: Any, value: Any) -> None:
    """Name an adjoint after the value that it is of."""
    made = defining_op(adjoint)
    if made is None or made.location.is_a_name():
        return
    owner = value.owner
    named = isinstance(owner, ir.Block) or owner.location.is_a_name()
    if named:
        set_name(adjoint, f"{var_name(value)}_adjoint")


def copy_operation(operation: ir.Operation, copies: dict[Any, Any]) -> ir.Operation:
    """Insert a copy of an operation that uses copies of values, and note those of its results."""
    made: ir.Operation = operation.clone().operation
    for inner in walk(made):
        for i, operand in enumerate(inner.operands):
            if operand in copies:
                inner.operands[i] = copies[operand]
    copies.update(zip(operation.results, made.results, strict=True))
    return made


class _Again:
    """Computes again what is between checkpoints.

    Parameters
    ----------
    operations : sequence of mlir.ir.Operation
    """

    def __init__(self, operations: Sequence[ir.Operation]) -> None:
        self._inner: set[ir.Operation] = set()
        self._copies: dict[Any, Any] = {}
        ends = [each for each in operations if each.name == "relax.end_checkpoint"]
        if not ends:
            return
        block = set(operations)
        work = [each.operands[0] for each in ends]
        while work:
            made = defining_op(work.pop())
            if made is None or made in self._inner or made not in block:
                continue
            if made.name in ("relax.start_checkpoint", "relax.constant"):
                continue
            self._inner.add(made)
            work += [value for each in walk(made) for value in each.operands]

    def value(self, value: Any) -> Any:
        """Return a value as it is computed again, itself where it is kept."""
        if not self._inner:
            return value
        pending = [value]
        while pending:
            made = defining_op(pending[-1])
            if made is None or made not in self._inner or pending[-1] in self._copies:
                pending.pop()
                continue
            used = [each for inner in walk(made) for each in inner.operands]
            missing = [each for each in used if self._is_missing(each, made)]
            if missing:
                pending += missing
                continue
            copy_operation(made, self._copies)
            pending.pop()
        return self._copies.get(value, value)

    def _is_missing(self, value: Any, user: ir.Operation) -> bool:
        made = defining_op(value)
        return (
            made is not None and made in self._inner and made != user and value not in self._copies
        )


# ------------------------------------------------------------------------------
# Blocks
# ------------------------------------------------------------------------------


def flatten(block: ir.Block) -> None:
    """Move what dataflow blocks and sequences hold into the block around them."""
    for nested in [each.operation for each in block.operations]:
        for inner in blocks_of(nested):
            flatten(inner)
        if not isinstance(nested.opview, (_ops.DataflowOp, _ops.SeqOp)):
            continue
        *body, end = (each.operation for each in nested.regions[0].blocks[0].operations)
        for each in body:
            each.move_before(nested)
        for result, value in zip(nested.results, end.operands, strict=True):
            result.replace_all_uses_with(value)
        nested.erase()


def erase_unused(block: ir.Block, is_pure: Callable[[ir.Operation], bool]) -> None:
    """Erase operations without effects whose results nobody uses, also in branches."""
    for operation in reversed([each.operation for each in block.operations]):
        is_used = any(True for result in operation.results for _ in result.uses)
        may_go = len(operation.results) and is_pure(operation) and not _binds(operation)
        if may_go and not is_used:
            operation.erase()
            continue
        for inner in blocks_of(operation):
            erase_unused(inner, is_pure)


def _binds(operation: ir.Operation) -> bool:
    """Say whether others may use shape variables that an operation gives a value."""
    if operation.name != "relax.match_cast":
        return False
    given = {one.name for one in tir_vars_in_struct_info(operation.operands[0].type)}
    bound = definable_tir_vars_in_struct_info(operation.results[0].type)
    return any(one.name not in given for one in bound)
