# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that end, or begin, where memory does: what is read beyond them is a crash.

The elements lie right before a page that cannot be read, or right after one. They are passed as
DLPack, made by hand, so that data types may be those that NumPy lacks, and strides any.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
_PROT_NONE = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

# Codes of DLPack: kind of number, bits.
DLPACK = {
    "bool": (6, 8),
    "bfloat16": (4, 16),
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
}


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (
        ("tensor", _DLTensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class GuardedTensor:
    """A tensor beside a page that cannot be read.

    Parameters
    ----------
    array : numpy.ndarray
        The elements as they are stored: those of bfloat16 as uint16.
    dtype : str
        The data type that the tensor has.
    at_end : bool
        Whether it ends at the page; else it begins after one.
    """

    def __init__(self, array: np.ndarray[Any, Any], dtype: str, at_end: bool = True) -> None:
        stored = _memory_of(array)
        size = -(-stored.nbytes // PAGE) * PAGE
        self._map = mmap.mmap(-1, size + 2 * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for page in (base, base + PAGE + size):
            if _libc.mprotect(page, PAGE, _PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        begin = PAGE + (size - stored.nbytes if at_end else 0)
        self.stored = np.frombuffer(self._map, stored.dtype, stored.size, begin)
        self.stored[:] = stored
        self._before = stored.copy()
        self.dtype = dtype
        self.shape = array.shape
        item = array.itemsize
        strides = tuple(stride // item for stride in array.strides)
        # Where the first element is: after those that negative strides lead to.
        first = sum(-s * (n - 1) for s, n in zip(strides, array.shape, strict=True) if s < 0)
        self._dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        self._strides = (ctypes.c_int64 * max(array.ndim, 1))(*strides)
        code, bits = DLPACK[dtype]
        self._managed = _DLManagedTensor(
            _DLTensor(
                base + begin + (first if array.size else 0) * item,
                *(1, 0, array.ndim, code, bits, 1),
                self._dims,
                self._strides,
                0,
            ),
            None,
            None,
        )

    def __dlpack__(self, **options: Any) -> Any:
        """Return the tensor as a capsule."""
        del options
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return where the tensor is: in host memory."""
        return 1, 0

    def is_unchanged(self) -> bool:
        """Say whether nobody has written to it."""
        return self.stored.tobytes() == self._before.tobytes()


def _memory_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return what an array views, from its first to its last byte in memory, as a vector."""
    if array.size == 0:
        return np.empty(0, array.dtype)
    low = array
    for axis, stride in enumerate(array.strides):
        if stride < 0:
            low = np.flip(low, axis)
    extent = 1 + sum(
        s // array.itemsize * (n - 1) for s, n in zip(low.strides, low.shape, strict=True)
    )
    return np.lib.stride_tricks.as_strided(low, (extent,), (array.itemsize,)).copy()


def elements_of(tensor: Any) -> tuple[np.ndarray[Any, Any], str]:
    """Return the elements of a tensor that a program returned, and its data type.

    Those of bfloat16 are given as float32.
    """
    dtype = str(tensor.dtype)
    if dtype != "bfloat16":
        return np.from_dlpack(tensor), dtype
    shape = tuple(tensor.shape)
    if 0 in shape:
        return np.empty(shape, np.float32), dtype
    # An argument that is returned has any strides.
    first = np.ctypeslib.as_array(
        ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_uint16)), (1,)
    )
    strides = [2 * stride for stride in tensor.strides]
    return widen(np.lib.stride_tricks.as_strided(first, shape, strides)), dtype


def widen(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return elements of bfloat16, given as their bits, as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the bits of numbers rounded to bfloat16, to nearest and ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = np.isnan(array)
    return np.where(nan, 0x7FC0, rounded).astype(np.uint16)


def as_argument(array: np.ndarray[Any, Any], dtype: str, at_end: bool) -> GuardedTensor:
    """Return a guarded tensor of numbers with the strides that they have."""
    if dtype != "bfloat16" or array.size == 0:
        stored = array.astype(np.uint16) if dtype == "bfloat16" else array
        return GuardedTensor(stored, dtype, at_end)
    strides = [stride // 2 for stride in array.strides]
    first = sum(-s * (n - 1) for s, n in zip(strides, array.shape, strict=True) if s < 0)
    memory = narrow(_memory_of(array))
    return GuardedTensor(np.ndarray(array.shape, np.uint16, memory, first, strides), dtype, at_end)
