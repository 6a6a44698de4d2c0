# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samplers of operators of workers: the process that runs a program is the only one."""

from __future__ import annotations

from draw import Drawer, Value
from relax_mlir.distributed import DeviceMesh
from samplers import sampler
from samplers_places import axis_of, bounds_of


@sampler("allreduce")
def allreduce(d: Drawer, name: str) -> Value:
    x = d.tensor(dtype=d.rng.choice([each for each in d.dtypes if each != "bool"]))
    kind = d.choice("sum", "prod", "min", "max", "avg")
    return d.make(name, x, bounds=bounds_of(x), op_type=kind, in_group=d.chance(0.5))


@sampler("allgather")
def allgather(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    return d.make(name, x, bounds=bounds_of(x), num_workers=1, in_group=d.chance(0.5))


@sampler("broadcast_from_worker0")
def broadcast_from_worker0(d: Drawer, name: str) -> Value:
    x = d.tensor()
    return d.make(name, x, bounds=bounds_of(x))


@sampler("scatter_from_worker0")
def scatter_from_worker0(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    return d.make(name, x, bounds=bounds_of(x), num_workers=1, axis=axis_of(d, x.rank))


@sampler("redistribute_replica_to_shard")
def redistribute_replica_to_shard(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    return d.make(name, x, bounds=bounds_of(x), num_workers=1, axis=axis_of(d, x.rank))


@sampler("annotate_sharding")
def annotate_sharding(d: Drawer, name: str) -> Value:
    x = d.tensor(least=1)
    axis = axis_of(d, x.rank) % x.rank
    placement = d.choice("R", f"S[{axis}]")
    return d.make(
        name, x, bounds=bounds_of(x), device_mesh=DeviceMesh((1,), (0,)), placement=placement
    )
