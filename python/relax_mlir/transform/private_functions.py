# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Private functions take and return what is used, and no tuples.

All calls of a private function are in its module, so they change with it. A function that is used
as a value stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from ..core.expr import shape
from ..core.expr import tuple as tuple_
from ..core.functions import all_global_vars
from ..core.ir import Dim, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import binding_vars, get_shape_var_mapping, tir_vars_in_struct_info
from ..op import get_item
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import (
    body_of,
    callees_first,
    calls_of,
    derive_users,
    erase_params,
    fields_of,
    fold_items,
    has_derived_result,
    insert_param,
    is_private,
    is_value,
    name_of,
    num_input,
    param_names,
    params_of,
    remove_unused,
    replace_call,
    result_type,
    set_num_input,
    set_signature,
    shape_of,
    stronger,
    terminator_of,
    unique_name,
    used_variables,
    variables_of,
)


def _changeable(module: ir.Module) -> list[ir.Operation]:
    """Return the private functions of a module that are only called, callees first."""
    return [
        function
        for function in callees_first(module)
        if is_private(function) and not is_value(module, name_of(function))
    ]


def _function_of(op: ir.Operation) -> ir.Operation:
    """Return the Relax function that an operation is in."""
    while op.name != "relax.func":
        op = op.parent.operation
    return op


def _callers(calls: list[ir.Operation]) -> list[ir.Operation]:
    """Return the functions that calls are in, each once."""
    found: list[ir.Operation] = []
    for call in calls:
        function = _function_of(call)
        if function not in found:
            found.append(function)
    return found


# ---------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------


@module_pass(opt_level=0)
class RemoveUnusedParameters:
    """Remove parameters of private functions that these do not use.

    Where only a removed parameter binds a shape variable that the function uses, a shape with this
    variable is passed in its place. What only computed an argument that is not passed any more is
    removed, and then parameters of the caller may be unused, too.

    A parameter stays where the type of an argument does not say what a shape variable is. What it
    would check when the function is called, such as the size of a tensor that nobody uses, is not
    checked any more.

    Examples
    --------
    >>> from relax_mlir.transform import RemoveUnusedParameters
    >>> mod = RemoveUnusedParameters()('''
    ... relax.func private @first(%a: !relax.object, %b: !relax.object) -> !relax.object {
    ...   relax.return %a : !relax.object
    ... }
    ... relax.func @main(%a: !relax.object, %b: !relax.object) -> !relax.object {
    ...   %0 = relax.call @first(%a, %b) : (!relax.object, !relax.object) -> !relax.object
    ...   relax.return %0 : !relax.object
    ... }''')
    >>> [param.get_name() for param in mod["first"].params]
    ['%a']
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions and their calls."""
        for function in _changeable(mod.module):
            _remove_params(mod.module, function)
        return mod


def _remove_params(module: ir.Module, function: ir.Operation) -> None:
    params = params_of(function)
    calls = calls_of(module, name_of(function))
    erased = [place for place, param in enumerate(params) if not list(param.uses)]
    missing = _missing_variables(function, erased)
    erased = [place for place in erased if not _passes_variable(params[place], missing)]
    # A parameter is needed if an argument does not say what a variable is.
    known = [_values_at(call, params, erased) for call in calls]
    dims = {dim.name for param in params for dim in tir_vars_in_struct_info(param.type)}
    unknown = {
        name for name in missing if name not in dims or any(name not in values for values in known)
    }
    erased = [
        place for place in erased if not unknown.intersection(binding_vars(params[place].type))
    ]
    missing = _missing_variables(function, erased)
    if not erased or any(name in unknown for name in missing):
        return
    names = [name for place, name in enumerate(param_names(function)) if place not in erased]
    inputs = num_input(function)
    erase_params(function, erased)
    for name in missing:
        names.append(unique_name(f"param_{name}", names))
        insert_param(function, names[-1], shape_of([name]))
    set_signature(function, names)
    if inputs is not None:
        set_num_input(function, inputs - sum(place < inputs for place in erased))
    callers = _callers(calls)
    for call, values in zip(calls, known, strict=True):
        arguments = [arg for place, arg in enumerate(call.operands) if place not in erased]
        with ir.InsertionPoint(call), call.location:
            arguments += [shape([values[name]]) for name in missing]
        replace_call(call, arguments)
    for caller in callers:
        remove_unused(caller)


def _passes_variable(param: ir.Value, names: list[str]) -> bool:
    """Say whether a parameter is the shape that would be passed for a shape variable."""
    return any(param.type == shape_of([name]) for name in names)


def _missing_variables(function: ir.Operation, erased: list[int]) -> list[str]:
    """Return the shape variables that are used and would not be bound without some parameters."""
    kept = [param.type for i, param in enumerate(params_of(function)) if i not in erased]
    bound = {name for type_ in kept for name in binding_vars(type_)}
    before = {name for param in params_of(function) for name in binding_vars(param.type)}
    used = variables_of(kept) | used_variables(function)
    return [name for name in used if name in before and name not in bound]


def _values_at(call: ir.Operation, params: list[ir.Value], places: list[int]) -> dict[str, Dim]:
    """Return what arguments of a call say of the shape variables of parameters."""
    found: dict[str, Dim] = {}
    for place in places:
        mapping = get_shape_var_mapping(params[place].type, call.operands[place].type)
        for name, value in mapping.items():
            if isinstance(value, Dim):
                found.setdefault(name, value)
    return found


# ---------------------------------------------------------------------------------------------
# Tuples as arguments
# ---------------------------------------------------------------------------------------------


@module_pass(opt_level=0)
class ExpandTupleArguments:
    """Pass the fields of tuples to private functions, in place of the tuples.

    Tuples in tuples are taken apart, too. A function stays as it is where an argument is not known
    to be a tuple.

    Examples
    --------
    >>> from relax_mlir.transform import ExpandTupleArguments
    >>> mod = ExpandTupleArguments()('''
    ... relax.func private @first(%t: !relax.tuple<!relax.object, !relax.object>) -> !relax.object {
    ...   %0 = relax.get_item %t[0] : !relax.tuple<!relax.object, !relax.object>
    ...   relax.return %0 : !relax.object
    ... }
    ... relax.func @main(%a: !relax.object) -> !relax.object {
    ...   %0 = relax.tuple %a, %a : !relax.object, !relax.object
    ...   %1 = relax.call @first(%0) : (!relax.tuple<!relax.object, !relax.object>) -> !relax.object
    ...   relax.return %1 : !relax.object
    ... }''')
    >>> [param.get_name() for param in mod["first"].params]
    ['%t_0', '%t_1']
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions and their calls."""
        for function in _changeable(mod.module):
            _expand_params(mod.module, function)
        return mod


def _expand_params(module: ir.Module, function: ir.Operation) -> None:
    params = params_of(function)
    calls = calls_of(module, name_of(function))
    types = [param.type for param in params]
    places = [i for i, type_ in enumerate(types) if isinstance(type_, TupleStructInfo)]
    if not places or not all(
        _has_fields(call.operands[place].type, types[place]) for call in calls for place in places
    ):
        return
    inputs = num_input(function)
    names = param_names(function)
    for place in reversed(places):
        made = _expand_param(function, place, names)
        if inputs is not None and place < inputs:
            inputs += made - 1
    set_signature(function, names)
    if inputs is not None:
        set_num_input(function, inputs)
    callers = _callers(calls)
    for call in calls:
        with ir.InsertionPoint(call), call.location:
            arguments = [
                leaf
                for place, arg in enumerate(call.operands)
                for leaf in _leaves(arg, types[place])
            ]
        replace_call(call, arguments)
    for changed in [function, *(each for each in callers if each != function)]:
        fold_items(changed)
        remove_unused(changed)


def _has_fields(actual: ir.Type, expected: ir.Type) -> bool:
    """Say whether a type has the fields of a tuple type, and of tuples in it."""
    if not isinstance(expected, TupleStructInfo):
        return True
    if not isinstance(actual, TupleStructInfo) or len(actual.fields) != len(expected.fields):
        return False
    return all(map(_has_fields, actual.fields, expected.fields))


def _expand_param(function: ir.Operation, place: int, names: list[str]) -> int:
    """Take a parameter apart; return how many there are in its place."""
    param = params_of(function)[place]
    name = names.pop(place) or "param"
    made: list[tuple[str, ir.Type]] = []
    _flatten(name, param.type, made)
    for offset, (each, type_) in enumerate(made):
        each = unique_name(each, names)
        names.insert(place + offset, each)
        insert_param(function, each, type_, place + offset)
    behind = place + len(made)
    given = iter(params_of(function)[place:behind])
    param = params_of(function)[behind]
    with ir.InsertionPoint.at_block_begin(body_of(function)), function.location:
        param.replace_all_uses_with(_rebuilt(param.type, given))
    erase_params(function, [behind])
    return len(made)


def _flatten(name: str, type_: ir.Type, found: list[tuple[str, ir.Type]]) -> None:
    if not isinstance(type_, TupleStructInfo):
        found.append((name, type_))
        return
    for place, field in enumerate(type_.fields):
        _flatten(f"{name}_{place}", field, found)


def _rebuilt(type_: ir.Type, leaves: Iterator[ir.Value]) -> ir.Value:
    if not isinstance(type_, TupleStructInfo):
        return next(leaves)
    return tuple_(*[_rebuilt(field, leaves) for field in type_.fields])


def _leaves(value: ir.Value, expected: ir.Type) -> list[ir.Value]:
    """Return the fields of a value that is expected to be a tuple, and of tuples in it."""
    if not isinstance(expected, TupleStructInfo):
        return [value]
    fields = zip(fields_of(value) or (), expected.fields, strict=True)
    return [leaf for field, type_ in fields for leaf in _leaves(field, type_)]


# ---------------------------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------------------------


@module_pass(opt_level=0)
class RemoveUnusedOutputs:
    """Remove fields of tuples that private functions return and nobody uses.

    Where one field is left, it is returned itself. What only computed a field that is not returned
    any more is removed.

    Examples
    --------
    >>> from relax_mlir.transform import RemoveUnusedOutputs
    >>> mod = RemoveUnusedOutputs()('''
    ... relax.func private @two(%a: !relax.object) -> !relax.tuple<!relax.object, !relax.object> {
    ...   %0 = relax.null_value
    ...   %1 = relax.tuple %a, %0 : !relax.object, !relax.object
    ...   relax.return %1 : !relax.tuple<!relax.object, !relax.object>
    ... }
    ... relax.func @main(%a: !relax.object) -> !relax.object {
    ...   %0 = relax.call @two(%a) : (!relax.object) -> !relax.tuple<!relax.object, !relax.object>
    ...   %1 = relax.get_item %0[0] : !relax.tuple<!relax.object, !relax.object>
    ...   relax.return %1 : !relax.object
    ... }''')
    >>> print(mod["two"].ret_struct_info)
    !relax.object
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions and their calls."""
        # A caller that drops a field may be all that uses one of its callee.
        for function in reversed(_changeable(mod.module)):
            _remove_outputs(mod.module, function)
        return mod


def _remove_outputs(module: ir.Module, function: ir.Operation) -> None:
    type_ = result_type(function)
    calls = calls_of(module, name_of(function))
    if not isinstance(type_, TupleStructInfo) or not calls:
        return
    users = [use.owner.operation for call in calls for use in call.results[0].uses]
    if any(user.name != "relax.get_item" for user in users):
        return
    kept = sorted({int(user.attributes["index"].value) for user in users})
    if len(kept) == len(type_.fields) or not _return_fields(function, kept):
        return
    callers = [(caller, has_derived_result(caller)) for caller in _callers(calls)]
    changed = [value for call in calls for value in _take_fields(call, kept)]
    remove_unused(function)
    for caller, is_derived in callers:
        values = [value for value in changed if _function_of(_owner(value)) == caller]
        derive_users(caller, values, is_derived)
        remove_unused(caller)


def _return_fields(function: ir.Operation, kept: list[int]) -> bool:
    """Return some of the fields only; say whether that is done."""
    return_ = terminator_of(body_of(function))
    (value,) = return_.operands
    declared = result_type(function)
    with ir.InsertionPoint(return_), return_.location:
        fields = fields_of(value)
        if fields is None or len(fields) != len(declared.fields):
            return False
        chosen = [fields[place] for place in kept]
        new = chosen[0] if len(chosen) == 1 else tuple_(*chosen)
    types = [declared.fields[place] for place in kept]
    if name_of(function) not in {var.name for var in all_global_vars(function)}:
        types = [stronger(field.type, type_) for field, type_ in zip(chosen, types, strict=True)]
    return_.operands[0] = new
    set_signature(
        function, param_names(function), types[0] if len(types) == 1 else TupleStructInfo(types)
    )
    return True


def _owner(value: ir.Value) -> ir.Operation:
    owner = value.owner
    return owner.owner.operation if isinstance(owner, ir.Block) else owner.operation


def _take_fields(call: ir.Operation, kept: list[int]) -> list[ir.Value]:
    """Take the fields that are left out of the result of a call; return those of other types."""
    result = replace_call(call, list(call.operands))
    changed = []
    for use in list(result.uses):
        item = use.owner.operation
        place = kept.index(int(item.attributes["index"].value))
        value = result
        if len(kept) > 1:
            with ir.InsertionPoint(item), item.location:
                value = get_item(result, place)
        if value.type != item.results[0].type:
            changed.append(value)
        item.results[0].replace_all_uses_with(value)
        item.erase()
    return changed
