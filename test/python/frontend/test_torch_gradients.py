# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of training steps, and the operators of ATen that compute gradients in them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch.export.experimental import _export_forward_backward
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)

aten = torch.ops.aten


def random(*shape: int) -> torch.Tensor:
    numbers = np.random.default_rng(sum(shape)).random(shape)
    return torch.tensor(numbers, dtype=torch.float32)


class Loss(nn.Module):
    """The loss of a model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        result = self.model(x)
        result = result[0] if isinstance(result, tuple) else result
        return F.cross_entropy(result.flatten(1), wanted)


BAG_OFFSETS = torch.tensor([0, 3, 3])


class Bag(nn.Module):
    """Bags of embeddings, which have weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(random(9, 4))
        self.factors = nn.Parameter(random(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.embedding_bag(
            x, self.weight, BAG_OFFSETS, mode="sum", per_sample_weights=self.factors, padding_idx=4
        )


class Attention(nn.Module):
    """Attention in which the first query sees no key."""

    def __init__(self, mask: torch.Tensor | None) -> None:
        super().__init__()
        self.projection = nn.Linear(8, 24)
        self.mask = mask

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.projection(x).unflatten(2, (2, 12)).transpose(1, 2).chunk(3, 3)
        is_causal = self.mask is None
        return F.scaled_dot_product_attention(*parts, self.mask, is_causal=is_causal)


IMAGES = random(3, 2, 8, 8)
WORDS = torch.tensor([[1, 2, 4], [4, 0, 2], [8, 1, 1]])
MODELS: dict[str, tuple[nn.Module, torch.Tensor]] = {
    "convolutions": (
        nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(), nn.GroupNorm(2, 4),
            nn.Conv2d(4, 4, 3, dilation=2, padding=2, groups=2), nn.AdaptiveAvgPool2d(3),
        ),
        IMAGES,
    ),
    "transposed": (
        nn.Sequential(
            nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1), nn.SiLU(),
            nn.ConvTranspose2d(4, 2, 2, groups=2), nn.AvgPool2d(3, 2, 1),
        ),
        IMAGES,
    ),
    "lines": (
        nn.Sequential(nn.Conv1d(2, 3, 3), nn.MaxPool1d(2), nn.ConvTranspose1d(3, 2, 3),
                      nn.AvgPool1d(2), nn.AdaptiveMaxPool1d(2)),
        IMAGES[:, :, 0],
    ),
    "volumes": (
        nn.Sequential(nn.Conv3d(2, 3, 2), nn.MaxPool3d(2, 1), nn.AvgPool3d(2, 1),
                      nn.AdaptiveAvgPool3d(2)),
        random(3, 2, 5, 6, 4),
    ),
    "pools": (
        nn.Sequential(nn.Conv2d(2, 3, 2), nn.MaxPool2d(3, 2, 1, ceil_mode=True),
                      nn.AdaptiveMaxPool2d(2)),
        IMAGES,
    ),
    "normalized": (
        nn.Sequential(nn.Linear(8, 5), nn.LayerNorm(5), nn.GELU(), nn.Linear(5, 4)), IMAGES[:, 0],
    ),
    "encoder": (nn.TransformerEncoderLayer(8, 2, 6, 0.0, batch_first=True), IMAGES[:, 0, :5]),
    "causal": (Attention(None), IMAGES[:, 0, :5]),
    "masked": (Attention(torch.arange(5).unsqueeze(1) > torch.arange(5)), IMAGES[:, 0, :5]),
    "embedding": (nn.Embedding(9, 4, padding_idx=4), WORDS),
    "means_of_bags": (nn.EmbeddingBag(9, 4, padding_idx=4), WORDS),
    "weighted_bags": (Bag(), WORDS.flatten()[:6]),
    "recurrent": (nn.LSTM(8, 4, batch_first=True), IMAGES[:, 0]),
}  # fmt: skip


WANTED = torch.tensor([2, 0, 1])


@functools.cache
def trained_of(name: str) -> tuple[Loss, Any, Any]:
    """Return the loss of a model, its exported program, and the module that both modes compile."""
    model, x = MODELS[name]
    loss = Loss(model)
    program = _export_forward_backward(torch.export.export(loss, (x, WANTED)))
    return loss, program, from_exported_program(program)


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients(name: str, exec_mode: str) -> None:
    loss, program, mod = trained_of(name)
    x = MODELS[name][1]
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    first, *gradients = (torch.from_dlpack(one) for one in main(x, WANTED))

    trained = copy.deepcopy(loss)
    value = trained(x, WANTED)
    value.backward()
    torch.testing.assert_close(first, value.detach(), rtol=1e-5, atol=1e-6)
    by_name = dict(trained.named_parameters())
    targets = [one.target for one in program.graph_signature.output_specs][1:]
    assert len(gradients) == len(targets) == len(by_name)
    for target, gradient in zip(targets, gradients, strict=True):
        torch.testing.assert_close(gradient, by_name[target].grad, rtol=1e-4, atol=1e-5)


class Model(nn.Module):
    """The results of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def convolution(
    *, transposed: bool = False, extra: int = 0, wanted: tuple[bool, ...] = (True, True, True)
) -> Callable[..., Any]:
    def function(g: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Any:
        found = aten.convolution_backward(
            g, x, weight, [g.shape[1]], [2, 2], [1, 1], [1, 1], transposed, [extra] * 2, 1, wanted
        )
        return [one for one in found if one is not None]

    return function


def average(*arguments: Any) -> Callable[..., Any]:
    return lambda g, x: aten.avg_pool2d_backward(g, x, [3, 3], [2, 2], [1, 1], *arguments)


def largest(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    places = F.max_pool2d(x, 3, 2, 1, return_indices=True)[1]
    return aten.max_pool2d_with_indices_backward(
        g, x, [3, 3], [2, 2], [1, 1], [1, 1], False, places
    )


def layer(g: torch.Tensor, x: torch.Tensor) -> Any:
    mean, scale = x.mean(3, True), x.std(3, keepdim=True).reciprocal()
    weight = torch.arange(1.0, 9.0)
    return aten.native_layer_norm_backward(g, x, [8], mean, scale, weight, weight, [True] * 3)


def group(g: torch.Tensor, x: torch.Tensor) -> Any:
    mean, scale = x.mean((2, 3)), x.std((2, 3)).reciprocal()
    weight = torch.tensor([1.0, 2.0])
    return aten.native_group_norm_backward(
        g, x, mean, scale, weight, x.shape[0], 2, 64, 2, [True] * 3
    )


SMALL = random(3, 2, 4, 4)
OPERATORS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "convolution": (convolution(), (random(3, 5, 4, 4), IMAGES, random(5, 2, 3, 3))),
    "of_weight": (
        convolution(wanted=(False, True, False)), (random(3, 5, 4, 4), IMAGES, random(5, 2, 3, 3)),
    ),
    "transposed": (
        convolution(transposed=True), (random(3, 5, 15, 15), IMAGES, random(2, 5, 3, 3)),
    ),
    "transposed_extra": (
        convolution(transposed=True, extra=1), (random(3, 5, 16, 16), IMAGES, random(2, 5, 3, 3)),
    ),
    "average": (average(False, True, None), (SMALL, IMAGES)),
    "average_in_bounds": (average(False, False, None), (SMALL, IMAGES)),
    "average_ceil": (average(True, False, None), (random(3, 2, 5, 5), IMAGES)),
    "average_divisor": (average(False, False, 5), (SMALL, IMAGES)),
    "average_of_one": (
        lambda g, x: average(False, False, None)(g[0], x[0]).unsqueeze(0), (SMALL, IMAGES),
    ),
    "largest": (largest, (SMALL, IMAGES)),
    "adaptive": (aten._adaptive_avg_pool2d_backward, (random(3, 2, 3, 5), IMAGES)),
    "layer": (layer, (IMAGES.exp(), IMAGES)),
    "group": (group, (IMAGES.exp(), IMAGES)),
    "embedding": (
        lambda g, x: aten.embedding_dense_backward(
            g, (x[:, 0, 0, 0] * 9).long(), 9, 4, False
        ), (random(3, 4), IMAGES),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    function, inputs = OPERATORS[name]
    n = torch.export.Dim("n", min=2)
    # All but weights have the batch first.
    shapes = {"inputs": tuple({0: n} if len(one) == 3 else None for one in inputs)}
    program = torch.export.export(Model(function), inputs, dynamic_shapes=shapes)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(from_exported_program(program)))["main"]
    for count in (3, 2):
        given = [one[:count] if len(one) == 3 else one for one in inputs]
        wanted = function(*given)
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        for ours, theirs in zip(main(*given), wanted, strict=True):
            torch.testing.assert_close(torch.from_dlpack(ours), theirs, rtol=1e-4, atol=1e-5)


def test_error_gradients_that_are_not_supported() -> None:
    def ceiled(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return aten.avg_pool2d_backward(g, x, [3, 3], [2, 2], [1, 1], True, True, 5)

    program = torch.export.export(Model(ceiled), (random(3, 2, 5, 5), IMAGES))
    with pytest.raises(NotImplementedError, match=r"divisor_override with ceil_mode .*\(File"):
        from_exported_program(program)
    loss = Loss(nn.EmbeddingBag(9, 4, mode="max"))
    program = torch.export.export(loss, (WORDS, WANTED))
    with pytest.raises(NotImplementedError, match=r"gradient of the largest elements of bags"):
        from_exported_program(_export_forward_backward(program))
