# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of patterns inside of functions for a codegen, as closures that are called there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlir import ir

from ..builder.function_bodies import Names
from ..core.functions import referred
from ..core.ir import Dim, FuncStructInfo, ShapeExpr, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import binding_vars, get_shape_var_mapping, substitute
from ..core.variables import _bound_names, walk
from ..dialects import relax as _ops
from .grouping import (
    CODEGEN,
    COMPOSITE,
    GLOBAL_SYMBOL,
    PRIMITIVE,
    Signature,
    attribute_text,
    codegen_of,
    copy_operation,
    is_entry,
    make_function,
    value_name,
)

_NOT_COPIED = (
    "sym_name",
    "sym_visibility",
    "function_type",
    "arg_names",
    "arg_dicts",
    "res_attrs",
    "is_pure",
    "derive_result",
    PRIMITIVE,
    GLOBAL_SYMBOL,
)


def call_as_closure(
    function: ir.Operation, args: Sequence[ir.Value], outside: set[str], location: ir.Location
) -> ir.Value:
    """Write a function as a closure at the current place, and a call of it.

    Parameters
    ----------
    function : mlir.ir.Operation
        A ``relax.func`` that captures nothing.
    args : sequence of mlir.ir.Value
    outside : set of str
        The shape variables that are bound at this place.
    location : mlir.ir.Location
        That of the call.

    Returns
    -------
    mlir.ir.Value
        The result of the call.
    """
    body = function.regions[0].blocks[0]
    names = _renaming([param.type for param in body.arguments], args, outside)
    formals = [_substituted(param.type, names) for param in body.arguments]
    signature = function.attributes["function_type"].value
    result = _substituted(signature.results[0], names)
    type_ = FuncStructInfo(formals, result, True)
    here = ir.Location.unknown(function.context)
    closure = _ops.ClosureOp(type_, arg_names=function.attributes.get("arg_names"), loc=here)
    for name, attr in function.attributes.items():
        if name not in _NOT_COPIED:
            closure.operation.attributes[name] = attr
    locations = [here, *(here for _ in formals)]
    block = ir.Block.create_at_start(closure.body, [type_, *formals], locations)
    known = dict(zip(body.arguments, list(block.arguments)[1:], strict=True))
    with ir.InsertionPoint(block):
        _copy_body(body, known, names)
    value: ir.Value = _ops.CallOp(
        result, args, function=closure.operation.results[0], loc=location
    ).result
    return value


def _copy_body(body: ir.Block, known: dict[ir.Value, ir.Value], names: Mapping[str, Any]) -> None:
    """Copy the operations of a block to the current place."""
    for view in body.operations:
        copy = view.operation.clone().operation
        pairs = [(view.operation, copy)]
        pairs += list(zip(_inner(view.operation), _inner(copy), strict=True))
        for old, new in pairs:
            for index, operand in enumerate(old.operands):
                if operand in known:
                    new.operands[index] = known[operand]
            if names:
                _rename(new, names)
            known.update(zip(old.results, new.results, strict=True))


def _inner(op: ir.Operation) -> list[ir.Operation]:
    """Return the operations inside of one, in order."""
    _, *inside = walk(op)
    return inside


# ---------------------------------------------------------------------------------------------
# Shape variables
# ---------------------------------------------------------------------------------------------


def _renaming(
    types: Sequence[ir.Type], args: Sequence[ir.Value], outside: set[str]
) -> dict[str, Any]:
    """Return what stands for the shape variables of a function at a call of it.

    Variables are those of the arguments where these say so. Others get a new name where theirs
    has another meaning at this place.
    """
    formal = TupleStructInfo(types)
    actual = TupleStructInfo([arg.type for arg in args])
    if formal == actual:
        return {}
    found = dict(get_shape_var_mapping(formal, actual))
    taken = Names(outside)
    for name in binding_vars(formal):
        if name not in found and name in outside:
            found[name] = Dim(taken.unique(name))
    return {name: value for name, value in found.items() if str(value) != str(Dim(name))}


def _substituted(type_: ir.Type, names: Mapping[str, Any]) -> ir.Type:
    return substitute(type_, names) if names else type_


def _rename(op: ir.Operation, names: Mapping[str, Any]) -> None:
    """Replace shape variables in the types of results, parameters and in attributes."""
    for result in op.results:
        result.set_type(substitute(result.type, names))
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                argument.set_type(substitute(argument.type, names))
    for name, attr in op.attributes.items():
        new = _renamed_attribute(attr, names)
        if new != attr:
            op.attributes[name] = new


def _renamed_attribute(attr: ir.Attribute, names: Mapping[str, Any]) -> ir.Attribute:
    if isinstance(attr, (Dim, ShapeExpr)):
        return attr.substitute(names)
    if isinstance(attr, ir.ArrayAttr):
        return ir.ArrayAttr.get([_renamed_attribute(each, names) for each in attr])
    if isinstance(attr, ir.TypeAttr) and not isinstance(attr.value, ir.FunctionType):
        return ir.TypeAttr.get(substitute(attr.value, names))
    return attr


def bound_names(block: ir.Block) -> set[str]:
    """Return the shape variables that the parameters of a function bind."""
    return {name for param in block.arguments for name in binding_vars(param.type)}


# ---------------------------------------------------------------------------------------------
# Functions for a codegen as part of their callers
# ---------------------------------------------------------------------------------------------


def inline_region(call: ir.Operation, function: ir.Operation) -> None:
    """Put what a function for a codegen computes in the place of a call of it.

    Parameters
    ----------
    call : mlir.ir.Operation
        It is erased.
    function : mlir.ir.Operation
    """
    caller = call.parent.operation
    while caller.name != "relax.func":
        caller = caller.parent.operation
    outside = {name for op in walk(caller) for name in _bound_names(op)}
    block = function.regions[0].blocks[0]
    with ir.InsertionPoint(call):
        value = _inline(block, list(block.arguments), list(call.operands), outside, {})
    call.results[0].replace_all_uses_with(value)
    call.erase()


def _inline(
    block: ir.Block,
    params: Sequence[ir.Value],
    args: Sequence[ir.Value],
    outside: set[str],
    around: Mapping[str, Any],
) -> ir.Value:
    """Write the body of a function or closure at the current place; return its result."""
    types = [_substituted(param.type, around) for param in params]
    names = {**around, **_renaming(types, args, outside)}
    known = dict(zip(params, args, strict=True))
    closures: dict[ir.Value, ir.Operation] = {}

    def visit(op: ir.Operation) -> None:
        if op.name == "relax.closure":
            closures[op.results[0]] = op
        elif op.name == "relax.dataflow":
            *inner, output = [each.operation for each in op.regions[0].blocks[0].operations]
            for each in inner:
                visit(each)
            for result, value in zip(op.results, output.operands, strict=True):
                known[result] = known.get(value, value)
        elif op.name == "relax.call" and len(op.operands) and op.operands[0] in closures:
            body = closures[op.operands[0]].regions[0].blocks[0]
            given = [known.get(value, value) for value in list(op.operands)[1:]]
            known[op.results[0]] = _inline(body, list(body.arguments)[1:], given, outside, names)
        else:
            copy = copy_operation(op, known)
            if names:
                _rename(copy, names)

    *ops, end = [op.operation for op in block.operations]
    for op in ops:
        visit(op)
    return known.get(end.operands[0], end.operands[0])


# ---------------------------------------------------------------------------------------------
# Functions for a codegen
# ---------------------------------------------------------------------------------------------


def codegen_attributes(codegen: str, name: str) -> dict[str, ir.Attribute]:
    """Return the attributes of a function for a codegen."""
    return {CODEGEN: ir.StringAttr.get(codegen), GLOBAL_SYMBOL: ir.StringAttr.get(name)}


def annotate(mod: IRModule, names: Names) -> None:
    """Put each function of a pattern into one for its codegen, which is called in its place.

    Parameters
    ----------
    mod : IRModule
        It is changed.
    names : Names
        The names of functions that are taken.
    """
    functions = mod.functions
    composites = {
        name: function.operation
        for name, function in functions.items()
        if isinstance(function, _ops.FuncOp) and COMPOSITE in function.operation.attributes
    }
    made: dict[str, str] = {}
    entries = [function.operation for function in functions.values() if is_entry(function)]
    for call in [op for entry in entries for op in walk(entry) if op.name == "relax.call"]:
        callee = next(referred(call), None)
        if callee not in composites:
            continue
        if callee not in made:
            made[callee] = _wrap(mod.module, composites[callee], callee, names)
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(made[callee])
    remove_unused(mod, made)


def _wrap(module: ir.Module, function: ir.Operation, name: str, names: Names) -> str:
    """Write a function for a codegen that calls the one of a pattern; return its name."""
    codegen = codegen_of(attribute_text(function, COMPOSITE) or "")
    symbol = names.unique(f"{name}_{codegen}")
    params = list(function.regions[0].blocks[0].arguments)
    signature = Signature()
    for param in params:
        signature.add(param, None, param.type, value_name(param) or "x")
    result = function.attributes["function_type"].value.results[0]
    attributes = codegen_attributes(codegen, symbol)
    block = make_function(module, symbol, signature, result, attributes, private=False)
    location = ir.Location.unknown(module.context)
    with ir.InsertionPoint(block):
        value = call_as_closure(function, list(block.arguments), bound_names(block), location)
        _ops.ReturnOp(value, loc=location)
    return symbol


def remove_unused(mod: IRModule, names: Any) -> None:
    """Remove private functions of some names that nothing refers to any more."""
    chosen = set(names)
    functions = mod.functions
    used = {
        name
        for key, function in functions.items()
        if key not in chosen
        for op in walk(function.operation)
        for name in referred(op)
    }
    work = [name for name in used if name in chosen]
    while work:
        for op in walk(functions[work.pop()].operation):
            new = [name for name in referred(op) if name in chosen and name not in used]
            used.update(new)
            work += new
    for name in chosen - used:
        function = functions[name].operation
        if attribute_text(function, "sym_visibility") == "private":
            function.erase()
