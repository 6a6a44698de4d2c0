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


def view(x: Any, shape: Any, dtype: str, offset: int) -> Any:
    """Return the memory of a tensor from a byte on, as elements of a data type in a shape.

    Parameters
    ----------
    x : tvm_ffi.Tensor
    shape : tvm_ffi.Shape
    dtype : str
    offset : int

    Returns
    -------
    tvm_ffi.Tensor

    Raises
    ------
    ValueError
        If the elements are not all in the memory, or the offset is no multiple of their size.
    """
    memory = np.ascontiguousarray(np.from_dlpack(x)).reshape(-1).view("uint8")
    size = np.dtype(dtype).itemsize
    end = offset + int(np.prod(tuple(shape), dtype="int64")) * size
    if offset < 0 or end > memory.size:
        raise ValueError(f"view: expected a part of {memory.size} bytes, but got {offset}:{end}")
    if offset % size:
        raise ValueError(f"view: expected an offset that is a multiple of {size}, not {offset}")
    return tvm_ffi.from_dlpack(memory[offset:end].view(dtype).reshape(tuple(shape)))


def ensure_zero_offset(x: Any) -> Any:
    """Return a tensor, whose elements begin where its memory does."""
    return x


def inspect(x: Any, what: str, axis: int) -> int:
    """Return a field of a tensor.

    Parameters
    ----------
    x : tvm_ffi.Tensor
    what : str
    axis : int
        The dimension that the field is of, or -1.

    Raises
    ------
    ValueError
        If there is no such dimension.
    """
    dtype = x.dtype
    if what in ("shape_i", "stride_i"):
        ndim = len(x.shape)
        if not 0 <= axis < ndim:
            raise ValueError(
                f"inspect: expected one of the {ndim} dimensions of a tensor, but got {axis}"
            )
        return int((x.shape if what == "shape_i" else x.strides)[axis])
    fields = {
        "ndim": len(x.shape),
        "byte_offset": 0,
        "elem_offset": 0,
        "dtype_code": dtype.type_code,
        "dtype_bits": dtype.bits,
        "dtype_lanes": dtype.lanes,
    }
    return int(fields[what])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"relax_mlir.run.{function.__name__}": function
    for function in (
        call_dps_packed,
        dynamic_strided_slice,
        ensure_zero_offset,
        inspect,
        nonzero,
        scalar_tensor,
        tensor_to_shape,
        truth,
        unique,
        view,
    )
}
