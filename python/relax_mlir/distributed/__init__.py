# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose tensors are distributed over workers, under the names of tvm.relax.distributed."""

from ..core.sharding import (
    DeviceMesh,
    DTensorStructInfo,
    Placement,
    PlacementSpec,
    PlacementSpecKind,
    device_mesh,
    set_device_meshes,
)
from . import transform

DTensorType = DTensorStructInfo

__all__ = [
    "DTensorStructInfo",
    "DTensorType",
    "DeviceMesh",
    "Placement",
    "PlacementSpec",
    "PlacementSpecKind",
    "device_mesh",
    "set_device_meshes",
    "transform",
]
