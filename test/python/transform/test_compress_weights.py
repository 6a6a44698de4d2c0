"""Constant matrices of products in 4 and 8 bits."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op
from relax_mlir.transform import CompressWeights, WeightFormat

# The largest error of a weight, of the largest one that shares its scale.
STEPS = {"int4": 1 / 8, "uint4": 1 / 15, "int8": 1 / 254, "uint8": 1 / 255}


def weights(depth=256, columns=80, seed=0):
    return np.random.default_rng(seed).standard_normal((depth, columns)).astype("float32")


def product(*matrices):
    """Return a program that multiplies by one matrix after the other."""
    x = relax.Var("x", relax.TensorStructInfo(("n", matrices[0].shape[0]), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for matrix in matrices:
                y = bb.emit(op.matmul(y, matrix))
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


def run(mod, x, **options):
    return np.from_dlpack(relax.VirtualMachine(relax.compile(mod, **options))["main"](x))


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("group", [0, 32, 64])
@pytest.mark.parametrize("dtype", STEPS)
def test_errors_are_those_of_rounding(dtype, group, mode):
    matrix = weights()
    name = str(WeightFormat(dtype, group))
    x = np.random.default_rng(1).standard_normal((3, 256)).astype("float32")
    result = run(product(matrix), x, weights=name, exec_mode=mode)
    blocks = matrix.reshape(256 // (group or 256), -1, 80)
    reach = np.abs(blocks).max(1) if dtype[0] == "i" else blocks.max(1) - blocks.min(1)
    # Scales are rounded to float16, too.
    bound = np.repeat(reach, group or 256, 0) * (STEPS[dtype] + 2e-3)
    error = np.abs(result - x.astype("f8") @ matrix)
    assert (error <= np.abs(x) @ bound).all()
    assert error.max() > 0


def test_compiled_and_transformed_programs_are_the_same():
    mod = product(weights(64, 96), weights(96, 64))
    x = weights(4, 64, 2)
    once = CompressWeights("uint4-g16")(mod)
    assert str(once).count("relax.dequantize") == 2
    np.testing.assert_array_equal(run(once, x), run(mod, x, weights="uint4-g16"))


def test_numbers_that_fit_are_kept():
    """Multiples of a scale that is a power of two, with the largest one in each group."""
    codes = np.random.default_rng(3).integers(-8, 8, (64, 100)).astype("float32")
    codes[::32] = -8
    matrix = codes / 16
    x = np.random.default_rng(4).integers(-4, 5, (5, 64)).astype("float32")
    np.testing.assert_array_equal(run(product(matrix), x, weights="int4-g32"), x @ matrix)


@pytest.mark.parametrize("value", [1e-9, 1e9, 0.0])
def test_weights_beyond_float16(value):
    matrix = np.full((64, 40), value, "float32")
    x = np.ones((2, 64), "float32")
    for name in ("int4-g32", "uint8-g32"):
        np.testing.assert_allclose(run(product(matrix), x, weights=name), x @ matrix, rtol=1e-5)


def test_weights_that_stay():
    for matrix in (
        np.full((64, 40), np.inf, "float32"),
        np.full((64, 40), np.nan, "float32"),
        np.ones((8, 40), "float32"),
        np.ones((64, 0), "float32"),
        np.ones((64, 40), "float64"),
    ):
        x = relax.Var("x", relax.TensorStructInfo(("n", len(matrix)), matrix.dtype.name))
        bb = relax.BlockBuilder()
        with bb.function("main", [x]):
            bb.emit_func_output(op.matmul(x, matrix))
        assert "dequantize" not in str(CompressWeights("int4-g32")(bb.get()))


def test_check_chooses_products():
    mod = product(weights(64, 96), weights(96, 64))
    seen = []

    def check(matmul):
        assert isinstance(matmul, ir.Operation)
        seen.append(matmul.name)
        return len(seen) == 2

    assert str(CompressWeights(check=check)(mod)).count("relax.dequantize") == 1


def test_libraries_are_smaller(tmp_path):
    mod, sizes = product(weights(1024, 1024)), []
    for name in ("", "int8", "int4-g32"):
        path = tmp_path / f"model{name}.so"
        relax.compile(mod, weights=name).export_library(path)
        sizes.append(path.stat().st_size)
    assert sizes[0] > 4 << 20
    assert sizes[1] < sizes[0] / 3
    assert sizes[2] < sizes[0] / 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int5", "expected weights of a type, one of int4, uint4, int8, uint8, but got 'int5'"),
        ("int4-32", "expected weights like 'int4-g32'"),
        ("int4-g12", "expected group_size to be a multiple of 8, but got 12"),
        ("", "expected weights like"),
    ],
)
def test_formats_that_are_none(text, message):
    with pytest.raises(ValueError, match=message):
        CompressWeights(text)
    if text:
        with pytest.raises(ValueError, match=message):
            relax.compile(product(weights()), weights=text)
