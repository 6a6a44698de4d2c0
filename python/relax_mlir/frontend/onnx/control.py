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
from ...composites.tensors import normal_axis
from ..values import (
    DataDependentError,
    Value,
    as_tensor,
    known_array,
    known_ints,
    known_sizes,
    rank_of,
    shape_of,
)
from .manipulate import part, split
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
    trips = _LONGEST + 1 if count is None else known_ints(count, "a trip count")[0]
    goes_on = condition is None or bool(known_array(condition, "a condition").reshape(()))
    values = list(carried)
    scanned: list[list[Value]] = [[] for _ in range(len(node.proto.output) - len(values))]
    step = 0
    while goes_on and step < trips:
        if step == _LONGEST:
            raise NotImplementedError(f"expected a loop of up to {_LONGEST} steps")
        index = np.array(step, "int64")
        results = node.importer.subgraph(node, "body", [index, np.array(True), *values])
        goes_on = bool(known_array(results[0], "a condition").reshape(()))
        values, new = results[1 : 1 + len(values)], results[1 + len(values) :]
        for kept, value in zip(scanned, new, strict=True):
            kept.append(value)
        step += 1
    return (*values, *(_stacked(node, kept, 0) for kept in scanned))


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
        row = [op.squeeze(part(x, 0, i, i + 1), [0]) for x in inputs]
        state, kept = _scan_steps(node, row, [0] * count, directions, outputs)
        rows.append([*state, *(_stacked(node, values, 0) for values in kept)])
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
        along = axis if axis >= 0 else axis + rank_of(values[0]) + 1
        stacks.append(_stacked(node, values[::-1] if backward else values, along))
    return (*state, *stacks)


def _scan_steps(
    node: Node, inputs: Sequence[ir.Value], axes: list[int], backwards: list[int], outputs: int
) -> tuple[list[Value], list[list[Value]]]:
    """Return the state after the last step, and the outputs of each one."""
    count = len(axes)
    state, scanned = list(inputs[: len(inputs) - count]), inputs[len(inputs) - count :]
    length = shape_of(scanned[0])[normal_axis(axes[0], rank_of(scanned[0]))]
    if not isinstance(length, int) or length > _LONGEST:
        raise NotImplementedError(
            f"expected a scan of up to {_LONGEST} known steps, but got {length}"
        )
    kept: list[list[Value]] = [[] for _ in range(outputs)]
    for step in range(length):
        slices = []
        for x, axis, backward in zip(scanned, axes, backwards, strict=True):
            place = length - 1 - step if backward else step
            along = normal_axis(axis, rank_of(x))
            slices.append(op.squeeze(part(x, along, place, place + 1), [along]))
        results = node.importer.subgraph(node, "body", [*state, *slices])
        state = results[: len(state)]
        for values, value in zip(kept, results[len(state) :], strict=True):
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
