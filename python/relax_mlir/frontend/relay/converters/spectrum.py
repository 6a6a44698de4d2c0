# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of products, and Fourier transforms as products with matrices of known size."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from mlir import ir

from .... import op
from ....composites import fourier
from ....composites.complex_numbers import Complex, pairs_of
from ....composites.einsum import einsum
from ....composites.tensors import cast, normal_axis, number, size_tensor
from ....composites.windows import sliding_windows
from ...values import Value, rank_of, shape_of
from .operands import fields
from .registry import REQUIRED, converts


@converts("einsum", raw=True, equation=REQUIRED)
def _einsum(attrs: SimpleNamespace, data: Value) -> ir.Value:
    tensors = fields(data)
    dtypes = sorted({tensor.type.dtype for tensor in tensors})
    if len(dtypes) != 1:
        raise ValueError(f"expected operands of one data type, but got {' and '.join(dtypes)}")
    return einsum(attrs.equation, tensors)


@converts("dft", inverse=False)
def _dft(attrs: SimpleNamespace, re_data: ir.Value, im_data: ir.Value) -> Value:
    dtype = re_data.type.dtype
    wide = dtype if dtype == "float64" else "float32"
    if not rank_of(re_data):
        raise ValueError("expected a signal of rank 1 or more, but got rank 0")
    signal = Complex(cast(re_data, wide), cast(im_data, wide))
    if not attrs.inverse:
        result = fourier.transform(signal)
    else:
        count = size_tensor(shape_of(re_data)[-1], wide)
        result = fourier.inverse(signal).map(lambda part: op.divide(part, count))
    return op.tuple(cast(result.real, dtype), cast(result.imag, dtype))


def _weights(window: ir.Value, length: int, dtype: str) -> ir.Value:
    """Return a window of a length, with zeros before and after one that is shorter."""
    width = shape_of(window)[0]
    if not isinstance(width, int) or width > length:
        raise ValueError(f"expected a window of up to {length} elements, but got {width}")
    before = (length - width) // 2
    parts = [(before, None), (width, window), (length - width - before, None)]
    made = [
        op.zeros([count], dtype) if part is None else cast(part, dtype)
        for count, part in parts
        if count
    ]
    return made[0] if len(made) == 1 else op.concat(made, 0)


@converts("stft", n_fft=-1, hop_length=-1, win_length=-1, normalized=False, onesided=True)
def _stft(attrs: SimpleNamespace, data: ir.Value, window: ir.Value) -> ir.Value:
    rank, dtype, length = rank_of(data), data.type.dtype, int(attrs.n_fft)
    if rank not in (1, 2) or attrs.hop_length < 1:
        raise ValueError(
            f"expected a signal of rank 1 or 2 and a hop of 1 or more, but got rank {rank} and "
            f"{attrs.hop_length}"
        )
    axis, hop = normal_axis(-1, rank), int(attrs.hop_length)
    count = (shape_of(data)[axis] - length) // hop + 1
    wide = dtype if dtype == "float64" else "float32"
    windows = sliding_windows(data, axis, [*shape_of(data)[:axis], count, length], hop)
    frames = cast(windows, wide)
    frames = op.multiply(frames, _weights(window, length, wide))
    result = fourier.half(frames) if attrs.onesided else fourier.transform(frames)
    if attrs.normalized:
        share = number(1 / np.sqrt(length), wide)
        result = result.map(lambda part: op.multiply(part, share))
    parts = pairs_of(result)
    # Frequencies come before frames.
    order = [*range(axis), axis + 1, axis, axis + 2]
    return cast(op.permute_dims(parts, order), dtype)
