# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices of the namespace ``R``, and copies to them."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op as _op
from ..core.vdevice import VDevice
from . import state
from .operators import argument

# The kinds of device by their numbers in DLPack, of those that TVM has names for.
_DEVICE_TYPES = {1: "cpu", 2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm"}


class Device:
    """A device: its kind and which one of that kind."""

    def __init__(self, kind: str, index: int = 0) -> None:
        self.kind, self.index = kind, index


def device(dev: str = "", index: int = 0, *, device_type: Any = None) -> Device:
    """Return a device for `hint_on_device`.

    Parameters
    ----------
    dev : str
        Its kind, such as "cpu".
    index : int
        Its number among those of the kind.
    device_type : int, optional
        The kind as a number of DLPack, as TVM prints it.
    """
    if device_type is None:
        return Device(dev, int(index))
    kind = _DEVICE_TYPES.get(int(device_type))
    if dev or kind is None:
        known = ", ".join(f"{number} ({name})" for number, name in _DEVICE_TYPES.items())
        raise ValueError(f"expected a kind of device, one of {known}, but got {device_type}")
    return Device(kind, int(index))


def cpu(index: int = 0) -> Device:
    """Return a processor, for `hint_on_device`."""
    return Device("cpu", index)


def cuda(index: int = 0) -> Device:
    """Return a GPU, for `hint_on_device`."""
    return Device("cuda", index)


def to_vdevice(data: Any, dst_vdevice: Any) -> ir.Value:
    """Copy a tensor to a virtual device.

    Parameters
    ----------
    data : tensor
    dst_vdevice : str or VDevice
        A device that the module lists, such as "llvm:0" or its name.
    """
    by_object = isinstance(dst_vdevice, VDevice)
    name = state.vdevice_name_of(dst_vdevice) if by_object else state.vdevice_name(dst_vdevice)
    return _op.to_vdevice(argument(data), name)


def hint_on_device(data: Any, dst_vdevice: Any, memory_scope: str = "global") -> ir.Value:
    """Say that a tensor should be on a device."""
    del memory_scope
    index = dst_vdevice.index if isinstance(dst_vdevice, Device) else int(dst_vdevice)
    return _op.hint_on_device(argument(data), index)
