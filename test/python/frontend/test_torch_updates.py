# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and buffers that models of PyTorch change are changed as PyTorch changes them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir
import torch
from relax_mlir.frontend import detach_params
from relax_mlir.frontend.torch import compile as compile_model
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)

N = torch.export.Dim("n", min=1, max=4096)


def random(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(len(shape))) + 0.25


class Model(nn.Module):
    """A function of two tensors, some of which it changes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return self.function(x, y)


def export(model: nn.Module, *arguments: torch.Tensor, dims: Any = None) -> Any:
    return torch.export.export(model, arguments, dynamic_shapes=dims)


def load(mod: Any, exec_mode: str) -> Any:
    return relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]


class Written(nn.Module):
    """Writes two slices of an input, and attends to all of it."""

    def forward(self, q: torch.Tensor, new: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        before = cache.sum(1)
        cache[:, -2:] = new
        cache[:, :1] = new[:, 1:] + before.unsqueeze(1)
        attended = F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, cache, cache)))
        return attended.transpose(1, 2)


def test_slices_are_written_into_inputs(exec_mode: str) -> None:
    inputs = random(1, 1, 4, 8), random(1, 2, 4, 8)
    program = export(Written(), *inputs, random(1, 9, 4, 8), dims=(None, None, {1: N}))
    mod = from_exported_program(program, unwrap_unit_return_tuple=True)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    cache = random(1, 40, 4, 8)
    expected = cache.clone()
    for n in (2, 3, 17, 40):
        wanted = Written()(*inputs, expected[:, :n])
        got = torch.from_dlpack(main(*inputs, cache[:, :n]))
        torch.testing.assert_close(got, wanted)
        torch.testing.assert_close(cache, expected)


def test_error_slices_beyond_the_end() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            y[3:5] = x
            return y + 1

    rows = torch.export.Dim("rows", min=5)
    program = export(Model(), random(2), random(9), dims=(None, {0: rows}))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(from_exported_program(program)))["main"]
    with pytest.raises(Exception, match="expected"):
        main(random(2), random(4))


def swap(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    before = x.clone()
    x.copy_(y)
    y.copy_(before)
    return before


def read_before(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    copied, flat, changed = x.clone(), y.clone().reshape(-1), x + y
    y[1:3] = 7.0
    x[0:1] = y[2:3]
    return [copied, flat, changed, flat + 1]


def read_between(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    x[0:1] = 7.0
    between = x.clone()
    x[1:2] = 8.0
    return [between, x]


def written_elsewhere(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x[0] += 1
    y.copy_(x)
    return x.clone()


def add_all(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return y.add_(x)


def every_other(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y[::2].copy_(x[::2])
    return x + y


def by_mask(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y[x > 0.5] = 0.0
    x.mul_(2)
    return y.sum()


CHANGES = [swap, read_before, read_between, written_elsewhere, add_all, every_other, by_mask]


@pytest.mark.parametrize("function", CHANGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("is_dynamic", [False, True], ids=["known", "dynamic"])
def test_inputs_that_change(function: Callable[..., Any], is_dynamic: bool, exec_mode: str) -> None:
    rows = torch.export.Dim("rows", min=4)
    dims = {"x": {0: rows}, "y": {0: rows}} if is_dynamic else None
    program = torch.export.export(
        Model(function), (random(6, 3), random(6, 3) + 1), dynamic_shapes=dims
    )
    main = load(from_exported_program(program), exec_mode)
    for size in (6, 4, 9) if is_dynamic else (6,):
        ours, theirs = ([random(size, 3), random(size, 3) + 1] for _ in range(2))
        results = function(*theirs)
        wanted = results if isinstance(results, list) else [results]
        got = [torch.from_dlpack(one) for one in main(*ours)]
        torch.testing.assert_close(got, wanted)
        torch.testing.assert_close(ours, theirs)


class Decoder(nn.Module):
    """Appends to a cache, a buffer, and counts its steps."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(random(4))
        self.register_buffer("cache", torch.zeros(1, 16, 4))
        self.register_buffer("position", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(1, self.position.unsqueeze(0), x * self.scale)
        self.position += 1
        return self.cache.sum(1)


def test_buffers_that_change(exec_mode: str) -> None:
    model = Decoder()
    program = export(copy.deepcopy(model), random(1, 1, 4))
    mod, params = detach_params(from_exported_program(program, unwrap_unit_return_tuple=True))
    assert mod["main"].attrs["num_input"].value == 1
    buffers = [one.clone() for one in params["main"]]
    main = load(mod, exec_mode)
    for step in range(3):
        x = random(1, 1, 4) + step
        torch.testing.assert_close(torch.from_dlpack(main(x, *buffers)), model(x))
        torch.testing.assert_close(buffers, [model.cache, model.position])


def test_buffers_that_change_among_parameters_as_inputs(exec_mode: str) -> None:
    model = Decoder()
    program = export(copy.deepcopy(model), random(1, 1, 4))
    mod, params = detach_params(from_exported_program(program, keep_params_as_input=True))
    scale, *buffers = (one.clone() for one in params["main"])
    (got,) = load(mod, exec_mode)(random(1, 1, 4), scale, *buffers)
    torch.testing.assert_close(torch.from_dlpack(got), model(random(1, 1, 4)).detach())
    torch.testing.assert_close(buffers, [model.cache.detach(), model.position])


def test_compiled_models_have_buffers_of_their_own(exec_mode: str) -> None:
    model = Decoder()
    compiled = compile_model(model, (random(1, 1, 4),), exec_mode=exec_mode)
    assert list(compiled.buffers) == ["cache", "position"]
    with torch.no_grad():
        results = [compiled(random(1, 1, 4) + step) for step in range(3)]
        assert model.position == 0
        assert compiled.buffers["position"] == 3
        for step, result in enumerate(results):
            torch.testing.assert_close(result, model(random(1, 1, 4) + step))
        torch.testing.assert_close(compiled.buffers["cache"], model.cache)
        compiled.buffers["position"].zero_()
        compiled(random(1, 1, 4))
        assert compiled.buffers["position"] == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_normalization_in_training(dtype: torch.dtype, exec_mode: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU(), nn.Flatten(),
        nn.Linear(144, 5), nn.BatchNorm1d(5, affine=False),
    ).to(dtype).train()  # fmt: skip
    dims = ({0: torch.export.Dim("batch", min=2)},)
    program = export(copy.deepcopy(model), random(3, 3, 8, 8).to(dtype), dims=dims)
    mod = from_exported_program(program, unwrap_unit_return_tuple=True)
    buffers = [one.clone() for one in mod.params["main"]]
    main = load(mod, exec_mode)
    for batch in (3, 2, 5):
        x = random(batch, 3, 8, 8).to(dtype) * batch
        with torch.no_grad():
            wanted = model(x)
        torch.testing.assert_close(
            torch.from_dlpack(main(x, *buffers)), wanted, rtol=1e-4, atol=1e-5
        )
        torch.testing.assert_close(buffers, list(model.buffers()))


def test_moving_averages_that_are_inputs(exec_mode: str) -> None:
    def function(mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(torch.arange(24.0).reshape(6, 4), mean, variance, training=True)

    main = load(from_exported_program(export(Model(function), random(4), random(4))), exec_mode)
    ours, theirs = [random(4), random(4)], [random(4), random(4)]
    torch.testing.assert_close(torch.from_dlpack(main(*ours)[0]), function(*theirs))
    torch.testing.assert_close(ours, theirs)


# ---------------------------------------------------------------------------------------------
# Operators in place on tensors of the model's own
# ---------------------------------------------------------------------------------------------


def residual(x: torch.Tensor, y: torch.Tensor) -> Any:
    z, w = x * 2, x - y
    w += torch.relu_(z)
    z.add_(y, alpha=3).mul_(0.5)
    return F.relu(w, inplace=True), z.view(-1), w


def changed_after_it_was_read(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x * y
    before = z + 1
    z.clamp_(max=0.5)
    return before, z


def with_a_view(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x * y
    rows = z.view(-1)
    z.neg_()
    return rows + 1


def of_another_type(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x * y
    z.gt_(0.5)
    return z


@pytest.mark.parametrize(
    ("function", "is_traced_anew"),
    [
        (residual, False),
        (changed_after_it_was_read, False),
        (with_a_view, True),
        (of_another_type, True),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_operators_in_place(
    function: Callable[..., Any],
    is_traced_anew: bool,
    exec_mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PyTorch's decomposition, which takes long, has to do only what cannot be renamed."""
    x, y = random(2, 3) - 0.5, random(2, 3)
    program = export(Model(function), x, y)
    traced: list[Any] = []
    decompose = torch.export.ExportedProgram.run_decompositions

    def watch(self: Any, *given: Any) -> Any:
        traced.append(self)
        return decompose(self, *given)

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", watch)
    before = str(program.graph)
    mod = from_exported_program(program)
    assert bool(traced) == is_traced_anew
    assert str(program.graph) == before
    expected = function(x.clone(), y)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for wanted, given in zip(expected, load(mod, exec_mode)(x, y), strict=True):
        torch.testing.assert_close(torch.from_dlpack(given), wanted)
