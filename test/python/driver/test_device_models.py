"""Parts of models on devices, or on the interpreter of PTX, compared with PyTorch."""

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi

torch = pytest.importorskip("torch")
from relax_mlir.frontend.torch import from_exported_program  # noqa: E402

WAYS = ("compiled", "bytecode", "library")
N = torch.export.Dim("n", min=2, max=512)


@pytest.fixture(params=["cuda", "opencl"])
def kind(request):
    """Return the kind of a device that is here."""
    if not relax_runtime.has_device(f"{request.param}:0"):
        pytest.skip(f"needs a device {request.param}:0, which is not here")
    return request.param


class Residual(torch.nn.Module):
    """Two convolutions with batch normalization, around which their argument goes."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False)
        self.second = torch.nn.Conv2d(16, 16, 3, padding=1, bias=False)
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(16) for _ in range(2))
        self.shortcut = torch.nn.Conv2d(8, 16, 1, stride=2)

    def forward(self, x):
        y = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(y)) + self.shortcut(x))


class Decode(torch.nn.Module):
    """Attention of one new token to itself and those of a cache, which grows by it."""

    def __init__(self, heads=4, size=16):
        super().__init__()
        self.heads, self.size = heads, size
        self.qkv = torch.nn.Linear(heads * size, 3 * heads * size)
        self.out = torch.nn.Linear(heads * size, heads * size)

    def forward(self, x, keys, values):
        q, k, v = self.qkv(x).view(1, 1, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = torch.nn.functional.scaled_dot_product_attention(q, keys, values)
        return self.out(y.transpose(1, 2).reshape(1, 1, -1)), keys, values


def transformer():
    torch.manual_seed(0)
    return torch.nn.TransformerEncoderLayer(
        32, 4, 64, activation="gelu", batch_first=True, norm_first=True
    ).eval()


def load(way, program, folder, kind):
    """Return `main` of a program that takes tensors of the host and computes on the device."""
    if way == "library":
        path = folder / "model.so"
        relax.compile(program, target=kind).export_library(path)
        ex = relax.load(path)
    else:
        ex = relax.compile(program, target=kind, exec_mode=way)
    main = relax.VirtualMachine(ex)["main"]

    def call(*args):
        results = main(*[relax_runtime.tensor(arg.numpy(), f"{kind}:0") for arg in args])
        if not isinstance(results, tvm_ffi.Array):
            results = [results]
        return [np.from_dlpack(relax_runtime.tensor(each, "cpu:0")) for each in results]

    return call


def check(main, model, *args):
    with torch.no_grad():
        expected = model(*args)
    expected = expected if isinstance(expected, tuple) else [expected]
    for actual, wanted in zip(main(*args), expected, strict=True):
        np.testing.assert_allclose(actual, wanted.numpy(), rtol=1e-4, atol=1e-5)


def export(model, args, shapes=None):
    program = torch.export.export(model, args, dynamic_shapes=shapes)
    return from_exported_program(program, unwrap_unit_return_tuple=True)


@pytest.mark.parametrize("way", WAYS)
def test_residual_block(way, kind, tmp_path):
    torch.manual_seed(0)
    model = Residual().eval()
    main = load(way, export(model, (torch.randn(2, 8, 12, 12),)), tmp_path, kind)
    check(main, model, torch.randn(2, 8, 12, 12))


@pytest.mark.parametrize("way", WAYS)
def test_transformer_layer_of_any_length(way, kind, tmp_path):
    model = transformer()
    program = export(model, (torch.randn(2, 9, 32),), ({1: N},))
    main = load(way, program, tmp_path, kind)
    for length in (5, 33):
        check(main, model, torch.randn(2, length, 32))


@pytest.mark.parametrize("way", WAYS)
def test_decode_step_with_a_cache_that_grows(way, kind, tmp_path):
    torch.manual_seed(0)
    model = Decode().eval()
    cache = (torch.randn(1, 4, 7, 16), torch.randn(1, 4, 7, 16))
    program = export(model, (torch.randn(1, 1, 64), *cache), ({}, {2: N}, {2: N}))
    main = load(way, program, tmp_path, kind)
    for length in (3, 40):
        cache = (torch.randn(1, 4, length, 16), torch.randn(1, 4, length, 16))
        check(main, model, torch.randn(1, 1, 64), *cache)
