# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of integers of 4 bits against ml_dtypes, where two elements share a byte."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op

INT4 = ["int4", "uint4"]
SHAPES = [(), (1,), (0,), (7,), (3, 5), (4, 6), (2, 3, 5), (0, 3)]
OTHERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]


def numpy_dtype(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, name))


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers that no float of a test rounds, and some beyond 4 bits."""
    count = int(np.prod(shape))
    wide = np.arange(count) * 5 % 16 - (8 if dtype == "int4" else 0)
    return wide.reshape(shape).astype(numpy_dtype(dtype))


def limits(dtype: str) -> tuple[int, int]:
    return (-8, 7) if dtype == "int4" else (0, 15)


def wrapped(wide: Any, dtype: str) -> Any:
    least = limits(dtype)[0]
    return (np.asarray(wide).astype(np.int64) - least) % 16 + least


def program(function: Any, *inputs: tuple[Any, str]) -> Any:
    """A program with inputs of given dimensions and data types."""
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{index}", relax.TensorStructInfo(dims, dtype))
        for index, (dims, dtype) in enumerate(inputs)
    ]
    with bb.function("main", params):
        bb.emit_func_output(function(*params))
    return bb.get()


def unknown(shape: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"n{axis}" for axis in range(len(shape)))


@pytest.fixture(params=["compiled", "bytecode", "reference"])
def evaluate(request):
    """A function that runs a program, in each of the ways."""

    def run(mod: Any, *args: Any) -> Any:
        is_reference = request.param == "reference"
        options = {"target": "reference"} if is_reference else {"exec_mode": request.param}
        return relax.VirtualMachine(relax.compile(mod, **options))["main"](*args).numpy()

    return run


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", INT4)
def test_gr18_int4_to_and_from_bytes(evaluate, dtype, shape, is_known):
    dims = shape if is_known else unknown(shape)
    x = numbers(shape, dtype)
    wide = evaluate(program(lambda x: op.astype(x, "int32"), (dims, dtype)), x)
    np.testing.assert_array_equal(wide, x.astype(np.int32))
    given = np.arange(-3, int(np.prod(shape)) - 3, dtype=np.int32).reshape(shape)
    narrow = evaluate(program(lambda x: op.astype(x, dtype), (dims, "int32")), given)
    np.testing.assert_array_equal(narrow.astype(np.int32), wrapped(given, dtype))


@pytest.mark.parametrize(
    ("dtype", "other"),
    [(dtype, other) for dtype in INT4 for other in OTHERS + FLOATS + INT4 if dtype != other],
)
def test_rf11_astype_between_int4_and_all(evaluate, dtype, other):
    x = numbers((3, 7), dtype)
    wide = evaluate(program(lambda x: op.astype(x, other), (("n", 7), dtype)), x)
    wanted = x.astype(np.int64)
    if other in INT4:
        wanted = wrapped(wanted, other)
    wanted = wanted.astype(numpy_dtype(other))
    np.testing.assert_array_equal(wide.astype(np.float64), wanted.astype(np.float64))
    y = wanted if other in INT4 else np.arange(-10, 11).astype(np.int64).reshape(3, 7)
    y = y.astype(numpy_dtype(other))
    narrow = evaluate(program(lambda x: op.astype(x, dtype), (("n", 7), other)), y)
    least, most = limits(dtype)
    exact = y.astype(np.float64)
    saturated = np.clip(np.trunc(exact), least, most)
    wanted = saturated if other in FLOATS else wrapped(y.astype(np.int64), dtype)
    np.testing.assert_array_equal(narrow.astype(np.int64), wanted)


@pytest.mark.parametrize("dtype", INT4)
def test_rf11_floats_are_truncated_and_saturated(evaluate, dtype):
    x = np.array([-1e9, -8.9, -0.9, 0.9, 7.9, 15.9, 1e9, np.inf, -np.inf, np.nan], "float32")
    narrow = evaluate(program(lambda x: op.astype(x, dtype), (("n",), "float32")), x)
    least, most = limits(dtype)
    wanted = np.clip(np.nan_to_num(np.trunc(x), nan=0.0), least, most)
    np.testing.assert_array_equal(narrow.astype(np.float32), wanted)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (4, 6)])
@pytest.mark.parametrize("dtype", INT4)
def test_rf11_quantize_rounds_once_and_saturates(evaluate, dtype, shape):
    x = np.linspace(-30, 30, int(np.prod(shape))).astype(np.float32).reshape(shape)
    scale, zero = np.float32(1.5), numbers((1,), dtype)[0].astype(np.int64) + 3
    least, most = limits(dtype)

    def quantize(x: Any) -> Any:
        zero_point = op.const(np.array(zero).astype(numpy_dtype(dtype)), dtype)
        return op.quantize(x, op.const(scale, "float32"), zero_point, out_dtype=dtype)

    codes = evaluate(program(quantize, (unknown(shape), "float32")), x)
    wanted = np.clip(np.rint(x / scale) + zero, least, most)
    np.testing.assert_array_equal(codes.astype(np.float32), wanted)


@pytest.mark.parametrize("shape", [(0,), (5,), (3, 5), (4, 6)])
@pytest.mark.parametrize("dtype", INT4)
def test_rf11_dequantize(evaluate, dtype, shape):
    codes = numbers(shape, dtype)
    scale = np.linspace(0.5, 2, shape[-1]).astype(np.float32)
    zero = numbers((shape[-1],), dtype)

    def dequantize(x: Any, scale: Any, zero: Any) -> Any:
        return op.dequantize(x, scale, zero)

    inputs = [(unknown(shape), dtype), ((shape[-1],), "float32"), ((shape[-1],), dtype)]
    result = evaluate(program(dequantize, *inputs), codes, scale, zero)
    wanted = (codes.astype(np.float32) - zero.astype(np.float32)) * scale
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtype", INT4)
@pytest.mark.parametrize(
    ("move", "wanted"),
    [
        (lambda x: op.reshape(x, (5, 3)), lambda x: x.reshape(5, 3)),
        (lambda x: op.flatten(x), lambda x: x.reshape(-1)),
        (lambda x: op.expand_dims(x, 1), lambda x: x[:, None]),
        (lambda x: op.squeeze(op.expand_dims(x, 0), [0]), lambda x: x),
        (lambda x: op.permute_dims(x), lambda x: x.T),
        (lambda x: op.concat([x, x], 1), lambda x: np.concatenate([x, x], 1)),
        (lambda x: op.broadcast_to(x, (2, 3, 5)), lambda x: np.stack([x, x])),
        (lambda x: op.strided_slice(x, [1], [1], [4]), lambda x: x[:, 1:4]),
    ],
)
def test_rf11_operators_that_move_int4(evaluate, dtype, move, wanted):
    x = numbers((3, 5), dtype)
    result = evaluate(program(move, ((3, 5), dtype)), x)
    np.testing.assert_array_equal(result.astype(np.int64), wanted(x.astype(np.int64)))


@pytest.mark.parametrize("dtype", INT4)
def test_reshape_of_unknown_dims(evaluate, dtype):
    x = numbers((3, 5), dtype)
    mod = program(lambda x: op.reshape(x, (-1, 3)), (("n", "m"), dtype))
    result = evaluate(mod, x)
    np.testing.assert_array_equal(result.astype(np.int64), x.astype(np.int64).reshape(5, 3))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (4, 6)])
@pytest.mark.parametrize("dtype", INT4)
def test_constants(evaluate, dtype, shape):
    x = numbers(shape, dtype)
    mod = program(lambda: op.const(x))
    np.testing.assert_array_equal(evaluate(mod).astype(np.int64), x.astype(np.int64))
    mod = program(lambda: op.astype(op.const(x), "float32"))
    np.testing.assert_array_equal(evaluate(mod), x.astype(np.float32))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", INT4)
def test_products_by_constant_codes(evaluate, dtype, transposed):
    """Codes of a matrix become those of the kernels for weights of 4 bits."""
    generator = np.random.default_rng(1)
    codes = numbers((64, 48), dtype)
    scale = generator.random(48).astype(np.float32) + 0.5
    rows = generator.standard_normal((3, 64)).astype(np.float32)

    def product(x: Any) -> Any:
        zero = op.const(np.array(3).astype(numpy_dtype(dtype)), dtype)
        axis = 0 if transposed else 1
        held = op.const(np.ascontiguousarray(codes.T) if transposed else codes)
        weights = op.dequantize(held, op.const(scale), zero, axis=axis)
        return op.matmul(x, op.permute_dims(weights) if transposed else weights)

    result = evaluate(program(product, (("n", 64), "float32")), rows)
    wanted = rows.astype(np.float64) @ ((codes.astype(np.float64) - 3) * scale)
    np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("call", [
    lambda x: op.add(x, x),
    lambda x: op.equal(x, x),
    lambda x: op.sum(x),
    lambda x: op.where(op.full((4,), True, "bool"), x, x),
    lambda x: op.split(x, 2),
    lambda x: op.zeros((4,), "int4"),
    lambda x: op.take(x, op.const([0]), 0),
])  # fmt: skip
def test_other_operators_are_refused_where_they_are_built(call):
    message = "expected a data type of 8 bits or more, or Booleans, but got 'i4'; insert relax.ast"
    with pytest.raises(ValueError, match=re.escape(message)):
        program(call, ((4,), "int4"))
