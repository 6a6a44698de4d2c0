# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers of a function by name: its products, which is where numbers are rounded."""

from __future__ import annotations

from mlir import ir

from ..core.variables import walk
from ..op._ops_gen import CONVOLUTIONS

_PRODUCTS = frozenset({*CONVOLUTIONS, "relax.matmul"})


def layers_of(function: ir.Operation) -> dict[str, ir.Operation]:
    """Return the matrix products and convolutions of a function by name, in order.

    Parameters
    ----------
    function : mlir.ir.Operation

    Returns
    -------
    dict of str to mlir.ir.Operation
        By the names of bindings, and by the kind of operation where they have none. From the second
        one of a name on, its number follows: "matmul", "matmul#2".
    """
    layers: dict[str, ir.Operation] = {}
    for found in walk(function):
        if found.name in _PRODUCTS:
            location = found.location
            name = location.name_str if location.is_a_name() else ""
            layers[_unique(name or found.name.removeprefix("relax."), layers)] = found
    return layers


def _unique(name: str, layers: dict[str, ir.Operation]) -> str:
    number, unique = 1, name
    while unique in layers:
        number += 1
        unique = f"{name}#{number}"
    return unique
