# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions of ATen."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir

from ...composites import special
from .registry import Converter, Graph, cast, converts

_FUNCTIONS: dict[str, Callable[[ir.Value], ir.Value]] = {
    "digamma": special.digamma,
    "erfc": special.erfc,
    "i0": special.i0,
    "lgamma": special.lgamma,
    "special_erfcx": special.erfcx,
    "special_i0e": special.i0e,
    "special_i1": special.i1,
    "special_i1e": special.i1e,
    "special_modified_bessel_i0": special.i0,
    "special_modified_bessel_i1": special.i1,
}


def _of_elements(function: Callable[[ir.Value], ir.Value]) -> Converter:
    def convert(graph: Graph, x: ir.Value) -> ir.Value:
        return function(cast(x, graph.dtype))

    return convert


for _name, _function in _FUNCTIONS.items():
    converts(f"{_name}.default")(_of_elements(_function))


@converts("polygamma.default")
def _polygamma(graph: Graph, order: int, x: ir.Value) -> ir.Value:
    if order > 1:
        raise NotImplementedError(f"expected polygamma of order 0 or 1, but got {order}")
    return (special.trigamma if order else special.digamma)(cast(x, graph.dtype))
