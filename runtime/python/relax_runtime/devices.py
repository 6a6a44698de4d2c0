# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices by their names, and tensors on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi

from ._ffi import runtime_function
from .arrays import as_numbers, misfit
from .bounds import between
from .near_misses import did_you_mean
from .small_types import exported, is_small, is_small_name
from .tensor import Tensor

__all__ = ["as_device", "cpu", "has_device", "tensor"]

_has_device = runtime_function("has_device")
_to_device = runtime_function("to_device")
# As DLPack counts devices.
_CPU = 1
_LAST = 2**31 - 1

_KINDS = ("cpu", "cuda", "vulkan", "metal", "rocm", "hexagon", "opencl")


def as_device(device: str | tvm_ffi.Device) -> tvm_ffi.Device:
    """Return a device, which may be given by its name.

    Raises
    ------
    ValueError
        If it is no name of a device.
    """
    if not isinstance(device, str):
        return device
    kind, _, number = device.partition(":")
    try:
        made = tvm_ffi.device(device)
        if not 0 <= made.index <= _LAST:
            raise ValueError
        return made
    except (ValueError, OverflowError):
        hint = (
            did_you_mean(kind, _KINDS)
            if kind not in _KINDS and (number.isdigit() or not number)
            else ""
        )
        raise ValueError(
            f"expected a device such as 'cpu', 'cpu:1' or 'cuda:0', but got {device!r}{hint}"
        ) from None


def cpu(index: int = 0) -> tvm_ffi.Device:
    """Return the processor, which has a memory for each index.

    Parameters
    ----------
    index : int

    Examples
    --------
    >>> cpu()
    device(type='cpu', index=0)
    """
    return tvm_ffi.device("cpu", between("index", index, 0, _LAST))


def has_device(device: str | tvm_ffi.Device) -> bool:
    """Return whether programs can use a device here.

    A device of CUDA, or of OpenCL, is there where the driver of the system finds it.

    Parameters
    ----------
    device : str | tvm_ffi.Device
        A device, or its name.

    Returns
    -------
    bool

    Examples
    --------
    >>> has_device("cpu:1"), has_device("hexagon:0")
    (True, False)
    """
    return bool(_has_device(as_device(device)))


def tensor(
    value: Any, device: str | tvm_ffi.Device | None = None, dtype: str | None = None
) -> Tensor:
    """Return a copy of an array as a tensor, on a device.

    Functions take arrays of the processor as they are; what runs on a device other than that takes
    tensors of the device.

    Parameters
    ----------
    value : array, tensor of a device, number or nested sequence of numbers
    device : str or tvm_ffi.Device, optional
        The processor, which is the default, or another device, such as "cuda:0".
    dtype : str, optional
        By default that of the array.

    Raises
    ------
    RuntimeError
        If the device is not there, or has no memory left.
    TypeError, ValueError
        If the value is no array of numbers, or has numbers beyond the data type.

    Examples
    --------
    >>> tensor([[1, 2]], dtype="int8")
    Tensor([[1, 2]], dtype=int8)
    """
    target = as_device(device if device is not None else "cpu")
    if _is_elsewhere(value):
        held: Any = tvm_ffi.from_dlpack(value)
        if dtype is None and (target.type != "cpu" or _is_beyond_numpy(held)):
            return _to_device(held, target)
        value = _to_device(held, as_device("cpu"))
    elif dtype is None and hasattr(value, "__dlpack__") and _is_beyond_numpy(value):
        if (reason := misfit(value)) is not None:
            raise TypeError(reason)
        return _to_device(tvm_ffi.from_dlpack(value), target)
    numbers = as_numbers(value, dtype)
    made: Any = tvm_ffi.from_dlpack(exported(numbers) if is_small(numbers.dtype) else numbers)
    if target.type == "cpu":
        return made
    return _to_device(made, target)


def _is_beyond_numpy(value: Any) -> bool:
    """Say whether an array has floats that NumPy has no data type for."""
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return not isinstance(value, np.ndarray) and is_small_name(name)


def _is_elsewhere(value: Any) -> bool:
    """Say whether an array is in the memory of a device."""
    if not hasattr(value, "__dlpack_device__") or misfit(value) is not None:
        return False
    return bool(value.__dlpack_device__()[0] != _CPU)
