"""Batch normalization after a convolution becomes part of its weights."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform import FoldBatchnormToConv2D
from torch import nn

RNG = np.random.default_rng(0)
CHANNELS = 6


def array(*shape):
    return RNG.standard_normal(shape).astype("float32")


WEIGHT = array(CHANNELS, 4, 3, 3)
GAMMA, BETA, MEAN = array(CHANNELS), array(CHANNELS), array(CHANNELS)
VARIANCE = abs(array(CHANNELS)) + 0.1


def names(mod) -> list[str]:
    return [found.operation.name for found in mod["main"].body.blocks[0].operations]


def build(write, channels=4):
    x = relax.Var("x", relax.TensorStructInfo(("n", channels, "h", "w"), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(write(x))
    return bb.get()


def run(mod, *arguments, **options):
    return relax.VirtualMachine(relax.compile(mod, **options))["main"](*arguments)


def normalized(x, weight=WEIGHT, options=None, **norm):
    y = op.nn.conv2d(x, op.const(weight), **(options or {}))
    return op.nn.batch_norm(
        y, GAMMA, BETA, MEAN, VARIANCE, **{"axis": 1, "training": False, **norm}
    )


def expected(x, weight=WEIGHT, gamma=GAMMA, beta=BETA, **options):
    def tensor(array):
        return torch.from_numpy(array.astype("float64"))

    y = nn.functional.conv2d(tensor(x), tensor(weight), **options)
    return nn.functional.batch_norm(
        y, tensor(MEAN), tensor(VARIANCE), tensor(gamma), tensor(beta), eps=1e-5
    ).numpy()


@pytest.mark.parametrize(("scale", "center"), [(True, True), (False, True), (True, False)])
def test_batch_norm(scale, center, exec_mode):
    mod = build(lambda x: normalized(x, scale=scale, center=center)[0])
    folded = FoldBatchnormToConv2D()(mod)
    assert "relax.batch_norm" not in names(folded)
    x = array(2, 4, 9, 8)
    gamma = GAMMA if scale else np.ones_like(GAMMA)
    beta = BETA if center else np.zeros_like(BETA)
    got = np.from_dlpack(run(folded, x))
    np.testing.assert_allclose(got, expected(x, gamma=gamma, beta=beta), rtol=1e-4, atol=1e-4)


def test_is_part_of_compilation(tmp_path):
    mod = build(lambda x: normalized(x)[0])
    x = array(1, 4, 7, 7)
    got = np.from_dlpack(run(mod, x, dump_phases=tmp_path))
    np.testing.assert_allclose(got, expected(x), rtol=1e-4, atol=1e-4)
    texts = [path.read_text() for path in sorted(tmp_path.iterdir())]
    assert "relax.batch_norm" in texts[0]
    assert not any("relax.batch_norm" in text for text in texts[2:])


def test_moving_statistics_stay_what_they_are():
    def write(x):
        norm = normalized(x)
        return op.add(norm[1], norm[2])

    mod = build(write)
    got = np.from_dlpack(run(FoldBatchnormToConv2D()(mod), array(1, 4, 5, 5)))
    np.testing.assert_array_equal(got, MEAN + VARIANCE)


LAYOUTS = [
    {"data_layout": "NHWC", "kernel_layout": "OIHW"},
    {"data_layout": "NCHW", "kernel_layout": "HWIO"},
    {"data_layout": "NCHW", "kernel_layout": "OIHW", "out_layout": "NHWC"},
]


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_layouts(layouts):
    out_layout = layouts.get("out_layout", layouts["data_layout"])
    kernel = WEIGHT if layouts["kernel_layout"] == "OIHW" else WEIGHT.transpose(2, 3, 1, 0).copy()
    axis = out_layout.index("C")
    nhwc = layouts["data_layout"] == "NHWC"
    shape = ("n", 7, 8, 4) if nhwc else ("n", 4, 7, 8)
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        norm = normalized(x, kernel, layouts, axis=axis)
        bb.emit_func_output(norm[0])
    folded = FoldBatchnormToConv2D()(bb.get())
    assert "relax.batch_norm" not in names(folded)
    data = array(2, 4, 7, 8)
    got = np.from_dlpack(run(folded, data.transpose(0, 2, 3, 1).copy() if nhwc else data))
    exact = expected(data)
    exact = exact.transpose(0, 2, 3, 1) if out_layout == "NHWC" else exact
    np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-4)


def test_groups():
    weight = array(CHANNELS, 2, 3, 3)
    mod = build(lambda x: normalized(x, weight, {"groups": 2})[0])
    folded = FoldBatchnormToConv2D()(mod)
    assert "relax.batch_norm" not in names(folded)
    x = array(1, 4, 6, 6)
    got = np.from_dlpack(run(folded, x))
    np.testing.assert_allclose(got, expected(x, weight, groups=2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("affine", [False, True])
def test_torch(bias, affine):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1, bias=bias), nn.BatchNorm2d(8, affine=affine), nn.ReLU()
    ).eval()
    norm = model[1]
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.5, 2)
    if affine:
        nn.init.uniform_(norm.weight, -1, 1)
        nn.init.uniform_(norm.bias, -1, 1)
    x = torch.randn(2, 3, 12, 13)
    mod = from_exported_program(torch.export.export(model, (x,)), unwrap_unit_return_tuple=True)
    assert "relax.multiply" in str(mod)
    folded = relax.transform.FoldConstant()(FoldBatchnormToConv2D()(mod))
    assert "relax.multiply" not in str(folded)
    with torch.no_grad():
        exact = model.double()(x.double()).numpy()
    np.testing.assert_allclose(np.from_dlpack(run(mod, x.numpy())), exact, rtol=1e-4, atol=1e-4)


def second_use(x):
    y = op.nn.conv2d(x, op.const(WEIGHT))
    return op.add(op.multiply(y, op.const(GAMMA.reshape(-1, 1, 1))), y)


NOT_FOLDED = {
    "training": lambda x: normalized(x, training=True)[0],
    "one-number": lambda x: op.multiply(
        op.nn.conv2d(x, op.const(WEIGHT)), op.const(array(1, 1, 1, 1))
    ),
    "second-use": second_use,
    "not-a-constant": lambda x: op.multiply(op.nn.conv2d(x, op.const(WEIGHT)), op.mean(x)),
    "several-uses-of-the-tuple": lambda x: normalized(x),
}


@pytest.mark.parametrize("case", sorted(NOT_FOLDED))
def test_leaves_alone(case):
    mod = build(NOT_FOLDED[case])
    assert names(FoldBatchnormToConv2D()(mod)) == names(mod)
