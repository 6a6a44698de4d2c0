# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that make tensors."""

from __future__ import annotations

from typing import Any

import torch
from mlir import ir

from ... import op
from ...core.ir import Dim
from .constants import as_constant
from .registry import Graph, cast, converts, is_float, is_tensor, known


@converts("full.default", "full_like.default", "fill.Scalar", "fill.Tensor")
def _full(graph: Graph, _: Any, value: Any, **__: Any) -> ir.Value:
    return op.full(graph.shape, cast(value, graph.dtype), graph.dtype)


@converts("new_full.default")
def _new_full(graph: Graph, x: Any, size: Any, value: Any, **__: Any) -> ir.Value:
    return _full(graph, size, value)


# What is empty is written before it is read, whatever is in it.
@converts(
    "zeros.default", "zeros_like.default", "new_zeros.default", "zero.default",
    "empty.memory_format", "empty_like.default", "new_empty.default", "empty_permuted.default",
    "empty_strided.default", "new_empty_strided.default",
)  # fmt: skip
def _zeros(graph: Graph, *_: Any, **__: Any) -> ir.Value:
    return op.zeros(graph.shape, graph.dtype)


@converts("ones.default", "ones_like.default", "new_ones.default")
def _ones(graph: Graph, *_: Any, **__: Any) -> ir.Value:
    return op.ones(graph.shape, graph.dtype)


def _whole(value: Any) -> Any:
    """Return a float that is an integer as one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


@converts("arange.default")
def _arange_to(graph: Graph, end: Any, **__: Any) -> ir.Value:
    return _arange(graph, 0, end)


@converts("arange.start", "arange.start_step")
def _arange(graph: Graph, start: Any, end: Any, step: Any = 1, **__: Any) -> ir.Value:
    count = graph.shape[0]
    if not is_float(graph.dtype):
        start, step = _whole(start), _whole(step)
    ends = (start, step)
    if all(isinstance(one, (int, Dim)) for one in ends):
        # The end that belongs to the number of elements, which is known.
        first, stride = Dim(start), Dim(step)
        return cast(op.arange(first, first + count * stride, stride, "int64"), graph.dtype)
    if not is_float(graph.dtype):
        raise NotImplementedError(f"a range of {graph.dtype} from {start} by {step}")
    places = op.arange(0, count, 1, "int64")
    moved = op.multiply(cast(places, "float64"), cast(step, "float64"))
    return cast(op.add(moved, cast(start, "float64")), graph.dtype)


@converts("eye.default", "eye.m")
def _eye(graph: Graph, *_: Any, **__: Any) -> ir.Value:
    rows, columns = graph.shape
    return op.eye(rows, columns, 0, graph.dtype)


@converts("tril.default", "triu.default")
def _triangle(graph: Graph, x: ir.Value, diagonal: Any = 0) -> ir.Value:
    return (op.tril if graph.kind == "tril" else op.triu)(x, diagonal)


@converts("one_hot.default")
def _one_hot(graph: Graph, x: ir.Value, classes: Any = -1) -> ir.Value:
    if classes == -1:
        raise NotImplementedError("a number of classes that depends on data: name it")
    places = op.expand_dims(x, graph.rank_of(0))
    return cast(op.equal(places, op.arange(0, classes, 1, "int64")), graph.dtype)


@converts(
    "bartlett_window.default", "bartlett_window.periodic", "blackman_window.default",
    "blackman_window.periodic", "hamming_window.default", "hamming_window.periodic",
    "hamming_window.periodic_alpha", "hamming_window.periodic_alpha_beta", "hann_window.default",
    "hann_window.periodic", "kaiser_window.default", "kaiser_window.periodic",
    "kaiser_window.beta", "linspace.default", "logspace.default", "tril_indices.default",
    "triu_indices.default",
)  # fmt: skip
def _of_numbers(graph: Graph, *arguments: Any, **named: Any) -> ir.Value:
    """Return what PyTorch computes of numbers alone, as a constant."""
    known(graph.shape, "a tensor")
    if any(isinstance(one, Dim) or is_tensor(one) for one in (*arguments, *named.values())):
        raise NotImplementedError("sizes as numbers of a sequence")
    target: Any = graph.node.target
    options = {**graph.node.kwargs, "device": "cpu"}
    with torch.utils._python_dispatch._disable_current_modes():
        return as_constant(target(*graph.node.args, **options))
