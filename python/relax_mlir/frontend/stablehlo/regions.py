# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the regions of reductions, scatters and sorts compute.

A region is known by its one operator, or, where it only compares its arguments and selects among
them, by what it gives for every order that the arguments can be in. So nothing is guessed.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .registry import Node, TensorType, location_text, python_value
from .values import as_known, is_float


def single(block: Any) -> str | None:
    """Return the operator of a region that applies it to its two arguments in their order.

    The result is "" where the region returns its second argument, and None for all others.
    """
    names = each(block)
    return names[0] if names is not None and len(names) == 1 else None


def each(block: Any) -> list[str] | None:
    """Return the operator of each result, of a region that has one for each pair of arguments.

    It is "" where the result is the second argument of the pair.
    """
    *operations, last = (one.operation for one in block.operations)
    arguments = list(block.arguments)
    count = len(arguments) // 2
    names: list[str] = []
    for i, result in enumerate(last.operands):
        pair = [arguments[i], arguments[i + count]]
        if result == pair[1]:
            names.append("")
            continue
        owner = next((one for one in operations if result in list(one.results)), None)
        operands = [] if owner is None else list(owner.operands)
        if owner is None or operands not in (pair, pair[::-1]):
            return None
        names.append(str(owner.name).rpartition(".")[2])
    return names if len(operations) == len([name for name in names if name]) else None


# -- regions that compare -----------------------------------------------------------------------

_DIRECTIONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


class _NotComparingError(Exception):
    """A region does something else than to compare and select."""


def _evaluate(node: Node, block: Any, given: Sequence[Any]) -> list[Any]:
    """Return what a region that only compares and selects gives for numbers."""
    values = dict(zip(block.arguments, given, strict=True))
    for one in block.operations:
        operation = one.operation
        operands = [
            values[operand] if operand in values else _around(node, operand)
            for operand in operation.operands
        ]
        if operation.name == "stablehlo.return":
            return operands
        values[operation.results[0]] = _result(operation, operands)
    raise _NotComparingError


def _around(node: Node, operand: Any) -> Any:
    """Return a number that is known outside of a region."""
    value = as_known(node.scope[operand])
    if not isinstance(value, np.ndarray) or value.size != 1:
        raise _NotComparingError
    return value.item()


def _result(operation: Any, operands: list[Any]) -> Any:
    name = operation.name
    if name == "stablehlo.constant":
        return python_value(operation.attributes["value"]).item()
    if name == "stablehlo.compare":
        text = str(operation.attributes["comparison_direction"])
        return _compared(operation, text.rstrip(">").rpartition(" ")[2], *operands)
    if name == "stablehlo.select":
        return operands[1] if operands[0] else operands[2]
    if name == "stablehlo.and":
        return operands[0] and operands[1]
    if name == "stablehlo.or":
        return operands[0] or operands[1]
    if name == "stablehlo.not":
        return not operands[0]
    raise _NotComparingError


def _compared(operation: Any, direction: str, x: Any, y: Any) -> bool:
    is_total = "compare_type" in operation.attributes and "TOTALORDER" in str(
        operation.attributes["compare_type"]
    )
    if is_total:
        # Behind all numbers; the sign of NaN and of 0 is that of no sample.
        x, y = ((one != one, 0.0 if one != one else one) for one in (x, y))
    return _DIRECTIONS[direction](x, y)


def _samples(type_: Any) -> tuple[Any, ...]:
    if is_float(TensorType.of(type_).dtype):
        # 0 and NaN may be treated alone, so there are two numbers on both sides of 0.
        return (-2.0, -1.0, 0.0, 1.0, 2.0, float("-inf"), float("inf"), float("nan"))
    return (0, 1) if TensorType.of(type_).dtype == "bool" else (0, 1, 2)


def _same(x: Any, y: Any) -> bool:
    return x == y or (x != x and y != y)


def extreme_with_place(node: Node, block: Any) -> str | None:
    """Return which extreme, "max" or "min", a region keeps with its place; None for others.

    Its arguments are a number and its place, and another number and its place. Of equal numbers it
    keeps the smaller place, and NaN as the extreme.
    """
    types = [argument.type for argument in block.arguments]
    if len(types) != 4:
        return None
    numbers = _samples(types[0])
    cases = list(itertools.product(numbers, (0, 1), numbers, (0, 1)))
    for kind, is_before in (("max", operator.gt), ("min", operator.lt)):
        try:
            if all(_keeps(_evaluate(node, block, case), case, is_before) for case in cases):
                return kind
        except _NotComparingError:
            return None
    return None


def _keeps(result: list[Any], case: Sequence[Any], is_before: Any) -> bool:
    x, i, y, j = case
    if (x != x) != (y != y):
        wanted = (x, i) if x != x else (y, j)
    elif _same(x, y):
        # Regions are applied in the order of places.
        wanted = (x, min(i, j))
        if x != x and i > j:
            return True
    else:
        wanted = (x, i) if is_before(x, y) else (y, j)
    return _same(result[0], wanted[0]) and result[1] == wanted[1]


def sort_key(node: Node, block: Any) -> tuple[int, bool] | None:
    """Return by which operand a region orders, and whether descending; None for others.

    NaN counts as the largest number.
    """
    arguments = list(block.arguments)
    for key in range(len(arguments) // 2):
        for descending in (False, True):
            if _orders(node, block, arguments, key, descending):
                return key, descending
    return None


def _orders(node: Node, block: Any, arguments: list[Any], key: int, descending: bool) -> bool:
    numbers = _samples(arguments[2 * key].type)
    others = [_samples(one.type)[:2] for one in arguments]
    others[2 * key] = others[2 * key + 1] = numbers
    if len(arguments) > 8:
        return False
    try:
        for case in itertools.product(*others):
            x, y = case[2 * key], case[2 * key + 1]
            less = _ranks(y) < _ranks(x) if descending else _ranks(x) < _ranks(y)
            answer = bool(_evaluate(node, block, case)[0])
            # Where NaN is before nothing and behind nothing, any order of it will do.
            if answer != less and (answer or not (x != x or y != y)):
                return False
    except _NotComparingError:
        return False
    return True


def _ranks(number: Any) -> tuple[bool, Any]:
    return (number != number, 0.0 if number != number else number)


def operators_in(block: Any) -> str:
    """Return the names of the operators of a region, for messages."""
    names = [str(one.operation.name) for one in block.operations][:-1]
    return ", ".join(names) or "no operator"


def unsupported(node: Node, block: Any, expected: str) -> NotImplementedError:
    """Return the error of a region that is not supported."""
    place = location_text(block.operations[0].operation.location)
    where = f" (at {place})" if place else ""
    return NotImplementedError(
        f"expected a region that is {expected}, but got one of {operators_in(block)}{where}"
    )
