# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of many architectures give the results of PyTorch, at each batch size and length.

What libraries of models have is in benchmarks/architectures; here is what is special about each
family, in PyTorch alone.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)

WIDTH, HEADS, WORDS = 16, 4, 50


class Mobile(nn.Module):
    """Depthwise convolutions, gates of channels, channels that are shuffled."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Hardswish())
        self.depth = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8))
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.ReLU(), nn.Conv2d(2, 8, 1)
        )
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        y = F.relu6(self.depth(x))
        y = torch.cat([x, y * F.hardsigmoid(self.gate(y))], 1)
        y = y.unflatten(1, (2, 8)).transpose(1, 2).flatten(1, 2)
        return self.head(F.max_pool2d(y, 3, 2, 1, ceil_mode=True).mean((2, 3)))


class UNet(nn.Module):
    """Features of several scales, resized and joined."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 6, 3, 2, 1), nn.Conv2d(6, 8, 3, 2, 1)
        self.up, self.side = nn.ConvTranspose2d(8, 6, 2, 2), nn.Conv2d(12, 4, 3, padding=1)
        self.norm = nn.GroupNorm(2, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fine = F.silu(self.norm(self.down1(x)))
        coarse = F.silu(self.down2(fine))
        pooled = F.interpolate(coarse.mean((2, 3), keepdim=True), size=fine.shape[-2:])
        joined = torch.cat([self.up(coarse), fine + pooled.mean(1, keepdim=True)], 1)
        return F.interpolate(self.side(joined), size=x.shape[-2:], mode="bilinear")


class Windows(nn.Module):
    """Attention in windows that are shifted, with a bias for each distance."""

    def __init__(self, window: int = 4, shift: int = 2) -> None:
        super().__init__()
        self.window, self.shift = window, shift
        self.embed = nn.Conv2d(3, WIDTH, 2, 2)
        self.norm, self.qkv = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, HEADS))
        at = torch.stack(torch.meshgrid(*[torch.arange(window)] * 2, indexing="ij")).flatten(1)
        far = (at[:, :, None] - at[:, None]) + window - 1
        self.register_buffer("places", far[0] * (2 * window - 1) + far[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x).permute(0, 2, 3, 1)
        batch, rows, columns, width = x.shape
        y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
        y = y.view(batch, rows // self.window, self.window, columns // self.window, self.window, -1)
        y = y.transpose(2, 3).reshape(-1, self.window**2, width)
        q, k, v = self.qkv(y).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // HEADS)
        bias = self.bias[self.places.view(-1)].view(*self.places.shape, -1).permute(2, 0, 1)
        y = (torch.softmax(scores + bias, -1) @ v).transpose(1, 2).flatten(2)
        y = y.view(batch, rows // self.window, columns // self.window, self.window, self.window, -1)
        y = y.transpose(2, 3).reshape(batch, rows, columns, width)
        return x + torch.roll(y, (self.shift, self.shift), (1, 2))


class Rotary(nn.Module):
    """A decoder: positions are rotations, heads share keys, tokens see those before them."""

    def __init__(self, kept: int = 2) -> None:
        super().__init__()
        self.kept, self.size = kept, WIDTH // HEADS
        self.words, self.norm = nn.Embedding(WORDS, WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.kv = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * kept * self.size)
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(32, WIDTH)
        self.register_buffer("speed", 100.0 ** -(torch.arange(0, self.size, 2) / self.size))

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        angles = torch.outer(torch.arange(x.shape[2]).float(), self.speed).repeat(1, 2)
        left, right = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat([-right, left], -1) * angles.sin()

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x, length = self.words(ids), ids.shape[1]
        y = self.norm(x)
        q = self.q(y).unflatten(-1, (HEADS, self.size)).transpose(1, 2)
        k, v = self.kv(y).unflatten(-1, (2, self.kept, self.size)).permute(2, 0, 3, 1, 4)
        k, v = (one.repeat_interleave(HEADS // self.kept, dim=1) for one in (k, v))
        seen = torch.ones(length, length, dtype=torch.bool).tril() & mask[:, None, None].bool()
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, attn_mask=seen)
        x = x + y.transpose(1, 2).flatten(2)
        gate, value = self.up(self.norm(x)).chunk(2, dim=-1)
        return (x + self.down(F.silu(gate) * value)) @ self.words.weight.T


class Buckets(nn.Module):
    """An encoder and a decoder: distances have a bias each, far ones share it."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.bias = nn.Embedding(WORDS, WIDTH), nn.Embedding(8, HEADS)
        self.parts = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(6))

    def distances(self, length: int) -> torch.Tensor:
        places = torch.arange(length)
        far = places[None] - places[:, None]
        size = far.abs()
        wide = 2 + (torch.log(size.clamp(min=1).float() / 2) / math.log(8) * 2).long().clamp(max=1)
        return self.bias((far > 0).long() * 4 + torch.where(size < 2, size, wide)).permute(2, 0, 1)

    def attend(self, x: torch.Tensor, y: torch.Tensor, at: int, bias: Any) -> torch.Tensor:
        q, k, v = (
            part(one).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part, one in zip(self.parts[at : at + 3], (x, y, y), strict=True)
        )
        return x + (torch.softmax(q @ k.mT + bias, -1) @ v).transpose(1, 2).flatten(2)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        x, y = self.words(source), self.words(target)
        x = self.attend(x, x, 0, self.distances(source.shape[1]))
        return self.attend(y, x, 3, 0.0)


class LinearBias(nn.Module):
    """Attention with a bias that is cut out of a table for the longest sequence."""

    def __init__(self, longest: int = 40) -> None:
        super().__init__()
        self.words, self.longest = nn.Embedding(WORDS, WIDTH), longest
        slopes = 2.0 ** -torch.arange(1, HEADS + 1)
        self.register_buffer("bias", slopes.view(-1, 1, 1) * torch.arange(1 - longest, 1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        length = ids.shape[1]
        rows, columns = max(0, 1 - length), max(0, self.longest - length)
        scores = x @ x.mT + self.bias[:, rows:, columns:]
        return torch.softmax(scores, -1) @ x


class Sinusoids(nn.Module):
    """Positions that are counted by floats, down and in steps."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids.shape[1], 0, -1.0)
        speeds = 0.1 ** (torch.arange(0, WIDTH, 2.0, dtype=torch.int64) / WIDTH)
        angles = torch.outer(places, speeds)
        return self.words(ids) + torch.cat([angles.sin(), angles.cos()], -1)


class StateSpace(nn.Module):
    """A selective scan: each step has a decay of its own."""

    def __init__(self, states: int = 4) -> None:
        super().__init__()
        self.mix, self.step = nn.Linear(WIDTH, 2 * states + WIDTH), nn.Linear(WIDTH, WIDTH)
        self.conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=2, groups=WIDTH)
        self.rates = nn.Parameter(torch.rand(WIDTH, states))
        self.states = states

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.silu(self.conv(x.mT)[..., : x.shape[1]]).mT
        b, c, gate = self.mix(x).split([self.states, self.states, WIDTH], -1)
        step = F.softplus(self.step(x)).unsqueeze(-1)
        decay, new = torch.exp(-step * self.rates), step * b.unsqueeze(2) * x.unsqueeze(-1)
        state, outputs = torch.zeros_like(new[:, 0]), []
        for i in range(x.shape[1]):
            state = decay[:, i] * state + new[:, i]
            outputs.append((state @ c[:, i].unsqueeze(-1)).squeeze(-1))
        return torch.stack(outputs, 1) * F.silu(gate)


class Chunks(nn.Module):
    """Attention within chunks of a sequence, which is padded to a whole number of them."""

    def __init__(self, size: int = 4) -> None:
        super().__init__()
        self.size, self.mix = size, nn.Linear(WIDTH, 2 * WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        padded = F.pad(x, (0, 0, 0, (self.size - length % self.size) % self.size))
        q, k = self.mix(padded).view(x.shape[0], -1, self.size, 2 * WIDTH).chunk(2, dim=-1)
        y = torch.softmax(torch.einsum("bctd,bcsd->bcts", q, k), -1) @ k
        totals = y.sum(2).cumsum(1)
        return (y + totals.unsqueeze(2)).flatten(1, 2)[:, :length]


class Experts(nn.Module):
    """Two experts of four for each token."""

    def __init__(self, count: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, count)
        self.up = nn.Parameter(torch.randn(count, WIDTH, 24) / 4)
        self.down = nn.Parameter(torch.randn(count, 24, WIDTH) / 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.flatten(0, 1)
        shares, chosen = torch.softmax(self.router(rows), -1).topk(2, -1)
        shares = shares / shares.sum(-1, keepdim=True)
        which = chosen.flatten()
        y = rows.repeat_interleave(2, dim=0).unsqueeze(1)
        y = torch.bmm(F.gelu(torch.bmm(y, self.up[which])), self.down[which]).squeeze(1)
        return (y * shares.view(-1, 1)).view(-1, 2, WIDTH).sum(1).view_as(x)


class Speech(nn.Module):
    """Convolutions along samples, and one for positions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, WIDTH, 10, 5, bias=False)
        self.norm, self.second = nn.GroupNorm(WIDTH, WIDTH), nn.Conv1d(WIDTH, WIDTH, 3, 2)
        self.place = nn.utils.parametrizations.weight_norm(
            nn.Conv1d(WIDTH, WIDTH, 8, padding=4, groups=4), dim=2
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.gelu(self.second(F.gelu(self.norm(self.first(x.unsqueeze(1))))))
        return (x + F.gelu(self.place(x)[..., :-1])).mT


def floats(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(0, WORDS, shape)


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, its inputs at a batch size and a length, and which dimensions are the length."""

    model: type[nn.Module]
    inputs: Callable[[int, int], tuple[torch.Tensor, ...]]
    lengths: tuple[int, ...] = ()


def images(batch: int, _: int) -> tuple[torch.Tensor, ...]:
    return (floats(batch, 3, 16, 16),)


CASES = [
    Case(Mobile, images),
    Case(UNet, images),
    Case(Windows, images),
    Case(Rotary, lambda b, n: (ids(b, n), (torch.arange(n) < n - 1).expand(b, n).long()), (1, 1)),
    Case(Buckets, lambda b, n: (ids(b, n), ids(b, 3)), (1,)),
    Case(LinearBias, lambda b, n: (ids(b, n),), (1,)),
    Case(Sinusoids, lambda b, n: (ids(b, n),), (1,)),
    Case(StateSpace, lambda b, _: (floats(b, 4, WIDTH),)),
    Case(Chunks, lambda b, n: (floats(b, n, WIDTH),), (1,)),
    Case(Experts, lambda b, n: (floats(b, n, WIDTH),), (1,)),
    Case(Speech, lambda b, n: (floats(b, 40 * n),), (1,)),
]


def export(case: Case, model: nn.Module) -> Any:
    """Return a model as a module for each batch size and length."""
    arguments = case.inputs(2, 8)
    dims: list[dict[int, Any]] = [{0: torch.export.Dim.DYNAMIC} for _ in arguments]
    for dim, axis in zip(dims, case.lengths, strict=False):
        dim[axis] = torch.export.Dim.DYNAMIC
    program = torch.export.export(model, arguments, dynamic_shapes=tuple(dims))
    return from_exported_program(program, unwrap_unit_return_tuple=True)


def load(mod: Any, mode: str) -> Any:
    return relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=mode))["main"]


@functools.cache
def model_of(case: Case) -> tuple[nn.Module, Any]:
    """Return a model of random numbers and its module, which both modes compile."""
    torch.manual_seed(0)
    model = case.model().eval()
    for buffer in model.buffers():
        if buffer.is_floating_point() and buffer.ndim == 1:
            buffer.uniform_(0.5, 1.5)  # statistics of 0 and 1 hide mistakes
    return model, export(case, model)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model.__name__)
def test_architectures_at_every_size(case: Case, exec_mode: str) -> None:
    model, mod = model_of(case)
    main = load(mod, exec_mode)
    torch.manual_seed(1)
    for batch, length in ((3, 5), (2, 13)):
        arguments = case.inputs(batch, length)
        with torch.no_grad():
            wanted = model(*arguments)
        got = torch.from_dlpack(main(*arguments))
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_error_sequences_that_are_too_long(exec_mode: str) -> None:
    case = next(case for case in CASES if case.model is LinearBias)
    main = load(export(case, LinearBias(longest=9).eval()), exec_mode)
    with pytest.raises(ValueError, match=r"match_cast: expected .* dimension 2 is 9"):
        main(*case.inputs(2, 10))
