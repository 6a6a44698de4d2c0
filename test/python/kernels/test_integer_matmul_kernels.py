"""Products of matrices of integers, which wrap around, against NumPy."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import HealthCheck, given, settings
from kernel_programs import classes, run
from relax_mlir.op import add, const, matmul, maximum, permute_dims

SIZES = st.sampled_from([0, 1, 2, 3, 4, 5, 8, 9, 17, 33, 48, 49, 70, 130])
FEW = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


def numbers(*shape: int, dtype: str) -> np.ndarray:
    """Return integers of all of the range, so that products wrap around."""
    info = np.iinfo(dtype)
    rng = np.random.default_rng(sum(shape))
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def right_transposed(x: Any, y: Any) -> Any:
    return matmul(x, permute_dims(y, [1, 0]))


def left_transposed(x: Any, y: Any) -> Any:
    return matmul(permute_dims(x, [1, 0]), y)


def with_epilogue(x: Any, y: Any, z: Any) -> Any:
    return maximum(add(matmul(x, y), z), z)


@pytest.mark.parametrize("dtype", DTYPES)
@FEW
@given(m=SIZES, n=SIZES, k=SIZES)
def test_matrices(exec_mode: str, dtype: str, m: int, n: int, k: int) -> None:
    x, y = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
    result = run(matmul, (("m", "k"), ("k", "n")), exec_mode, x, y)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result, x @ y)


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("m", [1, 3, 8, 70])
def test_other_widths_of_vectors(bits: int, dtype: str, m: int) -> None:
    x, y = numbers(m, 70, dtype=dtype), numbers(70, 50, dtype=dtype)
    shapes = (("m", "k"), ("k", "n"))
    np.testing.assert_array_equal(run(matmul, shapes, "compiled", x, y, vector_bits=bits), x @ y)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("m", [1, 2, 6, 40])
@pytest.mark.parametrize("k", [0, 1, 65, 130])
def test_transposed_matrices(exec_mode: str, dtype: str, m: int, k: int) -> None:
    x, y = numbers(m, k, dtype=dtype), numbers(33, k, dtype=dtype)
    result = run(right_transposed, (("m", "k"), ("n", "k")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x @ y.T)
    x, y = x.T.copy(), y.T.copy()
    result = run(left_transposed, (("k", "m"), ("k", "n")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x.T @ y)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_batches_and_vectors(exec_mode: str, dtype: str) -> None:
    x, y = numbers(3, 5, 20, dtype=dtype), numbers(3, 20, 9, dtype=dtype)
    result = run(matmul, (("b", "m", "k"), ("b", "k", "n")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x @ y)
    result = run(matmul, (("b", "m", "k"), ("k",)), exec_mode, x, y[0, :, 0].copy())
    np.testing.assert_array_equal(result, x @ y[0, :, 0])


@pytest.mark.parametrize("m", [1, 5, 64])
def test_epilogues(exec_mode: str, m: int) -> None:
    x, y = numbers(m, 37, dtype="int32"), numbers(37, 50, dtype="int32")
    z = numbers(50, dtype="int32")
    result = run(with_epilogue, (("m", "k"), ("k", "n"), ("n",)), exec_mode, x, y, z)
    np.testing.assert_array_equal(result, np.maximum(x @ y + z, z))


@pytest.mark.parametrize(
    ("stored", "total"),
    [("int8", "int32"), ("uint8", "uint32"), ("int16", "int64"), ("int32", "int64")],
)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 40, 70), (7, 33, 20), (40, 65, 50), (9, 0, 5)])
def test_sums_of_a_wider_type(
    exec_mode: str, stored: str, total: str, shape: tuple[int, int, int]
) -> None:
    def widened(x: Any, y: Any) -> Any:
        return matmul(x, y, out_dtype=total)

    m, k, n = shape
    x, y = numbers(m, k, dtype=stored), numbers(k, n, dtype=stored)
    result = run(widened, (("m", "k"), ("k", "n")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x.astype(total) @ y.astype(total))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("m", [1, 6, 70])
def test_constants_are_packed(exec_mode: str, dtype: str, m: int) -> None:
    x, y = numbers(m, 60, dtype=dtype), numbers(60, 70, dtype=dtype)

    def product(x: Any) -> Any:
        return matmul(x, const(y))

    np.testing.assert_array_equal(run(product, (("m", 60),), exec_mode, x), x @ y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_class(dtype: str) -> None:
    bb = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorStructInfo(("n", "n"), dtype)) for i in range(2)]
    with bb.function("main", params):
        bb.emit_func_output(matmul(*params))
    assert classes(bb.get()) == ["matmul"]


def wide(x: Any, y: Any) -> Any:
    return matmul(x, y, "int32")


def wide_transposed(x: Any, y: Any) -> Any:
    return matmul(x, permute_dims(y, [1, 0]), "int32")


def wide_left_transposed(x: Any, y: Any) -> Any:
    return matmul(permute_dims(x, [1, 0]), y, "int32")


def check_wide(x: np.ndarray, y: np.ndarray, **options: Any) -> None:
    """Compare sums of 32 bits, with each matrix as it is and transposed."""
    expected = x.astype("int32") @ y.astype("int32")
    result = run(wide, (("m", "k"), ("k", "n")), "compiled", x, y, **options)
    np.testing.assert_array_equal(result, expected)
    right = np.ascontiguousarray(y.T)
    result = run(wide_transposed, (("m", "k"), ("n", "k")), "compiled", x, right, **options)
    np.testing.assert_array_equal(result, expected)
    left = np.ascontiguousarray(x.T)
    result = run(wide_left_transposed, (("k", "m"), ("k", "n")), "compiled", left, y, **options)
    np.testing.assert_array_equal(result, expected)


PAIRED = ["int8", "uint8", "int16", "uint16"]


@pytest.mark.parametrize("bits", [0, 128, 256])
@pytest.mark.parametrize("dtype", PAIRED)
@FEW
@given(m=SIZES, n=SIZES, k=SIZES)
def test_sums_of_pairs(bits: int, dtype: str, m: int, n: int, k: int) -> None:
    """Sums of 32 bits, for which processors multiply two elements of the depth at a time."""
    x, y = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
    check_wide(x, y, vector_bits=bits)


@pytest.mark.parametrize("dtype", PAIRED)
@pytest.mark.parametrize(("k", "n"), [(1, 60), (65, 130), (300, 24), (2, 7)])
def test_pairs_of_constants(exec_mode: str, dtype: str, k: int, n: int) -> None:
    y = numbers(k, n, dtype=dtype)
    for m in (1, 3, 6, 9, 40):
        x = numbers(m, k, dtype=dtype)
        result = run(lambda x: matmul(x, const(y), "int32"), (("m", k),), exec_mode, x)
        np.testing.assert_array_equal(result, x.astype("int32") @ y.astype("int32"))


@pytest.mark.parametrize("dtype", PAIRED)
def test_batches_of_pairs(exec_mode: str, dtype: str) -> None:
    x, y = numbers(3, 17, 35, dtype=dtype), numbers(3, 35, 29, dtype=dtype)
    result = run(wide, (("b", "m", "k"), ("b", "k", "n")), exec_mode, x, y)
    np.testing.assert_array_equal(result, x.astype("int32") @ y.astype("int32"))


# What this machine has, and none of the instructions that multiply bytes.
FEATURES = ["", "sse2"]


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("dtypes", list(itertools.product(["int8", "uint8"], repeat=2)))
@FEW
@given(m=SIZES, n=SIZES, k=SIZES)
def test_bytes_of_any_signs(features: str, dtypes: tuple[str, str], m: int, n: int, k: int) -> None:
    x, y = numbers(m, k, dtype=dtypes[0]), numbers(k, n, dtype=dtypes[1])
    check_wide(x, y, features=features)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(("m", "n"), [(13, 40), (49, 97)])
def test_known_sizes(exec_mode: str, features: str, m: int, n: int) -> None:
    x, y = numbers(m, 70, dtype="uint8"), numbers(70, n, dtype="int8")
    expected = x.astype("int32") @ y.astype("int32")
    result = run(wide, ((m, "k"), ("k", n)), exec_mode, x, y, features=features)
    np.testing.assert_array_equal(result, expected)
    result = run(lambda x: wide(x, const(y)), ((m, 70),), exec_mode, x, features=features)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("dtypes", list(itertools.product(["int8", "uint8"], repeat=2)))
@pytest.mark.parametrize(("k", "n"), [(1, 60), (65, 130), (1900, 24), (3, 7)])
def test_constants_of_any_signs(features: str, dtypes: tuple[str, str], k: int, n: int) -> None:
    """The depth of 1900 is divided, and what a left matrix is moved by counts once for a part."""
    y = numbers(k, n, dtype=dtypes[1])
    for m in (0, 1, 3, 6, 9, 40):
        x = numbers(m, k, dtype=dtypes[0])
        result = run(
            lambda x: matmul(x, const(y), "int32"), (("m", k),), "compiled", x, features=features
        )
        np.testing.assert_array_equal(result, x.astype("int32") @ y.astype("int32"))


def test_batch_of_few_rows_of_bytes(exec_mode: str) -> None:
    """Rows that do not lie together are a batch, each element of which is packed."""
    x, y = numbers(5, 3, 70, dtype="int8"), numbers(70, 40, dtype="int8")

    def product(x: Any) -> Any:
        return matmul(permute_dims(x, [1, 0, 2]), const(y), "int32")

    for count in (1, 3):
        left = np.ascontiguousarray(x[:, :count])
        result = run(product, (("n", count, 70),), exec_mode, left)
        expected = left.transpose(1, 0, 2).astype("int32") @ y.astype("int32")
        np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not on PATH")
@pytest.mark.parametrize(
    ("cpu", "dtype", "instruction"),
    [
        ("x86-64", "int8", "pmaddwd .*xmm"),
        ("x86-64-v3", "int8", "vpmaddwd .*ymm"),
        ("x86-64-v4", "int8", "vpmaddwd .*zmm"),
        ("alderlake", "int8", "vpdpbusd .*ymm"),
        ("sapphirerapids", "int8", "vpdpbusd .*zmm"),
        ("sapphirerapids", "int8", "tdpbssd .*tmm"),
        ("sapphirerapids", "int16", "vpdpwssd .*zmm"),
    ],
)
def test_products_are_one_instruction(
    cpu: str, dtype: str, instruction: str, tmp_path: Path
) -> None:
    """Machine code is made for processors that need not be this one."""
    x = relax.Var("x", relax.TensorStructInfo(("m", 64), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(matmul(x, const(numbers(64, 64, dtype=dtype)), "int32"))
    target, path = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}", tmp_path / "model.so"
    relax.compile(bb.get(), target).export_library(path)
    done = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True)
    assert re.search(instruction, done.stdout)
