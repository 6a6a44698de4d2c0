# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of bfloat16 and of floats of 8 bits, which are those of the package ml_dtypes.

NumPy's DLPack knows no such elements. So an array goes out as integers of the same width, in a
capsule whose data type is then changed, and a tensor comes in by its address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm_ffi

__all__ = [
    "array_of",
    "bits_of",
    "copy_of",
    "empty",
    "exported",
    "is_small_float",
    "is_small_float_name",
]

# Where the data type is in a DLTensor: behind a pointer, a device of two and a rank of one int32.
_OFFSET = 20


def is_small_float_name(name: str) -> bool:
    """Say whether a data type is one of this module, by its name."""
    return name.startswith(("bfloat16", "float8_"))


def is_small_float(dtype: np.dtype[Any]) -> bool:
    """Say whether an array has elements of this module.

    Examples
    --------
    >>> is_small_float(np.dtype("float16"))
    False
    """
    return is_small_float_name(dtype.name)


class _Exported:
    """An array of integers that it hands on as floats of the same width."""

    def __init__(self, bits: np.ndarray[Any, Any], dtype: str) -> None:
        self._bits: Any = bits
        self._code = tvm_ffi.dtype(dtype).type_code

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self._bits.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = pointer(capsule, b"dltensor")
        ctypes.c_uint8.from_address(address + _OFFSET).value = self._code
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._bits.__dlpack_device__()


def exported(array: np.ndarray[Any, Any]) -> Any:
    """Return an object that hands on an array by DLPack, without a copy.

    Parameters
    ----------
    array : numpy.ndarray
        One that can be written, of the data types of this module.
    """
    return _Exported(array.view(f"uint{8 * array.itemsize}"), array.dtype.name)


def empty(shape: Sequence[int], dtype: str) -> Any:
    """Return an object that hands on a new array by DLPack, which need not be initialized.

    Parameters
    ----------
    shape : sequence of int
    dtype : str
        A data type of this module; ml_dtypes is not needed.
    """
    bits = 8 if dtype.startswith("float8_") else 16
    return _Exported(np.empty(tuple(shape), f"uint{bits}"), dtype)


class _Described:
    """The memory of a tensor, as NumPy reads it; the array keeps the tensor alive."""

    def __init__(self, tensor: tvm_ffi.Tensor) -> None:
        width = tensor.dtype.itemsize
        self.tensor = tensor
        self.__array_interface__ = {
            "data": (tensor.data_ptr(), False),
            "shape": tuple(tensor.shape),
            "strides": tuple(width * stride for stride in tensor.strides),
            "typestr": f"<u{width}",
            "version": 3,
        }


def bits_of(tensor: tvm_ffi.Tensor) -> np.ndarray[Any, Any]:
    """Return a view of the elements of a tensor in host memory as integers."""
    if 0 in tensor.shape:
        return np.empty(tuple(tensor.shape), f"uint{tensor.dtype.bits}")
    return np.asarray(_Described(tensor))


def array_of(tensor: tvm_ffi.Tensor) -> np.ndarray[Any, Any]:
    """Return a view of a tensor in host memory as an array of ml_dtypes.

    Raises
    ------
    ImportError
        If the package is not installed.
    """
    import ml_dtypes

    return bits_of(tensor).view(getattr(ml_dtypes, str(tensor.dtype)))


def copy_of(tensor: tvm_ffi.Tensor) -> Any:
    """Return a copy of a tensor in host memory, with or without ml_dtypes."""
    return tvm_ffi.from_dlpack(_Exported(bits_of(tensor).copy(), str(tensor.dtype)))
