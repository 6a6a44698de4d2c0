"""Rows are rounded to 8 bits when the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import QuantizeDynamic

RNG = np.random.default_rng(0)
CODES = RNG.integers(-127, 128, (70, 45)).astype("int8")
SCALES = RNG.uniform(0.001, 0.01, 45).astype("float32")
ONE = np.float32(0.02)


def program(
    shape: tuple[Any, ...], codes: np.ndarray = CODES, scale: Any = SCALES, zero: Any = 0,
    **attributes: Any,
) -> relax.IRModule:  # fmt: skip
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            weight = op.dequantize(codes, scale, np.int8(zero), **{"axis": 1, **attributes})
            y = bb.emit_output(op.matmul(x, weight))
        bb.emit_func_output(y)
    return bb.get()


def is_changed(mod: relax.IRModule) -> bool:
    text = str(QuantizeDynamic()(mod))
    assert ("out_dtype = i32" in text) != ("relax.dequantize" in text)
    return "out_dtype = i32" in text


def run(mod: relax.IRModule, x: np.ndarray, **options: Any) -> np.ndarray:
    return np.from_dlpack(relax.VirtualMachine(relax.compile(mod, **options))["main"](x))


def rounded(x: np.ndarray) -> np.ndarray:
    """Return rows as multiples of 1/127 of their largest magnitude."""
    step = np.abs(x).max(-1, keepdims=True).astype("float64") / 127
    return np.rint(x / np.where(step == 0, 1, step)) * step


@pytest.mark.parametrize("scale", [SCALES, ONE])
@pytest.mark.parametrize("shape", [("n", 70), (70,), (2, "n", 70), (0, 70), (1, 70)])
def test_products(shape: tuple[Any, ...], scale: Any, exec_mode: str) -> None:
    mod = program(shape, scale=scale)
    assert is_changed(mod)
    rng = np.random.default_rng(5)  # of this test: one draw in forty misses the last bound
    x = rng.standard_normal([9 if dim == "n" else dim for dim in shape], "float32")
    x[..., :3] *= 4
    plain = CODES * np.asarray(scale, "float64")
    exact, wanted = x @ plain, rounded(x) @ plain
    result = run(QuantizeDynamic()(mod), x, exec_mode=exec_mode)
    assert result.shape == exact.shape and result.dtype == np.float32
    # A row that is between two codes may have either of them.
    largest = np.abs(x).max(-1, keepdims=True) if x.size else 0
    bound = 1e-5 * np.abs(wanted) + largest / 127 * np.abs(plain).max() * 1.5
    assert np.all(np.abs(result - wanted) <= bound)
    assert x.size == 0 or np.abs(result - exact).max() < 0.02 * np.abs(exact).max()


def test_rows_of_zeros_and_what_is_not_finite() -> None:
    mod = QuantizeDynamic()(program(("n", 70)))
    x = RNG.standard_normal((5, 70)).astype("float32")
    x[0], x[1, 3], x[2, 5], x[3, 7] = 0, np.inf, -np.inf, np.nan
    result = run(mod, x)
    np.testing.assert_array_equal(result[0], 0)
    assert np.isnan(result[1:4]).all() and np.isfinite(result[4]).all()


def test_transposed_weights() -> None:
    x = relax.Var("x", relax.TensorStructInfo(("n", 70), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        weight = op.dequantize(np.ascontiguousarray(CODES.T), SCALES, np.int8(0), axis=0)
        bb.emit_func_output(op.matmul(x, op.permute_dims(weight)))
    assert is_changed(bb.get())


def halves() -> relax.IRModule:
    x = relax.Var("x", relax.TensorStructInfo(("n", 70), "float16"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        weight = op.dequantize(CODES, SCALES.astype("float16"), np.int8(0), 1, "float16")
        bb.emit_func_output(op.matmul(x, weight))
    return bb.get()


def unsigned() -> relax.IRModule:
    x = relax.Var("x", relax.TensorStructInfo(("n", 70), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        codes = CODES.astype("uint8")
        bb.emit_func_output(op.matmul(x, op.dequantize(codes, SCALES, np.uint8(0), axis=1)))
    return bb.get()


@pytest.mark.parametrize(
    "make",
    [
        lambda: program(("n", 70), zero=3),
        lambda: program(("n", 70), np.clip(CODES, -8, 7)),
        lambda: program(("n", 70), scale=np.ones((7, 45), "float32"), axis=0, block_size=10),
        lambda: program(("n", 70), scale=np.ones(70, "float32"), axis=0),
        unsigned,
        halves,
    ],
    ids=["zero", "few bits", "blocks", "rows", "unsigned", "halves"],
)
def test_what_is_left_alone(make: Callable[[], relax.IRModule]) -> None:
    assert not is_changed(make())


def test_check() -> None:
    mod = program(("n", 70))
    assert str(QuantizeDynamic(check=lambda _: False)(mod)) == str(mod)


@pytest.mark.parametrize(
    ("cpu", "is_rounded"), [("x86-64-v3", False), ("alderlake", True), ("znver4", True)]
)
def test_option_of_compile(cpu: str, is_rounded: bool, tmp_path: Any) -> None:
    """Machine code is made for processors that need not be this one."""
    target = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"
    for option in (False, True):
        folder = tmp_path / str(option)
        relax.compile(program(("n", 70)), target, dynamic_quantization=option, dump_phases=folder)
        (text,) = (path.read_text() for path in folder.glob("*-optimize.mlir"))
        assert ("out_dtype = i32" in text) == (option and is_rounded)


def test_weights_that_compile_rounds(exec_mode: str) -> None:
    weight = RNG.standard_normal((64, 32)).astype("float32")
    x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(op.matmul(x, weight))
    rows = RNG.standard_normal((5, 64)).astype("float32")
    options = {"weights": "int8", "dynamic_quantization": True, "exec_mode": exec_mode}
    result, exact = run(bb.get(), rows, **options), rows @ weight
    assert np.abs(result - exact).max() < 0.03 * np.abs(exact).max()
