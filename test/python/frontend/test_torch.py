# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch give the results that PyTorch gives, at every size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir
import torch
from relax_mlir import op
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)

N = torch.export.Dim("n", min=1, max=4096)


class Model(nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.function(*arguments)


class Call(nn.Module):
    """A module that is called with one tensor."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)


def export(model: nn.Module, *arguments: torch.Tensor, dims: Any = None) -> Any:
    torch.manual_seed(0)
    return torch.export.export(model.eval(), arguments, dynamic_shapes=dims)


def run(mod: Any, *arguments: torch.Tensor) -> Any:
    return relax_mlir.VirtualMachine(relax_mlir.compile(mod))["main"](*arguments)


def check(model: nn.Module, *arguments: torch.Tensor, tolerance: float = 1e-5) -> None:
    """Compare the results of one set of arguments, exported as they are."""
    mod = from_exported_program(export(model, *arguments))
    compare(model, run(mod, *arguments), arguments, tolerance)


def compare(model: nn.Module, got: Any, arguments: Any, tolerance: float = 1e-5) -> None:
    with torch.no_grad():
        wanted = model(*arguments)
    wanted = wanted if isinstance(wanted, (tuple, list)) else [wanted]
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted, strict=True):
        ours = torch.from_dlpack(ours)
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def random(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(len(shape))) + 0.25


X = random(3, 4)
INTEGERS = torch.tensor([[1, -2, 3], [4, 5, -6]])

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    **{
        name: (getattr(torch, name), X - 0.5 * (name not in ("log", "rsqrt", "sqrt")))
        for name in [
            "abs",
            "ceil",
            "cos",
            "erf",
            "erfinv",
            "exp",
            "floor",
            "log",
            "neg",
            "relu",
            "round",
            "rsqrt",
            "sigmoid",
            "sign",
            "sin",
            "sqrt",
            "tanh",
            "reciprocal",
            "square",
        ]
    },
    "silu": (F.silu, X),
    "gelu": (F.gelu, X),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), X),
    "leaky_relu": (lambda x: F.leaky_relu(x - 0.5, 0.1), X),
    "relu6": (lambda x: F.relu6(x * 10), X),
    "clamp": (lambda x: torch.clamp(x, 0.3, 0.9), X),
    "add_alpha": (lambda x, y: torch.add(x, y, alpha=2), X, X + 1),
    "rsub": (lambda x: 2 - x, X),
    "mixed_types": (lambda x, y: x[:2, :3] * y + 1, X, INTEGERS),
    "integer_division": (lambda x: x / 2, INTEGERS),
    "compare": (lambda x: (x > 0.5, x <= 0.5, x != 0), X),
    "compare_types": (lambda x, y: x > y, INTEGERS, X[:2, :3]),
    "where": (lambda x: torch.where(x > 0.5, x, 0.0), X),
    "masked_fill": (lambda x: x.masked_fill(x > 0.5, -1.0), X),
    "pow": (lambda x: x**3, X),
    "to": (lambda x: x.to(torch.int32), X * 10),
    "sum": (lambda x: x.sum(), X),
    "sum_axis": (lambda x: x.sum(-1, keepdim=True), X),
    "mean": (lambda x: x.mean((0, 1)), X),
    "amax": (lambda x: x.amax(0), X),
    "softmax": (lambda x: x.softmax(0), X),
    "log_softmax": (lambda x: x.log_softmax(-1), X),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), X),
    "matmul": (torch.matmul, random(2, 3, 4), random(4, 5)),
    "addmm": (lambda b, x, y: torch.addmm(b, x, y, beta=2, alpha=3), random(5), X, random(4, 5)),
    "bmm": (torch.bmm, random(2, 3, 4), random(2, 4, 5)),
    "attention": (F.scaled_dot_product_attention, *[random(2, 3, 4, 8) for _ in range(3)]),
    "attention_mask": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, m > 0.5, scale=0.3),
        random(1, 2, 4, 8),
        random(4, 4) + torch.eye(4),
    ),
    "attention_causal": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True),
        random(1, 2, 5, 8),
        random(1, 2, 7, 8),
    ),
    "attention_grouped": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, scale=0.3, enable_gqa=True),
        random(2, 6, 5, 8),
        random(2, 2, 7, 8),
    ),
    "view": (lambda x: x.view(2, -1), X),
    "flatten": (lambda x: x.flatten(1), random(2, 3, 4)),
    "squeeze": (lambda x: x.squeeze(1).unsqueeze(-1), random(2, 1, 3)),
    "permute": (lambda x: x.permute(2, 0, 1), random(2, 3, 4)),
    "transpose": (lambda x: x.transpose(-1, 0).t(), X),
    "expand": (lambda x: x.expand(5, -1, 4), random(3, 1)),
    "cat": (lambda x, y: torch.cat([x, y], 1), X, X + 1),
    "stack": (lambda x, y: torch.stack([x, y], -1), X, X + 1),
    "chunk": (lambda x: x.chunk(3, -1), random(2, 7)),
    "split": (lambda x: x.split([1, 2], 0), X),
    "embedding": (F.embedding, INTEGERS.abs(), random(7, 4)),
    "slice": (lambda x: x[1:, -3:-1], X),
    "slice_step": (lambda x: x[:, 1::2], random(2, 7)),
    "select": (lambda x: (x[1], x[:, -1]), X),
    "conv1d": (lambda x, w: F.conv1d(x, w, None, 2, 1), random(2, 3, 9), random(4, 3, 3)),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2),
        random(1, 4, 9, 8),
        random(6, 2, 3, 2),
        random(6),
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x - 0.7, 3, 2, 1), random(2, 3, 8, 9)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, (2, 3), padding=1), random(2, 3, 8, 9)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 1)), random(1, 2, 8, 9)),
    "zeros_like": (lambda x: torch.zeros_like(x) + torch.ones_like(x) + x, X),
    "decomposed": (lambda x: F.softsign(x) + F.hardswish(x), X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function, *arguments = FUNCTIONS[name]
    if name == "mixed_types":
        arguments[0] = arguments[0][:2, :3].contiguous()
        function = lambda x, y: x * y + 1  # noqa: E731
    check(Model(function), *arguments)


@pytest.mark.parametrize("sizes", [[2, 1, 33]])
def test_linear_layers_at_every_size(sizes: list[int], exec_mode: str) -> None:
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3, bias=False))
    mod = from_exported_program(export(model, random(2, 4), dims=({0: N},)))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod))["main"]
    for n in sizes:
        compare(model, main(random(n, 4)), [random(n, 4)])


class Layer(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width // heads
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, self.width)).transpose(1, 2)
            for part in self.qkv(self.norm(x)).chunk(3, dim=-1)
        )
        attended = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(attended.transpose(1, 2).flatten(2))


def test_transformer_layer_at_every_length(exec_mode: str) -> None:
    model = Layer(16, 4)
    mod = from_exported_program(export(model, random(1, 8, 16), dims=({1: N},)))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod))["main"]
    for n in (8, 1, 19):
        compare(model, main(random(1, n, 16)), [random(1, n, 16)])


def test_residual_block_at_every_batch_size(exec_mode: str) -> None:
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
    norm.running_mean, norm.running_var = random(4), random(4) + 0.5
    model = Model(lambda x: torch.relu(norm(conv(x)) + x).mean((2, 3)))
    model.conv, model.norm = conv, norm
    program = export(model, random(2, 4, 6, 5), dims={"arguments": ({0: N},)})
    main = relax_mlir.VirtualMachine(relax_mlir.compile(from_exported_program(program)))["main"]
    for n in (2, 1, 5):
        compare(model, main(random(n, 4, 6, 5)), [random(n, 4, 6, 5)])


def test_programs_that_are_decomposed_already() -> None:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 3)).eval()
    program = export(model, X).run_decompositions()
    compare(model, run(from_exported_program(program), X), [X])


def test_sizes_that_are_computed() -> None:
    model = Model(lambda x, y: torch.cat([x, y, x]).view(-1) * 2)
    arguments = random(3, 4), random(5, 4)
    m = torch.export.Dim("m", min=1)
    program = export(model, *arguments, dims={"arguments": ({0: N}, {0: m})})
    main = relax_mlir.VirtualMachine(relax_mlir.compile(from_exported_program(program)))["main"]
    for given in (arguments, (random(1, 4), random(2, 4))):
        compare(model, main(*given), given)


def test_parameters_as_inputs() -> None:
    model = nn.Linear(4, 3)
    mod = from_exported_program(
        export(model, X), keep_params_as_input=True, unwrap_unit_return_tuple=True
    )
    assert mod["main"].attributes["num_input"].value == 1
    got = run(mod, X, model.weight.detach(), model.bias.detach())
    torch.testing.assert_close(torch.from_dlpack(got), model(X).detach())


def test_buffers_and_constants() -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", random(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.shift + torch.tensor([1.0, 2.0, 3.0, 4.0])

    check(Shifted(), X)


def test_custom_conversion() -> None:
    program = export(Model(torch.relu), X - 0.5)
    mod = from_exported_program(
        program, custom_convert_map={"aten.relu.default": lambda graph, x: op.exp(x)}
    )
    torch.testing.assert_close(torch.from_dlpack(run(mod, X)[0]), torch.exp(X))


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (lambda graph, x: None, "expected the converter to return a value, but got None"),
        (lambda graph, x: [x], "expected the converter to return a value, but got "),
        (lambda graph, x: op.sum(x), r"tensor<\[3, 4\], f32>, but got !relax.tensor<\[\], f32>"),
    ],
)
def test_error_of_what_a_custom_conversion_returns(convert: Any, message: str) -> None:
    program = export(Model(torch.relu), torch.rand(3, 4))
    with pytest.raises(NotImplementedError, match=message):
        from_exported_program(program, custom_convert_map={"aten.relu.default": convert})


def test_custom_conversion_of_several_results_and_of_unknown_shape() -> None:
    x = torch.rand(3, 4)
    split = {"aten.split.Tensor": lambda graph, x, size, axis=0: op.split(x, 3, axis)}
    program = export(Model(lambda x: torch.split(x, 1)[1]), x)
    with pytest.raises(NotImplementedError, match="converter to return 3 values, but got "):
        from_exported_program(program, custom_convert_map={"aten.split.Tensor": lambda *_: []})
    kept = {"custom_convert_map": split, "run_ep_decomposition": False}
    assert from_exported_program(program, **kept) is not None
    unknown = relax_mlir.TensorStructInfo(ndim=2, dtype="float32")
    relu = {"aten.relu.default": lambda graph, x: op.call_pure_packed("f", x, sinfo_args=[unknown])}
    program = export(Model(torch.relu), x)
    assert from_exported_program(program, custom_convert_map=relu) is not None


def test_error_of_the_name_of_a_custom_conversion() -> None:
    program = export(Model(torch.relu), X)
    with pytest.raises(
        ValueError, match=r"but got 'aten\.relux\.default'; did you mean 'aten\.relu"
    ):
        from_exported_program(program, custom_convert_map={"aten.relux.default": op.exp})
    # Those of libraries that are not there are in no program.
    others = {"nowhere.relu.default": op.exp}
    assert from_exported_program(program, custom_convert_map=others) is not None


def test_error_operator_without_conversion() -> None:
    program = export(Model(torch.linalg.eigvalsh), random(3, 3))
    with pytest.raises(NotImplementedError, match=r"no conversion of aten\..*custom_convert_map"):
        from_exported_program(program)


def test_error_arguments_without_conversion() -> None:
    def mean(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.avg_pool2d(x, 2, ceil_mode=True, divisor_override=3)

    with pytest.raises(NotImplementedError, match=r"aten\.avg_pool2d.* with ceil_mode"):
        from_exported_program(export(Model(mean), random(1, 1, 5, 5)))


class _Halves(nn.Module):
    """Parameters, a buffer, a tensor of the program and one of numbers alone."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.norm = nn.LayerNorm(3)
        self.register_buffer("shift", torch.linspace(-1, 1, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        factors = torch.tensor([1.0, 2.0, 3.0], dtype=self.shift.dtype)
        ones = torch.ones(3, dtype=self.shift.dtype)
        return self.norm(self.linear(x)) * factors + self.shift * ones


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_models_of_half_floats(dtype: torch.dtype, mode: str) -> None:
    torch.manual_seed(0)
    model = _Halves().to(dtype).eval()
    x = torch.randn(2, 4).to(dtype)
    mod = from_exported_program(torch.export.export(model, (x,)))
    with torch.no_grad():
        vm = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=mode))
        (got,) = vm["main"](x)
        assert got.dtype == dtype
        torch.testing.assert_close(got, model(x), rtol=2e-2, atol=2e-2)


def test_constants_of_float8() -> None:
    weights = torch.tensor([0.5, -1.0, 448.0]).to(torch.float8_e4m3fn)

    class Scale(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.weights.to(torch.float32)

    model = Scale()
    model.register_buffer("weights", weights)
    mod = from_exported_program(export(model, torch.ones(3)))
    assert "dense<[5.000000e-01, -1.000000e+00, 4.480000e+02]> : tensor<3xf8E4M3FN>" in str(mod)


def test_gradients_that_are_lost_are_warned_of() -> None:
    program = """
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %0 : !relax.tensor<[n], f32>
    }"""
    main = relax_mlir.VirtualMachine(relax_mlir.compile(program))["main"]
    for x in (torch.zeros(2, requires_grad=True), nn.Parameter(torch.zeros(2))):
        with pytest.warns(UserWarning, match="requires a gradient") as caught:
            main(x)
            main(x=x)
        assert {each.filename for each in caught} == {__file__}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        main(torch.zeros(2, requires_grad=True))
        main(torch.zeros(2))
