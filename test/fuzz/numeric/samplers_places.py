# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samplers of operators that move elements, compute places, or make tensors."""

from __future__ import annotations

from typing import Any

from draw import Drawer, Value
from plan import text_of
from samplers import sampler


def texts(dims: list[Any]) -> list[Any]:
    """Return dimensions as attributes."""
    return [d if isinstance(d, int) else text_of(d) for d in dims]


def axis_of(d: Drawer, rank: int) -> int:
    """Draw an axis, which may count from the end."""
    axis = d.rng.randrange(rank)
    return axis - rank if d.chance(0.4) else axis


def bounds_of(*values: Value) -> tuple[float, float]:
    """Return where elements of all values are."""
    return min(v.low for v in values), max(v.high for v in values)


@sampler("broadcast_to")
def broadcast_to(d: Drawer, name: str) -> Value:
    x = d.tensor()
    dims = [d.dim() if x.known(i) == 1 and d.chance(0.8) else e for i, e in enumerate(x.dims)]
    dims = [d.dim() for _ in range(d.choice(0, 1, 1))] + dims
    return d.make(name, x, bounds=bounds_of(x), shape=texts(dims))


def _beside(d: Drawer, x: Value, axis: int) -> Value:
    """Return a tensor like another one but for a dimension."""
    axis %= x.rank

    def fits(y: Value) -> bool:
        return (
            y.dtype == x.dtype
            and y.rank == x.rank
            and all(
                s[:axis] + s[axis + 1 :] == t[:axis] + t[axis + 1 :]
                for s, t in zip(x.shapes, y.shapes, strict=True)
            )
        )

    if d.chance(0.6):
        return d.value(fits)
    dims = list(x.dims)
    dims[axis] = d.dim()
    return d.fresh(dims, x.dtype)


@sampler("concat")
def concat(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank)
    parts = [x, *(_beside(d, x, axis) for _ in range(d.choice(0, 1, 1, 2)))]
    d.rng.shuffle(parts)
    return d.make(name, parts, bounds=bounds_of(*parts), axis=axis)


@sampler("stack")
def stack(d: Drawer, name: str) -> Value:
    x = d.tensor()
    parts = [x, *(d.value(lambda v: v.type == x.type) for _ in range(d.choice(0, 1, 2)))]
    return d.make(name, parts, bounds=bounds_of(*parts), axis=axis_of(d, x.rank + 1))


@sampler("expand_dims")
def expand_dims(d: Drawer, name: str) -> Value:
    x = d.tensor()
    count = d.choice(1, 1, 2)
    axes = d.rng.sample(range(x.rank + count), count)
    axes = [a - x.rank - count if d.chance(0.4) else a for a in axes]
    return d.make(name, x, bounds=bounds_of(x), axis=axes)


@sampler("squeeze")
def squeeze(d: Drawer, name: str) -> Value:
    x = d.value(lambda v: 1 in [e.value for e in v.dims])
    ones = [i for i, e in enumerate(x.dims) if e.value == 1]
    axes = d.rng.sample(ones, d.rng.randint(1, len(ones)))
    if d.chance(0.3) and all(e.value is not None for e in x.dims):
        return d.make(name, x, bounds=bounds_of(x))
    return d.make(name, x, bounds=bounds_of(x), axis=axes)


@sampler("flatten")
def flatten(d: Drawer, name: str) -> Value:
    x = d.tensor()
    return d.make(name, x, bounds=bounds_of(x))


@sampler("permute_dims")
def permute_dims(d: Drawer, name: str) -> Value:
    x = d.tensor(least=2)
    axes = list(range(x.rank))
    d.rng.shuffle(axes)
    given = None if d.chance(0.2) else [a - x.rank if d.chance(0.2) else a for a in axes]
    return d.make(name, x, bounds=bounds_of(x), axes=given)


@sampler("reshape")
def reshape(d: Drawer, name: str) -> Value:
    x = d.tensor()
    dims, kind = x.dims, d.rng.randrange(5)
    if kind == 0:
        new = [1, *dims] if d.chance(0.5) else [*dims, 1]
    elif kind == 1 and len(dims) > 1:
        at = d.rng.randrange(len(dims) - 1)
        new = [*dims[:at], dims[at] * dims[at + 1], *dims[at + 2 :]]
    elif kind == 2 and dims:
        at = d.rng.randrange(len(dims))
        known = dims[at].value or 0
        part = d.choice(*[p for p in (2, 3, 4, 8) if known % p == 0 and known] or [1])
        new = [*dims[:at], dims[at] // part, part, *dims[at + 1 :]]
    elif kind == 3:
        new = [-1]
    else:
        new = [e for e in dims if e.value != 1]
        d.rng.shuffle(new)
    return d.make(name, x, bounds=bounds_of(x), shape=texts(new))


@sampler("split")
def split(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank)
    size = x.known(axis)
    parts = [p for p in (1, 2, 3, 4) if size and size % p == 0]
    if parts and d.chance(0.6):
        return d.make(name, x, bounds=bounds_of(x), indices_or_sections=d.choice(*parts), axis=axis)
    most = x.least(axis)
    places = sorted(d.rng.randint(0, most) for _ in range(d.choice(1, 1, 2, 3)))
    return d.make(name, x, bounds=bounds_of(x), indices_or_sections=places, axis=axis)


@sampler("strided_slice")
def strided_slice(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axes = sorted(d.rng.sample(range(x.rank), d.rng.randint(1, min(2, x.rank))))
    begin, end, strides = [], [], []
    for axis in axes:
        step = d.choice(1, 1, 1, 2, 3, -1, -2)
        places = [0, 1, 2, -1, -2, d.rng.randint(-9, 9)]
        stops = ["size", "size", "size", -1, 5, d.rng.randint(-9, 40), 1000]
        first, last = d.choice(*places), d.choice(*stops)
        if step < 0:
            first, last = d.choice(-1, 7, 1000), d.choice(0, -1000, -9, 1)
        begin.append(first)
        end.append(text_of(x.dims[axis]) if last == "size" else last)
        strides.append(step)
    given = None if set(strides) == {1} and d.chance(0.5) else strides
    return d.make(name, x, bounds=bounds_of(x), axes=axes, begin=begin, end=end, strides=given)


def _indices(d: Drawer, dims: list[Any], size: int) -> Value:
    """Return integers that are most often places in a dimension."""
    dtype = d.choice("int32", "int64", "int64", "uint8", "int16")
    low, high = (0, max(size - 1, 0)) if d.chance(0.7) else (-size - 1, size + 1)
    return d.fresh(dims, dtype, low, high, "integers")


@sampler("take")
def take(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank)
    if x.rank == 1 and d.chance(0.2):
        axis = None  # type: ignore[assignment]
    if x.least(axis or 0) == 0:
        raise ValueError("nothing to take")
    indices = _indices(d, d.dims(d.choice(0, 1, 1, 2)), x.least(axis or 0))
    mode = d.choice("clip", "clip", "wrap")
    return d.make(name, x, indices, bounds=bounds_of(x), axis=axis, mode=mode)


@sampler("gather_elements")
def gather_elements(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank)
    if x.least(axis) == 0:
        raise ValueError("nothing to gather")
    dims = [1 if d.chance(0.2) and x.least(i) else e for i, e in enumerate(x.dims)]
    dims[axis] = d.dim()
    return d.make(name, x, _indices(d, dims, x.least(axis)), bounds=bounds_of(x), axis=axis)


@sampler("gather_nd")
def gather_nd(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    if any(0 in shape for shape in x.shapes):
        raise ValueError("nothing to gather")
    batch = d.choice(0, 0, 0, 1) if x.rank > 1 else 0
    count = d.rng.randint(1, x.rank - batch)
    size = min(x.least(i) for i in range(batch, batch + count))
    indices = _indices(d, [*x.dims[:batch], *d.dims(d.choice(0, 1, 1, 2)), count], size)
    return d.make(name, x, indices, bounds=bounds_of(x), batch_dims=batch)


@sampler("index_tensor")
def index_tensor(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    if any(0 in shape for shape in x.shapes):
        raise ValueError("nothing to gather")
    count = d.rng.randint(1, x.rank)
    dims = d.dims(d.choice(0, 1, 1, 2))
    parts = []
    for i in range(count):
        own = [1 if d.chance(0.2) else e for e in dims[d.rng.randrange(len(dims) + 1) :]]
        parts.append(_indices(d, own if i else dims, x.least(i)))
    return d.make(name, x, parts, bounds=bounds_of(x))


@sampler("reverse_sequence")
def reverse_sequence(d: Drawer, name: str) -> Value:
    x = d.tensor(least=2)
    seq, batch = d.rng.sample(range(x.rank), 2)
    lengths = _indices(d, [x.dims[batch]], x.least(seq) + 1)
    seq = seq - x.rank if d.chance(0.3) else seq
    return d.make(name, x, lengths, bounds=bounds_of(x), seq_axis=seq, batch_axis=batch)


@sampler("scatter_elements")
def scatter_elements(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank)
    dims = list(x.dims)
    dims[axis] = d.dim()
    indices = _indices(d, dims, x.least(axis))
    updates = d.fresh(dims, x.dtype)
    how = "update" if x.dtype == "bool" else d.choice("update", "add", "mul", "min", "max", "mean")
    return d.make(name, x, indices, updates, bounds=bounds_of(x, updates), axis=axis, reduction=how)


@sampler("scatter_nd")
def scatter_nd(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    count = d.rng.randint(1, x.rank)
    places = d.dims(d.choice(0, 1, 1))
    indices = _indices(d, [*places, count], min(x.least(i) for i in range(count)))
    updates = d.fresh([*places, *x.dims[count:]], x.dtype)
    how = "update" if x.dtype == "bool" else d.choice("update", "add", "mul", "min", "max")
    return d.make(name, x, indices, updates, bounds=bounds_of(x, updates), reduction=how)


@sampler("flip")
def flip(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    return d.make(name, x, bounds=bounds_of(x), axis=axis_of(d, x.rank))


@sampler("repeat")
def repeat(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = None if d.chance(0.2) else axis_of(d, x.rank)
    return d.make(name, x, bounds=bounds_of(x), repeats=d.choice(0, 1, 2, 2, 3, 4, 5), axis=axis)


@sampler("tile")
def tile(d: Drawer, name: str) -> Value:
    x = d.tensor()
    repeats = [d.choice(1, 1, 2, 3, 0) for _ in range(d.rng.randint(1, x.rank + 1))]
    return d.make(name, x, bounds=bounds_of(x), repeats=repeats)


@sampler("meshgrid")
def meshgrid(d: Drawer, name: str) -> Value:
    x = d.tensor(d.choice(0, 1, 1, 1))
    parts = [x, *(d.fresh(d.dims(d.choice(0, 1, 1)), x.dtype) for _ in range(d.choice(0, 1, 2)))]
    return d.make(name, parts, bounds=bounds_of(*parts), indexing=d.choice("ij", "xy"))


@sampler("pad")
def pad(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    widths = [d.choice(0, 0, 1, 2, 5) for _ in range(2 * x.rank)]
    mode = d.choice("constant", "constant", "reflect", "replicate", "circular")
    bounds = (min(x.low, 0), max(x.high, 1))
    value = 1.0 if mode == "constant" and d.chance(0.5) else 0.0
    return d.make(name, x, bounds=bounds, pad_width=widths, pad_mode=mode, pad_value=value)


@sampler("pixel_shuffle")
def pixel_shuffle(d: Drawer, name: str) -> Value:
    factor = d.choice(1, 2, 2, 3)
    dtype = d.choice(*d.dtypes)
    x = d.fresh([*d.dims(d.choice(0, 1)), factor * factor * d.choice(1, 2), *d.dims(2)], dtype)
    return d.make(name, x, bounds=bounds_of(x), upscale_factor=factor)


# -- orders ---------------------------------------------------------------------------------------


@sampler("sort", "argsort")
def sort(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    attrs: dict[str, Any] = {"axis": axis_of(d, x.rank), "descending": d.chance(0.5)}
    if name == "sort":
        return d.make(name, x, bounds=bounds_of(x), **attrs)
    bounds = (0, max(shape[attrs["axis"]] for shape in x.shapes))
    return d.make(name, x, bounds=bounds, **attrs, dtype=d.choice(None, "int64"))


@sampler("kth_index")
def kth_index(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank)
    if not x.least(axis):
        x, axis = d.fresh([*d.dims(1), 3], x.dtype), 1
    k = d.choice(*[n for n in (1, 2, 5) if n <= x.least(axis)])
    bounds = (0, max(shape[axis] for shape in x.shapes))
    return d.make(name, x, bounds=bounds, k=k, axis=axis, dtype=d.choice(None, "int64"))


@sampler("topk")
def topk(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank)
    k = d.choice(0, *[n for n in (1, 2, 5) if n <= x.least(axis)])
    kind = d.choice("both", "values", "values", "indices")
    bounds = (min(x.low, 0), max(x.high, *(shape[axis] for shape in x.shapes)))
    return d.make(name, x, bounds=bounds, k=k, axis=axis, ret_type=kind, largest=d.chance(0.6))


@sampler("bucketize")
def bucketize(d: Drawer, name: str) -> Value:
    x = d.tensor()
    count = d.dim()
    boundaries = d.make("sort", d.fresh([count], x.dtype), bounds=bounds_of(x))
    right, narrow = d.chance(0.5), d.chance(0.5)
    bounds = (0, max(shape[0] for shape in boundaries.shapes))
    return d.make(name, x, boundaries, bounds=bounds, right=right, out_int32=narrow)


@sampler("one_hot")
def one_hot(d: Drawer, name: str) -> Value:
    depth = d.choice(1, 3, 8, 16, 17)
    indices = _indices(d, d.dims(d.choice(0, 1, 2)), depth)
    dtype = d.choice("float32", "float16", "int32", "int8", "float64")
    on, off = (dtype, d.choice(1, 2)), (dtype, d.choice(0, -1))
    axis = axis_of(d, indices.rank + 1)
    return d.make(name, indices, bounds=(-1, 2), on_value=on, off_value=off, depth=depth, axis=axis)


@sampler("layout_transform")
def layout_transform(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    names = [f"d{i}" for i in range(x.rank)]
    results = list(names)
    d.rng.shuffle(results)
    known = [i for i in range(x.rank) if x.known(i)]
    pad = None
    if known and d.chance(0.7):
        at = d.choice(*known)
        part = d.choice(2, 3, 4, 8)
        place = results.index(f"d{at}")
        results[place] = f"d{at} floordiv {part}"
        results.insert(d.rng.randrange(len(results) + 1), f"d{at} mod {part}")
        pad = None if "float" not in x.dtype or d.chance(0.5) else 2.0
    text = f"affine_map<({', '.join(names)}) -> ({', '.join(results)})>"
    return d.make(name, x, bounds=(min(x.low, 0), max(x.high, 2)), index_map=text, pad_value=pad)


@sampler("where")
def where(d: Drawer, name: str) -> Value:
    x = d.tensor()
    condition, y = d.like(x, "bool"), d.like(x)
    return d.make(name, condition, x, y, bounds=bounds_of(x, y))


# -- tensors out of nothing -----------------------------------------------------------------------


@sampler("full")
def full(d: Drawer, name: str) -> Value:
    fill = d.tensor(0)
    dtype = d.choice(None, None, *d.dtypes)
    return d.make(name, fill, bounds=bounds_of(fill), shape=texts(d.dims()), dtype=dtype)


@sampler("zeros", "ones")
def filled(d: Drawer, name: str) -> Value:
    dtype = d.choice(*d.dtypes, "bool")
    return d.make(name, bounds=(0, 1), shape=texts(d.dims()), dtype=dtype)


@sampler("zeros_like", "ones_like")
def filled_like(d: Drawer, name: str) -> Value:
    return d.make(name, d.tensor(), bounds=(0, 1), dtype=d.choice(None, *d.dtypes))


@sampler("full_like")
def full_like(d: Drawer, name: str) -> Value:
    fill = d.tensor(0)
    return d.make(name, d.tensor(), fill, bounds=bounds_of(fill), dtype=d.choice(None, *d.dtypes))


@sampler("arange")
def arange(d: Drawer, name: str) -> Value:
    dtype = d.choice("int64", "int64", "int32", "float32")
    first = d.choice(0, 0, 1, -3, 5)
    last = d.choice(*d.common, 9, 40)
    step = d.choice(1, 1, 2, 3)
    return d.make(name, bounds=(first, 40), start=first, end=last, step=step, dtype=dtype)


@sampler("eye")
def eye(d: Drawer, name: str) -> Value:
    sizes = {"n": d.choice(*d.common), "m": d.choice(None, *d.common), "k": d.choice(0, 0, 1, -2)}
    return d.make(name, bounds=(0, 1), **sizes, dtype=d.choice(*d.dtypes))


@sampler("random_bits")
def random_bits(d: Drawer, name: str) -> Value:
    key = d.tensor(0, "uint64")
    words = d.make(name, key, bounds=(0, 2.0**64), count=d.choice(*d.common, 9, 40))
    return d.make("astype", words, bounds=(0, 255), dtype="uint8")


@sampler("eye_like")
def eye_like(d: Drawer, name: str) -> Value:
    attrs = {"k": d.choice(0, 1, -1), "dtype": d.choice(None, *d.dtypes)}
    return d.make(name, d.tensor(2), bounds=(0, 1), **attrs)


@sampler("tril", "triu")
def triangle(d: Drawer, name: str) -> Value:
    x = d.tensor(least=2)
    diagonal = d.choice(0, 0, 1, -1, 3, *d.variables)
    return d.make(name, x, bounds=(min(x.low, 0), max(x.high, 0)), k=diagonal)
