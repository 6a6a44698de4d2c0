# ruff: noqa: D102 (what the methods of modules do is what PyTorch says)
"""The cases in PyTorch, and what is made of them for the peers; needs ``torch``."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import cases
import numpy as np
import torch
from cases import CASES, Case
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)


class Matmul(nn.Module):
    """A product of two arguments."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


class Add(nn.Module):
    """One operator."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b


class Four(nn.Module):
    """Four operators."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.relu(a + b) * a)


class Chain(nn.Module):
    """Two normalizations of rows, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.randn(1024)) for _ in range(2))
        self.norm = nn.LayerNorm(1024)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(torch.softmax(x * self.scale + self.shift, dim=-1))


class Layer(nn.Module):
    """A transformer layer that normalizes first."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def project(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Return queries, keys and values, by head."""
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts]

    def finish(self, x: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        """Attend, and run the feed-forward part."""
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.finish(x, *self.project(x))


class Decoder(nn.Module):
    """One step of a decoder: a new token, and the keys and values of those before it."""

    def __init__(self, width: int, heads: int, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(width, heads, 4 * width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def step(self, x: torch.Tensor, caches: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Return the logits and the longer caches."""
        longer = []
        for i, layer in enumerate(self.layers):
            q, k, v = layer.project(x)
            k, v = (torch.cat([caches[2 * i + j], new], 2) for j, new in enumerate((k, v)))
            x = layer.finish(x, q, k, v)
            longer += [k, v]
        return (self.head(self.norm(x)), *longer)

    # torch.export wants each input by name.
    def forward(self, x, k0, v0, k1, v1, k2, v2, k3, v3):  # noqa: ANN001, ANN201
        return self.step(x, [k0, v0, k1, v1, k2, v2, k3, v3])


class InplaceDecoder(Decoder):
    """The same, where the new rows are written into the caches: these have a place for them."""

    def step(self, x: torch.Tensor, caches: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Return the logits; caches are (batch, position, head, feature)."""
        for i, layer in enumerate(self.layers):
            parts = layer.qkv(layer.norm1(x)).chunk(3, dim=-1)
            q, k, v = (part.unflatten(-1, (layer.heads, -1)) for part in parts)
            keys, values = caches[2 * i : 2 * i + 2]
            keys[:, -1:] = k
            values[:, -1:] = v
            x = layer.finish(x, *(tensor.transpose(1, 2) for tensor in (q, keys, values)))
        return (self.head(self.norm(x)),)


class Block(nn.Module):
    """A residual block."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.short: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            conv = nn.Conv2d(before, after, 1, stride, bias=False)
            self.short = nn.Sequential(conv, nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


class ResNet18(nn.Module):
    """ResNet-18."""

    def __init__(self) -> None:
        super().__init__()
        conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.stem = nn.Sequential(conv, nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        widths, blocks = [64, 64, 128, 256, 512], []
        for i, (before, after) in enumerate(itertools.pairwise(widths)):
            blocks += [Block(before, after, 1 if i == 0 else 2), Block(after, after, 1)]
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(512, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def _normalized(
    before: int, after: int, window: int, stride: int = 1, groups: int = 1
) -> nn.Module:
    padding = (window - 1) // 2
    conv = nn.Conv2d(before, after, window, stride, padding, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(after))


class Bottleneck(nn.Module):
    """A block of MobileNetV2: up, depthwise, down."""

    def __init__(self, before: int, after: int, stride: int, factor: int) -> None:
        super().__init__()
        width = before * factor
        up = [_normalized(before, width, 1), nn.ReLU6()] if factor != 1 else []
        middle = [_normalized(width, width, 3, stride, width), nn.ReLU6()]
        self.steps = nn.Sequential(*up, *middle, _normalized(width, after, 1))
        self.is_residual = stride == 1 and before == after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.steps(x) if self.is_residual else self.steps(x)


class MobileNetV2(nn.Module):
    """MobileNetV2."""

    def __init__(self) -> None:
        super().__init__()
        layers, width = [_normalized(3, 32, 3, 2), nn.ReLU6()], 32
        for factor, after, count, stride in (
            (1, 16, 1, 1),
            (6, 24, 2, 2),
            (6, 32, 3, 2),
            (6, 64, 4, 2),
            (6, 96, 3, 1),
            (6, 160, 3, 2),
            (6, 320, 1, 1),
        ):
            for i in range(count):
                layers.append(Bottleneck(width, after, stride if i == 0 else 1, factor))
                width = after
        self.layers = nn.Sequential(*layers, _normalized(width, 1280, 1), nn.ReLU6())
        self.head = nn.Linear(1280, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x).mean((2, 3)))


class AudioStem(nn.Module):
    """The convolutions that an encoder of speech begins with, and one that is depthwise."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(80, 384, 3, 1, 1), nn.Conv1d(384, 384, 3, 2, 1)
        self.third = nn.Conv1d(384, 384, 31, 1, 15, groups=384)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.gelu(self.second(F.gelu(self.first(x))))
        return (y + F.silu(self.third(y))).permute(0, 2, 1)


def make(case: Case) -> nn.Module:
    """Return the model of a case, always with the same parameters."""
    torch.manual_seed(0)
    makers = {
        "mlp": lambda: nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
        ),
        "transformer": lambda: Layer(cases.WIDTH, cases.HEADS, cases.HIDDEN),
        "decode": lambda: Decoder(
            cases.DECODER_WIDTH, cases.DECODER_HEADS, cases.DECODER_LAYERS, cases.VOCABULARY
        ),
        "decode_inplace": lambda: InplaceDecoder(
            cases.DECODER_WIDTH, cases.DECODER_HEADS, cases.DECODER_LAYERS, cases.VOCABULARY
        ),
        "resnet18": ResNet18,
        "mobilenetv2": MobileNetV2,
        "audio": AudioStem,
        "chain": Chain,
        "sgemm": Matmul,
        "add": Add,
        "four": Four,
    }
    if case.name.startswith("linear_"):
        k, n = map(int, case.name.removeprefix("linear_").split("x"))
        model: nn.Module = nn.Linear(k, n, bias=False)
    else:
        model = makers[case.name]()
    return model.eval().requires_grad_(False)


def tensors(arrays: list[np.ndarray]) -> tuple[torch.Tensor, ...]:
    """Return arrays as tensors."""
    return tuple(map(torch.from_numpy, arrays))


def dynamic_shapes(case: Case) -> Any:
    """Return the dynamic dimensions as ``torch.export`` wants them; None where there are none."""
    if not case.dynamic:
        return None
    # Each dimension of a product is dynamic on its own; elsewhere all of them are one.
    names = dict.fromkeys(case.dynamic, "n")
    if case.name == "sgemm":
        names = {(0, 0): "m", (0, 1): "k", (1, 0): "k", (1, 1): "n"}
    dims = {name: torch.export.Dim(name, min=case.least, max=1 << 16) for name in names.values()}
    count = len(case.shapes(case.exported))
    shapes = [
        {axis: dims[names[i, axis]] for i, axis in case.dynamic if i == argument} or None
        for argument in range(count)
    ]
    return tuple(shapes)


def export(case: Case) -> torch.export.ExportedProgram:
    """Return the program of a case."""
    with torch.no_grad():
        arguments = tensors(case.inputs(case.exported))
        return torch.export.export(make(case), arguments, dynamic_shapes=dynamic_shapes(case))


def prepare(name: str, folder: Path) -> None:
    """Write what other peers read of a case: ONNX, parameters, and the results at each size."""
    case, model = CASES[name], make(CASES[name])
    folder.mkdir(parents=True, exist_ok=True)
    for size in case.sizes:
        with torch.no_grad():
            results = model(*tensors(case.inputs(size)))
        results = results if isinstance(results, tuple) else (results,)
        np.savez(folder / f"{name}-{size}.npz", *[result.numpy() for result in results])
    parameters = {key: value.numpy() for key, value in model.state_dict().items()}
    np.savez(folder / f"{name}-parameters.npz", **parameters)
    if case.is_inplace:
        return  # ONNX has no tensors that change
    arguments = tensors(case.inputs(case.exported))
    program = torch.onnx.export(
        model, arguments, dynamo=True, dynamic_shapes=dynamic_shapes(case), verbose=False
    )
    assert program is not None
    program.save(str(folder / f"{name}.onnx"), external_data=False)
