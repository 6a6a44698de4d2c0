# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms, and weights of mel bands."""

from __future__ import annotations

import numpy as np
from mlir import ir

from ... import op
from ...composites import fourier
from ...composites.complex_numbers import Complex, of_pairs, of_real, pairs_of
from ...composites.tensors import cast, normal_axis, number, size_tensor
from ...composites.windows import sliding_windows
from ...core.ir import Dim
from ..values import Value, known_array, known_ints, rank_of, shape_of
from .model import dtype_of as dtype_of_onnx
from .registry import Node, converter


def _fourier(x: ir.Value, axis: int, wanted: int | None, inverse: bool, half: bool) -> ir.Value:
    """Transform one dimension of numbers whose parts are in the last one."""
    dims, dtype = shape_of(x), x.type.dtype
    extent, parts = dims[axis], dims[-1]
    if parts not in (1, 2):
        raise ValueError(f"expected 1 or 2 numbers in the last dimension, but got {parts}")
    if half and parts == 2 and not inverse:
        raise NotImplementedError("expected a real signal for onesided=1")
    wide = cast(x, dtype if dtype == "float64" else "float32")
    signal = of_pairs(wide) if parts == 2 else op.squeeze(wide, [-1])
    if half and inverse:
        length = 2 * (extent - 1) if wanted is None else wanted
        signal = signal if isinstance(signal, Complex) else of_real(signal)
        real = fourier.along(signal, axis, lambda row: fourier.inverse_half(
            fourier.resized(row, length // 2 + 1), length))  # fmt: skip
        return _result(op.expand_dims(real, axis=-1), length, dtype)
    length = extent if wanted is None else wanted
    apply = fourier.half if half else fourier.inverse if inverse else fourier.transform
    result = fourier.along(signal, axis, lambda row: apply(fourier.resized(row, length)))
    return _result(pairs_of(result), length if inverse else 1, dtype)


def _result(x: ir.Value, divisor: int | Dim, dtype: str) -> ir.Value:
    if divisor != 1:
        share = op.divide(number(1, x.type.dtype), size_tensor(divisor, x.type.dtype))
        x = op.multiply(x, share)
    return cast(x, dtype)


def _number(value: Value, what: str) -> int | None:
    return None if value is None else known_ints(value, what)[0]


@converter("DFT", since=17, raw=(1,))
def _dft_of_attribute(node: Node, x: ir.Value, length: Value = None) -> ir.Value:
    return _dft(node, x, _number(length, "a length"), node.attr("axis", 1))


@converter("DFT", since=20, raw=(1, 2))
def _dft_of_input(node: Node, x: ir.Value, length: Value = None, axis: Value = None) -> ir.Value:
    along = -2 if axis is None else known_ints(axis, "an axis")[0]
    return _dft(node, x, _number(length, "a length"), along)


def _dft(node: Node, x: ir.Value, length: int | None, axis: int) -> ir.Value:
    along = normal_axis(axis, rank_of(x))
    if along == rank_of(x) - 1:
        raise ValueError("expected an axis before the last one")
    inverse, half = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    return _fourier(x, along, length, inverse, half)


@converter("STFT", since=17, raw=(1, 3))
def _stft(
    node: Node, x: ir.Value, step: Value, window: ir.Value | None = None, length: Value = None
) -> ir.Value:
    every = known_ints(step, "a step")[0]
    size = _number(length, "a length")
    if size is None:
        size = shape_of(x)[1] if window is None else shape_of(window)[0]
    if rank_of(x) == 2:
        x = op.expand_dims(x, 2)
    frames = (shape_of(x)[1] - size) // every + 1
    batch, _, parts = shape_of(x)
    rows = op.squeeze(x, [2]) if parts == 1 else op.permute_dims(x, [0, 2, 1])
    outer = [batch] if parts == 1 else [batch, parts]
    framed = sliding_windows(rows, len(outer), [*outer, frames, size], every)
    if window is not None:
        framed = op.multiply(framed, cast(window, x.type.dtype))
    framed = op.expand_dims(framed, 3) if parts == 1 else op.permute_dims(framed, [0, 2, 3, 1])
    return _fourier(framed, 2, None, False, bool(node.attr("onesided", 1)))


@converter("MelWeightMatrix", since=17, raw=None)
def _mel_weight_matrix(node: Node, *inputs: Value) -> Value:
    names = ("a number of bands", "a length", "a rate", "an edge", "an edge")
    given = [known_array(x, name).item() for x, name in zip(inputs, names, strict=True)]
    bands, length, rate, lowest, highest = given
    low, high = (2595 * np.log10(1 + edge / 700) for edge in (lowest, highest))
    mels = low + np.arange(bands + 2) * ((high - low) / (bands + 2))
    edges = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // rate).astype("int64")
    begin, centre, end = edges[:-2], edges[1:-1], edges[2:]
    places = np.arange(length // 2 + 1)[:, None]
    rise = (places - begin) / np.maximum(centre - begin, 1)
    fall = (end - places) / np.maximum(end - centre, 1)
    weights = np.where((begin <= places) & (places < centre), rise, 0.0)
    weights = np.where((centre <= places) & (places < end), fall, weights)
    weights = np.where(places == centre, 1.0, weights)
    return weights.astype(dtype_of_onnx(node.attr("output_datatype", 1)))
