# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data types of less than a byte, which wider ones hold, and conversions to small floats.

Relax has no integers of 4 or 2 bits, and no floats of 4: their numbers are in integers of 8 bits,
and in `float8_e4m3fn`, which has all of them. ONNX defines few operators on these types, which move
elements, convert or quantize them. So the holder will do wherever such a tensor is read; where one
is made, the importer has to know that the type is narrower.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import onnx
from mlir import ir

from ... import op, topi
from ...composites.kernels import call_te
from ...composites.tensors import cast, number

if TYPE_CHECKING:
    from .registry import Node


@dataclasses.dataclass(frozen=True)
class Narrow:
    """A data type of less than a byte.

    Parameters
    ----------
    dtype : str
        Its name in ml_dtypes.
    holder : str
        The data type of the tensors that have its numbers.
    bits : int
    """

    dtype: str
    holder: str
    bits: int

    @property
    def is_signed(self) -> bool:
        """Whether it has negative integers."""
        return self.holder == "int8"


_ALL = {
    "INT4": Narrow("int4", "int8", 4),
    "UINT4": Narrow("uint4", "uint8", 4),
    "INT2": Narrow("int2", "int8", 2),
    "UINT2": Narrow("uint2", "uint8", 2),
    "FLOAT4E2M1": Narrow("float4_e2m1fn", "float8_e4m3fn", 4),
}
# By data types of ONNX, of which older versions of the package have fewer.
NARROW: dict[int, Narrow] = {
    getattr(onnx.TensorProto, name): narrow
    for name, narrow in _ALL.items()
    if hasattr(onnx.TensorProto, name)
}


def unpacked(packed: np.ndarray, narrow: Narrow, shape: tuple[int, ...]) -> np.ndarray:
    """Return the numbers that bytes hold, those of the lower bits of a byte first."""
    count, mask = int(np.prod(shape, dtype=np.int64)), (1 << narrow.bits) - 1
    shifts = np.arange(0, 8, narrow.bits, dtype="uint8")
    codes = (packed[:, None] >> shifts & mask).reshape(-1)[:count].reshape(shape)
    return codes.view(numpy_dtype(narrow.dtype)).astype(numpy_dtype(narrow.holder))


def held(array: np.ndarray) -> np.ndarray:
    """Return an array of a narrow type in the one that holds it, others as they are."""
    for narrow in NARROW.values():
        if array.dtype.name == narrow.dtype:
            return array.astype(numpy_dtype(narrow.holder))
    return array


def numpy_dtype(dtype: str) -> np.dtype:
    """Return a data type by its name, of NumPy or ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


def output_types(node: Node) -> dict[str, int]:
    """Return the data types of ONNX of those outputs of a node that are narrow, by name."""
    types = [node.scope.narrow(name) for name in node.proto.input]
    made = _made(node, types)
    if made is not None:
        return {node.proto.output[0]: made} if made in NARROW else {}
    if not any(types) or not onnx.defs.has(node.proto.op_type, node.opset, node.domain):
        return {}
    schema = onnx.defs.get_schema(node.proto.op_type, node.opset, node.domain)
    of_input = {
        schema.inputs[min(i, len(schema.inputs) - 1)].type_str: kind
        for i, kind in enumerate(types)
        if kind
    }
    return {
        name: of_input[one.type_str]
        for name, one in zip(node.proto.output, schema.outputs, strict=False)
        if one.type_str in of_input
    }


def _made(node: Node, types: list[int]) -> int | None:
    """Return the data type of the result of an operator that converts; None for others."""
    kind = node.proto.op_type if node.domain == "" else ""
    if kind == "Cast":
        return int(node.attr("to"))
    if kind == "CastLike":
        return types[1]
    if kind == "QuantizeLinear":
        return int(node.attr("output_dtype", 0)) or (types[2] if len(types) > 2 else 0)
    if kind == "Constant" and "value" in node.attributes:
        return int(node.attr("value").data_type)
    return 0 if kind == "DequantizeLinear" else None


# -- conversions --------------------------------------------------------------------------------


def converted(x: ir.Value, dtype: str, kind: int, saturates: bool, rounding: str) -> ir.Value:
    """Return a tensor as `Cast` converts it.

    Parameters
    ----------
    x : mlir.ir.Value
    dtype : str
        Of the result: the holder, where that is narrow.
    kind : int
        The data type of ONNX, which may be a narrow one.
    saturates : bool
        Whether floats of 8 bits are those of the range, of numbers beyond.
    rounding : str
        How powers of 2 are chosen: "up", "down" or "nearest".
    """
    if kind in NARROW:
        return _narrowed(x, NARROW[kind])
    if dtype == "float8_e8m0fnu" and x.type.dtype != dtype:
        return _powers_of_two(x, saturates, rounding)
    if dtype.startswith("float8_") and saturates and x.type.dtype != dtype:
        return _saturated(x, dtype)
    return cast(x, dtype)


def _narrowed(x: ir.Value, narrow: Narrow) -> ir.Value:
    """Return the lowest bits of integers, or the nearest floats of 4 bits."""
    if narrow.holder.startswith("float"):
        return _nearest_float4(cast(x, "float32"))
    wide = cast(cast(x, "float32"), "int32") if x.type.dtype.startswith(("float", "bf")) else x
    wide = cast(wide, "int32")
    mask, sign = (1 << narrow.bits) - 1, 1 << (narrow.bits - 1)
    codes = op.bitwise_and(wide, number(mask, "int32"))
    if narrow.is_signed:
        flipped = op.bitwise_xor(codes, number(sign, "int32"))
        codes = op.subtract(flipped, number(sign, "int32"))
    return cast(codes, narrow.holder)


def clipped(x: ir.Value, narrow: Narrow) -> ir.Value:
    """Return whole numbers as those of a narrow type, or the nearest in its range."""
    if narrow.holder.startswith("float"):
        return _nearest_float4(x)
    low = -(1 << (narrow.bits - 1)) if narrow.is_signed else 0
    return cast(op.clip(x, low, low + (1 << narrow.bits) - 1), narrow.holder)


def _nearest_float4(x: ir.Value) -> ir.Value:
    """Return the nearest of 0, 0.5, 1, 1.5, 2, 3, 4 and 6, with signs; ties to even, NaN to 0."""
    size = op.minimum(op.abs(x), number(6, "float32"))
    step = op.where(op.less(size, number(4, "float32")), number(1, "float32"),
                    number(2, "float32"))  # fmt: skip
    step = op.where(op.less(size, number(2, "float32")), number(0.5, "float32"), step)
    rounded = op.multiply(op.round(op.divide(size, step)), step)
    signed = op.where(op.less(x, number(0, "float32")), op.negative(rounded), rounded)
    return cast(op.where(op.isnan(x), number(0, "float32"), signed), "float8_e4m3fn")


def _saturated(x: ir.Value, dtype: str) -> ir.Value:
    """Return floats of 8 bits, the largest ones of numbers beyond them."""
    wide = x if x.type.dtype == "float64" else cast(x, "float32")
    most = float(ml_dtypes.finfo(dtype).max)
    return cast(op.where(op.isnan(wide), wide, op.clip(wide, -most, most)), dtype)


def _powers_of_two(x: ir.Value, saturates: bool, rounding: str) -> ir.Value:
    """Return the powers of 2 that bound numbers, or are near them; their exponents are bytes."""
    if rounding not in ("up", "down", "nearest"):
        raise ValueError(f"expected round_mode up, down or nearest, but got {rounding!r}")
    bits = _reinterpreted(cast(x, "float32"), "int32")
    shifted = op.right_shift(bits, number(23, "int32"))
    exponent = op.bitwise_and(shifted, number(0xFF, "int32"))
    fraction = op.bitwise_and(bits, number(0x7FFFFF, "int32"))
    if rounding != "down":
        half = number(0 if rounding == "up" else 0x400000, "int32")
        is_up = op.greater(fraction, half)
        if rounding == "nearest":  # a half goes up, but that of the least exponent
            is_tie = op.equal(fraction, half)
            is_up = op.logical_or(
                is_up, op.logical_and(is_tie, op.greater(exponent, number(0, "int32")))
            )
        is_up = op.logical_and(
            is_up, op.less(exponent, number(0xFE if saturates else 0xFF, "int32"))
        )
        exponent = op.add(exponent, cast(is_up, "int32"))
    return _reinterpreted(cast(exponent, "uint8"), "float8_e8m0fnu")


def _reinterpreted(x: ir.Value, dtype: str) -> ir.Value:
    return call_te(topi.reinterpret, x, dtype)
