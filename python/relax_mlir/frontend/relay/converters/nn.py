# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of neural networks: products, activations, losses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op
from ....composites.convolution import widened
from ....composites.layouts import unpacked
from ....composites.tensors import cast, normal_axis, number, same, transposed
from ...values import Operator, rank_of, shape_of
from .convolution import refuse_rewritten, result_dtype
from .operands import of_equal_dims
from .registry import REQUIRED, Function, converts


def along(value: ir.Value, axis: int, rank: int) -> ir.Value:
    """Return a vector as a tensor of a rank that has it along one dimension."""
    axes = [i for i in range(rank) if i != axis]
    return op.expand_dims(value, axes) if axes else value


# -- products -----------------------------------------------------------------------------------


def multiplied(
    attrs: SimpleNamespace, x: ir.Value, y: ir.Value, transpose_a: bool, transpose_b: bool
) -> ir.Value:
    """Return the product of matrices, some of them transposed, with the data type of attributes.

    Raises
    ------
    NotImplementedError
        If a weight has the order that a search for schedules gave it.
    """
    refuse_rewritten(attrs)
    dtype = result_dtype(attrs, x)
    x, y = widened(x, y, dtype)
    left, right = transposed(x) if transpose_a else x, transposed(y) if transpose_b else y
    return op.matmul(*_fitting(left, right), dtype)


def _fitting(left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return matrices that are known to fit each other; that they do is checked at run time."""
    mine, other = shape_of(left), shape_of(right)
    # One of a batch is broadcast where it is known to be one.
    batch = [i for i in range(min(len(mine), len(other)) - 2) if 1 not in (mine[i], other[i])]
    return of_equal_dims(left, right, [(-1, -2), *((i, i) for i in batch)])


def _check_units(attrs: SimpleNamespace, units: Any) -> None:
    if attrs.units is not None and same(int(attrs.units), units) is False:
        raise ValueError(f"expected a weight for units={attrs.units}, but got one for {units}")


@converts("nn.dense", units=None, out_dtype="", meta_schedule_original_shape=())
def dense(attrs: SimpleNamespace, data: ir.Value, weight: ir.Value) -> ir.Value:
    """Return the product of a tensor with a weight, of which each row gives one element.

    Raises
    ------
    ValueError
        If the weight is not what the attributes say.
    """
    if rank_of(weight) != 2:
        raise ValueError(f"expected a weight of rank 2, but got rank {rank_of(weight)}")
    _check_units(attrs, shape_of(weight)[0])
    return multiplied(attrs, data, weight, False, True)


@converts("nn.contrib_dense_pack", units=None, out_dtype="", weight_layout="NC")
def _dense_pack(attrs: SimpleNamespace, data: ir.Value, weight: ir.Value) -> ir.Value:
    attrs.meta_schedule_original_shape = ()
    return dense(attrs, data, unpacked(weight, attrs.weight_layout, "NC"))


_TRANSPOSES: dict[str, Any] = {
    "transpose_a": False, "transpose_b": False, "meta_schedule_original_shape": (),
}  # fmt: skip


@converts("nn.matmul", units=None, out_dtype="", **_TRANSPOSES)
def _matmul(attrs: SimpleNamespace, tensor_a: ir.Value, tensor_b: ir.Value) -> ir.Value:
    if rank_of(tensor_b) != 2:
        raise ValueError(f"expected tensor_b of rank 2, but got rank {rank_of(tensor_b)}")
    _check_units(attrs, shape_of(tensor_b)[0 if attrs.transpose_b else 1])
    return multiplied(attrs, tensor_a, tensor_b, attrs.transpose_a, attrs.transpose_b)


@converts("nn.batch_matmul", out_dtype="", **_TRANSPOSES)
def _batch_matmul(attrs: SimpleNamespace, tensor_a: ir.Value, tensor_b: ir.Value) -> ir.Value:
    ranks = [rank_of(tensor_a), rank_of(tensor_b)]
    if ranks != [3, 3]:
        raise ValueError(f"expected tensors of rank 3, but got ranks {ranks}")
    return multiplied(attrs, tensor_a, tensor_b, attrs.transpose_a, attrs.transpose_b)


@converts("nn.bias_add", axis=1)
def _bias_add(attrs: SimpleNamespace, data: ir.Value, bias: ir.Value) -> ir.Value:
    rank = rank_of(data)
    return op.add(data, along(bias, normal_axis(int(attrs.axis), rank), rank))


# -- activations --------------------------------------------------------------------------------


@converts("nn.relu")
def _relu(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return op.nn.relu(data)


@converts("nn.leaky_relu", alpha=0.25)
def _leaky_relu(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return op.nn.leakyrelu(data, float(attrs.alpha))


@converts("nn.prelu", axis=1)
def _prelu(attrs: SimpleNamespace, data: ir.Value, alpha: ir.Value) -> ir.Value:
    return op.nn.prelu(data, alpha, normal_axis(int(attrs.axis), rank_of(data)))


def _softmax(operator: Operator) -> Function:
    def convert(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
        return operator(data, normal_axis(int(attrs.axis), rank_of(data)))

    return convert


converts("nn.softmax", "nn.fast_softmax", axis=-1)(_softmax(op.nn.softmax))
converts("nn.log_softmax", axis=-1)(_softmax(op.nn.log_softmax))


@converts("nn.dropout", rate=0.5)
def _dropout(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    # Without training all elements are kept.
    return op.tuple(data, op.ones_like(data))


# -- losses -------------------------------------------------------------------------------------


@converts("nn.cross_entropy")
def _cross_entropy(attrs: SimpleNamespace, x: ir.Value, y: ir.Value) -> ir.Value:
    _require_matrices(x, y)
    return op.nn.cross_entropy_with_logits(op.log(x), y)


@converts("nn.cross_entropy_with_logits")
def _cross_entropy_with_logits(attrs: SimpleNamespace, x: ir.Value, y: ir.Value) -> ir.Value:
    _require_matrices(x, y)
    return op.nn.cross_entropy_with_logits(x, y)


def _require_matrices(*operands: ir.Value) -> None:
    ranks = [rank_of(one) for one in operands]
    if ranks != [2, 2]:
        raise ValueError(f"expected predictions and targets of rank 2, but got ranks {ranks}")


@converts("nn.nll_loss", reduction="mean", ignore_index=REQUIRED)
def _nll_loss(
    attrs: SimpleNamespace, predictions: ir.Value, targets: ir.Value, weights: ir.Value
) -> ir.Value:
    if attrs.reduction not in ("mean", "sum", "none"):
        raise ValueError(f"expected reduction mean, sum or none, but got '{attrs.reduction}'")
    if rank_of(predictions) != rank_of(targets) + 1:
        raise ValueError(
            f"expected predictions of one more dimension than targets, but got ranks "
            f"{rank_of(predictions)} and {rank_of(targets)}"
        )
    classes = cast(targets, "int64")
    counts = op.not_equal(classes, number(attrs.ignore_index, "int64"))
    classes = op.where(counts, classes, number(0, "int64"))
    chosen = op.gather_elements(predictions, op.expand_dims(classes, 1), 1)
    zero = number(0, predictions.type.dtype)
    factors = op.where(counts, op.take(weights, classes, 0), zero)
    losses = op.negative(op.multiply(op.squeeze(chosen, [1]), factors))
    losses = op.where(counts, losses, zero)
    if attrs.reduction == "none":
        return losses
    total = op.sum(losses)
    return total if attrs.reduction == "sum" else op.divide(total, op.sum(factors))


@converts("nn.fifo_buffer", axis=0)
def _fifo_buffer(attrs: SimpleNamespace, data: ir.Value, buffer: ir.Value) -> ir.Value:
    axis = normal_axis(int(attrs.axis), rank_of(buffer))
    begin, length = shape_of(data)[axis], shape_of(buffer)[axis]
    joined = op.concat([buffer, cast(data, buffer.type.dtype)], axis)
    return op.strided_slice(joined, [axis], [begin], [begin + length], [1], assume_inbound=True)
