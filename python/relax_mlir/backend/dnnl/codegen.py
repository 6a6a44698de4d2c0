# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of patterns as steps of oneDNN, and the packed functions that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mlir import ir
from relax_runtime import external

from ...external import ExternalModule, register_codegen, register_loader
from ..products import ProductReader, Slots
from ..region import Region
from .execution import DNNLFunction
from .library import load as load_library
from .primitives import ACTIVATIONS


def codegen(
    functions: Sequence[Any], options: Mapping[str, Any], constant_names: Mapping[Any, str]
) -> list[ExternalModule]:
    """Return packed functions that call oneDNN.

    Parameters
    ----------
    functions : sequence of Function
        Of the patterns that `partition_for_dnnl` finds, or of others with the same operations.
    options : mapping
        There are none.
    constant_names : mapping of mlir.ir.Value to str

    Raises
    ------
    RuntimeError
        If the library is not there.
    ValueError
        If a function has an operation that is not supported, or there are options.
    """
    if options:
        raise ValueError(f"codegen 'dnnl': expected no options, but got {', '.join(options)}")
    load_library()
    arrays: dict[str, np.ndarray] = {}
    programs = [_program(Region(function), constant_names, arrays) for function in functions]
    state = external.pack(programs, arrays)
    return [ExternalModule(load(state), state)]


def load(state: bytes) -> dict[str, DNNLFunction]:
    """Return the packed functions that were made, of their state."""
    programs, arrays = external.unpack(state)
    return {program["symbol"]: DNNLFunction(program, arrays) for program in programs}


def _program(
    region: Region, constant_names: Mapping[Any, str], arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return a function as data: what each step reads and computes."""
    slots = Slots(region, constant_names, arrays)
    steps = []
    for index, step in enumerate(region.steps):
        row = _Reader(region, step, slots).read()
        row["dst"] = f"tmp{index}"
        slots.set(step.result, row["dst"])
        steps.append(row)
    outputs = [slots.get(value) for value in region.outputs]
    made = {row["dst"] for row in steps}
    if not made.issuperset(outputs) or len(set(outputs)) < len(outputs):
        raise ValueError(
            f"function '{region.symbol}': codegen 'dnnl': expected results that oneDNN computes, "
            "each once"
        )
    return {
        "symbol": region.symbol,
        "steps": steps,
        "params": len(region.params),
        "outputs": outputs,
    }


class _Reader(ProductReader):
    """Reads the operations of a pattern: a product or convolution, and what follows it."""

    codegen, library = "dnnl", "oneDNN"
    kinds = ("relax.matmul", "relax.conv2d")
    activations = tuple(ACTIVATIONS)
    reshapes = ("relax.reshape",)  # of the bias of a convolution

    def visit_product(self, op: ir.Operation) -> None:
        """Note what a product or convolution takes."""
        super().visit_product(op)
        left, right = self.row["transposed"]
        if left:
            self.fail("a left matrix as it is", "one that is transposed")
        self.row["transposed"] = right
        if op.name == "relax.conv2d":
            view: Any = op.opview
            self.row |= convolution_attributes(view)


def convolution_attributes(view: Any) -> dict[str, Any]:
    """Return what a convolution is told, as numbers: two strides, four paddings and so on."""

    def numbers(name: str, count: int) -> list[int]:
        attributes = view.operation.attributes
        found = [int(each) for each in attributes[name]] if name in attributes else []
        return found * count if len(found) == 1 else found

    padding = numbers("padding", 4) or [0] * 4
    attributes = view.operation.attributes
    return {
        "strides": numbers("strides", 2) or [1, 1],
        "padding": padding * 2 if len(padding) == 2 else padding,
        "dilation": numbers("dilation", 2) or [1, 1],
        "groups": attributes["groups"].value if "groups" in attributes else 1,
    }


register_codegen("dnnl", codegen)
register_loader("dnnl", load)
