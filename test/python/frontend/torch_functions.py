# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch that are programs, and what they give compared with what PyTorch gives.

The functions of a family have the same inputs and are one program, so that they are compiled once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch import nn

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


def check_every_size(family: Family) -> None:
    mod = from_exported_program(export(family.functions, family.inputs(3), family.dynamic))
    main = load(mod)
    for n in (3, 2, 5):
        compare(family.functions, main(*family.inputs(n)), family.inputs(n))


def check_known_size(family: Family) -> None:
    functions = {**family.functions, **family.fixed}
    main = load(from_exported_program(export(functions, family.inputs(3))), "reference")
    compare(functions, main(*family.inputs(3)), family.inputs(3))
