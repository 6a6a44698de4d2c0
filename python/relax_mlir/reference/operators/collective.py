# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that all workers of a session compute together.

What the workers exchange goes through the functions of the runtime, so programs can be evaluated on
workers only; floats are reduced as `float64`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi

from ..tensor import Array
from .table import Args, attribute, axes_of, operator

# As the runtime numbers reductions.
_REDUCTIONS = ("sum", "prod", "min", "max", "avg")


def _function(name: str) -> Any:
    return tvm_ffi.get_global_func(f"relax_mlir.disco.{name}")


def _num_workers(op: Any, args: Args) -> int:
    """Return how many workers take part."""
    return int(_function("group_size" if attribute(op, "in_group", True) else "num_workers")())


def _check_num_workers(op: Any, count: int) -> None:
    if attribute(op, "num_workers", 0) != count:
        raise ValueError(
            f"expected num_workers to be {count}, the workers that take part, but got "
            f"{attribute(op, 'num_workers', 0)}"
        )


def _exchange(name: str, given: Array, shape: tuple[int, ...], *attributes: Any) -> Array:
    """Return what a function of the runtime writes."""
    result = np.empty(shape, given.dtype)
    _function(name)(np.array(given, order="C"), *attributes, result)
    return result


@operator("allreduce", ulps=1, backward_error_per_term=1, terms=_num_workers)
def _allreduce(op: Any, args: Args, env: Any) -> Array:
    x = args[0].data
    number = _REDUCTIONS.index(attribute(op, "op_type", "sum"))
    in_group = bool(attribute(op, "in_group", True))
    return _exchange("allreduce", x, x.shape, tvm_ffi.Shape((number,)), in_group)


@operator("allgather", ulps=0)
def _allgather(op: Any, args: Args, env: Any) -> Array:
    x, count = args[0].data, _num_workers(op, args)
    _check_num_workers(op, count)
    shape = (x.shape[0] * count, *x.shape[1:])
    return _exchange("allgather", x, shape, bool(attribute(op, "in_group", True)))


@operator("broadcast_from_worker0", ulps=0)
def _broadcast(op: Any, args: Args, env: Any) -> Array:
    x = args[0].data
    return _exchange("broadcast_from_worker0", x, x.shape, False)


def _cut_axis(op: Any, x: Array, count: int) -> int:
    """Return the axis that so many workers share."""
    _check_num_workers(op, count)
    (axis,) = axes_of(attribute(op, "axis", 0), x.ndim)
    if x.shape[axis] % count:
        raise ValueError(
            f"expected num_workers that divides {x.shape[axis]}, dimension {axis}, but got {count}"
        )
    return axis


@operator("redistribute_replica_to_shard", ulps=0)
def _take_part(op: Any, args: Args, env: Any) -> Array:
    x = args[0].data
    if op.operands[0].type.sharding is not None:  # the whole, in the view of all workers
        return x
    count = int(_function("num_workers")())
    axis = _cut_axis(op, x, count)
    return np.split(x, count, axis)[int(_function("worker_id")())]


@operator("scatter_from_worker0", ulps=0)
def _scatter(op: Any, args: Args, env: Any) -> Array:
    x, count = args[0].data, int(_function("num_workers")())
    axis = _cut_axis(op, x, count)
    rows = np.moveaxis(x, axis, 0)
    shape = (rows.shape[0] // count, *rows.shape[1:])
    return np.moveaxis(_exchange("scatter_from_worker0", rows, shape, False), 0, axis)
