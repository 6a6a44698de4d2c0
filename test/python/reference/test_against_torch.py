# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The definitions of operators give what PyTorch gives, in float64, for random arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from relax_mlir.reference.operators import OPERATORS
from relax_mlir.reference.tensor import Tensor
from torch.nn import functional

_SEEDS = range(8)


class _Attributes:
    """An operation with some attributes; the others are left out."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def __getattr__(self, name: str) -> Any:
        return self.given.get(name)


def define(name: str, *arrays: Any, **attributes: Any) -> Any:
    """Return what the definition of an operator gives."""
    args = [Tensor(a, a.dtype.name) if isinstance(a, np.ndarray) else a for a in arrays]
    return OPERATORS[f"relax.{name}"].function(_Attributes(**attributes), args, None)


def check(actual: Any, expected: torch.Tensor) -> None:
    assert actual.shape == tuple(expected.shape)
    np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-11, atol=1e-12)


def tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]


@pytest.fixture(params=_SEEDS)
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def numbers(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    return [int(number) for number in rng.integers(low, high, count)]


# ------------------------------------------------------------------------------
# Windows
# ------------------------------------------------------------------------------

_CONV = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def _in_layout(rng: np.random.Generator, array: np.ndarray, letters: str) -> tuple[Any, str]:
    """Return a tensor with its dimensions in a random order, and their names."""
    order = rng.permutation(array.ndim)
    return array.transpose(order), "".join(letters[i] for i in order)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_convolution(rng: np.random.Generator, count: int) -> None:
    groups, inner = numbers(rng, 1, 4, 2)
    outputs = groups * int(rng.integers(1, 3))
    window, dilation = numbers(rng, 1, 4, count), numbers(rng, 1, 3, count)
    strides, padding = numbers(rng, 1, 4, count), numbers(rng, 0, 3, count)
    shape = [7 + number for number in numbers(rng, 0, 3, count)]
    x = rng.standard_normal((2, groups * inner, *shape))
    w = rng.standard_normal((outputs, inner, *window))
    expected = _CONV[count](*tensors(x, w), None, strides, padding, dilation, groups)
    letters = _LETTERS[count]
    x, data_layout = _in_layout(rng, x, "NC" + letters)
    w, kernel_layout = _in_layout(rng, w, "OI" + letters)
    actual = define(
        f"conv{count}d",
        x,
        w,
        strides=strides,
        padding=padding * 2,
        dilation=dilation,
        groups=groups,
        data_layout=data_layout,
        kernel_layout=kernel_layout,
        out_layout="NC" + letters,
    )
    check(actual, expected)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling(rng: np.random.Generator, count: int, kind: str) -> None:
    window, strides = numbers(rng, 1, 4, count), numbers(rng, 1, 4, count)
    padding = [int(rng.integers(0, size // 2 + 1)) for size in window]
    ceil_mode, counted = bool(rng.integers(2)), bool(rng.integers(2))
    shape = [6 + number for number in numbers(rng, 0, 4, count)]
    x = rng.standard_normal((2, 3, *shape))
    given = {"pool_size": window, "strides": strides, "padding": padding * 2}
    function = getattr(functional, f"{kind}_pool{count}d")
    if kind == "max":
        given["dilation"] = numbers(rng, 1, 3, count)
        options = {"dilation": given["dilation"]}
    else:
        given["count_include_pad"] = counted
        options = {"count_include_pad": counted}
    expected = function(*tensors(x), window, strides, padding, ceil_mode=ceil_mode, **options)
    x, layout = _in_layout(rng, x, "NC" + _LETTERS[count])
    actual = define(
        f"{kind}_pool{count}d",
        x,
        ceil_mode=ceil_mode,
        layout=layout,
        out_layout="NC" + _LETTERS[count],
        **given,
    )
    check(actual, expected)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_adaptive_pooling(rng: np.random.Generator, count: int) -> None:
    sizes = numbers(rng, 1, 9, count)
    x = rng.standard_normal((2, 3, *numbers(rng, 1, 9, count)))
    expected = getattr(functional, f"adaptive_avg_pool{count}d")(*tensors(x), sizes)
    check(define(f"adaptive_avg_pool{count}d", x, output_size=sizes), expected)


# ------------------------------------------------------------------------------
# Norms, softmax, attention, products
# ------------------------------------------------------------------------------


def test_norms(rng: np.random.Generator) -> None:
    groups, inner, rows, columns = numbers(rng, 1, 5, 4)
    channels = groups * inner
    x = rng.standard_normal((3, channels, rows, columns + 1)) * 3 + 1
    g, b, mean = rng.standard_normal((3, channels))
    variance = rng.random(channels) + 0.1
    given = {"epsilon": float(rng.random())}
    tx, tg, tb = tensors(x, g, b)
    check(
        define("group_norm", x, g, b, num_groups=groups, channel_axis=1, axes=[2, 3], **given),
        functional.group_norm(tx, groups, tg, tb, given["epsilon"]),
    )
    check(
        define("instance_norm", x, g, b, channel_axis=-3, axes=[-1, 2], **given),
        functional.instance_norm(tx, None, None, tg, tb, eps=given["epsilon"]),
    )
    for training in (False, True):
        running = tensors(mean.copy(), variance.copy())
        expected = functional.batch_norm(tx, *running, tg, tb, training, 0.3, given["epsilon"])
        actual = define(
            "batch_norm", x, g, b, mean, variance, axis=1, momentum=0.3, training=training, **given
        )
        check(actual[0], expected)
        check(actual[1], running[0])
        if not training:  # PyTorch keeps the variance of a sample
            check(actual[2], running[1])
    shape = x.shape[2:]
    g, b = rng.standard_normal((2, *shape))
    tg, tb = tensors(g, b)
    check(
        define("layer_norm", x, g, b, axes=[2, 3], **given),
        functional.layer_norm(tx, shape, tg, tb, given["epsilon"]),
    )
    check(
        define("rms_norm", x, g, axes=[2, 3], **given),
        functional.rms_norm(tx, shape, tg, given["epsilon"]),
    )


def test_softmax(rng: np.random.Generator) -> None:
    x = rng.standard_normal(numbers(rng, 1, 6, 3)) * 30
    axis = int(rng.integers(-3, 3))
    check(define("softmax", x, axis=axis), functional.softmax(*tensors(x), axis))
    check(define("log_softmax", x, axis=axis), functional.log_softmax(*tensors(x), axis))


def test_attention(rng: np.random.Generator) -> None:
    batch, queries, keys, shared, heads, features, own = numbers(rng, 1, 6, 7)
    q = rng.standard_normal((batch, queries, heads * shared, features))
    k = rng.standard_normal((batch, keys, heads, features))
    v = rng.standard_normal((batch, keys, heads, own))
    bias = rng.standard_normal((batch, 1, queries, keys))
    scale = float(rng.random()) if rng.integers(2) else None
    tq, tk, tv = (tensor.transpose(1, 2) for tensor in tensors(q, k, v))
    options = {"scale": scale, "enable_gqa": True}

    def expected(**given: Any) -> torch.Tensor:
        result = functional.scaled_dot_product_attention(tq, tk, tv, **given, **options)
        return result.transpose(1, 2)

    check(define("attention", q, k, v, scale=scale), expected())
    actual = define("attention", q, k, v, bias, scale=scale)
    check(actual, expected(attn_mask=torch.from_numpy(bias)))
    actual = define("attention", q, k, v, scale=scale, causal_mask="TopLeft")
    check(actual, expected(is_causal=True))


def test_matmul(rng: np.random.Generator) -> None:
    b, n, k, m = numbers(rng, 0, 5, 4)
    x, y = rng.standard_normal((b, 1, n, k)), rng.standard_normal((3, k, m))
    check(define("matmul", x, y), torch.matmul(*tensors(x, y)))
    check(define("matmul", x, y[0, :, :1].ravel()), torch.matmul(*tensors(x, y[0, :, :1].ravel())))


# ------------------------------------------------------------------------------
# Reductions and scans
# ------------------------------------------------------------------------------

_REDUCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
    "min": torch.amin,
    "variance": lambda x, axes, keepdim: torch.var(x, axes, correction=0, keepdim=keepdim),
    "std": lambda x, axes, keepdim: torch.std(x, axes, correction=0, keepdim=keepdim),
}


def test_reductions(rng: np.random.Generator) -> None:
    x = np.round(rng.standard_normal(numbers(rng, 1, 6, 4)) * 2, 1)
    axes = [int(axis) for axis in rng.permutation(4)[: rng.integers(1, 5)]]
    keep = bool(rng.integers(2))
    for name, function in _REDUCTIONS.items():
        expected = function(*tensors(x), axes, keepdim=keep)
        check(define(name, x, axis=[axis - 4 for axis in axes], keepdims=keep), expected)
    axis = axes[0]
    check(define("prod", x, axis=[axis]), torch.prod(*tensors(x), axis))
    for exclusive in (False, True):
        first = [1 if i == axis else n for i, n in enumerate(x.shape)]
        for name, function, start in [("cumsum", torch.cumsum, 0), ("cumprod", torch.cumprod, 1)]:
            before = np.concatenate([np.full(first, start, x.dtype), x], axis)
            expected = function(torch.from_numpy(before), axis)
            expected = expected.narrow(axis, 0 if exclusive else 1, x.shape[axis])
            check(define(name, x, axis=axis, exclusive=exclusive), expected)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_first_index(rng: np.random.Generator, kind: str) -> None:
    x = rng.integers(-2, 3, (4, 5)).astype(np.float64)
    x[rng.random(x.shape) < 0.1] = np.nan
    best = getattr(np, kind)(x, axis=1)
    for row, index in enumerate(define(f"arg{kind}", x, axis=1)):
        same = np.isnan(x[row]) if np.isnan(best[row]) else x[row] == best[row]
        assert index == min(np.flatnonzero(same))


# ------------------------------------------------------------------------------
# Places
# ------------------------------------------------------------------------------

_SCATTER = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax", "mean": "mean"}


def test_places(rng: np.random.Generator) -> None:
    x = rng.standard_normal([3 + number for number in numbers(rng, 0, 4, 3)])
    axis = int(rng.integers(3))
    shape = [int(rng.integers(0, n + 1)) for n in x.shape]
    i = rng.integers(0, x.shape[axis], shape)
    u = rng.standard_normal(shape)
    tx, ti, tu = tensors(x, i, u)
    given = np.where(rng.random(shape) < 0.5, i, i - x.shape[axis])
    check(define("gather_elements", x, given, axis=axis), torch.gather(tx, axis, ti))
    for name, theirs in _SCATTER.items():
        actual = define("scatter_elements", x, given, u, axis=axis, reduction=name)
        check(actual, torch.scatter_reduce(tx, axis, ti, tu, theirs))
    flat = i.ravel()
    check(define("take", x, flat, axis=axis), torch.index_select(tx, axis, torch.from_numpy(flat)))
    places = np.stack([rng.integers(0, n, 5) for n in x.shape[:2]], -1)
    part = rng.standard_normal((5, x.shape[2]))
    index = tuple(torch.from_numpy(places[:, axis].copy()) for axis in range(2))
    check(define("gather_nd", x, places), tx[index])
    added = tx.index_put(index, torch.from_numpy(part), accumulate=True)
    check(define("scatter_nd", x, places, part, reduction="add"), added)
    hot = functional.one_hot(ti, x.shape[axis])
    actual = define("one_hot", i, 1.0, 0.0, depth=x.shape[axis], axis=-1)
    check(actual, hot.to(torch.float64))


def test_elementwise(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 50)) * 5
    tx, ty = tensors(x, y)
    check(define("gelu", x), functional.gelu(tx))
    check(define("gelu_tanh", x), functional.gelu(tx, approximate="tanh"))
    check(define("selu", x), functional.selu(tx))
    check(define("silu", x), functional.silu(tx))
    check(define("sigmoid", x), torch.sigmoid(tx))
    check(define("leakyrelu", x, alpha=0.3), functional.leaky_relu(tx, 0.3))
    check(define("softplus", x, beta=2.0, threshold=3.0), functional.softplus(tx, 2.0, 3.0))
    check(define("log_add_exp", x, y), torch.logaddexp(tx, ty))
    check(define("floor_divide", x, y), torch.floor_divide(tx, ty))
    check(define("mod", x, y), torch.remainder(tx, ty))
    check(define("atan2", x, y), torch.atan2(tx, ty))
    i, j = rng.integers(-128, 128, (2, 50)).astype(np.int8)
    j[j == 0] = 1
    expected = torch.div(*tensors(i, j), rounding_mode="trunc")
    check(define("divide", i, j), expected)
    check(define("mod", i, j), torch.remainder(*tensors(i, j)))
