# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, scans, and the places of extremes."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...composites.tensors import cast, facts, normal_axis, number, product, size_tensor
from ...core.ir import Dim
from ..values import Operator, Value, is_known, known_ints, known_sizes, rank_of, shape_of
from .manipulate import axes_of
from .registry import Function, Node, converter
from .selection import part_by_data


def _l1(x: ir.Value, axes: Any, keep: bool) -> ir.Value:
    return op.sum(op.abs(x) if not x.type.dtype.startswith("uint") else x, axes, keep)


def _sum_square(x: ir.Value, axes: Any, keep: bool) -> ir.Value:
    return op.sum(op.multiply(x, x), axes, keep)


def _as_float(x: ir.Value) -> ir.Value:
    return x if x.type.dtype.startswith(("float", "bfloat")) else op.astype(x, "float64")


def _l2(x: ir.Value, axes: Any, keep: bool) -> ir.Value:
    return cast(op.sqrt(_sum_square(_as_float(x), axes, keep)), x.type.dtype)


def _log_sum(x: ir.Value, axes: Any, keep: bool) -> ir.Value:
    return cast(op.log(op.sum(_as_float(x), axes, keep)), x.type.dtype)


def _log_sum_exp(x: ir.Value, axes: Any, keep: bool) -> ir.Value:
    wide = _as_float(x)
    largest = op.max(wide, axes, True)
    # Of nothing but -infinity, or of an infinity, the differences are none.
    base = op.where(op.isfinite(largest), largest, number(0, wide.type.dtype))
    total = op.log(op.sum(op.exp(op.subtract(wide, base)), axes, True))
    result = op.add(total, base)
    if not keep:
        result = op.squeeze(result, axes)
    return cast(result, x.type.dtype)


def _mean(x: ir.Value, axes: Any, keep: bool) -> ir.Value:
    if x.type.dtype.startswith(("float", "bfloat")):
        return op.mean(x, axes, keep)
    total = op.sum(op.astype(x, "int64"), axes, keep)
    count = number(1, "int64")
    for axis in axes:
        count = op.multiply(count, size_tensor(shape_of(x)[axis]))
    return cast(op.divide(total, count), x.type.dtype)


def _extreme(operator: Operator) -> Operator:
    def reduce(x: ir.Value, axes: Any, keep: bool) -> ir.Value:
        if x.type.dtype == "bool":
            return op.astype(operator(op.astype(x, "uint8"), axes, keep), "bool")
        return operator(x, axes, keep)

    return reduce


_REDUCTIONS: dict[str, Operator] = {
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _extreme(op.max),
    "ReduceMean": _mean,
    "ReduceMin": _extreme(op.min),
    "ReduceProd": op.prod,
    "ReduceSum": op.sum,
    "ReduceSumSquare": _sum_square,
}
# What operators do to single elements, where no axis is to be reduced but the operator applies.
_WITHOUT_AXES = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")


def _reduction(operator: Operator) -> Function:
    def convert(node: Node, x: ir.Value, axes: Value = None) -> ir.Value:
        given, rank = axes_of(node, axes), rank_of(x)
        if not given and node.attr("noop_with_empty_axes", 0):
            if node.proto.op_type not in _WITHOUT_AXES:
                return x
            # A reduction of an axis of one element.
            return operator(op.expand_dims(x, rank), [rank], False)
        along = [normal_axis(axis, rank) for axis in given] if given else list(range(rank))
        if not along:
            return operator(op.expand_dims(x, 0), [0], False)
        return operator(x, along, bool(node.attr("keepdims", 1)))

    return convert


for _name, _operator in _REDUCTIONS.items():
    converter(_name, raw=(1,))(_reduction(_operator))


def _place_of(operator: Operator) -> Function:
    def convert(node: Node, x: ir.Value) -> ir.Value:
        axis, keep = normal_axis(node.attr("axis", 0), rank_of(x)), bool(node.attr("keepdims", 1))
        if not node.attr("select_last_index", 0):
            return operator(x, axis, keep)
        last = op.subtract(size_tensor(shape_of(x)[axis]), number(1, "int64"))
        return op.subtract(last, operator(op.flip(x, axis), axis, keep))

    return convert


converter("ArgMax")(_place_of(op.argmax))
converter("ArgMin")(_place_of(op.argmin))


@converter("TopK", since=10, raw=(1,))
def _top_k(node: Node, x: ir.Value, count: Value) -> Any:
    axis = normal_axis(node.attr("axis", -1), rank_of(x))
    largest = bool(node.attr("largest", 1))
    end = known_sizes(count, "a count")[0] if is_known(count) else None
    if isinstance(end, int) and end > 0:
        ordered = op.topk(x, end, axis, "both", largest, "int64")
        return op.get_item(ordered, 0), op.get_item(ordered, 1)
    ordered = op.topk(x, 0, axis, "both", largest, "int64")
    return tuple(_first(node, op.get_item(ordered, i), axis, count) for i in range(2))


def _first(node: Node, x: ir.Value, axis: int, count: Value) -> ir.Value:
    """Return so many first elements."""
    if not is_known(count):
        wanted = cast(op.reshape(count, []), "int64")
        return part_by_data(node, x, axis, number(0, "int64"), wanted, 1)
    end, extent = known_sizes(count, "a count")[0], shape_of(x)[axis]
    is_inside = bool(Dim(end).prove_less_equal(extent, facts(Dim(end), Dim(extent))))
    if not is_inside and isinstance(end, int) and isinstance(extent, int):
        raise ValueError(f"expected a count of up to {extent}, but got {end}")
    return op.strided_slice(x, [axis], [0], [end], [1], assume_inbound=is_inside)


def _scan(operator: Operator) -> Function:
    def convert(node: Node, x: ir.Value, axis: Value) -> ir.Value:
        along = normal_axis(known_ints(axis, "an axis")[0], rank_of(x))
        exclusive = bool(node.attr("exclusive", 0))
        if not node.attr("reverse", 0):
            return operator(x, along, exclusive=exclusive)
        return op.flip(operator(op.flip(x, along), along, exclusive=exclusive), along)

    return convert


converter("CumSum", raw=(1,))(_scan(op.cumsum))
converter("CumProd", raw=(1,))(_scan(op.cumprod))


@converter("Hardmax")
def _hardmax(node: Node, x: ir.Value) -> ir.Value:
    axis = normal_axis(node.attr("axis", 1 if node.opset < 13 else -1), rank_of(x))
    if node.opset < 13:
        return _flattened(x, axis, lambda one: _hard(one, 1))
    return _hard(x, axis)


def _hard(x: ir.Value, axis: int) -> ir.Value:
    place = op.argmax(x, axis, True)
    shape = [1] * rank_of(x)
    shape[axis] = shape_of(x)[axis]
    places = op.reshape(op.arange(0, shape[axis], 1, "int64"), shape)
    return op.astype(op.equal(places, place), x.type.dtype)


def _flattened(x: ir.Value, axis: int, function: Operator) -> ir.Value:
    """Apply a function to a tensor as a matrix, of the dimensions before an axis and the others."""
    dims = shape_of(x)
    matrix = op.reshape(x, [product(dims[:axis]), product(dims[axis:])])
    return op.reshape(function(matrix), dims)


def _normalized(operator: Operator) -> Function:
    def convert(node: Node, x: ir.Value) -> ir.Value:
        axis = normal_axis(node.attr("axis", 1 if node.opset < 13 else -1), rank_of(x))
        if node.opset < 13:
            return _flattened(x, axis, lambda one: operator(one, 1))
        return operator(x, axis)

    return convert


converter("Softmax")(_normalized(op.nn.softmax))
converter("LogSoftmax")(_normalized(op.nn.log_softmax))
