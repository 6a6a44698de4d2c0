# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that a program computes of sizes, or of elements: tensors of rank 0."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from mlir import ir

from ... import op
from .registry import cast


def _of_floats(function: Callable[..., Any]) -> Callable[..., ir.Value]:
    def compute(_: Any, *arguments: Any) -> ir.Value:
        return function(*(cast(one, "float64") for one in arguments))

    return compute


def _of_numbers(function: Callable[..., Any]) -> Callable[..., ir.Value]:
    def compute(value: Any, *arguments: Any) -> ir.Value:
        dtype = "float64" if isinstance(value, (float, torch.SymFloat)) else "int64"
        return function(*(cast(one, dtype) for one in arguments))

    return compute


# By the functions that torch.export writes.
SCALARS: dict[Any, Callable[..., ir.Value]] = {
    operator.add: _of_numbers(op.add),
    operator.floordiv: _of_numbers(op.floor_divide),
    operator.mod: _of_numbers(op.floor_mod),
    operator.mul: _of_numbers(op.multiply),
    operator.neg: _of_numbers(op.negative),
    operator.pow: _of_floats(op.power),
    operator.sub: _of_numbers(op.subtract),
    operator.truediv: _of_floats(op.divide),
    math.sqrt: _of_floats(op.sqrt),
    torch.sym_float: _of_floats(lambda x: x),
    torch.sym_max: _of_numbers(op.maximum),
    torch.sym_min: _of_numbers(op.minimum),
    torch._sym_sqrt: _of_floats(op.sqrt),
}
