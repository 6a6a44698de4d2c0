# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements that are chosen by their values, and what depends on data beyond them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from relax_mlir.frontend import torch as frontend

N = torch.export.Dim("n", min=1, max=4096)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "nonzero": lambda x: torch.nonzero(x),
    "places": lambda x: torch.where(x > 0)[1] * 2,
    "masked_select": lambda x: torch.masked_select(x, x[:, :1] > 0) * 2,
    "mask": lambda x: x[x > 0].exp().sum(),
    "rows": lambda x: x[x[:, 0] > 0] @ x.t(),
    "columns": lambda x: x[:, x[0] > 0].sum(0),
}


def put_rows(x: torch.Tensor) -> torch.Tensor:
    result = x.clone()
    result[x[:, 0] > 0] = x[x[:, 0] > 0].exp()
    result[:, x[0] > 0] = result[:, x[0] > 0] * 2 + 1
    return result


def put_elements(x: torch.Tensor) -> torch.Tensor:
    result = x.clone()
    result[x > 0] = x[x > 0] * 10
    result[:, x[0] < 0] += 7
    return result


def first(x: torch.Tensor) -> Any:
    count = (x[:, 0] > 0).sum().item()
    torch._check(count <= x.shape[0])
    return [x[:count] * count, x[:, :1] + count, torch.arange(count), x.new_zeros(count + 1, 2)]


def counted(x: torch.Tensor) -> Any:
    whole = (x * 10).long()
    return [
        torch.bincount(whole.abs().flatten()),
        torch.bincount(whole[:, 0].abs(), x[:, 1], minlength=7),
        x.repeat_interleave(whole.abs()[:, 0], 0),
        x.repeat_interleave(torch.tensor(2), 1),
        x[0].repeat_interleave(whole.abs()[0]),
    ]


def distinct(x: torch.Tensor) -> Any:
    whole = (x * 3).long()
    return [
        *torch.unique(x, return_inverse=True, return_counts=True),
        torch.unique(whole[:, 0]) * 2,
        torch.unique(whole[:, :1], sorted=False),
        *torch.unique_consecutive(whole, return_inverse=True, return_counts=True),
        torch.unique(whole, dim=0),
        *torch.unique(whole, dim=1, return_counts=True),
    ]


FUNCTIONS |= {
    "put_rows": put_rows, "put_elements": put_elements, "first": first, "counted": counted,
    "distinct": distinct,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_that_are_chosen(name: str, exec_mode: str) -> None:
    function = FUNCTIONS[name]
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(5, 4, generator=generator) - 0.5).round(decimals=1)
    compiled = frontend.compile(function, (x,), exec_mode=exec_mode, dynamic=({0: N},))
    for given in (x, x[:3] * 0, x.abs()[:2] + 1):
        torch.testing.assert_close(compiled(given), function(given))


def test_numbers_that_are_none_are_distinct(exec_mode: str) -> None:
    x = torch.tensor([2.0, float("nan"), 1.0, float("nan"), 2.0, float("inf")])

    def function(x: torch.Tensor) -> Any:
        return torch.unique(x, return_inverse=True, return_counts=True)

    compiled = frontend.compile(function, (x,), exec_mode=exec_mode)
    for got, wanted in zip(compiled(x), function(x), strict=True):
        torch.testing.assert_close(got, wanted, equal_nan=True)


def test_repeats_of_a_size_that_is_given(exec_mode: str) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, repeats: torch.Tensor) -> torch.Tensor:
            return x.repeat_interleave(repeats, 0, output_size=5) * 2

    x, repeats = torch.rand(3, 2), torch.tensor([2, 0, 3])
    model = frontend.compile(Model(), (x, repeats), exec_mode=exec_mode)
    torch.testing.assert_close(model(x, repeats), Model()(x, repeats))
    with pytest.raises(ValueError, match=r"expected !relax.shape<\[5\]>, but .* 6"):
        model(x, torch.tensor([2, 1, 3]))


def test_error_sizes_in_data_that_are_out_of_range(exec_mode: str) -> None:
    def function(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        size = count.item()
        torch._check(size <= x.shape[0])
        return x[:size]

    compiled = frontend.compile(
        function, (torch.ones(5), torch.tensor(2)), exec_mode=exec_mode, dynamic=({0: N}, None)
    )
    assert len(compiled(torch.ones(5), torch.tensor(5))) == 5
    for count in (6, -1, 2**40):
        with pytest.raises(Exception, match="expected"):
            compiled(torch.ones(5), torch.tensor(count))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.poisson(x), r"aten\.poisson"),
        (lambda x: torch.unique_consecutive(x, dim=1), "dimension 1"),
    ],
    ids=["poisson", "unique"],
)
def test_error_of_data_and_of_random_numbers(function: Any, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        frontend.compile(function, (torch.rand(3, 3),))
