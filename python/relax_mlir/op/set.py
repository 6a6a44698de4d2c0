# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators whose result has a shape that depends on the data: calls of packed functions."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ..core.expr import TensorLike, as_tensor, known_number, tensor_type
from ..core.ir import TensorStructInfo
from .call import call_pure_packed

__all__ = ["unique"]

# The packed function that finds them.
UNIQUE = "relax_mlir.run.unique"


def unique(
    x: TensorLike,
    sorted: bool = True,  # noqa: A002 (the name TVM uses)
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> ir.Value:
    """Return the different elements of a tensor, sorted.

    Parameters
    ----------
    x : tensor
    sorted : bool
        Whether they have to be sorted. They are in any case.
    return_index, return_inverse, return_counts : bool
        Known numbers, of which 0 means no: whether to return as well where each first comes up,
        where each element of `x` is among them, and how often each comes up.
    axis : int, optional
        Along which parts of the tensor are compared; without it the tensor is taken as a vector.

    Returns
    -------
    mlir.ir.Value
        A tensor whose size along the axis is known when the program runs, or a tuple of it and of
        vectors of int64.

    Raises
    ------
    ValueError
        If `x` has no such axis.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo((4, 3), "float32"))
    >>> with bb.function("main", [x]):
    ...     found = unique(x, return_counts=True, axis=0)
    ...     print(found.type)
    ...     _ = bb.emit_func_output(found)
    !relax.tuple<!relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 1, i64>>
    """
    del sorted
    tensor = as_tensor(x)
    given = (return_index, return_inverse, return_counts)
    flags = [bool(known_number(flag, "a flag of what to return")) for flag in given]
    axis = None if axis is None else int(known_number(axis, "an axis"))
    types = unique_types(tensor_type(tensor), flags, axis)
    if axis is not None:
        return call_pure_packed(UNIQUE, tensor, *flags, axis, sinfo_args=types)
    return call_pure_packed(UNIQUE, tensor, *(flags if any(flags) else []), sinfo_args=types)


def unique_types(
    x: TensorStructInfo, flags: Sequence[bool], axis: int | None
) -> list[TensorStructInfo]:
    """Return the types of what `unique` returns, given those of three that are wanted as well."""
    if axis is None:
        ndim = 1
    else:
        ndim = x.ndim
        if ndim != -1 and not -ndim <= axis < ndim:
            raise ValueError(
                f"relax.unique: expected an axis from {-ndim} to {ndim - 1}, but got {axis}"
            )
    others = [TensorStructInfo(None, "int64", ndim=1) for wanted in flags if wanted]
    return [TensorStructInfo(None, x.dtype, ndim=ndim), *others]
