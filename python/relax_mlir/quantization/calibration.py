# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calibration: the ranges that inputs of layers, or their channels, have for some data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mlir import ir

from ..core.ir_module import IRModule, ModuleLike, as_module
from ..transform.layers import layers_of
from ..transform.quantize_static import function_of, has_constant_matrix, has_constant_weight
from .observers import ObservedProgram, batches

_METHODS = ("minmax", "percentile", "mse")
# Of the histograms that ranges are found in.
_BINS = 2048
# How many ranges are tried for the least error, and the steps of codes of 8 bits.
_TRIALS, _STEPS = 100, 255


def calibrate(
    mod: ModuleLike,
    inputs: Iterable[Iterable[Any]],
    name: str = "main",
    *,
    method: str = "minmax",
    percentile: float = 99.99,
) -> dict[str, tuple[float, float]]:
    """Run a program, and return the ranges of the inputs of its layers.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
    inputs : iterable of sequences
        The arguments of each call: data like those that the program will be used with.
    name : str
        The function.
    method : str
        "minmax": the least and the greatest element. "percentile": without what is outside on each
        side, so that a few large elements cost no digits of others. "mse": the range with the least
        sum of squares of rounding errors, of 100 that are parts of the whole one.
    percentile : float
        How many percent of the elements are below the greatest one that counts, and above the
        least one.

    Returns
    -------
    dict of str to (float, float)
        The least and the greatest element, by the name of the layer: a `matmul` or convolution of
        `float32` by weights that are computed of constants.

    Raises
    ------
    ValueError
        If there are no inputs, there is no function or method of a name, the percentile is not from
        50 to 100, or an input of a layer has infinities or NaN.

    Notes
    -----
    The program runs once for each call, and a second time to count elements in histograms of 2048
    bins with "percentile" and "mse". A layer that is not reached, or has no elements, has no range.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.quantization import calibrate
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 2), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = bb.emit(relax.op.matmul(x, np.ones((2, 4), "float32")), "hidden")
    ...     _ = bb.emit_func_output(y)
    >>> calibrate(bb, [[np.float32([[-1, 2]])], [np.float32([[0, 5], [1, 3]])]])
    {'hidden': (-1.0, 5.0)}
    """
    if method not in _METHODS:
        raise ValueError(f"expected method, one of {', '.join(_METHODS)}, but got {method!r}")
    if not 50 <= percentile <= 100:
        raise ValueError(f"expected percentile to be from 50 to 100, but got {percentile}")
    calls = batches(inputs, name)
    module = as_module(mod).clone()
    inputs_of = _inputs(module, name, has_constant_weight)
    seen = _run(module, inputs_of.values, name, calls, method)
    return {
        layer: _range(range_, method, percentile / 100)
        for layer, range_ in inputs_of.by_layer(seen).items()
    }


def calibrate_channels(
    mod: ModuleLike, inputs: Iterable[Iterable[Any]], name: str = "main"
) -> dict[str, np.ndarray]:
    """Run a program, and return the largest magnitude of each channel of the inputs of layers.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
    inputs : iterable of sequences
        The arguments of each call: data like those that the program will be used with.
    name : str
        The function.

    Returns
    -------
    dict of str to numpy.ndarray
        A `float32` for each element along the last dimension of the input, over all others and all
        calls, by the name of the layer: a `matmul` of `float32` by a matrix that is computed of
        constants. `relax_mlir.transform.SmoothQuant` takes it.

    Raises
    ------
    ValueError
        If there are no inputs, there is no function of the name, or an input of a layer has
        infinities or NaN.

    Notes
    -----
    The program runs once for each call. A layer that is not reached, or has no elements, is not
    among the results.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.quantization import calibrate_channels
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 2), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = bb.emit(relax.op.matmul(x, np.ones((2, 4), "float32")), "hidden")
    ...     _ = bb.emit_func_output(y)
    >>> calibrate_channels(bb, [[np.float32([[-1, 2]])], [np.float32([[0, -5], [1, 3]])]])
    {'hidden': array([1., 5.], dtype=float32)}
    """
    calls = batches(inputs, name)
    module = as_module(mod).clone()
    inputs_of = _inputs(module, name, has_constant_matrix)
    program = ObservedProgram(module, inputs_of.values, name)
    found: dict[str, np.ndarray] = {}

    def bound(layer: str, array: np.ndarray) -> None:
        if array.size == 0:
            return
        largest = np.abs(array).reshape(-1, array.shape[-1]).max(0)
        _require_finite(layer, largest)
        found[layer] = np.maximum(found.get(layer, 0), largest)

    for given in calls:
        program(given, bound)
    return {layer: largest.copy() for layer, largest in inputs_of.by_layer(found).items()}


@dataclass(frozen=True)
class _Inputs:
    """The inputs of layers; those that read the same value share an observer.

    Attributes
    ----------
    values : dict of str to mlir.ir.Value
        What to observe.
    names : dict of str to str
        The name in `values` for each layer.
    """

    values: dict[str, ir.Value]
    names: dict[str, str]

    def by_layer(self, seen: dict[str, Any]) -> dict[str, Any]:
        """Return what was seen for each layer; those without are left out."""
        return {layer: seen[name] for layer, name in self.names.items() if name in seen}


def _inputs(module: IRModule, name: str, check: Callable[[ir.Operation], bool]) -> _Inputs:
    layers = layers_of(function_of(module, name))
    data = {layer: found.operands[0] for layer, found in layers.items() if check(found)}
    names = {value: layer for layer, value in data.items()}
    values = {layer: value for value, layer in names.items()}
    return _Inputs(values, {layer: names[value] for layer, value in data.items()})


def _require_finite(layer: str, numbers: Any) -> None:
    if not np.isfinite(numbers).all():
        raise ValueError(f"expected finite numbers as the input of {layer!r}, but got some")


@dataclass
class _Observed:
    """What was seen of a value."""

    low: float
    high: float
    counts: np.ndarray = field(default_factory=lambda: np.zeros(_BINS, "int64"))

    def count(self, array: np.ndarray) -> None:
        """Count elements by bins of the range."""
        if self.high > self.low:
            self.counts += np.histogram(array, _BINS, (self.low, self.high))[0]

    @property
    def edges(self) -> np.ndarray:
        """The bounds of the bins."""
        return np.linspace(self.low, self.high, _BINS + 1)


def _run(
    module: Any, values: dict[str, Any], name: str, calls: list[list[Any]], method: str
) -> dict[str, _Observed]:
    program = ObservedProgram(module, values, name)
    found: dict[str, _Observed] = {}

    def bound(layer: str, array: np.ndarray) -> None:
        if array.size == 0:
            return
        low, high = float(array.min()), float(array.max())
        _require_finite(layer, [low, high])
        known = found.setdefault(layer, _Observed(low, high))
        known.low, known.high = min(known.low, low), max(known.high, high)

    for given in calls:
        program(given, bound)
    if method != "minmax":
        for given in calls:
            program(given, lambda layer, array: found[layer].count(array) if array.size else None)
    return found


def _range(seen: _Observed, method: str, share: float) -> tuple[float, float]:
    if method == "minmax" or seen.high <= seen.low:
        return seen.low, seen.high
    return _percentiles(seen, share) if method == "percentile" else _least_error(seen)


def _percentiles(seen: _Observed, share: float) -> tuple[float, float]:
    below = np.cumsum(seen.counts) / seen.counts.sum()
    first = int(np.searchsorted(below, 1 - share, side="right"))
    last = int(np.searchsorted(below, share, side="left"))
    edges = seen.edges
    return float(edges[min(first, last)]), float(edges[max(first, last) + 1])


def _least_error(seen: _Observed) -> tuple[float, float]:
    """Return the part of the range that rounds elements with the least squares of errors."""
    centers = (seen.edges[:-1] + seen.edges[1:]) / 2
    low, high = min(seen.low, 0.0), max(seen.high, 0.0)
    best, least = (low, high), np.inf
    for part in np.linspace(1, 1 / _TRIALS, _TRIALS):
        step = (high - low) * part / _STEPS
        codes = np.clip(np.rint(centers / step), np.rint(low * part / step), None)
        codes = np.minimum(codes, np.rint(low * part / step) + _STEPS)
        error = float(seen.counts @ (codes * step - centers) ** 2)
        if error < least:
            best, least = (low * part, high * part), error
    return float(best[0]), float(best[1])
