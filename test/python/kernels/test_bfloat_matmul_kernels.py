"""Products of matrices of bfloat16 with sums of float32, against NumPy in double precision."""

from __future__ import annotations

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
from kernel_programs import random, run
from relax_mlir.op import add, astype, const, matmul, maximum, permute_dims

SIZES = st.sampled_from([0, 1, 2, 3, 4, 5, 8, 9, 17, 33, 48, 49, 70, 131])
FEW = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
# What this machine has, and what multiplies floats of 32 bits.
FEATURES = ["", "sse2"]


def rounded(array: np.ndarray) -> np.ndarray:
    """Return the nearest numbers of bfloat16, as float64."""
    bits = array.astype("float32").view("uint32")
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.view("float32").astype("float64")


def check(result: np.ndarray, x: np.ndarray, y: np.ndarray, rtol: float = 2e-6) -> None:
    """Compare a product; sums round as often as there are terms, at most."""
    x, y = rounded(x), rounded(y)
    bound = rtol * (np.abs(x) @ np.abs(y)) + 1e-30
    assert result.shape == (x @ y).shape
    assert np.all(np.abs(result - x @ y) <= bound)


def half(x: Any) -> Any:
    return astype(x, "bfloat16")


def product(x: Any, y: Any) -> Any:
    return matmul(half(x), half(y), "float32")


def transposed(x: Any, y: Any) -> Any:
    return matmul(half(x), permute_dims(half(y), [1, 0]), "float32")


def left_transposed(x: Any, y: Any) -> Any:
    return matmul(permute_dims(half(x), [1, 0]), half(y), "float32")


@pytest.mark.parametrize("features", FEATURES)
@FEW
@given(m=SIZES, n=SIZES, k=SIZES)
def test_matrices(exec_mode: str, features: str, m: int, n: int, k: int) -> None:
    x, y = random(m, k), random(k, n)
    options = {"features": features}
    check(run(product, (("m", "k"), ("k", "n")), exec_mode, x, y, **options), x, y)
    right = np.ascontiguousarray(y.T)
    check(run(transposed, (("m", "k"), ("n", "k")), exec_mode, x, right, **options), x, y)
    left = np.ascontiguousarray(x.T)
    check(run(left_transposed, (("k", "m"), ("k", "n")), exec_mode, left, y, **options), x, y)


@pytest.mark.parametrize(("k", "n"), [(1, 60), (65, 130), (1901, 24), (3, 7)])
def test_constants(exec_mode: str, k: int, n: int) -> None:
    y = random(k, n)
    for m in (0, 1, 3, 6, 9, 40):
        x = random(m, k)
        result = run(lambda x: product(x, const(y)), (("m", k),), exec_mode, x)
        check(result, x, y)


@pytest.mark.parametrize(("m", "n"), [(13, 40), (49, 97)])
def test_known_sizes(exec_mode: str, m: int, n: int) -> None:
    x, y = random(m, 70), random(70, n)
    check(run(product, ((m, "k"), ("k", n)), exec_mode, x, y), x, y)
    check(run(lambda x: product(x, const(y)), ((m, 70),), exec_mode, x), x, y)


@pytest.mark.parametrize("m", [1, 5, 64])
def test_epilogue(exec_mode: str, m: int) -> None:
    """What follows is computed of sums of float32, and rounded once."""
    x, y, z = random(m, 37), random(37, 50), random(50)

    def function(x: Any, y: Any, z: Any) -> Any:
        return astype(astype(maximum(add(product(x, y), z), z), "bfloat16"), "float32")

    result = run(function, (("m", "k"), ("k", "n"), ("n",)), exec_mode, x, y, z)
    expected = np.maximum(rounded(x) @ rounded(y) + z, z)
    np.testing.assert_allclose(result, expected, rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("m", [1, 3, 20])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_counts_where_it_is(m: int, value: float) -> None:
    """The depth is odd, so a word has one element of each matrix."""
    x, y = random(m, 33), np.ones((33, 20), "float32")
    x[:, -1] = value
    for right in (y, None):
        function = product if right is not None else (lambda x: product(x, const(y)))
        arrays = [x] if right is None else [x, right]
        shapes = (("m", 33), (33, "n"))[: len(arrays)]
        result = run(function, shapes, "compiled", *arrays)
        np.testing.assert_array_equal(result, np.full((m, 20), value, "float32"))


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not on PATH")
@pytest.mark.parametrize(
    ("cpu", "wanted"),
    [
        ("znver4", {"vdpbf16ps"}),
        ("cooperlake", {"vdpbf16ps"}),
        ("sapphirerapids", {"vdpbf16ps", "tdpbf16ps"}),
        ("x86-64-v4", set()),
    ],
)
def test_instructions(cpu: str, wanted: set[str], tmp_path: Path) -> None:
    """The dot product is used where it is faster than products of float32, or tiles are."""
    x = relax.Var("x", relax.TensorStructInfo(("m", 64), "bfloat16"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(matmul(x, const(random(64, 64), "bfloat16"), "float32"))
    target, path = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}", tmp_path / "model.so"
    relax.compile(bb.get(), target).export_library(path)
    done = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True)
    assert set(re.findall("[tv]dpbf16ps", done.stdout)) == wanted
