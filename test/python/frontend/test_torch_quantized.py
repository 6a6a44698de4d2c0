"""Quantized programs of PyTorch: operators of ``quantized_decomposed``, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform import FakeQuantizationToInteger

torch = pytest.importorskip("torch")
pytest.importorskip("torch.ao.quantization.fx._decomposed")  # defines the operators
Q = torch.ops.quantized_decomposed


def module_of(function):
    class Model(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    return Model()


def run(function, *inputs, mode="compiled", dynamic=True):
    model = module_of(function)
    shapes = None
    if dynamic:
        shapes = {"inputs": tuple({0: torch.export.Dim("n")} for _ in inputs)}
    mod = from_exported_program(torch.export.export(model, inputs, dynamic_shapes=shapes))
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=mode))["main"]
    results = main(*(x.numpy() for x in inputs))
    wanted = model(*inputs)
    return [np.from_dlpack(x) for x in results], wanted if isinstance(wanted, tuple) else [wanted]


def check(function, *inputs, **options):
    for mode in ("compiled", "bytecode"):
        for result, wanted in zip(*run(function, *inputs, mode=mode, **options), strict=True):
            assert result.dtype == wanted.numpy().dtype
            array = wanted.numpy()
            if array.ndim == 0:  # which PyTorch exports as a vector of one element
                array = array.reshape(result.shape)
            np.testing.assert_allclose(result, array, rtol=2e-6, atol=1e-6)


def sample(*shape):
    return torch.from_numpy(np.random.default_rng(0).uniform(-9, 9, shape).astype("float32"))


@pytest.mark.parametrize(("dtype", "least", "most"), [("int8", -128, 127), ("uint8", 3, 200)])
def test_tensors(dtype, least, most):
    kind = getattr(torch, dtype)

    def both(x):
        codes = Q.quantize_per_tensor(x, 0.07, 5, least, most, kind)
        return codes, Q.dequantize_per_tensor(codes, 0.07, 5, least, most, kind)

    check(both, sample(6, 11))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_channels(axis):
    scale = torch.tensor([0.1, 0.2, 0.05, 0.3])
    zero = torch.tensor([0, 3, -5, 7])

    def both(x):
        codes = Q.quantize_per_channel(x, scale, zero, axis, -128, 127, torch.int8)
        return codes, Q.dequantize_per_channel(codes, scale, zero, axis, -128, 127, torch.int8)

    check(both, sample(4, 4), dynamic=axis != 0)


def test_parameters_that_data_say():
    def dynamic(x):
        scale, zero = Q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
        codes = Q.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
        back = Q.dequantize_per_tensor.tensor(codes, scale, zero, -128, 127, torch.int8)
        return scale, zero, codes, back

    check(dynamic, sample(5, 7))


def test_rounding_to_codes():
    aten = torch.ops.aten
    scales = torch.tensor([0.1, 0.2, 0.05])
    zeros = torch.tensor([3, 0, -2], dtype=torch.int32)

    def rounded(x):
        by_number = aten.fake_quantize_per_tensor_affine_cachemask(x, 0.05, 3, 0, 255)
        by_tensor = [
            aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
                x, scales[:1], zeros[:1], torch.tensor([on]), -128, 127
            )
            for on in (1, 0)
        ]
        channels = aten.fake_quantize_per_channel_affine_cachemask(x, scales, zeros, 1, -100, 127)
        return (*by_number, *by_tensor[0], *by_tensor[1], *channels)

    # PyTorch exports these with known sizes only.
    check(rounded, sample(6, 3, 4), dynamic=False)


@pytest.mark.parametrize("has_zeros", [False, True])
def test_products_by_groups(has_zeros):
    """A linear layer of 4 bits, whose product unpacks the weights."""
    rng = np.random.default_rng(1)
    codes = torch.from_numpy(rng.integers(-8, 8, (96, 256)).astype("int8"))
    scale = torch.from_numpy(rng.random((96, 8)).astype("float32"))
    zero = torch.from_numpy(rng.integers(-3, 4, (96, 8)).astype("int8")) if has_zeros else None

    def linear(x):
        weight = Q.dequantize_per_channel_group(
            codes, scale, zero, -8, 7, torch.int8, 32, torch.float32
        )
        return torch.nn.functional.linear(x, weight)

    results, wanted = run(linear, sample(3, 256) / 9)
    np.testing.assert_allclose(results[0], wanted[0].numpy(), rtol=1e-4, atol=1e-3)
    model = module_of(linear)
    program = torch.export.export(model, (sample(3, 256),))
    lowered = relax.transform.phase("optimize")(from_exported_program(program))
    assert "packed_weights" in str(relax.transform.phase("legalize")(lowered))


def test_layers_become_products_of_integers():
    """What ``pt2e`` makes of a convolution and a linear layer."""
    rng = np.random.default_rng(1)
    weight = torch.from_numpy(rng.integers(-128, 128, (5, 3, 2, 2)).astype("int8"))
    scales = torch.linspace(0.001, 0.002, 5)
    zeros = torch.zeros(5, dtype=torch.int64)
    matrix = torch.from_numpy(rng.integers(-128, 128, (4, 45)).astype("int8"))
    bias = torch.linspace(-1, 1, 4)

    def both(x, scale, zero):
        codes = Q.quantize_per_tensor(x, scale, zero, -128, 127, torch.int8)
        return Q.dequantize_per_tensor(codes, scale, zero, -128, 127, torch.int8)

    class Model(torch.nn.Module):
        def forward(self, x):
            filters = Q.dequantize_per_channel(weight, scales, zeros, 0, -128, 127, torch.int8)
            y = torch.relu(torch.conv2d(both(x, 0.07, 5), filters))
            y = both(y, 0.05, -128).flatten(1)
            columns = Q.dequantize_per_tensor(matrix, 0.01, 0, -128, 127, torch.int8)
            y = torch.nn.functional.linear(both(y, 0.05, -128), columns, bias)
            return both(y, 0.1, 0)

    x, model = sample(6, 3, 4, 4), Model()
    mod = from_exported_program(torch.export.export(model, (x,)))
    assert str(FakeQuantizationToInteger()(mod)).count("out_dtype = i32") == 2
    result = relax.VirtualMachine(relax.compile(mod))["main"](x.numpy())[0]
    steps = (np.from_dlpack(result) - model(x).numpy()) / 0.1
    assert np.abs(steps).max() < 1.1
