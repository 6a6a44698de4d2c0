# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What checks of patterns have in common."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

from mlir import ir

from ..core.ir import TensorStructInfo
from ..core.lifetimes import key_of
from ..transform import PatternCheckContext


def has_leaking_intermediate_variables(context: PatternCheckContext) -> bool:
    """Say whether something else uses what a match computes on the way to its result.

    Parameters
    ----------
    context : PatternCheckContext

    Returns
    -------
    bool
        A function of such a match would have to return more than its result.
    """
    inside = {key_of(op.operation) for op in context.matched_bindings.values()}
    return any(
        key_of(user) not in inside
        for value in context.matched_bindings
        if value != context.matched_expr
        for user in context.users(value)
    )


def is_tensor_of(type_: Any, dtypes: Collection[str], devices: Collection[str]) -> bool:
    """Say whether a type is that of a tensor of which the rank is known.

    Parameters
    ----------
    type_ : StructInfo
    dtypes : collection of str
        One of which its data type is.
    devices : collection of str
        Kinds, of one of which its device is, if it has one.
    """
    if not isinstance(type_, TensorStructInfo) or type_.shape is None:
        return False
    if type_.dtype not in dtypes:
        return False
    return type_.vdevice is None or type_.vdevice.partition(":")[0] in devices


def have_same_shape(left: ir.Value, right: ir.Value) -> bool:
    """Say whether two tensors have the same shape, in symbols too."""
    a: Any = left.type
    b: Any = right.type
    return list(a.shape) == list(b.shape)


def is_transposition(op: ir.Operation) -> bool:
    """Say whether an operation permutes dimensions, and does so to the last two alone."""
    if op.name != "relax.permute_dims":
        return False
    type_: Any = op.results[0].type
    rank = len(type_.shape)
    attributes = op.attributes
    axes = [int(axis) % rank for axis in attributes["axes"]] if "axes" in attributes else None
    wanted = [*range(rank - 2), rank - 1, rank - 2]
    return axes == wanted if axes is not None else rank == 2


def is_bias_of(value: ir.Value, result: ir.Value, kind: str) -> bool:
    """Say whether a value is one number for each column of a product, or channel of an image.

    Parameters
    ----------
    value, result : mlir.ir.Value
    kind : str
        "matmul", or another one for an image.
    """
    type_: Any = value.type
    whole: Any = result.type
    if type_.shape is None or whole.shape is None:
        return False
    dims, size = list(type_.shape), list(whole.shape)
    # Of how many dimensions from the end the one that counts is.
    place = 1 if kind == "matmul" else 3
    if len(dims) < place or dims[-place] != size[-place]:
        return False
    return all(dim.value == 1 for index, dim in enumerate(dims) if index != len(dims) - place)


# What a match of a product computes itself; a bias that it reshapes is none of it.
_COMPUTED = ("relax.add", "relax.conv2d", "relax.matmul")


def is_product_of_tensors(
    context: PatternCheckContext,
    product: ir.Value,
    addend: str,
    dtypes: Collection[str],
    devices: Collection[str],
) -> bool:
    """Say whether a match is a product with what libraries compute after it.

    Parameters
    ----------
    context : PatternCheckContext
        Of a pattern that may have the parts ``bias`` and `addend`.
    product : mlir.ir.Value
        A product of matrices or a convolution.
    addend : str
        The name of the part that is a tensor of the shape of the product.
    dtypes : collection of str
        One of which all tensors have.
    devices : collection of str
        Kinds, of one of which the device of a tensor is, if it has one.

    Returns
    -------
    bool
        False also where something else uses what is inside of the match, the product is added to
        itself, or other dimensions than the last two are permuted.
    """
    if has_leaking_intermediate_variables(context):
        return False
    found = context.annotated_expr
    added = [found[name] for name in ("bias", addend) if name in found]
    if any(value.owner.name in _COMPUTED for value in added if value in context.matched_bindings):
        return False  # it is added to itself
    type_: Any = product.type
    if not is_tensor_of(type_, dtypes, devices):
        return False
    values = [context.matched_expr, *found.values()]
    if not all(is_tensor_of(value.type, (type_.dtype,), devices) for value in values):
        return False
    inside = [op.operation for op in context.matched_bindings.values()]
    if not all(is_transposition(op) for op in inside if op.name == "relax.permute_dims"):
        return False
    if not have_same_shape(product, context.matched_expr):
        return False
    kind = "conv2d" if product.owner.operation.name == "relax.conv2d" else "matmul"
    if "bias" in found and not is_bias_of(found["bias"], product, kind):
        return False
    return addend not in found or have_same_shape(found[addend], product)


def has_strided_batches(op: ir.Operation) -> bool:
    """Say whether each operand is a matrix, or has a matrix for each one of the result.

    Columns of the left ones have to be as many as rows of the right ones, in symbols too: libraries
    do not compare them when the program runs.
    """
    result: Any = op.results[0].type
    wanted = _batch(result.shape)
    for operand in op.operands:
        type_: Any = operand.type
        if len(type_.shape) < 2 or _batch(type_.shape) not in ([], wanted):
            return False
    left, right = (list(operand.type.shape) for operand in op.operands)
    return bool(left[-1] == right[-2])


def _batch(shape: Any) -> list[Any]:
    """Return the dimensions before those of a matrix, without ones at the beginning."""
    return list(itertools.dropwhile(lambda dim: dim.value == 1, list(shape)[:-2]))
