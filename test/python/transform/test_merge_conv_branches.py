"""Convolutions of one tensor that are added become one."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform import MergeConvBranches
from torch import nn

RNG = np.random.default_rng(0)
CHANNELS = 6


def array(*shape):
    return RNG.standard_normal(shape).astype("float32")


def build(write, dims=("h", "w"), dtype="float32"):
    x = relax.Var("x", relax.TensorStructInfo(("n", CHANNELS, *dims), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(write(x))
    return bb.get()


def count(mod, name="conv2d") -> int:
    return str(mod).count(f"relax.{name} ")


def conv(x, weight, **options):
    write = {3: op.nn.conv1d, 4: op.nn.conv2d, 5: op.nn.conv3d}[weight.ndim]
    return write(x, op.const(weight), **options)


def expected_conv(x, weight, padding=0, strides=1, dilation=1, groups=1):
    write = {3: nn.functional.conv1d, 4: nn.functional.conv2d, 5: nn.functional.conv3d}
    weight = torch.from_numpy(weight).double()
    return write[weight.ndim](x, weight, None, strides, padding, dilation, groups)


def check(mod, expected, exec_mode, dims=(9, 8)):
    x = array(2, CHANNELS, *dims)
    got = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["main"](x)
    wanted = expected(torch.from_numpy(x).double()).numpy()
    np.testing.assert_allclose(np.from_dlpack(got), wanted, rtol=1e-4, atol=1e-4)


OPTIONS = {
    "padded": ({"padding": 1}, {}),
    "strides": ({"padding": 1, "strides": 2}, {"strides": 2}),
    "groups": ({"padding": 1, "groups": 2}, {"groups": 2}),
    "depthwise": ({"padding": 1, "groups": CHANNELS}, {"groups": CHANNELS}),
    "dilation": ({"padding": 2, "dilation": 2}, {}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_window_of_one_element(name, exec_mode):
    large, small = OPTIONS[name]
    inputs = CHANNELS // large.get("groups", 1)
    weights = array(CHANNELS, inputs, 3, 3), array(CHANNELS, inputs, 1, 1)

    def sum_of(run, x):
        return run(x, weights[0], **large) + run(x, weights[1], **small)

    mod = MergeConvBranches()(
        build(lambda x: op.add(conv(x, weights[0], **large), conv(x, weights[1], **small)))
    )
    assert count(mod) == 1
    check(mod, lambda x: sum_of(expected_conv, x), exec_mode)


def test_window_within_a_corner(exec_mode):
    # (1, 2) of the first window is (0, 0) of the second one.
    large, small = array(4, CHANNELS, 3, 5), array(4, CHANNELS, 2, 3)
    mod = build(
        lambda x: op.add(conv(x, small, padding=(0, 0, 1, 0)), conv(x, large, padding=(1, 2, 1, 0)))
    )
    mod = MergeConvBranches()(mod)
    assert count(mod) == 1

    def expected(x):
        def padded(left, top, right, bottom):
            return nn.functional.pad(x, (left, right, top, bottom))

        return expected_conv(padded(0, 0, 0, 1), small) + expected_conv(padded(2, 1, 0, 1), large)

    check(mod, expected, exec_mode)


@pytest.mark.parametrize("groups", [1, 2, CHANNELS])
@pytest.mark.parametrize("leading", [(), (1,)])
def test_number_for_each_channel(groups, leading, exec_mode):
    weight, scale = array(CHANNELS, CHANNELS // groups, 3, 3), array(*leading, CHANNELS, 1, 1)
    mod = build(
        lambda x: op.add(op.multiply(op.const(scale), x), conv(x, weight, padding=1, groups=groups))
    )
    mod = MergeConvBranches()(mod)
    assert (count(mod), count(mod, "multiply")) == (1, 0)

    def expected(x):
        return expected_conv(x, weight, 1, groups=groups) + torch.from_numpy(scale) * x

    check(mod, expected, exec_mode)


@pytest.mark.parametrize("dims", [("h",), ("d", "h", "w")])
def test_other_ranks(dims, exec_mode):
    ones = [1] * len(dims)
    large, small = array(4, CHANNELS, *[3 for _ in ones]), array(4, CHANNELS, *ones)
    mod = MergeConvBranches()(
        build(lambda x: op.add(conv(x, large, padding=1), conv(x, small)), dims)
    )
    assert count(mod, f"conv{len(dims)}d") == 1

    def expected(x):
        return expected_conv(x, large, 1) + expected_conv(x, small)

    check(mod, expected, exec_mode, [5, 6, 4][: len(dims)])


def test_sums_and_what_else_they_add(exec_mode):
    weights = array(CHANNELS, CHANNELS, 3, 3), array(CHANNELS, CHANNELS, 1, 1)
    biases = array(CHANNELS, 1, 1), array(CHANNELS, 1, 1)
    scale = array(CHANNELS, 1, 1)

    def write(x):
        branches = [
            op.add(conv(x, weights[0], padding=1), op.const(biases[0])),
            op.add(op.sin(x), op.add(conv(x, weights[1]), op.const(biases[1]))),
            op.multiply(x, op.const(scale)),
        ]
        return op.nn.relu(op.add(op.add(branches[0], branches[1]), branches[2]))

    mod = MergeConvBranches()(build(write))
    assert (count(mod), count(mod, "multiply")) == (1, 0)

    def expected(x):
        total = expected_conv(x, weights[0], 1) + expected_conv(x, weights[1]) + torch.sin(x)
        for number in biases:
            total = total + torch.from_numpy(number)
        return torch.relu(total + x * torch.from_numpy(scale))

    check(mod, expected, exec_mode)


def test_groups_of_two_tensors(exec_mode):
    weights = [array(CHANNELS, CHANNELS, size, size) for size in (3, 1, 3, 1)]

    def parts(run, x, y):
        data = zip((x, x, y, y), weights, strict=True)
        return [run(z, weight, padding=weight.shape[2] // 2) for z, weight in data]

    def write(x):
        first, second, third, last = parts(conv, x, op.sin(x))
        return op.add(op.add(first, third), op.add(last, second))

    mod = MergeConvBranches()(build(write))
    assert count(mod) == 2

    check(mod, lambda x: sum(parts(expected_conv, x, torch.sin(x))), exec_mode)


LARGE, SMALL = array(CHANNELS, CHANNELS, 3, 3), array(CHANNELS, CHANNELS, 1, 1)
STAY = {
    "another tensor": lambda x: op.add(conv(x, LARGE, padding=1), conv(op.sin(x), SMALL)),
    "beyond the window": lambda x: op.add(
        conv(x, LARGE, padding=(0, 0, 2, 2)),
        conv(x, array(CHANNELS, CHANNELS, 1, 3), padding=(0, 1)),
    ),
    "between the elements of the window": lambda x: op.add(
        conv(x, array(CHANNELS, CHANNELS, 2, 2), padding=1, dilation=2), conv(x, SMALL)
    ),
    "broadcast": lambda x: op.add(conv(x, LARGE, padding=1), conv(x, array(1, CHANNELS, 1, 1))),
    "other groups": lambda x: op.add(
        conv(x, LARGE, padding=1), conv(x, array(CHANNELS, 1, 1, 1), groups=CHANNELS)
    ),
}


@pytest.mark.parametrize("name", STAY)
def test_others_stay(name):
    mod = build(STAY[name])
    assert str(MergeConvBranches()(mod)) == str(mod)
    assert count(mod) == 2


def test_a_branch_with_another_use_stays():
    def write(x):
        small = conv(x, SMALL)
        return op.add(op.add(conv(x, LARGE, padding=1), small), op.nn.relu(small))

    mod = build(write)
    assert str(MergeConvBranches()(mod)) == str(mod)


def test_halves_stay():
    def write(x):
        weights = [op.const(weight.astype("float16")) for weight in (LARGE, SMALL)]
        return op.add(op.nn.conv2d(x, weights[0], padding=1), op.nn.conv2d(x, weights[1]))

    mod = build(write, dtype="float16")
    assert str(MergeConvBranches()(mod)) == str(mod)


def test_parameters_stay():
    x = relax.Var("x", relax.TensorStructInfo(("n", CHANNELS, 8, 8), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((CHANNELS, CHANNELS, 1, 1), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        bb.emit_func_output(op.add(conv(x, LARGE, padding=1), op.nn.conv2d(x, w)))
    mod = bb.get()
    assert str(MergeConvBranches()(mod)) == str(mod)


def test_functions_that_update_tensors_stay():
    def write(x):
        own = op.sin(x)
        small, large = conv(own, SMALL), conv(own, LARGE, padding=1)
        new = op.call_inplace_packed("f", own, inplace_indices=[0], sinfo_args=x.struct_info)
        return op.add(op.add(small, large), new)

    mod = build(write)
    assert str(MergeConvBranches()(mod)) == str(mod)


class Block(nn.Module):
    """A block of RepVGG, as it is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.large = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False)
        self.small = nn.Conv2d(CHANNELS, CHANNELS, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(CHANNELS) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        large, small, identity = self.norms
        return torch.relu(large(self.large(x)) + small(self.small(x)) + identity(x))


def test_a_block_of_a_network_is_one_convolution(tmp_path, exec_mode):
    torch.manual_seed(0)
    model = Block()
    for norm in model.norms:
        nn.init.uniform_(norm.running_mean)
        nn.init.uniform_(norm.running_var, 0.5, 2)
    model.eval()
    x = torch.randn(2, CHANNELS, 7, 7)
    mod = from_exported_program(torch.export.export(model, (x,)))
    exe = relax.compile(mod, dump_phases=tmp_path, exec_mode=exec_mode)
    optimized = sorted(tmp_path.iterdir())[2].read_text()
    assert (count_of(optimized, "conv2d"), count_of(optimized, "add")) == (1, 1)
    got = np.from_dlpack(relax.VirtualMachine(exe)["main"](x)[0])
    np.testing.assert_allclose(got, model(x).detach().numpy(), rtol=1e-4, atol=1e-4)


def count_of(text: str, name: str) -> int:
    return text.count(f"relax.{name} ")
