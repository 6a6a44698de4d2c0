# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose number of steps the program finds when it runs.

A loop is a recursive function of what it carries. It splits a range of steps in halves, so that
what each step gives is put together in few copies, and no call is deep.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from mlir import ir

from .. import op
from ..builder.block_builder import BlockBuilder
from ..core.expr import GlobalVar, Var
from ..core.ir import Dim, PrimStructInfo, TensorStructInfo, TupleStructInfo
from .kernels import current_builder
from .tensors import fields_of, number, shape_of, size_tensor

# The next state, and what a step gives.
Step = tuple[Sequence[ir.Value], Sequence[ir.Value]]

# The data type and the dimensions of a tensor.
Kind = tuple[str, Sequence[int | Dim]]


def _as_they_are(values: Sequence[ir.Value]) -> Sequence[ir.Value]:
    return values


@dataclasses.dataclass(frozen=True)
class Steps:
    """A function that does a range of steps.

    Its parameters are the number of the first step, the number after the last one, what is carried,
    and what all steps read. It returns what is carried out, and what all steps gave, one after the
    other along a new first axis.

    Parameters
    ----------
    builder : BlockBuilder
    function : Var or GlobalVar
    begin, end : Dim
        The range, in the body of the function.
    carried : int
        How many tensors are carried.
    given : sequence of tuple
        Of what each step gives: data type and dimensions.
    found : callable
        Returns what a call carries out with its dimensions, where these are found then.
    """

    builder: BlockBuilder
    function: Var | GlobalVar
    begin: Dim
    end: Dim
    carried: int
    given: Sequence[Kind]
    found: Callable[[Sequence[ir.Value]], Sequence[ir.Value]] = _as_they_are

    def call(self, first: int | Dim, last: int | Dim, arguments: Sequence[ir.Value]) -> Step:
        """Do a range of steps; the arguments are what is carried, and what all steps read."""
        fields = fields_of(op.call(self.function, Dim(first), Dim(last), *arguments))
        return self.found(fields[: self.carried]), fields[self.carried :]

    def write(
        self, params: Sequence[ir.Value], step: Callable[[], Step], *, backward: bool = False
    ) -> None:
        """Write the body of the function.

        Parameters
        ----------
        params : sequence of mlir.ir.Value
            What is carried, and what all steps read.
        step : callable
            Writes the step that is numbered `begin`.
        backward : bool
            Whether the last step comes first.
        """

        def halves() -> ir.Value:
            middle = self.begin + (self.end - self.begin) // 2
            ranges = [(self.begin, middle), (middle, self.end)]
            first, second = reversed(ranges) if backward else ranges
            state, early = self.call(*first, params)
            state, late = self.call(*second, [*state, *params[self.carried :]])
            pairs = zip(late, early, strict=True) if backward else zip(early, late, strict=True)
            return op.tuple(*state, *(op.concat(list(pair), 0) for pair in pairs))

        def once() -> ir.Value:
            state, given = step()
            return op.tuple(*state, *(op.expand_dims(one, [0]) for one in given))

        length = self.end - self.begin
        is_one = op.less_equal(size_tensor(length), number(1, "int64"))
        values = self._matched(self.builder.if_(is_one, once, halves), length)
        self.builder.emit_func_output(op.tuple(*values))

    def all(self, length: int | Dim, arguments: Sequence[ir.Value]) -> Step:
        """Do a number of steps, which may be 0, outside of a dataflow block."""

        def some() -> ir.Value:
            state, given = self.call(0, length, arguments)
            return op.tuple(*state, *given)

        def nothing() -> ir.Value:
            return op.tuple(
                *arguments[: self.carried],
                *(op.zeros([0, *dims], dtype) for dtype, dims in self.given),
            )

        has_steps = op.greater(size_tensor(length), number(0, "int64"))
        values = self._matched(self.builder.if_(has_steps, some, nothing), length)
        return self.found(values[: self.carried]), values[self.carried :]

    def _matched(self, value: ir.Value, length: int | Dim) -> list[ir.Value]:
        """Return the fields of a tuple; what a number of steps gave has its dimensions."""
        fields = fields_of(value)
        given = zip(fields[self.carried :], stacks(self.given, length), strict=True)
        return [*fields[: self.carried], *(op.match_cast(*pair) for pair in given)]


def stacks(given: Sequence[Kind], length: int | Dim) -> list[TensorStructInfo]:
    """Return the types of what a number of steps give."""
    return [TensorStructInfo([length, *dims], dtype) for dtype, dims in given]


def kind_of(value: ir.Value) -> Kind:
    """Return the data type and the dimensions of a tensor."""
    return value.type.dtype, shape_of(value)


class _Sizes:
    """Symbolic dimensions as variables of another function, each expression as one of them."""

    def __init__(self) -> None:
        self._known: dict[str, Dim] = {}

    def __call__(self, dim: int | Dim) -> int | Dim:
        if isinstance(dim, int):
            return dim
        return self._known.setdefault(str(dim), Dim(f"size_{len(self._known)}"))

    def kinds(self, values: Sequence[Kind]) -> list[Kind]:
        """Return data types and dimensions of tensors."""
        return [(dtype, [self(dim) for dim in dims]) for dtype, dims in values]

    def params(self, name: str, values: Sequence[ir.Value]) -> list[Var]:
        """Return parameters for tensors."""
        return [
            Var(f"{name}_{i}", TensorStructInfo(dims, dtype))
            for i, (dtype, dims) in enumerate(self.kinds([kind_of(one) for one in values]))
        ]


def count_to(
    name: str,
    length: int | Dim,
    state: Sequence[ir.Value],
    read: Sequence[ir.Value],
    given: Sequence[Kind],
    step: Callable[[Dim, Sequence[ir.Value], Sequence[ir.Value]], Step],
    *,
    backward: bool = False,
) -> Step:
    """Do a number of steps, at any place of a program, by functions that are added to the module.

    Parameters
    ----------
    name : str
        That of the functions, which are private. Where it is taken, a number is added.
    length : int or Dim
        The number of steps.
    state : sequence of mlir.ir.Value
        The tensors that are carried, whose dimensions stay.
    read : sequence of mlir.ir.Value
        The tensors that all steps read.
    given : sequence of tuple
        Of what a step gives: data type, and dimensions, which `state` and `read` have.
    step : callable
        Writes a step, of its number, the state, and what all steps read. It uses no other value of
        the program.
    backward : bool
        Whether the last step comes first.

    Returns
    -------
    tuple of sequence of mlir.ir.Value
        The last state, and what all steps gave, one after the other along a new first axis.

    Raises
    ------
    ValueError
        If no function is being written.
    """
    builder, sizes = current_builder(), _Sizes()
    begin, end, steps = Dim("begin"), Dim("end"), Dim("steps")
    carried, shared = sizes.params("carried", state), sizes.params("read", read)
    types = [param.struct_info for param in carried]
    kinds = sizes.kinds(given)

    def numbers(*dims: Dim) -> list[Var]:
        return [Var(str(dim), PrimStructInfo("int64", value=dim)) for dim in dims]

    params = [*carried, *shared]
    result = TupleStructInfo([*types, *stacks(kinds, end - begin)])
    with builder.private_function(
        f"{name}_steps", [*numbers(begin, end), *params], result
    ) as function:
        values = [param.value for param in params]
        loop = Steps(builder, function, begin, end, len(carried), kinds)
        loop.write(
            values,
            lambda: step(begin, values[: len(carried)], values[len(carried) :]),
            backward=backward,
        )
    result = TupleStructInfo([*types, *stacks(kinds, steps)])
    with builder.private_function(name, [*numbers(steps), *params], result) as whole:
        last, all_given = loop.all(steps, [param.value for param in params])
        builder.emit_func_output(op.tuple(*last, *all_given))
    fields = fields_of(op.call(whole, Dim(length), *state, *read))
    return fields[: len(carried)], fields[len(carried) :]
