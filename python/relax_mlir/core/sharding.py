# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distributed tensors: meshes of devices, and how tensors lie on them."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir
from relax_runtime.bounds import between

from .._arguments import shown
from .context import current_context
from .ir import TensorStructInfo, set_distributed_caster

#: The meshes that a module lists, by name.
DEVICE_MESHES = "relax.device_meshes"
_INTEGERS = r"\[([-\d, ]*)\]"
_MESH = re.compile(rf"(?:#relax\.device_mesh)?<{_INTEGERS}, {_INTEGERS}>")
_SHARDING = re.compile(r"#relax\.sharding<\[(.*?)\] on (<\[.*\]>)>")
_AXIS = re.compile(r"\s*(?:R|S\[\s*(\d+)\s*\])\s*")


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())


@dataclass(frozen=True)
class DeviceMesh:
    """Devices in an n-dimensional arrangement.

    Parameters
    ----------
    shape : sequence of int
        The extents of the arrangement.
    device_ids : sequence of int, or range
        The devices in row-major order: numbers of workers of a session.

    Raises
    ------
    ValueError
        If the extents do not multiply to the number of devices, or a device is there twice.

    Examples
    --------
    >>> print(DeviceMesh((2, 2), range(4)))
    #relax.device_mesh<[2, 2], [0, 1, 2, 3]>
    """

    shape: tuple[int, ...]
    device_ids: tuple[int, ...]

    def __init__(self, shape: Sequence[int], device_ids: Iterable[int] | Any) -> None:
        # I.Range of a program and Range of TVM say where they begin.
        begin, end = getattr(device_ids, "begin", None), getattr(device_ids, "end", None)
        ids = range(begin, end) if begin is not None and end is not None else device_ids
        object.__setattr__(self, "shape", tuple(_whole("shape", shape)))
        object.__setattr__(self, "device_ids", tuple(_whole("device_ids", ids)))
        for extent in self.shape:
            between("an extent of shape", extent, 1, 2**20)
        for number in self.device_ids:
            between("a device id", number, 0, 2**31 - 1)
        if math.prod(self.shape) != len(self.device_ids):
            raise ValueError(
                f"expected {math.prod(self.shape)} devices in a mesh of shape {self.shape}, but "
                f"got {len(self.device_ids)}"
            )
        if len(set(self.device_ids)) != len(self.device_ids):
            raise ValueError(f"expected distinct device_ids, but got {list(self.device_ids)}")

    def __str__(self) -> str:
        return f"#relax.device_mesh<{list(self.shape)}, {list(self.device_ids)}>"

    @property
    def device_range(self) -> range | None:
        """The devices as a range, where they follow each other."""
        first = self.device_ids[0] if self.device_ids else 0
        found = range(first, first + len(self.device_ids))
        return found if tuple(found) == self.device_ids else None

    @classmethod
    def of(cls, attribute: ir.Attribute) -> DeviceMesh:
        """Return the mesh that an attribute ``#relax.device_mesh`` is."""
        return cls._of_text(str(attribute))

    @classmethod
    def _of_text(cls, text: str) -> DeviceMesh:
        match = _MESH.fullmatch(text)
        if match is None:
            raise ValueError(f"expected a mesh of devices, but got {text}")
        return cls(*map(_integers, match.groups()))

    def attribute(self, context: ir.Context | None = None) -> ir.Attribute:
        """Return the mesh as an attribute of the dialect."""
        return ir.Attribute.parse(str(self), current_context() if context is None else context)


def _whole(name: str, values: Any) -> list[int]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"expected a sequence of int as {name}, but got {shown(values)}")
    found = list(values)
    for value in found:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"expected integers in {name}, but got {shown(value)}")
    return found


def device_mesh(shape: Sequence[int], device_ids: Iterable[int] | Any) -> DeviceMesh:
    """Return a mesh of devices; see `DeviceMesh`."""
    return DeviceMesh(shape, device_ids)


class PlacementSpecKind(enum.IntEnum):
    """What a dimension of a mesh has of a tensor.

    Attributes
    ----------
    kSharding
        Equal parts.
    kReplica
        All of it, each.
    """

    kSharding = 0  # noqa: N815 (the name TVM uses)
    kReplica = 1  # noqa: N815


@dataclass(frozen=True)
class PlacementSpec:
    """What one dimension of a mesh has of a tensor.

    Attributes
    ----------
    axis : int
        The axis of the tensor that is cut, -1 for a replica.
    """

    axis: int

    @staticmethod
    def sharding(axis: int) -> PlacementSpec:
        """Return that an axis of the tensor is cut."""
        between("axis", axis, 0, 2**31 - 1)
        return PlacementSpec(axis)

    @staticmethod
    def replica() -> PlacementSpec:
        """Return that each device has all of the tensor."""
        return PlacementSpec(-1)

    @property
    def kind(self) -> PlacementSpecKind:
        """Whether the tensor is cut."""
        return PlacementSpecKind.kReplica if self.axis < 0 else PlacementSpecKind.kSharding

    def __str__(self) -> str:
        return "R" if self.axis < 0 else f"S[{self.axis}]"


@dataclass(frozen=True)
class Placement:
    """How a tensor lies on a mesh of devices.

    Parameters
    ----------
    dim_specs : sequence of PlacementSpec
        One for each dimension of the mesh.

    Examples
    --------
    >>> placement = Placement.from_text("S[0], R")
    >>> placement.dim_specs[0].axis, str(placement)
    (0, 'S[0], R')
    """

    dim_specs: tuple[PlacementSpec, ...]

    def __init__(self, dim_specs: Iterable[PlacementSpec]) -> None:
        specs = tuple(dim_specs)
        for spec in specs:
            if not isinstance(spec, PlacementSpec):
                raise TypeError(f"expected a PlacementSpec in dim_specs, but got {shown(spec)}")
        object.__setattr__(self, "dim_specs", specs)

    @staticmethod
    def from_text(text: str) -> Placement:
        """Return the placement that a text such as ``"S[0], R"`` says.

        Raises
        ------
        ValueError
            If it says none.
        """
        parts = text.split(",") if text.strip() else []
        matches = [_AXIS.fullmatch(part) for part in parts]
        specs = []
        for match in matches:
            if match is None:
                raise ValueError(f'expected a placement such as "S[0], R", but got {text!r}')
            specs.append(PlacementSpec(-1 if match[1] is None else int(match[1])))
        return Placement(specs)

    @classmethod
    def of(cls, attribute: ir.Attribute) -> Placement:
        """Return the placement that an attribute ``#relax.placement`` is."""
        text = str(attribute).removeprefix("#relax.placement<[").removesuffix("]>")
        return cls.from_text(text)

    def __str__(self) -> str:
        return ", ".join(map(str, self.dim_specs))

    def attribute(self, context: ir.Context | None = None) -> ir.Attribute:
        """Return the placement as an attribute of the dialect."""
        context = current_context() if context is None else context
        return ir.Attribute.parse(f"#relax.placement<[{self}]>", context)


class DTensorStructInfo(TensorStructInfo):
    """A distributed tensor.

    Parameters
    ----------
    tensor_sinfo : TensorStructInfo or mlir.ir.Type
        The whole tensor; or, alone, a type to cast.
    device_mesh : DeviceMesh
    placement : Placement or str
        How the tensor lies on the mesh, such as "S[0], R".

    Attributes
    ----------
    tensor_sinfo : TensorStructInfo
    device_mesh : DeviceMesh
    placement : Placement

    Raises
    ------
    ValueError
        If the placement does not fit the mesh or the rank of the tensor.

    Examples
    --------
    >>> mesh = DeviceMesh((2,), range(2))
    >>> print(DTensorStructInfo(TensorStructInfo((4, "n"), "float32"), mesh, "S[0]"))
    !relax.tensor<[4, n], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
    """

    def __init__(
        self,
        tensor_sinfo: ir.Type,
        device_mesh: DeviceMesh | None = None,
        placement: Placement | str | None = None,
    ) -> None:
        if not isinstance(tensor_sinfo, ir.Type):
            raise TypeError(f"expected TensorStructInfo, but got {shown(tensor_sinfo)}")
        if device_mesh is None and placement is None:
            super().__init__(tensor_sinfo)
            if self.sharding is None:
                raise ValueError(f"expected DTensorStructInfo, but got {tensor_sinfo}")
            return
        if not isinstance(device_mesh, DeviceMesh):
            raise TypeError(f"expected a DeviceMesh as device_mesh, but got {shown(device_mesh)}")
        if isinstance(placement, str):
            placement = Placement.from_text(placement)
        if not isinstance(placement, Placement):
            raise TypeError(f"expected a Placement as placement, but got {shown(placement)}")
        if len(placement.dim_specs) != len(device_mesh.shape):
            raise ValueError(
                f"expected an entry of the placement for each of the {len(device_mesh.shape)} "
                f"dimensions of the mesh, but got {str(placement)!r}"
            )
        text = str(device_mesh).removeprefix("#relax.device_mesh")
        tensor = TensorStructInfo(tensor_sinfo)
        sharding = ir.Attribute.parse(f"#relax.sharding<[{placement}] on {text}>", tensor.context)
        super().__init__(tensor._with_sharding(sharding))

    def _parts(self) -> tuple[str, str]:
        match = _SHARDING.fullmatch(str(self.sharding))
        assert match is not None
        return match[1], match[2]

    @property
    def tensor_sinfo(self) -> TensorStructInfo:
        """The whole tensor."""
        return TensorStructInfo(self._with_sharding(None))

    tensor_ty = tensor_sinfo

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh that the tensor lies on."""
        return DeviceMesh._of_text(self._parts()[1])

    @property
    def placement(self) -> Placement:
        """How it lies there."""
        return Placement.from_text(self._parts()[0])


set_distributed_caster(DTensorStructInfo)


def set_device_meshes(module: ir.Module, meshes: Mapping[str, Sequence[DeviceMesh]]) -> None:
    """List the meshes of devices of a module, by name."""
    module.operation.attributes[DEVICE_MESHES] = ir.DictAttr.get(
        {
            name: ir.ArrayAttr.get([mesh.attribute(module.context) for mesh in listed])
            for name, listed in meshes.items()
        },
        context=module.context,
    )


def device_mesh_attr(mesh: Any) -> ir.Attribute:
    """Return a mesh as an attribute, for operators.

    Raises
    ------
    TypeError
        If it is no DeviceMesh.
    """
    if isinstance(mesh, ir.Attribute):
        return mesh
    if not isinstance(mesh, DeviceMesh):
        raise TypeError(f"expected a DeviceMesh as device_mesh, but got {shown(mesh)}")
    return mesh.attribute()


def placement_attr(placement: Any) -> ir.Attribute:
    """Return a placement, or the text of one, as an attribute, for operators.

    Raises
    ------
    TypeError
        If it is no Placement.
    """
    if isinstance(placement, ir.Attribute):
        return placement
    if isinstance(placement, str):
        placement = Placement.from_text(placement)
    if not isinstance(placement, Placement):
        raise TypeError(
            f'expected a Placement such as "S[0], R" as placement, but got {shown(placement)}'
        )
    return placement.attribute()
