# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of one tensor that are added become one."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.variables import defining_op, walk
from .convolution_windows import ConvWindow
from .fold_constant import constant_values, is_computed_of_constants
from .operations import copy_operation
from .python_pass import function_pass
from .rewriting import (
    dims_of,
    dtype_of,
    has_one_dtype,
    has_one_use,
    made_by,
    rewrite_operation,
    updates_tensors,
)

_CONVOLUTIONS = ("relax.conv1d", "relax.conv2d", "relax.conv3d")
# Weights of fewer bits would lose those of the smaller ones when they are added.
_DTYPES = ("float32", "float64")


@function_pass(opt_level=1)
class MergeConvBranches:
    """Add the weights of convolutions of one tensor instead of their results.

    That is so for windows of which one lies within the other, and for a product of the tensor with
    one number for each channel, which is a window of one element. Networks such as RepVGG and
    MobileOne are trained with such branches. Weights and numbers are of float32 or float64, and
    computed of constants alone; sums of floats may be rounded in another way. Functions that update
    tensors in place stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir import op
    >>> from relax_mlir.transform import MergeConvBranches
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 4, 8, 8), "float32"))
    >>> large, small = np.ones((4, 4, 3, 3), "float32"), np.ones((4, 4, 1, 1), "float32")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = op.nn.conv2d(x, op.const(large), padding=1)
    ...     _ = bb.emit_func_output(op.add(y, op.nn.conv2d(x, op.const(small))))
    >>> str(MergeConvBranches()(bb.get())).count("relax.conv2d")
    1
    """

    def transform_function(self, func: ir.OpView, mod: object, ctx: object) -> ir.OpView:
        """Merge the convolutions of a function."""
        if not updates_tensors(func.operation):
            merge_conv_branches(func.operation)
        return func


def merge_conv_branches(function: ir.Operation) -> None:
    """Merge the convolutions of a function, which is changed.

    Parameters
    ----------
    function : mlir.ir.Operation
    """
    sums = [found for found in map(_Sum.match, walk(function)) if found is not None]
    values = constant_values(branch.numbers for found in sums for branch in found.branches)
    for found in sums:
        rewrite_operation(found.total, functools.partial(found.merged, values))


class _Sum:
    """A sum of terms, some of which become one.

    Attributes
    ----------
    total : mlir.ir.Operation
        The last addition.
    terms : list of mlir.ir.Value
        The others, in their order.
    groups : list of list of _Branch
        A convolution each, and the branches whose weights it gets.
    """

    def __init__(self, total: ir.Operation) -> None:
        self.total = total
        self.terms = list(_terms(total))
        self.groups: list[list[_Branch]] = []
        branches = [branch for term in self.terms if (branch := _Branch.match(term)) is not None]
        branches.sort(key=lambda branch: math.prod(branch.window.sizes), reverse=True)
        while branches:
            base, *rest = branches
            group = [base, *(branch for branch in rest if base.contains(branch))]
            branches = [branch for branch in branches if branch not in group]
            if len(group) > 1:
                self.groups.append(group)
        merged = [branch.value for branch in self.branches]
        self.terms = [term for term in self.terms if term not in merged]

    @staticmethod
    def match(found: ir.Operation) -> _Sum | None:
        """Return the sum that an operation completes if anything becomes one in it."""
        if found.name != "relax.add" or _is_term(found.results[0]):
            return None
        matched = _Sum(found)
        return matched if matched.groups else None

    @property
    def branches(self) -> list[_Branch]:
        """What is merged."""
        return [branch for group in self.groups for branch in group]

    def merged(self, values: Mapping[ir.Value, np.ndarray], total: ir.Operation) -> ir.Value:
        """Return the sum with merged convolutions; those of constants are terms of their own."""
        first, *rest = [base.merged(others, values) for base, *others in self.groups]
        known = [term for term in self.terms if is_computed_of_constants(term)]
        rest += [term for term in self.terms if term not in known]
        if len({term.type for term in known}) == 1:  # it becomes one when constants are folded
            known = [functools.reduce(op.add, known)]
        return functools.reduce(op.add, [*rest, *known], first)


def _is_term(value: ir.Value) -> bool:
    """Say whether a value is used by a sum of the same shape alone."""
    if not has_one_use(value):
        return False
    user = next(iter(value.uses)).owner.operation
    return user.name == "relax.add" and user.results[0].type == value.type


def _terms(total: ir.Operation) -> Iterator[ir.Value]:
    """Yield what a sum of sums adds, in order."""
    for value in total.operands:
        inner = made_by(value, "relax.add")
        if inner is not None and _is_term(value):
            yield from _terms(inner)
        else:
            yield value


@dataclass(frozen=True, eq=False)
class _Branch:
    """A term of a sum that is a convolution of `data`, or a product for each channel."""

    value: ir.Value
    data: ir.Value
    conv: ir.Operation | None
    window: ConvWindow
    numbers: ir.Value  # weights, or those of channels

    @staticmethod
    def match(value: ir.Value) -> _Branch | None:
        """Return the branch that makes a term which is used once; None of any other one."""
        made = defining_op(value)
        if made is None or not has_one_use(value) or dtype_of(value) not in _DTYPES:
            return None
        if not has_one_dtype(made):
            return None
        if made.name in _CONVOLUTIONS:
            data, weight = made.operands
            window = ConvWindow.match(made)
            if window is None or not window.outputs or not is_computed_of_constants(weight):
                return None
            return _Branch(value, data, made, window, weight)
        if made.name != "relax.multiply":
            return None
        for data, numbers in (made.operands, reversed(list(made.operands))):
            channels = _count_channels(data, numbers)
            if channels is not None and data.type == value.type:
                rank = len(data.type.shape) - 2
                ones, zeros = [1] * rank, [0] * 2 * rank
                window = ConvWindow(1, channels, channels, ones, ones, zeros, ones, None, False)
                return _Branch(value, data, None, window, numbers)
        return None

    def contains(self, other: _Branch) -> bool:
        """Say whether each window of another branch lies within one of this convolution."""
        if self.conv is None or other.data != self.data or other.value.type != self.value.type:
            return False
        inner, outer = other.window, self.window
        if other.conv is not None and inner.groups != outer.groups:
            return False
        return inner.strides == outer.strides and all(
            place is not None for place in self._places(other)
        )

    def _places(self, other: _Branch) -> list[int | None]:
        """Return where another window begins in this one; None along axes where it does not."""
        inner, outer = other.window, self.window
        places = []
        for axis, size in enumerate(inner.sizes):
            step = outer.dilation[axis]
            place, rest = divmod(outer.padding[axis] - inner.padding[axis], step)
            fits = rest == 0 and 0 <= place <= outer.sizes[axis] - size
            has_same_steps = size == 1 or inner.dilation[axis] == step
            places.append(place if fits and has_same_steps else None)
        return places

    def merged(self, others: Iterable[_Branch], values: Mapping[ir.Value, np.ndarray]) -> ir.Value:
        """Return the convolution with the weights of others added to its own."""
        assert self.conv is not None
        weight = np.array(values[self.numbers])
        for other in others:
            numbers = values[other.numbers]
            if other.conv is None:
                # An output channel has the input channel of its number.
                channels = np.arange(self.window.outputs)
                diagonal = np.zeros((*weight.shape[:2], *other.window.sizes), weight.dtype)
                diagonal[channels, channels % self.window.channels] = numbers.reshape(
                    -1, *other.window.sizes
                )
                numbers = diagonal
            inside = [
                slice(place, (place or 0) + size)
                for place, size in zip(self._places(other), other.window.sizes, strict=True)
            ]
            weight[(..., *inside)] += numbers
        result: ir.Value = copy_operation(self.conv, [self.data, const(weight)]).results[0]
        return result


def _count_channels(data: ir.Value, numbers: ir.Value) -> int | None:
    """Return the channels of `data` if there is a constant number for each; None otherwise."""
    shape, factors = dims_of(data), dims_of(numbers)
    if not shape or not factors or len(shape) < 3 or not is_computed_of_constants(numbers):
        return None
    channels = shape[1].value
    wanted = [channels, *[1] * (len(shape) - 2)]
    sizes = [dim.value for dim in factors]
    return channels if sizes in (wanted, [1, *wanted]) else None
