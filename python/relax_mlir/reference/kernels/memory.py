# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays: the dialects memref, tensor and bufferization.

A memref is a view of memory, a tensor never changes: what makes a tensor of another one copies it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mlir import ir

from ..constants import elements
from ..tensor import Array
from .prepare import Env, Preparation, Step, function, step
from .types import scalar_type

Function = Callable[..., Any]

_DYNAMIC = ir.ShapedType.get_dynamic_size()


def mixed(static: Any, dynamic: Sequence[Any]) -> list[int]:
    """Return numbers of which some are known and the others are operands."""
    operands = iter(dynamic)
    return [int(next(operands)) if number == _DYNAMIC else number for number in static]


def _sizes(type_: Any, dynamic: Sequence[Any]) -> tuple[int, ...]:
    sizes = mixed(type_.shape, dynamic)
    if any(size < 0 for size in sizes):
        raise ValueError(f"expected sizes of at least 0, but got {tuple(sizes)}")
    return tuple(sizes)


def _segments(op: Any) -> list[int]:
    return list(op.attributes["operandSegmentSizes"])


# ------------------------------------------------------------------------------
# Allocation
# ------------------------------------------------------------------------------


@function("memref.alloc", "memref.alloca", "tensor.empty", "bufferization.alloc_tensor")
def _allocate(op: Any) -> Function:
    type_ = op.results[0].type
    element = scalar_type(type_)

    def allocate(*operands: Any) -> Array:
        dynamic = [value for value in operands if not isinstance(value, np.ndarray)]
        sources = [value for value in operands if isinstance(value, np.ndarray)]
        return sources[0].copy() if sources else element.undefined(_sizes(type_, dynamic))

    return allocate


@step("memref.dealloc")
def _deallocate(preparation: Preparation, op: Any) -> Step:
    return lambda env: None


@step("memref.get_global")
def _get_global(preparation: Preparation, op: Any) -> Step:
    attr = preparation.kernels.symbol(op.attributes["name"].value).attributes["initial_value"]
    array, result = elements(attr), preparation.place(op.results[0])

    def get(env: Env) -> None:
        env[result] = array

    return get


# ------------------------------------------------------------------------------
# Elements
# ------------------------------------------------------------------------------


def index_of(array: Array, indices: Sequence[Any]) -> tuple[Any, ...]:
    """Return an index of NumPy for places.

    Raises
    ------
    IndexError
        If a place is outside of the array. Of many places that are read at once some may be, as
        when a condition decides later: they stand for the nearest one.
    """
    if any(isinstance(index, np.ndarray) and index.ndim for index in indices):
        return tuple(
            np.clip(index, 0, max(size - 1, 0))
            for index, size in zip(indices, array.shape, strict=True)
        )
    for index, size in zip(indices, array.shape, strict=True):
        if not 0 <= index < size:
            place = ", ".join(str(index) for index in indices)
            raise IndexError(f"expected a place in shape {array.shape}, but got {place}")
    return tuple(indices)


@function("memref.load", "tensor.extract")
def _load(op: Any) -> Function:
    zero = scalar_type(op.results[0].type).dtype.type(0)

    def load(array: Array, *indices: Any) -> Any:
        if array.size == 0 and any(np.ndim(index) for index in indices):
            return np.broadcast_arrays(zero, *indices)[0]
        return array[index_of(array, indices)]

    return load


@step("memref.store")
def _store(preparation: Preparation, op: Any) -> Step:
    value, memory, *indices = preparation.places(op.operands)

    def store(env: Env) -> None:
        array = env[memory]
        array[index_of(array, [env[index] for index in indices])] = env[value]

    return store


@step("memref.prefetch")
def _prefetch(preparation: Preparation, op: Any) -> Step:
    return lambda env: None  # a hint


@function("tensor.insert")
def _insert(op: Any) -> Function:
    def insert(value: Any, array: Array, *indices: Any) -> Array:
        result = array.copy()
        result[index_of(array, indices)] = value
        return result

    return insert


@function("tensor.from_elements")
def _from_elements(op: Any) -> Function:
    type_ = op.results[0].type
    dtype, shape = scalar_type(type_).dtype, tuple(type_.shape)
    return lambda *values: np.array(values, dtype).reshape(shape)


@function("tensor.splat")
def _splat(op: Any) -> Function:
    type_ = op.results[0].type
    return lambda value, *sizes: np.full(_sizes(type_, sizes), value)


@step("tensor.generate")
def _generate(preparation: Preparation, op: Any) -> Step:
    type_, body = op.results[0].type, preparation.region(op)
    sizes, result = preparation.places(op.operands), preparation.place(op.results[0])

    def generate(env: Env) -> None:
        array = scalar_type(type_).undefined(_sizes(type_, [env[size] for size in sizes]))
        for index in np.ndindex(array.shape):
            array[index] = body.run(env, [np.int64(i) for i in index])[0]
        env[result] = array

    return generate


@step("tensor.pad")
def _pad(preparation: Preparation, op: Any) -> Step:
    body, attributes = preparation.region(op), op.attributes
    _, low_count, _ = _segments(op)
    source, *places = preparation.places(op.operands)
    result = preparation.place(op.results[0])

    def pad(env: Env) -> None:
        array, dynamic = env[source], [env[place] for place in places]
        low = mixed(attributes["static_low"], dynamic[:low_count])
        high = mixed(attributes["static_high"], dynamic[low_count:])
        shape = [size + a + b for size, a, b in zip(array.shape, low, high, strict=True)]
        padded = np.empty(shape, array.dtype)
        for index in np.ndindex(padded.shape):
            padded[index] = body.run(env, [np.int64(i) for i in index])[0]
        inside = [slice(a, a + size) for a, size in zip(low, array.shape, strict=True)]
        padded[tuple(inside)] = array
        env[result] = padded

    return pad


# ------------------------------------------------------------------------------
# Whole arrays
# ------------------------------------------------------------------------------


@function("memref.dim", "tensor.dim")
def _dim(op: Any) -> Function:
    return lambda array, index: np.int64(array.shape[index])


@function("memref.rank", "tensor.rank")
def _rank(op: Any) -> Function:
    return lambda array: np.int64(array.ndim)


@function(
    "memref.cast",
    "tensor.cast",
    "memref.memory_space_cast",
    "bufferization.to_tensor",
    "bufferization.to_buffer",
)
def _cast(op: Any) -> Function:
    is_copy = op.operation.name.startswith("bufferization")
    wanted = list(op.results[0].type.shape) if op.results[0].type.has_rank else None

    def cast(array: Array) -> Array:
        for size, static in zip(array.shape, wanted or (), strict=wanted is not None):
            if static not in (_DYNAMIC, size):
                raise ValueError(f"expected a shape of {wanted}, but got {array.shape}")
        return array.copy() if is_copy and "writable" not in op.attributes else array

    return cast


@function("builtin.unrealized_conversion_cast")
def _reinterpret(op: Any) -> Function:
    dtype = scalar_type(op.results[0].type).dtype
    return lambda value: value.view(dtype)


@step("memref.copy")
def _copy(preparation: Preparation, op: Any) -> Step:
    source, target = preparation.places(op.operands)

    def copy(env: Env) -> None:
        if env[source].shape != env[target].shape:
            raise ValueError(f"cannot copy {env[source].shape} to {env[target].shape}")
        env[target][...] = env[source]

    return copy


@step("bufferization.materialize_in_destination")
def _materialize(preparation: Preparation, op: Any) -> Step:
    source, target = preparation.places(op.operands)
    results = preparation.places(op.results)

    def materialize(env: Env) -> None:
        if results:
            env[results[0]] = env[source].copy()
        else:
            env[target][...] = env[source]

    return materialize


@function("tensor.concat")
def _concat(op: Any) -> Function:
    axis = op.attributes["dim"].value
    return lambda *arrays: np.concatenate(arrays, axis)


# ------------------------------------------------------------------------------
# Slices
# ------------------------------------------------------------------------------


def _kept(type_: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """Return the index that drops dimensions of one element which a type does not have."""
    wanted = list(type_.shape)
    index: list[Any] = []
    dropped = len(sizes) - len(wanted)
    for place, size in enumerate(sizes):
        position = place - index.count(0)
        fits = position < len(wanted) and wanted[position] in (_DYNAMIC, size)
        if dropped > index.count(0) and size == 1 and (not fits or wanted[position] != 1):
            index.append(0)
        else:
            index.append(slice(None))
    while index.count(0) < dropped:
        index[max(i for i, size in enumerate(sizes) if size == 1 and index[i] != 0)] = 0
    return tuple(index)


def _slicing(op: Any, skip: int) -> Callable[[Sequence[Any]], tuple[list[int], tuple[slice, ...]]]:
    """Return a function from operands to the sizes and the slices of an operation."""
    attributes, segments = op.attributes, _segments(op)
    starts = [sum(segments[:i]) for i in range(skip, skip + 4)]

    def get(operands: Sequence[Any]) -> tuple[list[int], tuple[slice, ...]]:
        offsets, sizes, strides = (
            mixed(attributes[f"static_{name}"], operands[starts[i] : starts[i + 1]])
            for i, name in enumerate(("offsets", "sizes", "strides"))
        )
        parts = zip(offsets, sizes, strides, strict=True)
        return sizes, tuple(slice(o, o + (n - 1) * s + 1 if n else o, s) for o, n, s in parts)

    return get


def _check_inside(array: Array, slices: Sequence[slice]) -> None:
    for part, size in zip(slices, array.shape, strict=True):
        if part.start < 0 or (part.stop > part.start and part.stop > size):
            raise IndexError(f"expected a part of shape {array.shape}, but got {slices}")


@function("memref.subview", "tensor.extract_slice")
def _extract_slice(op: Any) -> Function:
    slicing, type_ = _slicing(op, 1), op.results[0].type

    def extract(array: Array, *operands: Any) -> Array:
        sizes, slices = slicing([array, *operands])
        _check_inside(array, slices)
        return array[slices][_kept(type_, sizes)]

    return extract


@function("tensor.insert_slice")
def _insert_slice(op: Any) -> Function:
    slicing = _slicing(op, 2)

    def insert(source: Array, target: Array, *operands: Any) -> Array:
        sizes, slices = slicing([source, target, *operands])
        _check_inside(target, slices)
        result = target.copy()
        result[slices] = source.reshape(sizes)
        return result

    return insert


# ------------------------------------------------------------------------------
# Shapes
# ------------------------------------------------------------------------------


def _reshaped(array: Array, shape: Sequence[int]) -> Array:
    """Return a view of an array in another shape."""
    view = array.reshape(shape)
    if view.size and not np.may_share_memory(view, array):
        raise ValueError(f"expected memory in order, but got strides {array.strides}")
    return view


@function("memref.collapse_shape", "tensor.collapse_shape")
def _collapse_shape(op: Any) -> Function:
    groups = [[index.value for index in group] for group in op.attributes["reassociation"]]

    def collapse(array: Array) -> Array:
        sizes = [int(np.prod([array.shape[i] for i in group], dtype=int)) for group in groups]
        return _reshaped(array, sizes) if op.name.startswith("memref") else array.reshape(sizes)

    return collapse


@function("memref.expand_shape", "tensor.expand_shape")
def _expand_shape(op: Any) -> Function:
    static = op.attributes["static_output_shape"]

    def expand(array: Array, *sizes: Any) -> Array:
        shape = mixed(static, sizes)
        return _reshaped(array, shape) if op.name.startswith("memref") else array.reshape(shape)

    return expand


@function("memref.reshape", "tensor.reshape")
def _reshape(op: Any) -> Function:
    return lambda array, shape: _reshaped(array, [int(size) for size in shape])


@function("memref.reinterpret_cast")
def _reinterpret_cast(op: Any) -> Function:
    attributes, segments = op.attributes, _segments(op)
    starts = [sum(segments[:i]) for i in range(1, 5)]

    def cast(array: Array, *operands: Any) -> Array:
        values = [array, *operands]
        (offset,), sizes, strides = (
            mixed(attributes[f"static_{name}"], values[starts[i] : starts[i + 1]])
            for i, name in enumerate(("offsets", "sizes", "strides"))
        )
        flat = _reshaped(array, [-1])
        last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        if 0 not in sizes and not 0 <= last < flat.size:
            raise IndexError(f"expected a view of {flat.size} elements, but it ends at {last}")
        steps = [stride * array.itemsize for stride in strides]
        return np.lib.stride_tricks.as_strided(flat[offset:], sizes, steps)

    return cast


@function("memref.transpose")
def _transpose(op: Any) -> Function:
    order = [expr.position for expr in op.attributes["permutation"].value.results]
    return lambda array: array.transpose(order)


# ------------------------------------------------------------------------------
# Tiles
# ------------------------------------------------------------------------------


@function("linalg.pack")
def _pack(op: Any) -> Function:
    """Cut dimensions into tiles: these come last, in the order of `inner_dims_pos`."""
    tiles, inner, outer = _tiling(op)

    def pack(source: Array, target: Array, *operands: Any) -> Array:
        padding = operands[0] if operands else 0
        shape = list(source.shape)
        for dim, tile in zip(inner, tiles, strict=True):
            shape[dim] = -(-shape[dim] // tile) * tile
        padded = np.full(shape, padding, source.dtype)
        padded[tuple(slice(size) for size in source.shape)] = source
        return np.ascontiguousarray(_split(padded, tiles, inner, outer))

    return pack


@function("linalg.unpack")
def _unpack(op: Any) -> Function:
    """Put tiles together, the inverse of ``linalg.pack``."""
    tiles, inner, outer = _tiling(op)

    def unpack(source: Array, target: Array, *operands: Any) -> Array:
        shape = list(target.shape)
        for dim, tile in zip(inner, tiles, strict=True):
            shape[dim] = -(-shape[dim] // tile) * tile
        whole = np.empty(shape, source.dtype)
        _split(whole, tiles, inner, outer)[...] = source
        return whole[tuple(slice(size) for size in target.shape)].copy()

    return unpack


def _tiling(op: Any) -> tuple[list[int], list[int], list[int]]:
    attributes = op.attributes
    tiles = list(attributes["static_inner_tiles"])
    if _DYNAMIC in tiles:
        raise NotImplementedError("the reference interpreter does not know tiles of unknown size")
    order: Any = ()
    if "outer_dims_perm" in attributes:
        order = attributes["outer_dims_perm"]
    return tiles, list(attributes["inner_dims_pos"]), list(order)


def _split(array: Array, tiles: list[int], inner: list[int], outer: list[int]) -> Array:
    """Return a view in which tiles are the last dimensions."""
    shape: list[int] = []
    places: dict[int, int] = {}
    sizes = dict(zip(inner, tiles, strict=True))
    firsts = []
    for dim, size in enumerate(array.shape):
        firsts.append(len(shape))
        if dim in sizes:
            shape += [size // sizes[dim], sizes[dim]]
            places[dim] = len(shape) - 1
        else:
            shape.append(size)
    order = [firsts[dim] for dim in (outer or range(array.ndim))] + [places[dim] for dim in inner]
    return array.reshape(shape).transpose(order)
