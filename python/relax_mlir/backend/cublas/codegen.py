# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of patterns as products of cuBLASLt, and the packed functions that compute them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from relax_runtime import external
from relax_runtime.cublas import load
from relax_runtime.cublas.products import ACTIVATIONS

from ...external import ExternalModule, register_codegen, register_loader
from ..products import ProductReader, Slots
from ..region import Region

#: The attribute of the function of a pattern that allows TF32.
TF32 = "tf32"


def codegen(
    functions: Sequence[Any], options: Mapping[str, Any], constant_names: Mapping[Any, str]
) -> list[ExternalModule]:
    """Return packed functions that call cuBLASLt.

    Parameters
    ----------
    functions : sequence of Function
        Of the patterns that `partition_for_cublas` finds, or of others with the same operations:
        one product in each.
    options : mapping
        There are none.
    constant_names : mapping of mlir.ir.Value to str

    Raises
    ------
    ValueError
        If a function has an operation that is not supported, or several products, or there are
        options.
    """
    if options:
        raise ValueError(f"codegen 'cublas': expected no options, but got {', '.join(options)}")
    arrays: dict[str, np.ndarray] = {}
    programs = [_program(Region(function), constant_names, arrays) for function in functions]
    state = external.pack(programs, arrays)
    return [ExternalModule(load(state), state)]


class _Reader(ProductReader):
    """Reads the operations of a pattern: a product, and what follows it."""

    codegen, library = "cublas", "cuBLASLt"
    activations = ACTIVATIONS


def _program(
    region: Region, constant_names: Mapping[Any, str], arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return a function as data; see `relax_runtime.cublas.CublasFunction`."""
    if len(region.steps) != 1 or region.outputs != [region.steps[0].result]:
        raise ValueError(
            f"function '{region.symbol}': codegen 'cublas': expected one product, which is the "
            f"result, but got {len(region.steps)} steps and {len(region.outputs)} results: leave "
            "MergeCompositeFunctions out, and have FuseOpsByPattern set annotate_codegen"
        )
    step = region.steps[0]
    result: Any = step.result.type
    return {
        "symbol": region.symbol,
        "params": len(region.params),
        "dtype": result.dtype,
        "tf32": TF32 in step.attrs and result.dtype == "float32",
        **_Reader(region, step, Slots(region, constant_names, arrays)).read(),
    }


register_codegen("cublas", codegen)
register_loader("cublas", load)
