# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.compile(model, backend="relax_mlir")`` gives what PyTorch gives, or leaves it to it."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import relax_mlir.frontend.torch.dynamo as dynamo
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    dynamo._logged.clear()
    with torch.no_grad():
        yield
    torch._dynamo.reset()


def compiled(model: Any, dynamic: bool | None = None, **options: Any) -> Any:
    """Compile without a fallback, so that what is compared is not PyTorch itself."""
    options = {"fallback": False, **options}
    return torch.compile(model, backend="relax_mlir", dynamic=dynamic, options=options)


def check(model: Any, function: Any, *inputs: Any) -> Any:
    got, wanted = function(*inputs), model(*inputs)
    torch.testing.assert_close(got, wanted, check_stride=True)
    return got


class Block(nn.Module):
    """Layers whose results have several layouts, kinds and aliases."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)
        self.batch_norm, self.conv = nn.BatchNorm1d(4), nn.Conv1d(4, 4, 3)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.batch_norm(self.norm(self.linear(x)).relu()) + torch.tensor([1.0, 2.0, 3.0, 4.0])
        q = y.view(1, -1, 2, 2).transpose(1, 2)
        pooled = F.max_pool1d(self.conv(y.t()[None]), 2)
        attended = F.scaled_dot_product_attention(q, q, q)
        return {"parts": (attended, pooled), "moved": x.t() + 1, "same": x, "any": x.sum() > 0}


@pytest.mark.parametrize("freeze", [False, True], ids=["inputs", "constants"])
def test_models_at_every_size(freeze: bool, exec_mode: str) -> None:
    model = Block().eval()
    function = compiled(model, dynamic=True, exec_mode=exec_mode, freeze=freeze)
    for n in (9, 12, 5):
        check(model, function, torch.rand(n, 4))


def test_sizes_become_dynamic_when_they_differ(exec_mode: str) -> None:
    def model(x: torch.Tensor) -> Any:
        return x.view(-1) * x.shape[0], x.shape[0] + 1

    function = compiled(model, exec_mode=exec_mode)
    for n in (3, 5, 7, 1):
        check(model, function, torch.rand(n, 2))


def test_sizes_that_are_marked(exec_mode: str) -> None:
    x = torch.rand(6, 3)
    torch._dynamo.mark_dynamic(x, 0, min=4, max=8)
    function = compiled(torch.exp, exec_mode=exec_mode)
    check(torch.exp, function, x)
    for n in (4, 8):
        check(torch.exp, function, torch.rand(n, 3))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_breaks_of_graphs_and_python_around_them(exec_mode: str) -> None:
    def model(x: torch.Tensor) -> Any:
        y = (x.t() + 1).relu()
        if y.sum().item() > 6:  # not a part of any graph
            return y * 2
        return y @ x

    function = compiled(model, exec_mode=exec_mode)
    for x in (torch.ones(2, 3), torch.full((2, 3), -2.0)):
        check(model, function, x)


def test_inputs_and_buffers_that_change(exec_mode: str) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(3)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            x.mul_(2)
            return self.norm(x) + self.count

    ours, theirs = Counter().train(), Counter().train()
    function = compiled(ours, exec_mode=exec_mode)
    for _ in range(2):
        x = torch.rand(4, 3)
        y = x.clone()
        torch.testing.assert_close(function(x), theirs(y))
        torch.testing.assert_close(x, y)
        torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()))


def test_parameters_as_constants_are_checked_for_changes(exec_mode: str) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    function = compiled(model, freeze=True, exec_mode=exec_mode)
    x = torch.rand(3, 4)
    check(model, function, x)
    model[0].weight.mul_(2)
    check(model, function, x)
    model.load_state_dict(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).state_dict())
    check(model, function, x)


def test_parameters_are_constants_of_the_program() -> None:
    """A frozen graph has its parameters in the program, and one that is not has them as inputs."""
    seen = []
    record = dynamo.compile_module

    def recorded(module: Any, **options: Any) -> Any:
        seen.append(str(module["main"].function_type.value))
        return record(module, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dynamo, "compile_module", recorded)
        for freeze in (False, True):
            torch._dynamo.reset()
            compiled(nn.Linear(4, 2), freeze=freeze)(torch.rand(3, 4))
    assert [text.split("->")[0].count("tensor") for text in seen] == [3, 1]


def test_what_is_not_taken_runs_in_pytorch(caplog: pytest.LogCaptureFixture) -> None:
    function = torch.compile(torch.linalg.eigvalsh, backend="relax_mlir")
    with caplog.at_level(logging.WARNING, dynamo.__name__):
        for n in (3, 4, 5):
            check(torch.linalg.eigvalsh, function, torch.rand(n, n))
    messages = {record.getMessage() for record in caplog.records}
    assert len(messages) == len(caplog.records) >= 1
    assert all("PyTorch runs a graph" in one and "aten." in one for one in messages)


def test_gradients_are_left_to_pytorch(caplog: pytest.LogCaptureFixture) -> None:
    model = nn.Linear(4, 2)
    function = torch.compile(model, backend="relax_mlir")
    with torch.enable_grad(), caplog.at_level(logging.WARNING, dynamo.__name__):
        for _ in range(2):
            function(torch.rand(3, 4)).sum().backward()
    assert model.weight.grad is not None
    assert [record.getMessage().count("torch.no_grad()") for record in caplog.records] == [1]
    check(model, compiled(model), torch.rand(3, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fuze": False}, "but got fuze; did you mean 'fuse'"),
        (
            {"freaze": True},
            "expected an option of the backend, but got freaze; did you mean 'freeze'",
        ),
        ({"opt_level": 7}, "expected opt_level, one of 0, 1, 2, 3, but got 7"),
        ({"target": "nope"}, "expected a target of the kind llvm, cuda or opencl, but got 'nope'"),
        ({"relax_pipeline": "nope"}, "expected the name of a pipeline, one of zero"),
        ({"fallback": "no"}, "expected fallback to be True or False, but got 'no'"),
    ],
)
def test_error_of_options_in_spite_of_a_fallback(options: dict[str, Any], message: str) -> None:
    torch._dynamo.reset()
    model = torch.compile(torch.nn.ReLU(), backend="relax_mlir", options=options)
    with pytest.raises(Exception, match=re.escape(message)), torch.no_grad():
        model(torch.ones(2))


def test_error_without_fallback() -> None:
    with pytest.raises(Exception, match=r"no conversion of aten\."):
        compiled(torch.linalg.eigvalsh)(torch.rand(3, 3))
    with torch.enable_grad(), pytest.raises(Exception, match=r"under torch\.no_grad"):
        compiled(nn.Linear(4, 2))(torch.rand(3, 4))


def test_error_mode() -> None:
    with pytest.raises(Exception, match="expected no mode for the backend 'relax_mlir'"):
        torch.compile(torch.exp, backend="relax_mlir", mode="max-autotune")(torch.rand(3))


def test_the_backend_is_known_by_name() -> None:
    assert "relax_mlir" in torch._dynamo.list_backends()
    text = PYPROJECT.read_text()
    section = text.split("[project.entry-points.torch_dynamo_backends]\n")[1].splitlines()[0]
    name, target = (part.strip(' "') for part in section.split("="))
    module, attribute = target.split(":")
    assert name == dynamo.NAME
    assert getattr(importlib.import_module(module), attribute) is dynamo.backend
