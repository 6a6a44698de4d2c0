# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samplers of products, convolutions, windows and attention."""

from __future__ import annotations

import math
from typing import Any

from draw import Drawer, Value
from samplers import sampler

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


@sampler("matmul")
def matmul(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    if x.dtype == "bool":
        raise ValueError("no numbers")
    right = d.chance(0.6) or x.rank == 1
    depth = x.dims[-1 if right else -2]
    batch = [e if d.chance(0.6) else 1 for e in x.dims[:-2]]
    batch = batch[d.rng.randrange(len(batch) + 1) :]
    if d.chance(0.15):
        y = d.fresh([depth], x.dtype)
    else:
        y = d.fresh([*batch, *([depth, d.dim()] if right else [d.dim(), depth])], x.dtype)
    if x.is_float() and d.chance(0.1):
        return product(d, *((x, y) if right else (y, x)), out_dtype="float32")
    return product(d, *((x, y) if right else (y, x)))


@sampler("outer")
def outer(d: Drawer, name: str) -> Value:
    x = d.fit(d.tensor(1), -50, 50)
    if x.dtype == "bool":
        raise ValueError("no numbers")
    y = d.fit(d.fresh(d.dims(1), x.dtype), -50, 50)
    high = max(map(abs, (x.low, x.high))) * max(map(abs, (y.low, y.high)))
    return d.make(name, x, y, bounds=(-high, high))


@sampler("prelu")
def prelu(d: Drawer, name: str) -> Value:
    x = d.tensor(dtype=d.float_type(), least=1)
    axis = d.rng.randrange(-x.rank, x.rank)
    alpha = d.fresh([1 if d.chance(0.2) else x.dims[axis]], x.dtype)
    high = max(map(abs, (x.low, x.high))) * max(map(abs, (alpha.low, alpha.high)))
    return d.make(name, x, alpha, bounds=(min(-high, x.low), max(high, x.high)), axis=axis)


def product(d: Drawer, x: Value, y: Value, out_dtype: str | None = None) -> Value:
    """Write a matrix product."""
    depth = max(shape[-1] for shape in x.shapes)
    x, y = d.fit(x, -50, 50), d.fit(y, -50, 50)
    high = max(map(abs, (x.low, x.high))) * max(map(abs, (y.low, y.high)))
    bound = high * math.sqrt(depth + 1) * 2
    return d.make("matmul", x, y, bounds=(-bound, bound), out_dtype=out_dtype)


def layout_of(d: Drawer, letters: str) -> str:
    """Draw the order of dimensions: most often the usual one."""
    if d.chance(0.75):
        return letters
    if d.chance(0.6):
        return letters[0] + letters[2:] + letters[1]
    order = list(letters)
    d.rng.shuffle(order)
    return "".join(order)


def ordered(dims: list[Any], letters: str, layout: str) -> list[Any]:
    """Return dimensions that are given in one order in another one."""
    return [dims[letters.index(letter)] for letter in layout]


def windows(d: Drawer, count: int, largest: int) -> dict[str, Any]:
    """Draw strides, padding and dilation of windows."""
    low = [d.choice(0, 0, 1, 1, 2) for _ in range(count)]
    high = low if d.chance(0.7) else [d.choice(0, 1, 2) for _ in range(count)]
    return {
        "strides": [d.choice(1, 1, 1, 2, 3) for _ in range(count)],
        "padding": [min(p, largest) for p in (*low, *high)],
        "dilation": [d.choice(1, 1, 1, 1, 2) for _ in range(count)],
    }


def images(d: Drawer, count: int, channels: Any, least: int) -> tuple[list[Any], str]:
    """Draw the dimensions of images that are not smaller than windows, and their order."""
    letters = "NC" + _LETTERS[count]

    def side() -> Any:
        for _ in range(9):
            drawn = d.dim()
            if min(d_size(d, drawn)) >= least:
                return drawn
        return least + d.choice(0, 1, 5, 9)

    batch = d.choice(1, 1, 2, d.dim())
    return [batch, channels, *(side() for _ in range(count))], letters


def d_size(d: Drawer, dim: Any) -> list[int]:
    """Return how large a dimension is at each of the sizes."""
    from plan import size_of

    return [size_of(dim, sizes) for sizes in d.sizes]


@sampler("conv1d", "conv2d", "conv3d")
def convolution(d: Drawer, name: str) -> Value:
    return convolved(d, int(name[-2]), constant=d.chance(0.5))


def convolved(
    d: Drawer,
    count: int,
    constant: bool,
    groups: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    size: int | None = None,
    plain: bool = False,
    dtype: str | None = None,
) -> Value:
    """Write a convolution; what is not given is drawn."""
    groups = groups or d.choice(1, 1, 1, 2, 3)
    inputs = inputs or d.choice(1, 2, 3, 4, 8)
    outputs = outputs or groups * d.choice(1, 1, 2, 4, 8, 16)
    window = [size or d.choice(1, 2, 3, 3) for _ in range(count)]
    attrs = windows(d, count, 2)
    if plain:
        attrs = {"padding": [d.choice(0, 1)] * 2 * count}
    spans = [
        (w - 1) * s + 1 for w, s in zip(window, attrs.get("dilation", [1] * count), strict=True)
    ]
    dims, letters = images(d, count, groups * inputs, max(spans))
    layout = layout_of(d, letters) if not plain else letters
    weights = "OI" + letters[2:]
    kernel = layout_of(d, weights) if not plain else weights
    dtype = dtype or d.choice("float32", "float32", "float32", "float16", "float64", "int32")
    x = d.fresh(ordered(dims, letters, layout), dtype)
    shape = ordered([outputs, inputs, *window], weights, kernel)
    w = frozen(d, shape, dtype) if constant else d.fresh(shape, dtype)
    out = d.choice(None, None, None, layout_of(d, letters))
    return d.make(
        f"conv{count}d", x, w, bounds=(-9, 9), groups=groups, data_layout=layout,
        kernel_layout=kernel, out_layout=None if plain else out, **attrs,
    )  # fmt: skip


def frozen(d: Drawer, shape: list[int], dtype: str, low: float = -1, high: float = 1) -> Value:
    """Return a new constant."""
    from plan import Data, Node

    data = Data("uniform" if "float" in dtype else "integers", low, high, d.seed())
    attrs = {"shape": tuple(shape), "dtype": dtype, "data": data}
    return d.emit(Node("constant", (), attrs, d.number()), (low, high))


@sampler(*(f"{kind}_pool{count}d" for kind in ("max", "avg") for count in (1, 2, 3)))
def pool(d: Drawer, name: str) -> Value:
    count = int(name[-2])
    size = [d.choice(1, 2, 2, 3) for _ in range(count)]
    attrs = windows(d, count, min(size) - 1)
    spans = [(w - 1) * s + 1 for w, s in zip(size, attrs["dilation"], strict=True)]
    dims, letters = images(d, count, d.choice(1, 2, 3, 8), max(spans))
    layout = layout_of(d, letters)
    dtype = d.choice("float32", "float32", "float16", "float64")
    x = d.fresh(ordered(dims, letters, layout), dtype)
    if name.startswith("avg"):
        attrs["count_include_pad"] = d.chance(0.5)
    return d.make(
        name, x, bounds=(x.low, x.high), pool_size=size, ceil_mode=d.chance(0.2),
        layout=layout, **attrs,
    )  # fmt: skip


@sampler(*(f"adaptive_avg_pool{count}d" for count in (1, 2, 3)))
def adaptive(d: Drawer, name: str) -> Value:
    count = int(name[-2])
    dims, letters = images(d, count, d.choice(1, 2, 8), 1)
    layout = layout_of(d, letters)
    x = d.fresh(ordered(dims, letters, layout), d.choice("float32", "float16", "float64"))
    size = None if d.chance(0.1) else [d.choice(1, 1, 2, 3, 5) for _ in range(count)]
    return d.make(name, x, bounds=(x.low, x.high), output_size=size, layout=layout)


@sampler("attention")
def attention(d: Drawer, name: str) -> Value:
    del name
    heads, shared = d.choice((1, 1), (2, 1), (4, 2), (3, 3), (2, 2))
    queries, keys = d.choice(1, 1, 2, 3, 4, d.dim()), d.dim()
    return attended(d, d.choice(1, 2, d.dim()), queries, keys, heads, shared)


def attended(
    d: Drawer, batch: Any, queries: Any, keys: Any, heads: int, shared: int, dtype: str = ""
) -> Value:
    """Write attention."""
    dtype = dtype or d.choice("float32", "float32", "float32", "float16", "float64")
    features, columns = d.choice(1, 3, 8, 16, 17, 32), d.choice(1, 4, 8, 16, 33)
    q = d.fresh([batch, queries, heads, features], dtype)
    k = d.fresh([batch, keys, shared, features], dtype)
    attrs: dict[str, Any] = {"scale": d.choice(None, None, 0.5)}
    if d.chance(0.5):
        attrs["causal_mask"] = d.choice("TopLeft", "BottomRight")
        attrs["window_size"] = d.choice(None, None, 1, 3, 8)
    # NaN of keys that a query does not look at may reach it, or not.
    special, d.special = d.special, d.special and "causal_mask" not in attrs
    v = d.fresh([batch, keys, shared, columns], dtype)
    d.special = special
    values = [q, k, v]
    if d.chance(0.4):
        mask = [batch, heads, queries, keys]
        mask[:3] = [1 if d.chance(0.4) else e for e in mask[:3]]
        values.append(d.fresh(mask, dtype))
    return d.make("attention", *values, bounds=(-2, 2), **attrs)
