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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_that_are_chosen(name: str, exec_mode: str) -> None:
    function = FUNCTIONS[name]
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(5, 4, generator=generator) - 0.5).round(decimals=1)
    compiled = frontend.compile(function, (x,), exec_mode=exec_mode, dynamic=({0: N},))
    for given in (x, x[:3] * 0, x.abs()[:2] + 1):
        torch.testing.assert_close(compiled(given), function(given))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.bernoulli(x), r"aten\.(bernoulli|rand)"),
        (lambda x: x + torch.rand_like(x), r"aten\.rand"),
        (lambda x: torch.dropout(x, 0.5, True), "dropout"),
        (lambda x: torch.unique(x), r"aten\._unique2"),
        (lambda x: torch.zeros(x.argmax().item()), "depends on data"),
    ],
    ids=["bernoulli", "rand", "dropout", "unique", "item"],
)
def test_error_of_data_and_of_random_numbers(function: Any, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        frontend.compile(function, (torch.rand(3, 3),))
