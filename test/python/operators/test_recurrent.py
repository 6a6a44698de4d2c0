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


@pytest.mark.parametrize("steps", [4, "t"], ids=["known", "symbolic"])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", OPERATORS)
def test_layers(run, kind, reverse, bias, dtype, steps):
    module = layer(kind, 5, 6, bias=bias)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3, 5)).astype(dtype)
    state = [rng.standard_normal((3, 6)).astype(dtype) for _ in range(1 + (kind == "LSTM"))]
    weights = weights_of(module, dtype)
    shapes = [(steps, "b", 5), *[("b", 6)] * len(state), *(each.shape for each in weights)]
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


def is_close(results: Any, expected: list[np.ndarray], tolerance: float = 1e-5) -> None:
    for result, wanted in zip(results, expected, strict=True):
        got = np.asarray(result)
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def program(kind: str, shapes: Any, reverse: bool, is_block: bool) -> relax.BlockBuilder:
    """A layer in a dataflow block, or outside of one."""
    params = [tensor(f"p{i}", *dims) for i, dims in enumerate(shapes)]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        if is_block:
            with bb.dataflow():
                result = bb.emit_output(OPERATORS[kind](*params, reverse=reverse))
        else:
            result = OPERATORS[kind](*params, reverse=reverse)
        bb.emit_func_output(result)
    return bb


@pytest.mark.parametrize("is_block", [True, False], ids=["dataflow", "plain"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", OPERATORS)
def test_numbers_of_steps_that_the_program_finds(exec_mode, kind, reverse, is_block):
    module = layer(kind, 2, 3)
    weights = weights_of(module, "float32")
    states = 1 + (kind == "LSTM")
    shapes = [("t", "b", 2), *[("b", 3)] * states, *(each.shape for each in weights)]
    bb = program(kind, shapes, reverse, is_block)
    main = relax.VirtualMachine(relax.compile(bb.get(), exec_mode=exec_mode))["main"]
    rng = np.random.default_rng(0)
    for steps, batch in ((1, 2), (2, 1), (7, 3), (64, 1), (1500, 2)):
        x = rng.standard_normal((steps, batch, 2)).astype("float32")
        state = [rng.standard_normal((batch, 3)).astype("float32") for _ in range(states)]
        is_close(main(x, *state, *weights), expect(module, x, state, reverse))
    # PyTorch takes no sequence without steps.
    state = [rng.standard_normal((2, 3)).astype("float32") for _ in range(states)]
    results = main(np.zeros((0, 2, 2), "float32"), *state, *weights)
    is_close(results, [np.zeros((0, 2, 3), "float32"), *state])


@pytest.mark.parametrize("steps", [0, 1001])
def test_many_known_steps_and_none(run, steps):
    module = layer("GRU", 2, 3)
    x = np.random.default_rng(0).standard_normal((steps, 2, 2)).astype("float32")
    state = [np.ones((2, 3), "float32")]
    results = run(op.nn.gru, x, *state, *weights_of(module, "float32"))
    none = [np.zeros((0, 2, 3), "float32"), *state]
    is_close(results, expect(module, x, state, False) if steps else none)


def test_layers_one_after_the_other(exec_mode):
    """Each has functions of its own; dimensions may be expressions, and named like theirs."""
    module = layer("LSTM", 3, 3, num_layers=2)
    weights = weights_of(module, "float32")
    shapes = [("begin", "size_0", 3), ("size_0", 3), *(each.shape for each in weights)]
    x, state, *given = params = [tensor(f"p{i}", *dims) for i, dims in enumerate(shapes)]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            both = op.concat([x, x], 0), op.concat([x, x], 1)
            longer = op.concat([state, state], 0)
            results = []
            for data, begin in zip(both, (state, longer), strict=True):
                for place in (0, 4):
                    weights_here = given[place : place + 4]
                    data = op.get_item(op.nn.lstm(data, begin, begin, *weights_here), 0)
                results.append(data)
            result = bb.emit_output(op.tuple(*results))
        bb.emit_func_output(result)
    main = relax.VirtualMachine(relax.compile(bb.get(), exec_mode=exec_mode))["main"]
    rng = np.random.default_rng(0)
    data, begin = (rng.standard_normal(dims).astype("float32") for dims in ((5, 2, 3), (2, 3)))
    wanted = []
    for axis, first in ((0, begin), (1, np.concatenate([begin, begin]))):
        whole = torch.from_numpy(np.concatenate([data, data], axis))
        start = torch.from_numpy(np.stack([first, first]))
        wanted.append(module(whole, (start, start))[0].detach().numpy())
    is_close(main(data, begin, *weights), wanted)


def test_functions_of_loops_do_not_take_names():
    """A layer adds functions; those that have their names already stay."""
    params = [
        tensor(f"p{i}", *dims) for i, dims in enumerate([("t", 2, 3), (2, 4), (4, 3), (4, 4)])
    ]
    bb = relax.BlockBuilder()
    x = tensor("x", "n")
    with bb.function("rnn", [x]):
        bb.emit_func_output(op.exp(x))
    with bb.function("main", params):
        bb.emit_func_output(op.nn.rnn(*params))
    names = [each.name for each in bb.get().get_global_vars()]
    assert names == ["rnn", "main", "rnn_steps", "rnn1"]


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


@pytest.mark.parametrize("steps", [3, "t"], ids=["known", "symbolic"])
def test_gradients(steps):
    module = layer("LSTM", 3, 4)
    rng = np.random.default_rng(2)
    x, h, c = (rng.standard_normal(dims).astype("float32") for dims in [(3, 2, 3), (2, 4), (2, 4)])
    arrays = [x, h, c, *weights_of(module, "float32")]
    shapes = [(steps, 2, 3), *(each.shape for each in arrays[1:])]
    params = [tensor(f"p{i}", *dims) for i, dims in enumerate(shapes)]
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


@pytest.mark.parametrize("steps", [5, '"t"'])
def test_tvmscript_has_them(steps):
    module = from_source(f"""
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(({steps}, "n", 3), "float32"), h: R.Tensor(("n", 4), "float32"),
        w: R.Tensor((12, 3), "float32"), r: R.Tensor((12, 4), "float32"),
    ):
        y = R.nn.gru(x, h, w, r, reverse=True)
        return y
""")
    assert [str(field) for field in module["main"].ret_struct_info.fields] == [
        f"!relax.tensor<[{steps}, n, 4], f32>".replace('"', ""),
        "!relax.tensor<[n, 4], f32>",
    ]


def tensor(name: str, *shape: Any) -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, "float32"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
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
