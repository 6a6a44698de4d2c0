# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations become functions of an environment, once, before they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mlir import ir

if TYPE_CHECKING:
    from . import Kernels

#: The values of a kernel, each at its place.
Env = list[Any]
Step = Callable[[Env], None]
#: From an operation to what it does.
Maker = Callable[["Preparation", Any], Step]
#: From an operation to a function from its operands to its result.
FunctionMaker = Callable[[Any], Callable[..., Any]]

STEPS: dict[str, Maker] = {}


def step(*names: str) -> Callable[[Maker], Maker]:
    """Add an operation that reads and writes the environment itself."""

    def register(make: Maker) -> Maker:
        STEPS.update(dict.fromkeys(names, make))
        return make

    return register


def function(*names: str) -> Callable[[FunctionMaker], FunctionMaker]:
    """Add an operation that is a function from its operands to its one result."""

    def register(make: FunctionMaker) -> FunctionMaker:
        STEPS.update(dict.fromkeys(names, lambda preparation, op: _apply(preparation, op, make)))
        return make

    return register


def _apply(preparation: Preparation, op: Any, make: FunctionMaker) -> Step:
    apply = make(op)
    places = preparation.places(op.operands)
    result = preparation.place(op.results[0])
    if len(places) == 1:
        first = places[0]

        def unary(env: Env) -> None:
            env[result] = apply(env[first])

        return unary
    if len(places) == 2:
        left, right = places

        def binary(env: Env) -> None:
            env[result] = apply(env[left], env[right])

        return binary

    def any_number(env: Env) -> None:
        env[result] = apply(*[env[place] for place in places])

    return any_number


class Body:
    """A block that is prepared.

    Attributes
    ----------
    params : list of int
        The places of its arguments.
    ends : str
        The operation at its end.
    outputs : list of int
        The places of the operands of that.
    """

    def __init__(self, preparation: Preparation, block: ir.Block) -> None:
        self.params = preparation.places(block.arguments)
        operations = list(block.operations)
        self.operations = operations
        self.steps = [preparation.step(op) for op in operations[:-1]]
        self.ends = operations[-1].operation.name
        self.end = operations[-1]
        self.outputs = preparation.places(self.end.operands)

    def run(self, env: Env, args: Sequence[Any]) -> list[Any]:
        """Run the block, and return the operands of its end."""
        for place, arg in zip(self.params, args, strict=True):
            env[place] = arg
        for run in self.steps:
            run(env)
        return [env[place] for place in self.outputs]


class Preparation:
    """A kernel that is prepared, or about to be."""

    def __init__(self, kernels: Kernels, name: str) -> None:
        self.kernels = kernels
        self.name = name
        self._places: dict[ir.Value, int] = {}
        self.body: Body | None = None

    def prepare(self, operation: Any) -> None:
        """Prepare the body of a ``func.func``."""
        blocks = operation.regions[0].blocks
        if len(blocks) != 1:
            raise self.unknown(
                "functions of several blocks" if len(blocks) else "its code: it has none"
            )
        self.body = self.block(blocks[0])

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Run the kernel, and return its results."""
        assert self.body is not None
        return self.body.run([None] * len(self._places), args)

    def place(self, value: ir.Value) -> int:
        """Return the place of a value in the environment."""
        return self._places.setdefault(value, len(self._places))

    def places(self, values: Any) -> list[int]:
        """Return the places of values."""
        return [self.place(value) for value in values]

    def block(self, block: ir.Block) -> Body:
        """Prepare a block."""
        return Body(self, block)

    def region(self, op: Any, index: int = 0) -> Body:
        """Prepare the block of a region."""
        return self.block(op.operation.regions[index].blocks[0])

    def step(self, op: Any) -> Step:
        """Prepare an operation."""
        name = op.operation.name
        if name not in STEPS:
            raise self.unknown(name)
        return STEPS[name](self, op)

    def unknown(self, what: str) -> NotImplementedError:
        """Return the error about something that is not known here."""
        return NotImplementedError(
            f"kernel {self.name!r}: the reference interpreter does not know {what}"
        )
