# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of sequences of different lengths, one after another in one tensor.

Sequences are moved to a batch in which each ends at the end of the longest one. There the mask
"BottomRight" of `op.nn.attention` is that of each sequence alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mlir import ir

from .. import op
from ..core.expr import TensorLike, as_tensor, as_tensors
from ..core.ir import Dim
from .distinct import named_size
from .kernels import new_size_name
from .tensors import cast, matched, number, rank_of, shape_of, size_tensor

_MASKS = (None, "TopLeft", "BottomRight")


@dataclass(frozen=True)
class _Sequences:
    """Where sequences are in a tensor, as vectors of int64 with one number for each.

    Attributes
    ----------
    begins, ends, lengths : mlir.ir.Value
    count : int or Dim
        The number of sequences.
    longest : Dim
        How long the longest one is.
    """

    begins: ir.Value
    ends: ir.Value
    lengths: ir.Value
    count: int | Dim
    longest: Dim

    @staticmethod
    def of(starts: ir.Value, name: str) -> _Sequences:
        """Return those whose begins, and the end of the last one, a vector has."""
        (total,) = shape_of(starts)
        begins = op.strided_slice(starts, [0], [0], [total - 1], [1], assume_inbound=True)
        ends = op.strided_slice(starts, [0], [1], [total], [1], assume_inbound=True)
        lengths = op.subtract(ends, begins)
        # A sum beside 0, as there may be no sequence.
        longest = op.max(op.concat([op.zeros([1], "int64"), lengths], 0))
        return _Sequences(
            begins, ends, lengths, total - 1, named_size(longest, new_size_name(name))
        )

    def places(self, aligned_at_end: bool) -> tuple[ir.Value, ir.Value]:
        """Return where each element of the batch is in the tensor, and whether it is anywhere."""
        at = op.reshape(op.arange(0, self.longest, 1, "int64"), [1, self.longest])
        column = [self.count, 1]
        begins, ends = op.reshape(self.begins, column), op.reshape(self.ends, column)
        if aligned_at_end:
            at = op.add(op.subtract(ends, size_tensor(self.longest)), at)
            return at, op.greater_equal(at, begins)
        at = op.add(begins, at)
        return at, op.less(at, ends)


def _batch(x: ir.Value, places: ir.Value, inside: ir.Value) -> ir.Value:
    """Return sequences as a batch, with zeros where a sequence has no element."""
    taken = op.take(op.squeeze(x, [0]), places, 0)
    mask = op.reshape(inside, [*shape_of(inside), 1, 1])
    return op.where(mask, taken, number(0, x.type.dtype))


def attention_var_len(
    queries: TensorLike,
    keys: TensorLike,
    values: TensorLike,
    seqstart_q: TensorLike,
    max_seqlen_q: TensorLike,
    seqstart_k: TensorLike | None = None,
    max_seqlen_k: TensorLike | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> ir.Value:
    """Return the attention of sequences of different lengths, one after another in one tensor.

    Parameters
    ----------
    queries, keys, values : tensor, number or array
        Of the dimensions 1, position, head, feature: the sequences one after another.
    seqstart_q : tensor, number or array
        Where each sequence of queries begins, and where the last one ends, as integers: of the
        lengths 2, 5 and 3 it is [0, 2, 7, 10].
    max_seqlen_q : tensor, number or array
        The length of the longest sequence of queries. It is computed, so nothing depends on it.
    seqstart_k, max_seqlen_k : tensor, number or array, optional
        The same of keys and values, by default that of the queries.
    scale, causal_mask, window_size : optional
        As for `op.nn.attention`, for each sequence alone.

    Returns
    -------
    mlir.ir.Value
        Of the dimensions 1, position, head, feature. A query that looks at no key gets 0, also
        one after the end of the last sequence.

    Raises
    ------
    ValueError
        If the operands do not fit each other.
    """
    q, k, v = _checked(queries, keys, values, causal_mask, window_size)
    starts_q = _starts(seqstart_q, "seqstart_q")
    starts_k = starts_q
    if seqstart_k is not None:
        starts_k = matched(_starts(seqstart_k, "seqstart_k"), shape_of(starts_q))
    of_queries = _Sequences.of(starts_q, "longest_queries")
    of_keys = of_queries
    if seqstart_k is not None:
        of_keys = _Sequences.of(starts_k, "longest_keys")
    at_end = causal_mask == "BottomRight"
    key_places, is_key = of_keys.places(at_end)
    no_key = op.where(is_key, number(0, q.type.dtype), number(-math.inf, q.type.dtype))
    bias = op.reshape(no_key, [of_keys.count, 1, 1, of_keys.longest])
    found = op.nn.attention(
        _batch(q, *of_queries.places(at_end)),
        _batch(k, key_places, is_key),
        _batch(v, key_places, is_key),
        bias, scale, causal_mask, window_size,
    )  # fmt: skip
    return _joined(found, shape_of(q)[1], of_queries, of_keys, causal_mask, window_size)


def _joined(
    found: ir.Value, extent: int | Dim, of_queries: _Sequences, of_keys: _Sequences,
    causal_mask: str | None, window_size: int | None,
) -> ir.Value:  # fmt: skip
    """Return the sequences of a batch one after another, with 0 for what looks at no key."""
    at = op.arange(0, extent, 1, "int64")
    sequence = op.bucketize(at, of_queries.ends, right=True)
    begins, ends = (op.take(each, sequence, 0) for each in (of_queries.begins, of_queries.ends))
    place = op.subtract(at, begins)
    lengths = op.take(of_keys.lengths, sequence, 0)
    sees = op.logical_and(
        op.logical_and(op.greater_equal(at, begins), op.less(at, ends)),
        op.greater(lengths, number(0, "int64")),
    )
    last = op.subtract(lengths, number(1, "int64"))
    if causal_mask is not None:
        latest = place
        if causal_mask == "BottomRight":
            latest = op.add(place, op.subtract(lengths, op.subtract(ends, begins)))
        sees = op.logical_and(sees, op.greater_equal(latest, number(0, "int64")))
        if window_size is not None:
            first = op.subtract(latest, number(window_size - 1, "int64"))
            sees = op.logical_and(sees, op.less_equal(first, last))
    if causal_mask == "BottomRight":
        place = op.add(op.subtract(size_tensor(of_queries.longest), ends), at)
    longest = of_queries.longest
    rows = op.reshape(found, [of_queries.count * longest, *shape_of(found)[2:]])
    place = op.add(op.multiply(sequence, size_tensor(longest)), place)
    taken = op.where(
        op.reshape(sees, [extent, 1, 1]), op.take(rows, place, 0), number(0, found.type.dtype)
    )
    return op.expand_dims(taken, 0)


def _checked(
    queries: TensorLike, keys: TensorLike, values: TensorLike, causal_mask: str | None,
    window_size: int | None,
) -> list[ir.Value]:  # fmt: skip
    """Return the operands as tensors of one sequence of sequences each."""
    if causal_mask not in _MASKS:
        raise ValueError(
            f"expected causal_mask 'TopLeft' or 'BottomRight', but got {causal_mask!r}"
        )
    if window_size is not None and causal_mask is None:
        raise ValueError("expected a causal_mask beside window_size, but got none")
    operands = as_tensors(queries, keys, values)
    for name, one in zip(("queries", "keys", "values"), operands, strict=True):
        if rank_of(one) != 4:
            raise ValueError(
                f"expected {name} of the dimensions 1, position, head, feature, but got {one.type}"
            )
    return [matched(one, [1, *shape_of(one)[1:]]) for one in operands]


def _starts(starts: TensorLike, name: str) -> ir.Value:
    vector = as_tensor(starts)
    is_whole = vector.type.dtype.startswith(("int", "uint"))
    if rank_of(vector) != 1 or not is_whole or shape_of(vector) == [0]:
        raise ValueError(
            f"expected {name} as a vector of integers: the begin of each sequence, and the end of "
            f"the last one; but got {vector.type}"
        )
    return cast(vector, "int64")
