# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that compute with known elements: numbers, and expressions over dimensions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...composites.tensors import facts, same
from ...core.dtypes import is_numpy
from ...core.ir import Dim
from .folds import (
    FOLDS,
    FoldFunction,
    NotFoldedError,
    exact,
    fold_axes,
    folds,
    is_exact,
    unfolded,
    whole,
)
from .model import dtype_of
from .narrow import NARROW
from .registry import Node


def _by_element(function: Callable[[Any, Any], Any]) -> FoldFunction:
    """Return an operator that has one function for arrays, and for integers and expressions."""

    def compute(_: Node, first: np.ndarray, *others: np.ndarray) -> np.ndarray:
        if first.dtype == object and not is_exact(first, *others):
            raise NotFoldedError
        return np.asarray(functools.reduce(function, (whole(one) for one in others), whole(first)))

    return compute


def _elementwise(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    ufunc = np.frompyfunc(function, 2, 1)
    return lambda first, second: np.asarray(ufunc(first, second), object)


def _divide_sizes(first: Any, second: Any) -> Any:
    if isinstance(second, int) and second == 0:
        raise NotFoldedError
    if not isinstance(first, Dim) and not isinstance(second, Dim):
        return math.trunc(first / second) if abs(first) < 2**50 else unfolded()
    known_facts = facts(first, second)
    # What divides is not 0, as that has no result.
    if not Dim(0).prove_less_equal(second, known_facts):
        return unfolded()
    floor = first // second
    if Dim(0).prove_less_equal(first, known_facts) or same(first % second, 0):
        return floor
    # A quotient is rounded towards zero.
    return Dim(first).less(0).select(-(-first // second), floor)


def _divide(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first.dtype == object or second.dtype == object:
        return np.asarray(_elementwise(_divide_sizes)(first, second))
    if first.dtype.kind == "f":
        return np.asarray(first / second)
    if not np.all(second):
        raise NotFoldedError
    quotient = np.asarray(first // second)
    uneven = (quotient * second != first) & ((first < 0) != (second < 0))
    return np.asarray(quotient + uneven.astype(quotient.dtype), first.dtype)


FOLDS["Add"] = _by_element(lambda a, b: a + b)


FOLDS["Sub"] = _by_element(lambda a, b: a - b)


FOLDS["Mul"] = _by_element(lambda a, b: a * b)


FOLDS["Div"] = _by_element(_divide)


def _extreme(kind: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def choose(first: Any, second: Any) -> Any:
        if isinstance(first, Dim) or isinstance(second, Dim):
            return getattr(Dim(first), kind)(second).simplify(facts(first, second))
        return max(first, second) if kind == "max" else min(first, second)

    plain = np.maximum if kind == "max" else np.minimum

    def compute(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        if first.dtype != object and second.dtype != object:
            return np.asarray(plain(first, second))
        return np.asarray(_elementwise(choose)(first, second))

    return compute


FOLDS["Max"] = _by_element(_extreme("max"))


FOLDS["Min"] = _by_element(_extreme("min"))


@folds("Mod")
def _mod(node: Node, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if node.attr("fmod", 0) or first.dtype.kind == "f":
        raise NotFoldedError
    if first.dtype == object or second.dtype == object:
        return np.asarray(_elementwise(_remainder)(exact(first), exact(second)))
    if not np.all(second):
        raise NotFoldedError
    return np.mod(first, second)


def _remainder(first: Any, second: Any) -> Any:
    is_positive = Dim(1).prove_less_equal(second, facts(Dim(second)))
    return first % second if is_positive else unfolded()


@folds("Clip")
def _clip(
    node: Node, x: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None
) -> np.ndarray:
    if node.opset < 11 or x.dtype != object:
        raise NotFoldedError
    result = exact(x)
    for kind, bound in (("max", low), ("min", high)):
        result = result if bound is None else _extreme(kind)(result, exact(bound))
    return result


def _comparison(equal: bool, less: bool, swap: bool) -> FoldFunction:
    """Return a comparison by whether it holds for what is equal, and for what is less."""

    def decide(first: Any, second: Any) -> bool:
        if swap:
            first, second = second, first
        if not isinstance(first, Dim) and not isinstance(second, Dim):
            return bool((equal and first == second) or (less and first < second))
        known_facts = facts(first, second)
        first, second = Dim(first), Dim(second)
        if not less:
            result = first.prove_equal(second, known_facts)
        else:
            bound = second if equal else second - 1
            result = first.prove_less_equal(bound, known_facts)
        return unfolded() if result is None else bool(result)

    def compute(_: Node, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        if first.dtype == object and not is_exact(first, second):
            raise NotFoldedError
        return np.asarray(np.frompyfunc(decide, 2, 1)(whole(first), whole(second)), bool)

    return compute


FOLDS["Equal"] = _comparison(equal=True, less=False, swap=False)


FOLDS["Less"] = _comparison(equal=False, less=True, swap=False)


FOLDS["LessOrEqual"] = _comparison(equal=True, less=True, swap=False)


FOLDS["Greater"] = _comparison(equal=False, less=True, swap=True)


FOLDS["GreaterOrEqual"] = _comparison(equal=True, less=True, swap=True)


@folds("Not")
def _not(_: Node, x: np.ndarray) -> np.ndarray:
    return np.logical_not(x.astype(bool))


@folds("And")
def _and(_: Node, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.logical_and(first.astype(bool), second.astype(bool))


@folds("Or")
def _or(_: Node, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.logical_or(first.astype(bool), second.astype(bool))


@folds("Where")
def _where(_: Node, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(condition.astype(bool), x, y)


@folds("Neg")
def _negative(_: Node, x: np.ndarray) -> np.ndarray:
    return np.asarray(-x)


@folds("Relu")
def _relu(_: Node, x: np.ndarray) -> np.ndarray:
    zero = np.zeros((), x.dtype)
    return _extreme("max")(exact(x), zero) if x.dtype == object else np.maximum(x, zero)


@folds("Abs")
def _absolute(_: Node, x: np.ndarray) -> np.ndarray:
    return _extreme("max")(exact(x), -exact(x)) if x.dtype == object else np.abs(x)


@folds("Sqrt")
def _square_root(_: Node, x: np.ndarray) -> np.ndarray:
    return unfolded() if x.dtype == object else np.asarray(np.sqrt(x))


@folds("Pow")
def _power(_: Node, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of floats: positions are reshaped to the square root of their number."""
    if x.dtype.kind != "f" or y.dtype == object:
        raise NotFoldedError
    return np.asarray(np.power(x, y.astype(x.dtype)), x.dtype)


@folds("Floor", "Ceil", "Round")
def _round(node: Node, x: np.ndarray) -> np.ndarray:
    if x.dtype == object:
        return whole(x) if is_exact(x) else unfolded()
    rounding = {"Floor": np.floor, "Ceil": np.ceil, "Round": np.rint}[node.proto.op_type]
    return np.asarray(rounding(x))


@folds("Cast")
def _cast(node: Node, x: np.ndarray) -> np.ndarray:
    dtype = dtype_of(node.attr("to"))
    if node.attr("to") in NARROW or (not is_numpy(dtype) and dtype != "bfloat16"):
        raise NotFoldedError
    if x.dtype == object:
        # An expression stays one: floats of 32 bits have all integers up to 2**24.
        return x if is_exact(x) and dtype not in ("bool", "bfloat16", "float16") else unfolded()
    if dtype == "bfloat16" or (x.dtype.kind == "f" and dtype.startswith(("int", "uint"))):
        # Out of range, NumPy and kernels differ.
        is_small = dtype.endswith("64") and bool(np.all(np.abs(x) < 2**62))
        return x.astype(dtype) if is_small else unfolded()
    return x.astype(dtype)


@folds("ReduceProd", "ReduceSum")
def _reduce(node: Node, x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    given = fold_axes(node, axes)
    if (not given and node.attr("noop_with_empty_axes", 0)) or x.dtype.kind not in "Oiu":
        raise NotFoldedError
    total = np.prod if node.proto.op_type == "ReduceProd" else np.sum
    keepdims = bool(node.attr("keepdims", 1))
    dtype = None if x.dtype == object else x.dtype
    result = total(x, axis=tuple(given) if given else None, keepdims=keepdims, dtype=dtype)
    return np.asarray(result, x.dtype)


@folds("ReduceMax", "ReduceMin")
def _reduce_extreme(node: Node, x: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    # Of a vector, as shapes are.
    if (
        x.dtype != object
        or x.ndim != 1
        or not x.size
        or fold_axes(node, axes) not in (None, [0], [-1])
    ):
        raise NotFoldedError
    if axes is not None and not axes.size:
        raise NotFoldedError
    choose = _extreme("max" if node.proto.op_type == "ReduceMax" else "min")
    result = functools.reduce(choose, (np.asarray(one, object) for one in exact(x)))
    return result.reshape([1] if node.attr("keepdims", 1) else [])
