# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The largest elements of windows of quantized tensors are the largest of their codes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from mlir import ir

from .. import op
from ..core.variables import walk
from .fold_constant import constant_values, is_computed_of_constants
from .operations import copy_operation, ints_attribute
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


# The elements of scales and zero points.
_Values = Mapping[ir.Value, np.ndarray]
_Make = Callable[..., ir.Value | None]


def _rewrite(function: ir.Operation, name: str, make: _Make) -> None:
    """Replace operations of a name on dequantized tensors, whose parameters are numbers."""
    found = [
        (each, data)
        for each in walk(function)
        if each.name == name and (data := Quantized.match(each.operands[0])) is not None
    ]
    # Those of a `quantize`, too; a pool has no others.
    parameters = [
        value for each, data in found for value in (*data.parameters, *list(each.operands)[1:])
    ]
    values = constant_values(
        value for value in parameters if has_one_element(value) and is_computed_of_constants(value)
    )
    low, high = _SCALES
    for each, data in found:
        if data.scale in values and low <= values[data.scale].item() <= high:
            rewrite_operation(each, functools.partial(make, data=data, values=values))


def _pool(found: ir.Operation, data: Quantized, values: _Values) -> ir.Value | None:
    if not has_one_element(data.zero):
        return None
    attributes = found.attributes
    window = list(attributes["pool_size"])
    padding = ints_attribute(found, "padding", [0] * 4)
    goes_beyond = "ceil_mode" in attributes and attributes["ceil_mode"].value
    dilation = ints_attribute(found, "dilation", [1])
    # A window without elements is -inf, which is no code.
    if (
        goes_beyond
        or any(step != 1 for step in dilation)
        or any(pad >= size for pad, size in zip(padding, window * 2, strict=True))
    ):
        return None
    codes = copy_operation(found, [data.codes]).results[0]
    return op.dequantize(codes, data.scale, data.zero, -1, "float32")


def _codes_again(found: ir.Operation, data: Quantized, values: _Values) -> ir.Value | None:
    pairs = zip(list(found.operands)[1:], data.parameters, strict=True)
    same = dtype_of(found.results[0]) == dtype_of(data.codes) and all(
        x in values and y in values and values[x].item() == values[y].item() for x, y in pairs
    )
    return data.codes if same else None
