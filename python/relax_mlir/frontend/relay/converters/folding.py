# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes with sizes while a program is imported.

Programs of Relay compute shapes as tensors: they take, join and multiply what `shape_of` gives. Of
sizes that follow from shapes the results are sizes again, and so known where a shape is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from ....composites.tensors import facts, same
from ....core.ir import Dim
from ...values import Sizes, Value, dtype_of, is_known, known, objects
from .manipulate import new_shape
from .operands import dtype_or, ints, normal_axes
from .reduce import reduced_axes
from .registry import FOLDERS
from .slices import bounds, ends_of_sizes, places_of

Fold: TypeAlias = "Callable[..., np.ndarray | None]"

# No size is computed from as many elements; what is larger is data.
_MOST = 256
_INTEGERS = ("int", "uint", "bool")

FOLDS: dict[str, Fold] = {}
"""By operator, what computes elements, as objects, from those of operands; None where it cannot."""


def _folds(*names: str) -> Callable[[Fold], Fold]:
    def register(function: Fold) -> Fold:
        for name in names:
            FOLDS[name] = function
        return function

    return register


def _is_size(value: Value) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(_is_size(one) for one in value)
    if not is_known(value) or not dtype_of(value).startswith(_INTEGERS):
        return False
    count = value.elements.size if isinstance(value, Sizes) else value.size
    return bool(count <= _MOST)


def _is_of_one_dtype(name: str, operands: Sequence[Value]) -> bool:
    """Say whether an operator takes operands of such data types, as far as it is computed here."""
    if name in _ELEMENTWISE:
        dtypes = {dtype_of(one) for one in operands}
        return len(dtypes) == 1 and ("bool" in dtypes) == (name in _LOGIC)
    if name == "where":
        return dtype_of(operands[1]) == dtype_of(operands[2])
    return all(
        len({dtype_of(field) for field in one}) == 1
        for one in operands
        if isinstance(one, (list, tuple))
    )


def folded(name: str, attrs: SimpleNamespace, operands: Sequence[Value]) -> Value | None:
    """Return the result of an operator on integers that are known, as a known value.

    Parameters
    ----------
    name : str
        Of the operator.
    attrs : types.SimpleNamespace
        All of its attributes.
    operands : sequence of values

    Returns
    -------
    numpy.ndarray, Sizes or None
        None where the program has to compute it.
    """
    fold = FOLDS.get(name)
    if fold is None or not all(_is_size(one) for one in operands):
        return None
    if not _is_of_one_dtype(name, operands):
        return None
    elements = [
        [objects(field) for field in one] if isinstance(one, (list, tuple)) else objects(one)
        for one in operands
    ]
    try:
        computed = fold(attrs, *elements)
        dtype = _result_dtype(name, attrs, operands)
        if computed is None or not dtype.startswith(_INTEGERS):
            return None
        result = np.asarray(computed, object)
        return known(result, dtype) if result.size <= _MOST else None
    except (ValueError, IndexError, ArithmeticError, OverflowError):
        return None  # the converter says what is wrong


_CONDITIONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _result_dtype(name: str, attrs: SimpleNamespace, operands: Sequence[Value]) -> str:
    if name in _CONDITIONS:
        return "bool"
    if name in ("cast", "ones", "zeros"):
        return str(attrs.dtype)
    first = operands[0][0] if isinstance(operands[0], (list, tuple)) else operands[0]
    if name == "full":
        return dtype_or(attrs.dtype, dtype_of(first))
    if name in ("cast_like", "where"):
        return dtype_of(operands[1])
    return dtype_of(first)


# -- elements -----------------------------------------------------------------------------------


def _elementwise(function: Callable[..., Any]) -> Fold:
    def fold(_: SimpleNamespace, *operands: np.ndarray) -> np.ndarray | None:
        arrays = np.broadcast_arrays(*operands)
        result = np.empty(arrays[0].shape, object)
        for place in np.ndindex(result.shape):
            value = function(*(array[place] for array in arrays))
            if value is None:
                return None
            result[place] = value
        return result

    return fold


def _extreme(which: str) -> Callable[[Any, Any], Any]:
    def choose(x: Any, y: Any) -> Any:
        if isinstance(x, Dim) or isinstance(y, Dim):
            return getattr(Dim(x), which)(y)
        return max(x, y) if which == "max" else min(x, y)

    return choose


def _quotient(x: Any, y: Any) -> Any:
    """Return a quotient rounded towards 0, of sizes, which are not negative."""
    if isinstance(x, Dim) or isinstance(y, Dim):
        is_plain = all(isinstance(one, Dim) or one >= 0 for one in (x, y)) and y != 0
        return x // y if is_plain else None
    return None if y == 0 else int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(x: Any, y: Any) -> Any:
    quotient = _quotient(x, y)
    return None if quotient is None else x - quotient * y


def _by_floor(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: None if isinstance(y, int) and y == 0 else function(x, y)


def _less_equal(x: Any, y: Any) -> bool | None:
    if not (isinstance(x, Dim) or isinstance(y, Dim)):
        return bool(x <= y)
    answer: bool | None = Dim(x).prove_less_equal(y, facts(Dim(x), Dim(y)))
    return answer


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "divide": _quotient,
    "equal": same,
    "floor_divide": _by_floor(lambda x, y: x // y),
    "floor_mod": _by_floor(lambda x, y: x % y),
    "greater": lambda x, y: _not(_less_equal(x, y)),
    "greater_equal": lambda x, y: _less_equal(y, x),
    "less": lambda x, y: _not(_less_equal(y, x)),
    "less_equal": _less_equal,
    "logical_and": lambda x, y: bool(x and y),
    "logical_not": lambda x: not x,
    "logical_or": lambda x, y: bool(x or y),
    "logical_xor": lambda x, y: bool(x) != bool(y),
    "maximum": _extreme("max"),
    "minimum": _extreme("min"),
    "mod": _remainder,
    "multiply": lambda x, y: x * y,
    "negative": lambda x: 0 - x,
    "not_equal": lambda x, y: _not(same(x, y)),
    "subtract": lambda x, y: x - y,
    "trunc_divide": _quotient,
    "trunc_mod": _remainder,
}
_LOGIC = ("logical_and", "logical_not", "logical_or", "logical_xor")
for _name, _function in _ELEMENTWISE.items():
    FOLDS[_name] = _elementwise(_function)


@_folds("cast")
def _cast(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray | None:
    return data if str(attrs.dtype).startswith(("int", "uint")) else None


@_folds("cast_like")
def _cast_like(_: SimpleNamespace, data: np.ndarray, like: np.ndarray) -> np.ndarray:
    return data


@_folds("where")
def _where(
    _: SimpleNamespace, condition: np.ndarray, x: np.ndarray, y: np.ndarray
) -> np.ndarray | None:
    if any(isinstance(one, Dim) for one in condition.flat):
        return None
    return np.where(condition.astype("bool"), x, y)


# -- moves --------------------------------------------------------------------------------------


@_folds("reshape")
def _reshape(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    return data.reshape(new_shape(data.shape, ints(attrs.newshape), bool(attrs.allowzero)))


@_folds("squeeze")
def _squeeze(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    return data.squeeze(None if attrs.axis is None else tuple(ints(attrs.axis)))


@_folds("expand_dims")
def _expand_dims(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    axis, count = int(attrs.axis), int(attrs.num_newaxis)
    begin = data.ndim + axis + 1 if axis < 0 else axis
    return np.expand_dims(data, tuple(range(begin, begin + count)))


@_folds("transpose")
def _transpose(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    return data.transpose(attrs.axes or None)


@_folds("broadcast_to")
def _broadcast_to(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    return np.broadcast_to(data, ints(attrs.shape))


@_folds("concatenate")
def _concatenate(attrs: SimpleNamespace, data: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(data, int(attrs.axis))


@_folds("stack")
def _stack(attrs: SimpleNamespace, data: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(data, int(attrs.axis))


@_folds("take")
def _take(attrs: SimpleNamespace, data: np.ndarray, indices: np.ndarray) -> np.ndarray | None:
    if attrs.batch_dims or any(isinstance(one, Dim) for one in indices.flat):
        return None
    mode: Any = "wrap" if attrs.mode == "wrap" else "clip"
    return np.take(data, indices.astype("int64"), attrs.axis, mode=mode)


@_folds("reverse")
def _reverse(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    return np.flip(data, int(attrs.axis))


@_folds("tile")
def _tile(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray | None:
    reps = ints(attrs.reps)
    is_small = data.size * math.prod(reps) <= _MOST
    return np.tile(data, reps) if is_small and min(reps, default=1) > 0 else None


def _part(
    attrs: SimpleNamespace, data: np.ndarray, begin: Sequence[Any], end: Sequence[Any],
    strides: Sequence[int],
) -> np.ndarray:  # fmt: skip
    axes = normal_axes(ints(attrs.axes), data.ndim) if attrs.axes else list(range(data.ndim))
    dims = [data.shape[axis] for axis in axes]
    if attrs.slice_mode == "size":
        end, strides = ends_of_sizes(dims, begin, end), []
    at = [slice(None)] * data.ndim
    for axis, *place in zip(axes, *bounds(dims, begin, end, strides), strict=True):
        at[axis] = slice(*place)
    return data[tuple(at)]


@_folds("strided_slice")
def _strided_slice(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    strides = [] if attrs.strides is None else ints(attrs.strides)
    return _part(attrs, data, places_of(attrs.begin), places_of(attrs.end), strides)


@_folds("dyn.strided_slice")
def _dyn_strided_slice(
    attrs: SimpleNamespace, data: np.ndarray, *places: np.ndarray
) -> np.ndarray | None:
    if any(isinstance(one, Dim) for vector in places for one in vector.flat):
        return None
    begin, end, strides = (list(one) for one in places)
    return _part(attrs, data, begin, end, strides)


# -- made vectors -------------------------------------------------------------------------------


def _filled(shape: Sequence[int], value: Any) -> np.ndarray | None:
    return np.full(shape, value, object) if math.prod(shape) <= _MOST else None


@_folds("zeros")
def _zeros(attrs: SimpleNamespace) -> np.ndarray | None:
    return _filled(ints(attrs.shape), 0)


@_folds("ones")
def _ones(attrs: SimpleNamespace) -> np.ndarray | None:
    return _filled(ints(attrs.shape), 1)


@_folds("full")
def _full(attrs: SimpleNamespace, fill_value: np.ndarray) -> np.ndarray | None:
    return _filled(ints(attrs.shape), fill_value.item())


@_folds("zeros_like")
def _zeros_like(_: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    return np.full(data.shape, 0, object)


@_folds("ones_like")
def _ones_like(_: SimpleNamespace, data: np.ndarray) -> np.ndarray:
    return np.full(data.shape, 1, object)


# -- reductions ---------------------------------------------------------------------------------


def _reduction(function: Callable[..., Any]) -> Fold:
    def fold(attrs: SimpleNamespace, data: np.ndarray) -> np.ndarray:
        axes = tuple(reduced_axes(attrs, data.ndim))
        return np.asarray(function(data, axis=axes, keepdims=bool(attrs.keepdims)), object)

    return fold


def _along(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return np.frompyfunc(function, 2, 1).reduce


FOLDS["sum"] = _reduction(np.sum)
FOLDS["prod"] = _reduction(np.prod)
FOLDS["max"] = _reduction(_along(_extreme("max")))
FOLDS["min"] = _reduction(_along(_extreme("min")))


FOLDERS.append(folded)
