# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of codes that stand for floats."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from .operations import rank_of
from .rewriting import dims_of, dtype_of, made_by

#: The least and the greatest code of each type.
CODES = {"int8": (-128, 127), "uint8": (0, 255)}
# The types of zero points: floats may be between codes.
_ZEROS = ("int8", "uint8", "int16", "int32")


@dataclass(frozen=True)
class Quantized:
    """The operands of a `dequantize` of codes of 8 bits to `float32`."""

    codes: ir.Value
    scale: ir.Value
    zero: ir.Value
    axis: int

    @staticmethod
    def match(value: ir.Value) -> Quantized | None:
        """Return those of a value; None where it is none, or blocks share a scale."""
        found = made_by(value, "relax.dequantize")
        if found is None or dtype_of(value) != "float32":
            return None
        codes, scale, zero = found.operands
        if codes.type.vdevice is not None:
            return None
        rank = rank_of(codes)
        has_blocks = "block_size" in found.attributes and found.attributes["block_size"].value
        if not rank or has_blocks or dtype_of(codes) not in CODES or dtype_of(zero) not in _ZEROS:
            return None
        axis = found.attributes["axis"].value if "axis" in found.attributes else -1
        return Quantized(codes, scale, zero, axis % rank)

    @property
    def parameters(self) -> tuple[ir.Value, ir.Value]:
        """The scale and the zero point."""
        return self.scale, self.zero

    def has_channels(self, axis: int) -> bool:
        """Whether it has one scale and zero point, or one for each index of an axis."""
        return axis == self.axis or all(map(has_one_element, self.parameters))


def has_one_element(value: ir.Value) -> bool:
    """Say whether a tensor has one element."""
    dims = dims_of(value)
    return dims is not None and all(dim.value == 1 for dim in dims)
