# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on shapes: they move elements, or repeat them, and compute none."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.tensors import matched, normal_axis, product, quotient, same
from ....core.ir import Dim
from ...values import Value, as_tensor, is_known, known_ints, known_sizes, rank_of, shape_of
from .data_sizes import (
    broadcast_sizes,
    expanded_sizes,
    reshape_sizes,
    sizes_of,
    squeezed_sizes,
)
from .operands import fields, ints, normal_axes, scalar_int
from .registry import REQUIRED, converts

# -- reshape ------------------------------------------------------------------------------------


class _NewShape:
    """Computes a shape from the codes that Relay has for dimensions of the tensor.

    Parameters
    ----------
    dims : sequence of int or Dim
        The dimensions of the tensor.
    keeps_zeros : bool
        Whether 0 is a size, and not the dimension at the same place.
    """

    def __init__(self, dims: Sequence[int | Dim], keeps_zeros: bool) -> None:
        self.dims, self.keeps_zeros = list(dims), keeps_zeros
        self.place = 0
        self.made: list[Any] = []
        # What of both shapes has the same number of elements, and so does not count for -1.
        self.used: set[int] = set()
        self.copied: set[int] = set()

    def _take(self, code: int) -> int | Dim:
        if self.place >= len(self.dims):
            raise ValueError(
                f"expected a dimension for each code {code}, but got a tensor of rank "
                f"{len(self.dims)}"
            )
        self.used.add(self.place)
        self.place += 1
        return self.dims[self.place - 1]

    def _copy(self, *dims: int | Dim) -> None:
        for dim in dims:
            self.copied.add(len(self.made))
            self.made.append(dim)

    def _split(self, parts: Sequence[Any]) -> None:
        whole = self._take(-4)
        if len(parts) != 2 or list(parts) == [-1, -1]:
            raise ValueError(f"expected two sizes after -4, one of which may be -1, got {parts}")
        first, second = parts
        first = quotient([whole], [second]) if first == -1 else first
        self._copy(first, quotient([whole], [first]) if second == -1 else second)

    def add(self, codes: Sequence[Any]) -> list[Any]:
        """Return the shape that codes mean."""
        rest = list(codes)
        while rest:
            code = rest.pop(0)
            if code == 0 and not self.keeps_zeros:
                self._copy(self._take(0))
            elif code == -2:
                while self.place < len(self.dims):
                    self._copy(self._take(-2))
            elif code == -3:
                self._copy(product([self._take(-3), self._take(-3)]))
            elif code == -4:
                self._split(rest[:2])
                del rest[:2]
            else:
                self._add_size(code)
        return self._inferred()

    def _add_size(self, size: Any) -> None:
        if isinstance(size, int) and size < -1:
            raise ValueError(f"expected a size or a code from -4 to 0, but got {size}")
        self.made.append(size)
        self.place += 1

    def _inferred(self) -> list[Any]:
        places = [i for i, dim in enumerate(self.made) if dim == -1]
        if not places:
            return self.made
        if len(places) > 1:
            raise ValueError(f"expected one dimension of -1, but got {len(places)}")
        others = [dim for i, dim in enumerate(self.made) if i not in self.copied and i != places[0]]
        if 0 in others:
            raise ValueError("expected no dimension of 0 beside one of -1")
        left = [dim for i, dim in enumerate(self.dims) if i not in self.used]
        self.made[places[0]] = quotient(left, others)
        return self.made


def new_shape(dims: Sequence[int | Dim], codes: Sequence[Any], keeps_zeros: bool) -> list[Any]:
    """Return the shape that the codes of Relay mean for a tensor of given dimensions."""
    return _NewShape(dims, keeps_zeros).add(codes)


def reshaped(x: ir.Value, codes: Sequence[Any], keeps_zeros: bool = False) -> ir.Value:
    """Return a tensor in another shape.

    Parameters
    ----------
    x : mlir.ir.Value
    codes : sequence of int or Dim
        Sizes, and the codes from -4 to 0 of Relay.
    keeps_zeros : bool
        Whether 0 is a size.

    Raises
    ------
    ValueError
        If the codes do not fit the tensor, or the number of elements differs.
    """
    return _in_shape(x, new_shape(shape_of(x), codes, keeps_zeros))


def _in_shape(x: ir.Value, dims: Sequence[Any]) -> ir.Value:
    counts = [product(one) for one in (shape_of(x), dims)]
    if same(*counts) is False:
        raise ValueError(
            f"expected a shape of {counts[0]} elements, but got {[str(dim) for dim in dims]}"
        )
    return op.reshape(x, list(dims))


@converts("reshape", newshape=REQUIRED, allowzero=False)
def _reshape(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return reshaped(data, ints(attrs.newshape), bool(attrs.allowzero))


@converts("dyn.reshape", raw=True, newshape=None, allowzero=False)
def _dyn_reshape(attrs: SimpleNamespace, data: Value, newshape: Value) -> ir.Value:
    if not is_known(newshape):
        x = as_tensor(data)
        return op.reshape(x, reshape_sizes(x, newshape, bool(attrs.allowzero)))
    codes = known_sizes(newshape, "a shape")
    if -2 in codes or -4 in codes:
        raise ValueError("expected no codes -2 and -4 of dyn.reshape, whose rank is known")
    return reshaped(as_tensor(data), codes, bool(attrs.allowzero))


@converts("contrib_reverse_reshape", newshape=REQUIRED, allowzero=False)
def _reverse_reshape(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    codes, keeps_zeros = ints(attrs.newshape)[::-1], bool(attrs.allowzero)
    return _in_shape(data, new_shape(shape_of(data)[::-1], codes, keeps_zeros)[::-1])


@converts("reshape_like", lhs_begin=0, lhs_end=None, rhs_begin=0, rhs_end=None)
def _reshape_like(attrs: SimpleNamespace, data: ir.Value, shape_like: ir.Value) -> ir.Value:
    mine, other = shape_of(data), shape_of(shape_like)

    def places(begin: Any, end: Any, rank: int) -> tuple[int, int]:
        end = rank if end is None else end
        found = tuple(int(one) + rank if one < 0 else int(one) for one in (begin, end))
        if not 0 <= found[0] <= found[1] <= rank:
            raise ValueError(f"expected a range of {rank} dimensions, but got {begin} to {end}")
        return found[0], found[1]

    begin, end = places(attrs.lhs_begin, attrs.lhs_end, len(mine))
    first, last = places(attrs.rhs_begin, attrs.rhs_end, len(other))
    return _in_shape(data, [*mine[:begin], *other[first:last], *mine[end:]])


# -- dimensions ---------------------------------------------------------------------------------


@converts("transpose", axes=None)
def _transpose(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    rank = rank_of(data)
    axes = normal_axes(attrs.axes, rank) if attrs.axes else list(reversed(range(rank)))
    if len(axes) != rank:
        raise ValueError(f"expected {rank} axes, but got {len(axes)}")
    return data if axes == list(range(rank)) else op.permute_dims(data, axes)


def _squeezed(x: ir.Value, given: Sequence[int]) -> ir.Value:
    dims = shape_of(x)
    axes = normal_axes(given, len(dims))
    for axis in axes:
        if same(dims[axis], 1) is False:
            raise ValueError(f"expected a dimension of 1 at axis {axis}, but got {dims[axis]}")
    return op.squeeze(x, axes) if axes else x


@converts("squeeze", axis=None)
def _squeeze(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    if attrs.axis is not None:
        return _squeezed(data, ints(attrs.axis))
    dims = shape_of(data)
    if any(same(dim, 1) is None for dim in dims):
        raise NotImplementedError("expected an axis for a tensor of symbolic dimensions")
    return _squeezed(data, [i for i, dim in enumerate(dims) if dim == 1])


@converts("dyn.squeeze", raw=True, axis=None)
def _dyn_squeeze(_: SimpleNamespace, data: Value, axis: Value) -> ir.Value:
    x = as_tensor(data)
    if is_known(axis):
        return _squeezed(x, known_ints(axis, "axes"))
    return op.reshape(x, squeezed_sizes(x, as_tensor(axis)))


def _expanded(x: ir.Value, axis: int, count: int) -> ir.Value:
    rank = rank_of(x)
    if not -rank - 1 <= axis <= rank or count < 0:
        raise ValueError(
            f"expected an axis from {-rank - 1} to {rank} and 0 or more new ones, but got {axis} "
            f"and {count}"
        )
    begin = rank + axis + 1 if axis < 0 else axis
    return op.expand_dims(x, list(range(begin, begin + count))) if count else x


@converts("expand_dims", axis=REQUIRED, num_newaxis=1)
def _expand_dims(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return _expanded(data, int(attrs.axis), int(attrs.num_newaxis))


@converts("dyn.expand_dims", raw=True, num_newaxis=1)
def _dyn_expand_dims(attrs: SimpleNamespace, data: Value, axis: Value) -> ir.Value:
    x, count = as_tensor(data), int(attrs.num_newaxis)
    if is_known(axis):
        return _expanded(x, scalar_int(axis, "an axis"), count)
    return op.reshape(x, expanded_sizes(x, as_tensor(axis), count))


# -- parts --------------------------------------------------------------------------------------


@converts("split", indices_or_sections=REQUIRED, axis=0)
def _split(attrs: SimpleNamespace, data: ir.Value) -> Value:
    axis, given = normal_axis(int(attrs.axis), rank_of(data)), attrs.indices_or_sections
    extent = shape_of(data)[axis]
    if not isinstance(given, (list, tuple)):
        sections = int(given)
        if sections < 1 or (isinstance(extent, int) and extent % sections):
            raise ValueError(f"expected parts of equal size, but got {sections} of {extent}")
        dims = shape_of(data)
        # That they are of equal size is checked when the program runs.
        dims[axis] = extent // sections * sections
        return op.split(matched(data, dims), sections, axis)
    places = [0, *ints(given)]
    end = [extent] if isinstance(extent, int) else []
    if any(b <= a for a, b in zip(places, [*places[1:], *end], strict=False)):
        raise ValueError(f"expected ascending places inside of {extent}, but got {list(given)}")
    return op.split(data, places[1:], axis)


@converts("concatenate", raw=True, axis=0)
def _concatenate(attrs: SimpleNamespace, data: Value) -> ir.Value:
    tensors = fields(data)
    axis = normal_axis(int(attrs.axis), rank_of(tensors[0])) if tensors else 0
    return tensors[0] if len(tensors) == 1 else op.concat(_fitting(tensors, axis), axis)


def _fitting(tensors: Sequence[ir.Value], axis: int | None) -> list[ir.Value]:
    """Return tensors whose dimensions are known to be equal, but for one axis."""
    shapes = [shape_of(one) for one in tensors]
    if len({len(shape) for shape in shapes}) != 1:
        raise ValueError(f"expected tensors of one rank, but got {[len(one) for one in shapes]}")
    columns = zip(*shapes, strict=True)
    common = [next((d for d in dims if isinstance(d, int)), dims[0]) for dims in columns]
    return [
        matched(one, [shape[i] if i == axis else dim for i, dim in enumerate(common)])
        for one, shape in zip(tensors, shapes, strict=True)
    ]


@converts("stack", raw=True, axis=0)
def _stack(attrs: SimpleNamespace, data: Value) -> ir.Value:
    tensors = fields(data)
    axis = normal_axis(int(attrs.axis), rank_of(tensors[0]) + 1) if tensors else 0
    return op.stack(_fitting(tensors, None), axis)


# -- copies -------------------------------------------------------------------------------------


def _tiled(x: ir.Value, counts: Sequence[Any]) -> ir.Value:
    if any(isinstance(count, int) and count < 1 for count in counts):
        raise ValueError(f"expected repetitions of 1 or more, but got {list(map(str, counts))}")
    if all(isinstance(count, int) for count in counts):
        return op.tile(x, list(counts))
    rank = max(rank_of(x), len(counts))
    dims = [1] * (rank - rank_of(x)) + shape_of(x)
    times = [1] * (rank - len(counts)) + list(counts)
    # Each dimension is one of 1 beside it, broadcast to the number of times.
    pairs = [one for dim in dims for one in (1, dim)]
    wide = [one for pair in zip(times, dims, strict=True) for one in pair]
    copies = op.broadcast_to(op.reshape(x, pairs), wide)
    return op.reshape(copies, [count * dim for count, dim in zip(times, dims, strict=True)])


@converts("tile", reps=REQUIRED)
def _tile(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return _tiled(data, ints(attrs.reps))


@converts("dyn.tile", raw=True, reps=None)
def _dyn_tile(_: SimpleNamespace, data: Value, reps: Value) -> ir.Value:
    return _tiled(as_tensor(data), sizes_of(reps, "repetitions"))


@converts("repeat", repeats=REQUIRED, axis=REQUIRED)
def _repeat(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    if attrs.repeats < 1:
        raise ValueError(f"expected repeats of 1 or more, but got {attrs.repeats}")
    return op.repeat(data, int(attrs.repeats), normal_axis(int(attrs.axis), rank_of(data)))


@converts("broadcast_to", shape=REQUIRED, dtype=None)
def _broadcast_to(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return op.broadcast_to(data, ints(attrs.shape))


@converts("dyn.broadcast_to", raw=True, shape=None, dtype=None)
def _dyn_broadcast_to(_: SimpleNamespace, data: Value, shape: Value) -> ir.Value:
    x = as_tensor(data)
    return op.broadcast_to(x, broadcast_sizes(x, shape))


@converts("broadcast_to_like")
def _broadcast_to_like(_: SimpleNamespace, data: ir.Value, like: ir.Value) -> ir.Value:
    return op.broadcast_to(data, shape_of(like))


@converts("collapse_sum_like")
def _collapse_sum_like(_: SimpleNamespace, data: ir.Value, like: ir.Value) -> ir.Value:
    return op.collapse_sum_to(data, shape_of(like))


@converts("collapse_sum_to", raw=True, shape=None, dtype=None)
def _collapse_sum_to(_: SimpleNamespace, data: Value, shape: Value) -> ir.Value:
    return op.collapse_sum_to(as_tensor(data), known_sizes(shape, "a shape"))


# -- order --------------------------------------------------------------------------------------


@converts("reverse", axis=REQUIRED)
def _reverse(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return op.flip(data, normal_axis(int(attrs.axis), rank_of(data)))


@converts("reverse_sequence", seq_axis=1, batch_axis=0)
def _reverse_sequence(attrs: SimpleNamespace, data: ir.Value, seq_lengths: ir.Value) -> ir.Value:
    rank = rank_of(data)
    seq_axis, batch_axis = (
        normal_axis(int(one), rank) for one in (attrs.seq_axis, attrs.batch_axis)
    )
    return op.reverse_sequence(data, seq_lengths, seq_axis, batch_axis)
