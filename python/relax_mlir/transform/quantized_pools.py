# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The largest elements of windows of quantized tensors are the largest of their codes."""

from __future__ import annotations

import functools
from typing import Protocol

import numpy as np
from mlir import ir

from .. import op
from ..core.variables import walk
from .fold_constant import constant_values, is_computed_of_constants
from .operations import copy_operation
from .quantized_tensors import Quantized, has_one_element
from .rewriting import dtype_of, rewrite_operation

# Scales with which no code becomes infinite, or a number that is not normal.
_SCALES = (2.0**-100, 2.0**100)


def pool_codes(function: ir.Operation) -> None:
    """Let maxima of dequantized tensors be dequantized maxima of codes, which order them alike.

    Codes that are quantized again by their own scale and zero point stay as they are: the quotient
    is less than half a step from the code.
    """
    _rewrite(function, "relax.max_pool2d", _pool)
    _rewrite(function, "relax.quantize", _codes_again)


class _Make(Protocol):
    def __call__(self, found: ir.Operation, /, data: Quantized) -> ir.Value | None: ...


def _rewrite(function: ir.Operation, name: str, make: _Make) -> None:
    """Replace operations of a name on dequantized tensors of one scale, which is known."""
    for found in list(walk(function)):
        data = Quantized.match(found.operands[0]) if found.name == name else None
        if data is not None and _is_increasing(data):
            rewrite_operation(found, functools.partial(make, data=data))


def _is_increasing(data: Quantized) -> bool:
    """Say whether a larger code is a larger number, and another one."""
    if not all(map(has_one_element, data.parameters)) or not is_computed_of_constants(data.scale):
        return False
    low, high = _SCALES
    return bool(low <= constant_values([data.scale])[data.scale].item() <= high)


def _pool(found: ir.Operation, data: Quantized) -> ir.Value | None:
    attributes = found.attributes
    window = list(attributes["pool_size"])
    padding = list(attributes["padding"]) if "padding" in attributes else [0] * 4
    goes_beyond = "ceil_mode" in attributes and attributes["ceil_mode"].value
    # A window without elements is -inf, which is no code.
    if goes_beyond or any(pad >= size for pad, size in zip(padding, window * 2, strict=True)):
        return None
    codes = copy_operation(found, [data.codes]).results[0]
    return op.dequantize(codes, data.scale, data.zero, -1, "float32")


def _codes_again(found: ir.Operation, data: Quantized) -> ir.Value | None:
    pairs = list(zip(found.operands[1:], data.parameters, strict=True))
    if dtype_of(found.results[0]) != dtype_of(data.codes) or not all(
        has_one_element(value) and is_computed_of_constants(value)
        for pair in pairs
        for value in pair
    ):
        return None
    values = constant_values(value for pair in pairs for value in pair)
    same = all(np.array_equal(values[x].ravel(), values[y].ravel()) for x, y in pairs)
    return data.codes if same else None
