# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over windows that move over a tensor: pools, cumulative sums and others."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
from mlir import ir

from ... import op
from . import regions
from .elementwise import binary
from .manipulate import padded
from .reduce import begins_neutral, identity
from .registry import Function, Node, converts
from .values import (
    Value,
    as_tensor,
    cast,
    dtype_of,
    ints,
    is_float,
    number,
    part,
    permuted,
    product,
    rank_of,
    shape_of,
)

_MAX = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}

# More elements are combined by pools only.
_MOST_SHIFTS = 128


@dataclasses.dataclass(frozen=True)
class _Windows:
    """Windows over all dimensions of a tensor."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    stretch: list[int]
    pads: list[list[int]]

    @staticmethod
    def of(node: Node) -> _Windows:
        sizes = list(node.attr("window_dimensions"))
        ones = [1] * len(sizes)
        pads = np.asarray(node.attr("padding", np.zeros((len(sizes), 2), "int64")))
        return _Windows(
            sizes,
            list(node.attr("window_strides", ones)),
            list(node.attr("window_dilations", ones)),
            list(node.attr("base_dilations", ones)),
            pads.reshape(-1, 2).tolist(),
        )

    @property
    def axes(self) -> list[int]:
        """The dimensions along which windows do more than to take each element."""
        rows = zip(self.sizes, self.strides, self.stretch, self.pads, strict=True)
        return [i for i, row in enumerate(rows) if row != (1, 1, 1, [0, 0])]


@converts("stablehlo.reduce_window", raw=True)
def _reduce_window(node: Node, *operands: Value) -> Any:
    count = len(operands) // 2
    kinds = regions.each(node.regions[0])
    if kinds is None or any(binary(kind) is None for kind in kinds):
        raise regions.unsupported(
            node, node.regions[0], "add, multiply, maximum, minimum, and, or for each operand"
        )
    windows = _Windows.of(node)
    return tuple(
        _reduced(node, as_tensor(x), initial, kind, windows)
        for x, initial, kind in zip(operands[:count], operands[count:], kinds, strict=True)
    )


def _reduced(node: Node, x: ir.Value, initial: Value, kind: str, windows: _Windows) -> ir.Value:
    combine = binary(kind)
    assert combine is not None
    if not windows.axes and begins_neutral(initial, kind):
        return x
    is_neutral = begins_neutral(initial, kind)
    if is_neutral:
        result = _cumulative(x, kind, combine, windows)
        if result is None:
            result = _pooled(x, kind, windows)
        if result is not None:
            return result
    return _shifted(x, as_tensor(initial), combine, windows)


# -- cumulative ---------------------------------------------------------------------------------


def _cumulative(x: ir.Value, kind: str, combine: Function, windows: _Windows) -> ir.Value | None:
    """Return what each element makes with all before it, or all after it, along one axis."""
    axes = windows.axes
    if len(axes) != 1:
        return None
    axis = axes[0]
    extent = shape_of(x)[axis]
    reach = windows.sizes[axis] - 1
    steps = (windows.strides[axis], windows.dilations[axis], windows.stretch[axis])
    before, after = windows.pads[axis]
    if extent != reach + 1 or steps != (1, 1, 1) or sorted((before, after)) != [0, reach]:
        return None
    if reach == 0:
        return x
    backwards = after == reach
    x = op.flip(x, axis) if backwards else x
    result = _running(x, kind, combine, axis)
    return op.flip(result, axis) if backwards else result


def _running(x: ir.Value, kind: str, combine: Function, axis: int) -> ir.Value:
    dtype = dtype_of(x)
    scans = {"add": op.cumsum, "multiply": op.cumprod, "maximum": op.cummax, "minimum": op.cummin}
    if kind in scans and dtype != "bool":
        return scans[kind](x, axis, dtype)
    extent = ints([shape_of(x)[axis]], "a dimension")[0]
    fill, step = number(identity(kind, dtype), dtype), 1
    # Each step combines what is known of twice as many elements.
    while step < extent:
        dims = shape_of(x)
        block = op.full([*dims[:axis], step, *dims[axis + 1 :]], fill, dtype)
        x = combine(x, op.concat([block, part(x, axis, 0, extent - step)], axis))
        step *= 2
    return x


# -- pools --------------------------------------------------------------------------------------


def _pooled(x: ir.Value, kind: str, windows: _Windows) -> ir.Value | None:
    """Return a pool; None where windows are not those of one."""
    axes, dtype = windows.axes, dtype_of(x)
    is_plain = all(one == 1 for one in windows.stretch) and min(map(min, windows.pads)) >= 0
    if len(axes) not in _MAX or not is_plain or not is_float(dtype):
        return None
    if kind not in ("maximum", "minimum", "add"):
        return None
    rest = [i for i in range(rank_of(x)) if i not in axes]
    dims = shape_of(x)
    turned = permuted(x, [*rest, *axes])
    flat = op.reshape(turned, [1, product(dims[i] for i in rest), *(dims[i] for i in axes)])
    result = _pool(cast(flat, "float32") if _is_half(dtype, kind) else flat, kind, windows)
    outer = shape_of(result)[2:]
    result = op.reshape(cast(result, dtype), [*(dims[i] for i in rest), *outer])
    return permuted(result, np.argsort([*rest, *axes]).tolist())


def _is_half(dtype: str, kind: str) -> bool:
    return kind == "add" and dtype in ("float16", "bfloat16")


def _pool(x: ir.Value, kind: str, windows: _Windows) -> ir.Value:
    axes = windows.axes
    size, strides, dilations = (
        [each[i] for i in axes] for each in (windows.sizes, windows.strides, windows.dilations)
    )
    pads = [windows.pads[i][end] for end in (0, 1) for i in axes]
    options: list[Any] = [size, strides, pads, dilations]
    if kind == "maximum":
        return _MAX[len(axes)](x, *options)
    if kind == "minimum":
        return op.negative(_MAX[len(axes)](op.negative(x), *options))
    mean = _AVG[len(axes)](x, *options, count_include_pad=True)  # type: ignore[misc]
    return op.multiply(mean, number(math.prod(size), dtype_of(x)))


# -- any windows --------------------------------------------------------------------------------


def _shifted(
    x: ir.Value, initial: ir.Value, combine: Function, windows: _Windows
) -> ir.Value:  # fmt: skip
    """Combine the tensors of the first elements of all windows, of the second ones, and so on."""
    if math.prod(windows.sizes) > _MOST_SHIFTS:
        raise NotImplementedError(
            f"expected windows of up to {_MOST_SHIFTS} elements, but got {windows.sizes}"
        )
    low, high = ([pad[i] for pad in windows.pads] for i in (0, 1))
    x = padded(x, initial, low, high, [one - 1 for one in windows.stretch])
    dims, axes = shape_of(x), windows.axes
    result = initial
    for places in itertools.product(*(range(n) for n in windows.sizes)):
        begins = [p * d for p, d in zip(places, windows.dilations, strict=True)]
        ends = [
            begin + (dim - (n - 1) * d - 1) // s * s + 1
            for begin, dim, n, d, s in zip(
                begins, dims, windows.sizes, windows.dilations, windows.strides, strict=True
            )
        ]
        first, last, step = ([each[i] for i in axes] for each in (begins, ends, windows.strides))
        taken = op.strided_slice(x, axes, first, last, step, assume_inbound=True) if axes else x
        result = combine(taken, result)
    return result
