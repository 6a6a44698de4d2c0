# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions over one dimension are those of images of one row: against PyTorch."""

import numpy as np
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform import ExpandConv1D
from torch import nn
from torch.nn import functional

X = relax.Var("x", relax.TensorStructInfo(("n", 6, "w"), "float32"))
WEIGHT = np.random.default_rng(0).standard_normal((8, 6, 3)).astype("float32")


def names(mod):
    """Return the operators of `main` in order."""
    lines = str(mod).splitlines()
    found = [line.split(" = ")[1].split()[0] for line in lines if " = relax." in line]
    return [name.removeprefix("relax.") for name in found]


def program(make, *params):
    bb = relax.BlockBuilder()
    with bb.function("main", [X, *params]):
        with bb.dataflow():
            out = bb.emit_output(make(*params))
        bb.emit_func_output(out)
    return bb.get()


def test_what_follows_is_of_images():
    scale = relax.Var("scale", relax.TensorStructInfo((8, 1), "float32"))
    other = relax.Var("other", relax.TensorStructInfo(("n", 8, "w - 2"), "float32"))

    def make(scale, other):
        y = op.multiply(op.nn.conv1d(X, op.const(WEIGHT)), scale)
        y = op.nn.max_pool1d(op.add(op.nn.gelu(y), other), 2, strides=2)
        return op.nn.softmax(op.add(y, op.const(1.0)), 1)

    before = program(make, scale, other)
    after = ExpandConv1D()(before)
    assert [name for name in names(after) if name not in ("constant", "dataflow")] == [
        "expand_dims", "expand_dims", "conv2d", "expand_dims", "multiply", "gelu", "expand_dims",
        "add", "max_pool2d", "add", "squeeze", "softmax",
    ]  # fmt: skip
    main = relax.VirtualMachine(relax.compile(before))["main"]
    rng = np.random.default_rng(2)
    x, s, o = (rng.standard_normal(shape).astype("float32")
               for shape in ((2, 6, 11), (8, 1), (2, 8, 9)))  # fmt: skip
    y = functional.conv1d(torch.from_numpy(x), torch.from_numpy(WEIGHT)) * torch.from_numpy(s)
    y = functional.max_pool1d(functional.gelu(y) + torch.from_numpy(o), 2, 2)
    np.testing.assert_allclose(main(x, s, o), (y + 1).softmax(1), rtol=1e-4, atol=1e-5)


def test_convolutions_in_a_row_stay_images():
    second = np.ones((4, 8, 1), "float32")
    mod = ExpandConv1D()(
        program(
            lambda: op.nn.conv1d(op.nn.relu(op.nn.conv1d(X, op.const(WEIGHT))), op.const(second))
        )
    )
    found = [name for name in names(mod) if name not in ("constant", "dataflow")]
    assert found == [
        "expand_dims", "expand_dims", "conv2d", "relu", "expand_dims", "conv2d", "squeeze",
    ]  # fmt: skip


def test_elements_of_more_dimensions_end_images():
    more = relax.Var("more", relax.TensorStructInfo((2, "n", 8, "w - 2"), "float32"))
    mod = program(lambda more: op.add(op.nn.conv1d(X, op.const(WEIGHT)), more), more)
    found = [name for name in names(ExpandConv1D()(mod)) if name not in ("constant", "dataflow")]
    assert found == ["expand_dims", "expand_dims", "conv2d", "squeeze", "add"]
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    rng = np.random.default_rng(3)
    x, m = (rng.standard_normal(s).astype("float32") for s in ((3, 6, 9), (2, 3, 8, 7)))
    wanted = functional.conv1d(torch.from_numpy(x), torch.from_numpy(WEIGHT)) + torch.from_numpy(m)
    np.testing.assert_allclose(main(x, m), wanted, rtol=1e-4, atol=1e-5)


def test_batch_normalization_is_folded():
    model = nn.Sequential(
        nn.Conv1d(6, 8, 3, padding=1),
        nn.BatchNorm1d(8),
        nn.ReLU(),
        nn.AvgPool1d(2),
        nn.Conv1d(8, 4, 1),
    ).eval()
    model[1].running_mean.normal_()
    model[1].running_var.uniform_(0.5, 2)
    x = torch.randn(2, 6, 20)
    with torch.no_grad():
        mod = from_exported_program(torch.export.export(model, (x,)))
        main = relax.VirtualMachine(relax.compile(mod))["main"]
        torch.testing.assert_close(torch.from_dlpack(main(x)[0]), model(x), rtol=1e-4, atol=1e-5)
    optimized = relax.transform.phase("optimize")(relax.transform.phase("normalize")(mod))
    assert "batch_norm" not in names(optimized) and "conv2d" in names(optimized)


def test_only_the_moving_averages_are_used(exec_mode):
    numbers = [relax.Var(name, relax.TensorStructInfo((8,), "float32")) for name in "abcd"]

    def make(*numbers):
        y = op.nn.conv1d(X, op.const(WEIGHT))
        return op.get_item(op.nn.batch_norm(y, *numbers, axis=1, training=False), 2)

    mod = program(make, *numbers)
    assert names(ExpandConv1D()(mod)).count("get_item") == 1
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["main"]
    given = [np.full(8, value, "float32") for value in (1, 2, 3, 4)]
    result = main(np.ones((2, 6, 5), "float32"), *given)
    np.testing.assert_array_equal(result.numpy(), given[3])


def test_other_layouts_are_left_alone():
    x = relax.Var("x", relax.TensorStructInfo((2, "w", 6), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(op.nn.conv1d(x, op.const(WEIGHT), data_layout="NWC"))
    assert "conv1d" in names(ExpandConv1D()(bb.get()))
