# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch that draw random numbers."""

from __future__ import annotations

import pytest
import relax_mlir as relax
import torch
import torch.nn.functional as F  # noqa: N812 (as everybody calls it)
from relax_mlir.frontend.torch import compile as compile_torch
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform.signatures import param_names
from torch import nn

COUNT = 4096
X = torch.zeros(64, 64)
CHANCES = torch.tensor([0.1, 0.2, 0.3, 0.4])

# A function, and the mean and standard deviation of what it returns.
DISTRIBUTIONS = {
    "rand": (lambda x: torch.rand(64, 64), 0.5, 12**-0.5),
    "rand_like": (torch.rand_like, 0.5, 12**-0.5),
    "rand_double": (lambda x: torch.rand(64, 64, dtype=torch.float64), 0.5, 12**-0.5),
    "uniform_": (lambda x: torch.empty(64, 64).uniform_(-2, 4), 1.0, 3**0.5),
    "randn": (lambda x: torch.randn(64, 64), 0.0, 1.0),
    "randn_like": (torch.randn_like, 0.0, 1.0),
    "normal": (lambda x: torch.normal(2.0, 3.0, (64, 64)), 2.0, 3.0),
    "normal_of_means": (lambda x: torch.normal(x + 2, 3.0), 2.0, 3.0),
    "normal_of_deviations": (lambda x: torch.normal(2.0, x + 3), 2.0, 3.0),
    "normal_of_both": (lambda x: torch.normal(x + 2, x + 3), 2.0, 3.0),
    "normal_": (lambda x: torch.empty(64, 64).normal_(2, 3), 2.0, 3.0),
    "log_normal_": (lambda x: torch.empty(64, 64).log_normal_(0, 0.25).log(), 0.0, 0.25),
    "exponential_": (lambda x: torch.empty(64, 64).exponential_(4), 0.25, 0.25),
    "cauchy_": (lambda x: torch.empty(64, 64).cauchy_(1, 2).sub(1).abs().gt(2).float(), 0.5, 0.5),
    "geometric_": (lambda x: torch.empty(64, 64).geometric_(0.25), 4.0, 12**0.5),
    "bernoulli": (lambda x: torch.bernoulli(x + 0.3), 0.3, 0.21**0.5),
    "bernoulli_": (lambda x: torch.empty(64, 64).bernoulli_(0.3), 0.3, 0.21**0.5),
    "bernoulli_tensor": (lambda x: torch.empty(64, 64).bernoulli_(x + 0.3), 0.3, 0.21**0.5),
    "randint": (lambda x: torch.randint(5, (64, 64)), 2.0, 2**0.5),
    "randint_low": (lambda x: torch.randint(-4, 5, (64, 64)), 0.0, (20 / 3) ** 0.5),
    "randint_like": (lambda x: torch.randint_like(x, -4, 5), 0.0, (20 / 3) ** 0.5),
    "randperm": (lambda x: torch.randperm(COUNT), (COUNT - 1) / 2, COUNT / 12**0.5),
    "multinomial": (lambda x: torch.multinomial(CHANCES, COUNT, True), 2.0, 1.0),
    "multinomial_once": (lambda x: torch.multinomial(CHANCES.expand(COUNT, 4), 1), 2.0, 1.0),
    "dropout": (lambda x: F.dropout(x + 1, 0.2), 1.0, 0.5),
    "feature_dropout": (lambda x: F.dropout1d(torch.ones(1, COUNT, 3), 0.2), 1.0, 0.5),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, 0.2, True), 0.0, 0.618),
    "rrelu": (lambda x: F.rrelu(x - 1, 0.2, 0.8, training=True), -0.5, 0.6 / 12**0.5),
}  # fmt: skip


def check(numbers: torch.Tensor, mean: float, std: float) -> None:
    """Compare moments, of which none is further away than five standard deviations."""
    x = numbers.double()
    assert abs(float(x.mean()) - mean) < 5 * std / x.numel() ** 0.5 + 1e-4
    assert abs(float(x.std()) / std - 1) < 5 * (4 / x.numel()) ** 0.5


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(name):
    function, mean, std = DISTRIBUTIONS[name]
    expected = function(X)
    compiled = compile_torch(function, (X,))
    torch.manual_seed(1)
    first, second = compiled(X), compiled(X)
    torch.manual_seed(1)
    again = compiled(X)
    assert first.shape == expected.shape
    assert first.dtype == expected.dtype
    check(expected, mean, std)
    check(first, mean, std)
    check(second, mean, std)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_key_is_the_last_input(exec_mode):
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))
            self.norm = nn.LayerNorm(8)

        def forward(self, x, scale):
            self.calls += 1
            return F.dropout(self.norm(x), 0.5) * scale + torch.randn_like(x)

    n = torch.export.Dim("n", min=2)
    args = torch.ones(3, 8), torch.ones(8)
    program = torch.export.export(Noisy(), args, dynamic_shapes=({0: n}, None))
    mod = from_exported_program(program, unwrap_unit_return_tuple=True)
    assert mod["main"].attrs["num_input"].value == 3
    assert param_names(mod["main"])[:3] == ["x", "scale", "random_key"]
    mod, params = relax.frontend.detach_params(mod)
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    calls = params["main"][0]
    results = []
    for key in (1, 2, 1):
        key = torch.tensor(key, dtype=torch.uint64)
        results.append(torch.from_dlpack(main(torch.rand(5, 8), torch.zeros(8), key, calls)))
    assert results[0].shape == (5, 8)
    assert torch.equal(results[0], results[2])
    assert not torch.equal(results[0], results[1])
    assert float(torch.from_dlpack(calls)) == 3


def test_each_operator_has_numbers_of_its_own():
    def two(x):
        return torch.rand_like(x), torch.rand_like(x)

    first, second = compile_torch(two, (X,))(X)
    assert abs(float(torch.corrcoef(torch.stack([first.ravel(), second.ravel()]))[0, 1])) < 0.08


def test_dropout_in_evaluation_takes_no_key():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Dropout1d(), nn.AlphaDropout()).eval()
    program = torch.export.export(model, (torch.ones(2, 4),))
    mod = from_exported_program(program)
    assert param_names(mod["main"]) == ["input"]


def test_name_of_the_key_is_taken():
    class Noisy(nn.Module):
        def forward(self, random_key):
            return random_key + torch.rand_like(random_key)

    program = torch.export.export(Noisy(), (X,))
    assert param_names(from_exported_program(program)["main"]) == ["random_key", "random_key_"]


@pytest.mark.parametrize(("is_causal", "masked"), [(False, False), (True, False), (False, True)])
def test_attention_with_dropout(is_causal, masked):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 8) for _ in range(3))
    mask = torch.rand(5, 5) < 0.7 if masked else None
    if mask is not None:
        mask[:, 0] = True

    def attend(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, mask, 0.25, is_causal)

    compiled = compile_torch(attend, (query, key, value))
    wanted = F.scaled_dot_product_attention(query, key, value, mask, 0.0, is_causal)
    results = torch.stack([compiled(query, key, value) for _ in range(600)])
    assert not torch.equal(results[0], results[1])
    error = results.std(0) / 600**0.5
    assert ((results.mean(0) - wanted).abs() <= 5 * error + 1e-5).all()


def test_dropout_layers_of_a_transformer_in_training():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.5, batch_first=True)
    x = torch.randn(2, 5, 16)
    compiled = compile_torch(layer, (x,))
    torch.manual_seed(3)
    first = compiled(x)
    assert not torch.allclose(first, compiled(x))
    torch.manual_seed(3)
    assert torch.equal(first, compiled(x))


def test_native_dropout_returns_its_mask():
    def drop(x):
        return torch.ops.aten.native_dropout(x, 0.25, True)

    x = torch.rand(64, 64) + 1
    result, mask = compile_torch(drop, (x,))(x)
    torch.testing.assert_close(result, torch.where(mask, x / 0.75, 0.0))
    check(mask.float(), 0.75, (0.75 * 0.25) ** 0.5)


def test_backend_of_torch_compile():
    def noisy(x):
        return F.dropout(x, 0.5) + torch.randn_like(x)

    compiled = torch.compile(noisy, backend="relax_mlir", options={"fallback": False})
    with torch.no_grad():
        torch.manual_seed(5)
        first, second = compiled(X + 1), compiled(X + 1)
        torch.manual_seed(5)
        assert torch.equal(first, compiled(X + 1))
    assert not torch.equal(first, second)
    check(first, 1.0, 2**0.5)


def test_error_random_numbers_in_a_branch():
    def branch(x):
        return torch.cond(x.sum() > 0, lambda x: x + torch.rand_like(x), lambda x: x * 2, (x,))

    with pytest.raises(NotImplementedError, match="random numbers in a branch or a loop"):
        compile_torch(branch, (X,))
