# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen give what PyTorch gives, of sizes that are known and of sizes that are not.

The functions of a family have the same inputs and are one program, so that they are compiled once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)

aten = torch.ops.aten
Functions = dict[str, Callable[..., Any]]


def random(*shape: int) -> torch.Tensor:
    # Of NumPy, which export does not see: inside of a model they are constants.
    numbers = np.random.default_rng(len(shape)).random(shape)
    return torch.tensor(numbers + 0.25, dtype=torch.float32)


def integers(*shape: int, low: int = -7, high: int = 8) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(len(shape)).integers(low, high, shape))


def mask(*shape: int) -> torch.Tensor:
    return random(*shape) > 0.7


@dataclasses.dataclass(frozen=True)
class Family:
    """Functions of the same inputs.

    Parameters
    ----------
    inputs : callable
        The inputs for a size.
    functions : dict of str to callable
    fixed : dict of str to callable
        Those of one size only.
    dynamic : tuple of bool
        Which inputs have that size as their first dimension.
    """

    inputs: Callable[[int], tuple[torch.Tensor, ...]]
    functions: Functions
    fixed: Functions = dataclasses.field(default_factory=dict)
    dynamic: tuple[bool, ...] = (True,)


class Model(nn.Module):
    """The results of some functions."""

    def __init__(self, functions: Functions) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        return [one for function in self.functions.values() for one in flat(function(*inputs))]


def flat(value: Any) -> list[torch.Tensor]:
    if not isinstance(value, (list, tuple)):
        return [value]
    return [element for one in value for element in flat(one)]


def export(functions: Functions, inputs: Any, dynamic: Any = ()) -> Any:
    n = torch.export.Dim("n", min=2)
    dims = tuple({0: n} if one else None for one in dynamic)
    shapes = {"inputs": dims} if dims else None
    return torch.export.export(Model(functions).eval(), inputs, dynamic_shapes=shapes)


def compare(functions: Functions, got: Any, inputs: Any, tolerance: float = 1e-5) -> None:
    """Compare results, which are in order, with those of the functions."""
    results = iter(got)
    with torch.no_grad():
        for name, function in functions.items():
            for theirs in flat(function(*inputs)):
                ours = torch.from_dlpack(next(results))
                assert ours.dtype == theirs.dtype, name
                torch.testing.assert_close(
                    ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True,
                    msg=lambda text, name=name: f"{name}: {text}",
                )  # fmt: skip
    assert next(results, None) is None


def check(functions: Functions, *inputs: torch.Tensor) -> None:
    mod = from_exported_program(export(functions, inputs))
    compare(functions, load(mod)(*inputs), inputs)


def load(mod: Any, target: str = "llvm") -> Any:
    return relax_mlir.VirtualMachine(relax_mlir.compile(mod, target))["main"]


def named(module: Any, *names: str) -> Functions:
    return {name: getattr(module, name) for name in names}


def elementwise() -> Functions:
    functions = named(
        torch, "asin", "acos", "atan", "sinh", "cosh", "tan", "asinh", "atanh", "expm1", "log1p",
        "exp2", "isnan", "isinf", "isfinite", "trunc", "frac", "erf", "sign", "bitwise_not",
    )  # fmt: skip
    del functions["bitwise_not"]
    return {
        **functions,
        "acosh": lambda x: torch.acosh(x + 2),
        "log2": lambda x: torch.log2(x.abs()),
        "log10": lambda x: torch.log10(x.abs()),
        "round_decimals": lambda x: torch.round(x, decimals=1),
        "pow": lambda x: [x**2, x**3, x**0.5, x**-1, x**-2, 2**x, x.abs() ** x, x**0],
        "atan2": lambda x: torch.atan2(x, x - 0.5),
        "logaddexp": lambda x: torch.logaddexp(x, x * 2),
        "remainder": lambda x: [x % 0.3, torch.remainder(x, -0.3), torch.fmod(x, 0.3)],
        "division": lambda x: [
            torch.div(x, 0.3, rounding_mode="floor"), torch.div(x, -0.3, rounding_mode="trunc"),
            x // 0.3,
        ],
        "rsub": lambda x: torch.rsub(x, x * 3, alpha=2),
        "clamp": lambda x: [x.clamp_min(0.1), x.clamp_max(0.1), x.clamp(x * 0 - 0.1, x * 0 + 0.2)],
        "extremes": lambda x: [torch.maximum(x, -x), torch.fmin(x, -x), torch.max(x, x * x)],
        "where": lambda x: torch.where(x > 0, 1.0, x),
        "isin": lambda x: torch.isin(x.round(), torch.tensor([0.0, 1.0])),
        "nan_to_num": torch.nan_to_num,
        "signs": lambda x: [
            torch.signbit(x * 0), torch.copysign(x, -x * 0), torch.copysign(x, -1.0), x.signbit(),
        ],
        "lengths": lambda x: [
            torch.hypot(x, x - 1), torch.hypot(x * 1e30, x * 3e30), torch.hypot(x * 0, x * 0),
            torch.ldexp(x, torch.arange(4)), torch.dist(x, -x), torch.dist(x, x[:1], 1),
        ],
        "lerp": lambda x: torch.lerp(x, x + 1, 0.3),
        "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
        "bucketize": lambda x: [
            torch.bucketize(x, torch.tensor([-0.5, 0.0, 0.25, 0.5]), right=right)
            for right in (False, True)
        ],
    }  # fmt: skip


def activations() -> Functions:
    return {
        **named(
            F, "relu6", "hardtanh", "elu", "celu", "selu", "mish", "softsign", "tanhshrink",
            "softshrink", "hardshrink", "hardsigmoid", "hardswish", "logsigmoid", "softplus",
            "silu", "gelu", "leaky_relu", "relu", "glu",
        ),
        "elu_alpha": lambda x: F.elu(x, 0.7),
        "celu_alpha": lambda x: F.celu(x, 0.7),
        "hardtanh_range": lambda x: F.hardtanh(x, -0.2, 0.3),
        "softplus_beta": lambda x: F.softplus(x, 2, 1),
        "threshold": lambda x: F.threshold(x, 0.1, -3),
        "prelu": lambda x: [F.prelu(x, torch.tensor([0.2])), F.prelu(x, torch.arange(4.0) / 5)],
        "in_place": lambda x: F.relu_(F.hardtanh_(x + 0.1) - 0.2),
    }  # fmt: skip


def of_integers() -> Functions:
    return {
        "bits": lambda x, y: [x & y, x | 5, x ^ y, ~x, x << 2, x >> y.abs(), 1 << y.abs()],
        "division": lambda x, y: [
            x // y, x % y, torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y), x // 3, x % -3,
            x / y,
        ],
        "powers": lambda x, y: [
            x**2, x**3, x**7, 2 ** y.abs(), x**0, x ** (y * 9), 3**y, x.to(torch.int8) ** y[:1],
            (x - 1).clamp(-1, 1) ** (y - 4), x.to(torch.uint8) ** y.to(torch.uint8),
        ],
        "rounding": lambda x, y: [x.floor(), x.ceil(), x.round(), x.trunc()],
        "comparisons": lambda x, y: [x > y, x <= 2.5, x == y, x != 3],
        "extremes": lambda x, y: [torch.maximum(x, y), x.clamp(-2, 3), x.clamp(min=-1.5), x.sign()],
        "sums": lambda x, y: [x.sum(1), x.prod(1), x.cumsum(0), x.cumprod(1), x.amax(0), x.max()],
        "floats": lambda x, y: [x.sqrt(), x.exp(), x.sigmoid(), x * 0.5, x.float().to(torch.int32)],
        "logic": lambda x, y: [
            torch.logical_and(x, y), torch.logical_or(x, y - 3), torch.logical_xor(x, y),
            torch.logical_not(x),
        ],
        "bools": lambda x, y: [
            (x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), ~(x > 0), (x > 0) + (y > 0),
            (x > 0) * (y > 0), (x > 0).sum(), (x > 0) * 2.5, torch.maximum(x > 0, y > 0),
        ],
        "truth": lambda x, y: [
            (x > 0).any(), (x > 0).all(1), (x > 6).any(0, keepdim=True), x.any(1), x.all(),
            (x > 0).any((0, 1)),
        ],
        "masked": lambda x, y: [x.masked_fill(y > 2, 9), torch.where(x > y, x, 0)],
        "sorter": lambda x, y: torch.searchsorted(
            torch.tensor([4, -3, 0]), x, sorter=torch.tensor([1, 2, 0])
        ),
        "searchsorted": lambda x, y: torch.searchsorted(torch.tensor([-3, 0, 4]), x, side="right"),
        "one_hot": lambda x, y: F.one_hot(x.abs(), 9),
    }  # fmt: skip


def reductions() -> Functions:
    return {
        "var": lambda x: [
            x.var(), x.var(1), x.std((0, 2), unbiased=False), x.var(2, correction=0, keepdim=True),
            *torch.var_mean(x, 1), *torch.std_mean(x, (1, 2), keepdim=True),
        ],
        "extremes": lambda x: [
            x.max(), x.min(), *x.max(1), *x.min(-1, keepdim=True), x.amax((0, 2)), x.amin(1),
            *torch.aminmax(x, dim=1), x.argmax(), x.argmin(1, keepdim=True), x.argmax(0),
        ],
        "products": lambda x: [x.prod(), x.prod(1), x.prod(-1, keepdim=True)],
        "scans": lambda x: [x.cumsum(1), x.cumsum(-3), x.cumprod(2)],
        "logsumexp": lambda x: [torch.logsumexp(x, 1), x.logsumexp((0, 2), keepdim=True)],
        "norms": lambda x: [
            x.norm(), torch.linalg.vector_norm(x, 1, dim=1), torch.linalg.vector_norm(x, 3, (0, 1)),
            torch.linalg.vector_norm(x, float("inf"), 1, keepdim=True), F.normalize(x, dim=1),
            torch.linalg.vector_norm(x, 0), torch.linalg.vector_norm(x, float("-inf"), -1),
        ],
        "similarity": lambda x: [F.cosine_similarity(x, x * 2 + 1, dim=2), (x > 0.5).sum(0)],
        "means": lambda x: [x.mean(), x.mean((0, 1), keepdim=True), x.sum([]), x.mean(-1)],
        "truth": lambda x: [(x > 0.9).any(1), (x > 0.3).all(-1), torch.count_nonzero(x > 0.7, 1)],
        "softmax": lambda x: [x.softmax(0), F.softmin(x, 1), x.log_softmax(2)],
    }  # fmt: skip


def normalizations() -> Functions:
    weight, bias = random(4), random(4) - 1
    return {
        "group_norm": lambda x: [F.group_norm(x, 2, weight, bias), F.group_norm(x, 4, eps=1e-3)],
        "instance_norm": lambda x: [F.instance_norm(x, weight=weight, bias=bias),
                                    F.instance_norm(x)],
        "layer_norm": lambda x: [F.layer_norm(x, (5, 6)), F.layer_norm(x, (6,), random(6))],
        "native_layer_norm": lambda x: torch.native_layer_norm(x, [6], None, None, 1e-5),
        "native_group_norm": lambda x: torch.native_group_norm(
            x, weight, None, x.shape[0], 4, 30, 2, 1e-5
        ),
        "native_batch_norm": lambda x: [
            torch.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5),
            aten._native_batch_norm_legit_no_training(x, None, bias, bias, weight, 0.1, 1e-5),
        ],
        "fused_rms_norm": lambda x: aten._fused_rms_norm(x, [5, 6], None, 1e-3),
        "rms_norm": lambda x: [F.rms_norm(x, (6,), random(6)), F.rms_norm(x, (5, 6), eps=1e-3)],
        "batch_norm": lambda x: F.batch_norm(x, weight, random(4), bias, random(4)),
        "of_batch": lambda x: F.batch_norm(x, None, None, weight, bias, training=True),
        "safe_softmax": lambda x: [
            aten._safe_softmax(x.masked_fill(x > limit, float("-inf")), 2) for limit in (0.4, 0.9)
        ],
        "local_response": lambda x: F.local_response_norm(x, 3),
    }  # fmt: skip


def moves() -> Functions:
    return {
        "repeat": lambda x: [x.repeat(2, 1, 3), x.tile(2), x.repeat_interleave(2, 1),
                             aten.permute_copy(x, [2, 0, 1]), *aten.unbind_copy(x, 1)],
        "flip": lambda x: [x.flip(0), x.flip(-1, 1), x.fliplr()],
        "roll": lambda x: [x.roll(1, 0), x.roll((1, -2), (1, 2)), x.roll(2)],
        "unfold": lambda x: [x.unfold(1, 2, 1), x.unfold(2, 3, 2)],
        "diagonal": lambda x: [x.diagonal(0, 1, 2), x.diagonal(1, 1, 2), x.diagonal(-1, 2, 1)],
        "unbind": lambda x: [*x.unbind(1), *x.unbind(-1)[:2]],
        "narrow": lambda x: [x.narrow(1, 1, 2), x[:, -2:], x[:, :, 1:9], x[:, 3:3], x[..., ::3]],
        "split": lambda x: [*x.split(2, 1), *x.split([1, 5], 2), *torch.tensor_split(x, 2, 1)],
        "cat": lambda x: [torch.cat([x, x * 2, torch.zeros(0)]), torch.cat([x, x.int()], -1)],
        "stack": lambda x: [torch.stack([x, -x], -1), torch.hstack([x, x])],
        "scatters": lambda x: [
            torch.slice_scatter(x, x[:, :2] * 2, 1, 1, 3), torch.select_scatter(x, x[:, 0], 1, -1),
            torch.slice_scatter(x, x[:, :2] * 2, 1, 0, 4, 2),
        ],
        "expand": lambda x: [x[:, :1].expand(-1, 7, -1), x.movedim(0, 2), x.swapaxes(1, 2), x.mT],
        "triangles": lambda x: [x.tril(), x.triu(1), torch.tril(x > 0.5, -1)],
        "pads": lambda x: [
            F.pad(x, (1, 2)), F.pad(x, (1, 0, 2, 1), value=3.5), F.pad(x, (-1, 1, 1, -2)),
            F.pad(x, (2, 1), mode="reflect"), F.pad(x, (2, 3), mode="replicate"),
            F.pad(x, (1, 2), mode="circular"), F.pad(x, (0, 0, 0, 0, 1, 1)),
            F.pad(x, (-1, 2), mode="circular"), F.pad(x[None], (2, -2, -1, 1), mode="circular"),
        ],
        "in_place": written,
        "views": lambda x: [x.unflatten(2, (2, 3)), x.flatten(1), x.reshape(-1, 3), x[None, :, 1]],
    }  # fmt: skip


def written(x: torch.Tensor) -> list[torch.Tensor]:
    y = x * 2
    y[:, 1] = 0.5
    y[:, 2:, ::2] += x[:, 2:, ::2]
    z = torch.zeros_like(x)
    z[..., 1:3] = y[..., :2]
    return [y, z.clamp_(0, 1)]


def made() -> Functions:
    return {
        "arange": lambda x: [
            torch.arange(5), torch.arange(2, 9, 3), torch.arange(5, 0, -2, dtype=torch.int32),
            torch.arange(0.5, 2, 0.25), torch.arange(4.0), torch.arange(3, dtype=torch.float64),
        ],
        "by_size": lambda x: [
            torch.arange(x.shape[0]), torch.arange(1, x.shape[0] + 3, 2), torch.ones(x.shape[0], 2),
            torch.arange(x.shape[0] - 1, -1, -1), torch.arange(x.shape[0], dtype=torch.float32),
            torch.eye(x.shape[0]), torch.full((x.shape[0], 2), 1.5), x.new_full((3, 2), 2),
            torch.full((2,), x.shape[0]), torch.full_like(x, 3), x.new_zeros(2), x.new_ones(1),
        ],
        "empty": lambda x: [torch.empty_like(x).fill_(2), torch.empty(3).zero_(), x.new_empty(0)],
        "sequences": lambda x: [
            torch.linspace(0, 1, 7), torch.linspace(3, -2, 4), torch.hann_window(6),
            torch.tril_indices(3, 4), torch.eye(3, 5), torch.scalar_tensor(2.5),
        ],
        "of_size": lambda x: [
            x / x.shape[0], x * (x.shape[0] + 1), x + x.shape[0] ** 0.5, x.sum() / x.numel(),
            torch.tensor(x.shape[0] * 2) + x.int(), x.masked_fill(x > 0.5, x.shape[0]),
        ],
        "positions": lambda x: x + torch.arange(x.shape[0]).unsqueeze(1) * 0.5,
        "causal": lambda x: torch.full((x.shape[0], x.shape[0]), float("-inf")).triu(1),
        "grids": lambda x: torch.meshgrid(torch.arange(x.shape[0]), torch.arange(3), indexing="ij"),
    }  # fmt: skip


def indexed() -> Functions:
    return {
        "index": lambda x, i: [
            x[i], x[:, i[:2] % 4], x[i, i % 4], x[i, :, i % 3], x[:, i % 4, i % 3], x[-i - 1],
            x[i.unsqueeze(1), torch.tensor([0, -1])], x[:, :, torch.tensor([[0, 2], [1, -1]])],
        ],
        "select": lambda x, i: [
            x.index_select(0, i), x.index_select(-1, torch.tensor([2, 0])), x.take(i), x[0, i % 4],
        ],
        "gather": lambda x, i: [
            x.gather(0, i.view(-1, 1, 1)), x.gather(2, (i % 3).view(-1, 1, 1).expand(-1, 4, 5)),
        ],
        "scatter": lambda x, i: [
            x.scatter(1, (i % 4).view(-1, 1, 1), 9.0),
            x.scatter(2, (i % 3).view(-1, 1, 1), x[:, 1:2, :1]),
            x.scatter_add(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "amax"),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "sum",
                             include_self=False),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "prod"),
        ],
        "put": lambda x, i: [
            x.index_put((i[:1],), torch.tensor(5.0)), x.index_put((i, i % 4), x[:, 0] * 2, True),
            aten.index_put(x, (None, torch.tensor([1, -1])), torch.tensor(2.0)),
            x.index_put((x > 0.7,), torch.tensor(-1.0)), x.index_put((i > 0,), torch.ones(3)),
            aten.index_put(x, (None, torch.tensor([0, 2]), torch.tensor([1, 0])), torch.zeros(2)),
        ],
        "put_flat": lambda x, i: [
            x.put(i * 2, i.float()), x.put(i % 2, i.float(), accumulate=True),
        ],
        "reduced": lambda x, i: [
            *(x.index_reduce(1, torch.tensor([1, 3, 1]), x[:, :3] * 2, kind, include_self=itself)
              for kind in ("mean", "amax", "prod") for itself in (True, False)),
            x.scatter_reduce(1, (i % 4).view(-1, 1, 1).expand(-1, 3, 3), x, "mean",
                             include_self=False),
            x[0, 0, 0].scatter_add(0, i[:1] * 0, x[0, 0, :1]),
        ],
        "added": lambda x, i: [
            x.index_add(0, i, x, alpha=2), x.index_fill(1, torch.tensor([1, 3]), 4.0),
            x.index_copy(1, torch.tensor([3, 0]), x[:, :2]),
        ],
        "masked": lambda x, i: [
            x.masked_scatter(x > 0.7, x * 10), x.masked_fill(i.view(-1, 1, 1) > 1, float("-inf")),
        ],
        "embedding": lambda x, i: F.embedding(i, random(9, 4), padding_idx=0),
        "bags": lambda x, i: [
            F.embedding_bag(i.view(-1, 1), x[:, :, 0], mode=mode) for mode in BAG_MODES
        ],
        "losses": lambda x, i: [
            F.cross_entropy(x[:, :, 0], i % 4), F.nll_loss(x[:, :, 0], i % 4, reduction="none"),
        ],
    }  # fmt: skip


BAG_MODES = ("sum", "mean", "max")


def bags() -> Functions:
    """Bags of rows of a table, by indices, where the bags begin, and a factor of each index."""
    bag = F.embedding_bag
    return {
        "plain": lambda w, i, at, by: [bag(i, w, at, mode=mode) for mode in BAG_MODES],
        "padded": lambda w, i, at, by: [
            bag(i, w, at, mode=mode, padding_idx=one) for mode in BAG_MODES for one in (3, -1)
        ],
        "with_end": lambda w, i, at, by: [
            bag(
                i,
                w,
                torch.cat([at, torch.full((1,), i.shape[0])]),
                mode=mode,
                include_last_offset=True,
            )
            for mode in BAG_MODES
        ],
        "weighted": lambda w, i, at, by: [
            bag(i, w, at, mode="sum", per_sample_weights=by),
            bag(i, w, at, mode="sum", per_sample_weights=by, padding_idx=2),
        ],
        "rows": lambda w, i, at, by: [
            bag(i.view(-1, 1), w, mode=mode, padding_idx=0) for mode in BAG_MODES
        ],
        "scaled": lambda w, i, at, by: bag(i, w, at, max_norm=None, scale_grad_by_freq=True),
    }


def ordered() -> Functions:
    return {
        "topk": lambda x: [
            *(x + torch.arange(20.0).view(4, 5) / 50).topk(3),
            *(x + torch.arange(20.0).view(4, 5) / 50).topk(2, 1, largest=False),
            x.topk(4)[0],
        ],
        "sort": lambda x: [*x.sort(), *x.sort(1, descending=True), x.argsort(stable=True)],
        "median": lambda x: [*x.median(1), *x.median(-1, keepdim=True)],
    }


def products() -> Functions:
    return {
        "einsum": lambda x: [
            torch.einsum("bij,bkj->bik", x, x), torch.einsum("bij->bji", x),
            torch.einsum("bii->bi", x[:, :, :4]), torch.einsum("bij,cij->bc", x, x),
        ],
        "sums": lambda x: [
            torch.baddbmm(x[:, :, :4], x, x.mT, beta=0.5, alpha=2), torch.addr(x[0], x[0, :, 0],
            x[0, 0]), torch.addmv(x[0, :, 0], x[0], x[0, 0]), torch.outer(x[:, 0, 0], x[0, 0]),
            torch.addmm(x[0, :, :1], x[0], x[0].t(), beta=0), torch.addbmm(x[0, :, :4], x, x.mT),
        ],
        "vectors": lambda x: [torch.mv(x[0], x[0, 0]), torch.dot(x[0, 0], x[0, 1]), x @ x[0, 0]],
        "linear": lambda x: [F.linear(x, random(3, 5)), F.linear(x[0, 0], random(3, 5), random(3)),
                             F.bilinear(x, x, random(2, 5, 5), random(2))],
        "cdist": lambda x: [torch.cdist(x, x + 1), torch.cdist(x[0], x[1], p=1)],
        "pdist": lambda x: [F.pdist(x[0], p) for p in (2.0, 1.0, 0.0, 3.0, float("inf"))],
        "cross": lambda x: torch.linalg.cross(x[..., :3], x[..., 1:4]),
        "integers": lambda x: (x * 8).int() @ (x * 8).int().mT,
    }  # fmt: skip


def attentions() -> Functions:
    attend = F.scaled_dot_product_attention
    return {
        "plain": lambda q, k, m: attend(q, k, k),
        "float_mask": lambda q, k, m: attend(q, k, k, m.float() * -3.0),
        "mask": lambda q, k, m: attend(q, k, k, m),
        "unseen": lambda q, k, m: attend(q, k, k, m & (torch.arange(5) != 2).unsqueeze(1)),
        "causal": lambda q, k, m: attend(q, k, k, is_causal=True),
        "rank_3": lambda q, k, m: attend(q[:, 0], k[:, 0], k[:, 0], is_causal=True, scale=0.3),
        "grouped": lambda q, k, m: attend(q, k[:, :2], k[:, :2], enable_gqa=True),
        "grouped_mask": lambda q, k, m: attend(q, k[:, :2], k[:, :2], m, enable_gqa=True),
    }


def windows() -> Functions:
    weight, bias = random(6, 2, 3, 3), random(6)
    back = random(4, 3, 3, 2)
    return {
        "conv": lambda x: [
            F.conv2d(x, weight, bias, padding="same", groups=2), F.conv2d(x[0], random(3, 4, 2, 2)),
            F.conv2d(x, random(3, 4, 2, 4), padding="same", dilation=2),
            F.conv1d(x[:, 0], random(2, 8, 3), padding=1, stride=2),
            F.conv3d(x.unsqueeze(2), random(2, 4, 1, 3, 3)),
        ],
        "transposed": lambda x: [
            F.conv_transpose2d(x, back, stride=2, padding=1, output_padding=1),
            F.conv_transpose2d(x, back, random(3), stride=(3, 1), dilation=(1, 2)),
            F.conv_transpose2d(x, random(4, 3, 3, 3), random(6), groups=2, padding=2),
            F.conv_transpose1d(x[:, 0], random(8, 2, 4), stride=2, padding=1),
            F.conv_transpose3d(x.unsqueeze(2), random(4, 2, 2, 2, 2), stride=2),
        ],
        "max_pools": lambda x: [
            F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.max_pool2d(x[0], 2),
            F.max_pool1d(x[:, 0], 2), F.max_pool3d(x, 2, 1), F.max_pool2d(x, 2, 1, 0, 2),
        ],
        "avg_pools": lambda x: [
            F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, divisor_override=3), F.avg_pool3d(x, 2),
            F.avg_pool1d(x[:, 0], 3, 1, 1, count_include_pad=False),
            F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.lp_pool2d(x, 2, 2),
        ],
        "adaptive": lambda x: [
            F.adaptive_avg_pool2d(x, (3, None)), F.adaptive_avg_pool1d(x[:, 0], 4),
            F.adaptive_avg_pool3d(x, (2, 1, 5)), F.adaptive_max_pool2d(x, (4, 1)),
            F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool2d(x, (3, 5)),
            F.adaptive_max_pool1d(x[0, 0], 3),
        ],
        "places": lambda x: [
            F.max_pool2d(x, 2, return_indices=True),
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
            F.max_pool2d(-x[0], 3, 1, 1, 2, return_indices=True),
            F.max_pool1d(x[:, 0], 3, 2, return_indices=True),
            F.max_pool3d((x * 9).int().float().unsqueeze(2), (1, 2, 3), return_indices=True),
            F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
            F.adaptive_max_pool2d(x[1], 1, return_indices=True),
            F.adaptive_max_pool3d((x * 3).round()[None], (2, 2, 3), return_indices=True),
        ],
        "unpooled": lambda x: [
            F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
            F.max_unpool2d(*F.max_pool2d(x, 3, 2, return_indices=True), 3, 2, output_size=(8, 10)),
            F.max_unpool1d(*F.max_pool1d(x[0], 2, return_indices=True), 2),
            F.max_unpool3d(*F.max_pool3d(x[None], 2, return_indices=True), 2),
        ],
        "shuffles": lambda x: [F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2),
                               F.channel_shuffle(x, 2)],
        "pads": lambda x: [F.pad(x, (1, 2, 3, 1), mode=mode)
                           for mode in ("reflect", "replicate", "circular")],
        "unfolded": lambda x: F.unfold(x, 3, padding=1),
        "folded": lambda x: [
            F.fold(x.flatten(1, 2), (3, 6), (2, 2), stride=(1, 1)),
            F.fold(F.unfold(x, (3, 2), 2, (1, 0), 2), (8, 10), (3, 2), 2, (1, 0), 2),
        ],
    }  # fmt: skip


def resized() -> Functions:
    modes = ("nearest", "nearest-exact", "bilinear", "bicubic")
    return {
        "by_scale": lambda x: [F.interpolate(x, scale_factor=2.0, mode=mode) for mode in modes],
        "by_fraction": lambda x: [F.interpolate(x, scale_factor=0.7, mode=mode) for mode in modes],
        "by_size": lambda x: [F.interpolate(x, (5, 11), mode=mode) for mode in modes],
        "corners": lambda x: [
            F.interpolate(x, (5, 1), mode=mode, align_corners=True) for mode in modes[2:]
        ],
        "smooth": lambda x: [
            F.interpolate(x, (5, 17), mode=mode, antialias=True) for mode in modes[2:]
        ],
        "others": lambda x: [
            F.interpolate(x[:, 0], 5, mode="linear"), F.interpolate(x[:, 0], scale_factor=3.0),
            F.interpolate(x.unsqueeze(2), (2, 3, 5), mode="trilinear"),
            *(F.interpolate(x, scale_factor=1.1, mode=mode) for mode in modes),
        ],
    }  # fmt: skip


def sampled() -> Functions:
    return {
        f"{mode}_{padding}_{corners}": functools.partial(
            F.grid_sample, mode=mode, padding_mode=padding, align_corners=corners
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    }


def special() -> Functions:
    return {
        **named(torch, "erfc", "lgamma", "digamma", "i0"),
        **named(torch.special, "erfcx", "i0e", "i1", "i1e", "multigammaln"),
        "multigammaln": lambda x: torch.special.multigammaln(x.abs() + 2, 3),
        "polygamma": lambda x: [torch.polygamma(0, x), torch.polygamma(1, x)],
    }


def running() -> Functions:
    return {
        "cummax": lambda x: [*x.cummax(1), *x.cummax(-1)],
        "cummin": lambda x: [*x.cummin(1), *x.int().cummin(2)],
        "logcumsumexp": lambda x: [x.logcumsumexp(1), x.logcumsumexp(-1)],
    }


def matrices() -> Functions:
    """Of matrices with an inverse, one of which has exchanged rows."""

    def positive(x: torch.Tensor) -> torch.Tensor:
        return x @ x.mT + torch.eye(4)

    def lower(x: torch.Tensor) -> torch.Tensor:
        return torch.tril(x) + torch.eye(4)

    linalg = torch.linalg
    return {
        "inverse": lambda x, b: [x.inverse(), linalg.inv(x + torch.eye(4))],
        "determinant": lambda x, b: [linalg.det(x), *linalg.slogdet(x), x.logdet().exp()],
        "solve": lambda x, b: [linalg.solve(x, b),
                               linalg.solve(x, b.mT, left=False)],
        "cholesky": lambda x, b: [linalg.cholesky(positive(x)),
                                  linalg.cholesky(positive(x), upper=True),
                                  torch.cholesky_solve(b, lower(x)),
                                  torch.cholesky_inverse(lower(x))],
        "triangular": lambda x, b: [
            linalg.solve_triangular(lower(x), b, upper=False),
            linalg.solve_triangular(lower(x).mT, b, upper=True),
            linalg.solve_triangular(lower(x), b.mT, upper=False, left=False),
            linalg.solve_triangular(x, b, upper=True, unitriangular=True),
            torch.triangular_solve(b, lower(x), upper=False, transpose=True)[0],
        ],
        "factors": lambda x, b: [*linalg.lu_factor(x), linalg.lu_solve(*linalg.lu_factor(x), b)],
    }  # fmt: skip


# Of torchvision, which the tests do not need: the samples of regions are those of `grid_sample`.
ROI_ALIGN = torch.library.Library("torchvision", "FRAGMENT")
if not hasattr(torch.ops.torchvision, "roi_align"):
    ROI_ALIGN.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
        "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
    )

    def roi_align(
        x: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, count: int,
        aligned: bool,
    ) -> torch.Tensor:  # fmt: skip
        results = []
        for image, *edges in rois.tolist():
            left, top, right, bottom = (one * scale - aligned / 2 for one in edges)
            least = 0.0 if aligned else 1.0
            samples = []
            for size, low, high, bins in zip(
                x.shape[2:], (top, left), (bottom, right), (height, width), strict=True
            ):
                step = max(high - low, least) / (bins * count)
                at = low + (torch.arange(bins * count) + 0.5) * step
                inside = (at >= -1) & (at <= size)
                samples.append((at.clamp(0, size - 1) / (size - 1) * 2 - 1, inside))
            (y, in_rows), (x_at, in_columns) = samples
            grid = torch.stack(torch.meshgrid(x_at, y, indexing="xy"), -1)[None]
            values = F.grid_sample(x[int(image)][None], grid, align_corners=True)
            values = values * (in_rows.unsqueeze(1) & in_columns)
            results.append(F.avg_pool2d(values, count)[0])
        return torch.stack(results)

    ROI_ALIGN.impl("roi_align", roi_align, "CPU")
    torch.library.register_fake(
        "torchvision::roi_align",
        lambda x, rois, scale, height, width, *_: x.new_empty(
            rois.shape[0], x.shape[1], height, width
        ),
        lib=ROI_ALIGN,
    )


def regions() -> Functions:
    align = torch.ops.torchvision.roi_align
    return {
        "scaled": lambda x, rois: [align(x, rois, 0.5, 3, 2, 2, aligned) for aligned in
                                   (False, True)],
        "plain": lambda x, rois: align(x, rois, 1.0, 2, 2, 3, True),
    }  # fmt: skip


FAMILIES: dict[str, Family] = {
    "elementwise": Family(lambda n: (random(n, 4) * 2 - 1.4,), elementwise()),
    "activations": Family(lambda n: (random(n, 4) * 4 - 3,), activations()),
    "integers": Family(
        lambda n: (integers(n, 4), integers(n, 4, low=1)), of_integers(), dynamic=(True, True)
    ),
    "reductions": Family(lambda n: (random(n, 4, 5),), reductions()),
    "normalizations": Family(lambda n: (random(n, 4, 5, 6),), normalizations()),
    "moves": Family(lambda n: (random(n, 4, 6),), moves()),
    "made": Family(lambda n: (random(n, 4),), made()),
    "indexed": Family(
        lambda n: (random(n, 4, 3), torch.arange(n).flip(0)), indexed(), dynamic=(True, True)
    ),
    "bags": Family(
        lambda n: (random(9, 4) - 0.7, torch.tensor([3, 3, 0, 8, 2])[:n],
                   torch.tensor([0, 1, 1, 2]), random(n)),
        bags(), dynamic=(False, True, False, True),
    ),
    "regions": Family(
        lambda n: (random(n, 2, 6, 7), torch.tensor([[0, 1, 2, 9, 7.5], [1, -3, 4, 30, 9],
                                                     [1, 3, 3, 3.5, 3.5]])),
        regions(), dynamic=(True, False),
    ),
    "ordered": Family(
        lambda n: ((random(n, 4, 5) * 3).round(),), ordered(), {"median": torch.median}
    ),
    "products": Family(lambda n: (random(n, 4, 5),), products()),
    "attentions": Family(
        lambda n: (random(n, 4, 5, 8), random(n, 4, 6, 8), mask(n, 1, 5, 6)), attentions(),
        dynamic=(True, True, True),
    ),
    "special": Family(lambda n: (random(n, 40) * 30 - 10.123,), special()),
    "running": Family(lambda n: ((random(n, 6, 5) * 3).round(),), running()),
    "matrices": Family(
        lambda n: (random(n, 4, 4) - 0.6, random(n, 4, 2)), matrices(),
        {"vectors": lambda x, b: [torch.linalg.solve(x, b[..., 0]), torch.linalg.solve(x, b[0])]},
        dynamic=(True, True),
    ),
    "windows": Family(lambda n: (random(n, 4, 8, 10) - 0.7,), windows()),
    "resized": Family(lambda n: (random(n, 2, 7, 8),), resized()),
    "sampled": Family(
        lambda n: (random(n, 2, 5, 4), random(n, 3, 6, 2) * 4 - 3), sampled(), dynamic=(True, True)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_at_every_size(name: str) -> None:
    family = FAMILIES[name]
    mod = from_exported_program(export(family.functions, family.inputs(3), family.dynamic))
    main = load(mod)
    for n in (3, 2, 5):
        compare(family.functions, main(*family.inputs(n)), family.inputs(n))


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_of_a_known_size(name: str) -> None:
    family, functions = FAMILIES[name], {**FAMILIES[name].functions, **FAMILIES[name].fixed}
    main = load(from_exported_program(export(functions, family.inputs(3))), "reference")
    compare(functions, main(*family.inputs(3)), family.inputs(3))


SPARSE = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 3.0]])
TWICE = torch.sparse_coo_tensor(
    torch.tensor([[0, 1, 1], [0, 2, 2]]), torch.ones(3), (3, 4), check_invariants=True
)


def test_sparse_tensors(exec_mode: str) -> None:
    # PyTorch exports none of these with dynamic sizes.
    constant = SPARSE.to_sparse()
    functions: Functions = {
        "constants": lambda x: [
            torch.sparse.mm(constant, x.t()[:3]), TWICE @ x.t(),
            torch.sparse.addmm(x.t(), constant, x.t()[:3], beta=0.5, alpha=2.0),
        ],
        "products": lambda x: [
            torch.sparse.mm(x.to_sparse(), SPARSE), x.to_sparse() @ SPARSE,
            x.to_sparse_csr() @ SPARSE,
            torch.sparse.addmm(torch.ones(3), x.to_sparse(), SPARSE, beta=0.5, alpha=2.0),
        ],
        "dense": lambda x: [
            x.to_sparse().to_dense(), (x.to_sparse() * x).to_dense(), x.to_sparse().t().to_dense(),
            x + x.to_sparse(), x.to_sparse().sum(), x.to_sparse().coalesce().to_dense(),
        ],
    }  # fmt: skip
    x = random(5, 4) * mask(5, 4)
    mod = from_exported_program(export(functions, (x,)))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    compare(functions, main(x), (x,))


SPECIAL = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-9, -1e-9, 3e38])


def test_numbers_that_are_none(exec_mode: str) -> None:
    functions = {
        **named(torch, "sign", "expm1", "log1p", "relu", "round", "isnan", "isfinite", "sqrt"),
        "clamp": lambda x: [x.clamp(-1, 1), F.hardtanh(x), F.relu6(x), F.softshrink(x)],
        "running": lambda x: [*x.cummax(0), *x.cummin(0)],
        "special": lambda x: [torch.erfc(x), torch.lgamma(x), torch.special.i0e(x.nan_to_num())],
        "extremes": lambda x: [x.max(), x.min(), x.argmax(), torch.fmax(x, x.flip(0))],
        "division": lambda x: [x / 0, x // 0.5, x % 0.5, torch.fmod(x, 0.5), x.reciprocal()],
        "comparisons": lambda x: [x == x, x > 0, x <= 0, x != 0, x.bool()],
        "order": lambda x: [*x.sort(), x.topk(3)[0]],
        "bucketize": lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0])),
        "activations": lambda x: [F.elu(x), F.threshold(x, 0, 2), F.leaky_relu(x)],
    }
    check(functions, SPECIAL)


class Ordered(torch.nn.Module):
    """Orders along two dimensions that are not known."""

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [
            *torch.sort(x, dim=1, descending=True, stable=True),
            *torch.kthvalue(x, 2, 1),
            *torch.kthvalue(x, 3, 0, keepdim=True),
            torch.topk(x, 3, dim=0).values,
            torch.topk(x, 0, dim=1).values,
            torch.median(x, 1).values,
            torch.median(x),
            torch.searchsorted(torch.tensor([0.0, 0.5]), x),
        ]


def test_places_of_elements_that_are_no_numbers() -> None:
    x = random(2, 3, 7, 8)
    x[0, 0, 2:5, 1:4] = x[1, 2, 6, 7] = x[1, 0, 0, 0] = float("nan")
    x[0, 1] = float("-inf")
    functions: Functions = {
        "windows": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        "dilated": lambda x: F.max_pool2d(x, 2, 1, 1, 3, return_indices=True),
        "adaptive": lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
        "all": lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True),
    }
    check(functions, x)


def test_orders_of_dynamic_length(exec_mode: str) -> None:
    dims = {0: torch.export.Dim("n", min=3), 1: torch.export.Dim("m", min=3)}
    program = torch.export.export(Ordered(), (random(7, 9),), dynamic_shapes=(dims,))
    mod = from_exported_program(program)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    for shape in ((7, 9), (5001, 4), (4, 5000)):
        x = random(*shape)
        for actual, expected in zip(main(x), Ordered()(x), strict=True):
            np.testing.assert_array_equal(actual.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats(dtype: torch.dtype) -> None:
    functions = {
        "ranges": lambda x: [torch.arange(4, dtype=dtype) * x, torch.arange(0, 1, 0.25).to(dtype)],
        "scaled": lambda x: [x * 2.5, x + 1, x.clamp(0.5, 1), torch.where(x > 0.5, x, 0)],
        "reduced": lambda x: [x.sum(1), x.amax(0), x.mean(), x.var(1), x.norm(dim=1)],
        "moved": lambda x: [
            F.pad(x, (1, 1)),
            x[:, [0, 2]],
            torch.cat([x, x.float()], 1),
            x.roll(1),
        ],
        "normalized": lambda x: [F.layer_norm(x, (4,)), x.softmax(1), F.rms_norm(x, (4,))],
    }
    inputs = (random(3, 4).to(dtype),)
    tolerance = {torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    main = load(from_exported_program(export(functions, inputs)), "reference")
    compare(functions, main(*inputs), inputs, tolerance)


def test_tensors_without_elements() -> None:
    functions = {
        "sums": lambda x: [x.sum(0), x.prod(0), x.any(0), x.all(0), x.sum(), x.cumsum(0)],
        "moved": lambda x: [
            torch.cat([x, x]),
            x.repeat(2, 1),
            F.pad(x, (1, 1)),
            x.flip(0),
            x[:, 1],
        ],
        "computed": lambda x: [x * 2, x.softmax(1), x @ torch.ones(4, 2), x.amax(1)],
    }
    check(functions, torch.ones(0, 4))


def test_numbers_of_elements() -> None:
    check({"item": lambda x: [x * x.max().item(), x + x.sum().long().item()]}, random(3, 4))


def test_resizing_of_sizes_that_are_not_known() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.interpolate(x, scale_factor=2.0) + 1

    dims = {2: torch.export.Dim("h", min=2), 3: torch.export.Dim("w", min=2)}
    program = torch.export.export(Model(), (random(1, 2, 5, 6),), dynamic_shapes=(dims,))
    main = load(from_exported_program(program))
    for shape in ((1, 2, 5, 6), (1, 2, 3, 7)):
        x = random(*shape)
        torch.testing.assert_close(torch.from_dlpack(main(x)[0]), Model()(x))


class Pyramid(nn.Module):
    """Resizes images to the size of others."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        size = y.shape[-2:]
        return [
            F.interpolate(x, size=size, mode="bilinear"),
            F.interpolate(x, size=size, mode="bilinear", align_corners=True),
            F.interpolate(x, size=size),
            F.interpolate(x, size=size, mode="nearest-exact"),
            F.interpolate(x[:, :, 0], size=y.shape[-1], mode="linear"),
            F.interpolate(x, size=(3, y.shape[-1]), mode="bilinear"),
        ]


def test_resizing_to_sizes_that_are_not_known(exec_mode: str) -> None:
    h, w, other_h, other_w = (torch.export.Dim(name, min=2) for name in ("h", "w", "oh", "ow"))
    program = torch.export.export(
        Pyramid(),
        (random(1, 2, 5, 6), random(1, 2, 9, 4)),
        dynamic_shapes=({2: h, 3: w}, {2: other_h, 3: other_w}),
    )
    mod = from_exported_program(program)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    for first, second in (((5, 6), (9, 4)), ((7, 3), (14, 9)), ((8, 13), (3, 2)), ((4, 4), (4, 4))):
        x, y = random(1, 2, *first), random(1, 2, *second)
        for actual, expected in zip(main(x, y), Pyramid()(x, y), strict=True):
            torch.testing.assert_close(torch.from_dlpack(actual), expected)


def test_bidirectional_lstm() -> None:
    torch.manual_seed(0)
    model = nn.LSTM(3, 4, bidirectional=True, batch_first=True).eval()
    x = random(2, 5, 3)
    got = load(from_exported_program(torch.export.export(model, (x,))))(x)
    with torch.no_grad():
        wanted = model(x)
    for ours, theirs in zip(got, flat(wanted), strict=True):
        torch.testing.assert_close(torch.from_dlpack(ours), theirs, rtol=1e-5, atol=1e-5)


def test_programs_without_decompositions() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return F.relu_(y.view(-1) - 1) + y.view(-1).add_(1)

    program = export({"f": function}, (random(3, 4),))
    mod = from_exported_program(program, run_ep_decomposition=False)
    compare({"f": function}, load(mod, "reference")(random(3, 4)), (random(3, 4),))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.linalg.eigvalsh(x), r"aten\..*custom_convert_map"),
        (lambda x: x.int() ** -1, r"powers of integers .*\(File"),
        (lambda x: torch.sparse.softmax(x.to_sparse(), 1), r"aten\._sparse_softmax"),
        (
            lambda x: aten._embedding_bag(x, torch.arange(3), torch.tensor([0, 1]), mode=1)[2],
            r"result 2, which is for gradients .*\(File",
        ),
    ],
    ids=["eigenvalues", "powers", "sparse", "bags"],
)
def test_error_operators_that_are_not_supported(function: Any, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        from_exported_program(export({"f": function}, (random(4, 4),)))
