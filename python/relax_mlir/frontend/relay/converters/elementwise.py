# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on elements, conversions, and operators that only annotate.

Operands that are broadcast with each other have one data type: Relay converts none by itself.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from mlir import ir

from .... import op, topi
from ....composites.arithmetic import round_away, truncated_remainder
from ....composites.kernels import call_te
from ....composites.tensors import agreed, bits_of, cast, number
from ...values import Operator, Sizes, Value, as_tensor, dtype_of, rank_of
from .operands import ints, normal_axes, of_one_dtype
from .registry import REQUIRED, converts, identity


def is_integer(x: ir.Value) -> bool:
    """Say whether a tensor is of integers."""
    return bool(x.type.dtype.startswith(("int", "uint")))


def _of_floats(operator: Operator) -> Operator:
    """Return an operator that leaves integers as they are."""
    return lambda x: x if is_integer(x) else operator(x)


def _log_of(base: int) -> Operator:
    def log(x: ir.Value) -> ir.Value:
        # In 64 bits powers of the base have whole logarithms.
        wide = op.multiply(op.log(cast(x, "float64")), number(1 / math.log(base), "float64"))
        return cast(wide, x.type.dtype)

    return log


_UNARY: dict[str, Operator] = {
    "abs": lambda x: x if x.type.dtype.startswith("uint") else op.abs(x),
    "acos": op.acos,
    "acosh": op.acosh,
    "asin": op.asin,
    "asinh": op.asinh,
    "atan": op.atan,
    "atanh": op.atanh,
    "bitwise_not": op.bitwise_not,
    "ceil": _of_floats(op.ceil),
    "cos": op.cos,
    "cosh": op.cosh,
    "erf": op.erf,
    "exp": op.exp,
    # The fast ones are near the others, which are exact.
    "fast_erf": op.erf,
    "fast_exp": op.exp,
    "fast_tanh": op.tanh,
    "floor": _of_floats(op.floor),
    "isfinite": op.isfinite,
    "isinf": op.isinf,
    "isnan": op.isnan,
    "log": op.log,
    "log10": _log_of(10),
    "log2": _log_of(2),
    "logical_not": op.logical_not,
    "negative": op.negative,
    "round": _of_floats(round_away),
    "rsqrt": op.rsqrt,
    "sigmoid": op.sigmoid,
    "sign": op.sign,
    "sin": op.sin,
    "sinh": op.sinh,
    "sqrt": op.sqrt,
    "tan": op.tan,
    "tanh": op.tanh,
    "trunc": _of_floats(op.trunc),
}


def _power(x: ir.Value, y: ir.Value) -> ir.Value:
    if is_integer(x):
        raise ValueError(f"expected powers of floats, but got {x.type.dtype}; cast to float32")
    return op.power(x, y)


def _truncated_quotient(x: ir.Value, y: ir.Value) -> ir.Value:
    return op.divide(x, y) if is_integer(x) else op.trunc(op.divide(x, y))


_BINARY: dict[str, Operator] = {
    "add": op.add,
    "bitwise_and": op.bitwise_and,
    "bitwise_or": op.bitwise_or,
    "bitwise_xor": op.bitwise_xor,
    "divide": op.divide,
    "equal": op.equal,
    "floor_divide": op.floor_divide,
    "floor_mod": op.floor_mod,
    "greater": op.greater,
    "greater_equal": op.greater_equal,
    "left_shift": op.left_shift,
    "less": op.less,
    "less_equal": op.less_equal,
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
    "logical_xor": op.logical_xor,
    "maximum": op.maximum,
    "minimum": op.minimum,
    "mod": truncated_remainder,
    "multiply": op.multiply,
    "not_equal": op.not_equal,
    "power": _power,
    "right_shift": op.right_shift,
    "subtract": op.subtract,
    "trunc_divide": _truncated_quotient,
    "trunc_mod": truncated_remainder,
}


def _unary(operator: Operator) -> Callable[..., Value]:
    def convert(_: SimpleNamespace, data: ir.Value) -> ir.Value:
        return operator(data)

    return convert


def _binary(operator: Operator) -> Callable[..., Value]:
    def convert(_: SimpleNamespace, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return operator(*of_one_dtype(lhs, rhs))

    return convert


for _name, _operator in _UNARY.items():
    converts(_name)(_unary(_operator))
for _name, _operator in _BINARY.items():
    converts(_name)(_binary(_operator))


# -- annotations --------------------------------------------------------------------------------


for _name in ("stop_fusion", "bitpack_start", "bitpack_end", "checkpoint"):
    converts(f"annotation.{_name}", raw=True)(identity)
converts("copy", raw=True)(identity)
converts("annotation.cast_hint", raw=True, dtype=None)(identity)
for _name in ("compiler_begin", "compiler_end"):
    converts(f"annotation.{_name}", raw=True, compiler="")(identity)
converts(
    "on_device", raw=True, virtual_device=None, constrain_result=False, constrain_body=True
)(identity)  # fmt: skip
converts("annotation.with_funcid", raw=True, fid=None)(identity)
# The hook is of TVM's interpreter alone.
converts("debug", raw=True, debug_func=None)(identity)
# A program has one device.
converts("device_copy", raw=True, src_virtual_device=None, dst_virtual_device=None)(identity)


# -- conversions --------------------------------------------------------------------------------


@converts("cast", dtype=REQUIRED)
def _cast(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    return cast(data, attrs.dtype)


@converts("cast_like", raw=True)
def _cast_like(_: SimpleNamespace, data: Value, dtype_like: Value) -> Value:
    dtype = dtype_of(dtype_like)
    if isinstance(data, Sizes) and dtype.startswith(("int", "uint")):
        return dataclasses.replace(data, dtype=dtype)
    return cast(as_tensor(data), dtype)


@converts("reinterpret", dtype=REQUIRED)
def _reinterpret(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    source, dtype = data.type.dtype, attrs.dtype
    if bits_of(source) != bits_of(dtype):
        raise ValueError(f"expected a data type of {bits_of(source)} bits, but got {dtype}")
    if source == dtype:
        return data
    if all(name.startswith(("int", "uint")) for name in (source, dtype)):
        return op.astype(data, dtype)
    return call_te(topi.reinterpret, data, dtype)


# -- selections, bounds -------------------------------------------------------------------------


@converts("clip", a_min=REQUIRED, a_max=REQUIRED)
def _clip(attrs: SimpleNamespace, a: ir.Value) -> ir.Value:
    return op.clip(a, attrs.a_min, attrs.a_max)


@converts("where")
def _where(_: SimpleNamespace, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    of_one_dtype(x, y)
    return op.where(*agreed(cast(condition, "bool"), x, y))


# -- fixed point --------------------------------------------------------------------------------

_FRACTION = 31


def _require_int32(x: ir.Value) -> None:
    if x.type.dtype != "int32":
        raise ValueError(f"expected fixed point numbers of int32, but got {x.type.dtype}")


def _scaled(x: ir.Value, multiplier: ir.Value, shift: ir.Value) -> ir.Value:
    """Return x * multiplier * 2**-shift, rounded half up, of int64, as int32."""
    one = number(1, "int64")
    half = op.left_shift(one, op.subtract(shift, one))
    return cast(op.right_shift(op.add(op.multiply(x, multiplier), half), shift), "int32")


@converts("fixed_point_multiply", multiplier=REQUIRED, shift=REQUIRED)
def _fixed_point_multiply(attrs: SimpleNamespace, data: ir.Value) -> ir.Value:
    _require_int32(data)
    shift = int(attrs.shift)
    if not _FRACTION - 62 <= shift <= _FRACTION:
        raise ValueError(f"expected a shift from {_FRACTION - 62} to {_FRACTION}, but got {shift}")
    wide = cast(data, "int64")
    if shift > 0:
        wide = op.left_shift(wide, number(shift, "int64"))
    right = number(_FRACTION + max(-shift, 0), "int64")
    return _scaled(wide, number(attrs.multiplier, "int64"), right)


@converts(
    "fixed_point_multiply_per_axis", is_lshift_required=False, is_rshift_required=False, axes=()
)
def _fixed_point_multiply_per_axis(
    attrs: SimpleNamespace, x: ir.Value, y: ir.Value, lshift: ir.Value, rshift: ir.Value
) -> ir.Value:
    _require_int32(x)
    rank = rank_of(x)
    axes = normal_axes(ints(attrs.axes), rank)
    others = [i for i in range(rank) if i not in axes]

    def spread(parameter: ir.Value) -> ir.Value:
        if rank_of(parameter) != len(axes):
            raise ValueError(f"expected parameters of rank {len(axes)}, but got {parameter.type}")
        order = [axes.index(axis) for axis in sorted(axes)]
        moved = parameter if order == sorted(order) else op.permute_dims(parameter, order)
        return cast(op.expand_dims(moved, others) if others else moved, "int64")

    wide: Any = cast(x, "int64")
    right: Any = number(_FRACTION, "int64")
    if attrs.is_lshift_required:
        wide = op.left_shift(*agreed(wide, spread(lshift)))
    if attrs.is_rshift_required:
        right = op.add(right, spread(rshift))
    return _scaled(*agreed(wide, spread(y), right))
