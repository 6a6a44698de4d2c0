# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations at their places: their names, their shape variables, and their leftovers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlir import ir

from .._warnings import warn
from ..core.expr import build, require_context
from ..core.ir import Dim
from ..core.struct_info import StructInfoWarning, binding_vars, check_compatibility
from ..core.variables import definitions, walk
from ..dialects import relax as _ops
from ..tir.attributes import attribute


def set_name(value: ir.Value, name: str) -> None:
    """Keep a name as the location of the operation that makes a value."""
    op = value.owner
    if isinstance(op, ir.Block):
        return
    place = op.location.child_loc if op.location.is_a_name() else op.location
    op.location = ir.Location.name(name, childLoc=place)


def declared_value(value: ir.Value, declared: ir.Type) -> ir.Value:
    """Return a value as one of the type that is stated for it."""
    require_context([declared], value.context)
    compatible = check_compatibility(value.type, declared)
    if compatible is False:
        raise ValueError(f"expected a value of type {declared}, but got one of type {value.type}")
    if restate(value, declared):
        return value
    if compatible is None:
        warn(
            f"the declared type {declared} says more than the type {value.type} of the value: it "
            "is checked at run time, as match_cast does",
            StructInfoWarning,
        )
    return build(_ops.MatchCastOp, declared, value)


def restate(value: ir.Value, declared: ir.Type) -> bool:
    """Give the result of an operation another type, if the operation allows it.

    That is one that says less, or what a packed function returns.
    """
    op = value.owner
    is_used = any(True for _ in value.uses)
    if isinstance(op, ir.Block) or is_used or op.name == _ops.MatchCastOp.OPERATION_NAME:
        return False
    derived = value.type
    value.set_type(declared)
    try:
        op.verify()
    except ir.MLIRError:
        value.set_type(derived)
        return False
    return True


def replace_draft(draft: ir.OpView, final: Any) -> None:
    """Move the regions of a draft without uses to the operation that takes its place."""
    for old, new in zip(draft.operation.regions, final.operation.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    draft.operation.erase()


def symbol_name(op: Any) -> str | None:
    """Return the name that an operation has in its module, or None."""
    attributes = op.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else None


def is_private(op: ir.Operation) -> bool:
    """Say whether only the module sees a function."""
    return "sym_visibility" in op.attributes and op.attributes["sym_visibility"].value == "private"


def structure_of(op: ir.Operation) -> str:
    """Return a function as text without its name, to compare it with others."""
    text = op.get_asm(print_generic_op_form=True, use_local_scope=True)
    head, body = text.split("({", 1)
    for name in ("sym_name", "sym_visibility"):
        head = re.sub(rf', {name} = "[^"]*"', "", head)
    return head + body


def shape_var_name(variable: Any) -> Any:
    """Return the name of a variable that is given as one of expressions."""
    return variable if isinstance(variable, (str, Dim)) else variable.name


def name_of(value: ir.Value) -> str:
    """Return the name that the result of an operation has, or an empty one."""
    if isinstance(value.owner, ir.Block) or not value.owner.location.is_a_name():
        return ""
    return value.owner.location.name_str


def state_te_gradient(call: ir.Value, name: Any, arguments: Any) -> None:
    """Say what the gradient of a call of a kernel is, and which arguments it takes by name.

    Raises
    ------
    TypeError
        If the name is no str, or the arguments are no mapping of names.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"expected te_grad_name as the name of a gradient, but got {name!r}")
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise TypeError(f"expected te_grad_kwargs as a dict of arguments, but got {given!r}")
    attributes = call.owner.attributes
    with call.context:
        attributes["te_grad_name"] = ir.StringAttr.get(name)
        attributes["te_grad_kwargs"] = attribute("te_grad_kwargs", dict(given))


def isolated(discarded: ir.Operation) -> ir.Operation:
    """Have a function that is discarded use no values of others, nor they its own.

    It may be destroyed before them or after them, which MLIR forbids to what is in use.
    """
    ops = list(walk(discarded))
    inside = set(ops)
    values = {value for op in ops for value in (*op.results, *definitions(op))}

    def replace(user: ir.Operation, index: int) -> None:
        type_ = user.operands[index].type
        stand_in = ir.Operation.create(
            "builtin.unrealized_conversion_cast",
            results=[type_],
            loc=ir.Location.unknown(user.context),
            ip=ir.InsertionPoint(user),
        )
        user.operands[index] = stand_in.results[0]

    for op in ops:
        if op != discarded:
            for index, operand in enumerate(list(op.operands)):
                if operand not in values:
                    replace(op, index)
    for value in values:
        for use in list(value.uses):
            if use.owner.operation not in inside:
                replace(use.owner.operation, use.operand_number)
    return discarded


def main_function(ops: Sequence[ir.Operation]) -> ir.Operation:
    """Return the one function, or the one that is not private."""
    for op in ops:
        if "sym_name" not in op.attributes:
            raise ValueError(f"expected functions, but got {op.name}")
    public = [op for op in ops if "sym_visibility" not in op.attributes]
    for found in (ops, public):
        if len(found) == 1:
            return found[0]
    raise ValueError(f"expected one function, but got {len(public)} that are not private")


def visible_here() -> set[str]:
    """Return the shape variables that are visible at the current place, the end of a block."""
    block = ir.InsertionPoint.current.block
    names = {name for op in block for name in bound_by(op)}
    owner = block.owner.operation
    if owner.name == _ops.ClosureOp.OPERATION_NAME:
        for argument in block.arguments:
            names.update(binding_vars(argument.type))
    return names | bound_before(owner)


def bound_before(op: ir.Operation) -> set[str]:
    """Return the shape variables that are visible where `op` is."""
    names: set[str] = set()
    while op.name != _ops.FuncOp.OPERATION_NAME:
        for other in op.block:
            if other.operation == op:
                break
            names.update(bound_by(other))
        op = op.parent.operation
        if op.name == _ops.ClosureOp.OPERATION_NAME:
            for argument in op.regions[0].blocks[0].arguments:
                names.update(binding_vars(argument.type))
    for type_ in ir.FunctionType(op.attributes["function_type"].value).inputs:
        names.update(binding_vars(type_))
    return names


def bound_by(op: ir.OpView) -> Iterator[str]:
    """Yield the shape variables that an operation binds for those after it."""
    if isinstance(op, _ops.MatchCastOp):
        yield from binding_vars(op.operation.results[0].type)
    if isinstance(op, _ops.DataflowOp):
        for inner in op.body.blocks[0]:
            yield from bound_by(inner)
