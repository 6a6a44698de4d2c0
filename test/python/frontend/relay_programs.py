# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs operators of Relay by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.frontend.relay.registry import CONVERTERS


@dataclasses.dataclass(frozen=True)
class Known:
    """An operand that is a constant of the program."""

    array: np.ndarray


def run_operator(
    name: str, *operands: Any, shapes: Sequence[Sequence[Any]] | None = None, **attrs: Any
) -> Any:
    """Run one operator, in the mode of the fixture ``exec_mode``.

    Parameters
    ----------
    name : str
    *operands : numpy.ndarray, Known, or a list of arrays
        A list is a tuple of tensors.
    shapes : sequence of sequences, optional
        The dimensions of each operand that is an array, by default those of the array; names are
        symbolic.
    **attrs
        Attributes of the operator.

    Returns
    -------
    numpy.ndarray or list of numpy.ndarray
    """
    builder = relax.BlockBuilder()
    arrays = [one for operand in operands for one in _arrays(operand)]
    dims = shapes or [array.shape for array in arrays]
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(tuple(shape), array.dtype.name))
        for i, (shape, array) in enumerate(zip(dims, arrays, strict=True))
    ]
    with builder.function("main", params):
        rest = iter(params)
        values = [_value(operand, rest) for operand in operands]
        result = CONVERTERS[name](attrs, values)
        builder.emit_func_output(builder.emit(result))
    main = relax.VirtualMachine(relax.compile(builder))["main"]
    result = main(*arrays)
    if isinstance(result, (tuple, list)) or type(result).__name__ == "Array":
        return [np.from_dlpack(one) for one in result]
    return np.from_dlpack(result)


def _arrays(operand: Any) -> list[np.ndarray]:
    if isinstance(operand, Known):
        return []
    return list(operand) if isinstance(operand, list) else [operand]


def _value(operand: Any, rest: Any) -> Any:
    if isinstance(operand, Known):
        return operand.array
    if isinstance(operand, list):
        return op.tuple(*(next(rest).value for _ in operand))
    return next(rest).value
