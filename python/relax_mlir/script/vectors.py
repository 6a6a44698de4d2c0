# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectors in tensor programs: several numbers that are computed, loaded and stored at once.

There is no value for them: where one is stored, a vectorized loop computes lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tir import expr as _expr
from ..tir.expr import BufferLoad, IntImm, PrimExpr, convert


class Vector:
    """Numbers that are known lane by lane.

    Parameters
    ----------
    lanes : int
    at : callable
        Returns the number of a lane.

    Examples
    --------
    >>> from relax_mlir.tir import Var
    >>> Ramp(4, 2, 8).at(Var("i", "int32"))
    4 + i * 2
    """

    def __init__(self, lanes: int, at: Callable[[PrimExpr], PrimExpr]) -> None:
        self.lanes, self.at = lanes, at

    def describe(self) -> str:
        """Return a description, for messages."""
        return f"a vector of {self.lanes} numbers"

    def loads(self) -> list[BufferLoad]:
        """Return the loaded value of a lane."""
        found: list[BufferLoad] = []

        def visit(node: PrimExpr) -> None:
            if isinstance(node, BufferLoad):
                found.append(node)

        _expr.post_order_visit(self.at(IntImm("int32", 0)), visit)
        return found


def _lanes(count: Any) -> int:
    number = count.value if isinstance(count, IntImm) else count
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise TypeError(f"expected the number of lanes, a positive integer, but got {count!r}")
    return number


def Ramp(base: Any, stride: Any, lanes: Any) -> Vector:  # noqa: N802 (the name TVM uses)
    """Return the vector of ``base + lane * stride``.

    Parameters
    ----------
    base, stride : int or PrimExpr
    lanes : int
    """
    start, step = convert(base), convert(stride)
    for each in (start, step):
        if not _expr.is_integer(each.dtype):
            raise TypeError(f"expected an integer, but got {each} of type {each.dtype}")
    return Vector(_lanes(lanes), lambda lane: start + lane * step)


def Broadcast(value: Any, lanes: Any) -> Vector:  # noqa: N802 (the name TVM uses)
    """Return a vector of one number over and over.

    Parameters
    ----------
    value : number or PrimExpr
    lanes : int
    """
    number = convert(value)
    return Vector(_lanes(lanes), lambda lane: number)


def part(value: Any, lane: PrimExpr) -> Any:
    """Return a lane of a vector, and anything else as it is."""
    return value.at(lane) if isinstance(value, Vector) else value


def common_lanes(values: Sequence[Any]) -> int | None:
    """Return how many lanes those of some values have that are vectors; None if none is.

    Raises
    ------
    ValueError
        If they differ.
    """
    found = {value.lanes for value in values if isinstance(value, Vector)}
    if len(found) > 1:
        raise ValueError(f"expected vectors of one size, but got {sorted(found)} lanes")
    return found.pop() if found else None


def lifted(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function lane by lane where an argument is a vector."""
    lanes = common_lanes([*args, *kwargs.values()])
    if lanes is None or function in (Ramp, Broadcast):
        return function(*args, **kwargs)

    def at(lane: PrimExpr) -> Any:
        given = {name: part(value, lane) for name, value in kwargs.items()}
        return function(*(part(arg, lane) for arg in args), **given)

    made = at(IntImm("int32", 0))  # what is wrong, is wrong here
    return Vector(lanes, at) if isinstance(made, PrimExpr | int | float) else made
