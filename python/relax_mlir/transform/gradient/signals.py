# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of windows of signals, and of Fourier transforms, as tensor expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import te
from .registry import register_te_gradient


def _sliding_windows(gradient: te.Tensor, x: te.Tensor, axis: int, step: int) -> te.Tensor:
    """Add up, for each element, the windows that it is in."""
    count, size = gradient.shape[axis], gradient.shape[-1]
    turn = te.reduce_axis((0, (size + (step - 1)) // step), name="turn")

    def element(*places: Any) -> Any:
        window = te.floordiv(places[axis], te.const(step, "int64")) - turn.var
        within = places[axis] - window * step
        inside = te.all(window >= 0, window < count, within < size)
        part = gradient(*places[:axis], window, *places[axis + 1 :], within)
        return te.sum(te.if_then_else(inside, part, te.const(0, x.dtype)), axis=[turn])

    return te.compute(x.shape, element)


def _fourier(gradient: Any, *inputs: te.Tensor, length: int, is_inverse: bool) -> list[te.Tensor]:
    """Multiply by the transposed matrix of a transform; the last input is its table."""
    *parts, table = inputs
    outputs: list[Any] = list(gradient) if isinstance(gradient, (list, tuple)) else [gradient]
    rows, dtype = parts[0].shape[0], parts[0].dtype
    columns = length if is_inverse else math.prod(outputs[0].shape[1:])
    shape = (length // 2 + 1 if is_inverse else length, columns)

    def turned(function: Any, factor: float) -> te.Tensor:
        def element(j: Any, k: Any) -> Any:
            place = te.floormod(j.astype("int64") * k.astype("int64"), te.const(length, "int64"))
            value = function(place.astype("float64") * (2 * math.pi / length)) * factor
            if not is_inverse:
                return value.astype(dtype)
            # All frequencies but the ends stand for their conjugates, too.
            is_end = te.floormod(j * 2, te.const(length, "int64")).equal(0)
            return te.if_then_else(is_end, value, value * 2.0).astype(dtype)

        return te.compute(shape, element)

    flat = [te.compute((rows, columns), _row_of(output)) for output in outputs]
    cosine, sine, less = turned(te.cos, 1.0), turned(te.sin, 1.0), turned(te.sin, -1.0)

    def product(pairs: Sequence[tuple[te.Tensor, te.Tensor]]) -> te.Tensor:
        k = te.reduce_axis((0, columns), name="k")

        def element(r: Any, j: Any) -> Any:
            terms = [x(r, k.var) * matrix(j, k.var) for x, matrix in pairs]
            return te.sum(terms[0] if len(terms) == 1 else terms[0] + terms[1], axis=[k])

        return te.compute((rows, shape[0]), element)

    if is_inverse:
        made = [product([(flat[0], cosine)]), product([(flat[0], less)])]
    else:
        made = [product([(flat[0], cosine), (flat[1], less)])]
        if len(parts) == 2:
            made.append(product([(flat[0], sine), (flat[1], cosine)]))
    return [*made, te.compute(table.shape, lambda *_: te.const(0, dtype))]


def _row_of(x: te.Tensor) -> Any:
    """Return the elements of a row by one index."""
    inner: Any = x.shape[2:]

    def element(r: Any, k: Any) -> Any:
        places = []
        for size in reversed(inner):
            places.append(te.floormod(k, te.const(int(size), "int64")))
            k = te.floordiv(k, te.const(int(size), "int64"))
        return x(r, k, *reversed(places))

    return element


register_te_gradient("sliding_windows_gradient", _sliding_windows)
register_te_gradient("fourier_gradient", _fourier)
