# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators whose inputs are known at import, in NumPy: constants, and sizes.

An element is a number, or an expression over symbolic dimensions. What has no such form is left to
the converter of the operator, and is computed when the program runs.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...composites.tensors import normal_axis, same, size
from ...core.dtypes import is_numpy
from ...core.ir import Dim
from ..values import Sizes, Value, known, known_ints, objects

# These register operators.
from . import fold_moves as _fold_moves  # noqa: F401
from . import fold_numbers as _fold_numbers  # noqa: F401
from .folds import FOLDS, LARGEST, NotFoldedError
from .model import dtype_of
from .registry import Node


def fold(node: Node, inputs: list[Value]) -> Value | None:
    """Return the result of a node where it is known at import, else None.

    Parameters
    ----------
    node : Node
    inputs : list
        Its inputs, with None for those that are left out.
    """
    function = FOLDS.get(node.proto.op_type) if node.domain == "" else None
    given = [value for value in inputs if value is not None]
    if function is None or not given:
        return None
    if not all(isinstance(value, (np.ndarray, Sizes)) for value in given):
        return None
    if node.proto.op_type == "Div" and any(_is_float_size(value) for value in given):
        return None  # the quotient need not be an integer
    if any(_count(value) > LARGEST or not is_numpy(_dtype(value)) for value in given):
        return None
    is_sizes = any(isinstance(value, Sizes) for value in given)
    arrays = [None if value is None else objects(value) if is_sizes else value for value in inputs]
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(function(node, *arrays))
    except NotFoldedError:
        return None
    return known(result, _result_type(node, inputs)) if is_sizes else result


def fold_split(node: Node, inputs: list[Value]) -> list[Value] | None:
    """Return the parts of a vector of sizes, or None."""
    if node.proto.op_type != "Split" or node.domain != "":
        return None
    if not all(isinstance(value, (np.ndarray, Sizes)) for value in inputs):
        return None
    if _count(inputs[0]) > LARGEST or not is_numpy(_dtype(inputs[0])):
        return None
    elements = objects(inputs[0]) if isinstance(inputs[0], Sizes) else inputs[0]
    axis = normal_axis(node.attr("axis", 0), elements.ndim)
    if len(inputs) > 1:
        lengths = list(known_ints(inputs[1], "sizes of parts"))
    else:
        count = node.attr("num_outputs", len(node.proto.output))
        lengths = node.attr("split", None) or part_sizes(elements.shape[axis], count)
    ends = list(itertools.accumulate(lengths))
    parts = np.split(elements, ends[:-1], axis)
    return [known(one, _dtype(inputs[0])) if one.dtype == object else one for one in parts]


def part_sizes(extent: int | Dim, count: int) -> list[Any]:
    """Return the sizes of equal parts, of which the last one may be smaller."""
    if isinstance(extent, Dim) and not same(extent % count, 0):
        raise NotImplementedError(f"expected sizes of the parts of a dimension {extent}")
    if isinstance(extent, Dim):
        return [size(extent // count)] * count
    each = -(-extent // count)
    return [max(0, min(each, extent - i * each)) for i in range(count)]


def _is_float_size(value: Value) -> bool:
    return isinstance(value, Sizes) and value.dtype.startswith("float")


def _count(value: Value) -> int:
    elements = value.elements if isinstance(value, Sizes) else value
    return int(elements.size)


def _dtype(value: Value) -> str:
    return value.dtype if isinstance(value, Sizes) else value.dtype.name


_BOOLEAN = ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")


def _result_type(node: Node, inputs: list[Value]) -> str:
    name = node.proto.op_type
    if name in _BOOLEAN:
        return "bool"
    if name == "Cast":
        return dtype_of(node.attr("to"))
    if name == "ConstantOfShape":
        return "float32"  # of sizes, which have no value then
    return _dtype(inputs[1 if name == "Where" else 0])
