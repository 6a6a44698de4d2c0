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
        Not supported yet.
    axis : int, optional
        Not supported yet: the tensor is taken as a vector.

    Returns
    -------
    mlir.ir.Value
        A vector, whose size is known when the program runs.

    Raises
    ------
    ValueError
        If something is asked for that is not supported yet.
    """
    del sorted
    if return_index or return_inverse or return_counts or axis is not None:
        raise ValueError("expected relax.unique without further results and without an axis")
    tensor = as_tensor(x)
    result = TensorStructInfo(None, tensor_type(tensor).dtype, ndim=1)
    return call_pure_packed("relax_mlir.run.unique", tensor, sinfo_args=result)
