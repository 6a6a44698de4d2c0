"""Parts of models on devices, or on the interpreter of PTX, compared with PyTorch."""

import ctypes
import os

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


def residual():
    """Return a model, its program, and arguments."""
    torch.manual_seed(0)
    model = Residual().eval()
    args = (torch.randn(2, 8, 12, 12),)
    return model, export(model, args), [args]


def transformer_of_any_length():
    model = transformer()
    program = export(model, (torch.randn(2, 9, 32),), ({1: N},))
    return model, program, [(torch.randn(2, length, 32),) for length in (5, 33)]


def decode():
    torch.manual_seed(0)
    model = Decode().eval()
    arguments = [
        (torch.randn(1, 1, 64), torch.randn(1, 4, length, 16), torch.randn(1, 4, length, 16))
        for length in (3, 40)
    ]
    program = export(model, arguments[0], ({}, {2: N}, {2: N}))
    return model, program, arguments


#: Each model with its fused groups, and with the launches of a call.
MODELS = {residual: (3, 3), transformer_of_any_length: (16, 21), decode: (9, 17)}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("way", WAYS)
def test_models(way, model, kind, tmp_path):
    module, program, arguments = model()
    main = load(way, program, tmp_path, kind)
    for args in arguments:
        check(main, module, *args)


@pytest.mark.parametrize("model", MODELS)
def test_launches_of_a_call(model, tmp_path):
    """A group is one launch, but for products with a softmax between them, and concatenations."""
    driver = os.environ.get("RELAX_CUDA_DRIVER", "")
    if "relax_ptx_driver" not in driver:
        pytest.skip("needs the interpreter of PTX, which counts launches")
    counter = ctypes.CDLL(driver)
    _, program, arguments = model()
    ex = relax.compile(program, target="cuda", dump_phases=tmp_path)
    (legalized,) = tmp_path.glob("*-legalize.mlir")
    main = relax.VirtualMachine(ex)["main"]
    counts = set()
    for args in arguments:
        moved = [relax_runtime.tensor(arg.numpy(), "cuda:0") for arg in args]
        counter.relax_ptx_reset()
        main(*moved)
        counts.add((legalized.read_text().count("relax.call_tir "), counter.relax_ptx_calls()))
    assert counts == {MODELS[model]}
