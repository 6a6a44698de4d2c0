# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of n-grams of integers."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from mlir import ir

from ... import op
from ...composites.tensors import cast, number
from ...core.expr import const
from ..values import rank_of, shape_of
from .registry import Node, converter


@converter("TfIdfVectorizer", since=9)
def _tf_idf_vectorizer(node: Node, x: ir.Value) -> ir.Value:
    places = node.attr("ngram_indexes")
    extent, width = shape_of(x)[-1], max(places) + 1
    if not isinstance(extent, int):
        raise NotImplementedError(f"expected rows of known length, but got {extent}")
    rows = cast(x if rank_of(x) > 1 else op.expand_dims(x, 0), "int64")
    total = op.zeros([shape_of(rows)[0], width], "float32")
    for length, (first, grams) in _pool(node).items():
        # Which output each n-gram counts for.
        goes = np.zeros((len(grams), width), "float32")
        goes[np.arange(len(grams)), places[first : first + len(grams)]] = 1
        for distance in range(1, 2 if length == 1 else node.attr("max_skip_count") + 2):
            count = extent - (length - 1) * distance
            if count > 0:
                found = _occurrences(rows, grams, distance, count)
                total = op.add(total, op.matmul(found, const(goes)))
    result = _weighted(node, total, width)
    return result if rank_of(x) > 1 else op.squeeze(result, [0])


def _pool(node: Node) -> dict[int, tuple[int, np.ndarray]]:
    """Return the n-grams that count, by length: the number of the first one, and all of them."""
    items = node.attr("pool_int64s", [])
    if not items:
        raise NotImplementedError("expected pool_int64s: strings have no kernels")
    begins = [*node.attr("ngram_counts"), len(items)]
    pool, first = {}, 0
    for length, (begin, end) in enumerate(itertools.pairwise(begins), 1):
        grams = np.array(items[begin:end], "int64").reshape(-1, length)
        if len(np.unique(grams, axis=0)) < len(grams):
            raise ValueError(f"expected different n-grams of length {length}")
        if len(grams) and node.attr("min_gram_length") <= length <= node.attr("max_gram_length"):
            pool[length] = (first, grams)
        first += len(grams)
    return pool


def _occurrences(rows: ir.Value, grams: np.ndarray, distance: int, count: int) -> ir.Value:
    """Return how often each row has each n-gram, with items at a distance from each other."""
    equal = []
    for i in range(grams.shape[1]):
        begin = i * distance
        items = op.strided_slice(rows, [1], [begin], [begin + count], [1], assume_inbound=True)
        equal.append(op.equal(op.expand_dims(items, 2), const(grams[:, i])))
    return op.sum(op.astype(functools.reduce(op.logical_and, equal), "float32"), [1])


def _weighted(node: Node, counts: ir.Value, width: int) -> ir.Value:
    node.refuse("mode", "TF", "IDF", "TFIDF", default="TF")
    mode, weights, places = node.attr("mode"), node.attr("weights", []), node.attr("ngram_indexes")
    if mode == "TF":
        return counts
    if mode == "IDF":
        counts = op.astype(op.greater(counts, number(0, "float32")), "float32")
    if not weights:
        return counts
    if len(weights) != width or any(weights[i] != weights[at] for i, at in enumerate(places)):
        raise NotImplementedError("expected weights in the order of ngram_indexes")
    return op.multiply(counts, const(np.array(weights, "float32")))
