# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A virtual device of a module becomes another one."""

from __future__ import annotations

from mlir import ir
from relax_runtime.bounds import between

from .._arguments import shown
from ..core.ir_module import IRModule
from ..core.vdevice import GLOBAL_INFO, VDevice, listed_devices
from .pass_context import PassContext
from .python_pass import module_pass


@module_pass(opt_level=0)
class UpdateVDevice:
    """Put a virtual device in the place of one that a module lists.

    Types name a device, so all tensors on the old one are on the new one.

    Parameters
    ----------
    new_vdevice : VDevice
    index : int
        The place of the old one among those that the module lists, from 0.

    Raises
    ------
    ValueError
        If the module lists fewer devices.

    Examples
    --------
    >>> from relax_mlir import VDevice
    >>> from relax_mlir.transform import UpdateVDevice
    >>> mod = UpdateVDevice(VDevice("llvm", 1), 0)('''
    ... module attributes {relax.global_info = {vdevice0 = #relax.vdevice<"llvm", 0>}} {}''')
    >>> print(mod)
    module attributes {relax.global_info = {vdevice0 = #relax.vdevice<"llvm", 1>}} {
    }
    <BLANKLINE>
    """

    def __init__(self, new_vdevice: VDevice, index: int) -> None:
        if not isinstance(new_vdevice, VDevice):
            raise TypeError(f"expected a VDevice, but got {shown(new_vdevice)}")
        between("index", index, 0, 2**31 - 1)
        self._new = new_vdevice
        self._index = index

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Replace the device."""
        devices = listed_devices(mod.operation)
        if self._index >= len(devices):
            raise ValueError(
                f"expected index below {len(devices)}, the number of virtual devices of the module,"
                f" but got {self._index}"
            )
        name = list(devices)[self._index]
        changed = {**devices, name: self._new.attribute(mod.context)}
        attributes = mod.operation.attributes
        attributes[GLOBAL_INFO] = ir.DictAttr.get(changed, context=mod.context)
        return mod
