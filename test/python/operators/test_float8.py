# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats of 8 bits: conversions against ml_dtypes, operators against PyTorch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from relax_mlir import op
from relax_mlir.reference.tensor import decode, round_float

FLOAT8 = [
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip
# Those that PyTorch has, and tensors come in and out as.
TORCH = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]


def numbers() -> np.ndarray:
    """Return numbers of all sizes: random ones, all of float16, and the middles between them."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 50000, dtype=np.uint64).astype(np.uint32).view("float32")
    sized = rng.standard_normal(50000) * np.exp2(rng.integers(-20, 20, 50000))
    halves = np.arange(65536, dtype=np.uint16).view("float16").astype("float32")
    ends = np.float32([0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45])
    return np.concatenate([bits, sized.astype("float32"), halves, ends])


def same(result: Any, expected: np.ndarray) -> None:
    """Check that numbers are equal, with the sign of zeros."""
    result = np.asarray(result)
    np.testing.assert_array_equal(result, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_conversions_from_float32(run, dtype):
    x = numbers()
    if dtype == "float8_e8m0fnu":
        # Between the two least numbers ml_dtypes does not take the nearest one.
        x = x[(x < 2.0**-127) | (x > 2.0**-126)]
    with np.errstate(all="ignore"):
        expected = x.astype(getattr(ml_dtypes, dtype)).astype("float32")
    same(run(lambda x: op.astype(op.astype(x, dtype), "float32"), x, shapes=[("n",)]), expected)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_constants_of_all_codes(run, dtype):
    known = decode(np.arange(256, dtype="uint8"), dtype)
    known = known[np.isfinite(known)]
    one = np.ones((), "float32")
    same(run(lambda x: op.multiply(op.astype(op.const(known, dtype), "float32"), x), one), known)


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("source", ["float64", "float16", "int32", "int64", "uint8", "bool"])
def test_one_rounding(run, dtype, source):
    if source == "float64":
        # Just above and below the middles of neighbours, where float32 would be a middle.
        near = np.unique(decode(np.arange(256, dtype="uint8"), dtype))
        near = near[np.isfinite(near)].astype("float64")
        middles = (near[1:] + near[:-1]) / 2
        x = np.concatenate([middles, middles * (1 + 2.0**-40), middles * (1 - 2.0**-40)])
    elif source == "float16":
        x = np.arange(65536, dtype=np.uint16).view("float16")
    elif source == "bool":
        x = np.array([True, False])
    else:
        x = np.arange(0, 255).astype(source)
        if source != "uint8":
            x = np.concatenate([x, -x, np.array([2**30 + 1, -(2**31)]).astype(source)])
    expected = round_float(x.astype("float64"), dtype)
    same(run(lambda x: op.astype(op.astype(x, dtype), "float32"), x, shapes=[("n",)]), expected)


@pytest.mark.parametrize("target", ["float16", "float64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_conversions_to_other_types(load, write, tensor, dtype, target):
    x = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(getattr(torch, dtype))
    main = load(write(lambda x: op.astype(x, target), tensor(("n",), dtype)))
    wide = x.to(torch.float32).numpy()
    if target in ("int8", "uint8"):
        info = np.iinfo(target)
        expected = np.clip(np.trunc(np.nan_to_num(wide, nan=0.0)), info.min, info.max)
    else:
        expected = wide
    result = torch.from_dlpack(main(x))
    np.testing.assert_array_equal(result.numpy(), expected.astype(target))


# Operators, and what PyTorch computes of operands in float32.
OPERATORS = {
    "add": (op.add, torch.add),
    "multiply": (op.multiply, torch.mul),
    "divide": (op.divide, torch.div),
    "maximum": (op.maximum, torch.maximum),
    "less": (op.less, torch.lt),
    "exp": (lambda x, y: op.exp(x), lambda x, y: x.exp()),
    "relu": (lambda x, y: op.nn.relu(x), lambda x, y: x.relu()),
    "clip": (lambda x, y: op.clip(x, -1, 1), lambda x, y: x.clip(-1, 1)),
    "sum": (lambda x, y: op.sum(x, 1), lambda x, y: x.sum(1)),
    "mean": (lambda x, y: op.mean(x, 0), lambda x, y: x.mean(0)),
    "max": (lambda x, y: op.max(x, 1), lambda x, y: x.amax(1)),
    "argmax": (lambda x, y: op.argmax(x, 1), lambda x, y: x.argmax(1)),
    "softmax": (lambda x, y: op.nn.softmax(x), lambda x, y: x.softmax(-1)),
    "cumsum": (lambda x, y: op.cumsum(x, 1), lambda x, y: x.cumsum(1)),
    "matmul": (
        lambda x, y: op.matmul(x, op.permute_dims(y)), lambda x, y: x @ y.T,
    ),
    "matmul-float32": (
        lambda x, y: op.matmul(x, op.permute_dims(y), "float32"), lambda x, y: x @ y.T,
    ),
    "sort": (lambda x, y: op.sort(x, 1), lambda x, y: x.sort(1)[0]),
    "where": (lambda x, y: op.where(op.less(x, y), x, y), lambda x, y: torch.where(x < y, x, y)),
    "concat": (lambda x, y: op.concat([x, y], 0), lambda x, y: torch.cat([x, y])),
    "stack": (lambda x, y: op.stack([x, y], 1), lambda x, y: torch.stack([x, y], 1)),
    "take": (lambda x, y: op.take(x, op.const([2, 0]), 1), lambda x, y: x[:, [2, 0]]),
    "pad": (lambda x, y: op.nn.pad(x, [1, 0, 0, 2]), lambda x, y: torch.nn.functional.pad(
        x, (0, 2, 1, 0))),
    "constants": (lambda x, y: op.subtract(op.ones_like(x), x), lambda x, y: 1 - x),
    "full": (lambda x, y: op.add(x, op.full_like(x, 1.7)), None),
}  # fmt: skip


@pytest.mark.parametrize("dtype", TORCH)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(load, write, tensor, name, dtype):
    ours, theirs = OPERATORS[name]
    kind = getattr(torch, dtype)
    if theirs is None:
        filled = float(torch.tensor(1.7).to(kind).to(torch.float32))
        theirs = lambda x, y: x + filled  # noqa: E731
    main = load(write(ours, *(tensor(("n", 8), dtype, name=each) for each in "xy")))
    generator = torch.Generator().manual_seed(1)
    for rows in (5, 1):
        x, y = (torch.randn(rows, 8, generator=generator).to(kind) for _ in range(2))
        expected = theirs(x.to(torch.float32), y.to(torch.float32))
        result = torch.from_dlpack(main(x, y))
        if result.dtype == kind:
            expected = expected.to(kind)
        assert result.dtype == (kind if name not in ("less", "argmax", "matmul-float32") else
                                expected.dtype)  # fmt: skip
        np.testing.assert_array_equal(
            result.to(torch.float32).numpy(), expected.to(torch.float32).numpy()
        )


def test_each_operator_rounds(load, write, tensor):
    kind = torch.float8_e4m3fn
    main = load(write(lambda x: op.multiply(op.exp(x), x), tensor(("n",), "float8_e4m3fn")))
    x = torch.linspace(-4, 4, 99).to(kind)
    wide = x.to(torch.float32)
    expected = (wide.exp().to(kind).to(torch.float32) * wide).to(kind)
    assert torch.equal(torch.from_dlpack(main(x)).view(torch.uint8), expected.view(torch.uint8))


def test_overflow(load, write, tensor):
    for dtype, beyond in (("float8_e4m3fn", np.nan), ("float8_e5m2", np.inf)):
        main = load(write(lambda x: op.add(x, x), tensor((2,), dtype)))
        largest = float(torch.finfo(getattr(torch, dtype)).max)
        x = torch.tensor([largest, -1.0]).to(getattr(torch, dtype))
        result = torch.from_dlpack(main(x)).to(torch.float32).tolist()
        np.testing.assert_array_equal(result, [beyond, -2.0])


@pytest.mark.parametrize("dtype", TORCH)
def test_quantization_saturates(load, write, tensor, dtype):
    scale = np.float32(0.5)
    main = load(
        write(
            lambda x: op.quantize(x, scale, np.float32(0), out_dtype=dtype),
            tensor(("n",), name="x"),
        )
    )
    x = np.float32([1e9, -1e9, 0.3, -2, np.inf])
    largest = torch.finfo(getattr(torch, dtype)).max
    wanted = torch.from_numpy(np.clip(x / scale, -largest, largest)).to(getattr(torch, dtype))
    result = torch.from_dlpack(main(x))
    assert torch.equal(result.view(torch.uint8), wanted.view(torch.uint8))
    back = load(
        write(lambda x: op.dequantize(x, scale, np.float32(0)), tensor(("n",), dtype, name="x"))
    )
    np.testing.assert_array_equal(
        torch.from_dlpack(back(wanted)).numpy(), wanted.to(torch.float32).numpy() * scale
    )


def test_tuples(load, write, tensor):
    main = load(write(lambda x: op.topk(x, 2, 1), tensor(("n", 5), "float8_e5m2")))
    x = torch.tensor([[1, 4, -2, 3, 0], [0.5, 7, 6, 5, 8.0]]).to(torch.float8_e5m2)
    values, indices = (torch.from_dlpack(each) for each in main(x))
    expected, places = x.to(torch.float32).topk(2, 1)  # of different numbers
    assert values.dtype == torch.float8_e5m2
    np.testing.assert_array_equal(values.to(torch.float32).numpy(), expected.numpy())
    np.testing.assert_array_equal(indices.numpy().astype("int64"), places.numpy())
