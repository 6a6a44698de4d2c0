# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of the interpreter from and to those of tvm-ffi, in which packed functions speak.

Memory is shared both ways where NumPy has the data type, so that mutations are seen through each
alias (SE02). Elsewhere a packed function gets a copy, and what it did to it is read back.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm_ffi
from relax_runtime._ffi import runtime_function
from relax_runtime.small_types import bits_of, is_int4_name, packed, unpacked

from ..core.dtypes import is_numpy
from .tensor import Array, Tensor, decode, encode, is_float, round_float
from .values import Closure, DataType, Shape

# Types that need no conversion.
_OWN = (tvm_ffi.Object, tvm_ffi.Tensor, tvm_ffi.Function)

_empty = runtime_function("empty")

# ------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------

# The closures that functions of tvm-ffi stand for, by their handles.
_closures: dict[int, Closure] = {}


class Entry:
    """The entry of a closure from outside; it lives as long as the function of tvm-ffi."""

    def __init__(self, closure: Closure) -> None:
        self.closure = closure

    def __call__(self, *args: Any) -> Any:
        """Call the closure with values of tvm-ffi."""
        return give(self.closure(*map(take, args)))


def _give_closure(closure: Closure) -> tvm_ffi.Function:
    entry = Entry(closure)
    function = tvm_ffi.convert(entry)
    handle = function.__chandle__()
    _closures[handle] = closure
    weakref.finalize(entry, _closures.pop, handle, None).atexit = False
    return function


def _take_function(function: tvm_ffi.Function) -> Any:
    return _closures.get(function.__chandle__(), function)


# ------------------------------------------------------------------------------
# Tensors
# ------------------------------------------------------------------------------


def _bits_type(dtype: str) -> str:
    return "uint16" if dtype == "bfloat16" else "uint8"


def _read(tensor: tvm_ffi.Tensor, dtype: str) -> Array:
    """Return the elements of a data type that NumPy lacks."""
    if is_int4_name(dtype):
        return unpacked(bits_of(tensor), tensor.shape, dtype)
    return decode(_as_bits(tensor, dtype), dtype)


def _as_bits(tensor: tvm_ffi.Tensor, dtype: str) -> Any:
    """Return a view of the elements as integers of the same width."""
    count = int(np.prod(tensor.shape, dtype=np.int64))
    strides = tensor.strides
    kind = ctypes.c_uint16 if dtype == "bfloat16" else ctypes.c_uint8
    size = 1 + sum((dim - 1) * stride for dim, stride in zip(tensor.shape, strides, strict=True))
    if count:
        memory: Any = (kind * size).from_address(tensor.data_ptr())
        array = np.frombuffer(memory, _bits_type(dtype))
    else:
        array = np.empty(0, _bits_type(dtype))
    steps = [stride * array.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(array, tuple(tensor.shape), steps)


def _take_tensor(tensor: tvm_ffi.Tensor) -> Tensor:
    try:
        dtype = str(tensor.dtype)
    except ValueError as error:  # complex numbers have no name in tvm-ffi
        raise TypeError(f"expected a tensor of a known data type: {error}") from None
    if is_numpy(dtype):
        return Tensor(np.from_dlpack(tensor), dtype, [tensor])
    return Tensor(_read(tensor, dtype), dtype, [tensor])


def _give_tensor(tensor: Tensor) -> tvm_ffi.Tensor:
    if tensor.handle:
        handle = tensor.handle[0]
        if not _is_shared(tensor):
            _write(handle, tensor)
        return handle
    made = _make_handle(tensor)
    tensor.handle.append(made)
    return made


def _is_shared(tensor: Tensor) -> bool:
    return is_numpy(tensor.dtype) and tensor.data.dtype.name == tensor.dtype


def _rounded(tensor: Tensor) -> Array:
    return round_float(tensor.data, tensor.dtype) if is_float(tensor.dtype) else tensor.data


def _make_handle(tensor: Tensor) -> tvm_ffi.Tensor:
    if _is_shared(tensor):
        return tvm_ffi.from_dlpack(tensor.data)
    rounded = _rounded(tensor)
    if is_numpy(tensor.dtype):
        return tvm_ffi.from_dlpack(np.array(rounded, order="C"))
    made = _empty(tvm_ffi.Shape(tensor.shape), tvm_ffi.dtype(tensor.dtype))
    _write(made, tensor)
    return made


def _write(handle: tvm_ffi.Tensor, tensor: Tensor) -> None:
    """Write the elements of a tensor, rounded, to the memory of one of tvm-ffi."""
    rounded = _rounded(tensor)
    if is_numpy(tensor.dtype):
        np.from_dlpack(handle)[...] = rounded
    elif is_int4_name(tensor.dtype):
        bits_of(handle)[...] = packed(rounded)
    else:
        _as_bits(handle, tensor.dtype)[...] = encode(rounded, tensor.dtype)


def _read_back(tensor: Tensor) -> None:
    """Take over what a packed function did to the copy that it got."""
    if _is_shared(tensor) or not tensor.handle:
        return
    if is_numpy(tensor.dtype):
        memory = np.from_dlpack(tensor.handle[0])
    else:
        memory = _read(tensor.handle[0], tensor.dtype)
    is_changed = memory != _rounded(tensor)
    is_changed &= ~((memory != memory) & (tensor.data != tensor.data))
    tensor.data[is_changed] = memory[is_changed]


# ------------------------------------------------------------------------------
# All values
# ------------------------------------------------------------------------------


def take(value: Any) -> Any:
    """Return a value of tvm-ffi, or of Python, as one of the interpreter.

    Examples
    --------
    >>> take((np.zeros(2, "float32"), tvm_ffi.Shape((3,)), 1.5))
    (Tensor(data=array([0., 0.], dtype=float32), dtype='float32'), (3,), 1.5)
    """
    if value is None or isinstance(value, (bool, Tensor, Closure, Shape, DataType)):
        return value
    if isinstance(value, (int, float, str)):
        return _plain(value)
    if isinstance(value, (tuple, list, tvm_ffi.Array)) and not isinstance(value, tvm_ffi.Shape):
        return tuple(map(take, value))
    return _take_object(value)


def _plain(value: int | float | str) -> Any:
    """Return a number or string without what tvm-ffi or NumPy adds to its class."""
    if isinstance(value, tvm_ffi.dtype):
        return DataType(str(value))
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise AssertionError(value)


def _take_object(value: Any) -> Any:
    if isinstance(value, Entry):
        return value.closure
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    given = value if isinstance(value, _OWN) else tvm_ffi.convert(value)
    for kind, convert in _CONVERSIONS:
        if isinstance(given, kind):
            return convert(given)
    return given


_CONVERSIONS: list[tuple[Any, Callable[[Any], Any]]] = [
    (tvm_ffi.Tensor, _take_tensor),
    (tvm_ffi.Shape, Shape),
    (tvm_ffi.Function, _take_function),
    (tvm_ffi.dtype, lambda value: DataType(str(value))),
    ((str, bool, int, float), lambda value: value),
]


def give(value: Any) -> Any:
    """Return a value of the interpreter as one of tvm-ffi.

    Examples
    --------
    >>> give((Tensor(np.zeros(2, "float32"), "float32"), Shape((3,))))[1]
    (3,)
    """
    if isinstance(value, Tensor):
        return _give_tensor(value)
    if isinstance(value, Shape):
        return tvm_ffi.Shape(value)
    if isinstance(value, tuple):
        return tvm_ffi.convert([give(item) for item in value])
    if isinstance(value, DataType):
        return tvm_ffi.dtype(str(value))
    return _give_closure(value) if isinstance(value, Closure) else value


def call_packed(function: Any, args: Sequence[Any]) -> Any:
    """Call a packed function on values of the interpreter (SE04)."""
    result = take(function(*map(give, args)))
    for arg in args:
        _read_back_all(arg)
    return result


def _read_back_all(value: Any) -> None:
    if isinstance(value, Tensor):
        _read_back(value)
    elif isinstance(value, tuple) and not isinstance(value, Shape):
        for item in value:
            _read_back_all(item)
