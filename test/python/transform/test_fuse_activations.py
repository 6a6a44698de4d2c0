# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations that models write as arithmetic, and reshapes before them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import FuseActivations, ReorderReshapeAfterElementwise
from rewriting_cases import build, check, names, run, tensor

SLOPE = math.sqrt(2 / math.pi)


def const(number: float, dtype: str = "float32", shape: tuple[int, ...] = ()) -> Any:
    return relax.const(np.full(shape, number), dtype)


def erf_gate(x: Any, scale: float = math.sqrt(0.5)) -> Any:
    return op.add(op.erf(op.multiply(x, const(scale))), const(1))


def tanh_gate(x: Any, cube: Callable[[Any], Any]) -> Any:
    inner = op.add(x, op.multiply(const(0.044715), cube(x)))
    return op.add(const(1), op.tanh(op.multiply(const(SLOPE), inner)))


def fast_gate(x: Any) -> Any:
    inner = op.add(op.multiply(op.multiply(const(0.044715), x), x), const(1))
    return op.add(op.tanh(op.multiply(op.multiply(x, const(0.79788456)), inner)), const(1))


def cube_by_power(x: Any) -> Any:
    return op.power(x, const(3))


def cube_by_products(x: Any) -> Any:
    return op.multiply(op.multiply(x, x), x)


GELU = {
    "half_of_x": lambda x: op.multiply(op.multiply(const(0.5), x), erf_gate(x)),
    "half_of_the_product": lambda x: op.multiply(op.multiply(x, erf_gate(x)), const(0.5)),
    "half_of_the_gate": lambda x: op.multiply(x, op.multiply(erf_gate(x), const(0.5))),
    "halved": lambda x: op.divide(op.multiply(erf_gate(x), x), const(2)),
    "divided": lambda x: op.multiply(
        op.multiply(x, const(0.5)),
        op.add(const(1), op.erf(op.divide(x, const(math.sqrt(2))))),
    ),
    "sum": lambda x: op.add(
        op.multiply(op.multiply(x, const(0.5)), op.erf(op.multiply(x, const(0.70710678)))),
        op.multiply(x, const(0.5)),
    ),
}
GELU_TANH = {
    "power": lambda x: op.multiply(op.multiply(const(0.5), x), tanh_gate(x, cube_by_power)),
    "products": lambda x: op.multiply(op.multiply(x, tanh_gate(x, cube_by_products)), const(0.5)),
    "square": lambda x: op.multiply(op.multiply(x, const(0.5)), fast_gate(x)),
}
SILU = {
    "right": lambda x: op.multiply(x, op.sigmoid(x)),
    "left": lambda x: op.multiply(op.sigmoid(x), x),
}
FORMS = [
    (activation, write)
    for activation, forms in (("gelu", GELU), ("gelu_tanh", GELU_TANH), ("silu", SILU))
    for write in forms.values()
]


@pytest.mark.parametrize(("activation", "write"), FORMS)
def test_forms(activation: str, write: Callable[[Any], Any]) -> None:
    check(FuseActivations(), build(write, tensor("x", "n", 5)), [activation], n=3)


def test_arguments_that_are_products_themselves() -> None:
    def write(x: Any) -> Any:
        return GELU["half_of_the_product"](op.multiply(op.multiply(x, x), const(3)))

    check(FuseActivations(), build(write, tensor("x", 4, 6)), ["multiply", "multiply", "gelu"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_data_types(dtype: str) -> None:
    def write(x: Any) -> Any:
        scaled = op.multiply(x, const(math.sqrt(0.5), dtype))
        gate = op.add(op.erf(scaled), const(1, dtype))
        return op.multiply(op.multiply(x, const(0.5, dtype)), gate)

    assert names(FuseActivations()(build(write, tensor("x", 4, dtype=dtype)))) == ["gelu"]


def other_argument(x: Any) -> Any:
    return op.multiply(op.exp(x), op.sigmoid(x))


def gate_is_used(x: Any) -> Any:
    gate = op.sigmoid(x)
    return op.tuple(op.multiply(x, gate), gate)


NOT_ACTIVATIONS = {
    "scale": lambda x: op.multiply(op.multiply(x, const(0.5)), erf_gate(x, scale=0.7)),
    "factor": lambda x: op.multiply(op.multiply(x, const(0.51)), erf_gate(x)),
    "another_value": other_argument,
    "gate_is_used": gate_is_used,
    "square": lambda x: op.multiply(
        op.multiply(const(0.5), x), tanh_gate(x, lambda x: op.multiply(x, x))
    ),
    "wider": lambda x: op.multiply(
        op.multiply(x, const(0.5, shape=(3, 1))),
        op.add(op.erf(op.multiply(x, const(math.sqrt(0.5)))), const(1)),
    ),
}


@pytest.mark.parametrize("name", NOT_ACTIVATIONS)
def test_what_is_none_stays(name: str) -> None:
    check(FuseActivations(), build(NOT_ACTIVATIONS[name], tensor("x", 5)), None)


def test_activation_behind_a_reshape_is_part_of_the_product(exec_mode: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w = rng.uniform(-1, 1, (7, 9)).astype("float32")

    def write(x: Any) -> Any:
        product = op.matmul(op.reshape(x, ["n * 3", 7]), relax.const(w))
        return GELU_TANH["power"](op.reshape(product, ["n", 3, 9]))

    mod = build(write, tensor("x", "n", 3, 7))
    executable = relax.compile(mod, exec_mode=exec_mode, dump_phases=tmp_path)
    (legalized,) = tmp_path.glob("*-legalize.mlir")
    assert "@fused_matmul_gelu_tanh" in legalized.read_text()
    x = rng.uniform(-1, 1, (2, 3, 7)).astype("float32")
    y = (x.reshape(6, 7).astype("float64") @ w).reshape(2, 3, 9)
    exact = 0.5 * y * (1 + np.tanh(SLOPE * (y + 0.044715 * y**3)))
    actual = np.from_dlpack(relax.VirtualMachine(executable)["main"](x))
    np.testing.assert_allclose(actual, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("write", "wanted"),
    [
        (lambda x: op.tanh(op.reshape(op.exp(x), [-1])), ["exp", "tanh", "reshape"]),
        (
            lambda x: op.multiply(const(2), op.reshape(op.exp(x), ["n", 2, 2])),
            ["exp", "multiply", "reshape"],
        ),
        (
            lambda x: op.clip(op.reshape(op.exp(x), [-1]), 0, 1),
            ["exp", *2 * ["prim_value"], "clip", "reshape"],
        ),
        (lambda x: op.abs(op.tanh(op.reshape(op.exp(x), [-1]))), ["exp", "tanh", "abs", "reshape"]),
    ],
)
def test_reshapes_come_after_operators_of_elements(write: Any, wanted: list[str]) -> None:
    check(ReorderReshapeAfterElementwise(), build(write, tensor("x", "n", 4)), wanted, n=3)


@pytest.mark.parametrize(
    ("write", "wanted"),
    [
        (
            lambda x: op.add(op.reshape(op.exp(x), [1, "n", 1, 4]), const(2, shape=(4,))),
            ["exp", "reshape", "add", "reshape"],
        ),
        (
            lambda x: op.add(const(2, shape=(3, 1)), op.reshape(op.exp(x), ["n", 1, 4])),
            None,  # the result has more elements
        ),
        (
            lambda x: op.reshape(
                op.subtract(const(3, shape=(1, 1, 4)), op.reshape(op.exp(x), [1, "n", 4])), ["n", 4]
            ),
            ["exp", "reshape", "subtract"],
        ),
        (
            lambda x: op.maximum(
                op.reshape(op.exp(x), ["n", 1, 4]), op.reshape(const(2, shape=(4,)), [1, 1, 4])
            ),
            ["exp", "reshape", "reshape", "maximum", "reshape"],
        ),
    ],
)
def test_constants_are_reshaped_instead(write: Any, wanted: list[str] | None) -> None:
    check(ReorderReshapeAfterElementwise(), build(write, tensor("x", "n", 4)), wanted, n=3)


def test_parameters_are_reshaped_instead() -> None:
    mod = build(
        lambda x, y: op.add(op.reshape(op.exp(x), [1, "n", 4]), y),
        tensor("x", "n", 4),
        tensor("y", 1, 1, 4),
    )
    check(ReorderReshapeAfterElementwise(), mod, ["exp", "reshape", "add", "reshape"], n=3)


def test_reshapes_stay_where_tensors_are_updated() -> None:
    # `exp(x)` is updated between its reshape and what uses that.
    text = """
    func.func private @double(%x: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c4 step %c1 {
        %0 = memref.load %x[%i] : memref<4xf32>
        %1 = arith.addf %0, %0 : f32
        memref.store %1, %x[%i] : memref<4xf32>
      }
      return
    }
    relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[2, 2], f32> {
      %s = relax.shape <[2, 2]>
      %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
      %1 = relax.reshape %0, %s : (!relax.tensor<[4], f32>, !relax.shape<[2, 2]>) -> !relax.tensor<[2, 2], f32>
      %2 = relax.call_tir_inplace @double(%0) inplace [0] : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
      %3 = relax.tanh %1 : (!relax.tensor<[2, 2], f32>) -> !relax.tensor<[2, 2], f32>
      relax.return %3 : !relax.tensor<[2, 2], f32>
    }"""  # noqa: E501 (the lines of MLIR)
    x = np.linspace(-1, 1, 4, dtype="float32")
    for mode in ("bytecode", "compiled"):
        actual = run(relax.IRModule(text), x, exec_mode=mode)
        np.testing.assert_allclose(actual, np.tanh(np.exp(x)).reshape(2, 2), rtol=1e-6)


def reshape_is_used(x: Any) -> Any:
    flat = op.reshape(op.exp(x), [-1])
    return op.tuple(flat, op.tanh(flat))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: op.tanh(op.reshape(x, [-1])),  # of a parameter
        lambda x: op.add(op.reshape(op.exp(x), [-1]), op.reshape(op.abs(x), [-1])),
        lambda x: op.multiply(op.reshape(op.exp(x), ["n", 2, 2]), const(2, shape=(2,))),
        lambda x: op.sum(op.reshape(op.exp(x), [-1])),
        reshape_is_used,
    ],
)
def test_other_reshapes_stay(write: Any) -> None:
    check(ReorderReshapeAfterElementwise(), build(write, tensor("x", "n", 4)), None, n=3)
