# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of neural networks: products, normalization."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...composites.convolution import along_channels
from ...composites.einsum import einsum
from ...composites.linear_algebra import determinant
from ...composites.padding import window_means
from ...composites.tensors import agreed, cast, matched, normal_axis, number, same
from ..values import rank_of, shape_of
from .elementwise import scaled
from .manipulate import expand
from .registry import Node, converter


@converter("MatMul")
def _matmul(_: Node, x: ir.Value, y: ir.Value) -> ir.Value:
    return op.matmul(*fitting(x, y))


def fitting(x: ir.Value, y: ir.Value) -> list[ir.Value]:
    """Return factors of a product, whose dimensions are known to fit."""
    try:
        return _fitting(x, y)
    except ValueError:
        left, right = (", ".join(map(str, shape_of(value))) for value in (x, y))
        raise ValueError(
            "expected factors whose inner dimensions are equal and whose others broadcast, but got "
            f"shapes [{left}] and [{right}]"
        ) from None


def _fitting(x: ir.Value, y: ir.Value) -> list[ir.Value]:
    left, right = shape_of(x), shape_of(y)
    if min(len(left), len(right)) < 2:
        row = len(right) - 2 if len(right) > 1 else 0
        inner = right[row] if isinstance(right[row], int) else left[-1]
        right[row] = inner
        return [matched(x, [*left[:-1], inner]), matched(y, right)]
    inner = right[-2] if isinstance(right[-2], int) else left[-1]
    count = min(len(left), len(right)) - 2
    pairs = zip(left[-2 - count : -2], right[-2 - count : -2], strict=True)
    batch = [(a, b) if a == 1 or b == 1 else _one(a, b) for a, b in pairs]
    first, second = ([pair[k] for pair in batch] for k in range(2))
    return [
        matched(x, [*left[: len(left) - 2 - count], *first, left[-2], inner]),
        matched(y, [*right[: len(right) - 2 - count], *second, inner, right[-1]]),
    ]


def _one(first: Any, second: Any) -> tuple[Any, Any]:
    """Return the one of two equal dimensions that says more, for each of them."""
    common = second if isinstance(second, int) else first
    return common, common


@converter("Gemm")
def gemm(node: Node, x: ir.Value, y: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    """Return the product that the attributes of a node describe."""
    x = op.permute_dims(x) if node.attr("transA", 0) else x
    y = op.permute_dims(y) if node.attr("transB", 0) else y
    result = scaled(op.matmul(*fitting(x, y)), node.attr("alpha", 1.0))
    if bias is None:
        return result
    return op.add(*agreed(result, scaled(bias, node.attr("beta", 1.0))))


@converter("Einsum")
def _einsum(node: Node, *inputs: ir.Value) -> ir.Value:
    return einsum(node.attr("equation"), inputs)


@converter("BatchNormalization")
def _batch_normalization(
    node: Node, x: ir.Value, gamma: ir.Value, beta: ir.Value, mean: ir.Value, variance: ir.Value
) -> Any:
    if node.opset < 9:
        node.refuse("spatial", default=1)
    rank, dtype = rank_of(x), x.type.dtype
    running = None
    if node.attr("training_mode", 0):
        axes = [axis for axis in range(rank) if axis != 1]
        momentum = node.attr("momentum", 0.9)
        known = [mean, variance]
        wide = cast(x, mean.type.dtype)
        mean, variance = op.mean(wide, axes), op.variance(wide, axes)
        running = [
            op.add(scaled(old, momentum), scaled(new, 1 - momentum))
            for old, new in zip(known, (mean, variance), strict=True)
        ]
    elif node.outputs > 1:
        raise NotImplementedError("expected one output without training_mode")
    epsilon = number(node.attr("epsilon", 1e-5), variance.type.dtype)
    scale = op.multiply(op.rsqrt(op.add(variance, epsilon)), cast(gamma, variance.type.dtype))
    shift = op.subtract(cast(beta, variance.type.dtype), op.multiply(mean, scale))
    wide = cast(x, variance.type.dtype)
    result = op.add(op.multiply(wide, along_channels(scale, rank)), along_channels(shift, rank))
    return cast(result, dtype) if running is None else (cast(result, dtype), *running)


@converter("InstanceNormalization")
def _instance_normalization(node: Node, x: ir.Value, gamma: ir.Value, beta: ir.Value) -> ir.Value:
    axes = list(range(2, rank_of(x)))
    return op.nn.instance_norm(x, gamma, beta, 1, axes, node.attr("epsilon", 1e-5))


@converter("GroupNormalization", since=21)
def _group_normalization(node: Node, x: ir.Value, gamma: ir.Value, beta: ir.Value) -> ir.Value:
    axes = list(range(2, rank_of(x)))
    groups = node.attr("num_groups")
    return op.nn.group_norm(x, gamma, beta, groups, 1, axes, node.attr("epsilon", 1e-5))


@converter("LayerNormalization")
def _layer_normalization(
    node: Node, x: ir.Value, gamma: ir.Value, beta: ir.Value | None = None
) -> Any:
    axis = normal_axis(node.attr("axis", -1), rank_of(x))
    return layer_norm(x, gamma, beta, axis, node.attr("epsilon", 1e-5), node.outputs)


def layer_norm(
    x: ir.Value, gamma: ir.Value, beta: ir.Value | None, axis: int, epsilon: float, outputs: int = 1
) -> Any:
    """Return a tensor normalized from an axis on, and its mean and inverse deviation.

    Parameters
    ----------
    x, gamma : mlir.ir.Value
    beta : mlir.ir.Value, optional
    axis : int
    epsilon : float
    outputs : int
        How many of the three are wanted.
    """
    dims, axes = shape_of(x), list(range(axis, rank_of(x)))
    plain = [shape_of(one) for one in (gamma, beta) if one is not None]
    if outputs <= 1 and all(_are_same(one, dims[axis:]) for one in plain):
        shift = op.zeros(dims[axis:], x.type.dtype) if beta is None else beta
        return op.nn.layer_norm(x, gamma, shift, axes, epsilon)
    wide = x if x.type.dtype == "float64" else cast(x, "float32")
    mean = op.mean(wide, axes, True)
    apart = op.subtract(wide, mean)
    square = op.mean(op.multiply(apart, apart), axes, True)
    inverse = op.rsqrt(op.add(square, number(epsilon, wide.type.dtype)))
    result = op.multiply(cast(op.multiply(apart, inverse), x.type.dtype), gamma)
    return (result if beta is None else op.add(result, beta)), mean, inverse


def _are_same(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(
        same(one, other) for one, other in zip(first, second, strict=True)
    )


@converter("RMSNormalization")
def _rms_normalization(node: Node, x: ir.Value, gamma: ir.Value) -> ir.Value:
    axis = normal_axis(node.attr("axis", -1), rank_of(x))
    dims = shape_of(x)
    if not _are_same(shape_of(gamma), dims[axis:]):
        gamma = expand(gamma, dims[axis:])
    axes = list(range(axis, len(dims)))
    return op.nn.rms_norm(x, gamma, axes, node.attr("epsilon", 1e-5))


@converter("LpNormalization")
def _lp_normalization(node: Node, x: ir.Value) -> ir.Value:
    axis, p = normal_axis(node.attr("axis", -1), rank_of(x)), node.attr("p", 2)
    if p not in (1, 2):
        raise NotImplementedError(f"expected p=1 or p=2, but got {p}")
    size = op.sum(op.abs(x) if p == 1 else op.multiply(x, x), [axis], True)
    norm = size if p == 1 else op.sqrt(size)
    zero = number(0, x.type.dtype)
    return op.where(op.equal(norm, zero), zero, op.divide(x, norm))


@converter("LRN")
def _lrn(node: Node, x: ir.Value) -> ir.Value:
    size, dtype = node.attr("size"), x.type.dtype
    means = window_means(op.multiply(x, x), 1, (size - 1) // 2, size)
    base = op.add(scaled(means, node.attr("alpha", 1e-4)), number(node.attr("bias", 1.0), dtype))
    return op.divide(x, op.power(base, number(node.attr("beta", 0.75), dtype)))


@converter("Det")
def _determinant(_: Node, x: ir.Value) -> ir.Value:
    rows, columns = shape_of(x)[-2:]
    if rows != columns:
        raise ValueError(f"expected square matrices, but got {rows} x {columns}")
    if isinstance(rows, int) and rows <= 3:
        return _det(_matrix(x, rows), x)
    wide = cast(x, "float64" if x.type.dtype == "float64" else "float32")
    return cast(determinant(wide), x.type.dtype)


def _matrix(x: ir.Value, n: int) -> list[list[ir.Value]]:
    rank = rank_of(x)

    def element(i: int, j: int) -> ir.Value:
        axes = [rank - 2, rank - 1]
        one = op.strided_slice(x, axes, [i, j], [i + 1, j + 1], [1, 1], assume_inbound=True)
        return op.squeeze(one, axes)

    return [[element(i, j) for j in range(n)] for i in range(n)]


def _det(rows: list[list[ir.Value]], x: ir.Value) -> ir.Value:
    if not rows:
        return op.ones(shape_of(x)[:-2], x.type.dtype)
    if len(rows) == 1:
        return rows[0][0]
    total = None
    for i, one in enumerate(rows[0]):
        minor = [row[:i] + row[i + 1 :] for row in rows[1:]]
        term = op.multiply(one, _det(minor, x))
        if total is None:
            total = term
        else:
            total = op.subtract(total, term) if i % 2 else op.add(total, term)
    return total
