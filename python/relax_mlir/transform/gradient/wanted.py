# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values that gradients are wanted of: parameters of a function, or what it computes.

They are named by values of the module that a pass is given, and found in the adjoint, which is
made of a copy. A parameter has its number; other values are marked in the copy, since it changes
before they are looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ...core.expr import Var
from ...core.variables import walk
from ..signatures import param_names
from .shapes import is_differentiable

_MARK = "relax.wanted_gradient"
_FLAT = ("relax.dataflow", "relax.seq")  # their values are those of the block around them

# The number of a parameter, or where an operation is: its number in the block of the function, and
# in those inside of it.
Place = int | tuple[int, ...]


def find_wanted(function: ir.Operation, given: Any) -> list[Place]:
    """Return the places of the values in a function that gradients are wanted of.

    Parameters
    ----------
    function : mlir.ir.Operation
    given : Var, str, mlir.ir.Value, sequence of them, or None
        None for all parameters.

    Raises
    ------
    ValueError
        If one of them is not there, is there twice, or is not a tensor of floats.
    """
    params = list(function.regions[0].blocks[0].arguments)
    names = param_names(function)
    if given is None:
        chosen: list[Place] = list(range(len(params)))
    else:
        many = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        chosen = [_place(function, each, names) for each in many]

    def describe(place: Place) -> str:
        if isinstance(place, int):
            return names[place] or str(place)
        return str(_operation(function, place).name)

    if len(set(chosen)) != len(chosen):
        raise ValueError(
            "Gradient: expected each value once in require_grads, but got "
            f"{', '.join(map(describe, chosen))}"
        )
    for place in chosen:
        value = _value(function, place)
        if not is_differentiable(value.type):
            raise ValueError(
                f"Gradient: expected tensors of floats, but '{describe(place)}' is of type "
                f"{value.type}; name those whose gradients are wanted as require_grads"
            )
    return chosen


def mark_wanted(copy: ir.Operation, places: Sequence[Place]) -> None:
    """Mark the operations in a copy of the function whose results are wanted."""
    for number, place in enumerate(places):
        if not isinstance(place, int):
            attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
            _operation(copy, place).attributes[_MARK] = attribute


def take_wanted(copy: ir.Operation, places: Sequence[Place]) -> list[Any]:
    """Return the values that are wanted, and remove the marks."""
    marked = {}
    for each in walk(copy):
        if _MARK in each.attributes:
            marked[each.attributes[_MARK].value] = each.results[0]
            del each.attributes[_MARK]
    params = copy.regions[0].blocks[0].arguments
    return [
        params[place] if isinstance(place, int) else marked[number]
        for number, place in enumerate(places)
    ]


def _place(function: ir.Operation, given: Any, names: Sequence[str]) -> Place:
    if isinstance(given, (Var, str)):
        name = given if isinstance(given, str) else given.name
        if name and name in names:
            return names.index(name)
        named = [each for each in walk(function) if _is_named(each, name)]
        found = _place_of_value(named[0].results[0]) if len(named) == 1 else None
        if found is not None:
            return found
    elif isinstance(given, ir.Value):
        found = _place_of_value(given)
        if found is not None and _is_at(function, given, found):
            return found
    raise ValueError(
        f"Gradient: expected a parameter of the function ({', '.join(filter(None, names))}) in "
        f"require_grads, or a value that it computes, but got {given!r}"
    )


def _is_named(operation: ir.Operation, name: str) -> bool:
    location = operation.location
    return len(operation.results) == 1 and location.is_a_name() and location.name_str == name


def _place_of_value(value: ir.Value) -> Place | None:
    """Return the place of a value in its function; None where that is in a branch or closure."""
    if isinstance(value.owner, ir.Block):
        is_param = value.owner.owner.name == "relax.func"
        return int(ir.BlockArgument(value).arg_number) if is_param else None
    operation = value.owner.operation
    if operation.name in _FLAT:
        end = list(operation.regions[0].blocks[0].operations)[-1].operation
        return _place_of_value(end.operands[ir.OpResult(value).result_number])
    path: list[int] = []
    while operation.name != "relax.func":
        siblings = [each.operation for each in operation.block.operations]
        path.insert(0, siblings.index(operation))
        operation = operation.parent.operation
        if operation.name not in (*_FLAT, "relax.func"):
            return None
    return tuple(path)


def _operation(function: ir.Operation, path: tuple[int, ...]) -> ir.Operation:
    operation = function
    for index in path:
        operation = operation.regions[0].blocks[0].operations[index].operation
    return operation


def _value(function: ir.Operation, place: Place) -> ir.Value:
    if isinstance(place, int):
        return function.regions[0].blocks[0].arguments[place]
    return _operation(function, place).results[0]


def _is_at(function: ir.Operation, given: ir.Value, place: Place) -> bool:
    """Say whether what the function has at a place is what is given."""
    try:
        found = _value(function, place)
    except IndexError:
        return False
    if isinstance(place, int):
        return True
    owner = given.owner.operation
    return owner.name in _FLAT or (found.owner.name, found.type) == (owner.name, given.type)
