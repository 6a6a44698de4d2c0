# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on known elements, which leave nothing in the program.

Numbers of arrays are computed as by the program: integers wrap around. Sizes are expressions, which
are taken to fit their data type.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...core.ir import Dim
from .registry import Node
from .scope import Dimensions
from .values import MOST_KNOWN, Size, Sizes, Value, as_known, dtype_of, is_float, known

_Rule: TypeAlias = Callable[..., Any]


class _UndecidedError(Exception):
    """It is not known what an operation on sizes gives."""


def fold(node: Node, operands: Sequence[Value]) -> Value | None:
    """Return the result of an operation whose operands are known; None where it is not computed.

    Parameters
    ----------
    node : Node
    operands : sequence of value
    """
    if len(node.operation.results) != 1 or not operands:
        return None
    if not (node.name in _MOVES or node.name in _NUMBERS or node.name == "stablehlo.convert"):
        return None
    values = [as_known(value) for value in operands]
    if any(value is None for value in values):
        return None
    if any(isinstance(value, Sizes) for value in values):
        return _fold_sizes(node, values)
    arrays: list[Any] = values
    if node.name in _MOVES:
        result = _MOVES[node.name](node, *arrays)
        return None if result is None or result.size > MOST_KNOWN else result
    if node.name == "stablehlo.convert":
        return _converted(node, arrays[0])
    if any(is_float(array.dtype.name) for array in arrays):
        return None
    with np.errstate(over="ignore", divide="ignore"):
        result = _array_rule(node, arrays)
    return None if result is None else np.asarray(result)


def _converted(node: Node, x: np.ndarray) -> np.ndarray | None:
    dtype = node.result.dtype
    if dtype == "bfloat16" or (is_float(x.dtype.name) and not is_float(dtype)):
        return None
    return x.astype(dtype)


# -- arrays -------------------------------------------------------------------------------------


def _truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    if not y.all():
        return None
    quotient = np.abs(x) // np.abs(y)
    return np.where((x < 0) ^ (y < 0), -quotient, quotient).astype(x.dtype)


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    return np.fmod(x, y) if y.all() else None


_COMPARISONS: dict[str, _Rule] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}
_NUMBERS: dict[str, _Rule] = {
    "stablehlo.add": lambda x, y: x | y if x.dtype == bool else x + y,
    "stablehlo.subtract": operator.sub,
    "stablehlo.multiply": lambda x, y: x & y if x.dtype == bool else x * y,
    "stablehlo.divide": _truncated,
    "stablehlo.remainder": _remainder,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.negate": operator.neg,
    "stablehlo.abs": np.abs,
    "stablehlo.sign": np.sign,
    "stablehlo.and": operator.and_,
    "stablehlo.or": operator.or_,
    "stablehlo.xor": operator.xor,
    "stablehlo.not": operator.inv,
    "stablehlo.select": np.where,
    "stablehlo.clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "stablehlo.compare": operator.eq,
}


def _array_rule(node: Node, arrays: list[np.ndarray]) -> np.ndarray | None:
    if node.name == "stablehlo.compare":
        return _COMPARISONS[node.enum("comparison_direction")](*arrays)
    return _NUMBERS[node.name](*arrays)


# -- what moves elements ------------------------------------------------------------------------


def _reshape(node: Node, x: np.ndarray, *_: Any) -> np.ndarray | None:
    dims = node.result.dims
    return x.reshape([-1 if dim is None else dim for dim in dims]) if dims.count(None) < 2 else None


def _broadcast(node: Node, x: np.ndarray) -> np.ndarray | None:
    if is_float(dtype_of(x)):
        return None
    dims, places = node.static_dims(), node.attr("broadcast_dimensions")
    if functools.reduce(operator.mul, dims, 1) > MOST_KNOWN:
        return None
    shape = [1] * len(dims)
    for place, extent in zip(places, x.shape, strict=True):
        shape[place] = extent
    return np.broadcast_to(x.reshape(shape), dims)


def _concatenate(node: Node, *arrays: np.ndarray) -> np.ndarray:
    return np.concatenate(arrays, node.attr("dimension"))


def _slice(node: Node, x: np.ndarray) -> np.ndarray:
    names = ("start_indices", "limit_indices", "strides")
    places = zip(*(node.attr(name) for name in names), strict=True)
    return x[tuple(slice(*place) for place in places)]


def _dynamic_slice(node: Node, x: np.ndarray, *starts: np.ndarray) -> np.ndarray | None:
    if any(isinstance(start.item(), Dim) for start in starts):
        return None
    sizes = node.attr("slice_sizes")
    begins = [
        min(max(int(s.item()), 0), d - n) for s, d, n in zip(starts, x.shape, sizes, strict=True)
    ]
    return x[tuple(slice(b, b + n) for b, n in zip(begins, sizes, strict=True))]


def _transpose(node: Node, x: np.ndarray) -> np.ndarray:
    return x.transpose(node.attr("permutation"))


def _reverse(node: Node, x: np.ndarray) -> np.ndarray:
    return np.flip(x, node.attr("dimensions"))


_MOVES: dict[str, _Rule] = {
    "stablehlo.reshape": _reshape,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.slice": _slice,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.transpose": _transpose,
    "stablehlo.reverse": _reverse,
}


# -- sizes --------------------------------------------------------------------------------------


def _fold_sizes(node: Node, values: Sequence[Any]) -> Value | None:
    arrays = [
        value.elements if isinstance(value, Sizes) else value.astype(object) for value in values
    ]
    dtype = node.result.dtype
    if node.name in _MOVES:
        result = _MOVES[node.name](node, *arrays)
        return None if result is None else known(result, dtype)
    if node.name == "stablehlo.convert":
        return _sizes_converted(arrays[0], dtype)
    rule = _SIZES.get(node.name)
    if node.name == "stablehlo.compare":
        rule = _SIZE_COMPARISONS[node.enum("comparison_direction")]
    if rule is None or is_float(dtype):
        return None
    cells = np.broadcast_arrays(*arrays)
    result = np.empty(cells[0].shape, object)
    try:
        for place in np.ndindex(result.shape):
            elements = [cell[place] for cell in cells]
            result[place] = rule(node.importer.dimensions, *elements)
    except _UndecidedError:
        return None
    return known(result, dtype)


def _sizes_converted(elements: np.ndarray, dtype: str) -> Value | None:
    if is_float(dtype):
        return None
    if dtype != "bool":
        return known(elements, dtype)
    # What is a condition already is 0 or 1.
    is_one = all(not isinstance(one, Dim) or one.kind in _CONDITIONS for one in elements.flat)
    return known(elements, dtype) if is_one else None


_CONDITIONS = ("eq", "lt", "le", "and", "or", "not")


def _decided(answer: bool | None, otherwise: Callable[[], Size]) -> Any:
    return otherwise() if answer is None else answer


def _equal(dimensions: Dimensions, x: Any, y: Any) -> Any:
    return _decided(dimensions.same(x, y), lambda: Dim(x).equal(y))


def _at_most(dimensions: Dimensions, x: Any, y: Any) -> Any:
    return _decided(dimensions.at_most(x, y), lambda: Dim(x).less_equal(y))


def _less(dimensions: Dimensions, x: Any, y: Any) -> Any:
    return _decided(dimensions.at_most(Dim(x) + 1, y), lambda: Dim(x).less(y))


def _not(_: Dimensions, x: Any) -> Any:
    return x.logical_not() if isinstance(x, Dim) else not x


def _and(_: Dimensions, x: Any, y: Any) -> Any:
    if isinstance(x, Dim) and isinstance(y, Dim):
        return x.logical_and(y)
    one, other = (y, x) if isinstance(x, Dim) else (x, y)
    return other if one else False


def _or(dimensions: Dimensions, x: Any, y: Any) -> Any:
    return _not(dimensions, _and(dimensions, _not(dimensions, x), _not(dimensions, y)))


def _quotient(dimensions: Dimensions, x: Any, y: Any) -> Any:
    _require(dimensions.at_most(0, x) and dimensions.at_most(1, y))
    return Dim(x) // y


def _rest(dimensions: Dimensions, x: Any, y: Any) -> Any:
    _require(dimensions.at_most(0, x) and dimensions.at_most(1, y))
    return Dim(x) % y


def _sign(dimensions: Dimensions, x: Any) -> Any:
    if dimensions.at_most(1, x):
        return 1
    _require(dimensions.at_most(0, x))
    return Dim(0).less(x)


def _abs(dimensions: Dimensions, x: Any) -> Any:
    _require(dimensions.at_most(0, x))
    return x


def _largest(dimensions: Dimensions, x: Any, y: Any) -> Any:
    if dimensions.at_most(x, y):
        return y
    return x if dimensions.at_most(y, x) else Dim(x).max(y)


def _least(dimensions: Dimensions, x: Any, y: Any) -> Any:
    if dimensions.at_most(x, y):
        return x
    return y if dimensions.at_most(y, x) else Dim(x).min(y)


def _select(_: Dimensions, condition: Any, then: Any, otherwise: Any) -> Any:
    if not isinstance(condition, Dim):
        return then if condition else otherwise
    return condition.select(then, otherwise)


def _clamp(dimensions: Dimensions, low: Any, x: Any, high: Any) -> Any:
    return _least(dimensions, _largest(dimensions, x, low), high)


def _require(decided: bool | None) -> None:
    if not decided:
        raise _UndecidedError


_SIZES: dict[str, _Rule] = {
    "stablehlo.add": lambda _, x, y: x + y,
    "stablehlo.subtract": lambda _, x, y: x - y,
    "stablehlo.multiply": lambda _, x, y: x * y,
    "stablehlo.negate": lambda _, x: -x,
    "stablehlo.divide": _quotient,
    "stablehlo.remainder": _rest,
    "stablehlo.maximum": _largest,
    "stablehlo.minimum": _least,
    "stablehlo.abs": _abs,
    "stablehlo.sign": _sign,
    "stablehlo.and": _and,
    "stablehlo.or": _or,
    "stablehlo.not": _not,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
}
_SIZE_COMPARISONS: dict[str, _Rule] = {
    "EQ": _equal,
    "NE": lambda dimensions, x, y: _not(dimensions, _equal(dimensions, x, y)),
    "LT": _less,
    "LE": _at_most,
    "GT": lambda dimensions, x, y: _less(dimensions, y, x),
    "GE": lambda dimensions, x, y: _at_most(dimensions, y, x),
}
