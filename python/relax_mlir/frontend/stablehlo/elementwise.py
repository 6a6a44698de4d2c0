# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on elements.

Operands that are broadcast only for an operator are taken as they were: operators of Relax
broadcast themselves.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from mlir import ir

from ... import op, topi
from ...composites.arithmetic import (
    expm1,
    integer_power,
    log1p,
    round_away,
    truncated_remainder,
)
from ...composites.tensors import bits_of
from ...core.expr import const
from .registry import Function, Node, converts
from .values import (
    Size,
    Sizes,
    Spread,
    Value,
    as_known,
    as_tensor,
    cast,
    dtype_of,
    is_float,
    number,
    rank_of,
    shape_of,
)


def _agreed(node: Node, values: list[Any]) -> list[Any]:
    """Return operands of which the dimensions are known to be equal."""
    dims = [shape_of(value) for value in values]
    columns = zip(*dims, strict=True)
    wanted = [next((d for d in column if isinstance(d, int)), column[0]) for column in columns]
    same = node.importer.dimensions.same
    return [
        value
        if isinstance(value, Spread) or all(map(same, mine, wanted))
        else node.importer.matched(as_tensor(value), wanted)
        for value, mine in zip(values, dims, strict=True)
    ]


def broadcasting(node: Node, function: Function, *operands: Value) -> Value:
    """Apply an operator of Relax to operands of one shape, or to what they are broadcast from.

    Parameters
    ----------
    node : Node
    function : callable
        Called with tensors.
    *operands : value
    """
    values = [as_tensor(one) if isinstance(one, Sizes) else one for one in operands]
    values = _agreed(node, [_spread(one) for one in values])
    dims: tuple[Size, ...] = tuple(shape_of(values[0]))
    sources = [one.source if isinstance(one, Spread) else one for one in values]
    tensors = [node.importer.tensor(node.scope, source) for source in sources]
    result = function(*tensors)
    if tuple(shape_of(result)) == dims:
        return result
    if all(isinstance(one, Spread) for one in values):
        return Spread(node.importer.builder.emit(result), dims)
    return op.broadcast_to(result, list(dims))


def _spread(value: Value) -> Value:
    """Return a constant of one number as one that is broadcast."""
    if isinstance(value, np.ndarray) and value.ndim and value.size > 1:
        first = value.flat[0]
        if value.strides == (0,) * value.ndim or (
            value.size <= 64 and bool((value == first).all())
        ):
            return Spread(np.asarray(first), value.shape)
    return value


def _elementwise(function: Function) -> Function:
    def convert(node: Node, *operands: Value) -> Value:
        return broadcasting(node, function, *operands)

    return convert


def on_integers(function: Function) -> Function:
    """Return a function of integers that takes conditions, too."""

    @functools.wraps(function)
    def apply(*operands: ir.Value) -> ir.Value:
        dtype = dtype_of(operands[0])
        if dtype != "bool":
            return function(*operands)
        return cast(function(*(cast(one, "uint8") for one in operands)), dtype)

    return apply


def _logic(of_conditions: Function, of_bits: Function) -> Function:
    def apply(*operands: ir.Value) -> ir.Value:
        return (of_conditions if dtype_of(operands[0]) == "bool" else of_bits)(*operands)

    return apply


def _where_float(of_floats: Function, of_integers: Function) -> Function:
    def apply(*operands: ir.Value) -> ir.Value:
        return (of_floats if is_float(dtype_of(operands[0])) else of_integers)(*operands)

    return apply


def _cube_root(x: ir.Value) -> ir.Value:
    dtype = dtype_of(x)
    root = op.power(op.abs(x), number(1 / 3, dtype))
    # A step of Newton makes good what rounding 1/3 took.
    square = op.multiply(root, root)
    step = op.divide(op.subtract(root, op.divide(op.abs(x), square)), number(3, dtype))
    usable = op.logical_and(op.isfinite(root), op.greater(root, number(0, dtype)))
    return op.multiply(op.sign(x), op.where(usable, op.subtract(root, step), root))


def _logical_shift(x: ir.Value, y: ir.Value) -> ir.Value:
    dtype = dtype_of(x)
    if dtype.startswith("u"):
        return op.right_shift(x, y)
    return cast(op.right_shift(cast(x, f"u{dtype}"), cast(y, f"u{dtype}")), dtype)


def _arithmetic_shift(x: ir.Value, y: ir.Value) -> ir.Value:
    dtype = dtype_of(x)
    if not dtype.startswith("u"):
        return op.right_shift(x, y)
    signed = dtype[1:]
    return cast(op.right_shift(cast(x, signed), cast(y, signed)), dtype)


def _ones_of_bits(x: ir.Value) -> ir.Value:
    """Return how many bits are set: sums of neighbours, in fields of growing width."""
    dtype = dtype_of(x)
    unsigned = dtype if dtype.startswith("u") else f"u{dtype}"
    bits, value, width = int(unsigned[4:]), cast(x, unsigned), 1
    while width < bits:
        field = sum(((1 << width) - 1) << place for place in range(0, bits, 2 * width))
        mask, shift = number(field, unsigned), number(width, unsigned)
        upper = op.bitwise_and(op.right_shift(value, shift), mask)
        value = op.add(op.bitwise_and(value, mask), upper)
        width *= 2
    return cast(value, dtype)


def _leading_zeros(x: ir.Value) -> ir.Value:
    dtype = dtype_of(x)
    unsigned = dtype if dtype.startswith("u") else f"u{dtype}"
    bits, value, shift = int(unsigned[4:]), cast(x, unsigned), 1
    while shift < bits:
        value = op.bitwise_or(value, op.right_shift(value, number(shift, unsigned)))
        shift *= 2
    return cast(_ones_of_bits(op.bitwise_not(value)), dtype)


_FUNCTIONS: dict[str, Function] = {
    "abs": lambda x: x if dtype_of(x).startswith("u") else op.abs(x),
    "add": _logic(op.logical_or, op.add),
    "and": _logic(op.logical_and, op.bitwise_and),
    "atan2": op.atan2,
    "cbrt": _cube_root,
    "ceil": op.ceil,
    "cosine": op.cos,
    "count_leading_zeros": _leading_zeros,
    "divide": op.divide,
    "exponential": op.exp,
    "exponential_minus_one": expm1,
    "floor": op.floor,
    "is_finite": op.isfinite,
    "log": op.log,
    "log_plus_one": log1p,
    "logistic": op.sigmoid,
    "maximum": _logic(op.logical_or, op.maximum),
    "minimum": _logic(op.logical_and, op.minimum),
    "multiply": _logic(op.logical_and, op.multiply),
    "negate": op.negative,
    "not": _logic(op.logical_not, op.bitwise_not),
    "or": _logic(op.logical_or, op.bitwise_or),
    "popcnt": _ones_of_bits,
    "power": _where_float(op.power, integer_power),
    "remainder": truncated_remainder,
    "round_nearest_afz": round_away,
    "round_nearest_even": op.round,
    "rsqrt": op.rsqrt,
    "select": op.where,
    "shift_left": op.left_shift,
    "shift_right_arithmetic": _arithmetic_shift,
    "shift_right_logical": _logical_shift,
    "sign": op.sign,
    "sine": op.sin,
    "sqrt": op.sqrt,
    "subtract": op.subtract,
    "tan": op.tan,
    "tanh": op.tanh,
    "xor": _logic(op.logical_xor, op.bitwise_xor),
}
for _name, _function in _FUNCTIONS.items():
    if _name != "select":
        converts(f"stablehlo.{_name}", raw=True)(_elementwise(_function))


def binary(kind: str) -> Function | None:
    """Return the function of two tensors that an operator is, by its name; None for others."""
    return _FUNCTIONS.get(kind) if kind in _REDUCERS else None


_REDUCERS = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")

_COMPARISONS: dict[str, Function] = {
    "EQ": op.equal,
    "NE": op.not_equal,
    "LT": op.less,
    "LE": op.less_equal,
    "GT": op.greater,
    "GE": op.greater_equal,
}


@converts("stablehlo.compare", raw=True)
def _compare(node: Node, x: Value, y: Value) -> Value:
    if node.has("compare_type") and node.enum("compare_type") == "TOTALORDER":
        raise NotImplementedError("expected a comparison other than TOTALORDER, except in sort")
    function = _COMPARISONS[node.enum("comparison_direction")]
    if dtype_of(x) == "bool":
        return broadcasting(node, lambda a, b: function(cast(a, "uint8"), cast(b, "uint8")), x, y)
    return broadcasting(node, function, x, y)


@converts("stablehlo.select", raw=True)
def _select(node: Node, condition: Value, x: Value, y: Value) -> Value:
    known = as_known(condition)
    if isinstance(known, np.ndarray) and known.size and (known == known.flat[0]).all():
        return x if known.flat[0] else y
    if not shape_of(condition) and rank_of(x):
        condition = Spread(as_tensor(condition), tuple(shape_of(x)))
    return broadcasting(node, op.where, condition, x, y)


@converts("stablehlo.clamp", raw=True)
def _clamp(node: Node, low: Value, x: Value, high: Value) -> Value:
    dims = tuple(shape_of(x))
    bounds = [
        Spread(one if isinstance(one, np.ndarray) else as_tensor(one), dims)
        if not shape_of(one) and dims
        else one
        for one in (low, high)
    ]
    return broadcasting(
        node, lambda a, b, c: op.minimum(op.maximum(a, b), c), x, bounds[0], bounds[1]
    )


@converts("stablehlo.convert", raw=True)
def _convert(node: Node, x: Value) -> Value:
    dtype = node.result.dtype
    if dtype_of(x) == dtype:
        return x
    if dtype == "bool":
        zero = number(0, dtype_of(x))
        return broadcasting(node, lambda one: op.not_equal(one, zero), x)
    return broadcasting(node, lambda one: op.astype(one, dtype), x)


@converts("stablehlo.reduce_precision", raw=True)
def _reduce_precision(node: Node, x: Value) -> Value:
    bits = (node.attr("exponent_bits"), node.attr("mantissa_bits"))
    forms = {(5, 10): "float16", (8, 7): "bfloat16", (8, 23): "float32", (11, 52): "float64"}
    if bits not in forms:
        raise NotImplementedError(
            f"expected the bits of one of {', '.join(forms.values())}, but got {bits}"
        )
    dtype = dtype_of(x)
    return broadcasting(node, lambda one: cast(cast(one, forms[bits]), dtype), x)


@converts("stablehlo.bitcast_convert")
def _bitcast_convert(node: Node, x: ir.Value) -> ir.Value:
    """Return the bits of elements as another type: the parts of one begin with the lowest."""
    dtype, old = node.result.dtype, dtype_of(x)
    if "bool" in (dtype, old):
        raise NotImplementedError(f"expected data types of bytes, but got {old} and {dtype}")
    before, after = bits_of(old), bits_of(dtype)
    if before == after:
        return _reinterpreted(node, x, dtype)
    least, most = sorted((before, after))
    part, whole = f"uint{least}", f"uint{most}"
    shifts = const(np.arange(0, most, least, dtype=whole), whole)
    x = _reinterpreted(node, x, f"uint{before}")
    if before > after:
        x = op.astype(op.right_shift(op.expand_dims(x, -1), shifts), part)
    else:
        x = op.sum(op.left_shift(op.astype(x, whole), shifts), [-1])
    return _reinterpreted(node, x, dtype)


def _reinterpreted(node: Node, x: ir.Value, dtype: str) -> ir.Value:
    """Return the bits of elements as another type of the same size."""
    if dtype_of(x) == dtype:
        return x
    return node.importer.builder.call_te(topi.reinterpret, x, dtype)


@converts("stablehlo.real", raw=True)
def _real(node: Node, x: Value) -> Value:
    return x


@converts("stablehlo.batch_norm_inference")
def _batch_norm_inference(node: Node, x: ir.Value, *params: ir.Value) -> ir.Value:
    axis, rank = node.attr("feature_index"), rank_of(x)
    around = [i for i in range(rank) if i != axis]
    scale, shift, mean, variance = (op.expand_dims(one, around) for one in params)
    spread = op.rsqrt(op.add(variance, number(node.attr("epsilon"), dtype_of(x))))
    return op.add(op.multiply(op.subtract(x, mean), op.multiply(spread, scale)), shift)
