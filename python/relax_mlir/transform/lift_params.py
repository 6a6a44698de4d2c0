# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is computed of weights alone is computed ahead, by a function of its own.

`_Analysis` finds what a function computes of its weights, and what the rest of it needs of that.
`_Plan` says what the new function computes and returns. Then the new function is written, and the
old one changed.

Values are numbered by `_Analysis.source`: the results of a dataflow block are the values inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlir import ir

from .._arguments import shown
from ..builder.function_bodies import Names
from ..builder.places import replace_draft
from ..core.expr import shape
from ..core.expr import tuple as tuple_
from ..core.ir import Dim, FuncStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.lifetimes import key_of
from ..core.struct_info import (
    binding_vars,
    erase_to_well_defined,
    get_shape_var_mapping,
    is_subtype,
    substitute,
    tir_vars_in_struct_info,
)
from ..core.variables import (
    defined_symbolic_vars,
    defining_op,
    free_vars,
    mentioned_symbolic_vars,
    var_name,
    walk,
)
from ..dialects import relax as _ops
from ..op import get_item
from .bind_symbolic_vars import bind_variables, in_attribute
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import (
    BOUNDS,
    body_of,
    call_type,
    callees_first,
    calls_of,
    erase_params,
    fold_items,
    insert_param,
    is_value,
    name_of,
    num_input,
    param_names,
    params_of,
    relax_functions,
    remove_unused,
    replace_call,
    result_type,
    set_num_input,
    set_signature,
    shape_of,
    symbol,
    terminator_of,
    used_variables,
    variables_of,
)

_SUFFIX = "transform_params"


@module_pass(opt_level=1)
class LiftTransformParams:
    """Compute what depends on weights alone in a function of its own.

    Changes functions with the attribute ``num_input``, which says how many of the first parameters
    are inputs; the others are weights. What a dataflow block computes of weights moves to a new
    function ``<name>_transform_params``, which takes the weights as a tuple, and returns a tuple of
    what the old function takes in their place: the weights that it still needs, then what was
    computed. ``relax.builtin.stop_lift_params`` ends what is moved.

    A call of such a function in the module calls the new function first. Where the module has a
    function of the new name, it becomes the first step of the new one.

    Parameters
    ----------
    shared_transform : bool or sequence of str
        True makes one function ``transform_params``, of what all functions with ``num_input``
        compute of the same weights. Names state which functions share it; others stay as they are.

    Raises
    ------
    ValueError
        If functions that share a new one do not have weights of the same types, or if a name is
        that of no function with ``num_input``.

    Notes
    -----
    The values of shape variables that only the weights determine, and which are used when the
    function runs, are the first field of the tuple: a shape.

    Examples
    --------
    >>> from relax_mlir.transform import LiftTransformParams
    >>> mod = LiftTransformParams()('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[2, 4], f32>)
    ...     -> !relax.tensor<[n, 2], f32> attributes {num_input = 1 : i64} {
    ...   %0 = relax.dataflow -> !relax.tensor<[n, 2], f32> {
    ...     %1 = relax.permute_dims %w : (!relax.tensor<[2, 4], f32>) -> !relax.tensor<[4, 2], f32>
    ...     %2 = relax.matmul %x, %1 : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 2], f32>) -> !relax.tensor<[n, 2], f32>
    ...     relax.output %2 : !relax.tensor<[n, 2], f32>
    ...   }
    ...   relax.return %0 : !relax.tensor<[n, 2], f32>
    ... }''')
    >>> print(mod["main_transform_params"].struct_info.ret)
    !relax.tuple<!relax.tensor<[4, 2], f32>>
    >>> [str(param.struct_info) for param in mod["main"].params]
    ['!relax.tensor<[n, 4], f32>', '!relax.tensor<[4, 2], f32>']
    """  # noqa: E501 (the lines of MLIR)

    def __init__(self, shared_transform: bool | Sequence[str] = False) -> None:
        names = shared_transform if isinstance(shared_transform, (list, tuple)) else ()
        is_list = isinstance(shared_transform, (list, tuple))
        if not (isinstance(shared_transform, bool) or is_list) or not all(
            isinstance(name, str) for name in names
        ):
            raise TypeError(
                f"expected a bool or names of functions, but got {shown(shared_transform)}"
            )
        self._is_shared = shared_transform is True or is_list
        self._names = list(names)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Make the new functions."""
        functions = _functions(mod, self._names)
        if not functions:
            return mod
        if self._is_shared:
            plan = _shared_plan([_Analysis(function) for function in functions])
            _apply(mod.module, plan, _SUFFIX)
            return mod
        chosen = {name_of(function) for function in functions}
        # A call of a function becomes two, of which a caller may compute the first one ahead.
        for function in callees_first(mod.module):
            if name_of(function) not in chosen:
                continue
            _apply(mod.module, _own_plan(_Analysis(function)), f"{name_of(function)}_{_SUFFIX}")
        return mod


def _functions(mod: IRModule, names: Sequence[str]) -> list[ir.Operation]:
    """Return the functions to change, by name."""
    known = {name_of(each): each for each in relax_functions(mod.module)}
    for name in names:
        if name not in known or num_input(known[name]) is None:
            raise ValueError(
                f"expected the name of a Relax function with the attribute num_input, but got "
                f"'{name}'"
            )
        if not _is_changeable(mod.module, known[name]):
            raise ValueError(
                f"expected a function that is called only, and does not call itself, but got "
                f"'{name}'"
            )
    if names:
        return [known[name] for name in names]
    return [
        known[name]
        for name in sorted(known)
        if num_input(known[name]) is not None
        and not name.endswith(_SUFFIX)
        and _is_changeable(mod.module, known[name])
    ]


def _is_changeable(module: ir.Module, function: ir.Operation) -> bool:
    name = name_of(function)
    is_recursive = any(
        op.name == "relax.call"
        and "callee" in op.attributes
        and op.attributes["callee"].value == name
        for op in walk(function)
    )
    return not is_recursive and not is_value(module, name)


# ---------------------------------------------------------------------------------------------
# What is computed of weights
# ---------------------------------------------------------------------------------------------


class _Analysis:
    """What a function computes of its weights.

    Attributes
    ----------
    function : mlir.ir.Operation
    inputs, weights : list of mlir.ir.Value
        Its parameters.
    liftable : list of mlir.ir.Operation
        What can be computed ahead, in order.
    types : list of mlir.ir.Type
        What the types of weights say without inputs.
    of_weights : set of mlir.ir.Value
        The weights, and what is computed of them ahead.
    """

    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        count = num_input(function) or 0
        params = params_of(function)
        self.inputs, self.weights = params[:count], params[count:]
        self.liftable: list[ir.Operation] = []
        self.of_weights: set[ir.Value] = set(self.weights)
        self._ahead: set[ir.Value] = set(self.weights)
        self._sources: dict[ir.Value, ir.Value] = {}
        self.types = _types_alone(self.weights)
        self._names = {name for type_ in self.types for name in binding_vars(type_)}
        for op in body_of(function).operations:
            if op.operation.name == "relax.dataflow":
                self._visit(op.operation)

    def _visit(self, dataflow: ir.Operation) -> None:
        body = dataflow.regions[0].blocks[0]
        *ops, output = [op.operation for op in body.operations]
        for op in ops:
            if not self._is_liftable(op):
                continue
            self.liftable.append(op)
            self._ahead.update(op.results)
            if any(self.source(value) in self.of_weights for value in free_vars(op)):
                self.of_weights.update(op.results)
        self._sources.update(zip(dataflow.results, output.operands, strict=True))

    def _is_liftable(self, op: ir.Operation) -> bool:
        if op.name in ("relax.stop_lift_params", "relax.extern_func") or len(op.results) != 1:
            return False
        if isinstance(op.results[0].type, FuncStructInfo) and op.name != "relax.global_var":
            return False
        operands = free_vars(op)
        if not all(self.source(value) in self._ahead for value in operands):
            return False
        # Types of weights are erased that say something of variables which only inputs bind.
        names = variables_of(value.type for value in operands)
        return all(name in self._names for name in (*names, *mentioned_symbolic_vars(op)))

    def source(self, value: ir.Value) -> ir.Value:
        """Return the value that another one is: that inside of a dataflow block."""
        while value in self._sources:
            value = self._sources[value]
        return value

    def lifted(self, ops: Iterable[ir.Operation]) -> list[ir.Operation]:
        """Return those of some operations that are not done any more when the function runs."""
        return [op for op in ops if op.results[0] in self.of_weights]

    def needs(self, lifted: Sequence[ir.Operation]) -> tuple[set[ir.Value], set[str]]:
        """Return the values and shape variables that are used when the function runs.

        Parameters
        ----------
        lifted : sequence of mlir.ir.Operation
            What is computed ahead, and not when the function runs.
        """
        values: set[ir.Value] = set()
        names: set[str] = set(variables_of([result_type(self.function)]))
        gone = {key_of(op) for op in lifted}
        others = {key_of(op) for op in self.liftable if op.results[0] not in self.of_weights}
        waiting: list[ir.Operation] = []
        for op in _bindings(self.function):
            # What depends on no weight is done again where it is used, and where nobody used it.
            if key_of(op) not in gone and (
                key_of(op) not in others or not list(op.results[0].uses)
            ):
                waiting.append(op)
        seen: set[int] = set()
        while waiting:
            op = waiting.pop()
            if key_of(op) in seen:
                continue
            seen.add(key_of(op))
            names.update(mentioned_symbolic_vars(op))
            for value in map(self.source, free_vars(op)):
                values.add(value)
                made = defining_op(value)
                if made is not None and key_of(made) in others:
                    waiting.append(made)
        given = [*self.inputs, *(value for value in self._ahead if value in values)]
        names.update(variables_of(value.type for value in given))
        # Of a variable that weights bind, but not alone, only the weight itself tells the value.
        bound = set(_bound_by(self.types)).union(
            *(binding_vars(param.type) for param in self.inputs)
        )
        for weight in self.weights:
            if any(name in names and name not in bound for name in binding_vars(weight.type)):
                values.add(weight)
        return values, names


def _bindings(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations of the body of a function, those of dataflow blocks in their place."""
    for op in body_of(function).operations:
        if op.operation.name == "relax.dataflow":
            body = op.operation.regions[0].blocks[0]
            yield from (inner.operation for inner in list(body.operations)[:-1])
        else:
            yield op.operation


# ---------------------------------------------------------------------------------------------
# Plans
# ---------------------------------------------------------------------------------------------


@dataclass
class _Change:
    """What happens to a function.

    Attributes
    ----------
    analysis : _Analysis
    outputs : list of mlir.ir.Value
        Its values that the new function returns.
    lifted : list of mlir.ir.Operation
        What it does not do any more.
    variables : list of str
        The shape variables that the new function returns.
    replaced : dict of mlir.ir.Value to int
        More values that are an output.
    """

    analysis: _Analysis
    outputs: list[ir.Value]
    lifted: list[ir.Operation]
    variables: list[str]
    replaced: dict[ir.Value, int] = field(default_factory=dict)


@dataclass
class _Plan:
    """Which operations of the first function the new one does, and what happens to all."""

    computed: list[ir.Operation]
    changes: list[_Change]


def _own_plan(analysis: _Analysis) -> _Plan:
    lifted = analysis.lifted(analysis.liftable)
    values, names = analysis.needs(lifted)
    outputs = [value for value in analysis.weights if value in values]
    outputs += [op.results[0] for op in lifted if op.results[0] in values]
    bound = {name for each in (*analysis.inputs, *outputs) for name in binding_vars(each.type)}
    variables = [name for name in _bound_by(analysis.types) if name in names - bound]
    return _Plan(analysis.liftable, [_Change(analysis, outputs, lifted, variables)])


def _types_alone(weights: Sequence[ir.Value]) -> list[ir.Type]:
    """Return the types of weights without what names variables that no other weight binds."""
    types = [weight.type for weight in weights]
    while True:
        bound = {name for type_ in types for name in binding_vars(type_)}
        erased = [erase_to_well_defined(type_, bound, bound) for type_ in types]
        if erased == types:  # what is erased may have bound something itself
            return types
        types = erased


def _bound_by(types: Sequence[ir.Type]) -> list[str]:
    """Return the shape variables that types bind, in order, which stand for a dimension."""
    bound = {name for type_ in types for name in binding_vars(type_)}
    dims = dict.fromkeys(str(dim.name) for t in types for dim in tir_vars_in_struct_info(t))
    return [name for name in dims if name in bound]


def _shared_plan(analyses: Sequence[_Analysis]) -> _Plan:
    """Plan one function for several: of what all of them compute of the same weights."""
    first = analyses[0]
    renamings = [_renaming(first, each) for each in analyses]
    numbers = [_Numbers(each, names) for each, names in zip(analyses, renamings, strict=True)]
    shared = set(numbers[0].found)
    for each in numbers[1:]:
        shared &= set(each.found)
    for each in numbers:
        each.keep(shared)
    lifted = [
        analysis.lifted(mine.operations) for analysis, mine in zip(analyses, numbers, strict=True)
    ]
    needs = [each.needs(ops) for each, ops in zip(analyses, lifted, strict=True)]
    needed = {
        mine.number(value)
        for mine, (values, _) in zip(numbers, needs, strict=True)
        for value in values
        if mine.is_known(value)
    }
    keys = [key for key in numbers[0].weights if key in needed]
    own = [op.results[0] for op in lifted[0]]
    keys += dict.fromkeys(key for value in own if (key := numbers[0].number(value)) in needed)
    changes = []
    for analysis, mine, ops in zip(analyses, numbers, lifted, strict=True):
        values = [mine.values[key] for key in keys]
        changes.append(_Change(analysis, values, ops, []))
        places = {key: place for place, key in enumerate(keys)}
        known = [*analysis.weights, *(op.results[0] for op in ops)]
        changes[-1].replaced = {
            value: places[mine.number(value)] for value in known if mine.number(value) in places
        }
    _share_variables(changes, needs, renamings)
    return _Plan(numbers[0].operations, changes)


def _share_variables(
    changes: Sequence[_Change],
    needs: Sequence[tuple[set[ir.Value], set[str]]],
    renamings: Sequence[Mapping[str, str]],
) -> None:
    """Say which shape variables the new function returns for all of the functions."""
    wanted: set[str] = set()
    for change, (_, names), renaming in zip(changes, needs, renamings, strict=True):
        given = (*change.analysis.inputs, *change.outputs)
        bound = {name for value in given for name in binding_vars(value.type)}
        wanted |= {renaming[name] for name in names - bound if name in renaming}
    order = [name for name in _bound_by(changes[0].analysis.types) if name in wanted]
    for change, renaming in zip(changes, renamings, strict=True):
        own = {new: old for old, new in renaming.items()}
        change.variables = [own[name] for name in order]


def _renaming(first: _Analysis, other: _Analysis) -> dict[str, str]:
    """Return the shape variables of the first function by those of another one.

    Raises
    ------
    ValueError
        If their weights are not of the same types.
    """
    names = [name_of(each.function) for each in (first, other)]
    if len(first.weights) != len(other.weights):
        raise ValueError(
            f"expected functions with the same weights, but got {len(first.weights)} weights of "
            f"'{names[0]}' and {len(other.weights)} of '{names[1]}'"
        )
    renaming: dict[str, str] = {}
    for mine, its in zip(other.weights, first.weights, strict=True):
        for name, value in get_shape_var_mapping(mine.type, its.type).items():
            if isinstance(value, Dim) and value.name:
                renaming.setdefault(name, str(value.name))
    for mine, its in zip(other.weights, first.weights, strict=True):
        if (
            len(set(renaming.values())) < len(renaming)
            or substitute(mine.type, renaming) != its.type
        ):
            raise ValueError(
                f"expected functions with weights of the same types, but got {its.type} of "
                f"'{names[0]}' and {mine.type} of '{names[1]}'"
            )
    return renaming


class _Numbers:
    """Keys of what a function computes ahead: the same in all functions for the same computation.

    Attributes
    ----------
    found : dict
        The operations by their keys.
    values : dict
        The first value of each key.
    weights : list
        The keys of the weights.
    operations : list of mlir.ir.Operation
        Those that are computed ahead, in order.
    """

    def __init__(self, analysis: _Analysis, renaming: Mapping[str, str]) -> None:
        self._analysis = analysis
        self._renaming = {name: Dim(new) for name, new in renaming.items()}
        self._keys: dict[ir.Value, Any] = {}
        self.found: dict[Any, list[ir.Operation]] = {}
        self.values: dict[Any, ir.Value] = {}
        self.operations: list[ir.Operation] = []
        for place, weight in enumerate(analysis.weights):
            self._set(weight, place)
        self.weights: list[Any] = list(range(len(analysis.weights)))
        for op in analysis.liftable:
            if op.name == "relax.match_cast" or len(op.regions):
                continue
            if all(self.is_known(value) for value in op.operands):
                key = self._key(op)
                self.found.setdefault(key, []).append(op)
                self._set(op.results[0], key)

    def _set(self, value: ir.Value, key: Any) -> None:
        self._keys[value] = key
        self.values.setdefault(key, value)

    def _key(self, op: ir.Operation) -> Any:
        with op.context:
            attributes = [
                (name, str(in_attribute(op.attributes[name], self._renaming)))
                for name in sorted(op.attributes)
            ]
        operands = tuple(self.number(value) for value in op.operands)
        type_ = str(substitute(op.results[0].type, self._renaming))
        return (op.name, operands, tuple(attributes), type_)

    def is_known(self, value: ir.Value) -> bool:
        """Say whether a value is computed ahead."""
        return self._analysis.source(value) in self._keys

    def number(self, value: ir.Value) -> Any:
        """Return the key of a value."""
        return self._keys[self._analysis.source(value)]

    def keep(self, shared: set[Any]) -> None:
        """Forget what is not computed in all functions, and what is computed of that."""
        for op in self._analysis.liftable:
            value = op.results[0]
            if value not in self._keys:
                continue
            is_shared = self._keys[value] in shared and all(map(self.is_known, op.operands))
            if is_shared:
                self.operations.append(op)
            else:
                del self._keys[value]


# ---------------------------------------------------------------------------------------------
# Functions
# ---------------------------------------------------------------------------------------------


def _apply(module: ir.Module, plan: _Plan, name: str) -> None:
    old = symbol(module.operation, name)
    if old is not None and (old.name != "relax.func" or not _takes_bundle(old)):
        raise ValueError(
            f"expected '{name}' to be a function of one tuple, since a new function gets this "
            "name, and does what it does first"
        )
    made = _write(module, plan, f"{name}.step" if old is not None else name)
    is_called = False
    for change in plan.changes:
        calls = calls_of(module, name_of(change.analysis.function))
        is_called |= bool(calls)
        _take_outputs(change)
        for call in calls:
            _call_both(call, made, change)
    if old is None:
        return
    _compose(old, made.clone().operation)
    if is_called:
        made.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
    else:
        made.erase()


def _takes_bundle(function: ir.Operation) -> bool:
    params = params_of(function) if len(function.regions[0].blocks) else []
    return len(params) == 1 and isinstance(params[0].type, TupleStructInfo)


def _call_both(call: ir.Operation, made: ir.Operation, change: _Change) -> None:
    """Call the new function before a function whose weights it computes."""
    arguments = list(call.operands)
    inputs = len(change.analysis.inputs)
    with ir.InsertionPoint(call), call.location:
        callee = ir.FlatSymbolRefAttr.get(name_of(made))
        weights = tuple_(*arguments[inputs:])
        bundle = _ops.CallOp(result_type(made), [weights], callee=callee)
        bundle.result.set_type(call_type(bundle.operation))
        count = len(change.outputs) + bool(change.variables)
        items = [get_item(bundle.result, place) for place in range(count)]
    replace_call(call, [*arguments[:inputs], *items])


# -- the new one ------------------------------------------------------------------------------


def _write(module: ir.Module, plan: _Plan, name: str) -> ir.Operation:
    """Write the new function."""
    change = plan.changes[0]
    analysis = change.analysis
    types = analysis.types
    with module.context, analysis.function.location:
        function = _new_function(module, analysis.function, name, TupleStructInfo(types))
        result = params_of(function)[0]
        if not types:
            with ir.InsertionPoint(body_of(function)):
                result = tuple_()
        elif change.variables or change.outputs != analysis.weights:
            result = _write_body(function, plan)
        with ir.InsertionPoint(body_of(function)):
            _ops.ReturnOp(result)
    set_signature(function, param_names(function), result.type)
    fold_items(function)
    remove_unused(function)
    return function


def _new_function(
    module: ir.Module, source: ir.Operation, name: str, bundled: ir.Type
) -> ir.Operation:
    signature = ir.FunctionType.get([bundled], [TupleStructInfo([])])
    with ir.InsertionPoint(module.body):
        names = ir.ArrayAttr.get([ir.StringAttr.get("params")])
        made = _ops.FuncOp(name, ir.TypeAttr.get(signature), arg_names=names).operation
    set_num_input(made, 0)
    for bounds in BOUNDS:
        if bounds in source.attributes:
            made.attributes[bounds] = source.attributes[bounds]
    loc = ir.Location.name("params", childLoc=source.location)
    ir.Block.create_at_start(made.regions[0], [bundled], [loc])
    return made


def _write_body(function: ir.Operation, plan: _Plan) -> ir.Value:
    """Write a dataflow block that computes what the function returns, and return that."""
    change = plan.changes[0]
    with ir.InsertionPoint(body_of(function)):
        draft = _ops.DataflowOp([]).operation
    block = draft.regions[0].blocks.append()
    with ir.InsertionPoint(block):
        writer = _Writer(change.analysis, params_of(function)[0])
        for op in _needed(plan):
            writer.write(op)
        first = [shape(change.variables)] if change.variables else []
        result = tuple_(*first, *map(writer.copy_of, change.outputs))
        _ops.OutputOp([result])
    with ir.InsertionPoint(draft):
        dataflow = _ops.DataflowOp([result.type]).operation
    replace_draft(draft, dataflow)
    made: ir.Value = dataflow.results[0]
    return made


class _Writer:
    """Writes operations of a function again, on fields of a tuple in the place of its weights."""

    def __init__(self, analysis: _Analysis, bundle: ir.Value) -> None:
        self._analysis = analysis
        self._bundle = bundle
        self._copies: dict[ir.Value, ir.Value] = {}
        self._names = param_names(analysis.function)[len(analysis.inputs) :]

    def copy_of(self, value: ir.Value) -> ir.Value:
        """Return what a value is here; a weight is taken before its first use."""
        source = self._analysis.source(value)
        if source not in self._copies:
            place = self._analysis.weights.index(source)
            loc = ir.Location.name(self._names[place] or f"param{place}")
            with loc:
                self._copies[source] = get_item(self._bundle, place)
        return self._copies[source]

    def write(self, op: ir.Operation) -> None:
        """Write an operation again."""
        operands = {value: self.copy_of(value) for value in free_vars(op)}
        copy = op.clone().operation
        for inner in walk(copy):
            for place, operand in enumerate(inner.operands):
                if operand in operands:
                    inner.operands[place] = operands[operand]
        self._copies[op.results[0]] = copy.results[0]


def _needed(plan: _Plan) -> list[ir.Operation]:
    """Return the operations that the outputs are computed of, in order."""
    source = plan.changes[0].analysis.source
    wanted = {source(value) for value in plan.changes[0].outputs}
    needed: list[ir.Operation] = []
    for op in reversed(plan.computed):
        if op.results[0] in wanted:
            needed.append(op)
            wanted.update(map(source, free_vars(op)))
    return needed[::-1]


def _compose(first: ir.Operation, second: ir.Operation) -> None:
    """Have a function do what another one does with its result; that one is gone then."""
    return_ = terminator_of(body_of(first))
    (value,) = return_.operands
    expected = params_of(second)[0].type
    mapping = get_shape_var_mapping(expected, value.type)
    known = {name: dim for name, dim in mapping.items() if isinstance(dim, Dim)}
    taken = Names(_all_variables(first))
    fresh = (name for name in _all_variables(second) if name not in known)
    values = known | {name: Dim(taken.unique(name)) for name in fresh}
    bind_variables(second, values)
    expected = params_of(second)[0].type
    if is_subtype(value.type, expected) is not True:
        with ir.InsertionPoint(return_), return_.location:
            value = _ops.MatchCastOp(expected, value).result
    params_of(second)[0].replace_all_uses_with(value)
    *ops, last = [op.operation for op in body_of(second).operations]
    result = last.operands[0]
    return_.operands[0] = result
    for op in ops:
        op.move_before(return_)
    last.erase()
    second.erase()
    fold_items(first)
    set_signature(first, param_names(first), return_.operands[0].type)


def _all_variables(function: ir.Operation) -> list[str]:
    names = dict.fromkeys(str(dim.name) for dim in defined_symbolic_vars(function))
    return list(names | used_variables(function))


# -- the old ones -----------------------------------------------------------------------------


def _take_outputs(change: _Change) -> None:
    """Have a function take what the new one returns, in the place of its weights."""
    analysis, function = change.analysis, change.analysis.function
    count = len(analysis.inputs)
    names = _new_names(change)
    types = [shape_of(change.variables)] if change.variables else []
    types += [value.type for value in change.outputs]
    made = [
        insert_param(function, name, type_)
        for name, type_ in zip(names[count:], types, strict=True)
    ]
    new = made[bool(change.variables) :]
    places = change.replaced or {value: i for i, value in enumerate(change.outputs)}
    # What is lifted goes, and so does what only that used.
    going = {key_of(op) for op in (*change.lifted, *filter(_is_used, analysis.liftable))}
    for value, place in places.items():
        value.replace_all_uses_with(new[place])
    for op in list(walk(function)):
        if op.name == "relax.stop_lift_params":
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    for op in reversed([each for each in walk(function) if each.name == "relax.dataflow"]):
        _clean(op, going)
    erase_params(function, range(count, count + len(analysis.weights)))
    set_signature(function, names)


def _is_used(op: ir.Operation) -> bool:
    return bool(list(op.results[0].uses))


def _new_names(change: _Change) -> list[str]:
    """Return the names of the parameters that a function has then."""
    analysis = change.analysis
    own = param_names(analysis.function)
    names = own[: len(analysis.inputs)]
    known = dict(zip(analysis.weights, own[len(names) :], strict=True))
    taken = Names(names)
    if change.variables:
        names.append(taken.unique("vars_from_compile_time_params"))
    for place, value in enumerate(change.outputs):
        made = defining_op(value)
        is_named = made is not None and made.location.is_a_name()
        name = known.get(value) or (var_name(value) if is_named else "") or f"param{place}"
        names.append(taken.unique(name))
    return names


def _clean(dataflow: ir.Operation, going: set[int]) -> None:
    """Erase what a dataflow block does not do any more, and the block where nothing is left."""
    dataflow = _drop_outputs(dataflow)
    block = dataflow.regions[0].blocks[0]
    for op in reversed([inner.operation for inner in block.operations]):
        if key_of(op) in going and not _is_used(op):
            op.erase()
    if not len(dataflow.results) and len(block.operations) == 1:
        dataflow.erase()


def _as_declared(value: ir.Value, type_: ir.Type, before: ir.Operation) -> ir.Value:
    """Return a value under a type that may say less, on which others rely."""
    if value.type == type_:
        return value
    with ir.InsertionPoint(before), before.location:
        made: ir.Value = _ops.MatchCastOp(type_, value).result
    return made


def _drop_outputs(dataflow: ir.Operation) -> ir.Operation:
    """Drop what a dataflow block puts out that nobody uses, or that it does not compute.

    Returns
    -------
    mlir.ir.Operation
        The block as it is then.
    """
    output = terminator_of(dataflow.regions[0].blocks[0])
    kept: list[tuple[ir.Value, ir.Value]] = []
    for value, result in zip(list(output.operands), dataflow.results, strict=True):
        made = defining_op(value)
        if made is None or made.block != output.block:
            result.replace_all_uses_with(_as_declared(value, result.type, dataflow))
        elif list(result.uses):
            kept.append((value, result))
    if len(kept) == len(dataflow.results):
        return dataflow
    with ir.InsertionPoint(output), output.location:
        _ops.OutputOp([value for value, _ in kept])
    output.erase()
    with ir.InsertionPoint(dataflow), dataflow.location:
        new = _ops.DataflowOp([result.type for _, result in kept]).operation
    for (_, old), result in zip(kept, new.results, strict=True):
        old.replace_all_uses_with(result)
    replace_draft(dataflow, new)
    return new
