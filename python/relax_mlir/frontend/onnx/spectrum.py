# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms, as products with matrices of known size, and weights of mel bands."""

from __future__ import annotations

import numpy as np
from mlir import ir

from ... import op
from ...composites.tensors import cast, normal_axis, number
from ...core.expr import const
from ..fourier import known_length, turns
from ..values import Value, known_array, known_ints, rank_of, shape_of
from .model import dtype_of as dtype_of_onnx
from .registry import Node, converter


def _transform(rows: int, columns: int, length: int, inverse: bool) -> np.ndarray:
    """Return the factors from real and imaginary parts to real and imaginary parts."""
    cosine, sine = turns(rows, columns, length)
    sine = sine if inverse else -sine
    factors = np.stack(
        [np.stack([cosine, sine], -1), np.stack([-sine, cosine], -1)], axis=1
    )  # [rows, parts, columns, parts]
    return factors / length if inverse else factors


def _to_real(rows: int, length: int) -> np.ndarray:
    """Return the factors from the first half of a spectrum to a real signal."""
    cosine, sine = turns(rows, length, length)
    places = np.arange(rows)
    # The frequencies that are left out are the conjugates of those between the ends.
    shares = np.where((places == 0) | (2 * places == length), 1.0, 2.0)[:, None] / length
    return np.stack([shares * cosine, -shares * sine], axis=1)[..., None]


def _apply(x: ir.Value, axis: int, factors: np.ndarray) -> ir.Value:
    """Multiply an axis and the last one, of the parts of a number, by a matrix."""
    rows, parts, columns, results = factors.shape
    order = [i for i in range(rank_of(x) - 1) if i != axis] + [axis, rank_of(x) - 1]
    dtype = x.type.dtype
    kind = dtype if dtype == "float64" else "float32"
    moved = op.permute_dims(cast(x, kind), order)
    if shape_of(moved)[-2] != rows:
        moved = op.strided_slice(moved, [len(order) - 2], [0], [rows], [1], assume_inbound=True)
    outer = shape_of(moved)[:-2]
    matrix = factors.reshape(rows * parts, columns * results).astype(kind)
    product = op.matmul(op.reshape(moved, [*outer, rows * parts]), const(matrix))
    back = [order.index(i) for i in range(len(order))]
    return cast(op.permute_dims(op.reshape(product, [*outer, columns, results]), back), dtype)


def _fourier(x: ir.Value, axis: int, wanted: int | None, inverse: bool, half: bool) -> ir.Value:
    dims = shape_of(x)
    extent, parts = known_length(dims[axis], "a dimension"), dims[-1]
    if parts not in (1, 2):
        raise ValueError(f"expected 1 or 2 numbers in the last dimension, but got {parts}")
    if half and inverse:
        length = 2 * (extent - 1) if wanted is None else wanted
        rows = min(extent, known_length(length) // 2 + 1)
        factors = _to_real(rows, length)
    else:
        length = known_length(extent if wanted is None else wanted)
        if half and parts == 2:
            raise NotImplementedError("expected a real signal for onesided=1")
        columns = length // 2 + 1 if half else length
        factors = _transform(min(extent, length), columns, length, inverse)
    return _apply(x, axis, factors[:, :parts])


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
    width = _number(length, "a length")
    if width is None:
        width = shape_of(x)[1] if window is None else shape_of(window)[0]
    size = known_length(width, "a length of frames")
    if rank_of(x) == 2:
        x = op.expand_dims(x, 2)
    frames = (shape_of(x)[1] - size) // every + 1
    begins = op.multiply(op.arange(0, frames, 1, "int64"), number(every, "int64"))
    places = op.add(op.expand_dims(begins, 1), const(np.arange(size, dtype="int64")))
    framed = op.take(x, places, 1)
    if window is not None:
        framed = op.multiply(framed, op.expand_dims(cast(window, x.type.dtype), 1))
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
