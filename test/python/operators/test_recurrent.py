# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent layers, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.script import from_source

OPERATORS = {"LSTM": op.nn.lstm, "GRU": op.nn.gru, "RNN": op.nn.rnn}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "float16": 4e-3}


def layer(kind: str, inputs: int, size: int, **options: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    return getattr(torch.nn, kind)(inputs, size, **options)


def expect(
    module: torch.nn.Module, x: np.ndarray, state: list[np.ndarray], reverse: bool
) -> list[np.ndarray]:
    """The outputs and the last state, in float64."""
    module = module.double()
    inputs, *begin = (torch.from_numpy(each.astype("float64")) for each in (x, *state))
    inputs = inputs.flip(0) if reverse else inputs
    begin = [each[None] for each in begin]
    with torch.no_grad():
        outputs, last = module(inputs, tuple(begin) if len(begin) > 1 else begin[0])
    outputs = outputs.flip(0) if reverse else outputs
    lasts = last if isinstance(last, tuple) else (last,)
    return [outputs.numpy(), *(each[0].numpy() for each in lasts)]


def weights_of(module: torch.nn.Module, dtype: str) -> list[np.ndarray]:
    return [each.detach().numpy().astype(dtype) for each in module.parameters()]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", OPERATORS)
def test_layers(run, kind, reverse, bias, dtype):
    module = layer(kind, 5, 6, bias=bias)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3, 5)).astype(dtype)
    state = [rng.standard_normal((3, 6)).astype(dtype) for _ in range(1 + (kind == "LSTM"))]
    weights = weights_of(module, dtype)
    shapes = [(4, "b", 5), *[("b", 6)] * len(state), *(each.shape for each in weights)]
    results = run(
        lambda *values: OPERATORS[kind](*values, reverse=reverse), x, *state, *weights,
        shapes=shapes,
    )  # fmt: skip
    for result, expected in zip(results, expect(module, x, state, reverse), strict=True):
        got = np.asarray(result)
        assert got.shape == expected.shape and got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize(("steps", "batch", "size"), [(1, 1, 1), (2, 0, 3), (3, 1, 17)])
@pytest.mark.parametrize("kind", OPERATORS)
def test_sizes(run, kind, steps, batch, size):
    module = layer(kind, 2, size)
    x = np.ones((steps, batch, 2), "float32")
    state = [np.zeros((batch, size), "float32") for _ in range(1 + (kind == "LSTM"))]
    results = run(OPERATORS[kind], x, *state, *weights_of(module, "float32"))
    for result, expected in zip(results, expect(module, x, state, False), strict=True):
        got = np.asarray(result)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_activation_of_a_layer_without_gates(run):
    module = layer("RNN", 3, 4, nonlinearity="relu")
    x = np.random.default_rng(1).standard_normal((3, 2, 3)).astype("float32")
    state = [np.zeros((2, 4), "float32")]
    results = run(
        lambda *values: op.nn.rnn(*values, activation="relu"), x, *state,
        *weights_of(module, "float32"),
    )  # fmt: skip
    for result, expected in zip(results, expect(module, x, state, False), strict=True):
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-6)


def test_gradients():
    module = layer("LSTM", 3, 4)
    rng = np.random.default_rng(2)
    x, h, c = (rng.standard_normal(dims).astype("float32") for dims in [(3, 2, 3), (2, 4), (2, 4)])
    arrays = [x, h, c, *weights_of(module, "float32")]
    params = [
        relax.Var(f"p{i}", relax.TensorStructInfo(each.shape, "float32"))
        for i, each in enumerate(arrays)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            outputs = op.get_item(op.nn.lstm(*params), 0)
            total = bb.emit_output(op.sum(op.multiply(outputs, outputs)))
        bb.emit_func_output(total)
    mod = relax.transform.Gradient("main")(bb.get())
    results = relax.VirtualMachine(relax.compile(mod))["main_adjoint"](*arrays)
    tensors = [torch.from_numpy(each).requires_grad_() for each in (x, h, c)]
    outputs, _ = module(tensors[0], (tensors[1][None], tensors[2][None]))
    (outputs * outputs).sum().backward()
    expected = [each.grad.numpy() for each in (*tensors, *module.parameters())]
    for result, wanted in zip(results[1], expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-4, atol=1e-4)


def test_a_step_is_a_product_and_the_cell(tmp_path):
    """Gates are parts of the kernel of the product; a cell is a kernel for each new state."""
    module = layer("LSTM", 8, 16)
    params = [
        relax.Var(name, relax.TensorStructInfo(dims, "float32"))
        for name, dims in {"x": (3, "b", 8), "h": ("b", 16), "c": ("b", 16)}.items()
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            constants = [relax.const(each) for each in weights_of(module, "float32")]
            result = bb.emit_output(op.nn.lstm(*params, *constants))
        bb.emit_func_output(result)
    relax.compile(bb.get(), dump_phases=tmp_path)
    text = next(tmp_path.glob("*legalize*")).read_text()
    calls = [line.split("@")[1].split("(")[0] for line in text.splitlines() if "call_tir" in line]
    products = [name for name in calls if "matmul" in name]
    assert len(products) == 4 and sum("split" in name for name in products) == 3, calls
    others = [name for name in calls if "matmul" not in name and "slice" not in name]
    assert len(others) == 3 + 1, calls  # and the stack of outputs


def test_tvmscript_has_them():
    module = from_source("""
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((5, "n", 3), "float32"), h: R.Tensor(("n", 4), "float32"),
        w: R.Tensor((12, 3), "float32"), r: R.Tensor((12, 4), "float32"),
    ):
        y = R.nn.gru(x, h, w, r, reverse=True)
        return y
""")
    assert [str(field) for field in module["main"].ret_struct_info.fields] == [
        "!relax.tensor<[5, n, 4], f32>",
        "!relax.tensor<[n, 4], f32>",
    ]


def tensor(name: str, *shape: Any) -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, "float32"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": ("t", 2, 3)}, "expected from 1 to 1000 known steps, but got .*<.t, 2, 3., f32>"),
        ({"x": (1001, 2, 3)}, "expected from 1 to 1000 known steps, but got .*1001"),
        ({"x": (5, 3)}, r"expected x of shape \[steps, batch, inputs\], but got .*<.5, 3., f32>"),
        ({"h": (3, 4)}, r"expected a state of shape \[batch, 4\] for x .*5, 2, 3.* got .*3, 4"),
        ({"w": (13, 3)}, r"expected weight of shape \[12, inputs\], .* but got .*13, 3"),
        ({"r": (16, 4)}, r"expected recurrence of shape \[3 \* state, state\], but got .*16, 4"),
        ({"r": (12, "s")}, "expected a state of known size, but got .*12, s"),
        ({"b": (16,)}, r"expected bias of shape \[12\], but got .*16"),
    ],
)
def test_errors(changes, message):
    shapes = {"x": (5, 2, 3), "h": (2, 4), "w": (12, 3), "r": (12, 4), "b": (12,)} | changes
    params = [tensor(name, *dims) for name, dims in shapes.items()]
    bb = relax.BlockBuilder()
    refuses = pytest.raises((ValueError, NotImplementedError), match=message)
    with refuses, bb.function("main", params):
        bb.emit_func_output(op.nn.gru(*params))


def test_unknown_activation():
    params = [tensor("x", 5, 2, 3), tensor("h", 2, 4), tensor("w", 4, 3), tensor("r", 4, 4)]
    bb = relax.BlockBuilder()
    refuses = pytest.raises(ValueError, match="expected activation tanh or relu, but got 'gelu'")
    with refuses, bb.function("main", params):
        bb.emit_func_output(op.nn.rnn(*params, activation="gelu"))
