# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Virtual devices, which a module lists by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlir import ir
from relax_runtime.bounds import between

from .context import current_context

GLOBAL_INFO = "relax.global_info"
# The number of infos without content that a module lists by name, for tests of passes.
DUMMY_GLOBAL_INFO = "relax.dummy_global_info"


@dataclass(frozen=True)
class VDevice:
    """A virtual device: what a name such as ``cpu0`` in a tensor type stands for.

    Parameters
    ----------
    target : str
        The tag or the configuration of a target, such as "llvm".
    dev_id : int
        The number among the devices of the target, from 0.
    mem_scope : str
        The kind of memory.

    Examples
    --------
    >>> print(VDevice("llvm", 1).attribute())
    #relax.vdevice<"llvm", 1>
    """

    target: str = "llvm"
    dev_id: int = 0
    mem_scope: str = "global"

    def __post_init__(self) -> None:
        between("dev_id", self.dev_id, 0, 2**31 - 1)
        if not self.mem_scope:
            raise ValueError("expected the name of a memory scope, but got ''")

    def attribute(self, context: ir.Context | None = None) -> ir.Attribute:
        """Return the device as an attribute of the dialect.

        Parameters
        ----------
        context : mlir.ir.Context, optional
            By default the current one, or else `default_context`.
        """
        context = current_context() if context is None else context
        target, scope = (ir.StringAttr.get(text, context) for text in (self.target, self.mem_scope))
        return ir.Attribute.parse(f"#relax.vdevice<{target}, {self.dev_id}, {scope}>", context)


class DummyGlobalInfo:
    """A global info without content, which tests of passes use."""

    def __repr__(self) -> str:
        return "DummyGlobalInfo()"


def set_global_info(module: ir.Module, devices: Mapping[str, VDevice]) -> None:
    """List the virtual devices of a module.

    Parameters
    ----------
    module : mlir.ir.Module
    devices : mapping of str to VDevice
        By the names that types and `relax_mlir.op.to_vdevice` use.

    Raises
    ------
    TypeError
        If a value is no VDevice.
    """
    for name, device in devices.items():
        if not isinstance(device, VDevice):
            raise TypeError(f"expected a VDevice as '{name}', but got {device!r}")
    module.operation.attributes[GLOBAL_INFO] = ir.DictAttr.get(
        {name: device.attribute(module.context) for name, device in devices.items()},
        context=module.context,
    )


def listed_devices(op: ir.Operation | ir.OpView) -> dict[str, ir.Attribute]:
    """Return the virtual devices that the module around an operation lists, by name and number."""
    operation = op.operation
    while operation.parent is not None:
        operation = operation.parent.operation
    attributes = operation.attributes
    if GLOBAL_INFO not in attributes:
        return {}
    listed = {item.name: item.attr for item in attributes[GLOBAL_INFO]}
    return {name: listed[name] for name in sorted(listed, key=_in_order)}


def _in_order(name: str) -> tuple[str, int]:
    """Return what puts ``vdevice10`` after ``vdevice9``."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or -1)
