# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An architecture: how to make it with random weights, its inputs, and their dynamic sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Input:
    """An argument: its shape, with names for dynamic dimensions.

    `high` makes it int64, of indices in [1, `high`), or of ones where `high` is 1; floats are
    normally distributed. `factors` multiplies a dynamic dimension by name.
    """

    shape: Shape
    high: int | None = None

    def make(self, sizes: Mapping[str, int]) -> torch.Tensor:
        """Return a tensor at these sizes."""
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in self.shape]
        if self.high is None:
            return torch.randn(shape)
        if self.high == 1:
            return torch.ones(shape, dtype=torch.int64)
        return torch.randint(1, self.high, shape)

    def dynamic(self, dims: Mapping[str, Any]) -> dict[int, Any] | None:
        """Return its dynamic dimensions, as ``torch.export`` wants them."""
        return {i: dims[dim] for i, dim in enumerate(self.shape) if dim in dims} or None


def image(size: int, channels: int = 3) -> Input:
    """Return a batch of square images."""
    return Input(("batch", channels, size, size))


def tokens(vocabulary: int = 90, length: int | str = "length") -> Input:
    """Return a batch of sentences of indices."""
    return Input(("batch", length), vocabulary)


@dataclass(frozen=True)
class Case:
    """A row of a table of architectures."""

    name: str
    family: str
    build: Callable[[], nn.Module]
    inputs: tuple[Input, ...]
    sizes: Mapping[str, tuple[int, int, int]] = field(
        default_factory=lambda: {"batch": (2, 3, 5), "length": (8, 6, 13)}
    )
    """Of each dynamic dimension: the size to export with, and two to run at."""

    def dims(self) -> list[str]:
        """Return the names of dynamic dimensions, in order."""
        names = (dim for each in self.inputs for dim in each.shape if isinstance(dim, str))
        return list(dict.fromkeys(names))

    def arguments(self, place: int) -> tuple[torch.Tensor, ...]:
        """Return arguments at one of the three sizes."""
        torch.manual_seed(place)
        sizes = {name: self.sizes[name][place] for name in self.dims()}
        return tuple(each.make(sizes) for each in self.inputs)

    def model(self) -> nn.Module:
        """Return the model with random weights, the same each time."""
        torch.manual_seed(0)
        model = self.build().eval().requires_grad_(False)
        randomize(model)
        return model


def randomize(model: nn.Module) -> None:
    """Replace parameters and statistics that are constants by random numbers.

    Initial weights of 0 and 1 hide mistakes: a residual branch that is multiplied by 0 may
    compute anything.
    """
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        is_statistic = name.endswith(("running_mean", "running_var"))
        if not tensor.is_floating_point() or not (is_statistic or isinstance(tensor, nn.Parameter)):
            continue
        if tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all()):
            is_shift = name.endswith(("bias", "running_mean", "beta"))
            low, high = (-0.2, 0.2) if is_shift else (0.5, 1.5)
            tensor.uniform_(low, high)


class Outputs(nn.Module):
    """A model that is called with names, and whose tensors are a tuple."""

    def __init__(self, model: nn.Module, *names: str, **constants: Any) -> None:
        super().__init__()
        self.model, self.names, self.constants = model, names, constants

    def forward(self, *arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the tensors of the result, in order."""
        if not self.names:
            return tuple(_tensors(self.model(*arguments, **self.constants)))
        named = dict(zip(self.names, arguments, strict=True))
        return tuple(_tensors(self.model(**named, **self.constants)))


def _tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [tensor for each in result for tensor in _tensors(each)]
    return []
