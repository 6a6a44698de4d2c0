# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow, sequences and optional values.

Sequences are lists at import: their lengths are known, so they leave no trace in the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.kernels import bind_size
from ...composites.tensors import normal_axis, number, size_tensor
from ...core.ir import Dim
from ..values import (
    DataDependentError,
    Value,
    as_tensor,
    is_known,
    known_ints,
    known_sizes,
    rank_of,
    shape_of,
)
from .loops import Step, count_to, go_on
from .manipulate import at, split
from .registry import Node, converter

# Longer loops would be programs of very many operations.
_LONGEST = 1000


@converter("If", raw=None)
def _if(node: Node, condition: Value) -> Any:
    if isinstance(condition, np.ndarray):
        name = "then_branch" if condition.reshape(()).item() else "else_branch"
        return tuple(node.importer.subgraph(node, name))

    forms: list[Any] = []

    def branch(name: str) -> Any:
        results = node.importer.subgraph(node, name)
        forms.append(_form(results))
        if forms[0] != forms[-1]:
            raise DataDependentError("a condition of branches that give other sequences", condition)
        tensors = [as_tensor(value) for value in _flat(results)]
        return tensors[0] if len(tensors) == 1 else op.tuple(*tensors)

    taken = node.importer.branch(
        op.reshape(as_tensor(condition), []),
        lambda: branch("then_branch"),
        lambda: branch("else_branch"),
    )
    count = _count(forms[0])
    tensors = [taken] if count == 1 else [op.get_item(taken, i) for i in range(count)]
    names = list(node.proto.output)
    return tuple(_filled(forms[0], iter(tensors), node, names[0] if names else ""))


def _form(value: Value) -> Any:
    """Return what sequences a value has in it, with 1 for each tensor and None for nothing."""
    if isinstance(value, list):
        return [_form(one) for one in value]
    return None if value is None else 1


def _count(form: Any) -> int:
    return sum(map(_count, form)) if isinstance(form, list) else int(form is not None)


def _flat(value: Value) -> list[Value]:
    if isinstance(value, list):
        return [tensor for one in value for tensor in _flat(one)]
    return [] if value is None else [value]


def _filled(form: Any, tensors: Iterator[ir.Value], node: Node, name: str) -> Any:
    """Return a value of a form, of given tensors."""
    if isinstance(form, list):
        return [_filled(one, tensors, node, name) for one in form]
    return None if form is None else node.importer.of_shape(next(tensors), name)


@converter("Loop", raw=None)
def _loop(node: Node, count: Value = None, condition: Value = None, *carried: Value) -> Any:
    trips = None if count is None else _trips(node, count)
    goes_on = np.array(True) if condition is None else condition
    values = list(carried)
    scanned: list[list[Value]] = [[] for _ in range(len(node.proto.output) - len(values))]

    def turn(place: Value, state: list[Value]) -> tuple[Value, list[Value], list[Value]]:
        more, *results = node.importer.subgraph(node, "body", [place, np.array(True), *state])
        return more, results[: len(values)], results[len(values) :]

    # As many steps as are known are written one after the other.
    step = 0
    while trips is None or (isinstance(trips, int) and step < trips <= _LONGEST):
        if not isinstance(goes_on, np.ndarray) or not goes_on.reshape(()).item():
            break
        if step == _LONGEST:
            raise NotImplementedError(f"expected a loop of up to {_LONGEST} steps")
        goes_on, values, given = turn(np.array(step, "int64"), values)
        for kept, value in zip(scanned, given, strict=True):
            kept.append(value)
        step += 1
    is_known_end = isinstance(goes_on, np.ndarray) and not goes_on.reshape(()).item()
    if is_known_end or (isinstance(trips, int) and step >= trips):
        return (*values, *(_stacked(node, kept, 0) for kept in scanned))
    try:
        values, whole = _write_loop(node, trips, goes_on, step, values, turn)
    except NotImplementedError as error:
        dependent = [one for one in (trips, goes_on) if isinstance(one, ir.Value)]
        if not dependent:
            raise
        raise DataDependentError(f"the number of steps ({error})", dependent[0]) from error
    first = [_stacked(node, kept, 0) for kept in scanned if kept]
    if first:
        whole = [op.concat(list(pair), 0) for pair in zip(first, whole, strict=True)]
    return (*values, *whole)


def _write_loop(
    node: Node, trips: int | Dim | ir.Value | None, goes_on: Value, step: int,
    values: Sequence[Value], turn: Step,
) -> tuple[list[ir.Value], list[ir.Value]]:  # fmt: skip
    """Write a loop from a step on: the last values, and what its steps give."""
    importer, scope = node.importer, node.scope
    if isinstance(goes_on, np.ndarray) and trips is not None and importer.next_loop_counts:
        return count_to(importer, scope, _as_size(node, trips), values, turn)
    end = trips if trips is None or isinstance(trips, ir.Value) else size_tensor(trips)
    condition = op.reshape(importer.tensor(scope, goes_on), [])
    return go_on(importer, scope, condition, end, step, values, turn)


def _trips(node: Node, count: Value) -> int | Dim | ir.Value:
    """Return a number of steps: a number, a size, or a tensor of rank 0."""
    if is_known(count):
        return known_sizes(count, "a trip count")[0]
    return op.reshape(node.importer.tensor(node.scope, count), [])


def _as_size(node: Node, trips: int | Dim | ir.Value) -> int | Dim:
    """Return a number of steps as a size, 0 where it is negative."""
    if isinstance(trips, int):
        return trips
    if isinstance(trips, Dim):
        return trips.max(0)
    node.importer.require_branches()
    size = node.importer.fresh_dim()
    bind_size(size, op.tensor_to_shape(op.reshape(op.maximum(trips, number(0, "int64")), [1])))
    return size


def _stacked(node: Node, values: list[Value], axis: int) -> Value:
    if not values:
        raise NotImplementedError("expected a loop of one step or more for values of each step")
    tensors = [node.importer.tensor(node.scope, value) for value in values]
    return op.concat([op.expand_dims(tensor, axis) for tensor in tensors], axis)


@converter("Scan", since=8)
def _scan_of_batches(node: Node, lengths: ir.Value | None, *inputs: ir.Value) -> Any:
    if lengths is not None:
        raise NotImplementedError("expected sequences of one length, but got sequence_lens")
    batch, count = shape_of(inputs[0])[0], node.attr("num_scan_inputs")
    if not isinstance(batch, int) or batch > _LONGEST:
        raise NotImplementedError(f"expected a known batch of up to {_LONGEST}, but got {batch}")
    directions = node.attr("directions", [0] * count)
    outputs = len(node.proto.output) - (len(inputs) - count)
    rows = []
    for i in range(batch):
        row = [at(x, 0, i) for x in inputs]
        state, kept = _scan_steps(node, row, [0] * count, directions, outputs)
        stacks = (one if isinstance(one, ir.Value) else _stacked(node, one, 0) for one in kept)
        rows.append([*state, *stacks])
    return tuple(_stacked(node, list(values), 0) for values in zip(*rows, strict=True))


@converter("Scan", since=9)
def _scan(node: Node, *inputs: ir.Value) -> Any:
    count = node.attr("num_scan_inputs")
    axes = node.attr("scan_input_axes", [0] * count)
    backwards = node.attr("scan_input_directions", [0] * count)
    outputs = len(node.proto.output) - (len(inputs) - count)
    state, kept = _scan_steps(node, inputs, axes, backwards, outputs)
    out_axes = node.attr("scan_output_axes", [0] * outputs)
    directions = node.attr("scan_output_directions", [0] * outputs)
    stacks = []
    for values, axis, backward in zip(kept, out_axes, directions, strict=True):
        if isinstance(values, ir.Value):
            whole = op.flip(values, 0) if backward else values
            order = list(range(1, rank_of(whole)))
            order.insert(normal_axis(axis, rank_of(whole)), 0)
            stacks.append(whole if order[0] == 0 else op.permute_dims(whole, order))
            continue
        along = axis if axis >= 0 else axis + rank_of(values[0]) + 1
        stacks.append(_stacked(node, values[::-1] if backward else values, along))
    return (*state, *stacks)


def _scan_steps(
    node: Node, inputs: Sequence[ir.Value], axes: list[int], backwards: list[int], outputs: int
) -> tuple[list[Value], Sequence[list[Value] | ir.Value]]:
    """Return the state after the last step, and the outputs: of each step, or as one tensor."""
    count = len(axes)
    state, scanned = list(inputs[: len(inputs) - count]), inputs[len(inputs) - count :]
    along = [normal_axis(axis, rank_of(x)) for x, axis in zip(scanned, axes, strict=True)]
    length = shape_of(scanned[0])[along[0]]

    def turn(place: Value, state: list[Value]) -> tuple[Value, list[Value], list[Value]]:
        (step,) = known_sizes(place, "a step")
        slices = []
        for x, axis, backward in zip(scanned, along, backwards, strict=True):
            slices.append(at(x, axis, length - 1 - step if backward else step))
        results = node.importer.subgraph(node, "body", [*state, *slices])
        return np.array(True), results[: len(state)], results[len(state) :]

    if not isinstance(length, int) or length > _LONGEST:
        return count_to(node.importer, node.scope, length, state, turn)
    kept: list[list[Value]] = [[] for _ in range(outputs)]
    for step in range(length):
        _, state, given = turn(np.array(step, "int64"), state)
        for values, value in zip(kept, given, strict=True):
            values.append(value)
    return state, kept


# -- sequences ----------------------------------------------------------------------------------


def _sequence(value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise NotImplementedError("expected a sequence that the graph makes")
    return value


@converter("SequenceEmpty", raw=None)
def _sequence_empty(_: Node) -> Value:
    return []


@converter("SequenceConstruct", raw=None)
def _sequence_construct(_: Node, *values: Value) -> Value:
    return list(values)


@converter("SequenceLength", raw=None)
def _sequence_length(_: Node, sequence: Value) -> Value:
    return np.array(len(_sequence(sequence)), "int64")


@converter("SequenceAt", raw=None)
def _sequence_at(_: Node, sequence: Value, position: Value) -> Value:
    return _sequence(sequence)[known_ints(position, "a position")[0]]


@converter("SequenceInsert", raw=None)
def _sequence_insert(_: Node, sequence: Value, value: Value, position: Value = None) -> Value:
    result = list(_sequence(sequence))
    place = len(result) if position is None else known_ints(position, "a position")[0]
    result.insert(place, value)
    return result


@converter("SequenceErase", raw=None)
def _sequence_erase(_: Node, sequence: Value, position: Value = None) -> Value:
    result = list(_sequence(sequence))
    del result[-1 if position is None else known_ints(position, "a position")[0]]
    return result


@converter("ConcatFromSequence", raw=None)
def _concat_from_sequence(node: Node, sequence: Value) -> Value:
    tensors = [node.importer.tensor(node.scope, value) for value in _sequence(sequence)]
    axis = node.attr("axis")
    if not node.attr("new_axis", 0):
        return op.concat(tensors, axis)
    axis += rank_of(tensors[0]) + 1 if axis < 0 else 0
    return op.concat([op.expand_dims(tensor, axis) for tensor in tensors], axis)


@converter("SplitToSequence", raw=(1,))
def _split_to_sequence(node: Node, x: ir.Value, parts: Value = None) -> Value:
    axis = normal_axis(node.attr("axis", 0), rank_of(x))
    extent: Any = shape_of(x)[axis]
    if parts is None:
        lengths = _chunks(extent, 1)
    else:
        given = known_sizes(parts, "sizes of parts")
        lengths = given
        if rank_of(parts) == 0:
            lengths = _chunks(extent, given[0])
    tensors = list(split(x, axis, lengths))
    if parts is None and not node.attr("keepdims", 1):
        tensors = [op.squeeze(tensor, [axis]) for tensor in tensors]
    return tensors


def _chunks(extent: Any, length: Any) -> list[int]:
    if not isinstance(extent, int) or not isinstance(length, int):
        raise NotImplementedError("expected a known number of parts")
    full = [length] * (extent // length)
    return full + ([extent % length] if extent % length else [])


@converter("SequenceMap", raw=None)
def _sequence_map(node: Node, first: Value, *others: Value) -> Any:
    steps = []
    for i, element in enumerate(_sequence(first)):
        rest = [other[i] if isinstance(other, list) else other for other in others]
        steps.append(node.importer.subgraph(node, "body", [element, *rest]))
    count = len(node.proto.output)
    return tuple([step[i] for step in steps] for i in range(count))


# -- optional values ----------------------------------------------------------------------------


@converter("Optional", raw=None)
def _optional(_: Node, value: Value = None) -> Value:
    return value


@converter("OptionalHasElement", raw=None)
def _optional_has_element(_: Node, value: Value = None) -> Value:
    return np.array(value is not None)


@converter("OptionalGetElement", raw=None)
def _optional_get_element(_: Node, value: Value) -> Value:
    if value is None:
        raise ValueError("expected an element, but got none")
    return value
