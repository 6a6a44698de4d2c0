# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dataflow blocks that are made, and the order of their bindings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mlir import ir
from relax_runtime.bounds import between

from .._mlir_libs import _relax_mlir as _ext
from ..core.functions import detect_recursion, referred
from ..core.ir_module import IRModule
from ..core.lifetimes import key_of
from ..core.variables import (
    LEAVES,
    blocks_of,
    defining_op,
    free_vars,
    mentioned_symbolic_vars,
    walk,
)
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import body_of, name_of, params_of, relax_functions, terminator_of

# What may be no part of a dataflow block: bodies, and steps of the runtime.
_NO_DATAFLOW = ("relax.if", "relax.seq", "relax.builtin.")


def is_leaf(op: ir.Operation) -> bool:
    """Say whether an operation is no binding of its own in TVM."""
    return op.name in LEAVES and not op.location.is_a_name()


# ---------------------------------------------------------------------------------------------
# New blocks
# ---------------------------------------------------------------------------------------------


@module_pass(opt_level=0)
class ConvertToDataflow:
    """Put bindings that stand side by side, and are pure, into dataflow blocks.

    Bindings before and after a dataflow block become part of it, in functions, branches and
    closures.

    Parameters
    ----------
    min_size : int
        How many bindings a new block has at least. Constants, shapes and tuples only count where
        they have a name of their own.

    Examples
    --------
    >>> from relax_mlir.transform import ConvertToDataflow
    >>> mod = ConvertToDataflow()('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   %1 = relax.negative %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %1 : !relax.tensor<[n], f32>
    ... }''')
    >>> [op.operation.name for op in mod["main"].body.blocks[0].operations]
    ['relax.dataflow', 'relax.return']
    """

    def __init__(self, min_size: int = 2) -> None:
        self._min_size = between("min_size", min_size, 0, 2**31 - 1)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change each function of the module."""
        groups = [{var.name for var in group} for group in detect_recursion(mod)]
        for function in relax_functions(mod.module):
            name = name_of(function)
            recursive = {each for group in groups if name in group for each in group}
            # Dataflow blocks are erased where they become part of another one.
            around = [op for op in walk(function) if op.name != "relax.dataflow"]
            for block in [block for op in around for block in blocks_of(op)]:
                _convert_block(block, self._min_size, recursive)
        return mod


def _convert_block(block: ir.Block, min_size: int, recursive: set[str]) -> None:
    group: list[ir.Operation] = []
    *ops, terminator = [op.operation for op in block.operations]
    for op in [*ops, terminator]:
        is_dataflow = op != terminator and _may_be_dataflow(op, recursive)
        if is_dataflow and not _captures(op, group):
            group.append(op)
            continue
        _make_dataflow(group, min_size)
        group = [op] if op.name == "relax.dataflow" else []


def _captures(op: ir.Operation, group: list[ir.Operation]) -> bool:
    """Say whether closures capture values of a block that is being made, as none may."""
    closures = [inner for inner in walk(op) if inner.name == "relax.closure"]
    captured = {value for closure in closures for value in free_vars(closure)}
    return any(result in captured for each in group for result in each.results)


def _may_be_dataflow(op: ir.Operation, recursive: set[str]) -> bool:
    if op.name in ("relax.dataflow", "relax.closure"):
        return True
    if op.name.startswith(_NO_DATAFLOW) or not op.name.startswith("relax."):
        return False
    if not len(op.results) or not _ext.is_pure(op):
        return False
    return op.name != "relax.call" or not (
        recursive.intersection(referred(op)) or _calls_own_closure(op)
    )


def _calls_own_closure(call: ir.Operation) -> bool:
    if not len(call.operands) or "callee" in call.attributes:
        return False
    owner = call.operands[0].owner
    return isinstance(owner, ir.Block) and owner.owner.operation.name == "relax.closure"


def _make_dataflow(group: list[ir.Operation], min_size: int) -> None:
    """Make a dataflow block of operations, if they are enough."""
    inside = {key_of(op) for op in group}
    # Leaves that only the operation behind uses stand with it.
    while group and is_leaf(group[-1]) and not _is_used_in(group[-1], inside):
        inside.discard(key_of(group.pop()))
    existing = [op for op in group if op.name == "relax.dataflow"]
    if not existing and sum(not is_leaf(op) for op in group) < max(min_size, 1):
        return
    if len(group) == len(existing) == 1:
        return
    outputs = [
        result for op in group for result in op.results if not _is_only_used_in(result, inside)
    ]
    first = group[0]
    with ir.InsertionPoint(first), first.location:
        dataflow = _ops.DataflowOp([result.type for result in outputs])
    body = dataflow.operation.regions[0].blocks.append()
    with ir.InsertionPoint(body), first.location:
        end = _ops.OutputOp([]).operation
    for op in group:
        op.move_before(end)
    for old, new in zip(outputs, dataflow.operation.results, strict=True):
        _replace_outside(old, new, dataflow.operation)
    with ir.InsertionPoint(end), first.location:
        _ops.OutputOp(outputs)
    end.erase()
    for op in existing:
        _inline(op)


def _is_used_in(op: ir.Operation, inside: set[int]) -> bool:
    return any(key_of(_around(use.owner, op.block)) in inside for use in op.results[0].uses)


def _is_only_used_in(value: ir.Value, inside: set[int]) -> bool:
    block = value.owner.operation.block
    return all(key_of(_around(use.owner, block)) in inside for use in value.uses)


def _around(op: ir.OpView, block: ir.Block) -> ir.Operation:
    """Return the operation of a block that holds an operation, or is it."""
    found: ir.Operation = op.operation
    while found.block != block:
        found = found.parent.operation
    return found


def _replace_outside(old: ir.Value, new: ir.Value, dataflow: ir.Operation) -> None:
    """Use a result of a dataflow block outside of it, for the value inside."""
    inner = [op for op in walk(dataflow) if op != dataflow]
    for use in list(old.uses):
        user = use.owner.operation
        if all(op != user for op in inner):
            user.operands[use.operand_number] = new


def _inline(dataflow: ir.Operation) -> None:
    """Put the operations of a dataflow block in its place."""
    *ops, output = [op.operation for op in dataflow.regions[0].blocks[0].operations]
    for op in ops:
        op.move_before(dataflow)
    for value, result in zip(list(output.operands), dataflow.results, strict=True):
        if value.type != result.type:  # others rely on what was declared, which may say less
            with ir.InsertionPoint(dataflow), dataflow.location:
                value = _ops.MatchCastOp(result.type, value).result
        result.replace_all_uses_with(value)
    dataflow.erase()


# ---------------------------------------------------------------------------------------------
# Order
# ---------------------------------------------------------------------------------------------

# Beside operations, by their keys: what is before all of a function, and what is after it.
_INPUT, _OUTPUT = -1, -2
_Edges: TypeAlias = "dict[int, deque[int]]"


@module_pass(opt_level=0)
class TopologicalSort:
    """Order the bindings of dataflow blocks as a search goes through them.

    Constants, shapes and tuples without a name stand before their first user.

    Parameters
    ----------
    order : str
        "depth-first" or "breadth-first".
    direction : str
        "from-inputs" or "from-outputs".

    Raises
    ------
    ValueError
        If one of them is something else.

    Examples
    --------
    >>> from relax_mlir.transform import TopologicalSort
    >>> mod = TopologicalSort("depth-first", "from-inputs")('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    ...     %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     %2 = relax.sin %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     %3 = relax.negative %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     %4 = relax.add %3, %2 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     relax.output %4 : !relax.tensor<[n], f32>
    ...   }
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> block = mod["main"].body.blocks[0].operations[0]
    >>> [op.operation.name.removeprefix("relax.") for op in block.body.blocks[0].operations]
    ['exp', 'negative', 'sin', 'add', 'output']
    """  # noqa: E501 (the lines of MLIR)

    def __init__(self, order: str = "depth-first", direction: str = "from-inputs") -> None:
        self._is_depth_first = _choice("order", order, "depth-first", "breadth-first")
        self._is_from_inputs = _choice("direction", direction, "from-inputs", "from-outputs")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Sort in each function of the module."""
        for function in relax_functions(mod.module):
            blocks = [op for op in walk(function) if op.name == "relax.dataflow"]
            if not blocks:
                continue
            edges = _Dependencies()
            edges.collect(function)
            for dataflow in blocks:
                self._sort(dataflow, edges)
        return mod

    def _sort(self, dataflow: ir.Operation, edges: _Dependencies) -> None:
        forward, backward = edges.users, edges.required
        start = _INPUT
        if not self._is_from_inputs:
            forward, backward, start = backward, forward, _OUTPUT
        is_turned = self._is_depth_first and self._is_from_inputs
        visited: set[int] = set()
        *ops, output = [op.operation for op in dataflow.regions[0].blocks[0].operations]
        mine = {key_of(op): op for op in ops if not is_leaf(op)}
        found: list[ir.Operation] = []
        waiting = deque([start])
        while waiting:
            key = waiting.pop() if self._is_depth_first else waiting.popleft()
            if key in mine and key not in visited:
                found.append(mine[key])
            visited.add(key)
            ready = [
                each
                for each in forward.get(key, ())
                if each not in visited and visited.issuperset(backward[each])
            ]
            # What is found last is looked at first, and stands last if the result is turned round.
            waiting.extend(reversed(ready) if is_turned else ready)
        _put_in_order(found if self._is_from_inputs else found[::-1], ops, output)


def _choice(what: str, value: str, *choices: str) -> bool:
    """Return whether a value is the first one of two."""
    if value not in choices:
        raise ValueError(f"expected {what} to be one of {', '.join(choices)}, but got {value!r}")
    return value == choices[0]


@dataclass
class _Dependencies:
    """Which bindings of a function use which, by their keys; leaves are not among them."""

    users: _Edges = field(default_factory=dict)
    required: _Edges = field(default_factory=dict)
    casts: dict[str, list[int]] = field(default_factory=dict)

    def collect(self, function: ir.Operation) -> None:
        """Look at all bindings of a function, those of its dataflow blocks in their place."""
        keys: dict[ir.Value, int] = {}
        for place, param in enumerate(params_of(function)):
            keys[param] = -3 - place
            self._add(_INPUT, keys[param])
        order: list[int] = []
        self._visit(body_of(function), keys, order)
        for value in self._values(terminator_of(body_of(function)), keys):
            self._add(value, _OUTPUT)
        unused = [key for key in order if key not in self.users]
        for key in [key for key in order if key not in self.required]:
            self._add(_INPUT, key)
        for key in reversed(unused):
            self._add(key, _OUTPUT, at_start=True)

    def _visit(self, block: ir.Block, keys: dict[ir.Value, int], order: list[int]) -> None:
        *ops, _ = [op.operation for op in block.operations]
        for op in ops:
            if op.name == "relax.dataflow":
                body = op.regions[0].blocks[0]
                self._visit(body, keys, order)
                outputs = zip(op.results, terminator_of(body).operands, strict=True)
                keys.update((result, keys[value]) for result, value in outputs if value in keys)
            elif not is_leaf(op):
                key = key_of(op)
                order.append(key)
                for value in [*self._values(op, keys), *self._casts_before(op)]:
                    self._add(value, key)
                keys.update((result, key) for result in op.results)

    def _values(self, op: ir.Operation, keys: dict[ir.Value, int]) -> Iterable[int]:
        """Yield the bindings that an operation uses, those in its regions and of leaves, too."""
        for inner in walk(op):
            for operand in inner.operands:
                if operand in keys:
                    yield keys[operand]
                    continue
                made = defining_op(operand)
                if made is not None and is_leaf(made):
                    yield from self._values(made, keys)
                    yield from self._casts_before(made)

    def _casts_before(self, op: ir.Operation) -> Iterable[int]:
        """Yield the casts before an operation that bind, or compare, shape variables it names."""
        names = set(mentioned_symbolic_vars(op))
        yield from dict.fromkeys(cast for name in names for cast in self.casts.get(name, ()))
        if op.name == "relax.match_cast":
            for name in names:
                self.casts.setdefault(name, []).append(key_of(op))

    def _add(self, required: int, user: int, at_start: bool = False) -> None:
        for edges, key, other in ((self.users, required, user), (self.required, user, required)):
            others = edges.setdefault(key, deque())
            (others.appendleft if at_start else others.append)(other)


def _put_in_order(
    found: Sequence[ir.Operation], ops: Sequence[ir.Operation], output: ir.Operation
) -> None:
    for op in found:
        op.move_before(output)
    for op in reversed([op for op in ops if is_leaf(op)]):
        op.move_before(_first_user(op, output))


def _first_user(op: ir.Operation, output: ir.Operation) -> ir.Operation:
    first = output
    for use in op.results[0].uses:
        user = _around(use.owner, op.block)
        if user.is_before_in_block(first):
            first = user
    return first
