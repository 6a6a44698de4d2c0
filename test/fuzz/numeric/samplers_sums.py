# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samplers of elementwise operators with attributes, reductions and normalizations."""

from __future__ import annotations

import math
from typing import Any

from draw import FLOATS, Drawer, Value
from samplers import sampler
from samplers_places import axis_of, bounds_of, texts


@sampler("astype")
def astype(d: Drawer, name: str) -> Value:
    x = d.tensor()
    dtype = d.choice(*FLOATS, *d.dtypes, "bool", "int8", "uint8")
    return d.make(name, x, bounds=bounds_of(x), dtype=dtype)


@sampler("clip")
def clip(d: Drawer, name: str) -> Value:
    low = d.choice(-2, 0, 1)
    high = low + d.choice(0, 1, 6)
    return d.make(name, d.tensor(), bounds=(low, high), min=low, max=high)


@sampler("leakyrelu")
def leakyrelu(d: Drawer, name: str) -> Value:
    x = d.floats()
    return d.make(name, x, bounds=bounds_of(x), alpha=d.choice(0.01, 0.5, 2.0, -1.0))


@sampler("softplus")
def softplus(d: Drawer, name: str) -> Value:
    x = d.floats()
    return d.make(name, x, bounds=(0, max(x.high, 1)), beta=d.choice(1.0, 2.0, 0.5))


@sampler("ewise_fma")
def ewise_fma(d: Drawer, name: str) -> Value:
    x = d.tensor()
    parts = [d.fit(d.value(lambda v: v.type == x.type), -50, 50) for _ in range(3)]
    high = max(abs(b) for b in bounds_of(*parts))
    return d.make(name, *parts, bounds=(-high * high - high, high * high + high))


@sampler("no_grad", "start_checkpoint", "end_checkpoint", "stop_lift_params")
def hint(d: Drawer, name: str) -> Value:
    x = d.tensor()
    return d.make(name, x, bounds=bounds_of(x))


@sampler("quantize")
def quantize(d: Drawer, name: str) -> Value:
    x = d.value(lambda v: v.dtype in ("float32", "float16"))
    axis = axis_of(d, x.rank) if x.rank else -1
    dims = [x.dims[axis]] if x.rank and d.chance(0.6) else []
    dtype = d.choice("int8", "uint8", "int32")
    scale = d.fresh(dims, "float32", 0.1, 1.5, "uniform")
    zero = d.fresh(dims, "int8" if dtype != "int32" else "int32", -3, 3, "integers")
    return d.make(name, x, scale, zero, bounds=(-128, 127), axis=axis, out_dtype=dtype)


@sampler("dequantize")
def dequantize(d: Drawer, name: str) -> Value:
    x = d.tensor(None, d.choice("int8", "uint8", "int32"))
    axis = axis_of(d, x.rank) if x.rank else -1
    dims = [x.dims[axis]] if x.rank and d.chance(0.6) else []
    attributes = {}
    size = x.dims[axis].value if x.rank else None
    if size is not None and d.chance(0.3):
        attributes["block_size"] = block = d.choice(1, 2, 3, 8)
        dims = [*x.dims]
        dims[axis] = -(-size // block)
    scale = d.fresh(dims, "float32", 0.1, 1.5, "uniform")
    zero = d.fresh(dims, x.dtype, 0, 3, "integers")
    return d.make(
        name, x, scale, zero, bounds=(-100, 100), axis=axis, out_dtype="float32", **attributes
    )


# -- reductions -----------------------------------------------------------------------------------


def _axes(d: Drawer, x: Value) -> list[int] | None:
    if d.chance(0.15):
        return None
    axes = d.rng.sample(range(x.rank), d.rng.randint(1, x.rank))
    return [a - x.rank if d.chance(0.3) else a for a in axes]


def _count(x: Value, axes: list[int] | None) -> int:
    """Return how many elements are reduced to one, at most."""
    named = range(x.rank) if axes is None else axes
    return max(math.prod(shape[a] for a in named) for shape in x.shapes)


@sampler("sum", "mean", "max", "min", "variance", "std", "prod")
def reduction(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    if x.dtype in ("bool",):
        raise ValueError("no numbers")
    axes = _axes(d, x)
    count = _count(x, axes)
    bounds = bounds_of(x)
    if name == "prod":
        if count > 16:
            raise ValueError("too many factors")
        x = d.fit(x, -2, 2)
        bounds = (-(2.0**count), 2.0**count)
    elif name == "sum":
        bounds = (x.low * count, x.high * count)
    elif name in ("variance", "std"):
        x = d.fit(x, -100, 100)
        bounds = (0.0, (x.high - x.low) ** (2 if name == "variance" else 1))
    return d.make(name, x, bounds=bounds, axis=axes, keepdims=d.chance(0.4))


@sampler("argmax", "argmin")
def place(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = None if d.chance(0.2) else axis_of(d, x.rank)
    if any((math.prod(s) if axis is None else s[axis]) == 0 for s in x.shapes):
        raise ValueError("nothing to find")
    return d.make(name, x, bounds=(0, 40), axis=axis, keepdims=d.chance(0.4))


@sampler("cumsum", "cumprod", "cummax", "cummin")
def scan(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = None if d.chance(0.2) else axis_of(d, x.rank)
    count = _count(x, None if axis is None else [axis])
    dtype = d.choice(None, None, None, "float32", "int64", "float64", "int32")
    attrs = {"axis": axis, "dtype": dtype, "exclusive": d.chance(0.3)}
    if name == "cumprod":
        x = d.fit(x, -1.5, 1.5)
        return d.make(name, x, bounds=(-(1.5 ** min(count, 60)), 1.5 ** min(count, 60)), **attrs)
    if name in ("cummax", "cummin"):
        return d.make(name, x, bounds=(x.low, x.high), **attrs | {"exclusive": False})
    return d.make(name, x, bounds=(x.low * max(count, 1), x.high * max(count, 1)), **attrs)


@sampler("softmax", "log_softmax")
def softmax(d: Drawer, name: str) -> Value:
    x = d.fit(d.floats(least=1), -50, 50)
    return d.make(
        name, x, bounds=(0, 1) if name == "softmax" else (-60, 0), axis=axis_of(d, x.rank)
    )


# -- normalizations -------------------------------------------------------------------------------


def _spread(d: Drawer, least: int = 1) -> Value:
    """Return a tensor whose elements are not all about the same, in a modest range."""
    return d.fit(d.floats(least=least), -100, 100)


def _flags(d: Drawer) -> dict[str, Any]:
    return {
        "epsilon": d.choice(1e-5, 1e-5, 1e-2, 1.0),
        "center": d.chance(0.8),
        "scale": d.chance(0.8),
    }


@sampler("layer_norm")
def layer_norm(d: Drawer, name: str) -> Value:
    x = _spread(d)
    axes = list(range(x.rank))[-d.choice(1, 1, 2) :] if d.chance(0.8) else [axis_of(d, x.rank)]
    dims = [x.dims[a] for a in axes]
    gamma, beta = d.fresh(dims, x.dtype), d.fresh(dims, x.dtype)
    return d.make(name, x, gamma, beta, axes=axes, **_flags(d))


@sampler("rms_norm")
def rms_norm(d: Drawer, name: str) -> Value:
    x = _spread(d)
    axes = list(range(x.rank))[-d.choice(1, 1, 2) :]
    weight = d.fresh([x.dims[a] for a in axes], x.dtype)
    return d.make(name, x, weight, axes=axes, epsilon=d.choice(1e-5, 1e-2))


@sampler("instance_norm")
def instance_norm(d: Drawer, name: str) -> Value:
    x = _spread(d, 2)
    channel = 1 if x.rank > 2 and d.chance(0.7) else d.rng.randrange(x.rank)
    others = [a for a in range(x.rank) if a != channel]
    axes = d.rng.sample(others, d.rng.randint(1, len(others)))
    gamma, beta = (d.fresh([x.dims[channel]], x.dtype) for _ in range(2))
    return d.make(name, x, gamma, beta, channel_axis=channel, axes=sorted(axes), **_flags(d))


@sampler("group_norm")
def group_norm(d: Drawer, name: str) -> Value:
    x = _spread(d, 2)
    channel = 1 if x.known(1) or d.chance(0.3) else d.rng.randrange(x.rank)
    known = x.known(channel) or 1
    groups = d.choice(*[g for g in (1, 2, 3, 4, 8) if known % g == 0])
    others = [a for a in range(x.rank) if a != channel]
    axes = d.rng.sample(others, d.rng.randint(1, len(others)))
    gamma, beta = (d.fresh([x.dims[channel]], x.dtype) for _ in range(2))
    attrs = {"num_groups": groups, "channel_axis": channel, "axes": sorted(axes)}
    return d.make(name, x, gamma, beta, **attrs, **_flags(d))


@sampler("batch_norm")
def batch_norm(d: Drawer, name: str) -> Value:
    x = _spread(d)
    axis = 1 if x.rank > 1 and d.chance(0.7) else d.rng.randrange(x.rank)
    dims = [x.dims[axis]]
    gamma, beta, mean = (d.fresh(dims, x.dtype) for _ in range(3))
    variance = d.fresh(dims, x.dtype, 0.1, 2, "uniform")
    attrs = {"axis": axis, "momentum": d.choice(0.1, 0.5), "training": d.chance(0.5)}
    return d.make(name, x, gamma, beta, mean, variance, **attrs, **_flags(d))


@sampler("collapse_sum_to", "collapse_sum_like")
def collapse_sum(d: Drawer, name: str) -> Value:
    x = d.tensor()
    if x.dtype == "bool":
        raise ValueError("no numbers")
    dims = [1 if d.chance(0.5) else e for e in x.dims[d.rng.randrange(x.rank + 1) :]]
    most = max(math.prod(shape) for shape in x.shapes)
    bounds = (min(x.low, 0) * most, max(x.high, 0) * most)
    if name == "collapse_sum_to":
        return d.make(name, x, bounds=bounds, shape=texts(dims))
    return d.make(name, x, d.fresh(dims, d.choice(x.dtype, "int64")), bounds=bounds)
