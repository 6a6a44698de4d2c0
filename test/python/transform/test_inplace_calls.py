# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators that write into one of their operands."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import DataflowUseInplaceCalls
from rewriting_cases import build, check, names, tensor

INPLACE = "call_tir_inplace"


def updated(mod: Any) -> list[str]:
    """Return the kernels that update something, with the position of it."""
    lines = [line for line in str(mod).splitlines() if "relax.call_tir_inplace" in line]
    return [
        f"{line.split('@')[1].split('(')[0]} {line.split('inplace [')[1].split(']')[0]}"
        for line in lines
    ]


def test_intermediate_results_are_updated() -> None:
    def write(x: Any, y: Any) -> Any:
        z = op.add(x, y)
        q = op.multiply(op.add(z, y), y)
        r = op.subtract(y, y)
        return op.multiply(q, op.subtract(r, r))

    mod = build(write, tensor("x", "n", 3), tensor("y", 1, 3))
    wanted = ["add", INPLACE, INPLACE, "subtract", INPLACE, INPLACE]
    changed = check(DataflowUseInplaceCalls(), mod, wanted, n=2)
    expected = ["add_inplace 0", "multiply_inplace 0", "subtract_inplace 0", "multiply_inplace 0"]
    assert updated(changed) == expected


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_second_operand(dtype: str) -> None:
    mod = build(
        lambda x, y: op.subtract(y, op.negative(x)),
        tensor("x", "n", 3, dtype=dtype),
        tensor("y", 3, dtype=dtype),
    )
    changed = check(DataflowUseInplaceCalls(), mod, ["negative", INPLACE], n=2)
    assert updated(changed) == ["subtract_inplace 1"]


def test_operators_with_attributes_have_a_kernel_each() -> None:
    def write(x: Any) -> Any:
        return op.nn.leakyrelu(op.nn.leakyrelu(op.exp(x), 0.25), 0.5)

    changed = check(
        DataflowUseInplaceCalls(), build(write, tensor("x", 5)), ["exp", INPLACE, INPLACE]
    )
    assert updated(changed) == ["leakyrelu_inplace 0", "leakyrelu_inplace1 0"]


@pytest.mark.parametrize("name", ["silu", "gelu", "relu"])
def test_activations(name: str) -> None:
    mod = build(
        lambda x, w: getattr(op.nn, name)(op.matmul(x, w)), tensor("x", 2, 3), tensor("w", 3, 4)
    )
    check(DataflowUseInplaceCalls(), mod, ["matmul", INPLACE])


def test_operands_that_stay() -> None:
    def later(x: Any) -> Any:
        y = op.exp(x)
        return op.add(op.negative(y), y)

    # The result of `negative` is updated, but not what it is computed of.
    check(DataflowUseInplaceCalls(), build(later, tensor("x", 4)), ["exp", "negative", INPLACE])

    def returned(x: Any) -> Any:
        y = op.exp(x)
        return op.tuple(y, op.negative(y))

    check(DataflowUseInplaceCalls(), build(returned, tensor("x", 4)), None)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: op.negative(x),  # a parameter
        lambda x: op.negative(op.reshape(x, [2, 2])),  # another shape of it
        lambda x: op.add(op.expand_dims(x, [1]), op.expand_dims(x, [1])),
        lambda x: op.negative(op.permute_dims(op.reshape(x, [1, 4]))),
        lambda x: op.multiply(op.reshape(x, [4, 1]), op.exp(x)),  # a larger result
        lambda x: op.add(op.memory.view(x, [2, 2]), op.reshape(x, [2, 2])),
        lambda x: op.less(op.exp(x), x),  # another data type
        lambda x: op.matmul(op.exp(x), x),
    ],
)
def test_what_stays(write: Any) -> None:
    mod = build(write, tensor("x", 4))
    changed = DataflowUseInplaceCalls()(mod)
    assert INPLACE not in names(changed)


def test_memory_that_is_seen_through_a_reshape() -> None:
    def write(x: Any) -> Any:
        y = op.exp(x)
        flat = op.reshape(y, [4])
        return op.tuple(op.negative(y), flat)

    check(DataflowUseInplaceCalls(), build(write, tensor("x", 2, 2)), None)


def test_sizes_that_may_differ() -> None:
    def write(x: Any, y: Any) -> Any:
        return op.add(op.exp(x), y)

    mod = build(write, tensor("x", "a"), tensor("y", "b"))
    check(DataflowUseInplaceCalls(), mod, None)


def test_only_in_dataflow_blocks() -> None:
    bb = relax.BlockBuilder()
    x = tensor("x", 4)
    with bb.function("main", [x]):
        bb.emit_func_output(op.negative(op.exp(x)))
    check(DataflowUseInplaceCalls(), bb.get(), None)


def test_values_of_another_block() -> None:
    bb = relax.BlockBuilder()
    x = tensor("x", 4)
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(op.exp(x))
        with bb.dataflow():
            z = bb.emit_output(op.negative(y))
        bb.emit_func_output(z)
    check(DataflowUseInplaceCalls(), bb.get(), None)
