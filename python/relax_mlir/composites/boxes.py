# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boxes that overlap with better ones are left out."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlir import ir

from .. import op
from ..core.ir import TensorStructInfo
from .kernels import add_kernel
from .tensors import cast, number, rank_of, shape_of, size_tensor

# Keeps boxes, the best one first, that overlap with no box that is kept and of the same group.
_KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def kept_boxes(a: T.handle, b: T.handle, c: T.handle, d: T.handle, e: T.handle, f: T.handle,
                   g: T.handle, h: T.handle):
        batch, boxes = T.int64(), T.int64()
        corners = T.match_buffer(a, (batch, boxes, 4), "float32")
        groups = T.match_buffer(b, (batch, boxes), "float32")
        judged = T.match_buffer(c, (batch, boxes), "int8")
        counts = T.match_buffer(d, (batch,), "int32")
        limit = T.match_buffer(e, (), "int32")
        overlap = T.match_buffer(f, (), "float32")
        suppressing = T.match_buffer(g, (batch, boxes), "int8")
        kept = T.match_buffer(h, (batch, boxes), "int8")
        taken = T.alloc_buffer((1,), "int32")
        for i in range(batch):
            taken[0] = T.int32(0)
            for j in range(boxes):
                kept[i, j] = T.int8(0)
                if j < T.Cast("int64", counts[i]):
                    if taken[0] != limit[()]:
                        kept[i, j] = T.int8(1)
                        if judged[i, j] != T.int8(0):
                            for k in range(boxes):
                                if k < j:
                                    if (T.Cast("int32", kept[i, k])
                                            * T.Cast("int32", suppressing[i, k])) != T.int32(0):
                                        if groups[i, k] == groups[i, j]:
                                            high = T.max(
                                                T.min(corners[i, j, 2], corners[i, k, 2])
                                                - T.max(corners[i, j, 0], corners[i, k, 0]),
                                                T.float32(0))
                                            wide = T.max(
                                                T.min(corners[i, j, 3], corners[i, k, 3])
                                                - T.max(corners[i, j, 1], corners[i, k, 1]),
                                                T.float32(0))
                                            common = high * wide
                                            one = ((corners[i, j, 2] - corners[i, j, 0])
                                                   * (corners[i, j, 3] - corners[i, j, 1]))
                                            other = ((corners[i, k, 2] - corners[i, k, 0])
                                                     * (corners[i, k, 3] - corners[i, k, 1]))
                                            both = one + other - common
                                            if both > T.float32(0):
                                                if common / both >= overlap[()]:
                                                    kept[i, j] = T.int8(0)
                            if kept[i, j] != T.int8(0):
                                taken[0] = taken[0] + T.int32(1)
"""


def _column(x: ir.Value, place: int) -> ir.Value:
    """Return one element of each box."""
    axis = rank_of(x) - 1
    one = op.strided_slice(x, [axis], [place], [place + 1], [1], assume_inbound=True)
    return op.squeeze(one, [axis])


def _corners(x: ir.Value, start: int) -> ir.Value:
    """Return boxes as their lowest coordinates, then their highest ones."""
    axis = rank_of(x) - 1
    first, second = (
        op.strided_slice(x, [axis], [i], [i + 2], [1], assume_inbound=True)
        for i in (start, start + 2)
    )
    return op.concat([op.minimum(first, second), op.maximum(first, second)], axis)


def rows_of(x: ir.Value, order: ir.Value) -> ir.Value:
    """Return the elements of each batch in another order; places are of int64."""
    return op.gather_nd(x, op.expand_dims(order, 2), 1)


def _before(count: ir.Value, boxes: Any) -> ir.Value:
    """Return whether a place is one of the first of its batch."""
    places = op.arange(0, boxes, 1, "int64")
    return op.less(op.expand_dims(places, 0), op.expand_dims(cast(count, "int64"), 1))


def to_the_top(flags: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the order of boxes that has those with a flag first, and how many these are."""
    order = op.argsort(op.astype(op.logical_not(flags), "int32"), 1, dtype="int64")
    return order, op.sum(op.astype(flags, "int32"), [1])


def less_below(x: ir.Value, count: ir.Value) -> ir.Value:
    """Return a tensor with -1 in place of the boxes after the first ones."""
    first = _before(count, shape_of(x)[1])
    if rank_of(x) > 2:
        first = op.expand_dims(first, 2)
    return op.where(first, x, number(-1, x.type.dtype))


def kept_boxes(
    corners: ir.Value, groups: ir.Value, judged: ir.Value, suppressing: ir.Value,
    counts: ir.Value, limit: ir.Value, overlap: ir.Value,
) -> ir.Value:  # fmt: skip
    """Return which boxes are kept, of each batch, as bool.

    Parameters
    ----------
    corners : mlir.ir.Value
        The lowest coordinates of each box, then the highest ones; the best box first.
    groups : mlir.ir.Value
        A number for each box: only boxes of the same one are compared.
    judged : mlir.ir.Value
        Whether a box may be left out, and counts for the limit; as bool.
    suppressing : mlir.ir.Value
        Whether others are left out for a box; as bool.
    counts : mlir.ir.Value
        How many boxes there are in each batch.
    limit : mlir.ir.Value
        How many are kept, -1 for all.
    overlap : mlir.ir.Value
        The quotient of what two boxes have in common and of what they cover, from which on one of
        them is left out.
    """
    flags = op.call_tir(
        add_kernel(_KERNEL, "kept_boxes"),
        [cast(corners, "float32"), cast(groups, "float32"), op.astype(judged, "int8"),
         cast(counts, "int32"), cast(op.reshape(limit, []), "int32"),
         cast(op.reshape(overlap, []), "float32"), op.astype(suppressing, "int8")],
        TensorStructInfo(shape_of(groups), "int8"),
    )  # fmt: skip
    return op.not_equal(flags, number(0, "int8"))


def _require_boxes(data: ir.Value) -> None:
    if rank_of(data) != 3:
        raise ValueError(f"expected boxes of rank 3, but got rank {rank_of(data)}")


@dataclasses.dataclass(frozen=True)
class Suppression:
    """How boxes are left out that overlap with better ones.

    Parameters
    ----------
    is_forced : bool
        Whether boxes of all classes are compared.
    most : int
        How many of the best boxes are looked at, -1 for all.
    start, score, class_ : int
        The places of the coordinates, the score and the class; a negative class says that there
        are none.
    gives_numbers : bool
        Whether the result has the numbers of boxes, not the boxes.
    moves : bool
        Whether boxes that are kept come first.
    """

    is_forced: bool
    most: int
    start: int
    score: int
    class_: int
    gives_numbers: bool
    moves: bool


def valid_boxes(data: ir.Value, threshold: ir.Value, class_: int, score: int) -> ir.Value:
    """Return how many boxes have a score above a threshold, these first, and where they were.

    Parameters
    ----------
    data : mlir.ir.Value
        Of the dimensions batch, box, and what is known of it.
    threshold : mlir.ir.Value
        Of rank 0.
    class_, score : int
        The places of the class and the score of a box; a negative `class_`: there is none.
    """
    _require_boxes(data)
    flags = op.greater(_column(data, score), threshold)
    if class_ >= 0:
        is_known = op.greater_equal(_column(data, class_), number(0, data.type.dtype))
        flags = op.logical_and(flags, is_known)
    order, count = to_the_top(flags)
    rows = less_below(rows_of(data, order), count)
    return op.tuple(count, rows, less_below(op.astype(order, "int32"), count))


def _sorted(how: Suppression, data: ir.Value, valid_count: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the order of boxes by score, and how many of them are looked at."""
    boxes = shape_of(data)[1]
    score = cast(_column(data, how.score), "float32")
    lowest = number(float("-inf"), "float32")
    score = op.where(_before(valid_count, boxes), score, lowest)
    count = cast(valid_count, "int32")
    if how.most > 0:
        count = op.minimum(count, number(how.most, "int32"))
    return op.argsort(score, 1, True, "int64"), count


def _flags_of_kept(
    how: Suppression, rows: ir.Value, count: ir.Value, limit: ir.Value, overlap: ir.Value
) -> ir.Value:
    """Return which boxes are kept."""
    zero = number(0, rows.type.dtype)
    judged = op.greater(_column(rows, how.score), zero)
    groups, suppressing = op.zeros(shape_of(rows)[:2], "float32"), judged
    if how.class_ >= 0:
        number_ = _column(rows, how.class_)
        suppressing = op.logical_and(judged, op.greater_equal(number_, zero))
        groups = groups if how.is_forced else number_
    corners = _corners(rows, how.start)
    return kept_boxes(corners, groups, judged, suppressing, count, limit, overlap)


def suppressed(
    data: ir.Value, valid_count: ir.Value, indices: ir.Value, limit: ir.Value, overlap: ir.Value,
    how: Suppression,
) -> ir.Value:  # fmt: skip
    """Return the boxes that do not overlap with better ones, or their numbers.

    Parameters
    ----------
    data : mlir.ir.Value
        Of the dimensions batch, box, and what is known of it.
    valid_count : mlir.ir.Value
        How many boxes each batch has.
    indices : mlir.ir.Value
        The number of each box.
    limit, overlap : mlir.ir.Value
        As for `kept_boxes`; with an overlap of 0 or less all boxes stay where they are.
    how : Suppression
    """
    _require_boxes(data)
    batch, boxes, _ = shape_of(data)
    order, count = _sorted(how, data, valid_count)
    rows = rows_of(data, order)
    flags = _flags_of_kept(how, rows, count, limit, overlap)
    threshold = cast(op.reshape(overlap, []), "float32")
    has_threshold = op.greater(threshold, number(0, "float32"))
    plain = op.broadcast_to(op.expand_dims(op.arange(0, boxes, 1, "int64"), 0), [batch, boxes])
    order = op.where(has_threshold, order, plain)
    flags = op.where(has_threshold, flags, _before(valid_count, boxes))
    if how.gives_numbers:
        given = op.gather_elements(indices, order, 1)
        given = op.where(flags, given, number(-1, indices.type.dtype))
        top, found = to_the_top(op.greater_equal(given, number(0, indices.type.dtype)))
        places = less_below(op.gather_elements(given, top, 1), found)
        return op.tuple(cast(places, "int32"), op.expand_dims(found, 1))
    lowest = number(-1, data.type.dtype)
    kept = op.where(op.expand_dims(flags, 2), op.where(has_threshold, rows, data), lowest)
    if not how.moves:
        return kept
    top, found = to_the_top(op.greater_equal(_column(kept, 0), number(0, data.type.dtype)))
    return less_below(rows_of(kept, top), found)


def best_of_each_class(
    boxes: ir.Value, scores: ir.Value, limit: ir.Value, overlap: ir.Value, threshold: ir.Value
) -> ir.Value:
    """Return the batch, class and box of each box that is kept, and how many there are.

    Parameters
    ----------
    boxes : mlir.ir.Value
        Of the dimensions batch, box, coordinate.
    scores : mlir.ir.Value
        Of the dimensions batch, class, box.
    limit, overlap : mlir.ir.Value
        As for `kept_boxes`.
    threshold : mlir.ir.Value
        Boxes with a score up to it are left out.
    """
    _require_boxes(boxes)
    batch, classes, count = shape_of(scores)
    rows = batch * classes
    flat = op.reshape(cast(scores, "float32"), [rows, count])
    flags = op.greater(flat, cast(op.reshape(threshold, []), "float32"))
    order = op.argsort(op.where(flags, flat, number(float("-inf"), "float32")), 1, True, "int64")
    corners = op.expand_dims(_corners(boxes, 0), 1)
    corners = op.reshape(op.broadcast_to(corners, [batch, classes, count, 4]), [rows, count, 4])
    all_, found = op.ones([rows, count], "bool"), op.sum(op.astype(flags, "int32"), [1])
    kept = kept_boxes(
        rows_of(corners, order), op.zeros([rows, count], "float32"), all_, all_, found, limit,
        overlap,
    )  # fmt: skip
    top, total = to_the_top(op.reshape(kept, [1, rows * count]))
    place = op.reshape(top, [rows * count])
    extent = size_tensor(count)
    row = op.floor_divide(place, extent)
    box = op.take(op.reshape(order, [rows * count]), place, 0)
    each = size_tensor(classes)
    columns = [op.floor_divide(row, each), op.floor_mod(row, each), box]
    return op.tuple(op.stack(columns, 1), op.astype(total, "int64"))
