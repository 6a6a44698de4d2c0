# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The packed functions of the runtime, ``relax_mlir.run.*``, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
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


def unique(x: Any, *results: bool | int) -> Any:
    """Return the different elements of a tensor, sorted.

    Parameters
    ----------
    x : tvm_ffi.Tensor
    *results
        Whether to return the index of the first occurrence of each, where each element is among
        them, and how often each comes up; and then the axis along which they are taken, if any.

    Returns
    -------
    tvm_ffi.Tensor or list of it
    """
    index, inverse, counts = results[:3] or (False, False, False)
    axis = results[3] if len(results) > 3 else None
    find: Any = np.unique  # too many overloads
    found = find(np.from_dlpack(x), bool(index), bool(inverse), bool(counts), axis)
    values, *others = found if isinstance(found, tuple) else (found,)
    # Where an element is counts them in a row.
    rows = [values, *(each.reshape(-1).astype("int64") for each in others)]
    tensors = [tvm_ffi.from_dlpack(np.ascontiguousarray(each)) for each in rows]
    return tensors if others else tensors[0]


def nonzero(x: Any) -> Any:
    """Return where the elements of a tensor are that are not 0, a row for each dimension.

    Parameters
    ----------
    x : tvm_ffi.Tensor

    Returns
    -------
    tvm_ffi.Tensor
    """
    places = np.stack(np.nonzero(np.atleast_1d(np.from_dlpack(x))))
    return tvm_ffi.from_dlpack(np.ascontiguousarray(places.astype("int64")))


def dynamic_strided_slice(x: Any, begin: Any, end: Any, strides: Any) -> Any:
    """Return the elements from `begin`, by `strides`, up to `end`, as in a slice of Python.

    Parameters
    ----------
    x, begin, end, strides : tvm_ffi.Tensor

    Returns
    -------
    tvm_ffi.Tensor

    Raises
    ------
    ValueError
        If a stride is 0.
    """
    bounds = [np.from_dlpack(one).tolist() for one in (begin, end, strides)]
    if 0 in bounds[2]:
        raise ValueError(f"dynamic_strided_slice: expected strides other than 0, not {bounds[2]}")
    part = np.from_dlpack(x)[tuple(slice(*one) for one in zip(*bounds, strict=True))]
    return tvm_ffi.from_dlpack(part.copy(order="C"))


def tensor_to_shape(x: Any) -> Any:
    """Return the elements of a vector as a shape.

    Parameters
    ----------
    x : tvm_ffi.Tensor

    Returns
    -------
    tvm_ffi.Shape

    Raises
    ------
    ValueError
        If one is negative.
    """
    dims = np.from_dlpack(x).tolist()
    if any(dim < 0 for dim in dims):
        raise ValueError(f"tensor_to_shape: expected dimensions of at least 0, but got {dims}")
    return tvm_ffi.Shape(dims)


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


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"relax_mlir.run.{function.__name__}": function
    for function in (
        call_dps_packed,
        dynamic_strided_slice,
        nonzero,
        scalar_tensor,
        tensor_to_shape,
        truth,
        unique,
    )
}
