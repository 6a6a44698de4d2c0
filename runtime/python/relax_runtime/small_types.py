# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of bfloat16, floats of 8 bits and integers of 4 bits: those of the package ml_dtypes.

NumPy's DLPack knows no such elements. So an array goes out as integers of the same width, in a
capsule whose data type is then changed, and a tensor comes in by its address. Integers of 4 bits
take a byte each in an array, and half a byte in a tensor: they are copied both ways.
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
    "is_int4_name",
    "is_small",
    "is_small_name",
    "packed",
    "unpacked",
]

# Where the data type is in a DLTensor: behind a pointer, a device of two and a rank of one int32.
_OFFSET = 20


def is_small_name(name: str) -> bool:
    """Say whether a data type is one of this module, by its name."""
    return name.startswith(("bfloat16", "float8_")) or is_int4_name(name)


def is_int4_name(name: str) -> bool:
    """Say whether two elements of a data type share a byte, by its name."""
    return name in ("int4", "uint4")


def is_small(dtype: np.dtype[Any]) -> bool:
    """Say whether an array has elements of this module.

    Examples
    --------
    >>> is_small(np.dtype("float16"))
    False
    """
    return is_small_name(dtype.name)


class _Exported:
    """An array of integers that it hands on as elements of another data type."""

    def __init__(self, bits: np.ndarray[Any, Any], dtype: str) -> None:
        self._bits: Any = bits
        self._dtype = tvm_ffi.dtype(dtype)

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self._bits.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = pointer(capsule, b"dltensor")
        ctypes.c_uint8.from_address(address + _OFFSET).value = self._dtype.type_code
        ctypes.c_uint8.from_address(address + _OFFSET + 1).value = self._dtype.bits
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._bits.__dlpack_device__()


def _of_memory(memory: np.ndarray[Any, Any], shape: Sequence[int], dtype: str) -> _Exported:
    """Return an object that hands on bytes as integers of 4 bits."""
    # DLPack counts strides in elements, so that each is described as a byte. None is read here.
    steps = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    described = np.lib.stride_tricks.as_strided(memory, tuple(shape), steps)
    return _Exported(described, dtype)


def packed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return integers of 4 bits, two in a byte, the first one in the lower half.

    Examples
    --------
    >>> packed(np.array([1, 2, -1])).tolist()
    [33, 15]
    """
    halves = np.append(array.astype(np.int8).ravel() & 15, np.int8(0)).view(np.uint8)
    return halves[:-1:2] | halves[1::2][: (array.size + 1) // 2] << 4


def unpacked(memory: np.ndarray[Any, Any], shape: Sequence[int], dtype: str) -> Any:
    """Return the integers that bytes hold, as integers of 8 bits.

    Examples
    --------
    >>> unpacked(np.array([33, 15], "uint8"), (3,), "int4").tolist()
    [1, 2, -1]
    """
    halves = np.stack([memory & 15, memory >> 4], axis=-1).ravel()[: int(np.prod(shape))]
    signed = (halves ^ 8).astype(np.int8) - np.int8(8)
    return (signed if dtype == "int4" else halves).reshape(tuple(shape))


def exported(array: np.ndarray[Any, Any]) -> Any:
    """Return an object that hands on an array by DLPack; of integers of 4 bits a copy.

    Parameters
    ----------
    array : numpy.ndarray
        One that can be written, of the data types of this module.
    """
    if is_int4_name(array.dtype.name):
        return _of_memory(packed(array), array.shape, array.dtype.name)
    return _Exported(array.view(f"uint{8 * array.itemsize}"), array.dtype.name)


def empty(shape: Sequence[int], dtype: str) -> Any:
    """Return an object that hands on a new array by DLPack, which need not be initialized.

    Parameters
    ----------
    shape : sequence of int
    dtype : str
        A data type of this module; ml_dtypes is not needed.
    """
    if is_int4_name(dtype):
        return _of_memory(np.empty((int(np.prod(shape)) + 1) // 2, np.uint8), shape, dtype)
    bits = 8 if dtype.startswith("float8_") else 16
    return _Exported(np.empty(tuple(shape), f"uint{bits}"), dtype)


class _Described:
    """The memory of a tensor, as NumPy reads it; the array keeps the tensor alive."""

    def __init__(self, tensor: tvm_ffi.Tensor) -> None:
        width = tensor.dtype.itemsize
        self.tensor = tensor
        shape, strides = tuple(tensor.shape), tuple(width * stride for stride in tensor.strides)
        if is_int4_name(str(tensor.dtype)):
            shape, strides = ((int(np.prod(shape)) + 1) // 2,), (1,)
        self.__array_interface__ = {
            "data": (tensor.data_ptr(), False),
            "shape": shape,
            "strides": strides,
            "typestr": f"<u{width}",
            "version": 3,
        }


def bits_of(tensor: tvm_ffi.Tensor) -> np.ndarray[Any, Any]:
    """Return a view of the elements of a tensor in host memory as integers.

    Of integers of 4 bits it is one of the bytes, as a vector.
    """
    is_packed = is_int4_name(str(tensor.dtype))
    if 0 in tensor.shape:
        return np.empty(0 if is_packed else tuple(tensor.shape), f"uint{8 * tensor.dtype.itemsize}")
    if is_packed and not tensor.is_contiguous():
        raise TypeError(f"expected a compact tensor, but got strides {tuple(tensor.strides)}")
    return np.asarray(_Described(tensor))


def array_of(tensor: tvm_ffi.Tensor) -> np.ndarray[Any, Any]:
    """Return a view of a tensor in host memory as an array of ml_dtypes.

    Of integers of 4 bits it is a copy, which cannot be written.

    Raises
    ------
    ImportError
        If the package is not installed.
    """
    import ml_dtypes

    dtype = str(tensor.dtype)
    bits = bits_of(tensor)
    if not is_int4_name(dtype):
        return bits.view(getattr(ml_dtypes, dtype))
    array: np.ndarray[Any, Any] = unpacked(bits, tensor.shape, dtype)
    array = array.astype(getattr(ml_dtypes, dtype))
    array.flags.writeable = False
    return array


def copy_of(tensor: tvm_ffi.Tensor) -> Any:
    """Return a copy of a tensor in host memory, with or without ml_dtypes."""
    bits, dtype = bits_of(tensor).copy(), str(tensor.dtype)
    is_packed = is_int4_name(dtype)
    copied = _of_memory(bits, tensor.shape, dtype) if is_packed else _Exported(bits, dtype)
    return tvm_ffi.from_dlpack(copied)
