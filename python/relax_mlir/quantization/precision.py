# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far the layers of a rounded program are from those of another one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.ir_module import ModuleLike, as_module
from ..transform.layers import layers_of
from ..transform.quantize_static import function_of
from ..transform.rewriting import dtype_of
from .observers import ObservedProgram, batches

# Data types of results that are compared.
_FLOATS = ("float16", "float32", "float64")
# Names of the columns of a table.
_COLUMNS = ("layer", "max abs", "relative", "SQNR dB", "cosine")


@dataclass
class LayerError:
    """The error of the result of a layer, over all calls.

    Attributes
    ----------
    name : str
        Of the layer; "output" is the result of the function.
    max_abs : float
        The largest magnitude of a difference.
    relative : float
        That in relation to the largest magnitude of the reference.
    sqnr : float
        The signal-to-quantization-noise ratio in decibels: ten times the decimal logarithm of the
        sum of squares of the reference over that of differences; infinite where nothing differs.
    cosine : float
        Of the angle between both results, as vectors.
    """

    name: str
    max_abs: float = 0.0
    _largest: float = field(default=0.0, repr=False)
    _signal: float = field(default=0.0, repr=False)
    _noise: float = field(default=0.0, repr=False)
    _product: float = field(default=0.0, repr=False)
    _other: float = field(default=0.0, repr=False)

    def add(self, reference: np.ndarray, other: np.ndarray) -> None:
        """Count the results of a call, of equal shapes."""
        wide, near = (array.astype("float64").ravel() for array in (reference, other))
        if wide.size == 0:
            return
        difference = near - wide
        self.max_abs = float(np.maximum(self.max_abs, np.abs(difference).max()))
        self._largest = float(np.maximum(self._largest, np.abs(wide).max()))
        self._signal += float(wide @ wide)
        self._noise += float(difference @ difference)
        self._product += float(wide @ near)
        self._other += float(near @ near)

    @property
    def relative(self) -> float:
        """The largest difference in relation to the largest magnitude."""
        return _ratio(self.max_abs, self._largest)

    @property
    def sqnr(self) -> float:
        """The signal-to-quantization-noise ratio in decibels."""
        ratio = _ratio(self._signal, self._noise)
        if self._noise == 0 or ratio != ratio:
            return math.inf if self._noise == 0 else math.nan
        return 10 * math.log10(ratio) if ratio > 0 else -math.inf

    @property
    def cosine(self) -> float:
        """The cosine of the angle between both results."""
        size = math.sqrt(self._signal) * math.sqrt(self._other)
        if self._noise == 0 or size == 0:
            return 1.0 if self._noise == 0 else 0.0
        return min(self._product / size, 1.0) if size == size else math.nan


def _ratio(part: float, whole: float) -> float:
    if whole == 0:
        return 0.0 if part == 0 else math.inf
    return part / whole


@dataclass
class PrecisionReport:
    """The errors of the layers of a program, and of its result.

    Attributes
    ----------
    layers : list of LayerError
        In the order of the reference.
    output : LayerError
        Of the result of the function.
    """

    layers: list[LayerError]
    output: LayerError

    def __str__(self) -> str:
        """Return a table, with the result of the function as its last row."""
        rows = [_COLUMNS, *(_cells(row) for row in (*self.layers, self.output))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        )

    def __getitem__(self, name: str) -> LayerError:
        """Return the error of a layer."""
        for row in (*self.layers, self.output):
            if row.name == name:
                return row
        raise KeyError(name)


def _cells(row: LayerError) -> tuple[str, ...]:
    numbers = f"{row.max_abs:.3g}", f"{row.relative:.3g}", f"{row.sqnr:.1f}", f"{row.cosine:.6f}"
    return (row.name, *numbers)


def compare_precision(
    reference: ModuleLike,
    other: ModuleLike | None,
    inputs: Iterable[Iterable[Any]],
    name: str = "main",
    **options: Any,
) -> PrecisionReport:
    """Compare the results of layers of two programs, call by call.

    Parameters
    ----------
    reference : IRModule, Function, mlir.ir.Module, str or BlockBuilder
        The program in `float32`.
    other : the same, optional
        The rounded program; None stands for `reference`, which `options` round.
    inputs : iterable of sequences
        The arguments of each call.
    name : str
        The function.
    **options
        How `other` is compiled, such as ``weights="int4-g32"`` or ``precision="bf16"``.

    Returns
    -------
    PrecisionReport
        A row for each layer (a `matmul` or convolution) that both programs have under one name, and
        one for the result of the function. Printed, it is a table.

    Raises
    ------
    ValueError
        If there are no inputs, or a program has no function of the name.

    Notes
    -----
    Each layer of `other` gets what its own layers before have computed, so errors add up on the
    way. Its result is observed, which keeps it apart from operations that follow.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.quantization import compare_precision
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = bb.emit(relax.op.matmul(x, 127 * np.eye(64, dtype="float32")), "hidden")
    ...     _ = bb.emit_func_output(relax.op.nn.relu(y))
    >>> rows = np.linspace(0, 1, 64, dtype="float32")[None]
    >>> print(compare_precision(bb, None, [[rows]], weights="int8"))
    layer   max abs  relative  SQNR dB    cosine
    hidden        0         0      inf  1.000000
    output        0         0      inf  1.000000
    """
    calls = batches(inputs, name)
    first = as_module(reference).clone()
    second = (first if other is None else as_module(other)).clone()
    layers = [layers_of(function_of(module, name)) for module in (first, second)]
    names = [
        layer
        for layer in layers[0]
        if layer in layers[1]
        and all(dtype_of(known[layer].results[0]) in _FLOATS for known in layers)
    ]
    programs = [
        ObservedProgram(module, {layer: known[layer].results[0] for layer in names}, name, **given)
        for module, known, given in zip((first, second), layers, ({}, options), strict=True)
    ]
    errors = {layer: LayerError(layer) for layer in names}
    output = LayerError("output")
    for given in calls:
        seen: list[dict[str, list[np.ndarray]]] = [{}, {}]
        results = []
        for program, values in zip(programs, seen, strict=True):
            results.append(program(map(_copied, given), _collector(values)))
        for layer in names:
            for pair in zip(*(values.get(layer, []) for values in seen), strict=False):
                if pair[0].shape == pair[1].shape:
                    errors[layer].add(*pair)
        for pair in zip(*map(_tensors, results), strict=True):
            output.add(*pair)
    return PrecisionReport(list(errors.values()), output)


def _copied(value: Any) -> Any:
    """Return an argument that a program may write to."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _collector(values: dict[str, list[np.ndarray]]) -> Any:
    return lambda layer, array: values.setdefault(layer, []).append(array)


def _tensors(result: Any) -> Iterator[np.ndarray]:
    """Yield the tensors of a result, of floats."""
    if hasattr(result, "__dlpack__"):
        array = np.from_dlpack(result)
        if array.dtype.kind in "fiub":
            yield array
    elif not isinstance(result, (str, bytes)) and isinstance(result, Iterable):
        for one in result:
            yield from _tensors(one)
