# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen that draw random numbers, all of one key that is an argument of the program.

Their distributions are those of PyTorch, not their numbers.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from mlir import ir

from ... import op
from ...composites.random import dropout_mask
from ...core.ir import Dim
from .registry import Graph, cast, converts, dtype_of, is_tensor, number, shape_of

# Untagged by PyTorch, since they are made of operators that draw.
_COMPOSED = {"aten.feature_dropout.default", "aten.feature_alpha_dropout.default"}


def draws(node: torch.fx.Node) -> bool:
    """Say whether a node draws random numbers: not where dropout is off."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return False
    if torch.Tag.nondeterministic_seeded not in target.tags and str(target) not in _COMPOSED:
        return False
    names = [argument.name for argument in target._schema.arguments]
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    by_default = {one.name: one.default_value for one in target._schema.arguments}
    for switch in ("train", "training", "dropout", "dropout_p"):
        if switch in names:
            value = given.get(switch, by_default[switch])
            if value is not None and not value:
                return False
    return True


def new_key() -> torch.Tensor:
    """Return a key of PyTorch's generator, which ``torch.manual_seed`` sets."""
    return torch.empty((), dtype=torch.int64).random_().view(torch.uint64)


# -- distributions ------------------------------------------------------------------------------


@converts("rand.default", "rand.generator", "rand_like.default", "rand_like.generator")
def _rand(graph: Graph, *_: Any, **__: Any) -> ir.Value:
    return op.random.uniform(graph.random_key(), graph.shape, dtype=graph.dtype)


@converts("uniform.default")
def _uniform(graph: Graph, x: ir.Value, low: float = 0.0, high: float = 1.0, **_: Any) -> ir.Value:
    if low == high:
        return op.full(graph.shape, number(low, graph.dtype), graph.dtype)
    return op.random.uniform(graph.random_key(), graph.shape, low, high, graph.dtype)


@converts("randn.default", "randn.generator", "randn_like.default", "randn_like.generator")
def _randn(graph: Graph, *_: Any, **__: Any) -> ir.Value:
    return op.random.normal(graph.random_key(), graph.shape, dtype=graph.dtype)


@converts("normal_functional.default")
def _normal(graph: Graph, x: ir.Value, mean: float = 0.0, std: float = 1.0, **_: Any) -> ir.Value:
    return op.random.normal(graph.random_key(), graph.shape, mean, std, graph.dtype)


@converts("normal.float_float")
def _normal_of_numbers(graph: Graph, mean: float, std: float, *_: Any, **__: Any) -> ir.Value:
    return op.random.normal(graph.random_key(), graph.shape, mean, std, graph.dtype)


@converts("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def _normal_of(graph: Graph, mean: Any, std: Any = 1.0, **_: Any) -> ir.Value:
    noise = op.random.normal(graph.random_key(), graph.shape, dtype=graph.dtype)
    return op.add(op.multiply(noise, cast(std, graph.dtype)), cast(mean, graph.dtype))


@converts("log_normal.default")
def _log_normal(graph: Graph, x: ir.Value, mean: float = 1.0, std: float = 2.0, **_: Any) -> Any:
    return op.exp(op.random.normal(graph.random_key(), graph.shape, mean, std, graph.dtype))


@converts("exponential.default")
def _exponential(graph: Graph, x: ir.Value, rate: float = 1.0, **_: Any) -> ir.Value:
    return op.random.exponential(graph.random_key(), graph.shape, rate, graph.dtype)


@converts("cauchy.default")
def _cauchy(graph: Graph, x: ir.Value, median: float = 0.0, sigma: float = 1.0, **_: Any) -> Any:
    turn = op.random.uniform(graph.random_key(), graph.shape, -0.5, 0.5, graph.dtype)
    steep = op.tan(op.multiply(turn, number(math.pi, graph.dtype)))
    return op.add(op.multiply(steep, number(sigma, graph.dtype)), number(median, graph.dtype))


@converts("geometric.default")
def _geometric(graph: Graph, x: ir.Value, p: float, **_: Any) -> ir.Value:
    """Return how often it takes until something of a probability happens."""
    if p == 1:
        return op.ones(graph.shape, graph.dtype)
    clock = op.random.exponential(graph.random_key(), graph.shape, -math.log1p(-p), "float32")
    return cast(op.add(op.floor(clock), number(1, "float32")), graph.dtype)


@converts("bernoulli.default")
def _bernoulli(graph: Graph, x: ir.Value, **_: Any) -> ir.Value:
    return cast(op.random.bernoulli(graph.random_key(), x), graph.dtype)


@converts("bernoulli.p", "bernoulli.Tensor")
def _bernoulli_of(graph: Graph, x: ir.Value, p: Any, **_: Any) -> ir.Value:
    chance = p if is_tensor(p) else number(p, "float32")
    return cast(op.random.bernoulli(graph.random_key(), chance, graph.shape), graph.dtype)


@converts(
    "randint.default", "randint.generator", "randint.low", "randint.low_generator",
    "randint_like.default", "randint_like.generator", "randint_like.low_dtype",
    "randint_like.low_generator_dtype",
)  # fmt: skip
def _randint(graph: Graph, *arguments: Any, **_: Any) -> ir.Value:
    bounds = [one for one in arguments if isinstance(one, (int, Dim))]
    low, high = (Dim(one) for one in (bounds if len(bounds) > 1 else (0, *bounds)))
    key, dtype = graph.random_key(), graph.dtype
    if low.value is not None and high.value is not None:
        return op.random.randint(key, graph.shape, low.value, high.value, dtype)
    words = op.random.bits(key, graph.shape, "uint64")
    rest = op.mod(words, number(high - low, "uint64"))
    return cast(op.add(cast(rest, "int64"), number(low, "int64")), dtype)


@converts("randperm.default", "randperm.generator")
def _randperm(graph: Graph, count: Any, **_: Any) -> ir.Value:
    return cast(op.random.permutation(graph.random_key(), graph.shape[0]), graph.dtype)


@converts("multinomial.default")
def _multinomial(
    graph: Graph, x: ir.Value, count: Any, replacement: bool = False, **_: Any
) -> ir.Value:
    if not isinstance(count, int):
        raise NotImplementedError("a number of samples that is a size")
    return op.random.multinomial(graph.random_key(), x, count, replacement)


# -- dropout ------------------------------------------------------------------------------------


@converts("dropout.default")
def _dropout(graph: Graph, x: ir.Value, p: float, train: bool) -> ir.Value:
    return op.random.dropout(graph.random_key(), x, p) if train else x


@converts("native_dropout.default")
def _native_dropout(graph: Graph, x: ir.Value, p: float, train: bool | None) -> list[ir.Value]:
    if train is not None and not train:
        return [x, op.ones_like(x, "bool")]
    kept, factor = dropout_mask(graph.random_key(), x, p)
    return [op.multiply(x, factor), kept]


@converts("feature_dropout.default")
def _feature_dropout(graph: Graph, x: ir.Value, p: float, train: bool) -> ir.Value:
    """Drop whole channels."""
    if not train:
        return x
    channels = op.ones(_channels(x), dtype_of(x))
    return op.multiply(x, op.random.dropout(graph.random_key(), channels, p))


def _channels(x: ir.Value) -> list[Dim]:
    """Return the shape of what is the same for all elements of a channel."""
    dims = shape_of(x)
    return [*dims[:2], *[Dim(1)] * (len(dims) - 2)]


@converts("alpha_dropout.default", "feature_alpha_dropout.default")
def _alpha_dropout(graph: Graph, x: ir.Value, p: float, train: bool) -> ir.Value:
    """Drop elements to what selu makes of the least numbers, and keep mean and variance."""
    if not train or p == 0:
        return x
    if p == 1:
        return op.multiply(x, number(0, dtype_of(x)))
    dims = _channels(x) if graph.kind == "feature_alpha_dropout" else shape_of(x)
    low = -1.7580993408473766  # -scale * alpha of selu
    factor = (p * low * low * (1 - p) + (1 - p)) ** -0.5
    kept = op.random.bernoulli(graph.random_key(), 1 - p, dims)
    mixed = op.where(kept, x, number(low, dtype_of(x)))
    shift = number(-factor * p * low, dtype_of(x))
    return op.add(op.multiply(mixed, number(factor, dtype_of(x))), shift)


@converts("rrelu_with_noise_functional.default")
def _rrelu(
    graph: Graph, x: ir.Value, noise: ir.Value, lower: float = 1 / 8, upper: float = 1 / 3,
    training: bool = False, *_: Any,
) -> list[ir.Value]:  # fmt: skip
    dtype = graph.dtype
    if not training or lower == upper:
        slope = number((lower + upper) / 2, dtype)
        return [op.where(op.less(x, number(0, dtype)), op.multiply(x, slope), x), noise]
    drawn = op.random.uniform(graph.random_key(), graph.shape, lower, upper, dtype)
    slope = op.where(op.less_equal(x, number(0, dtype)), drawn, number(1, dtype))
    return [op.multiply(x, slope), slope]
