# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of workers: what their gradients are, the program alone does not say."""

from __future__ import annotations

from typing import Any

from .registry import Contribution, Forward, gradient


@gradient(
    "allgather",
    "allreduce",
    "broadcast_from_worker0",
    "call_tir_local_view",
    "redistribute",
    "redistribute_replica_to_shard",
    "scatter_from_worker0",
)
def _collective(f: Forward, g: Any) -> list[Contribution]:
    name = f.operation.name
    raise ValueError(
        f"Gradient: {name} has no gradient of its own, as it depends on whether all workers have "
        f'the same loss, or parts of one: say what it is by register_gradient("{name}", rule)'
    )
