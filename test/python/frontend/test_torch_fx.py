"""Graphs of torch.fx against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir.frontend.torch import from_fx, relax_dynamo
from torch import nn


class Block(nn.Module):
    """Modules, functions, methods and operators, as tracing names them."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x, y):
        x = nn.functional.relu(self.norm(self.conv(x)))
        x = x.mean((2, 3)) + y
        return self.head(x), x * 2


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Block().eval()


def run(mod, *arrays):
    results = relax.VirtualMachine(relax.compile(mod))["main"](*arrays)
    return [np.from_dlpack(result) for result in results]


def check(results, expected):
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_static_sizes(model):
    graph = torch.fx.symbolic_trace(model)
    mod = from_fx(graph, [((2, 3, 8, 8), "float32"), ((2, 8), torch.float32)])
    x, y = torch.rand(2, 3, 8, 8), torch.rand(2, 8)
    check(run(mod, x.numpy(), y.numpy()), model(x, y))
    assert mod["main"].params[0].struct_info.shape == relax.ShapeExpr([2, 3, 8, 8])


@pytest.mark.parametrize(("batch", "height"), [(1, 4), (3, 9)])
def test_dynamic_sizes(model, batch, height):
    graph = torch.fx.symbolic_trace(model)
    mod = from_fx(graph, [(("n", 3, "h", 8), "float32"), (("n", 8), "float32")])
    assert mod["main"].params[0].struct_info.shape == relax.ShapeExpr(["n", 3, "h", 8])
    x, y = torch.rand(batch, 3, height, 8), torch.rand(batch, 8)
    check(run(mod, x.numpy(), y.numpy()), model(x, y))


def test_parameters_as_inputs():
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    mod = from_fx(
        torch.fx.symbolic_trace(model),
        [((3, 4), "float32")],
        keep_params_as_input=True,
        no_bind_return_tuple=True,
    )
    assert mod["main"].attrs["num_input"].value == 1
    mod, params = relax.frontend.detach_params(mod)
    assert not mod.params
    x = torch.rand(3, 4)
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    check(main(x, *params["main"]), [model(x)])


@pytest.mark.parametrize(
    ("model", "input_info", "options", "error", "expected"),
    [
        (nn.ReLU(), [((2,), "float32")], {}, TypeError, "expected model to be a GraphModule"),
        ("graph", [], {}, ValueError, r"of 1 inputs \(input_1\), but got 0"),
        ("graph", [((2,), "float33")], {}, ValueError, "data type for input 'input_1', but got"),
        (
            "graph",
            [(("n +",), "float32")],
            {},
            ValueError,
            r"for input 'input_1', but got \('n \+',",
        ),
        ("graph", [((-1,), "float32")], {}, ValueError, r"for input 'input_1', but got \(-1,"),
        ("graph", [(2, "float32")], {}, ValueError, "for input 'input_1', but got 2"),
        (
            "linear",
            [((2, 5), "float32")],
            {},
            ValueError,
            r"such as \[2, 5\] it fails: a and b must",
        ),
        (
            "graph",
            [((2,), "float32")],
            {"default_image_layout": "NHWC"},
            ValueError,
            "expected the layout of PyTorch, 'NCHW', but got 'NHWC'",
        ),
    ],
)
def test_errors(model, input_info, options, error, expected):
    modules = {"graph": nn.ReLU(), "linear": nn.Linear(4, 2)}
    graph = torch.fx.symbolic_trace(modules[model]) if model in modules else model
    with pytest.raises(error, match=expected):
        from_fx(graph, input_info, **options)


@pytest.mark.parametrize("pipeline", [None, "zero", relax.get_pipeline("zero")])
def test_backend_with_a_pipeline(model, pipeline):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=relax_dynamo(pipeline), options={"fallback": False})
    x, y = torch.rand(2, 3, 8, 8), torch.rand(2, 8)
    with torch.no_grad():
        check([result.numpy() for result in compiled(x, y)], model(x, y))


class Slices(nn.Module):
    """Sizes that are computed, and an operator that PyTorch decomposes."""

    def forward(self, x, y):
        return torch.cat([x, y], 1).exp2(), nn.functional.huber_loss(x, x)


def test_sizes_have_the_names_of_dims():
    n, m, k = (torch.export.Dim(name, max=64) for name in ("batch", "m", "s31"))
    x, y = torch.rand(3, 5), torch.rand(3, 7)
    program = torch.export.export(Slices(), (x, y), dynamic_shapes=({0: n, 1: m}, {0: n, 1: k}))
    main = relax.frontend.torch.from_exported_program(program)["main"]
    assert main.params[0].struct_info.shape == relax.ShapeExpr(["batch", "m"])
    rows, columns = main.ret_struct_info.fields[0].shape
    assert rows == relax.Dim("batch")
    assert "<m + " in str(columns)
    upper = {item.name: item.attr.value for item in main.attrs["tir_var_upper_bound"]}
    assert upper["batch"] == upper["m"] == 64
