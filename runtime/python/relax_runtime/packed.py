# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions that programs call where no operator can know the shape of what it returns."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi

# Host memory, as DLPack numbers kinds of devices.
_HOST = 1


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


def _text(value: Any) -> str:
    """Return a value as it is printed."""
    if isinstance(value, tvm_ffi.Tensor):
        return str(np.from_dlpack(value))
    if isinstance(value, tvm_ffi.Array):
        return f"({', '.join(map(_text, value))})"
    return str(value)


def print(text: str, *values: Any) -> None:  # noqa: A001 (the name of the operator)
    """Print values.

    Parameters
    ----------
    text : str
        In which each ``{}`` stands for the next value; empty for the values alone.
    *values
    """
    builtins.print(text.format(*map(_text, values)) if text else " ".join(map(_text, values)))


def assert_op(condition: Any, text: str, *values: Any) -> None:
    """Raise AssertionError where a condition does not hold.

    Parameters
    ----------
    condition : bool or tvm_ffi.Tensor
        A scalar.
    text : str
        The message, in which each ``{}`` stands for the next value; empty for the values alone.
    *values

    Raises
    ------
    TypeError
        If the condition is no Boolean scalar.
    """
    if isinstance(condition, tvm_ffi.Tensor):
        array = np.from_dlpack(condition)
        if array.ndim or array.dtype != bool:
            raise TypeError(
                "relax.assert_op: expected a condition that is a scalar of data type bool, but "
                f"got a tensor of rank {array.ndim} and data type {array.dtype}"
            )
        condition = bool(array)
    if not condition:
        shown = text.format(*map(_text, values)) if text else ", ".join(map(_text, values))
        raise AssertionError(shown or "Assertion Failed")


def copy(value: Any) -> Any:
    """Return a value as it is, as TVM's ``vm.builtin.copy`` does."""
    return value


def to_device(tensor: Any, device_type: int, device_id: int) -> Any:
    """Return a copy of a tensor on a device, as TVM's ``vm.builtin.to_device`` does.

    Parameters
    ----------
    tensor : tvm_ffi.Tensor
    device_type, device_id : int
        As DLPack numbers them.

    Raises
    ------
    ValueError
        If the device is none of host memory.
    """
    if (device_type, device_id) != (_HOST, 0):
        raise ValueError(
            f"vm.builtin.to_device: expected device type {_HOST} (cpu) and index 0, but got "
            f"{device_type} and {device_id}: R.to_vdevice copies to other devices"
        )
    array = np.from_dlpack(tensor)
    return tvm_ffi.from_dlpack(array.copy())


_FUNCTIONS = (
    assert_op,
    call_dps_packed,
    dynamic_strided_slice,
    nonzero,
    print,
    scalar_tensor,
    tensor_to_shape,
    truth,
    unique,
)
for _function in _FUNCTIONS:
    tvm_ffi.register_global_func(f"relax_mlir.run.{_function.__name__}", _function, override=True)

# Those that TVM's passes leave in programs, unless the process has TVM's own.
_OF_TVM: dict[str, Callable[..., Any]] = {"copy": copy, "to_device": to_device}
for _name, _of_tvm in _OF_TVM.items():
    if tvm_ffi.get_global_func(f"vm.builtin.{_name}", allow_missing=True) is None:
        tvm_ffi.register_global_func(f"vm.builtin.{_name}", _of_tvm)
