"""Optimizers and losses against PyTorch, and what they refuse."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir.training import loss, optimizer

SHAPES = ((3, 4), (5,))
OPTIMIZERS = {
    "sgd": (optimizer.SGD(0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "sgd-decay": (
        optimizer.SGD(0.1, 0.02),
        lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.02),
    ),
    "momentum": (optimizer.MomentumSGD(0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, 0.9)),
    "nesterov": (
        optimizer.MomentumSGD(0.1, 0.9, weight_decay=0.01, nesterov=True),
        lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01, nesterov=True),
    ),
    "adam": (optimizer.Adam(0.01), lambda p: torch.optim.Adam(p, 0.01)),
    "adam-decay": (
        optimizer.Adam(0.01, (0.8, 0.9), 1e-6, 0.03),
        lambda p: torch.optim.Adam(p, 0.01, (0.8, 0.9), 1e-6, 0.03),
    ),
}


def arrays(rng):
    return [rng.standard_normal(shape).astype("float32") for shape in SHAPES]


def numpy(fields):
    return tuple(np.from_dlpack(field) for field in fields)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_pytorch(name, exec_mode):
    ours, theirs = OPTIMIZERS[name]
    variables = [
        relax.Var(f"w{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(SHAPES)
    ]
    function = ours.init(variables).get_function()
    mod = relax.IRModule({"step": function})
    step = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["step"]
    rng = np.random.default_rng(0)
    params, state = tuple(arrays(rng)), ours.state
    expected = [torch.tensor(param, requires_grad=True) for param in params]
    reference = theirs(expected)
    for _ in range(5):
        gradients = arrays(rng)
        for tensor, gradient in zip(expected, gradients, strict=True):
            tensor.grad = torch.tensor(gradient)
        reference.step()
        new_params, new_state = step(params, tuple(gradients), state)
        params, state = numpy(new_params), numpy(new_state)
        for param, tensor in zip(params, expected, strict=True):
            np.testing.assert_allclose(param, tensor.detach().numpy(), rtol=2e-5, atol=2e-6)
    assert state[0] == 5


def test_dampening():
    """PyTorch does not dampen the first step; the formula of TVM dampens each."""
    w = relax.Var("w", relax.TensorStructInfo((2,), "float32"))
    made = optimizer.MomentumSGD(0.5, 0.5, dampening=0.25).init(w)
    mod = relax.IRModule({"step": made.get_function()})
    step = relax.VirtualMachine(relax.compile(mod))["step"]
    x, g = np.array([1, 2], "float32"), np.array([4, -4], "float32")
    params, state = (numpy(each) for each in step((x,), (g,), made.state))
    np.testing.assert_allclose(state[1], 0.75 * g)
    np.testing.assert_allclose(params[0], x - 0.5 * 0.75 * g)


def test_error_no_parameters():
    with pytest.raises(RuntimeError, match=r"expected SGD\.init before SGD\.get_function"):
        optimizer.SGD(0.1).get_function()
    unknown = relax.Var("w", relax.TensorStructInfo(("n",), "float32"))
    with pytest.raises(ValueError, match="static"):
        optimizer.SGD(0.1).init(unknown)
    x, y = (
        relax.Var(n, relax.TensorStructInfo((2,), t))
        for n, t in (("x", "float32"), ("y", "float64"))
    )
    with pytest.raises(ValueError, match="data type"):
        optimizer.SGD(0.1).init([x, y])


def run(made, exec_mode, *args):
    mod = relax.IRModule({"loss": made})
    return np.from_dlpack(
        relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["loss"](*args)
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(loss.L1Loss, torch.nn.L1Loss), (loss.MSELoss, torch.nn.MSELoss)],
    ids=["l1", "mse"],
)
def test_distances(ours, theirs, reduction, exec_mode):
    x, y = (np.random.default_rng(i).standard_normal((6, 3)).astype("float32") for i in (0, 1))
    type_ = relax.TensorStructInfo(("n", 3), "float32")
    result = run(ours(reduction)(type_, type_), exec_mode, x, y)
    expected = theirs(reduction=reduction)(torch.tensor(x), torch.tensor(y))
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("ignored", [-100, 2])
def test_cross_entropy(reduction, is_weighted, ignored, exec_mode):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, 4)).astype("float32")
    y = np.array([0, 1, 2, 3, 2, 1, 0])
    weights = np.array([1, 2, 0.5, 3], "float32")
    types = [
        relax.TensorStructInfo(("n", 4), "float32"),
        relax.TensorStructInfo(("n",), "int64"),
        *([relax.TensorStructInfo((4,), "float32")] if is_weighted else []),
    ]
    made = loss.CrossEntropyLoss(reduction, ignored)(*types)
    result = run(made, exec_mode, x, y, *([weights] if is_weighted else []))
    expected = torch.nn.CrossEntropyLoss(
        torch.tensor(weights) if is_weighted else None, reduction=reduction, ignore_index=ignored
    )(torch.tensor(x), torch.tensor(y))
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-6)


def test_error_of_an_unknown_reduction():
    with pytest.raises(ValueError, match=r"expected a reduction \(.*mean.*\), but got 'average'"):
        loss.MSELoss("average")
