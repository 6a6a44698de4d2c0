"""Slices that consumers read where they lie in the tensor that is sliced, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_programs import classes, random, run, write
from relax_mlir import op


def slice_of(x: Any, axis: int, begin: int, end: Any) -> Any:
    return op.strided_slice(x, [axis], [begin], [end])


def difference(x: Any) -> Any:
    """A slice of known begin and unknown end."""
    columns = x.struct_info.shape[1]
    return op.subtract(slice_of(x, 1, 1, columns), slice_of(x, 1, 0, columns - 1))


def gated(x: Any) -> Any:
    parts = op.split(x, 2, 1)
    return op.multiply(op.get_item(parts, 0), op.sigmoid(op.get_item(parts, 1)))


def inner(x: Any) -> Any:
    """Along both axes, and added to what is not sliced."""
    rows, columns = x.struct_info.shape
    part = slice_of(slice_of(x, 0, 2, rows - 1), 1, 3, columns - 5)
    return op.exp(part)


def of_sums(x: Any) -> Any:
    """A reduction of a part of each row."""
    return op.sum(op.multiply(slice_of(x, 1, 3, x.struct_info.shape[1] - 5), op.const(2.0)), 1)


def narrow(x: Any) -> Any:
    """Two elements of each row, which are gathered."""
    return op.negative(slice_of(x, 1, 1, 3))


def then_permuted(x: Any) -> Any:
    return op.permute_dims(op.abs(slice_of(x, 1, 1, x.struct_info.shape[1])))


Case = tuple[Callable[..., Any], Callable[[np.ndarray], np.ndarray], list[str | None]]
CASES: dict[str, Case] = {
    "difference": (difference, lambda x: np.diff(x, axis=1), ["elementwise"]),
    "gated": (
        gated,
        lambda x: x[:, : x.shape[1] // 2] / (1 + np.exp(-x[:, x.shape[1] // 2 :])),
        ["elementwise"],
    ),
    "inner": (inner, lambda x: np.exp(x[2:-1, 3:-5]), ["elementwise", "elementwise"]),
    "sums": (of_sums, lambda x: 2 * x[:, 3:-5].astype("f8").sum(1), ["rows"]),
    "narrow": (narrow, lambda x: -x[:, 1:3], [None]),
    "permuted": (then_permuted, lambda x: np.abs(x[:, 1:]).T, ["elementwise"]),
}


@pytest.mark.parametrize("sizes", [(5, 10), (3, 16), (8, 40), (33, 64), (16, 130)])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_slices(exec_mode: str, name: str, sizes: tuple[int, int], is_known: bool) -> None:
    program, reference, _ = CASES[name]
    x = random(*sizes)
    shape: tuple[Any, ...] = sizes if is_known else ("n", "m")
    if name == "gated" and not is_known:
        shape = ("n", sizes[1])  # halves of what is not known are none
    result = run(program, (shape,), exec_mode, x)
    np.testing.assert_allclose(result, reference(x), rtol=2e-5, atol=2e-5)


def test_slices_without_elements(exec_mode: str) -> None:
    assert run(difference, (("n", "m"),), exec_mode, random(3, 1)).shape == (3, 0)
    assert run(difference, ((3, 1),), exec_mode, random(3, 1)).shape == (3, 0)
    assert run(inner, ((3, 8),), exec_mode, random(3, 8)).shape == (0, 0)


@pytest.mark.parametrize("name", CASES)
def test_consumers_read_slices_where_they_lie(name: str) -> None:
    """Where it is known that they begin there: an unknown dimension may end before."""
    program, _, found = CASES[name]
    assert classes(write(program, (((8, 40), "float32"),)).get()) == found


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("count", [0, 1, 1000, 100_000])
def test_scatters_of_slices(exec_mode: str, count: int, is_known: bool) -> None:
    """Also of the parts that threads share, of many updates."""

    def program(x: Any, i: Any, updates: Any) -> Any:
        (size,) = i.struct_info.shape
        part = op.strided_slice(updates, [0], [3], [size + 3], [1], assume_inbound=True)
        return op.scatter_elements(x, i, part, 0, "add")

    x, updates = random(50), random(count + 9)
    places = np.random.default_rng(count).integers(-50, 50, count)
    shapes = ((50,), (count,), (count + 9,)) if is_known else (("n",), ("m",), ("k",))
    mod = write(program, tuple(zip(shapes, ("float32", "int64", "float32"), strict=True))).get()
    if count > 1:
        assert classes(mod) == [None]
    expected = x.astype("float64")
    np.add.at(expected, places, updates[3 : count + 3])
    result = run(program, shapes, exec_mode, x, places, updates)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-2)
