# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow of PyTorch: branches, loops, and steps over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from relax_mlir.frontend import torch as frontend
from torch import nn
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as map_rows
from torch.export import Dim

ROWS = Dim("rows", min=1, max=4096)


class Model(nn.Module):
    """A function with a parameter, as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.function = function
        self.weight = nn.Parameter(torch.rand(4) + 0.5)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self.weight, *inputs)


def check(function: Any, inputs: list[tuple[torch.Tensor, ...]], mode: str, **options: Any) -> Any:
    """Compare results, for the first inputs as the example and rows that differ."""
    model = Model(function).eval()
    dims = {"inputs": tuple({0: ROWS} if x.dim() == 2 else None for x in inputs[0])}
    compiled = frontend.compile(model, inputs[0], dynamic=dims, exec_mode=mode, **options)
    for given in inputs:
        with torch.no_grad():
            torch.testing.assert_close(compiled(*given), model(*given))
    return compiled


def rows(*counts: int) -> list[tuple[torch.Tensor, ...]]:
    return [(torch.rand(n, 4, generator=torch.Generator().manual_seed(n)),) for n in counts]


def test_branches(exec_mode: str) -> None:
    def function(weight: torch.Tensor, x: torch.Tensor) -> Any:
        def nested(y: torch.Tensor) -> Any:
            return torch.cond(y[0, 0] > 0, lambda z: z * 2, lambda z: z / 2 + weight, (y,)), y + 1

        def other(y: torch.Tensor) -> Any:
            return y * weight, y.cumsum(0)

        return torch.cond(x.sum() > 0, nested, other, (x,))

    x, *_ = rows(5, 1)[0]
    check(function, [(x,), (-x,), (x[:1] - torch.tensor([2.0, 0, 0, -9]),)], exec_mode)


def test_branches_that_use_sizes(exec_mode: str) -> None:
    def function(_: torch.Tensor, x: torch.Tensor, flag: torch.Tensor) -> torch.Tensor:
        count = x.shape[0]
        total = torch.cat([x, x]).sum(0)
        return torch.cond(flag, lambda t: t * count, lambda t: t - count, (total,))

    x, y = (one for (one,) in rows(5, 3))
    check(function, [(x, torch.tensor(True)), (y, torch.tensor(False))], exec_mode)


def test_loops(exec_mode: str) -> None:
    def function(weight: torch.Tensor, x: torch.Tensor, limit: torch.Tensor) -> Any:
        def goes_on(i: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
            return i < limit

        def step(i: torch.Tensor, y: torch.Tensor) -> Any:
            return i + 1, y * 0.5 + weight

        return while_loop(goes_on, step, (torch.tensor(0), x))

    inputs = [(x, torch.tensor(n)) for (x,), n in zip(rows(5, 2, 1), (3, 0, 20), strict=True)]
    check(function, inputs, exec_mode)


def test_long_loops_need_no_stack(exec_mode: str) -> None:
    # More than Python calls, and than functions of machine code could.
    steps = 3_000 if exec_mode == "reference" else 20_000

    def function(_: torch.Tensor, count: torch.Tensor) -> Any:
        return while_loop(lambda i: i < steps, lambda i: (i + 1,), (count,))

    compiled = frontend.compile(Model(function), (torch.tensor(0),), exec_mode=exec_mode)
    assert compiled(torch.tensor(7))[0].item() == steps


def test_maps_over_rows(exec_mode: str) -> None:
    def function(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return map_rows(lambda row, factor: row.softmax(0) * factor, x, weight)

    check(function, rows(5, 1, 2, 64), exec_mode)


def test_scans_over_rows(exec_mode: str) -> None:
    def function(weight: torch.Tensor, x: torch.Tensor) -> Any:
        def step(state: torch.Tensor, row: torch.Tensor) -> Any:
            new = (state * weight + row).tanh()
            return new, new * 2

        state, stacked = scan(step, torch.zeros(4), x)
        return state, stacked, scan(step, state, x, reverse=True)[1]

    check(function, rows(5, 1, 2, 33), exec_mode)


def test_control_flow_in_graphs_of_dynamo(exec_mode: str) -> None:
    import relax_mlir.frontend.torch.dynamo  # noqa: F401 (it makes the backend known)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.exp(), lambda y: y - 1, (x,))

    torch._dynamo.reset()
    how = {"target" if exec_mode == "reference" else "exec_mode": exec_mode}
    options = {**how, "fallback": False}
    compiled = torch.compile(function, backend="relax_mlir", fullgraph=True, options=options)
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(compiled(x), function(x))


def test_error_no_rows() -> None:
    model = Model(lambda weight, x: map_rows(lambda row: row * 2, x))
    compiled = frontend.compile(model, rows(3)[0], dynamic={"inputs": ({0: Dim("n", min=0)},)})
    with pytest.raises(ValueError, match="expected"):
        compiled(torch.rand(0, 4))


def test_error_numbers_that_are_carried() -> None:
    def function(_: torch.Tensor, x: torch.Tensor) -> Any:
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x))

    with pytest.raises(NotImplementedError, match="no conversion of 'while_loop"):
        frontend.compile(Model(function), rows(3)[0])


def test_error_operator_of_a_branch() -> None:
    def largest(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.eigvalsh(x).max()

    def function(_: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, largest, lambda y: y.sum(), (x,))

    with pytest.raises(NotImplementedError, match=r"no conversion of aten\."):
        frontend.compile(Model(function), (torch.rand(3, 3),))
