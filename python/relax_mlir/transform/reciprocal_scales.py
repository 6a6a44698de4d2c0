# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that are quantized are multiplied by the reciprocal of the scale."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..op._ops_gen import ELEMENTWISE
from .fold_constant import constant_values, is_computed_of_constants
from .operations import copy_operation, rank_of
from .rewriting import dtype_of, rewrite_operation


def multiply_by_reciprocals(scalings: Iterable[ir.Operation]) -> None:
    """Change divisions by a scale to products, which take a tenth of the time.

    Parameters
    ----------
    scalings : iterable of mlir.ir.Operation
        What `scalings_of` found.
    """
    found = list(dict.fromkeys(scalings))
    values = constant_values(each.operands[1] for each in found)
    for each in found:
        scale = values[each.operands[1]]
        with np.errstate(over="ignore", divide="ignore"):
            inverse = np.float32(1 / np.float32(scale.item()))
        if np.isfinite(inverse) and abs(inverse) >= np.finfo("float32").tiny:
            rewrite_operation(each, functools.partial(_scaled, inverse))


def _scaled(inverse: np.float32, found: ir.Operation) -> ir.Value:
    product = op.multiply(found.operands[0], const(inverse))
    if found.name == "relax.divide":
        return product
    one = const(np.ones((), "float32"))
    return copy_operation(found, [product, one, found.operands[2]]).results[0]


def scalings_of(value: ir.Value) -> Iterator[ir.Operation]:
    """Find where a value, or what is computed of its elements, is divided by a scale and rounded.

    Parameters
    ----------
    value : mlir.ir.Value
        Of `float32`.

    Yields
    ------
    mlir.ir.Operation
        A `quantize`, or a `divide` that a `round` follows, by one constant of `float32`.
    """
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        if dtype_of(each) != "float32":
            continue
        for use in each.uses:
            user = use.owner.operation
            if use.operand_number == 0 and _is_scaling(user):
                yield user
            elif user.name in ELEMENTWISE and user.results[0] not in seen:
                seen.add(user.results[0])
                pending.append(user.results[0])


def _is_scaling(user: ir.Operation) -> bool:
    if user.name not in ("relax.divide", "relax.quantize"):
        return False
    scale = user.operands[1]
    if rank_of(scale) != 0 or dtype_of(scale) != "float32" or not is_computed_of_constants(scale):
        return False
    rounds = all(use.owner.name == "relax.round" for use in user.results[0].uses)
    return user.name == "relax.quantize" or rounds
