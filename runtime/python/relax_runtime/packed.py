# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions with the effects that Python has: output to `sys.stdout`, formats of `str`.

Without this package the runtime's own take their place (`runtime/src/Packed.cc`).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi

from .small_types import array_of, is_small_name

# Host memory, as DLPack numbers kinds of devices.
_HOST = 1


def _text(value: Any) -> str:
    """Return a value as it is printed."""
    if isinstance(value, tvm_ffi.Tensor):
        return str(array_of(value) if is_small_name(str(value.dtype)) else np.from_dlpack(value))
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


for _function in (print, assert_op):
    tvm_ffi.register_global_func(f"relax_mlir.run.{_function.__name__}", _function, override=True)

# Those that TVM's passes leave in programs, unless the process has TVM's own.
_OF_TVM: dict[str, Callable[..., Any]] = {"copy": copy, "to_device": to_device}
for _name, _of_tvm in _OF_TVM.items():
    if tvm_ffi.get_global_func(f"vm.builtin.{_name}", allow_missing=True) is None:
        tvm_ffi.register_global_func(f"vm.builtin.{_name}", _of_tvm)
