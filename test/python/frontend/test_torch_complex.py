# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers and Fourier transforms of PyTorch give what they give there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir
import relax_mlir.frontend.torch
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch import fft, nn

Function = Callable[..., torch.Tensor]


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(sum(shape)).standard_normal(shape), dtype=dtype)


def complex_numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.view_as_complex(random(*shape, 2, dtype=dtype)).clone()


class Model(nn.Module):
    """The results of some functions of the same inputs."""

    def __init__(self, functions: dict[str, Function]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        return [function(*inputs) for function in self.functions.values()]


def compare(
    functions: dict[str, Function], *inputs: torch.Tensor, tolerance: float = 1e-5, **options: Any
) -> None:
    model = Model(functions)
    compiled = relax_mlir.frontend.torch.compile(model, inputs, **options)
    for name, ours, theirs in zip(functions, compiled(*inputs), model(*inputs), strict=True):
        assert ours.dtype == theirs.dtype, name
        torch.testing.assert_close(
            ours, theirs, rtol=tolerance, atol=tolerance,
            msg=lambda text, name=name: f"{name}: {text}",
        )  # fmt: skip


ELEMENTS: dict[str, Function] = {
    "parts": lambda x, y: torch.complex(x.imag, y.real),
    "conjugate": lambda x, y: x.conj() * y,
    "sum": lambda x, y: x + y,
    "sum with a real tensor": lambda x, y: y.real[:1] + x,
    "sum with numbers": lambda x, y: x + 1.5 + (2 - 1j),
    "difference": lambda x, y: torch.sub(x, y, alpha=2) - (3 - y.imag),
    "difference from": lambda x, y: 2j - x,
    "product": lambda x, y: x * y,
    "product with a real tensor": lambda x, y: x.real * y,
    "product with numbers": lambda x, y: 2.0 * x * 1j,
    "real times a complex number": lambda x, y: x.real * (1 - 2j),
    "quotient": lambda x, y: x / (y + 3),
    "quotient of a real tensor": lambda x, y: x.real / (y + 3),
    "reciprocal": lambda x, y: (x + 3).reciprocal(),
    "absolute": lambda x, y: x.abs(),
    "angle": lambda x, y: x.angle(),
    "angle of a real tensor": lambda x, y: x.real.angle(),
    "sign": lambda x, y: torch.sgn(torch.cat([x, torch.zeros_like(x)])),
    "exp": lambda x, y: x.exp(),
    "log": lambda x, y: x.log(),
    "sqrt": lambda x, y: torch.cat([x, torch.zeros_like(x)]).sqrt(),
    "powers": lambda x, y: x**2 + x**3 + x**0.5,
    "trigonometric": lambda x, y: torch.cat([x.sin(), x.cos(), x.tan()]),
    "hyperbolic": lambda x, y: torch.cat([x.sinh(), x.cosh(), x.tanh(), x.square()]),
    "finite": lambda x, y: torch.cat([x.isfinite(), x.isnan(), (x / 0).isinf()]),
    "norm": lambda x, y: torch.linalg.vector_norm(x, dim=1) + x.norm(),
    "variance": lambda x, y: x.var(0) + x.std(1, correction=0),
    "polar": lambda x, y: torch.polar(x.abs(), y.imag),
    "equal": lambda x, y: torch.cat([x == x, x == y, x != x.conj(), x == 1]),
    "mean": lambda x, y: x.mean(0) + x.sum(1, keepdim=True),
    "to complex": lambda x, y: x.real.to(torch.complex64) + x.real.int().to(torch.complex64),
}  # fmt: skip

MOVES: dict[str, Function] = {
    "views": lambda x, y: x.reshape(2, 2, 4).transpose(0, 2).unsqueeze(1).expand(4, 3, 2, 2),
    "parts": lambda x, y: torch.cat([x[1:, ::2], y.flip(1)[:1, :2]]),
    "real and complex": lambda x, y: torch.cat([x, x.real]),
    "split": lambda x, y: torch.stack([part * 2 for part in x.split(2, dim=1)]),
    "roll": lambda x, y: x.roll((1, 2), (0, 1)) + x.tril(),
    "pad": lambda x, y: nn.functional.pad(x, (1, 2)),
    "pad with a number": lambda x, y: nn.functional.pad(x, (1, 2), value=3.0),
    "index": lambda x, y: x[torch.tensor([3, 0]), torch.tensor([1, 1])],
    "where": lambda x, y: torch.where(x.real > 0, x, y.real),
    "fill": lambda x, y: x.masked_fill(x.imag > 0, 2.5),
    "full": lambda x, y: torch.full((2, 3), 1 + 2j) * torch.ones(3, dtype=torch.complex64),
    "write": lambda x, y: _written(x, y),
}


def _written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    result = torch.zeros(5, 4, dtype=torch.complex64)
    result[1:] = x
    result[0] = y[0].real
    return result


PRODUCTS: dict[str, Function] = {
    "matmul": lambda x, y: x @ y.mT,
    "real": lambda x, y: x.real @ y.imag.mT + x @ y,
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y.conj()),
    "dot": lambda x, y: torch.dot(x[0], y[0]) + torch.vdot(x[1], y[1]),
    "addmm": lambda x, y: torch.addmm(y, x, y, beta=2, alpha=1j),
    "convolution": lambda x, y: nn.functional.conv1d(x[None], y[:, :, None], x[0], padding=1),
    "linear": lambda x, y: nn.functional.linear(x, y, y[:, 0]),
}


@pytest.mark.parametrize("functions", [ELEMENTS, MOVES, PRODUCTS], ids=["elements", "moves", "mm"])
def test_complex_numbers(functions: dict[str, Function], exec_mode: str) -> None:
    x, y = complex_numbers(4, 4), complex_numbers(4, 4).flip(0)
    compare(functions, x, y, exec_mode=exec_mode)


def test_complex_numbers_of_64_bits() -> None:
    x, y = (complex_numbers(4, 4, dtype=torch.float64) for _ in range(2))
    few = ("product", "quotient", "absolute", "exp", "sqrt")
    compare({name: ELEMENTS[name] for name in few}, x, y, tolerance=1e-13)


def test_absolute_values_that_are_not_the_root_of_squares() -> None:
    parts = torch.tensor([0.0, 3e38, 1e-30, -1e-40, float("inf"), -float("inf")])
    x = torch.complex(parts[:, None].expand(6, 6).clone(), parts.expand(6, 6).clone())
    compare({"absolute": torch.abs}, x[:4, :4] * 0.5)
    compare({"absolute": torch.abs}, x)


TRANSFORMS: dict[str, Function] = {
    "fft": lambda x: fft.fft(x),
    "of complex numbers": lambda x: fft.fft(torch.complex(x, x.flip(-1)), norm="ortho"),
    "inverse": lambda x: fft.ifft(torch.complex(x, x.flip(-1))),
    "half": lambda x: fft.rfft(x, norm="forward"),
    "inverse of half": lambda x: fft.irfft(fft.rfft(x) * 2, n=x.shape[-1]),
    "other length": lambda x: fft.irfft(fft.rfft(x, n=12), n=10, norm="ortho"),
    "hermitian": lambda x: fft.hfft(torch.complex(x, x.flip(-1))),
    "two dimensions": lambda x: fft.fft2(x),
    "inverse of two": lambda x: fft.irfft2(fft.rfft2(x), s=x.shape[-2:], norm="forward"),
    "first dimensions": lambda x: fft.fftn(x, dim=(0, 1)),
    "inverse of all": lambda x: fft.ifftn(x.to(torch.complex64)),
    "shift": lambda x: fft.fftshift(fft.fft2(x)).angle(),
}


def test_fourier_transforms(exec_mode: str) -> None:
    # Of 64 elements: those of an inverse that is not scaled are as many times larger.
    compare(TRANSFORMS, random(3, 4, 16), exec_mode=exec_mode, tolerance=3e-5)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_fourier_transforms_of_few_elements(length: int) -> None:
    functions = {k: v for k, v in TRANSFORMS.items() if length > 1 or k != "hermitian"}
    compare(functions, random(3, 4, length), exec_mode="bytecode")


@pytest.mark.parametrize("length", [131, 144, 262, 400, 1001, 1024, 16398])
def test_fourier_transforms_of_many_elements(length: int) -> None:
    functions = {name: TRANSFORMS[name] for name in ("of complex numbers", "half", "inverse")}
    x = random(2, length)
    compare({**functions, "inverse of half": TRANSFORMS["inverse of half"]}, x, tolerance=2e-5)


def test_fourier_transforms_of_a_length_that_is_not_known() -> None:
    functions: dict[str, Function] = {
        "fft": fft.fft,
        "hidden and sequence": lambda x: fft.fftn(x, dim=(0, 1)).real,
        "half": fft.rfft,
        "inverse": lambda x: fft.ifft(x.to(torch.complex64)),
        "first": lambda x: fft.rfft(x, dim=0),
    }
    model = Model(functions)
    compiled = relax_mlir.frontend.torch.compile(model, (random(4, 6),), dynamic=True)
    for shape in ((4, 6), (5, 2), (2, 9), (300, 130)):
        x = random(*shape)
        for ours, theirs in zip(compiled(x), model(x), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


def test_error_fourier_transform_with_a_large_prime() -> None:
    with pytest.raises(NotImplementedError, match="prime factors up to 4096, but got 4099"):
        compare({"fft": fft.fft}, random(4099))


def test_spectrograms(exec_mode: str) -> None:
    window = torch.hann_window(16)

    def spectrum(x: torch.Tensor, **options: Any) -> torch.Tensor:
        return torch.stft(x, 16, 4, window=window, return_complex=True, **options)

    functions: dict[str, Function] = {
        "stft": lambda x: spectrum(x, center=True, pad_mode="reflect"),
        "power": lambda x: spectrum(x, center=False, normalized=True).abs().pow(2),
        "whole": lambda x: spectrum(x, onesided=False),
        "istft": lambda x: torch.istft(spectrum(x), 16, 4, window=window),
    }
    compare(functions, random(3, 160), exec_mode=exec_mode)


class Rotary(nn.Module):
    """The rotary embedding of Llama, whose factors are a buffer."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(32.0), 10 ** -torch.arange(4.0))
        self.register_buffer("factors", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        factors = self.factors[: x.shape[1]][None, :, None]
        return torch.view_as_real(pairs * factors).flatten(3)


@pytest.mark.parametrize("options", [{}, {"freeze": True}])
def test_rotary_embedding_in_all_ways(options: dict[str, bool]) -> None:
    model, x = Rotary(), random(2, 6, 3, 8)
    one = relax_mlir.frontend.torch.compile(model, (x,), dynamic=True)
    two = torch.compile(model, backend="relax_mlir", options={"fallback": False, **options})
    with torch.no_grad():
        for length in (6, 17):
            x = random(2, length, 3, 8)
            torch.testing.assert_close(one(x), model(x))
            torch.testing.assert_close(two(x), model(x))


def test_complex_parameters_are_pairs() -> None:
    model, x = Rotary(), random(2, 6, 3, 8)
    program = torch.export.export(model, (x,))
    mod = from_exported_program(program, keep_params_as_input=True, unwrap_unit_return_tuple=True)
    assert str(mod["main"].params[1].struct_info) == "!relax.tensor<[32, 4, 2], f32>"
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod))["main"]
    torch.testing.assert_close(torch.from_dlpack(main(x, *mod.params["main"])), model(x))


class Accumulated(nn.Module):
    """A buffer that changes, and a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3, dtype=torch.complex64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return torch.cond(self.total.real.sum() > 2, lambda z: z * 2j, lambda z: z + 1, (x,))


def test_buffers_and_branches() -> None:
    x, model = torch.complex(torch.ones(3), torch.arange(3.0)) / 2, Accumulated()
    compiled = relax_mlir.frontend.torch.compile(model, (x,))
    for _ in range(3):
        torch.testing.assert_close(compiled(x), model(x))
    torch.testing.assert_close(torch.view_as_complex(compiled.buffers["total"]), model.total)


def test_error_complex_numbers() -> None:
    x = complex_numbers(3)
    with pytest.raises(NotImplementedError, match=r"aten\.asin\.default.*for complex"):
        compare({"asin": torch.asin}, x)
    with pytest.raises(NotImplementedError, match=r"an exponent .* but got -1"):
        compare({"power": lambda x: x**-1}, x)
    compiled = relax_mlir.frontend.torch.compile(Model({"abs": torch.abs}), (x,))
    with pytest.raises(TypeError, match="expected a tensor of complex numbers"):
        compiled(torch.rand(3, 2))
