# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of patterns as steps of oneDNN, and the packed functions that run them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mlir import ir

from ...external import ExternalModule, register_codegen, register_loader
from ..region import Region, Step, constant_of
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
    state = _pack(programs, arrays)
    return [ExternalModule(load(state), state)]


def load(state: bytes) -> dict[str, DNNLFunction]:
    """Return the packed functions that were made, of their state."""
    with np.load(io.BytesIO(state), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    programs = json.loads(arrays.pop("programs").tobytes())
    return {program["symbol"]: DNNLFunction(program, arrays) for program in programs}


def _pack(programs: list[dict[str, Any]], arrays: dict[str, np.ndarray]) -> bytes:
    text = np.frombuffer(json.dumps(programs).encode(), np.uint8)
    file = io.BytesIO()
    given: dict[str, Any] = {"programs": text, **arrays}
    np.savez(file, **given)
    return file.getvalue()


def _program(
    region: Region, constant_names: Mapping[Any, str], arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return a function as data: what each step reads and computes."""
    slots: dict[ir.Value, str] = {value: f"arg{i}" for i, value in enumerate(region.params)}

    def slot(value: ir.Value) -> str:
        found = region.resolve(value)
        if found not in slots:
            array = constant_of(found)
            if array is None:
                raise ValueError(f"function '{region.symbol}': expected a tensor, but got {found}")
            name = constant_names.get(found, f"{region.symbol}_const_{len(arrays)}")
            arrays[name] = np.ascontiguousarray(array)
            slots[found] = name
        return slots[found]

    steps = []
    for index, step in enumerate(region.steps):
        row = _Reader(region, step, slot).read()
        slots[step.result] = row["dst"] = f"tmp{index}"
        steps.append(row)
    outputs = [slots.get(value, "") for value in region.outputs]
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


class _Reader:
    """Reads the operations of a pattern: a product or convolution, and what follows it."""

    def __init__(self, region: Region, step: Step, slot: Any) -> None:
        self._region, self._step, self._slot = region, step, slot
        self._renamed: dict[ir.Value, ir.Value] = {}
        self._transposed: set[ir.Value] = set()
        self._current: ir.Value | None = None
        self._row: dict[str, Any] = {"activation": None, "sum": None, "bias": None}

    def read(self) -> dict[str, Any]:
        """Return the step as data."""
        for op in self._step.ops:
            self._visit(op.operation)
        if "kind" not in self._row:
            self._fail("a product or a convolution", "none")
        return self._row

    def _fail(self, expected: str, got: str) -> None:
        raise ValueError(
            f"function '{self._region.symbol}': codegen 'dnnl': expected {expected} in "
            f"'{self._step.composite}', but got {got}"
        )

    def _name(self, value: ir.Value) -> str:
        found = self._renamed.get(value, value)
        name: str = self._slot(self._step.source(found))
        return name

    def _visit(self, op: ir.Operation) -> None:
        result = op.results[0]
        if op.name == "relax.permute_dims":
            self._transposed.add(result)
            self._renamed[result] = op.operands[0]
        elif op.name == "relax.reshape":
            self._renamed[result] = op.operands[0]
        elif op.name in ("relax.matmul", "relax.conv2d") and "kind" not in self._row:
            self._product(op)
            self._current = result
        elif op.name == "relax.add" and self._current in list(op.operands):
            self._add(op)
            self._current = result
        elif op.name in ACTIVATIONS and self._row["activation"] is None:
            self._row["activation"] = op.name
            self._current = result
        else:
            self._fail("operations that oneDNN fuses", op.name)

    def _product(self, op: ir.Operation) -> None:
        source, weights = op.operands
        self._row |= {"src": self._name(source), "weights": self._name(weights)}
        if op.name == "relax.matmul":
            self._row |= {"kind": "matmul", "transposed": weights in self._transposed}
            return
        view: Any = op.opview
        self._row |= {"kind": "conv2d", **convolution_attributes(view)}

    def _add(self, op: ir.Operation) -> None:
        left, right = op.operands
        other = right if left == self._current else left
        is_bias = is_bias_of(other, op.results[0], self._row["kind"])
        what = "bias" if is_bias and self._row["bias"] is None else "sum"
        if self._row[what] is not None or self._row["activation"] is not None:
            self._fail("a bias and a sum, each once, before an activation", "another one")
        if what == "bias" and self._row["sum"] is not None:
            what = "sum"
        self._row[what] = self._name(other)


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


def is_bias_of(value: ir.Value, result: ir.Value, kind: str) -> bool:
    """Say whether a value is one number for each column of a product, or channel of an image."""
    type_: Any = value.type
    whole: Any = result.type
    if type_.shape is None or whole.shape is None:
        return False
    dims, size = list(type_.shape), list(whole.shape)
    # Of how many dimensions from the end the one that counts is.
    place = 1 if kind == "matmul" else 3
    if len(dims) < place or dims[-place] != size[-place]:
        return False
    return all(dim.value == 1 for index, dim in enumerate(dims) if index != len(dims) - place)


register_codegen("dnnl", codegen)
register_loader("dnnl", load)
