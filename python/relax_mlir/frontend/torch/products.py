# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of ATen."""

from __future__ import annotations

from typing import Any

from mlir import ir
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ... import op
from .reduce import norm
from .registry import Graph, cast, converts, fitted, number, shape_of


@converts("linear.default")
def _linear(graph: Graph, x: ir.Value, weight: ir.Value, bias: Any = None) -> ir.Value:
    result = op.matmul(x, op.permute_dims(weight))
    return result if bias is None else op.add(result, bias)


@converts("matmul.default", "mm.default", "bmm.default", "mv.default", "dot.default",
          "vdot.default")  # fmt: skip
def matmul(graph: Graph, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return the product of two tensors."""
    if min(graph.rank_of(0), graph.rank_of(1)) > 1:
        *batch, rows, columns = graph.shape
        summed = shape_of(x)[-1]
        x, y = fitted(x, [*batch, rows, summed]), fitted(y, [*batch, summed, columns])
    return op.matmul(x, y)


@converts("_int_mm.default")
def _int_mm(graph: Graph, x: ir.Value, y: ir.Value) -> ir.Value:
    return op.matmul(x, y, graph.dtype)


@converts("addmm.default", "baddbmm.default", "addmv.default")
def addmm(
    graph: Graph, bias: ir.Value, x: ir.Value, y: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    """Return a multiple of a product and a multiple of a tensor."""
    return _plus(graph, op.matmul(x, y), bias, beta, alpha)


def _plus(graph: Graph, product: ir.Value, bias: ir.Value, beta: Any, alpha: Any) -> ir.Value:
    if alpha != 1:
        product = op.multiply(product, number(alpha, graph.dtype))
    if beta == 0:  # even NaN does not count
        return product
    if beta != 1:
        bias = op.multiply(bias, number(beta, graph.dtype))
    return op.add(product, bias)


@converts("addbmm.default")
def _addbmm(
    graph: Graph, bias: ir.Value, x: ir.Value, y: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    return _plus(graph, op.sum(op.matmul(x, y), [0]), bias, beta, alpha)


@converts("outer.default", "ger.default")
def _outer(graph: Graph, x: ir.Value, y: ir.Value) -> ir.Value:
    return op.multiply(op.expand_dims(cast(x, graph.dtype), 1), cast(y, graph.dtype))


@converts("addr.default")
def _addr(
    graph: Graph, bias: ir.Value, x: ir.Value, y: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    return _plus(graph, _outer(graph, x, y), bias, beta, alpha)


@converts("_cdist_forward.default", "cdist.default")
def _cdist(
    graph: Graph, x: ir.Value, y: ir.Value, p: float = 2.0, mode: int | None = None
) -> ir.Value:
    if p == 2 and _takes_product(graph, mode):
        return _euclidean(graph, x, y)
    apart = op.subtract(
        op.expand_dims(x, graph.rank_of(0) - 1), op.expand_dims(y, graph.rank_of(1) - 2)
    )
    return norm(op.abs(apart), p, [len(graph.shape)], False)


# Above so many rows, PyTorch computes distances with a product.
_FEW_ROWS = 25


def _takes_product(graph: Graph, mode: int | None) -> bool:
    """Say whether PyTorch has a product of matrices for distances: less exact, but faster."""
    if mode in (1, 2):
        return mode == 1
    rows = (graph.meta(0).shape[-2], graph.meta(1).shape[-2])
    return any(statically_known_true(one > _FEW_ROWS) for one in rows)


def _euclidean(graph: Graph, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return distances as roots of the sums of two squares less twice the product."""
    squares = op.sum(op.multiply(x, x), [-1], True)
    others = op.expand_dims(op.sum(op.multiply(y, y), [-1]), graph.rank_of(1) - 2)
    order = list(range(graph.rank_of(1)))
    columns = op.permute_dims(y, [*order[:-2], order[-1], order[-2]])
    products = op.matmul(op.multiply(x, number(-2, graph.dtype)), columns)
    total = op.add(op.add(products, squares), others)
    return op.sqrt(op.maximum(total, number(0, graph.dtype)))


@converts("_pdist_forward.default", "pdist.default")
def _pdist(graph: Graph, x: ir.Value, p: float = 2.0) -> ir.Value:
    """Return the distance of each row from those behind it."""
    rows, count = shape_of(x)[0], graph.shape[0]
    size, one = number(rows, "int64"), number(1, "int64")
    # Before the pairs of a row there are those of all rows before it.
    order = op.arange(0, rows, 1, "int64")
    partners = op.subtract(op.subtract(size, one), order)
    before = op.cumsum(partners, 0, exclusive=True)
    pairs = op.arange(0, count, 1, "int64")
    first = op.subtract(op.bucketize(pairs, before, right=True), one)
    second = op.add(op.subtract(pairs, op.take(before, first, 0)), op.add(first, one))
    apart = op.subtract(op.take(x, first, 0), op.take(x, second, 0))
    return norm(op.abs(apart), p, [1], False)


@converts("_trilinear.default")
def _trilinear(
    graph: Graph, x: ir.Value, y: ir.Value, z: ir.Value, expand_x: list[int], expand_y: list[int],
    expand_z: list[int], summed: list[int], unroll: int = 1,
) -> ir.Value:  # fmt: skip
    pairs = ((x, expand_x), (y, expand_y), (z, expand_z))
    wide = [op.expand_dims(value, axes) if axes else value for value, axes in pairs]
    result = op.multiply(op.multiply(wide[0], wide[1]), wide[2])
    return op.sum(result, summed) if summed else result
