# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms of ATen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ... import op
from ...composites import fourier
from ...composites.complex_numbers import Complex
from ...core.ir import Dim
from .complex_numbers import only_complex
from .registry import Graph, cast, normal_axis, number, product, shape_of

_PLAIN, _BY_ROOT, _BY_LENGTH = range(3)


@only_complex("_fft_r2c.default")
def _of_real(graph: Graph, x: ir.Value, axes: Sequence[int], scale: int, is_half: bool) -> Complex:
    *others, last = _places(graph, axes)
    lengths = [shape_of(x)[axis] for axis in axes]
    result = fourier.along(x, last, fourier.half if is_half else fourier.transform)
    for axis in others:
        result = fourier.along(result, axis, fourier.transform)
    return _scaled(result, scale, lengths)


@only_complex("_fft_c2c.default")
def _of_complex(
    graph: Graph, x: Complex, axes: Sequence[int], scale: int, is_forward: bool
) -> Complex:
    lengths = [shape_of(x.real)[axis] for axis in axes]
    for axis in _places(graph, axes):
        x = fourier.along(x, axis, fourier.transform if is_forward else fourier.inverse)
    return _scaled(x, scale, lengths)


@only_complex("_fft_c2r.default")
def _to_real(graph: Graph, x: Complex, axes: Sequence[int], scale: int, length: Any) -> ir.Value:
    *others, last = _places(graph, axes)
    lengths = [*(shape_of(x.real)[axis] for axis in others), Dim(length)]
    for axis in others:
        x = fourier.along(x, axis, fourier.inverse)
    size = length if isinstance(length, int) else Dim(length)
    result = fourier.along(x, last, lambda part: fourier.inverse_half(part, size))
    return _scaled(result, scale, lengths)


def _places(graph: Graph, axes: Sequence[int]) -> list[int]:
    return [normal_axis(axis, len(graph.shape)) for axis in axes]


def _scaled(x: Any, scale: int, lengths: Sequence[Dim]) -> Any:
    """Divide by the number of elements, or its root, of what was transformed."""
    if scale == _PLAIN:
        return x
    dtype = x.dtype if isinstance(x, Complex) else x.type.dtype
    count = cast(number(product(lengths), "int64"), dtype)
    divisor = op.sqrt(count) if scale == _BY_ROOT else count
    return fourier.each(x, lambda part: op.multiply(part, op.divide(number(1, dtype), divisor)))
