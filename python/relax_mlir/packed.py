# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions that programs call where no operator can know the shape of what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi


def call_dps_packed(name: str, shape: Any, dtype: str, *args: Any) -> Any:
    """Call a packed function that writes into a tensor, which is allocated for it.

    Parameters
    ----------
    name : str
        Under which the function is registered.
    shape : tvm_ffi.Shape
        That of the tensor.
    dtype : str
    *args
        The other arguments.

    Returns
    -------
    tvm_ffi.Tensor
    """
    output = tvm_ffi.from_dlpack(np.empty(tuple(shape), dtype))
    tvm_ffi.get_global_func(name)(*args, output)
    return output


def unique(x: Any) -> Any:
    """Return the different elements of a tensor, sorted.

    Parameters
    ----------
    x : tvm_ffi.Tensor

    Returns
    -------
    tvm_ffi.Tensor
        Of rank 1.
    """
    return tvm_ffi.from_dlpack(np.unique(np.from_dlpack(x)))


def scalar_tensor(value: Any, dtype: str) -> Any:
    """Return a scalar as a tensor of rank 0.

    Parameters
    ----------
    value : bool, int or float
    dtype : str

    Returns
    -------
    tvm_ffi.Tensor
    """
    return tvm_ffi.from_dlpack(np.array(value, dtype))


def truth(value: int) -> bool:
    """Return whether a number is not 0."""
    return value != 0


for _function in (call_dps_packed, scalar_tensor, truth, unique):
    tvm_ffi.register_global_func(f"relax_mlir.run.{_function.__name__}", _function, override=True)
