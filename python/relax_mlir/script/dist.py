# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distributed tensors as a program writes them: ``R.DTensor``, ``R.device_mesh`` and ``R.dist``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mlir import ir

from .. import op as _op
from ..core.ir import TensorStructInfo
from ..core.sharding import DeviceMesh, DTensorStructInfo, Placement, device_mesh
from . import state
from .annotations import Annotation, Kind, as_struct_info, struct_infos, tensor
from .calls import call_tir, kernel
from .operators import Namespace, argument, fields
from .values import const as plain_const

__all__ = ["DTensor", "device_mesh", "dist"]


def mesh_of(mesh: Any) -> DeviceMesh:
    """Return the mesh that a program gives, as an object or as ``"mesh[0]"``.

    Raises
    ------
    ValueError
        If the module lists no such mesh.
    """
    if isinstance(mesh, DeviceMesh):
        return mesh
    if not isinstance(mesh, str):
        raise TypeError(
            f'expected a mesh such as "mesh[0]" or R.device_mesh(...), but got {mesh!r}'
        )
    parser = state.current_or_none()
    meshes = {} if parser is None else parser.meshes
    match = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", mesh)
    listed = meshes.get(match[1], []) if match else []
    index = int(match[2] or 0) if match else 0
    if index < len(listed):
        return listed[index]
    known = ", ".join(f"{name}[{i}]" for name, group in meshes.items() for i in range(len(group)))
    raise ValueError(
        f"expected a mesh that the module lists with I.module_global_infos ({known or 'none'}), "
        f"but got {mesh!r}"
    )


def _placement_of(placement: Any) -> Placement:
    if isinstance(placement, Placement):
        return placement
    if not isinstance(placement, str):
        raise TypeError(f'expected a placement such as "S[0], R", but got {placement!r}')
    return Placement.from_text(placement)


def dtensor(
    shape: Any = None,
    dtype: Any = None,
    device_mesh: Any = None,
    placement: Any = "",
    *,
    ndim: int = -1,
    vdevice: Any = None,
) -> Annotation:
    """Return the StructInfo of a distributed tensor."""
    plain = tensor(shape, dtype, vdevice, ndim)
    mesh = DeviceMesh((), (0,)) if device_mesh is None else device_mesh

    def build(resolve: Any) -> ir.Type:
        return DTensorStructInfo(
            plain.struct_info(resolve), mesh_of(mesh), _placement_of(placement)
        )

    return Annotation(build, plain.texts, plain.own)


DTensor = Kind("R.DTensor", dtensor)


def annotate_sharding(input: Any, device_mesh: Any, placement: Any) -> ir.Value:  # noqa: A002
    """Say how a tensor is to be sharded."""
    return _op.dist.annotate_sharding(
        argument(input), mesh_of(device_mesh), _placement_of(placement)
    )


def redistribute(input: Any, device_mesh: Any, placement: Any) -> ir.Value:  # noqa: A002
    """Place a distributed tensor in another way."""
    return _op.dist.redistribute(argument(input), mesh_of(device_mesh), _placement_of(placement))


def call_tir_local_view(
    gvar: Any, args: Any = (), out_sinfo: Any = None, *, out_ty: Any = None
) -> ir.Value:
    """Call a kernel on the parts that each worker has."""
    outputs = struct_infos(out_sinfo if out_ty is None else out_ty)
    given = [argument(arg) for arg in fields(args)]
    return _op.dist.call_tir_local_view(kernel(gvar), given, outputs)


def const(value: Any, struct_info: Any = None, *, ty: Any = None) -> Any:
    """Return a constant that each worker has.

    Raises
    ------
    ValueError
        If it would have to be sharded.
    """
    type_ = as_struct_info(struct_info if ty is None else ty)
    if not isinstance(type_, DTensorStructInfo):
        raise TypeError(f"expected R.DTensor as the StructInfo of a constant, but got {type_}")
    if any(spec.axis >= 0 for spec in type_.placement.dim_specs):
        raise ValueError(
            f"expected a constant that is a replica, but got the placement '{type_.placement}'; "
            "make it a parameter"
        )
    return plain_const(value, TensorStructInfo(type_).dtype)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "annotate_sharding": annotate_sharding,
    "call_tir": call_tir,
    "call_tir_local_view": call_tir_local_view,
    "const": const,
    "redistribute": redistribute,
}


class DistNamespace(Namespace):
    """``R.dist``: operators, with meshes that the module lists by name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function or an operator."""
        return _FUNCTIONS[name] if name in _FUNCTIONS else super().__getattr__(name)


dist = DistNamespace("dist")
