# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that are loaded when they are needed, and results that are handed over at once."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mlir import ir

from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from ..core.expr import Var, prim_value, string
from ..core.expr import tuple as tuple_
from ..core.ir import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TupleStructInfo,
)
from ..core.ir_module import IRModule
from ..core.lifetimes import key_of
from ..core.struct_info import binding_vars
from ..core.variables import defined_symbolic_vars, defining_op, mentioned_symbolic_vars
from ..dialects import relax as _ops
from ..op import call_packed, call_pure_packed, get_item
from ..op.call import call
from ..op.vm import kill_object
from .dataflow_blocks import is_leaf
from .model_params import common_place
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import (
    body_of,
    calls_of,
    erase_params,
    fields_of,
    insert_param,
    is_private,
    is_value,
    name_of,
    num_input,
    param_names,
    params_of,
    relax_functions,
    run_on_function,
    set_num_input,
    set_signature,
    terminator_of,
    unique_name,
    variables_of,
)

_ITEM = "relax.get_item"
# Writes a call that returns a weight: of its place, and its name.
_Fetch = Callable[[int, str], ir.Value]


# ---------------------------------------------------------------------------------------------
# Weights
# ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Weight:
    """A weight that a function takes.

    Attributes
    ----------
    place : int
        Its number among the weights.
    name : str
    type_ : mlir.ir.Type
    values : list of mlir.ir.Value
        What stands for it in the function.
    uses : list of mlir.ir.Operation
        Operations before which it has to be there.
    """

    place: int
    name: str
    type_: ir.Type
    values: list[ir.Value] = field(default_factory=list)
    uses: list[ir.Operation] = field(default_factory=list)


def _fetch_weights(
    function: ir.Operation, weights: Sequence[_Weight], bound: Iterable[str], fetch: _Fetch
) -> list[ir.Value]:
    """Load weights where they are needed first; return those that are, as values."""
    _require_bound(function, weights, bound)
    _Scope(function, weights, set(bound)).complete()
    loaded: list[ir.Value] = []
    for weight in _in_order(weights):
        place = common_place(weight.uses)
        if place is None:
            continue
        loc = ir.Location.name(weight.name, childLoc=place.location)
        with ir.InsertionPoint(place), loc:
            untyped = fetch(weight.place, weight.name)
            value = _ops.MatchCastOp(weight.type_, untyped).result
        for old in weight.values:
            old.replace_all_uses_with(value)
        loaded.append(value)
    return loaded


def _require_bound(
    function: ir.Operation, weights: Sequence[_Weight], bound: Iterable[str]
) -> None:
    """Raise ValueError if the type of an input names a shape variable that weights bind."""
    inputs = params_of(function)[: num_input(function) or 0]
    given = {name for weight in weights for name in binding_vars(weight.type_)} - set(bound)
    for name in variables_of(param.type for param in inputs):
        if name in given:
            raise ValueError(
                f"expected inputs of function '{name_of(function)}' whose types name no shape "
                f"variable that only weights determine, but got '{name}'"
            )


def _in_order(weights: Sequence[_Weight]) -> Iterator[_Weight]:
    """Yield weights, those that bind shape variables before those with expressions over them."""
    waiting = list(weights)
    while waiting:
        unbound = {name for weight in waiting for name in binding_vars(weight.type_)}
        free = [weight for weight in waiting if not unbound.intersection(_expressed(weight))]
        weight = (free or waiting)[0]
        waiting.remove(weight)
        yield weight


def _expressed(weight: _Weight) -> set[str]:
    """Return the shape variables that the type of a weight names and does not bind."""
    return set(variables_of([weight.type_])).difference(binding_vars(weight.type_))


class _Scope:
    """Has weights loaded where shape variables are used that they bind."""

    def __init__(self, function: ir.Operation, weights: Sequence[_Weight], bound: set[str]) -> None:
        self._ops = [op.operation for op in body_of(function).operations]
        self._numbers = {key_of(op): number for number, op in enumerate(self._ops)}
        self._weights = weights
        self._bound = bound
        self._binds: dict[str, list[_Weight]] = {}
        for weight in weights:
            for name in binding_vars(weight.type_):
                self._binds.setdefault(str(name), []).append(weight)

    def complete(self) -> None:
        """Add uses to weights whose dimensions are used before, or without, their elements."""
        items = (op for weight in self._weights for op in weight.uses if op.name == _ITEM)
        taken = set(map(key_of, items))
        for number, op in enumerate(self._ops):
            if key_of(op) not in taken:
                self._require(mentioned_symbolic_vars(op), number)
        for weight in self._weights:
            place = common_place(weight.uses)
            if place is not None and _expressed(weight):
                self._require(variables_of([weight.type_]), self._number_of(place))

    def _require(self, names: Iterable[str], number: int) -> None:
        for name in names:
            binds = self._binds.get(name, [])
            if name in self._bound or not binds:
                continue
            if not any(self._is_bound(weight, number) for weight in binds):
                used = [weight for weight in binds if weight.uses]
                (used or binds)[0].uses.append(self._ops[number])

    def _is_bound(self, weight: _Weight, number: int) -> bool:
        """Say whether a weight is loaded where an operation of the function sees what it binds."""
        place = common_place(weight.uses)
        if place is None:
            return False
        if place == self._ops[number]:
            return True
        holders = itertools.takewhile(lambda op: op.name != "relax.func", _holders(place))
        is_visible = all(holder.name == "relax.dataflow" for holder in holders)
        return is_visible and self._number_of(place) < number

    def _number_of(self, op: ir.Operation) -> int:
        """Return the number of the operation of the function that is, or holds, an operation."""
        holders = [op, *_holders(op)]
        return next(self._numbers[key] for key in map(key_of, holders) if key in self._numbers)


def _holders(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations around an operation, from the innermost on."""
    while op.name != "relax.func":
        op = op.parent.operation
        yield op


def _single_weights(function: ir.Operation, inputs: int) -> list[_Weight]:
    """Return the parameters behind the inputs as weights."""
    names = param_names(function)
    return [
        _Weight(place, names[inputs + place] or f"param{place}", param.type, [param], _users(param))
        for place, param in enumerate(params_of(function)[inputs:])
    ]


def _bundled_weights(function: ir.Operation, bundle: ir.Value) -> list[_Weight]:
    """Return the fields of a tuple as weights."""
    whole = [use for use in bundle.uses if use.owner.operation.name != _ITEM]
    if whole:  # which is made of its fields, then
        place = common_place([use.owner.operation for use in whole])
        assert place is not None
        with ir.InsertionPoint(place), place.location:
            made = tuple_(*[get_item(bundle, i) for i in range(len(bundle.type.fields))])
        for use in whole:
            use.owner.operation.operands[use.operand_number] = made
    weights = [
        _Weight(place, f"param{place}", type_) for place, type_ in enumerate(bundle.type.fields)
    ]
    for use in list(bundle.uses):
        item = use.owner.operation
        if not _users(item.results[0]):
            item.erase()
            continue
        weight = weights[int(item.attributes["index"].value)]
        weight.values.append(item.results[0])
        weight.uses.append(item)
        if item.location.is_a_name():
            weight.name = item.location.name_str
    return weights


def _users(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]


# ---------------------------------------------------------------------------------------------
# Packed functions by name
# ---------------------------------------------------------------------------------------------


@module_pass(opt_level=0)
class LazyTransformParams:
    """Load weights in ``transform_params`` one by one, and hand over each result at once.

    Changes the functions whose names end with ``transform_params``, as `LiftTransformParams`
    makes them. Their weights are parameters no more: the packed function `fget_item` returns the
    one of a number, when it is needed first. The packed function `fset_item` gets the number of
    each field of the result, and its value, after the last use, and the function returns an empty
    tuple. A weight is dropped after its last use.

    Parameters
    ----------
    fget_item : str
        The name of a packed function.
    fset_item : str or None
        None: the function returns its results as before.
    extra_get_item_params, extra_set_item_params : sequence of Var, optional
        More parameters of the functions, which are passed before the number.

    Notes
    -----
    Weights that are shapes and scalars stay parameters, too, where the function has shape
    variables. Dataflow blocks of the functions are inlined.

    Examples
    --------
    >>> from relax_mlir.transform import LazyTransformParams
    >>> mod = LazyTransformParams()('''
    ... relax.func @transform_params(%params: !relax.tuple<!relax.tensor<[n], f32>>)
    ...     -> !relax.tuple<!relax.tensor<[n], f32>> {
    ...   %0 = relax.get_item %params[0] : !relax.tuple<!relax.tensor<[n], f32>>
    ...   %1 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   %2 = relax.tuple %1 : !relax.tensor<[n], f32>
    ...   relax.return %2 : !relax.tuple<!relax.tensor<[n], f32>>
    ... }''')
    >>> [op.operation.name.removeprefix("relax.") for op in mod["transform_params"].body.blocks[0]]
    ['prim_value', 'call_packed', 'match_cast', 'exp', 'builtin.kill', 'prim_value', 'call_packed', 'tuple', 'return']
    """  # noqa: E501 (what a program becomes)

    def __init__(
        self,
        fget_item: str = "get_item",
        fset_item: str | None = "set_item",
        extra_get_item_params: Sequence[Var] | None = None,
        extra_set_item_params: Sequence[Var] | None = None,
    ) -> None:
        if not isinstance(fget_item, str):
            raise TypeError(
                f"expected fget_item to be the name of a function, but got {shown(fget_item)}"
            )
        if not isinstance(fset_item, (str, type(None))):
            raise TypeError(
                f"expected fset_item to be the name of a function, but got {shown(fset_item)}"
            )
        self._get, self._set = fget_item, fset_item
        self._get_params = list(extra_get_item_params or ())
        self._set_params = list(extra_set_item_params or ())
        for param in (*self._get_params, *self._set_params):
            if not isinstance(param, Var):
                raise TypeError(f"expected a Var as a parameter, but got {shown(param)}")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions."""
        for function in relax_functions(mod.module):
            if name_of(function).endswith("transform_params"):
                _require_no_calls(mod.module, function)
                self._transform(function)
        return mod

    def _transform(self, function: ir.Operation) -> None:
        run_on_function("relax-to-non-dataflow", function)
        inputs = num_input(function) or 0
        old = params_of(function)
        names = param_names(function)[:inputs]
        bundle = old[inputs] if len(old) == inputs + 1 else None
        if bundle is not None and isinstance(bundle.type, TupleStructInfo):
            weights = _bundled_weights(function, bundle)
        else:
            weights = _single_weights(function, inputs)
        getters = [_add_param(function, names, param) for param in self._get_params]
        setters = [_add_param(function, names, param) for param in self._set_params]
        if defined_symbolic_vars(function):
            for type_ in _scalars([weight.type_ for weight in weights]):
                _add_param(function, names, Var("symbolic_var_holder", type_))
        kept = [*old[:inputs], *params_of(function)[len(old) :]]
        bound = {name for param in kept for name in binding_vars(param.type)}

        def fetch(place: int, name: str) -> ir.Value:
            return _call(self._get, *getters, prim_value(place))

        loaded = _fetch_weights(function, weights, bound, fetch)
        for value in [value for weight in weights for value in weight.values]:
            made = defining_op(value)
            if made is not None:  # an item of the tuple
                made.erase()
        if self._set is not None:
            _hand_over(function, self._set, setters, loaded)
        erase_params(function, range(inputs, len(old)))
        _set_impure(function)
        set_signature(function, names)


def _hand_over(
    function: ir.Operation,
    setter: str,
    extra: Sequence[ir.Value],
    loaded: Sequence[ir.Value],
) -> None:
    """Hand over each result after its last use, and drop weights after theirs."""
    outputs = _take_result(function)
    end = terminator_of(body_of(function))
    actions: dict[ir.Value, list[Callable[[], object]]] = {}

    def set_item(place: int, value: ir.Value) -> Callable[[], object]:
        return lambda: _call(setter, *extra, prim_value(place), value)

    for place, value in outputs:
        actions.setdefault(value, []).append(set_item(place, value))
    for value in loaded:
        actions.setdefault(value, []).append(_killing(value))
    behind = [(*_last_use(value, end), value) for value in actions]
    for place, _, value in sorted(behind, key=lambda each: each[1]):
        with ir.InsertionPoint(place), end.location:
            for act in actions[value]:
                act()


def _call(name: str, *arguments: ir.Value) -> ir.Value:
    return call_packed(name, *arguments, sinfo_args=[ObjectStructInfo()])


def _killing(value: ir.Value) -> Callable[[], object]:
    return lambda: kill_object(value)


def _add_param(function: ir.Operation, names: list[str], param: Var) -> ir.Value:
    """Add a parameter behind all others."""
    names.append(unique_name(param.name, names))
    return insert_param(function, names[-1], param.struct_info)


def _scalars(types: Iterable[ir.Type]) -> Iterator[ir.Type]:
    """Yield the types of shapes and scalars, those in tuples, too."""
    for type_ in types:
        if isinstance(type_, TupleStructInfo):
            yield from _scalars(type_.fields)
        elif isinstance(type_, (PrimStructInfo, ShapeStructInfo)):
            yield type_


def _take_result(function: ir.Operation) -> list[tuple[int, ir.Value]]:
    """Have a function return an empty tuple; return the fields of what it returned, by number."""
    return_ = terminator_of(body_of(function))
    (value,) = return_.operands
    if "derive_result" in function.attributes:
        del function.attributes["derive_result"]
    with ir.InsertionPoint(return_), return_.location:
        fields = fields_of(value)
        outputs = [value] if fields is None else fields
        return_.operands[0] = tuple_()
    made = defining_op(value)
    if fields is not None and made is not None and made.name == "relax.tuple" and not _users(value):
        made.erase()
    set_signature(function, param_names(function), TupleStructInfo([]))
    return list(enumerate(outputs))


def _last_use(value: ir.Value, end: ir.Operation) -> tuple[ir.Operation, int]:
    """Return the operation of a body from which on nothing uses a value.

    Parameters
    ----------
    value : mlir.ir.Value
    end : mlir.ir.Operation
        The last operation of the body, at which constants are used.

    Returns
    -------
    mlir.ir.Operation
    int
        Which operand of the operation before uses it; more than any where it is the result.
    """
    made = defining_op(value)
    if _is_constant(value):
        return end, 0
    last, number = made, sys.maxsize
    for use in _uses(value):
        user = use.owner.operation
        while user.block != end.block:
            user = user.parent.operation
        if last is None or last.is_before_in_block(user):
            last, number = user, use.operand_number
    if last is None:  # a parameter without uses
        return next(iter(end.block.operations)).operation, 0
    return _next(last), number


def _uses(value: ir.Value) -> Iterator[ir.OpOperand]:
    """Yield the uses of a value, and of what it is cast to."""
    for use in value.uses:
        yield use
        if use.owner.operation.name == "relax.match_cast":
            yield from _uses(use.owner.operation.results[0])


def _next(op: ir.Operation) -> ir.Operation:
    found = _ext.next_operation(op)
    assert found is not None
    return found


def _set_impure(function: ir.Operation) -> None:
    with function.context:
        function.attributes["is_pure"] = ir.BoolAttr.get(False)
    if "relax.force_pure" in function.attributes:
        del function.attributes["relax.force_pure"]


def _require_no_calls(module: ir.Module, function: ir.Operation) -> None:
    name = name_of(function)
    if calls_of(module, name) or is_value(module, name):
        raise ValueError(f"expected a function that the module does not use, but got '{name}'")


# ---------------------------------------------------------------------------------------------
# Functions as parameters
# ---------------------------------------------------------------------------------------------


def _entry_points(module: ir.Module) -> list[ir.Operation]:
    """Return the functions that are called from outside of a module only."""
    return [
        function
        for function in relax_functions(module)
        if not is_private(function)
        and not calls_of(module, name_of(function))
        and not is_value(module, name_of(function))
    ]


@module_pass(opt_level=0)
class LazyGetInput:
    """Ask for the weights of functions when they are needed.

    The parameters of a function behind the first ``num_input`` ones, which is an attribute, become
    one: a packed function of the number of a weight and its name, which returns the weight. Without
    the attribute all parameters are weights. Functions that are private, or that the module itself
    uses, stay as they are.

    Notes
    -----
    In TVM the type of the parameter states a signature. Here it is that of packed functions, so
    that ``tvm_ffi.convert`` makes one of a function of Python.

    Examples
    --------
    >>> from relax_mlir.transform import LazyGetInput
    >>> mod = LazyGetInput()('''
    ... relax.func @main(%x: !relax.object, %w: !relax.object) -> !relax.object
    ...     attributes {num_input = 1 : i64} {
    ...   relax.return %w : !relax.object
    ... }''')
    >>> print(mod["main"].params[1].struct_info)
    !relax.func<derive = @default_derive>
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions."""
        with mod.context:
            for function in _entry_points(mod.module):
                _ask_for_inputs(function)
        return mod


def _ask_for_inputs(function: ir.Operation) -> None:
    inputs = num_input(function) or 0
    old = params_of(function)
    weights = _single_weights(function, inputs)
    names = param_names(function)[:inputs]
    getter = _add_param(function, names, Var("fget_param", _packed_function()))
    bound = {name for param in old[:inputs] for name in binding_vars(param.type)}

    def fetch(place: int, name: str) -> ir.Value:
        given = prim_value(place), string(name)
        return call_pure_packed(getter, *given, sinfo_args=[ObjectStructInfo()])

    _fetch_weights(function, weights, bound, fetch)
    erase_params(function, range(inputs, len(old)))
    set_signature(function, names)
    set_num_input(function, inputs + 1)


@module_pass(opt_level=0)
class LazySetOutput:
    """Hand over the results of functions when they are computed.

    A function gets one more parameter, behind its inputs: a packed function of the number of a
    field of the result, and its value, which is called once for each field. The result is an empty
    tuple. Where the result is no tuple, its number is 0. Functions that are private, or that the
    module itself uses, stay as they are. Dataflow blocks are inlined.

    Notes
    -----
    The type of the parameter is that of packed functions, as of `LazyGetInput`.

    Examples
    --------
    >>> from relax_mlir.transform import LazySetOutput
    >>> mod = LazySetOutput()('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }''')
    >>> print(mod["main"].params[1].struct_info)
    !relax.func<derive = @default_derive>
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions."""
        with mod.context:
            for function in _entry_points(mod.module):
                _hand_over_outputs(function)
        return mod


def _packed_function() -> ir.Type:
    return FuncStructInfo(None, derive_func="default_derive")


def _hand_over_outputs(function: ir.Operation) -> None:
    run_on_function("relax-to-non-dataflow", function)
    inputs = num_input(function)
    names = param_names(function)
    place = len(names) if inputs is None else inputs
    name = unique_name("fset_output", names)
    names.insert(place, name)
    setter = insert_param(function, name, _packed_function(), place)
    set_signature(function, names)
    if inputs is not None:
        set_num_input(function, inputs + 1)
    _set_impure(function)
    end = terminator_of(body_of(function))
    outputs = _take_result(function)
    constants = [value for _, value in outputs if _is_constant(value)]
    for number, value in outputs:
        if value in constants:
            with ir.InsertionPoint(end), end.location:
                call(setter, prim_value(number), value, sinfo_args=[ObjectStructInfo()])
    # Each is handed over behind what comes before in the tuple, if both are made at one place.
    for number, value in reversed(outputs):
        if value in constants:
            continue
        made = defining_op(value)
        point = ir.InsertionPoint.at_block_begin(body_of(function))
        with point if made is None else ir.InsertionPoint(_next(made)), end.location:
            call(setter, prim_value(number), value, sinfo_args=[ObjectStructInfo()])


def _is_constant(value: ir.Value) -> bool:
    made = defining_op(value)
    return made is not None and is_leaf(made)
