# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow: branches, and loops.

A loop is a recursive function of what it changes; what it only reads is captured. Loops that count
to a known number are written out where that is short.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...core.expr import Var
from ...core.ir import TensorStructInfo, TupleStructInfo
from .registry import Node, converts, python_value
from .scope import Scope
from .values import Value, as_known, as_tensor, dtype_of, number, shape_of


def _tuple(values: Sequence[ir.Value]) -> Any:
    return values[0] if len(values) == 1 else op.tuple(*values)


def _fields(value: ir.Value, count: int) -> list[ir.Value]:
    return [value] if count == 1 else [op.get_item(value, i) for i in range(count)]


# -- branches -----------------------------------------------------------------------------------


@converts("stablehlo.if", raw=True)
def _if(node: Node, condition: Value) -> Any:
    known = as_known(condition)
    if isinstance(known, np.ndarray):
        return _written(node, 0 if known.item() else 1)
    return _branch(node, as_tensor(condition), 0, [1])


@converts("stablehlo.case", raw=True)
def _case(node: Node, index: Value) -> Any:
    count = len(node.operation.regions)
    known = as_known(index)
    if isinstance(known, np.ndarray):
        place = int(known.item())
        # Any other number means the last one.
        return _written(node, place if 0 <= place < count else count - 1)
    if count == 1:
        return _written(node, 0)
    return _branch(node, as_tensor(index), 0, list(range(1, count)))


def _written(node: Node, region: int) -> list[Value]:
    """Write a region where the branch is, as it is always taken."""
    return node.importer.block(node.regions[region], Scope(node.scope), [])


def _branch(node: Node, selector: ir.Value, region: int, others: list[int]) -> Any:
    """Write a branch to a region, or to others."""
    results = list(node.operation.results)
    tensors = [i for i, one in enumerate(results) if "token" not in str(one.type)]

    def side(place: int) -> Any:
        values = _written(node, place)
        checked = [node.importer.checked(values[i], results[i].type) for i in tensors]
        return _tuple([as_tensor(one) for one in checked])

    def otherwise() -> Any:
        if len(others) == 1:
            return side(others[0])
        values = _branch(node, selector, others[0], others[1:])
        return _tuple([values[i] for i in tensors])

    if dtype_of(selector) == "bool":
        condition = selector
    else:
        condition = op.equal(selector, number(region, dtype_of(selector)))
    taken = node.importer.branch(condition, lambda: side(region), otherwise)
    fields = iter(_fields(taken, len(tensors)))
    return [next(fields) if i in tensors else None for i in range(len(results))]


# -- loops --------------------------------------------------------------------------------------


@converts("stablehlo.while", raw=True)
def _while(node: Node, *initial: Value) -> Any:
    body = node.regions[1]
    fixed = _unchanged(body)
    turns = _turns(node, initial, fixed)
    if turns is not None and turns * _operations(node, body) <= node.importer.unroll_limit:
        values = list(initial)
        for _ in range(turns):
            values = node.importer.block(body, Scope(node.scope), values)
        return values
    return _recursive(node, initial, fixed)


def _unchanged(body: Any) -> set[int]:
    """Return which values a loop only reads."""
    last = body.operations[len(body.operations) - 1].operation
    arguments = list(body.arguments)
    return {i for i, value in enumerate(last.operands) if value == arguments[i]}


def _operations(node: Node, block: Any) -> int:
    """Return how many operations a block is, with those of the functions that it calls."""
    count = 0
    for one in block.operations:
        operation = one.operation
        count += 1
        for region in operation.regions:
            count += sum(_operations(node, inner) for inner in region.blocks)
        if operation.name == "func.call":
            callee = node.importer.functions.get(python_value(operation.attributes["callee"]))
            if callee is not None:
                count += _operations(node, callee.regions[0].blocks[0])
    return count


def _turns(node: Node, initial: Sequence[Value], fixed: set[int]) -> int | None:
    """Return how often a loop goes round, where it counts up to a number; None elsewhere."""
    condition, body = node.regions
    *_, test, last = (one.operation for one in condition.operations)
    if test.name != "stablehlo.compare" or list(last.operands) != list(test.results):
        return None
    if str(test.attributes["comparison_direction"]).rstrip(">").rpartition(" ")[2] != "LT":
        return None
    arguments = list(condition.arguments)
    counter, end = test.operands
    if counter not in arguments:
        return None
    place = arguments.index(counter)
    begin, step = _integer(initial[place]), _step(node, body, place)
    limit = _limit(node, end, arguments, initial, fixed)
    if begin is None or step is None or limit is None or step <= 0:
        return None
    return max(0, -((begin - limit) // step))


def _integer(value: Value) -> int | None:
    array = as_known(value)
    is_one = isinstance(array, np.ndarray) and array.size == 1 and array.dtype.kind in "iu"
    return int(array.item()) if is_one and isinstance(array, np.ndarray) else None


def _constant(value: Any) -> int | None:
    operation = getattr(value.owner, "operation", None)
    if operation is None or operation.name != "stablehlo.constant":
        return None
    elements = python_value(operation.attributes["value"])
    return int(elements.item()) if elements.dtype.kind in "iu" else None


def _limit(
    node: Node, end: Any, arguments: list[Any], initial: Sequence[Value], fixed: set[int]
) -> int | None:
    if end in arguments:
        place = arguments.index(end)
        return _integer(initial[place]) if place in fixed else None
    found = _constant(end)
    if found is not None:
        return found
    try:
        return _integer(node.scope[end])
    except ValueError:  # it is computed in the region
        return None


def _step(node: Node, body: Any, place: int) -> int | None:
    """Return what a value goes up by in each turn of a loop, where that is a constant."""
    last = body.operations[len(body.operations) - 1].operation
    operation = getattr(last.operands[place].owner, "operation", None)
    if operation is None or operation.name != "stablehlo.add":
        return None
    x, y = operation.operands
    if x != body.arguments[place]:
        return None
    found = _constant(y)
    if found is not None:
        return found
    try:
        return _integer(node.scope[y])
    except ValueError:  # it is computed in the region
        return None


def _recursive(node: Node, initial: Sequence[Value], fixed: set[int]) -> list[Value]:
    """Write a loop as a function that calls itself."""
    importer = node.importer
    importer.require_branches()
    condition, body = node.regions
    changed = [
        i for i, value in enumerate(initial) if i not in fixed and value is not None
    ]  # fmt: skip
    tensors = {i: importer.tensor(node.scope, initial[i]) for i in changed}
    types = {i: TensorStructInfo(shape_of(tensors[i]), dtype_of(tensors[i])) for i in changed}
    params = {i: Var(f"carried_{i}", types[i]) for i in changed}
    # One value is a tuple, too, so that what comes out does not depend on how many there are.
    result = TupleStructInfo(list(types.values()))
    if not changed:
        raise NotImplementedError("expected a loop that changes something")

    def state(values: Any) -> list[Value]:
        return [values.get(i, initial[i]) for i in range(len(initial))]

    with importer.builder.closure(
        importer.loop_name(), list(params.values()), ret_struct_info=result
    ) as loop:
        given = {i: param.value for i, param in params.items()}
        goes_on = importer.block(condition, Scope(node.scope), state(given))[0]

        def turn() -> ir.Value:
            values = importer.block(body, Scope(node.scope), state(given))
            arguments = [importer.tensor(Scope(), values[i]) for i in changed]
            matched = [
                importer.matched(one, shape_of(tensors[i]))
                for one, i in zip(arguments, changed, strict=True)
            ]
            return op.call(loop, *matched)

        taken = importer.builder.if_(as_tensor(goes_on), turn, lambda: op.tuple(*given.values()))
        importer.builder.emit_func_output(taken)
    final = importer.builder.emit(op.call(loop, *tensors.values()))
    found = {i: op.get_item(final, place) for place, i in enumerate(changed)}
    return state(found)
