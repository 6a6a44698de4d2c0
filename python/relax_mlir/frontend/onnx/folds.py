# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is computed at import: the table of operators on known elements.

Elements are numbers, or as objects integers and expressions over symbolic dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.ir import Dim
from .registry import Node

# Larger tensors are weights, not sizes: they are computed when the program runs.
LARGEST = 1024


FoldFunction = Callable[..., np.ndarray]

FOLDS: dict[str, FoldFunction] = {}


class NotFoldedError(Exception):
    """The operator has no result that is known at import."""


def folds(*names: str) -> Callable[[FoldFunction], FoldFunction]:
    """Register what operators do with known elements."""

    def register(function: FoldFunction) -> FoldFunction:
        for name in names:
            FOLDS[name] = function
        return function

    return register


def unfolded() -> Any:
    """Raise NotFoldedError, where an expression is expected."""
    raise NotFoldedError


def is_exact(*arrays: np.ndarray) -> bool:
    """Say whether elements are integers or expressions, not floats."""
    return all(
        isinstance(element, (int, Dim, np.integer)) or float(element).is_integer()
        for array in arrays
        for element in array.flat
    )


def whole(array: np.ndarray) -> np.ndarray:
    """Return integers that are floats among objects as integers."""
    if array.dtype != object:
        return array
    convert = np.frompyfunc(lambda one: one if isinstance(one, Dim) else int(one), 1, 1)
    return np.asarray(convert(array), object)


def exact(array: np.ndarray) -> np.ndarray:
    """Return integers and expressions, if there is nothing else."""
    return whole(array) if is_exact(array) else unfolded()


def is_plain(*arrays: np.ndarray) -> bool:
    """Say whether elements are numbers, not expressions."""
    return not any(isinstance(element, Dim) for array in arrays for element in array.flat)


def fold_axes(node: Node, x: np.ndarray | None) -> list[int] | None:
    """Return the axes that an operator gets as an input, or as an attribute before."""
    if x is not None:
        return [int(axis) for axis in x.flat] if is_plain(x) else unfolded()
    axes = node.attr("axes", None)
    return None if axes is None else list(axes)
