"""Normalization of groups of channels, and what follows it element by element, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from kernel_programs import classes, random, run, write
from relax_mlir import op
from relax_mlir.op.nn import group_norm, silu
from torch.nn import functional

Shape = tuple[Any, ...]


def of_torch(x: np.ndarray, groups: int, *parameters: np.ndarray) -> np.ndarray:
    tensors = [torch.from_numpy(array.astype("float64")) for array in (x, *parameters)]
    return functional.group_norm(tensors[0], groups, *tensors[1:]).numpy()


def of_silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("sizes", [(1, 1), (3, 5), (8, 8), (17, 33)])
@pytest.mark.parametrize(("channels", "groups"), [(4, 1), (6, 2), (32, 8), (8, 8)])
@pytest.mark.parametrize("is_known", [True, False])
def test_images(
    exec_mode: str, sizes: tuple[int, int], channels: int, groups: int, is_known: bool
) -> None:
    """A row is a group, whose channels have parameters of their own."""

    def program(x: Any, gamma: Any, beta: Any) -> Any:
        return group_norm(x, gamma, beta, groups, 1, [2, 3])

    x = random(2, channels, *sizes) + 5
    gamma, beta = random(channels), random(channels + 1)[1:]
    shape: Shape = x.shape if is_known else ("n", channels, "h", "w")
    result = run(program, (shape, (channels,), (channels,)), exec_mode, x, gamma, beta)
    np.testing.assert_allclose(result, of_torch(x, groups, gamma, beta), rtol=2e-4, atol=2e-4)


def test_equal_elements_are_zero_but_for_few_roundings(exec_mode: str) -> None:
    """There are many partial sums: one of 40,000 elements in order is off by thousands of units."""

    def program(x: Any, gamma: Any, beta: Any) -> Any:
        return group_norm(x, gamma, beta, 4, 1, [2, 3])

    x, ones = np.full((1, 40, 64, 64), -1.448, "float32"), np.ones(40, "float32")
    result = run(program, (x.shape, (40,), (40,)), exec_mode, x, ones, 0 * ones)
    unit = 2.0**-23 / np.sqrt(1e-5)
    assert np.abs(result).max() < 100 * unit


def test_tensors_without_elements(exec_mode: str) -> None:
    """Nothing is read of them."""

    def program(x: Any, gamma: Any, beta: Any) -> Any:
        return group_norm(x, gamma, beta, 2, 1, [2])

    ones = np.ones(4, "float32")
    for shape in ((0, 4, 3), (2, 4, 0)):
        result = run(
            program, (("n", 4, "m"), (4,), (4,)), exec_mode, np.zeros(shape, "float32"), ones, ones
        )
        assert result.shape == shape


def activated(x: Any, gamma: Any, beta: Any) -> Any:
    return silu(group_norm(x, gamma, beta, 4, 1, [2, 3]))


def residual(x: Any, gamma: Any, beta: Any, y: Any) -> Any:
    return op.add(silu(group_norm(x, gamma, beta, 4, 1, [2, 3])), y)


def twice(x: Any, gamma: Any, beta: Any) -> Any:
    normalized = group_norm(x, gamma, beta, 4, 1, [2, 3])
    return op.multiply(op.sigmoid(normalized), op.tanh(normalized))


def with_bias(x: Any, gamma: Any, beta: Any, y: Any) -> Any:
    """A bias for each channel is broadcast, which an expanded space has no map for."""
    return op.add(group_norm(x, gamma, beta, 4, 1, [2, 3]), op.reshape(y, (1, 16, 1, 1)))


def then_instances(x: Any, gamma: Any, beta: Any) -> Any:
    """The rows of an image of one channel are not those of a group."""
    return op.nn.instance_norm(group_norm(x, gamma, beta, 4, 1, [2, 3]), gamma, beta, 1, [2, 3])


Reference = Callable[..., np.ndarray]
CONSUMERS: dict[str, tuple[Callable[..., Any], Reference, list[Shape], list[str]]] = {
    "silu": (activated, lambda norm: of_silu(norm), [], ["rows"]),
    "residual": (residual, lambda norm, y: of_silu(norm) + y, [("n", 16, "h", "w")], ["rows"]),
    "twice": (twice, lambda norm: np.tanh(norm) / (1 + np.exp(-norm)), [], ["rows"]),
    "bias": (
        with_bias,
        lambda norm, y: norm + y[:, None, None],
        [(16,)],
        ["rows", "elementwise"],
    ),
}


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 5), (1, 16, 16), (3, 7, 19)])
@pytest.mark.parametrize("name", CONSUMERS)
def test_what_follows(exec_mode: str, name: str, sizes: tuple[int, int, int]) -> None:
    program, reference, more, _ = CONSUMERS[name]
    n, h, w = sizes
    x = random(n, 16, h, w) * 0.5
    gamma, beta = random(16), random(17)[1:]
    known = {"n": n, "h": h, "w": w}
    rest = [random(*(known.get(dim, dim) for dim in shape)) for shape in more]
    shapes = (("n", 16, "h", "w"), (16,), (16,), *more)
    result = run(program, shapes, exec_mode, x, gamma, beta, *rest)
    expected = reference(of_torch(x, 4, gamma, beta), *rest)
    np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", CONSUMERS)
def test_what_follows_is_one_kernel(name: str) -> None:
    """And it is computed while a row is in the cache."""
    program, _, more, found = CONSUMERS[name]
    shapes = (("n", 16, "h", "w"), (16,), (16,), *more)
    mod = write(program, tuple((shape, "float32") for shape in shapes)).get()
    assert classes(mod) == found


def test_rows_of_another_normalization_are_others(exec_mode: str) -> None:
    x, gamma, beta = random(2, 16, 5, 7), random(16), random(17)[1:]
    shapes = (("n", 16, "h", "w"), (16,), (16,))
    result = run(then_instances, shapes, exec_mode, x, gamma, beta)
    tensors = map(torch.from_numpy, (of_torch(x, 4, gamma, beta), gamma, beta))
    norm, weight, bias = (tensor.double() for tensor in tensors)
    expected = functional.instance_norm(norm, weight=weight, bias=bias).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)
