# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models have the signature of the model, and check what they are called with."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import relax_mlir
import torch
from relax_mlir.frontend import torch as frontend
from torch import nn
from torch.export import Dim


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Nested(nn.Module):
    """Takes and returns tensors in tuples, lists and dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(
        self, x: torch.Tensor, pair: Pair, *, parts: dict[str, Any], name: str = "none"
    ) -> Any:
        total = self.linear(x) + pair.left * parts["scale"] - parts["rows"][0]
        return {"total": total, name: [pair.right.sum(0), (x.shape[0], None, 2.5)]}


def arguments(n: int) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(n)
    x, left, right, row = (torch.rand(n, 4, generator=generator) for _ in range(4))
    return (x, Pair(left, right)), {"parts": {"scale": 3, "rows": [row]}, "name": "kept"}


def test_nested_arguments_and_results(exec_mode: str) -> None:
    model = Nested().eval()
    args, kwargs = arguments(3)
    compiled = frontend.compile(model, args, kwargs, dynamic=True, exec_mode=exec_mode)
    for n in (3, 2, 17):
        args, kwargs = arguments(n)
        with torch.no_grad():
            wanted = model(*args, **kwargs)
        for got in (compiled(*args, **kwargs), compiled(pair=args[1], x=args[0], **kwargs)):
            assert list(got) == list(wanted)
            torch.testing.assert_close(got["total"], wanted["total"])
            torch.testing.assert_close(got["kept"][0], wanted["kept"][0])
            assert got["kept"][1] == (n, None, 2.5)
            assert isinstance(got["total"], torch.Tensor) and not got["total"].requires_grad


def test_functions_and_single_results(exec_mode: str) -> None:
    def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return x * factor

    x = torch.rand(3, 5).t()  # read where it lies
    compiled = frontend.compile(scaled, (x,), exec_mode=exec_mode)
    torch.testing.assert_close(compiled(x), x * 2.0)
    with torch.no_grad():
        given = x.clone().requires_grad_()
        torch.testing.assert_close(compiled(given), x * 2.0)


def test_arguments_and_results_are_not_copied(exec_mode: str) -> None:
    x = torch.rand(3, 4)
    compiled = frontend.compile(lambda x: (x, x + 1), (x,), exec_mode=exec_mode)
    same, _ = compiled(x)
    assert same.data_ptr() == x.data_ptr()


def test_results_without_tensors_as_arguments(exec_mode: str) -> None:
    compiled = frontend.compile(lambda: torch.arange(3) * 2, (), exec_mode=exec_mode)
    got = compiled()
    assert isinstance(got, torch.Tensor)
    assert got.tolist() == [0, 2, 4]


def test_sizes_are_fixed_unless_they_are_dynamic() -> None:
    compiled = frontend.compile(torch.relu, (torch.rand(3),))
    with pytest.raises(ValueError, match=r"dimension 0 is 4, expected 3"):
        compiled(torch.rand(4))


def test_ranges_are_bounds_that_calls_are_checked_against(exec_mode: str) -> None:
    dims = {"x": {0: Dim("rows", min=4, max=16)}, "y": {0: Dim("more", max=8)}}

    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, y]).exp()

    x, y = torch.rand(5, 3), torch.rand(6, 3)
    compiled = frontend.compile(model, (x, y), dynamic=dims, exec_mode=exec_mode)
    attributes = compiled.module["main"].attributes
    assert [entry.attr.value for entry in attributes["tir_var_lower_bound"]] == [4]
    assert sorted(e.attr.value for e in attributes["tir_var_upper_bound"]) == [8, 16]
    for n, m in ((4, 1), (16, 8), (9, 0)):
        x, y = torch.rand(n, 3), torch.rand(m, 3)
        torch.testing.assert_close(compiled(x, y), model(x, y))
    message = r"argument 'x': expected dimension 0 >= 4 and <= 16, as .* exported, but got "
    for n in (3, 17):
        with pytest.raises(ValueError, match=message + str(n)):
            compiled(torch.rand(n, 3), y)
    with pytest.raises(ValueError, match=r"argument 'y': expected dimension 0 <= 8, .* but got 9"):
        compiled(torch.rand(5, 3), torch.rand(9, 3))


def test_memory_is_planned_for_sizes_of_calls_unless_ranges_are_to_bound_it() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return x.softmax(0).softmax(0).softmax(0) + x

    dims = {"x": {0: Dim("rows", max=1 << 40)}}
    compiled = frontend.compile(model, (torch.rand(5),), dynamic=dims)
    x = torch.rand(7)
    torch.testing.assert_close(compiled(x), model(x))
    mod = compiled.module
    usage = relax_mlir.analysis.estimate_memory_usage(mod, sizes={"rows": 64})["main"]
    assert [one.bytes for one in usage.storages if one.is_shared] == [256, 256]
    mod["main"] = mod["main"].without_attr("relax.plan_each_call")
    usage = relax_mlir.analysis.estimate_memory_usage(mod)["main"]
    assert [one.bytes for one in usage.storages if one.is_shared] == [1 << 43]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, x: f(x), TypeError, r"expected arguments .* \(\*, \*\), but got \(\*\)"),
        (lambda f, x: f([x], 2), TypeError, r"but got \(\[\*\], \*\)"),
        (lambda f, x: f(x, k=3), ValueError, r"argument 'k': expected 2, .* but got 3"),
        (lambda f, x: f(x, 2.0), ValueError, r"argument 'k': expected 2, .* but got 2\.0"),
        (lambda f, x: f(x, k=2, other=2), TypeError, "unexpected keyword argument 'other'"),
        (lambda f, x: f(x.double(), 2), TypeError, "argument 'x': expected .*float64"),
        (lambda f, x: f(x.requires_grad_(), 2), RuntimeError, r"argument 'x': .*no_grad\(\)"),
    ],
    ids=["missing", "nested", "constant", "kind", "name", "dtype", "gradient"],
)
def test_error_arguments(call: Any, error: type[Exception], message: str) -> None:
    compiled = frontend.compile(lambda x, k: x * k, (torch.rand(3), 2))
    with pytest.raises(error, match=message):
        call(compiled, torch.rand(3))


def test_error_examples() -> None:
    with pytest.raises(TypeError, match=r"expected a tuple .* but got Tensor: write \(x,\)"):
        frontend.compile(torch.relu, torch.rand(3))
    with pytest.raises(TypeError, match="expected a model or a function, but got int"):
        frontend.compile(3, (torch.rand(3),))
    with pytest.raises(TypeError, match=r"expected dynamic to be True, False, or as .* got 'yes'"):
        frontend.compile(torch.relu, (torch.rand(3),), dynamic="yes")
