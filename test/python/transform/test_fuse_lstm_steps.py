# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of a long short-term memory as one kernel, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.transform import CanonicalizeBindings, FuseLSTMSteps
from rewriting_cases import build, names, tensor

STEPS, BATCH, INPUTS, UNITS = 5, 8, 6, 32

Module = torch.nn.Module


def layer(units: int = UNITS, inputs: int = INPUTS, **options: Any) -> Module:
    torch.manual_seed(0)
    return torch.nn.LSTM(inputs, units, **options)


def weights_of(module: Module) -> list[np.ndarray]:
    return [each.detach().numpy() for each in module.parameters()]


def arrays(batch: int = BATCH, units: int = UNITS) -> list[np.ndarray]:
    """The inputs, and a state that is not 0."""
    rng = np.random.default_rng(0)
    shapes = [(STEPS, batch, INPUTS), (batch, units), (batch, units)]
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def expect(module: Module, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> list[np.ndarray]:
    """The outputs and the last state, in float64."""
    x, h, c = (torch.from_numpy(each.astype("float64")) for each in (x, h, c))
    with torch.no_grad():
        outputs, (hidden, memory) = module.double()(x, (h[None], c[None]))
    return [outputs.numpy(), hidden[0].numpy(), memory[0].numpy()]


def params(shapes: Any) -> list[relax.Var]:
    return [tensor(name, *shape) for name, shape in zip("xhc", shapes, strict=True)]


def program(module: Module, shapes: Any, write: Any = op.nn.lstm, **options: Any) -> Any:
    """A program whose weights are constants."""
    constants = [relax.const(each) for each in weights_of(module)]
    mod = build(lambda *given: write(*given, *constants, **options), *params(shapes))
    return CanonicalizeBindings()(mod)  # fields of tuples are values


def check(mod: Any, given: list[np.ndarray], expected: list[np.ndarray], mode: str) -> None:
    vm = relax.VirtualMachine(relax.compile(mod, exec_mode=mode))
    results = vm["main"](*given)
    for result, wanted in zip(results, expected, strict=True):
        got = np.asarray(result)
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def is_fused(mod: Any, bits: int) -> bool:
    found = names(FuseLSTMSteps(vector_bits=bits)(mod))
    assert found.count("matmul") in (1, STEPS + 1)
    return found.count("matmul") == 1


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("bits", [256, 512])
def test_layer(exec_mode: str, bits: int, reverse: bool, bias: bool) -> None:
    module, given = layer(bias=bias), arrays()
    mod = program(module, [each.shape for each in given], reverse=reverse)
    assert is_fused(mod, bits)
    fused = FuseLSTMSteps(vector_bits=bits)(mod)
    x, h, c = given
    expected = expect(module, x[::-1].copy() if reverse else x, h, c)
    if reverse:
        expected[0] = expected[0][::-1]
    check(fused, given, expected, exec_mode)


@pytest.mark.parametrize(("batch", "bits"), [(9, 512), (10, 256), (12, 512), (16, 512)])
def test_rows_of_tiles_divide_the_batch(exec_mode: str, batch: int, bits: int) -> None:
    module, given = layer(16), arrays(batch, 16)
    mod = program(module, [each.shape for each in given])
    assert is_fused(mod, bits)
    check(FuseLSTMSteps(vector_bits=bits)(mod), given, expect(module, *given), exec_mode)


@pytest.mark.parametrize(
    ("steps", "batch", "units", "bits"),
    [
        (STEPS, 4, 32, 512),  # one task
        (STEPS, 11, 32, 512),  # no tile has so many rows
        (STEPS, 9, 32, 256),
        (STEPS, 8, 24, 512),  # no whole vectors
        (STEPS, "n", 32, 512),
        (STEPS, 8, 32, 128),
        (1, 8, 32, 512),
    ],
)
def test_others_are_left_alone(steps: int, batch: Any, units: int, bits: int) -> None:
    shapes = [(steps, batch, INPUTS), (batch, units), (batch, units)]
    mod = program(layer(units), shapes)
    assert names(FuseLSTMSteps(vector_bits=bits)(mod)) == names(mod)


def test_what_caches_do_not_hold_is_left_alone() -> None:
    shapes = [(2, 8, 4), (8, 1024), (8, 1024)]
    mod = program(layer(1024, 4), shapes)
    assert names(FuseLSTMSteps(vector_bits=512)(mod)) == names(mod)


def test_inputs_and_outputs_of_batches_are_not_permuted(exec_mode: str) -> None:
    module, (x, h, c) = layer(), arrays()

    def write(x: Any, *others: Any) -> Any:
        made = op.nn.lstm(op.permute_dims(x, [1, 0, 2]), *others)
        return op.tuple(op.permute_dims(op.get_item(made, 0), [1, 0, 2]), op.get_item(made, 2))

    mod = program(module, [(BATCH, STEPS, INPUTS), h.shape, c.shape], write)
    fused = FuseLSTMSteps(vector_bits=512)(mod)
    permuted = [name for name in names(fused) if name == "permute_dims"]
    assert len(permuted) == 3  # those of weights
    outputs, _, memory = expect(module, x, h, c)
    given = [x.transpose(1, 0, 2).copy(), h, c]
    check(fused, given, [outputs.transpose(1, 0, 2), memory], exec_mode)


@pytest.mark.parametrize("by_batch", [False, True])
def test_single_outputs(exec_mode: str, by_batch: bool) -> None:
    """What a program takes of the outputs is taken of the result of the kernel."""
    module, given = layer(), arrays()

    def write(*args: Any) -> Any:
        made = op.nn.lstm(*args)
        outputs = op.get_item(made, 0)
        if by_batch:
            outputs = op.permute_dims(outputs, [1, 0, 2])
        return op.tuple(outputs, op.add(op.get_item(made, 1), op.get_item(made, 2)))

    mod = program(module, [each.shape for each in given], write)
    assert is_fused(mod, 512)
    outputs, hidden, memory = expect(module, *given)
    if by_batch:
        outputs = outputs.transpose(1, 0, 2)
    check(FuseLSTMSteps(vector_bits=512)(mod), given, [outputs, hidden + memory], exec_mode)


def test_layers_one_after_the_other(exec_mode: str) -> None:
    """The kernel of the second one is that of the first one."""
    torch.manual_seed(0)
    module, (x, h, c) = torch.nn.LSTM(INPUTS, UNITS, 2), arrays()
    constants = [relax.const(each) for each in weights_of(module)]

    def write(x: Any, h: Any, c: Any) -> Any:
        first = op.nn.lstm(x, h, c, *constants[:4])
        return op.nn.lstm(op.get_item(first, 0), h, c, *constants[4:])

    mod = build(write, *params([each.shape for each in (x, h, c)]))
    fused = FuseLSTMSteps(vector_bits=512)(mod)
    assert names(fused).count("call_tir") == 2
    assert str(fused).count("func.func private @lstm_steps") == 1
    with torch.no_grad():
        state = [torch.from_numpy(np.stack([each, each])).double() for each in (h, c)]
        outputs, (hidden, memory) = module.double()(torch.from_numpy(x).double(), tuple(state))
    expected = [outputs.numpy(), hidden[1].numpy(), memory[1].numpy()]
    check(fused, [x, h, c], expected, exec_mode)


def test_memories_between_steps_are_not_lost() -> None:
    """The kernel returns the last one, so that steps are left alone where others are used."""
    module, given = layer(), arrays()
    constants = [relax.const(each) for each in weights_of(module)]

    def write(x: Any, h: Any, c: Any) -> Any:
        total = c
        products = op.matmul(x, op.permute_dims(constants[0]))
        for step in range(STEPS):
            row = op.squeeze(op.strided_slice(products, [0], [step], [step + 1]), [0])
            sums = op.add(row, op.matmul(h, op.permute_dims(constants[1])))
            i, f, g, o = (op.get_item(op.split(sums, 4, axis=1), each) for each in range(4))
            kept = op.multiply(op.sigmoid(f), c)
            c = op.add(kept, op.multiply(op.sigmoid(i), op.tanh(g)))
            h = op.multiply(op.sigmoid(o), op.tanh(c))
            total = op.add(total, c)
        return op.tuple(h, total)

    mod = build(write, *params([each.shape for each in given]))
    assert "call_tir" not in names(FuseLSTMSteps(vector_bits=512)(mod))


def test_compile_fuses_steps_of_float32(tmp_path: Any) -> None:
    given = arrays()
    mod = program(layer(), [each.shape for each in given])
    for options, is_there in (({}, True), ({"fuse": False}, False), ({"precision": "bf16"}, False)):
        folder = tmp_path / "-".join(options or ["default"])
        relax.compile(mod, target="llvm -mcpu=x86-64-v4", dump_phases=folder, **options)
        text = next(folder.glob("*optimize*")).read_text()
        assert ("@lstm_steps" in text) == is_there, options
