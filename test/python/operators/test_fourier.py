# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms, compared with those of NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.composites import fourier
from relax_mlir.composites.complex_numbers import Complex
from relax_mlir.core.expr import as_tensor
from relax_mlir.core.ir import TensorStructInfo

KINDS = ("complex", "inverse", "real", "half", "inverse_half")


TRANSFORMS = {
    "complex": lambda x, length: fourier.transform(Complex(*x)),
    "inverse": lambda x, length: fourier.inverse(Complex(*x)),
    "real": lambda x, length: fourier.transform(x[0]),
    "half": lambda x, length: fourier.half(x[0]),
    "inverse_half": lambda x, length: fourier.inverse_half(Complex(*x), length),
}


def columns_of(kind: str, length: int) -> list[int]:
    """Return how many columns the parameters have."""
    if kind in ("real", "half"):
        return [length]
    return [length // 2 + 1 if kind == "inverse_half" else length] * 2


def program(kind: str, length: int, dtype: str) -> relax.IRModule:
    """Return transforms of any number of rows."""
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", TensorStructInfo(["rows", columns], dtype))
        for i, columns in enumerate(columns_of(kind, length))
    ]
    with builder.function("main", params):
        with builder.dataflow():
            x = [as_tensor(param) for param in params]
            made = TRANSFORMS[kind](x, length)
            is_complex = isinstance(made, Complex)
            output = builder.emit_output(op.tuple(made.real, made.imag) if is_complex else made)
        builder.emit_func_output(output)
    return builder.finalize()


def expected(kind: str, length: int, parts: list[np.ndarray]) -> np.ndarray:
    parts = [part.astype("float64") for part in parts]
    if kind in ("real", "half"):
        return (np.fft.fft if kind == "real" else np.fft.rfft)(parts[0])
    x = parts[0] + 1j * parts[1]
    if kind == "inverse_half":
        return np.fft.irfft(x, length) * length
    return np.fft.fft(x) if kind == "complex" else np.fft.ifft(x) * length


def check(kind: str, length: int, dtype: str = "float32", exec_mode: str = "compiled") -> None:
    """Compare results for some numbers of rows, relative to the largest one."""
    vm = relax.VirtualMachine(relax.compile(program(kind, length, dtype), exec_mode=exec_mode))
    rng = np.random.default_rng(length)
    for rows in (3, 1, 40):
        parts = [
            rng.standard_normal((rows, columns)).astype(dtype)
            for columns in columns_of(kind, length)
        ]
        got = vm["main"](*parts)
        is_real = kind == "inverse_half"
        result = got.numpy() if is_real else got[0].numpy() + 1j * got[1].numpy()
        wanted = expected(kind, length, parts)
        limit = 1e-6 if dtype == "float32" else 1e-14
        assert result.shape == wanted.shape
        assert np.abs(result - wanted).max() <= limit * np.abs(wanted).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 31, 32, 64, 90, 105, 210, 262, 400, 512, 1001, 2048])
def test_transforms(kind: str, length: int) -> None:
    check(kind, length)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [2, 60, 128, 539])
def test_transforms_of_float64(kind: str, length: int, exec_mode: str) -> None:
    check(kind, length, "float64", exec_mode)


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_in_any_mode(kind: str, exec_mode: str) -> None:
    check(kind, 480, exec_mode=exec_mode)


# Lengths of several kernels, and of one large kernel.
@pytest.mark.parametrize("length", [4096, 10_000, 65_536, 262_144, 12_928])
def test_transforms_of_long_signals(length: int) -> None:
    check("complex", length)
    check("half", length)


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_of_no_signals(kind: str) -> None:
    vm = relax.VirtualMachine(relax.compile(program(kind, 64, "float32")))
    empty = [np.zeros((0, columns), "float32") for columns in columns_of(kind, 64)]
    got = vm["main"](*empty)
    result = got if kind == "inverse_half" else got[0]
    assert result.numpy().shape == (0, 33 if kind == "half" else 64)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind: str) -> None:
    """Transforms are linear: the gradient of a weighted sum are the weights, transformed back."""
    length, rows = 48, 2
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((rows, n)) for n in columns_of(kind, length)]
    results = expected(kind, length, parts)
    count = 1 if kind == "inverse_half" else 2
    weights = [rng.standard_normal(results.shape) for _ in range(count)]
    params = [relax.Var(f"x{i}", TensorStructInfo(x.shape, "float64")) for i, x in enumerate(parts)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            x = [as_tensor(param) for param in params]
            made = TRANSFORMS[kind](x, length)
            outputs = [made.real, made.imag] if isinstance(made, Complex) else [made]
            terms = [
                op.sum(op.multiply(part, relax.const(weight, "float64")))
                for part, weight in zip(outputs, weights, strict=True)
            ]
            loss = terms[0] if len(terms) == 1 else op.add(*terms)
            output = builder.emit_output(loss)
        builder.emit_func_output(output)
    mod = relax.transform.Gradient("main")(builder.finalize())
    _, gradients = relax.VirtualMachine(relax.compile(mod))["main_adjoint"](*parts)

    def weighted(moved: list[np.ndarray]) -> float:
        y = expected(kind, length, moved)
        both = [y.real, y.imag] if np.iscomplexobj(y) else [y]
        return sum(float((a * b).sum()) for a, b in zip(both, weights, strict=True))

    directions = [rng.standard_normal(x.shape) for x in parts]
    change = weighted(directions)
    got = sum(
        float((gradient.numpy() * d).sum())
        for gradient, d in zip(gradients, directions, strict=True)
    )
    np.testing.assert_allclose(got, change, rtol=1e-9)


def test_infinite_elements_stay_in_their_row() -> None:
    vm = relax.VirtualMachine(relax.compile(program("half", 96, "float32")))
    x = np.ones((3, 96), "float32")
    x[1, 5] = np.inf
    real = vm["main"](x)[0].numpy()
    assert np.isfinite(real[[0, 2]]).all() and not np.isfinite(real[1]).any()
