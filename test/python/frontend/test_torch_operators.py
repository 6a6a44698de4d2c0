# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen give what PyTorch gives, of sizes that are known and of sizes that are not.

Images, indices and matrices have files of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)
from torch_functions import (
    Family,
    Functions,
    check,
    check_every_size,
    check_known_size,
    compare,
    export,
    integers,
    load,
    named,
    random,
)

aten = torch.ops.aten


def elementwise() -> Functions:
    functions = named(
        torch, "asin", "acos", "atan", "sinh", "cosh", "tan", "asinh", "atanh", "expm1", "log1p",
        "exp2", "isnan", "isinf", "isfinite", "trunc", "frac", "erf", "sign", "bitwise_not",
    )  # fmt: skip
    del functions["bitwise_not"]
    return {
        **functions,
        "acosh": lambda x: torch.acosh(x + 2),
        "log2": lambda x: torch.log2(x.abs()),
        "log10": lambda x: torch.log10(x.abs()),
        "round_decimals": lambda x: torch.round(x, decimals=1),
        "pow": lambda x: [x**2, x**3, x**0.5, x**-1, x**-2, 2**x, x.abs() ** x, x**0],
        "atan2": lambda x: torch.atan2(x, x - 0.5),
        "logaddexp": lambda x: torch.logaddexp(x, x * 2),
        "remainder": lambda x: [x % 0.3, torch.remainder(x, -0.3), torch.fmod(x, 0.3)],
        "division": lambda x: [
            torch.div(x, 0.3, rounding_mode="floor"), torch.div(x, -0.3, rounding_mode="trunc"),
            x // 0.3,
        ],
        "rsub": lambda x: torch.rsub(x, x * 3, alpha=2),
        "clamp": lambda x: [x.clamp_min(0.1), x.clamp_max(0.1), x.clamp(x * 0 - 0.1, x * 0 + 0.2)],
        "extremes": lambda x: [torch.maximum(x, -x), torch.fmin(x, -x), torch.max(x, x * x)],
        "where": lambda x: torch.where(x > 0, 1.0, x),
        "isin": lambda x: torch.isin(x.round(), torch.tensor([0.0, 1.0])),
        "nan_to_num": torch.nan_to_num,
        "signs": lambda x: [
            torch.signbit(x * 0), torch.copysign(x, -x * 0), torch.copysign(x, -1.0), x.signbit(),
        ],
        "lengths": lambda x: [
            torch.hypot(x, x - 1), torch.hypot(x * 1e30, x * 3e30), torch.hypot(x * 0, x * 0),
            torch.ldexp(x, torch.arange(4)), torch.dist(x, -x), torch.dist(x, x[:1], 1),
        ],
        "lerp": lambda x: torch.lerp(x, x + 1, 0.3),
        "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
        "bucketize": lambda x: [
            torch.bucketize(x, torch.tensor([-0.5, 0.0, 0.25, 0.5]), right=right)
            for right in (False, True)
        ],
    }  # fmt: skip


def activations() -> Functions:
    return {
        **named(
            F, "relu6", "hardtanh", "elu", "celu", "selu", "mish", "softsign", "tanhshrink",
            "softshrink", "hardshrink", "hardsigmoid", "hardswish", "logsigmoid", "softplus",
            "silu", "gelu", "leaky_relu", "relu", "glu",
        ),
        "elu_alpha": lambda x: F.elu(x, 0.7),
        "celu_alpha": lambda x: F.celu(x, 0.7),
        "hardtanh_range": lambda x: F.hardtanh(x, -0.2, 0.3),
        "softplus_beta": lambda x: F.softplus(x, 2, 1),
        "threshold": lambda x: F.threshold(x, 0.1, -3),
        "prelu": lambda x: [F.prelu(x, torch.tensor([0.2])), F.prelu(x, torch.arange(4.0) / 5)],
        "in_place": lambda x: F.relu_(F.hardtanh_(x + 0.1) - 0.2),
    }  # fmt: skip


def of_integers() -> Functions:
    return {
        "bits": lambda x, y: [x & y, x | 5, x ^ y, ~x, x << 2, x >> y.abs(), 1 << y.abs()],
        "division": lambda x, y: [
            x // y, x % y, torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y), x // 3, x % -3,
            x / y,
        ],
        "powers": lambda x, y: [
            x**2, x**3, x**7, 2 ** y.abs(), x**0, x ** (y * 9), 3**y, x.to(torch.int8) ** y[:1],
            (x - 1).clamp(-1, 1) ** (y - 4), x.to(torch.uint8) ** y.to(torch.uint8),
        ],
        "rounding": lambda x, y: [x.floor(), x.ceil(), x.round(), x.trunc()],
        "comparisons": lambda x, y: [x > y, x <= 2.5, x == y, x != 3],
        "extremes": lambda x, y: [torch.maximum(x, y), x.clamp(-2, 3), x.clamp(min=-1.5), x.sign()],
        "sums": lambda x, y: [x.sum(1), x.prod(1), x.cumsum(0), x.cumprod(1), x.amax(0), x.max()],
        "floats": lambda x, y: [x.sqrt(), x.exp(), x.sigmoid(), x * 0.5, x.float().to(torch.int32)],
        "logic": lambda x, y: [
            torch.logical_and(x, y), torch.logical_or(x, y - 3), torch.logical_xor(x, y),
            torch.logical_not(x),
        ],
        "bools": lambda x, y: [
            (x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), ~(x > 0), (x > 0) + (y > 0),
            (x > 0) * (y > 0), (x > 0).sum(), (x > 0) * 2.5, torch.maximum(x > 0, y > 0),
        ],
        "truth": lambda x, y: [
            (x > 0).any(), (x > 0).all(1), (x > 6).any(0, keepdim=True), x.any(1), x.all(),
            (x > 0).any((0, 1)),
        ],
        "masked": lambda x, y: [x.masked_fill(y > 2, 9), torch.where(x > y, x, 0)],
        "sorter": lambda x, y: torch.searchsorted(
            torch.tensor([4, -3, 0]), x, sorter=torch.tensor([1, 2, 0])
        ),
        "searchsorted": lambda x, y: torch.searchsorted(torch.tensor([-3, 0, 4]), x, side="right"),
        "one_hot": lambda x, y: F.one_hot(x.abs(), 9),
    }  # fmt: skip


def reductions() -> Functions:
    return {
        "var": lambda x: [
            x.var(), x.var(1), x.std((0, 2), unbiased=False), x.var(2, correction=0, keepdim=True),
            *torch.var_mean(x, 1), *torch.std_mean(x, (1, 2), keepdim=True),
        ],
        "extremes": lambda x: [
            x.max(), x.min(), *x.max(1), *x.min(-1, keepdim=True), x.amax((0, 2)), x.amin(1),
            *torch.aminmax(x, dim=1), x.argmax(), x.argmin(1, keepdim=True), x.argmax(0),
        ],
        "products": lambda x: [x.prod(), x.prod(1), x.prod(-1, keepdim=True)],
        "scans": lambda x: [x.cumsum(1), x.cumsum(-3), x.cumprod(2)],
        "logsumexp": lambda x: [torch.logsumexp(x, 1), x.logsumexp((0, 2), keepdim=True)],
        "norms": lambda x: [
            x.norm(), torch.linalg.vector_norm(x, 1, dim=1), torch.linalg.vector_norm(x, 3, (0, 1)),
            torch.linalg.vector_norm(x, float("inf"), 1, keepdim=True), F.normalize(x, dim=1),
            torch.linalg.vector_norm(x, 0), torch.linalg.vector_norm(x, float("-inf"), -1),
        ],
        "similarity": lambda x: [F.cosine_similarity(x, x * 2 + 1, dim=2), (x > 0.5).sum(0)],
        "means": lambda x: [x.mean(), x.mean((0, 1), keepdim=True), x.sum([]), x.mean(-1)],
        "truth": lambda x: [(x > 0.9).any(1), (x > 0.3).all(-1), torch.count_nonzero(x > 0.7, 1)],
        "softmax": lambda x: [x.softmax(0), F.softmin(x, 1), x.log_softmax(2)],
    }  # fmt: skip


def normalizations() -> Functions:
    weight, bias = random(4), random(4) - 1
    return {
        "group_norm": lambda x: [F.group_norm(x, 2, weight, bias), F.group_norm(x, 4, eps=1e-3)],
        "instance_norm": lambda x: [F.instance_norm(x, weight=weight, bias=bias),
                                    F.instance_norm(x)],
        "layer_norm": lambda x: [F.layer_norm(x, (5, 6)), F.layer_norm(x, (6,), random(6))],
        "native_layer_norm": lambda x: torch.native_layer_norm(x, [6], None, None, 1e-5),
        "native_group_norm": lambda x: torch.native_group_norm(
            x, weight, None, x.shape[0], 4, 30, 2, 1e-5
        ),
        "native_batch_norm": lambda x: [
            torch.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5),
            aten._native_batch_norm_legit_no_training(x, None, bias, bias, weight, 0.1, 1e-5),
        ],
        "fused_rms_norm": lambda x: aten._fused_rms_norm(x, [5, 6], None, 1e-3),
        "rms_norm": lambda x: [F.rms_norm(x, (6,), random(6)), F.rms_norm(x, (5, 6), eps=1e-3)],
        "batch_norm": lambda x: F.batch_norm(x, weight, random(4), bias, random(4)),
        "of_batch": lambda x: F.batch_norm(x, None, None, weight, bias, training=True),
        "safe_softmax": lambda x: [
            aten._safe_softmax(x.masked_fill(x > limit, float("-inf")), 2) for limit in (0.4, 0.9)
        ],
        "local_response": lambda x: F.local_response_norm(x, 3),
    }  # fmt: skip


def ordered() -> Functions:
    return {
        "topk": lambda x: [
            *(x + torch.arange(20.0).view(4, 5) / 50).topk(3),
            *(x + torch.arange(20.0).view(4, 5) / 50).topk(2, 1, largest=False),
            x.topk(4)[0],
        ],
        "sort": lambda x: [*x.sort(), *x.sort(1, descending=True), x.argsort(stable=True)],
        "median": lambda x: [*x.median(1), *x.median(-1, keepdim=True)],
    }


def special() -> Functions:
    return {
        **named(torch, "erfc", "lgamma", "digamma", "i0"),
        **named(torch.special, "erfcx", "i0e", "i1", "i1e", "multigammaln"),
        "multigammaln": lambda x: torch.special.multigammaln(x.abs() + 2, 3),
        "polygamma": lambda x: [torch.polygamma(0, x), torch.polygamma(1, x)],
    }


def running() -> Functions:
    return {
        "cummax": lambda x: [*x.cummax(1), *x.cummax(-1), *x.flatten().cummax(0)],
        "cummin": lambda x: [*x.cummin(0), *x.int().cummin(2), *(x > 1).cummin(1)],
        "logcumsumexp": lambda x: [x.logcumsumexp(0), x.logcumsumexp(1), x.logcumsumexp(-1)],
        "mode": lambda x: [*x.mode(1), *x.mode(0, keepdim=True), x.int().flatten().mode()[0]],
        "histc": lambda x: [x.histc(7), x.histc(5, -1, 2), (x * 0).histc(3), x.double().histc()],
    }


FAMILIES: dict[str, Family] = {
    "elementwise": Family(lambda n: (random(n, 4) * 2 - 1.4,), elementwise()),
    "activations": Family(lambda n: (random(n, 4) * 4 - 3,), activations()),
    "integers": Family(
        lambda n: (integers(n, 4), integers(n, 4, low=1)), of_integers(), dynamic=(True, True)
    ),
    "reductions": Family(lambda n: (random(n, 4, 5),), reductions()),
    "normalizations": Family(lambda n: (random(n, 4, 5, 6),), normalizations()),
    "ordered": Family(
        lambda n: ((random(n, 4, 5) * 3).round(),), ordered(), {"median": torch.median}
    ),
    "special": Family(lambda n: (random(n, 40) * 30 - 10.123,), special()),
    "running": Family(lambda n: ((random(n, 6, 5) * 3).round(),), running()),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_at_every_size(name: str) -> None:
    check_every_size(FAMILIES[name])


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_of_a_known_size(name: str) -> None:
    check_known_size(FAMILIES[name])


SPECIAL = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-9, -1e-9, 3e38])


def test_numbers_that_are_none(exec_mode: str) -> None:
    functions = {
        **named(torch, "sign", "expm1", "log1p", "relu", "round", "isnan", "isfinite", "sqrt"),
        "clamp": lambda x: [x.clamp(-1, 1), F.hardtanh(x), F.relu6(x), F.softshrink(x)],
        "running": lambda x: [*x.cummax(0), *x.cummin(0)],
        "histogram": lambda x: x.histc(4, -1, 1),
        "special": lambda x: [torch.erfc(x), torch.lgamma(x), torch.special.i0e(x.nan_to_num())],
        "extremes": lambda x: [x.max(), x.min(), x.argmax(), torch.fmax(x, x.flip(0))],
        "division": lambda x: [x / 0, x // 0.5, x % 0.5, torch.fmod(x, 0.5), x.reciprocal()],
        "comparisons": lambda x: [x == x, x > 0, x <= 0, x != 0, x.bool()],
        "order": lambda x: [*x.sort(), x.topk(3)[0]],
        "bucketize": lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0])),
        "activations": lambda x: [F.elu(x), F.threshold(x, 0, 2), F.leaky_relu(x)],
    }
    check(functions, SPECIAL)


def test_log_of_running_sums_of_a_line(exec_mode: str) -> None:
    """Blocks of near elements are summed; others, and infinities, are taken one by one."""
    generator = torch.Generator().manual_seed(0)
    near = [torch.randn(200, generator=generator) * scale for scale in (1, 1e-3, 3)]
    far = torch.cat([torch.full((128,), -1000.0), near[0], torch.arange(300.0)])
    hole = torch.cat([torch.full((70,), -float("inf")), near[0]])
    beyond = torch.cat([near[0], torch.tensor([float("inf")]), near[0]])
    spoiled = torch.cat([near[0], torch.tensor([float("nan")]), near[0]])
    for x in (*near, far, hole, beyond, spoiled, far.double(), near[0][:63], near[0][:65]):
        check({"sums": lambda x: x.logcumsumexp(0)}, x)


def test_places_of_extremes_of_long_lines(exec_mode: str) -> None:
    """Blocks without a new extreme are filled; of equal ones the last one counts, and of NaN."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(3, 400, generator=generator)
    ordered = torch.sort(drawn, 1)[0]
    early = torch.cat([torch.full((3, 1), 9.0), drawn], 1)
    again = early.clone()
    again[1, 300] = 9
    spoiled = early.clone()
    spoiled[0, 200] = spoiled[1, 399] = float("nan")
    lines = [drawn, ordered, -ordered, early, -early, again, spoiled, (drawn * 2).round()]
    functions: Functions = {"extremes": lambda x: [*x.cummax(1), *x.cummin(1)]}
    for x in (*lines, drawn[:, :127], drawn[:, :128], drawn[:, :129], drawn.double()):
        check(functions, x.contiguous())
    for dtype in (torch.int32, torch.int64):
        check(functions, (drawn * 99).to(dtype))


@pytest.mark.parametrize("shape", [(2, 4, 300), (3, 5, 128), (2, 0, 200), (2, 3, 0)])
def test_running_functions_of_many_lines(exec_mode: str, shape: tuple[int, ...]) -> None:
    """Lines are lanes, in blocks that threads share; the last block has fewer."""
    x = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 3).round()
    functions: Functions = {
        "extremes": lambda x: [*x.cummax(1), *x.double().cummin(0), *x.long().cummin(1)],
        "sums": lambda x: [x.logcumsumexp(0), x.logcumsumexp(1)],
    }
    check(functions, x)


def test_remainders_have_the_sign_of_the_dividend() -> None:
    x = torch.tensor([0.0, -0.0, -6.0, -1.0, 6.0, 7.5])
    functions: Functions = {"fmod": lambda x: torch.fmod(x, 3.0)}
    (rest,) = load(from_exported_program(export(functions, (x,))))(x)
    np.testing.assert_array_equal(np.signbit(rest.numpy()), np.signbit(x.numpy()))


def test_functions_of_float32_have_all_digits() -> None:
    functions = named(torch, "digamma", "erfc", "exp2", "lgamma", "log2", "log10")
    x = torch.cat([torch.linspace(-12, 12, 20001), SPECIAL])
    results = load(from_exported_program(export(functions, (x,))))(x)
    for (name, function), result in zip(functions.items(), results, strict=True):
        exact = function(x.double()).numpy()
        with np.errstate(invalid="ignore", over="ignore"):
            nearest = exact.astype(np.float32)
            error = np.abs(result.numpy() - exact)
            # Those of gamma are differences of float64 where they are close to 0.
            near = (error <= 1.5 * np.spacing(np.abs(nearest))) | (error < 1e-14)
        assert (near | (result.numpy() == nearest) | np.isnan(exact)).all(), name
        np.testing.assert_array_equal(np.isnan(result.numpy()), np.isnan(exact), name)


class Ordered(torch.nn.Module):
    """Orders along two dimensions that are not known."""

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [
            *torch.sort(x, dim=1, descending=True, stable=True),
            *torch.kthvalue(x, 2, 1),
            *torch.kthvalue(x, 3, 0, keepdim=True),
            torch.topk(x, 3, dim=0).values,
            torch.topk(x, 0, dim=1).values,
            torch.median(x, 1).values,
            torch.median(x),
            torch.searchsorted(torch.tensor([0.0, 0.5]), x),
        ]


def test_places_of_elements_that_are_no_numbers() -> None:
    x = random(2, 3, 7, 8)
    x[0, 0, 2:5, 1:4] = x[1, 2, 6, 7] = x[1, 0, 0, 0] = float("nan")
    x[0, 1] = float("-inf")
    functions: Functions = {
        "windows": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        "dilated": lambda x: F.max_pool2d(x, 2, 1, 1, 3, return_indices=True),
        "adaptive": lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
        "all": lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True),
    }
    check(functions, x)


def test_orders_of_dynamic_length(exec_mode: str) -> None:
    dims = {0: torch.export.Dim("n", min=3), 1: torch.export.Dim("m", min=3)}
    program = torch.export.export(Ordered(), (random(7, 9),), dynamic_shapes=(dims,))
    mod = from_exported_program(program)
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    for shape in ((7, 9), (5001, 4), (4, 5000)):
        x = random(*shape)
        for actual, expected in zip(main(x), Ordered()(x), strict=True):
            np.testing.assert_array_equal(actual.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats(dtype: torch.dtype) -> None:
    functions = {
        "ranges": lambda x: [torch.arange(4, dtype=dtype) * x, torch.arange(0, 1, 0.25).to(dtype)],
        "scaled": lambda x: [x * 2.5, x + 1, x.clamp(0.5, 1), torch.where(x > 0.5, x, 0)],
        "reduced": lambda x: [x.sum(1), x.amax(0), x.mean(), x.var(1), x.norm(dim=1)],
        "moved": lambda x: [
            F.pad(x, (1, 1)),
            x[:, [0, 2]],
            torch.cat([x, x.float()], 1),
            x.roll(1),
        ],
        "normalized": lambda x: [F.layer_norm(x, (4,)), x.softmax(1), F.rms_norm(x, (4,))],
    }
    inputs = (random(3, 4).to(dtype),)
    tolerance = {torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    main = load(from_exported_program(export(functions, inputs)), "reference")
    compare(functions, main(*inputs), inputs, tolerance)


def test_tensors_without_elements() -> None:
    functions = {
        "sums": lambda x: [x.sum(0), x.prod(0), x.any(0), x.all(0), x.sum(), x.cumsum(0)],
        "moved": lambda x: [
            torch.cat([x, x]),
            x.repeat(2, 1),
            F.pad(x, (1, 1)),
            x.flip(0),
            x[:, 1],
        ],
        "computed": lambda x: [x * 2, x.softmax(1), x @ torch.ones(4, 2), x.amax(1)],
    }
    check(functions, torch.ones(0, 4))


def test_numbers_of_elements() -> None:
    check({"item": lambda x: [x * x.max().item(), x + x.sum().long().item()]}, random(3, 4))


def test_programs_without_decompositions() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return F.relu_(y.view(-1) - 1) + y.view(-1).add_(1)

    program = export({"f": function}, (random(3, 4),))
    mod = from_exported_program(program, run_ep_decomposition=False)
    compare({"f": function}, load(mod, "reference")(random(3, 4)), (random(3, 4),))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.linalg.eigvalsh(x), r"aten\..*custom_convert_map"),
        (lambda x: x.int() ** -1, r"powers of integers .*\(File"),
        (lambda x: torch.sparse.softmax(x.to_sparse(), 1), r"aten\._sparse_softmax"),
        (
            lambda x: aten._embedding_bag(x, torch.arange(3), torch.tensor([0, 1]), mode=1)[2],
            r"result 2, which is for gradients .*\(File",
        ),
    ],
    ids=["eigenvalues", "powers", "sparse", "bags"],
)
def test_error_operators_that_are_not_supported(function: Any, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        from_exported_program(export({"f": function}, (random(4, 4),)))
