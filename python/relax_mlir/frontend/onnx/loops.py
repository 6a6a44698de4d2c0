# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose number of steps the program finds when it runs.

A loop is a recursive function of what it carries; what it only reads is captured. One that counts
to a number of steps splits a range of steps in halves. One that ends on a condition calls itself
last.

Which dimensions a loop changes turns out when its body is written. The import starts again then,
and the loop takes them as variables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from mlir import ir

from ... import op
from ...composites.loops import Steps, stacks
from ...composites.tensors import fields_of, number, same
from ...core.expr import Var
from ...core.ir import Dim, PrimStructInfo, TensorStructInfo, TupleStructInfo
from ..values import Sizes, Value, as_tensor, dtype_of, rank_of, shape_of

if TYPE_CHECKING:
    from .importer import Importer, Scope

# From its number and the state: whether there is another one, the next state, and what it gives.
Step = Callable[[Value, list[Value]], tuple[Value, list[Value], list[Value]]]


@dataclasses.dataclass
class LoopFacts:
    """What is found out about a loop.

    Attributes
    ----------
    varying : set of tuple of int
        The number of a carried tensor, and a dimension of it that changes.
    given : list of tuple
        Of what each step gives: data type and dimensions; nothing before that is known.
    counts : bool
        Whether nothing but a number of steps ends the loop, as far as is known.
    """

    varying: set[tuple[int, int]] = dataclasses.field(default_factory=set)
    given: list[tuple[str, list[int | Dim]]] = dataclasses.field(default_factory=list)
    counts: bool = True


class LoopFactsChangedError(Exception):
    """Something was found out about a loop after it was begun."""


class _Loop:
    """A loop that is being written."""

    def __init__(self, importer: Importer, scope: Scope, initial: Sequence[Value]) -> None:
        self.importer = importer
        self.name, self.facts = importer.begin_loop()
        self.initial = [importer.tensor(scope, value) for value in initial]
        self._visible = importer.fresh_dims
        self.dims = [self._dims(i) for i in range(len(self.initial))]
        self.params = [
            Var(f"carried_{i}", TensorStructInfo(self.dims[i], dtype_of(tensor)))
            for i, tensor in enumerate(self.initial)
        ]

    def _dims(self, place: int) -> list[int | Dim]:
        return [
            self.importer.fresh_dim() if (place, axis) in self.facts.varying else dim
            for axis, dim in enumerate(shape_of(self.initial[place]))
        ]

    def result(self, stacks: Sequence[ir.Type]) -> TupleStructInfo:
        """Return the type of what is carried out, and of what all steps give."""
        return TupleStructInfo([*(self._loose(i) for i in range(len(self.initial))), *stacks])

    def _loose(self, place: int) -> TensorStructInfo:
        tensor = self.initial[place]
        if any(one == place for one, _ in self.facts.varying):
            return TensorStructInfo(ndim=rank_of(tensor), dtype=dtype_of(tensor))
        return TensorStructInfo(shape_of(tensor), dtype_of(tensor))

    def carried(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return what a call carries out, with dimensions that are found now where they change."""
        return [
            value
            if self._loose(i).shape is not None
            else op.match_cast(value, TensorStructInfo(self._dims(i), dtype_of(value)))
            for i, value in enumerate(values)
        ]

    def check(
        self, state: Sequence[Value], given: Sequence[Value]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """Compare what a step makes with what is known of the loop; return it as tensors."""
        tensors, gives = ([as_tensor(value) for value in each] for each in (state, given))
        varying = set(self.facts.varying)
        for i, (new, old, wanted) in enumerate(zip(tensors, self.initial, self.dims, strict=True)):
            dims = shape_of(new)
            if dtype_of(new) != dtype_of(old) or len(dims) != len(wanted):
                raise ValueError(
                    f"expected a loop to carry a tensor of data type {dtype_of(old)} and rank "
                    f"{len(wanted)}, as before the first step, but got {new.type}"
                )
            for axis, (dim, known) in enumerate(zip(dims, wanted, strict=True)):
                if not same(dim, known):
                    varying.add((i, axis))
        found = [(dtype_of(one), shape_of(one)) for one in gives]
        for one in gives:
            if not all(self._is_visible(dim) for dim in shape_of(one)):
                raise NotImplementedError(
                    f"expected values of each step of one shape, but got {one.type}"
                )
        if varying != self.facts.varying or found != self.facts.given:
            self.facts.varying, self.facts.given = varying, found
            raise LoopFactsChangedError
        return tensors, gives

    def _is_visible(self, dim: int | Dim) -> bool:
        """Say whether a dimension is one outside of the loop."""
        names = dim.variables if isinstance(dim, Dim) else ()
        return not any(self.importer.is_later_dim(name, self._visible) for name in names)

    def must_count(self, condition: Value) -> None:
        """Start again if something else than a number of steps may end the loop."""
        if not (isinstance(condition, np.ndarray) and condition.reshape(()).item()):
            self.facts.counts = False
            raise LoopFactsChangedError


def count_to(
    importer: Importer, scope: Scope, length: int | Dim, initial: Sequence[Value], step: Step
) -> tuple[list[ir.Value], list[ir.Value]]:
    """Write a loop of a number of steps.

    Parameters
    ----------
    importer : Importer
    scope : Scope
    length : int or Dim
    initial : sequence of Value
    step : callable

    Returns
    -------
    tuple of list of mlir.ir.Value
        The last state, and what all steps give, one after the other along a new first axis.
    """
    importer.require_branches()
    loop = _Loop(importer, scope, initial)
    count, builder = len(loop.initial), importer.builder
    begin, end = Dim(f"{loop.name}_begin"), Dim(f"{loop.name}_end")
    places = [Var(str(one), PrimStructInfo("int64", value=one)) for one in (begin, end)]
    result = loop.result(stacks(loop.facts.given, end - begin))
    with builder.closure(loop.name, [*places, *loop.params], ret_struct_info=result) as function:
        steps = Steps(builder, function, begin, end, count, loop.facts.given, loop.carried)
        params = [param.value for param in loop.params]

        def once() -> tuple[list[ir.Value], list[ir.Value]]:
            place = step_number(begin)
            with importer.step_of_loop():
                more, state, given = step(place, list(params))
            loop.must_count(more)
            return loop.check(state, given)

        steps.write(params, once)
    last, gives = steps.all(length, loop.initial)
    return list(last), list(gives)


def go_on(
    importer: Importer,
    scope: Scope,
    condition: Value,
    trips: ir.Value | None,
    first: int,
    initial: Sequence[Value],
    step: Step,
) -> tuple[list[ir.Value], list[ir.Value]]:
    """Write a loop that ends on a condition.

    Parameters
    ----------
    importer : Importer
    scope : Scope
    condition : Value
        Whether there is a first step.
    trips : mlir.ir.Value, optional
        The largest number of steps.
    first : int
        The number of the first step.
    initial : sequence of Value
    step : callable

    Returns
    -------
    tuple of list of mlir.ir.Value
        As `count_to` returns them.
    """
    importer.require_branches()
    begin: list[Value] = [np.array(first, "int64"), condition]
    loop = _Loop(importer, scope, [*begin, *initial])
    count, builder = len(loop.initial), importer.builder
    # All that steps gave so far.
    kept = [
        Var(f"given_{i}", TensorStructInfo([importer.fresh_dim(), *dims], dtype))
        for i, (dtype, dims) in enumerate(loop.facts.given)
    ]
    loose = [TensorStructInfo(ndim=len(dims) + 1, dtype=dtype) for dtype, dims in loop.facts.given]
    with builder.closure(
        loop.name, [*loop.params, *kept], ret_struct_info=loop.result(loose)
    ) as function:
        place, goes_on, *state = (param.value for param in loop.params)

        def again() -> ir.Value:
            with importer.step_of_loop():
                more, new, given = step(place, list(state))
            more = op.reshape(as_tensor(more), [])
            tensors, gives = loop.check([op.add(place, number(1, "int64")), more, *new], given)
            longer = [
                op.concat([one.value, op.expand_dims(x, [0])], 0)
                for one, x in zip(kept, gives, strict=True)
            ]
            return op.call(function, *tensors, *longer)

        test = goes_on if trips is None else op.logical_and(goes_on, op.less(place, trips))
        stay = [*(param.value for param in loop.params), *(one.value for one in kept)]
        builder.emit_func_output(builder.if_(test, again, lambda: op.tuple(*stay)))
    empty = [op.zeros([0, *dims], dtype) for dtype, dims in loop.facts.given]
    fields = fields_of(builder.emit(op.call(function, *loop.initial, *empty)))
    whole = [
        op.match_cast(value, TensorStructInfo([importer.fresh_dim(), *dims], dtype))
        for value, (dtype, dims) in zip(fields[count:], loop.facts.given, strict=True)
    ]
    return loop.carried(fields[:count])[2:], whole


def step_number(place: Dim) -> Value:
    """Return the number of a step as a value that is computed with at import."""
    elements = np.empty((), object)
    elements[()] = place
    return Sizes(elements)
