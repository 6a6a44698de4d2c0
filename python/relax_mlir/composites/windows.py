# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and pools that no operation is made for, of dimensions in blocks or of any window.

The functions of `relax_mlir.op.nn` take layouts with blocks, such as ``NCHW4c``: operands are moved
to the layout without them, and the result back. The size of the window of a pool may be an
expression over shape variables: a kernel of tensor expressions computes such a pool. Windows of a
signal themselves are made by `sliding_windows`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from mlir import ir

from .. import te
from ..builder.places import state_te_gradient
from ..core.expr import as_tensor, as_tensors
from ..core.ir import Dim
from ..op._arguments import padding_of, spatial
from .kernels import call_te
from .layouts import SPATIAL, data_letters, has_blocks, packed, unpacked
from .tensors import shape_of, size

_SUFFIXES = tuple(f"{count}d" for count in SPATIAL)
_STEMS = ("conv", "max_pool", "avg_pool", "adaptive_avg_pool")


def extend(namespace: ModuleType) -> None:
    """Let the convolutions and pools of a namespace take layouts with blocks, and any window."""
    for stem in _STEMS:
        for suffix in _SUFFIXES:
            name = stem + suffix
            extended = _convolution if stem == "conv" else _pool
            setattr(namespace, name, extended(getattr(namespace, name), int(suffix[0])))


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any] | None:
    """Return arguments by name; None where they do not fit, which the function explains."""
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments


def _convolution(function: Callable[..., ir.Value], count: int) -> Callable[..., ir.Value]:
    signature, letters = inspect.signature(function), data_letters(count)

    @functools.wraps(function)
    def convolution(*args: Any, **keywords: Any) -> ir.Value:
        given = _bound(signature, args, keywords)
        if given is None:
            return function(*args, **keywords)
        names = ("data_layout", "kernel_layout", "out_layout")
        layout, kernel_layout, out_layout = (given[name] for name in names)
        if not has_blocks(layout, kernel_layout, out_layout):
            return function(*args, **keywords)
        data, weight = as_tensors(given["data"], given["weight"])
        given["data"] = unpacked(data, layout, letters)
        given["weight"] = unpacked(weight, kernel_layout, f"OI{SPATIAL[count]}")
        given.update(data_layout=letters, kernel_layout=f"OI{SPATIAL[count]}", out_layout=None)
        return packed(function(**given), letters, out_layout or layout)

    return convolution


def _pool(function: Callable[..., ir.Value], count: int) -> Callable[..., ir.Value]:
    signature, letters = inspect.signature(function), data_letters(count)
    is_max = function.__name__.startswith("max")

    @functools.wraps(function)
    def pool(*args: Any, **keywords: Any) -> ir.Value:
        given = _bound(signature, args, keywords)
        if given is None:
            return function(*args, **keywords)
        layout, out_layout = given["layout"], given["out_layout"]
        is_open = _is_open(given.get("pool_size"))
        if not is_open and not has_blocks(layout, out_layout):
            return function(*args, **keywords)
        given["data"] = unpacked(as_tensor(given["data"]), layout, letters)
        given.update(layout=letters, out_layout=None)
        made = _open_pool(given, count, is_max) if is_open else function(**given)
        return packed(made, letters, out_layout or layout)

    return pool


# ------------------------------------------------------------------------------------------------
# Windows of sizes that are found when the program runs
# ------------------------------------------------------------------------------------------------


def _is_open(pool_size: Any) -> bool:
    """Say whether the size of a window is one that is found when the program runs."""
    sizes = pool_size if isinstance(pool_size, (list, tuple)) else [pool_size]
    return any(isinstance(each, Dim) and each.value is None for each in sizes)


def _open_pool(given: dict[str, Any], count: int, is_max: bool) -> ir.Value:
    """Return the pool of arguments by name, of a tensor with channels first."""
    kernel = _sizes(given["pool_size"], count)
    strides, dilation = (spatial(given[name], count) or [] for name in ("strides", "dilation"))
    padding = padding_of(given["padding"], count) or [0] * (2 * count)
    _check_numbers(strides, padding, dilation, count)
    x = given["data"]
    extents = shape_of(x)[2:]
    places = [
        _windows(
            extents[i], kernel[i], strides[i], dilation[i], padding[i], padding[count + i],
            bool(given["ceil_mode"]),
        )
        for i in range(count)
    ]  # fmt: skip
    moving = {
        "kernel": kernel, "strides": strides, "dilation": dilation,
        "before": padding[:count], "places": places,
    }  # fmt: skip
    if is_max:
        return call_te(_max_pool, x, **moving, primfunc_name_hint=f"max_pool{count}d")
    counted = padding if given["count_include_pad"] else [0] * (2 * count)
    around = list(zip(counted[:count], counted[count:], strict=True))
    return call_te(_avg_pool, x, around, **moving, primfunc_name_hint=f"avg_pool{count}d")


def _sizes(pool_size: Any, count: int) -> list[int | Dim]:
    sizes = list(pool_size) if isinstance(pool_size, (list, tuple)) else [pool_size]
    sizes = sizes * count if len(sizes) == 1 else sizes
    if len(sizes) != count:
        raise ValueError(f"expected {count} numbers as pool_size, but got {len(sizes)}")
    found = [size(Dim(each)) for each in sizes]
    for each in found:
        if isinstance(each, int) and each < 1:
            raise ValueError(f"expected pool_size from 1, but got {each}")
    return found


def _check_numbers(
    strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int], count: int
) -> None:
    for name, numbers, wanted, least in (
        ("strides", strides, count, 1), ("padding", padding, 2 * count, 0),
        ("dilation", dilation, count, 1),
    ):  # fmt: skip
        if len(numbers) != wanted:
            raise ValueError(f"expected {wanted} numbers as {name}, but got {len(numbers)}")
        if min(numbers) < least:
            raise ValueError(f"expected {name} from {least}, but got {min(numbers)}")


def _windows(
    extent: int | Dim, kernel: int | Dim, stride: int, dilation: int, before: int, after: int,
    ceil_mode: bool,
) -> Dim:  # fmt: skip
    """Return how many windows there are along a dimension."""
    # The last window ends in the padding; with ceil_mode it only begins before it.
    rest = Dim(after) - ((Dim(kernel) - 1) * dilation + 1)
    if ceil_mode:
        rest = (rest + (stride - 1)).min(-1)
    return (Dim(extent) + before + rest) // stride + 1


def _taps(kernel: Sequence[Any]) -> list[Any]:
    return [te.reduce_axis((0, extent), name=f"t{i}") for i, extent in enumerate(kernel)]


def _elements(
    x: te.Tensor, n: Any, c: Any, q: Sequence[Any], taps: Sequence[Any], strides: Sequence[int],
    dilation: Sequence[int], before: Sequence[int], outside: Any,
) -> Any:  # fmt: skip
    """Return the element of a window at a tap, or what stands for the padding."""
    at, inside = [], []
    for i, tap, stride, hole, pad, extent in zip(
        q, taps, strides, dilation, before, x.shape[2:], strict=True
    ):
        place = i * stride + tap.var * hole - pad
        at.append(place)
        inside += [place >= 0, place < extent]
    return te.if_then_else(te.all(*inside), x(n, c, *at), outside)


def _max_pool(
    x: te.Tensor, kernel: Sequence[Any], strides: Sequence[int], dilation: Sequence[int],
    before: Sequence[int], places: Sequence[Any],
) -> te.Tensor:  # fmt: skip
    taps = _taps(kernel)
    is_float = "float" in x.dtype
    least = te.const(-math.inf, x.dtype) if is_float else te.min_value(x.dtype)

    def value(n: Any, c: Any, *q: Any) -> Any:
        return te.max(_elements(x, n, c, q, taps, strides, dilation, before, least), axis=taps)

    return te.compute((*x.shape[:2], *places), value)


def _avg_pool(
    x: te.Tensor, around: Sequence[tuple[int, int]], kernel: Sequence[Any],
    strides: Sequence[int], dilation: Sequence[int], before: Sequence[int], places: Sequence[Any],
) -> te.Tensor:  # fmt: skip
    taps = _taps(kernel)
    dtype = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    zero = te.const(0, x.dtype)

    def total(n: Any, c: Any, *q: Any) -> Any:
        element = _elements(x, n, c, q, taps, strides, dilation, before, zero)
        return te.sum(element.astype(dtype), axis=taps)

    sums = te.compute((*x.shape[:2], *places), total)

    def mean(n: Any, c: Any, *q: Any) -> Any:
        number: Any = te.const(1, "int64")
        for d, i in enumerate(q):
            first = i * strides[d] - before[d]
            low, high = around[d]
            ends = (_below(x.shape[2 + d] + high, first, dilation[d], kernel[d]),
                    _below(-low, first, dilation[d], kernel[d]))  # fmt: skip
            number = number * (ends[0] - ends[1])
        count = te.max(number, te.const(1, "int64"))
        if "float" in dtype:
            return (sums(n, c, *q) / count.astype(dtype)).astype(x.dtype)
        return te.truncdiv(sums(n, c, *q).astype("int64"), count).astype(x.dtype)

    return te.compute((*x.shape[:2], *places), mean)


def _below(end: Any, first: Any, step: int, count: Any) -> Any:
    """Return how many of `count` places `first`, `first` + `step`, ... are before `end`."""
    zero = te.const(0, "int64")
    room = te.max((end - first).astype("int64"), zero)
    wanted = count.astype("int64") if hasattr(count, "astype") else te.const(count, "int64")
    return te.min(te.floordiv(room + (step - 1), te.const(step, "int64")), wanted)


# ------------------------------------------------------------------------------------------------
# Windows themselves
# ------------------------------------------------------------------------------------------------


def sliding_windows(x: ir.Value, axis: int, shape: Sequence[int | Dim], step: int) -> ir.Value:
    """Return windows along a dimension of a tensor.

    Parameters
    ----------
    x : mlir.ir.Value
    axis : int
        The dimension of the tensor, counted from the begin, and that of the number of windows.
    shape : sequence of int or Dim
        That of the result, whose last dimension is within a window.
    step : int
        From the begin of a window to that of the next one.
    """

    def windows(x: te.Tensor) -> te.Tensor:
        def element(*places: Any) -> Any:
            *others, within = places
            others[axis] = others[axis] * step + within
            return x(*others)

        return te.compute(shape, element)

    made = call_te(windows, x, primfunc_name_hint="windows")
    state_te_gradient(made, "sliding_windows_gradient", {"axis": axis, "step": step})
    return made
