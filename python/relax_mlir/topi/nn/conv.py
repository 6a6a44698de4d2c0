# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import te
from ...tir.expr import PrimExpr
from ..utils import Tensor, canonical, constant, is_equal, pair
from .pad import pad

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def pads_of(padding: Any, kernel: Sequence[PrimExpr], dilation: Sequence[int]) -> Any:
    """Return the border before and after each spatial dimension.

    Parameters
    ----------
    padding : int, sequence of int, or "SAME" or "VALID"
        One for all, one for each dimension, or first those before and then those after.
    kernel : sequence of PrimExpr
    dilation : sequence of int
    """
    count = len(kernel)
    if isinstance(padding, str):
        if padding == "VALID":
            return [0] * count, [0] * count
        if padding != "SAME":
            raise ValueError(f"expected padding 'SAME' or 'VALID', but got {padding!r}")
        if None in map(constant, kernel):
            raise ValueError("expected a filter of known size with padding 'SAME'")
        sizes = [constant(size) or 0 for size in kernel]
        total = [(size - 1) * step for size, step in zip(sizes, dilation, strict=True)]
        return [each // 2 for each in total], [each - each // 2 for each in total]
    values = list(padding) if isinstance(padding, (list, tuple)) else [padding] * count
    if len(values) == count:
        values = values * 2
    numbers = pair(values, 2 * count, "padding")
    if min(numbers) < 0:
        raise ValueError(f"expected padding from 0 on, but got {padding}")
    return numbers[:count], numbers[count:]


def output_size(
    size: PrimExpr, kernel: PrimExpr, stride: int, dilation: int, border: int
) -> PrimExpr:
    """Return the number of positions of a window along a dimension."""
    extent = (kernel - 1) * dilation + 1
    return canonical((size + border - extent) // stride + 1)


def _positions(layout: str, count: int, letters: str, what: str) -> list[int]:
    """Return where the dimensions of a layout are: two letters, then the spatial ones."""
    if len(layout) != count + 2 or set(layout) != set(letters):
        raise ValueError(f"expected a {what} of the letters {letters}, but got {layout!r}")
    return [layout.index(letter) for letter in letters]


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Tensor:
    """Return the convolution of a tensor with a filter, of any number of dimensions.

    Parameters
    ----------
    inp, filt : Tensor
    stride, dilation : int or sequence of int
    padding : int, sequence of int, or "SAME" or "VALID"
    groups : int
        How many groups of channels are convolved each by itself.
    data_layout : str
        The dimensions of `inp`, for instance "NCHW" or "NHWC".
    kernel_layout : str
        Those of `filt`, for instance "OIHW"; by default the input's with O for N and I for C, or,
        where channels come last, as "HWIO".
    out_dtype : str or numpy.dtype, optional
        By default that of `inp`.

    Returns
    -------
    Tensor
    """
    dims = inp.ndim - 2
    if dims not in _SPATIAL or filt.ndim != inp.ndim:
        raise ValueError(f"expected tensors of rank 3 to 5, but got {inp} and {filt}")
    spatial = _SPATIAL[dims]
    if not kernel_layout:
        kernel_layout = f"OI{spatial}" if data_layout == f"NC{spatial}" else f"{spatial}IO"
    n_at, c_at, *s_at = _positions(data_layout, dims, f"NC{spatial}", "data_layout")
    o_at, i_at, *k_at = _positions(kernel_layout, dims, f"OI{spatial}", "kernel_layout")
    steps, holes = pair(stride, dims, "stride"), pair(dilation, dims, "dilation")
    if min(*steps, *holes, groups) < 1:
        raise ValueError(f"expected stride, dilation and groups from 1 on, but got {groups}")
    kernel = [filt.shape[at] for at in k_at]
    before, after = pads_of(padding, kernel, holes)
    channels, outputs, depth = inp.shape[c_at], filt.shape[o_at], filt.shape[i_at]
    if is_equal(channels, depth * groups) is False or (constant(outputs) or 0) % groups:
        raise ValueError(f"expected channels that fit {groups} groups, but got {inp} and {filt}")
    borders = [[0] * inp.ndim, [0] * inp.ndim]
    for number, at in enumerate(s_at):
        borders[0][at], borders[1][at] = before[number], after[number]
    padded = pad(inp, borders[0], borders[1], name="pad_temp") if any(before) or any(after) else inp
    shape = list(inp.shape)
    shape[c_at] = outputs
    for number, at in enumerate(s_at):
        border = before[number] + after[number]
        size = inp.shape[at]
        shape[at] = output_size(size, kernel[number], steps[number], holes[number], border)
        if (constant(shape[at]) or 0) < 0:
            raise ValueError(f"expected a filter that is not larger than the padded input: {filt}")
    reduced = [te.reduce_axis((0, depth), name="rc")]
    reduced += [te.reduce_axis((0, size), name=f"r{i}") for i, size in enumerate(kernel)]
    dtype = out_dtype or inp.dtype
    per_group = canonical(outputs // groups)

    def value(*i: PrimExpr) -> PrimExpr:
        data_at, filter_at = list(i), list(i)
        channel = reduced[0].var
        data_at[c_at] = channel if groups == 1 else i[c_at] // per_group * depth + channel
        filter_at[o_at], filter_at[i_at] = i[c_at], channel
        for number, at in enumerate(s_at):
            window = reduced[number + 1].var
            data_at[at] = i[at] * steps[number] + window * holes[number]
            filter_at[k_at[number]] = window
        data_at[n_at] = i[n_at]
        product = padded(*data_at).astype(dtype) * filt(*filter_at).astype(dtype)
        return te.sum(product, axis=reduced)

    name = f"{'group_' if groups > 1 else ''}conv{dims}d_{data_layout.lower()}"
    return te.compute(shape, value, name=name, tag=name)


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Tensor:
    """Return the convolution along one dimension; see `conv`."""
    _require_rank(data, 3)
    return conv(
        data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
    )


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: Any = None,
    groups: int = 1,
) -> Tensor:
    """Return the convolution along two dimensions; see `conv`."""
    _require_rank(input, 4)
    return conv(
        input, filter, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
    )


def conv2d_nchw(
    Input: Tensor,  # noqa: N803 (TVM's name)
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any = None,
) -> Tensor:
    """Return the convolution with channels in front; see `conv`."""
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor,  # noqa: N803 (TVM's name)
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: Any = None,
) -> Tensor:
    """Return the convolution with channels last; see `conv`."""
    return conv2d(Input, Filter, stride, padding, dilation, "NHWC", "HWIO", out_dtype)


def group_conv2d_nchw(
    Input: Tensor,  # noqa: N803 (TVM's name)
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: Any = None,
) -> Tensor:
    """Return the convolution of groups of channels, which stand in front; see `conv`."""
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "OIHW", out_dtype, groups)


def conv3d(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "",
    out_dtype: Any = None,
) -> Tensor:
    """Return the convolution along three dimensions; see `conv`."""
    _require_rank(data, 5)
    return conv(
        data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
    )


def _require_rank(data: Tensor, rank: int) -> None:
    if data.ndim != rank:
        raise ValueError(f"expected a tensor of rank {rank}, but got {data}")
