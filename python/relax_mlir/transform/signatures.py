# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions whose parameters or results change, and the calls of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mlir import ir
from mlir.passmanager import PassManager

from .._mlir_libs import _relax_mlir as _ext
from ..builder.function_bodies import Names
from ..core.functions import all_global_vars, referred
from ..core.ir import ShapeStructInfo, TupleStructInfo
from ..core.struct_info import (
    binding_vars,
    derive_call_ret_struct_info,
    erase_to_well_defined,
    is_subtype,
)
from ..core.variables import defining_op, mentioned_in_type, mentioned_symbolic_vars, walk
from ..dialects import relax as _ops
from ..expr_functor import PyExprMutator

NUM_INPUT = "num_input"
BOUNDS = ("tir_var_lower_bound", "tir_var_upper_bound")


def relax_functions(module: ir.Module) -> list[ir.Operation]:
    """Return the Relax functions of a module that have a body, in their order."""
    found = [op.operation for op in module.body.operations if isinstance(op, _ops.FuncOp)]
    return [op for op in found if len(op.regions[0].blocks)]


def name_of(function: ir.Operation) -> str:
    """Return the name of a function."""
    return str(function.attributes["sym_name"].value)


def is_private(function: ir.Operation) -> bool:
    """Say whether a function is visible in its module only."""
    attributes = function.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"


def body_of(function: ir.Operation) -> ir.Block:
    """Return the body of a function."""
    return function.regions[0].blocks[0]


def params_of(function: ir.Operation) -> list[ir.Value]:
    """Return the parameters of a function."""
    return list(body_of(function).arguments)


def param_names(function: ir.Operation) -> list[str]:
    """Return the names of the parameters of a function, which may be empty."""
    if "arg_names" in function.attributes:
        return [str(name.value) for name in function.attributes["arg_names"]]
    return [""] * len(params_of(function))


def terminator_of(block: ir.Block) -> ir.Operation:
    """Return the last operation of a block."""
    last: ir.OpView = ir.InsertionPoint.at_block_terminator(block).ref_operation
    return last.operation


def result_type(function: ir.Operation) -> ir.Type:
    """Return the declared type of the result of a function."""
    signature: Any = function.attributes["function_type"].value
    return signature.results[0]


def num_input(function: ir.Operation) -> int | None:
    """Return how many of the first parameters of a function are inputs, if it says so.

    Raises
    ------
    ValueError
        If it has fewer parameters.
    """
    if NUM_INPUT not in function.attributes:
        return None
    count = int(function.attributes[NUM_INPUT].value)
    params = len(params_of(function))
    if not 0 <= count <= params:
        raise ValueError(
            f"expected {NUM_INPUT} of function '{name_of(function)}' to be from 0 to {params}, "
            f"the number of its parameters, but got {count}"
        )
    return count


def set_num_input(function: ir.Operation, count: int) -> None:
    """State how many of the first parameters of a function are inputs."""
    int64 = ir.IntegerType.get_signless(64, function.context)
    function.attributes[NUM_INPUT] = ir.IntegerAttr.get(int64, count)


# ---------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------


def set_signature(
    function: ir.Operation, names: Sequence[str], result: ir.Type | None = None
) -> None:
    """State the type of a function whose parameters have changed.

    Parameters
    ----------
    function : mlir.ir.Operation
    names : sequence of str
        One for each parameter.
    result : mlir.ir.Type, optional
        By default it stays as it is. What it says of shape variables that no parameter binds any
        more is left out.
    """
    types = [param.type for param in params_of(function)]
    scope = {name for type_ in types for name in binding_vars(type_)}
    attributes = function.attributes
    if "derive_result" in attributes:  # which says that it is not known yet
        result = None
    declared = _as_result(function, result or result_type(function))
    with function.context:
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [declared]))
        attributes["arg_names"] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in names])
        for name in BOUNDS:
            if name in attributes:
                kept = {item.name: item.attr for item in attributes[name] if item.name in scope}
                attributes[name] = ir.DictAttr.get(kept)


def insert_param(
    function: ir.Operation, name: str, type_: ir.Type, place: int | None = None
) -> ir.Value:
    """Add a parameter, of which `set_signature` says nothing yet.

    Parameters
    ----------
    function : mlir.ir.Operation
    name : str
    type_ : mlir.ir.Type
    place : int, optional
        The number of parameters before it; by default all.

    Returns
    -------
    mlir.ir.Value
    """
    block = body_of(function)
    count = len(block.arguments)
    place = count if place is None else place
    given = _attributes_of(function, count)
    loc = ir.Location.name(name, childLoc=function.location)
    made: ir.Value = block.add_argument(type_, loc)
    # Arguments are added at the end only: those behind the place move there.
    behind = params_of(function)[place:-1] if place < count else []
    for param in behind:
        moved = block.add_argument(param.type, param.location)
        param.replace_all_uses_with(moved)
    for _ in behind:
        block.erase_argument(place)
    _set_attributes(function, [*given[:place], None, *given[place:]])
    return params_of(function)[place] if behind else made


def erase_params(function: ir.Operation, places: Iterable[int]) -> None:
    """Erase parameters that are not used, of which `set_signature` says nothing yet."""
    erased = set(places)
    given = _attributes_of(function, len(body_of(function).arguments))
    for place in sorted(erased, reverse=True):
        body_of(function).erase_argument(place)
    _set_attributes(function, [each for i, each in enumerate(given) if i not in erased])


def _attributes_of(function: ir.Operation, count: int) -> list[ir.Attribute | None]:
    attributes = function.attributes
    return list(attributes["arg_dicts"]) if "arg_dicts" in attributes else [None] * count


def _set_attributes(function: ir.Operation, given: Sequence[ir.Attribute | None]) -> None:
    if "arg_dicts" in function.attributes:
        empty = ir.DictAttr.get({}, context=function.context)
        attrs = [empty if each is None else each for each in given]
        function.attributes["arg_dicts"] = ir.ArrayAttr.get(attrs, context=function.context)


def unique_name(prefix: str, taken: Sequence[str]) -> str:
    """Return the prefix, with a number where it is taken."""
    return Names(taken).unique(prefix)


# ---------------------------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------------------------


def calls_of(module: ir.Module, name: str) -> list[ir.Operation]:
    """Return the calls of a function, by its name, in a module."""
    return [op for op in walk(module.operation) if op.name == "relax.call" and name in referred(op)]


def is_value(module: ir.Module, name: str) -> bool:
    """Say whether something in a module names a function without calling it."""
    return any(op.name != "relax.call" and name in referred(op) for op in walk(module.operation))


def callees_first(module: ir.Module) -> list[ir.Operation]:
    """Return the Relax functions of a module, those before others that these call."""
    functions = {name_of(function): function for function in relax_functions(module)}
    order: dict[str, ir.Operation] = {}
    for start in functions:
        stack = [(start, False)]
        entered = set(order)
        while stack:
            name, is_done = stack.pop()
            if is_done:
                order[name] = functions[name]
            elif name not in entered:
                entered.add(name)
                stack.append((name, True))
                callees = [var.name for var in all_global_vars(functions[name])]
                stack += [(callee, False) for callee in callees if callee in functions]
    return list(order.values())


def replace_call(call: ir.Operation, arguments: Sequence[ir.Value]) -> ir.Value:
    """Call a function whose signature has changed, with other arguments.

    Parameters
    ----------
    call : mlir.ir.Operation
        A call of a function of the module, which is erased: nobody uses it any more.
    arguments : sequence of mlir.ir.Value

    Returns
    -------
    mlir.ir.Value
        The result of the new call. Its type follows from the arguments.
    """
    (old,) = call.results
    with ir.InsertionPoint(call), call.location:
        callee = call.attributes["callee"]
        new = _ops.CallOp(old.type, arguments, callee=callee).operation
    result: ir.Value = new.results[0]
    result.set_type(call_type(new))
    old.replace_all_uses_with(result)
    call.erase()
    return result


def call_type(call: ir.Operation) -> ir.Type:
    """Return the type of a call, as its callee and its arguments are now."""
    (name,) = referred(call)
    function = symbol(call, name)
    callee = None if function is None else _ext.function_struct_info(function)
    if callee is None:
        return call.results[0].type
    return derive_call_ret_struct_info(callee, call)


def symbol(op: ir.Operation, name: str) -> ir.Operation | None:
    """Return a function of the module that an operation is in."""
    while op.parent is not None:
        op = op.parent.operation
    for found in op.regions[0].blocks[0].operations:
        attributes = found.operation.attributes
        if "sym_name" in attributes and attributes["sym_name"].value == name:
            return found.operation
    return None


# ---------------------------------------------------------------------------------------------
# Types
# ---------------------------------------------------------------------------------------------


class _Retyper(PyExprMutator):
    """Derives types of a function again, in its place."""

    def __init__(self, changed: Iterable[ir.Value]) -> None:
        super().__init__()
        self._retyped.update(changed)


def has_derived_result(function: ir.Operation) -> bool:
    """Say whether a function declares no more and no less than the type of what it returns."""
    return_ = terminator_of(body_of(function))
    return result_type(function) == _as_result(function, return_.operands[0].type)


def derive_users(
    function: ir.Operation, changed: Iterable[ir.Value], is_derived: bool = False
) -> None:
    """Derive the types of all that is computed of values whose types have changed.

    Parameters
    ----------
    function : mlir.ir.Operation
        It gets the type of its result, too, where the declared one does not fit any more.
    changed : iterable of mlir.ir.Value
    is_derived : bool
        Whether the type of its result was derived itself, and is again.
    """
    values = list(changed)
    if not values:
        return
    _Retyper(values).visit_function_(function.opview)
    if is_derived:
        returned = terminator_of(body_of(function)).operands[0].type
        set_signature(function, param_names(function), returned)


def _as_result(function: ir.Operation, type_: ir.Type) -> ir.Type:
    """Return a type without shape variables that no parameter binds."""
    scope = {name for param in params_of(function) for name in binding_vars(param.type)}
    return erase_to_well_defined(type_, scope, scope)


def stronger(actual: ir.Type, declared: ir.Type) -> ir.Type:
    """Return the type of a value, unless that does not say all that the declared one says."""
    return actual if is_subtype(actual, declared) is True else declared


# ---------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------


def fields_of(value: ir.Value) -> list[ir.Value] | None:
    """Return the fields of a tuple, before whose users operations are being inserted.

    None of a value that is not known to be a tuple.
    """
    if not isinstance(value.type, TupleStructInfo):
        return None
    op = defining_op(value)
    if op is not None and op.name == "relax.tuple":
        return list(op.operands)
    count = len(value.type.fields)
    return [_ops.GetItemOp(value, place).result for place in range(count)]


def fold_items(function: ir.Operation) -> None:
    """Use the fields of tuples, in place of items that are taken out of them."""
    for op in list(walk(function)):
        if op.name != "relax.get_item":
            continue
        made = defining_op(op.operands[0])
        if made is None or made.name != "relax.tuple":
            continue
        field = made.operands[op.attributes["index"].value]
        if field.type == op.results[0].type:
            op.results[0].replace_all_uses_with(field)
            op.erase()


def remove_unused(function: ir.Operation) -> None:
    """Remove what nobody uses in a function."""
    run_on_function("relax-dead-code-elimination", function)


def run_on_function(pipeline: str, function: ir.Operation) -> None:
    """Run passes of MLIR on one function, in its place."""
    with function.context:
        PassManager.parse(f"relax.func({pipeline})").run(function)


def variables_of(types: Iterable[ir.Type]) -> dict[str, None]:
    """Return the shape variables in types, in their order."""
    return dict.fromkeys(name for type_ in types for name in mentioned_in_type(type_))


def used_variables(function: ir.Operation) -> dict[str, None]:
    """Return the shape variables that the body and the result of a function use, in order."""
    used: dict[str, None] = {}
    for op in body_of(function).operations:
        used.update(dict.fromkeys(mentioned_symbolic_vars(op.operation)))
    return used | variables_of([result_type(function)])


def shape_of(names: Iterable[str]) -> ir.Type:
    """Return the type of shapes with shape variables as dimensions."""
    return ShapeStructInfo(list(names))
