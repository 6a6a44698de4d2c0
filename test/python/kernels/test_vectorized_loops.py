# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops of tensor programs that are called vectorized or parallel."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.script import from_source

SOURCE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(x_: T.handle, y_: T.handle):
        rows, n = T.int64(), T.int64()
        x = T.match_buffer(x_, (rows, {x}), "{dtype}")
        y = T.match_buffer(y_, (rows, {y}), "{dtype}")
        for r in T.parallel(rows):
{body}

    @R.function
    def main(x: R.Tensor(("rows", {named}), "{dtype}")):
        rows{size} = T.int64(){more}
        return R.call_tir(Module.kernel, (x,), out_sinfo=R.Tensor((rows, {y}), "{dtype}"))
"""


def run(body: str, x: np.ndarray, shape: str, result: str, **options: object) -> np.ndarray:
    """Run a loop over rows, `r`, whose buffers have some dimensions."""
    is_open = "n" in shape.split(", ")
    source = SOURCE.format(
        x=shape, y=result, dtype=x.dtype, named=shape.replace("n", "'n'"),
        size=", n" if is_open else "", more=", T.int64()" if is_open else "",
        body="\n".join("    " * 3 + line for line in body.strip("\n").split("\n")),
    )  # fmt: skip
    vm = relax.VirtualMachine(relax.compile(from_source(source), **options))
    return vm["main"](x).numpy()


# Rows that are updated where they are, each by the one before.
UPDATES = """
for j in T.vectorized(n):
    y[r, j] = x[r, 0, j]
for i in range(1, 5):
    for j in T.vectorized(n):
        y[r, j] = y[r, j] * x[r, i, j] + x[r, 0, j]
"""


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8"])
@pytest.mark.parametrize("count", [0, 1, 7, 16, 17, 64, 100])
def test_neighbours(count: int, dtype: str, exec_mode: str) -> None:
    x = (numbers(3, count) * 10).astype(dtype)
    body = """
for j in T.vectorized(n):
    y[r, j] = x[r, j] * x[r, j] + T.Cast("{dtype}", 2)
""".replace("{dtype}", dtype)
    np.testing.assert_array_equal(
        run(body, x, "n", "n", exec_mode=exec_mode), (x * x + 2).astype(dtype)
    )


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 15, 16, 31, 45])
def test_updates(count: int, dtype: str, exec_mode: str) -> None:
    """What is less than a vector is halves, quarters and so on."""
    x = (numbers(3, 5, count) * 2).astype(dtype)
    expected = x[:, 0]
    for i in range(1, 5):
        expected = expected * x[:, i] + x[:, 0]
    got = run(UPDATES, x, "5, n", "n", exec_mode=exec_mode)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("first, last", [(0, 40), (1, 40), (3, 23), (5, 6), (7, 7), (9, 4)])
def test_a_part_of_a_row(first: int, last: int) -> None:
    x, wanted = numbers(4, 40), numbers(4, 40)
    body = f"""
for j in range(40):
    y[r, j] = x[r, j]
for j in T.vectorized({first}, {last}):
    y[r, j] = x[r, {first + last - 1} - j] * T.float32(2)
"""
    wanted = x.copy()
    if last > first:
        wanted[:, first:last] = 2 * x[:, first:last][:, ::-1]
    np.testing.assert_array_equal(run(body, x, "40", "40"), wanted)


@pytest.mark.parametrize("count", [5, 16, 20, 33])
def test_backwards(count: int) -> None:
    x = numbers(2, count)
    body = f"""
for j in T.vectorized({count}):
    y[r, {count - 1} - j] = x[r, j]
"""
    np.testing.assert_array_equal(run(body, x, str(count), str(count)), x[:, ::-1])


@pytest.mark.parametrize("count", [3, 16, 21, 40])
def test_pairs(count: int) -> None:
    x = numbers(2, 2 * count)
    body = f"""
for j in T.vectorized({count}):
    first = x[r, 2 * j]
    second = x[r, 2 * j + 1]
    y[r, j, 0] = first + second
    y[r, j, 1] = first - second
"""
    got = run(body, x, str(2 * count), f"{count}, 2")
    wanted = np.stack([x[:, ::2] + x[:, 1::2], x[:, ::2] - x[:, 1::2]], -1)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("width", [3, 4, 8, 16, 17, 25])
@pytest.mark.parametrize("count", [1, 6, 16, 19])
def test_stores_that_are_transposed(count: int, width: int) -> None:
    x = numbers(2, width, count)
    stores = [f"    y[r, j, {i}] = x[r, {i}, j]" for i in range(width)]
    body = "\n".join([f"for j in T.vectorized({count}):", *stores])
    np.testing.assert_array_equal(
        run(body, x, f"{width}, {count}", f"{count}, {width + 2}")[..., :width],
        x.transpose(0, 2, 1),
    )


def test_elements_that_are_apart() -> None:
    x = numbers(2, 3 * 20)
    body = """
for j in T.vectorized(20):
    y[r, 3 * j] = x[r, 3 * j] + x[r, 2]
for j in T.vectorized(20):
    y[r, 3 * j + 1] = x[r, 3 * j + 2] / x[r, 1]
    y[r, 3 * j + 2] = T.float32(1)
"""
    wanted = np.ones_like(x)
    wanted[:, ::3] = x[:, ::3] + x[:, 2:3]
    wanted[:, 1::3] = x[:, 2::3] / x[:, 1:2]
    np.testing.assert_array_equal(run(body, x, "60", "60"), wanted)


def test_stores_to_the_same_elements_keep_their_order() -> None:
    x = numbers(2, 20)
    body = """
for j in T.vectorized(20):
    y[r, j, 0] = x[r, j]
    y[r, j, r % 2] = x[r, j] * T.float32(2)
    y[r, j, 1] = x[r, j] * T.float32(3)
"""
    got = run(body, x, "20", "20, 2")
    np.testing.assert_array_equal(got[0], np.stack([2 * x[0], 3 * x[0]], -1))
    np.testing.assert_array_equal(got[1], np.stack([x[1], 3 * x[1]], -1))


def test_iterations_that_see_others_stay_in_order() -> None:
    x = numbers(2, 50)
    body = """
y[r, 0] = x[r, 0]
for j in T.vectorized(1, 50):
    y[r, j] = y[r, j - 1] + x[r, j]
"""
    wanted = np.cumsum(x, axis=1, dtype="float32")
    np.testing.assert_allclose(run(body, x, "50", "50"), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [8, 300])
def test_buffers_of_parallel_iterations(count: int) -> None:
    x = numbers(200, count)
    body = f"""
kept = T.alloc_buffer(({count},), "float32")
for j in T.vectorized({count}):
    kept[j] = x[r, j] * T.float32(3)
for j in T.vectorized({count}):
    y[r, j] = kept[{count - 1} - j]
"""
    np.testing.assert_array_equal(run(body, x, str(count), str(count)), 3 * x[:, ::-1])
