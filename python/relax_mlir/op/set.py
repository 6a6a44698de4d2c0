# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators whose result has a shape that depends on the data: calls of packed functions."""

from __future__ import annotations

from mlir import ir

from ..expr import TensorLike, as_tensor, tensor_type
from ..ir import TensorStructInfo
from .call import call_pure_packed

__all__ = ["unique"]


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
        Whether to return as well where each first comes up, where each element of `x` is among
        them, and how often each comes up.
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
    type_ = tensor_type(tensor)
    name = "relax_mlir.run.unique"
    results = [bool(given) for given in (return_index, return_inverse, return_counts)]
    if axis is None:
        result = TensorStructInfo(None, type_.dtype, ndim=1)
        if not any(results):
            return call_pure_packed(name, tensor, sinfo_args=result)
    else:
        rank = type_.ndim
        if rank != -1 and not -rank <= axis < rank:
            raise ValueError(
                f"relax.unique: expected an axis from {-rank} to {rank - 1}, but got {axis}"
            )
        result = TensorStructInfo(None, type_.dtype, ndim=rank)
    types = [result, *(TensorStructInfo(None, "int64", ndim=1) for wanted in results if wanted)]
    args = results if axis is None else [*results, axis]
    return call_pure_packed(name, tensor, *args, sinfo_args=types)
