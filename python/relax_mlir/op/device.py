# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that say where data is."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.expr import as_value, build
from ..dialects import relax as _ops

__all__ = ["hint_on_device", "to_vdevice"]


def to_vdevice(data: Any, vdevice: str) -> ir.Value:
    """Copy a tensor, or the tensors of a tuple, to a virtual device.

    Parameters
    ----------
    data : tensor or tuple of tensors
    vdevice : str
        The name of a device that the module lists.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If `data` holds anything else.
    """
    return build(_ops.ToVDeviceOp, as_value(data), vdevice.removeprefix("@"))


def hint_on_device(data: Any, device: int) -> ir.Value:
    """Say that a tensor, or the tensors of a tuple, should be on a device.

    Parameters
    ----------
    data : tensor or tuple of tensors
    device : int
        The `dev_id` of one virtual device of the module. Data that is there is not copied.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        As of `to_vdevice`.
    """
    return build(_ops.HintOnDeviceOp, as_value(data), device)
