# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of operations of a dataflow block that become functions, and calls of these.

`FuseOpsByPattern` makes groups of what a pattern matches, `MergeCompositeFunctions` of calls of
functions that were made so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlir import ir

from ..builder.function_bodies import Names
from ..core.ir import ShapeExpr, ShapeStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.lifetimes import key_of
from ..core.struct_info import binding_vars
from ..core.variables import (
    _bound_names,
    _names_in,
    _used_names,
    blocks_of,
    defining_op,
    unnamed,
    walk,
)
from ..dialects import relax as _ops
from ..external import symbols_of

# Attributes of functions, as TVM names them.
CODEGEN = "Codegen"
COMPOSITE = "Composite"
PRIMITIVE = "Primitive"
GLOBAL_SYMBOL = "global_symbol"

_CONSTANT = "relax.constant"
# What stands for itself, and is written again where it is used.
_LITERALS = frozenset(
    f"relax.{name}" for name in ("dtype", "extern_func", "global_var", "null_value", "string")
)
# Literals that may depend on shape variables: then they are arguments.
_SIZES = frozenset({"relax.prim_value", "relax.shape"})


@dataclass
class Group:
    """Operations of a dataflow block that become a function.

    Attributes
    ----------
    ops : list of mlir.ir.Operation
        In the order of the block.
    attributes : dict of str to mlir.ir.Attribute
        Those of the function.
    name : str
        The name of the function, to which a number is added where it is taken.
    rank : int
        Functions of groups with lower numbers are written first.
    outputs : list of mlir.ir.Value
        What others use; `Outliner.outline` sets it.
    """

    ops: list[ir.Operation]
    attributes: dict[str, ir.Attribute]
    name: str
    rank: int = 0
    outputs: list[ir.Value] = field(default_factory=list)


@dataclass
class Signature:
    """The parameters of the function of a group, and the arguments of its call."""

    names: Names = field(default_factory=Names)
    params: list[str] = field(default_factory=list)
    types: list[ir.Type] = field(default_factory=list)
    # The arguments: values, or fields of values.
    args: list[tuple[ir.Value, int | None]] = field(default_factory=list)
    places: dict[tuple[ir.Value, int | None], int] = field(default_factory=dict)
    literals: dict[ir.Value, ir.Operation] = field(default_factory=dict)
    free: list[str] = field(default_factory=list)

    def add(self, value: ir.Value, index: int | None, type_: ir.Type, name: str) -> None:
        """Add a parameter for a value, or for a field of a tuple, unless there is one."""
        if (value, index) not in self.places:
            self.places[value, index] = len(self.args)
            self.args.append((value, index))
            self.types.append(type_)
            self.params.append(self.names.unique(name))


def attribute_text(op: ir.Operation, name: str) -> str | None:
    """Return an attribute that is a string; None if the operation has none of that name."""
    attributes = op.attributes
    if name not in attributes or not isinstance(attributes[name], ir.StringAttr):
        return None
    return str(attributes[name].value)


def codegen_of(composite: str) -> str:
    """Return the codegen that the name of a pattern begins with.

    Raises
    ------
    ValueError
        If it begins with none.

    Examples
    --------
    >>> codegen_of("dnnl.conv2d_relu")
    'dnnl'
    """
    codegen, dot, _ = composite.partition(".")
    if not codegen or not dot:
        raise ValueError(
            "expected the name of a pattern that begins with a codegen, such as 'dnnl.matmul', but "
            f"got {composite!r}"
        )
    return codegen


def is_entry(function: Any) -> bool:
    """Say whether a function is one of Relax that no pass has made of a group."""
    if not isinstance(function, _ops.FuncOp) or len(function.body.blocks) == 0:
        return False
    attributes = function.operation.attributes
    if PRIMITIVE in attributes and attributes[PRIMITIVE] != ir.BoolAttr.get(False):
        return False
    return COMPOSITE not in attributes and CODEGEN not in attributes


def dataflow_blocks(function: ir.Operation) -> Iterator[ir.Block]:
    """Yield the dataflow blocks of a function, those in branches and closures, too."""
    for op in walk(function):
        if op.name == "relax.dataflow":
            yield from blocks_of(op)


def value_name(value: ir.Value) -> str | None:
    """Return the name that a value was given; None for one without."""
    owner = value.owner
    if not isinstance(owner, ir.Block):
        return owner.location.name_str if owner.location.is_a_name() else None
    attributes = owner.owner.operation.attributes
    index = ir.BlockArgument(value).arg_number
    if owner.owner.operation.name != "relax.func" or "arg_names" not in attributes:
        return None
    return str(attributes["arg_names"][index].value)


class Outliner:
    """Writes functions of groups into a module, and calls in place of the groups.

    Parameters
    ----------
    module : mlir.ir.Module
        It is changed.
    bind_constants : bool
        Whether constants are part of functions, or else arguments of the calls.
    """

    def __init__(self, module: ir.Module, *, bind_constants: bool) -> None:
        self.module = module
        mod = IRModule(module)
        self.names = Names([*mod.functions, *symbols_of(mod)])
        self._bind_constants = bind_constants
        self._known: dict[Any, str] = {}
        # Literals that are part of functions now.
        self._literals: dict[int, ir.Operation] = {}

    # -- what subclasses say -------------------------------------------------------------------

    def write(self, group: Group, signature: Signature, name: str) -> None:
        """Write the function of a group."""
        raise NotImplementedError(f"{type(self).__name__}.write")

    def choose_name(self, group: Group) -> str:
        """Return the name of the function of a group."""
        return self.names.unique(group.name)

    # -- blocks --------------------------------------------------------------------------------

    def outline(self, block: ir.Block, groups: Iterable[Group]) -> None:
        """Make functions of groups of a dataflow block, and call these.

        Groups that nobody uses stay as they are.

        Raises
        ------
        RuntimeError
            If a group would depend on itself.
        """
        ops = [op.operation for op in block.operations]
        owners = {key_of(op): group for group in groups for op in group.ops}
        _find_outputs(ops, owners)
        used = {key: group for key, group in owners.items() if group.outputs}
        ordered = list({id(group): group for group in used.values()}.values())
        if not ordered:
            return
        place = {key_of(op): index for index, op in enumerate(ops)}
        for group in ordered:
            group.ops.sort(key=lambda op: place[key_of(op)])
        if any(_leaves_early(group) for group in ordered):
            _sort(ops, used)
            place = {key_of(op.operation): index for index, op in enumerate(block.operations)}
        ordered.sort(key=lambda group: (group.rank, place[key_of(group.ops[-1])]))
        calls = [(group, self._call(group)) for group in ordered]
        for group, results in calls:
            for old, new in zip(group.outputs, results, strict=True):
                old.replace_all_uses_with(new)
        for group in ordered:
            for op in reversed(group.ops):
                op.erase()
        _erase_unused(self._literals)
        self._literals.clear()

    def _call(self, group: Group) -> list[ir.Value]:
        """Write the function of a group unless there is one, and a call of it."""
        signature = self._signature(group)
        key = _key(group, signature)
        if key not in self._known:
            name = self._known[key] = self.choose_name(group)
            self.write(group, signature, name)
        last = group.ops[-1]
        location = group.outputs[0].owner.location
        with ir.InsertionPoint(last):
            args = [_argument(*arg, unnamed(last.location)) for arg in signature.args]
            if signature.free:
                shape = ShapeExpr(signature.free)
                args.append(_ops.ShapeOp(shape, loc=unnamed(last.location)).result)
            type_, callee = result_type(group.outputs), self._known[key]
            if len(group.outputs) == 1:
                return [_emit_call(type_, callee, args, location)]
            made = _emit_call(type_, callee, args, unnamed(last.location))
            return _fields(made, group)

    # -- parameters ----------------------------------------------------------------------------

    def _signature(self, group: Group) -> Signature:
        """Return the parameters of the function of a group, in the order of their first use."""
        own = {key_of(op) for op in group.ops}
        whole = _fully_used_tuples(group.ops)
        signature = Signature()
        for op in group.ops:
            for value in op.operands:
                maker = defining_op(value)
                if maker is not None and key_of(maker) in own:
                    continue
                if maker is not None and self._is_literal(maker):
                    signature.literals[value] = maker
                    self._literals[key_of(maker)] = maker
                    continue
                is_field = op.name == "relax.get_item" and value not in whole
                index = op.attributes["index"].value if is_field else None
                self._add(signature, value, index, op)
        bound = {name for type_ in signature.types for name in binding_vars(type_)}
        used = [name for type_ in signature.types for name in _names_in(type_)]
        used += [name for op in group.ops for name in _used_names(op)]
        signature.free = [name for name in dict.fromkeys(used) if name not in bound]
        return signature

    def _add(self, signature: Signature, value: ir.Value, index: int | None, op: Any) -> None:
        name = value_name(value)
        if name is None:
            maker = defining_op(value)
            is_leaf = maker is not None and maker.name in (_CONSTANT, *_SIZES)
            name = f"param_{len(signature.args)}" if is_leaf else "x"
        if index is None:
            signature.add(value, None, value.type, name)
        else:
            signature.add(value, index, op.results[0].type, f"{name}_{index}")

    def _is_literal(self, op: ir.Operation) -> bool:
        if op.name == _CONSTANT:
            return self._bind_constants
        if op.name in _SIZES:
            return not any(True for _ in _used_names(op))
        return op.name in _LITERALS


def _emit_call(
    type_: ir.Type, name: str, args: Sequence[ir.Value], location: ir.Location
) -> ir.Value:
    callee = ir.FlatSymbolRefAttr.get(name)
    result: ir.Value = _ops.CallOp(type_, args, callee=callee, loc=location).result
    return result


def _fields(made: ir.Value, group: Group) -> list[ir.Value]:
    """Return the fields of a result, in the order of the outputs of its group."""
    index = {value: place for place, value in enumerate(group.outputs)}
    fields = {
        value: _ops.GetItemOp(made, index[value], loc=op.location).result
        for op in group.ops
        for value in op.results
        if value in index
    }
    return [fields[value] for value in group.outputs]


def _argument(value: ir.Value, index: int | None, location: ir.Location) -> ir.Value:
    if index is None:
        return value
    found: ir.Value = _ops.GetItemOp(value, index, loc=location).result
    return found


def _fully_used_tuples(ops: Sequence[ir.Operation]) -> set[ir.Value]:
    """Return the operands that are used otherwise than for one of their fields."""
    return {value for op in ops if op.name != "relax.get_item" for value in op.operands}


def _key(group: Group, signature: Signature) -> Any:
    """Return what two groups have in common whose functions are the same."""
    numbers: dict[ir.Value, int] = {}
    rows: list[Any] = []
    for op in group.ops:
        operands = [
            numbers[value]
            if value in numbers
            else _literal_key(signature.literals[value])
            if value in signature.literals
            else -1 - signature.places[_place_of(op, value, signature)]
            for value in op.operands
        ]
        rows.append((op.name, tuple(operands), _types(op), _attributes(op)))
        for result in op.results:
            numbers[result] = len(numbers)
    outputs = tuple(numbers[value] for value in group.outputs)
    own = tuple(sorted((name, attr) for name, attr in group.attributes.items()))
    return group.name, own, tuple(signature.types), tuple(signature.free), tuple(rows), outputs


def _place_of(op: ir.Operation, value: ir.Value, signature: Signature) -> Any:
    if (value, None) in signature.places:
        return value, None
    return value, op.attributes["index"].value


def _types(op: ir.Operation) -> tuple[ir.Type, ...]:
    return tuple(result.type for result in op.results)


def _attributes(op: ir.Operation) -> tuple[tuple[str, ir.Attribute], ...]:
    return tuple(op.attributes.items())


def _literal_key(op: ir.Operation) -> Any:
    return op.name, _types(op), _attributes(op)


# ---------------------------------------------------------------------------------------------
# Bodies
# ---------------------------------------------------------------------------------------------


def make_function(
    module: ir.Module,
    name: str,
    signature: Signature,
    result: ir.Type,
    attributes: Mapping[str, ir.Attribute],
    *,
    private: bool,
) -> ir.Block:
    """Add a function to a module, and return its body, which is empty.

    The last parameter, where shape variables are free, is ``tir_vars``: a shape of them.
    """
    names, types = list(signature.params), list(signature.types)
    if signature.free:
        names.append(signature.names.unique("tir_vars"))
        types.append(ShapeStructInfo(tuple(signature.free)))
    location = ir.Location.unknown(module.context)
    with ir.InsertionPoint(module.body):
        function = _ops.FuncOp(
            name,
            ir.TypeAttr.get(ir.FunctionType.get(types, [result])),
            sym_visibility="private" if private else None,
            arg_names=ir.ArrayAttr.get([ir.StringAttr.get(each) for each in names]),
            loc=location,
        )
    for key, attr in attributes.items():
        function.operation.attributes[key] = attr
    locations = [ir.Location.name(each, childLoc=location) for each in names]
    return ir.Block.create_at_start(function.body, types, locations)


def copy_operation(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Operation:
    """Copy an operation without regions to the current place.

    Parameters
    ----------
    op : mlir.ir.Operation
    known : dict of mlir.ir.Value to mlir.ir.Value
        What stands for its operands; its results are added.
    """
    copy = op.clone().operation
    for index, operand in enumerate(op.operands):
        if operand in known:
            copy.operands[index] = known[operand]
    for old, new in zip(op.results, copy.results, strict=True):
        known[old] = new
    return copy


def parameters(signature: Signature, block: ir.Block) -> dict[Any, ir.Value]:
    """Return the parameters by the values, and fields of values, for which they stand."""
    arguments = list(block.arguments)
    return {
        (arg if arg[1] is not None else arg[0]): arguments[place]
        for arg, place in signature.places.items()
    }


def result_type(outputs: Sequence[ir.Value]) -> ir.Type:
    """Return the type of the result of a function: of a tuple where there are several."""
    if len(outputs) == 1:
        return outputs[0].type
    return TupleStructInfo([value.type for value in outputs])


def return_outputs(values: Sequence[ir.Value], location: ir.Location) -> None:
    """Write the end of a function."""
    value = values[0] if len(values) == 1 else _ops.TupleOp(values, loc=location).result
    _ops.ReturnOp(value, loc=location)


def write_ops(
    group: Group,
    signature: Signature,
    block: ir.Block,
    write: Callable[[ir.Operation, dict[Any, ir.Value]], None],
) -> dict[Any, ir.Value]:
    """Write the operations of a group at the current place.

    Parameters
    ----------
    group, signature
    block : mlir.ir.Block
        The body of the function.
    write : callable
        Writes an operation, and adds its results to the values that are known.

    Returns
    -------
    dict of mlir.ir.Value to mlir.ir.Value
        What stands for each value.
    """
    known = parameters(signature, block)
    for value, op in signature.literals.items():
        known[value] = op.clone().operation.results[0]
    for op in group.ops:
        if op.name == "relax.get_item":
            part = known.get((op.operands[0], op.attributes["index"].value))
            if part is not None:
                known[op.results[0]] = part
                continue
        write(op, known)
    return known


# ---------------------------------------------------------------------------------------------
# Order
# ---------------------------------------------------------------------------------------------


def _erase_unused(literals: Mapping[int, ir.Operation]) -> None:
    """Erase literals that nobody uses."""
    for op in literals.values():
        if not any(True for _ in op.results[0].uses):
            op.erase()


def _leaves_early(group: Group) -> bool:
    """Say whether others may use a value of a group before its last operation."""
    last = list(group.ops[-1].results)
    return any(value not in last for value in group.outputs)


def _find_outputs(ops: Sequence[ir.Operation], owners: Mapping[int, Group]) -> None:
    """Find what others use of each group: outputs of the block first, then in order of use."""
    *_, terminator = ops
    results = set(terminator.operands)
    for op in ops:
        group = owners.get(key_of(op))
        if group is not None:
            group.outputs += [value for value in op.results if value in results]
    found = {value for group in owners.values() for value in group.outputs}
    for op in ops:
        group = owners.get(key_of(op))
        for value in op.operands:
            maker = defining_op(value)
            source = owners.get(key_of(maker)) if maker is not None else None
            if source is not None and source is not group and value not in found:
                found.add(value)
                source.outputs.append(value)


def _sort(ops: Sequence[ir.Operation], owners: Mapping[int, Group]) -> None:
    """Move operations so that those of a group are side by side, after what they need."""
    own = {key_of(op): op for op in ops}
    binders: dict[str, ir.Operation] = {}
    for op in ops:
        if op.name == "relax.match_cast":
            for name in _bound_names(op):
                binders.setdefault(name, op)

    def unit(op: ir.Operation) -> Any:
        group = owners.get(key_of(op))
        return key_of(op) if group is None else group

    def members(unit: Any) -> list[ir.Operation]:
        return unit.ops if isinstance(unit, Group) else [own[unit]]

    def needed(unit_: Any) -> Iterator[Any]:
        for op in members(unit_):
            makers = [maker for maker in map(defining_op, op.operands) if maker is not None]
            makers += [binders[name] for name in _used_names(op) if name in binders]
            for maker in makers:
                if key_of(maker) in own and (found := unit(maker)) is not unit_:
                    yield found

    *rest, terminator = ops
    for each in _topological([unit(op) for op in rest], needed, members):
        for op in members(each):
            op.move_before(terminator)


def _topological(
    units: Iterable[Any],
    needed: Callable[[Any], Iterator[Any]],
    members: Callable[[Any], list[ir.Operation]],
) -> list[Any]:
    """Return units in an order in which each comes after those that it needs."""
    order: list[Any] = []
    state: dict[Any, bool] = {}  # whether it is in the order, or else on the way

    def id_of(each: Any) -> Any:
        return id(each) if isinstance(each, Group) else ("op", each)

    for start in units:
        work = [] if id_of(start) in state else [(start, needed(start))]
        while work:
            each, left = work[-1]
            state.setdefault(id_of(each), False)
            following = next((dep for dep in left if state.get(id_of(dep)) is not True), None)
            if following is None:
                work.pop()
                state[id_of(each)] = True
                order.append(each)
            elif id_of(following) in state:
                _raise_cycle(each, following, members)
            else:
                work.append((following, needed(following)))
    return order


def _raise_cycle(left: Any, right: Any, members: Callable[[Any], list[ir.Operation]]) -> None:
    names = [
        ", ".join(value_name(op.results[0]) or op.name for op in members(each))
        for each in (left, right)
    ]
    raise RuntimeError(
        "expected groups that can be computed one after the other. A cyclic dependency detected: "
        f"what is made of '{names[0]}' and of '{names[1]}' would need each other; a check of the "
        "pattern can leave such a match out, as backend.has_leaking_intermediate_variables does"
    )
