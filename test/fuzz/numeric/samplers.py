# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of samplers: how each operator that is not elementwise is drawn.

A sampler takes the `Drawer`, picks existing operands or makes new ones, draws attributes that fit
their shapes, and writes the operator.
"""

from __future__ import annotations

from collections.abc import Callable

from draw import Drawer, Value

Sampler = Callable[[Drawer], Value]
SAMPLERS: dict[str, Sampler] = {}


def sampler(*names: str) -> Callable[[Callable[[Drawer, str], Value]], Sampler]:
    """Register a function as the sampler of some operators, whose name it is given."""

    def register(function: Callable[[Drawer, str], Value]) -> Sampler:
        for name in names:
            SAMPLERS[name] = lambda d, name=name: function(d, name)  # type: ignore[misc]
        return SAMPLERS[names[0]]

    return register
