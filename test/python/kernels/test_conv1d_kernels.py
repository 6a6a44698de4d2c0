# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of convolutions over one dimension, against PyTorch."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from kernel_programs import classes
from relax_mlir import op
from relax_mlir.transform import phase
from torch.nn import functional

X = relax.Var("x", relax.TensorStructInfo(("n", 6, "w"), "float32"))


def program(make, *params):
    bb = relax.BlockBuilder()
    with bb.function("main", [X, *params]):
        with bb.dataflow():
            out = bb.emit_output(make(*params))
        bb.emit_func_output(out)
    return bb.get()


def optimized(mod):
    """Return a module as it is before its operators become kernels, with all of its weights."""
    return phase("optimize")(phase("normalize")(mod)).module


CONVOLUTIONS = {
    "plain": ((8, 6, 3), {}),
    "stride-2": ((8, 6, 4), {"strides": 2, "padding": 1}),
    "dilated": ((8, 6, 3), {"dilation": 3, "padding": (2, 4)}),
    "depthwise": ((6, 1, 4), {"groups": 6, "padding": (3, 0)}),
    "groups": ((9, 2, 3), {"groups": 3, "strides": 3}),
    "pointwise": ((32, 6, 1), {}),
}


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_numbers(exec_mode, name, constant):
    shape, options = CONVOLUTIONS[name]
    k = np.random.default_rng(1).standard_normal(shape).astype("float32")
    if constant:
        mod, weights = program(lambda: op.nn.conv1d(X, op.const(k), **options)), []
    else:
        w = relax.Var("k", relax.TensorStructInfo(shape, "float32"))
        mod, weights = program(lambda w: op.nn.conv1d(X, w, **options), w), [k]
    assert classes(optimized(mod)) == ["conv2d"]
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["main"]
    padding = options.get("padding", 0)
    before, after = (padding, padding) if isinstance(padding, int) else padding
    torch_options = {"stride": options.get("strides", 1), "dilation": options.get("dilation", 1)}
    for n, width in ((1, 7), (3, 50), (2, 17), (0, 9)):
        x = np.random.default_rng(width).standard_normal((n, 6, width)).astype("float32")
        padded = functional.pad(torch.from_numpy(x), (before, after))
        wanted = functional.conv1d(
            padded, torch.from_numpy(k), groups=options.get("groups", 1), **torch_options
        )
        np.testing.assert_allclose(main(x, *weights), wanted, rtol=1e-4, atol=1e-5)


def test_epilogue(exec_mode):
    """A bias has the dimension of size 1 of images, too, and is the same for all pixels."""
    rng = np.random.default_rng(4)
    k, bias = (rng.standard_normal(s).astype("float32") for s in ((40, 6, 3), (40, 1)))
    other = relax.Var("other", relax.TensorStructInfo(("n", 40, "w"), "float32"))

    def make(other):
        y = op.nn.conv1d(X, op.const(k), padding=1)
        return op.add(op.nn.relu(op.add(y, op.const(bias))), other)

    mod = program(make, other)
    assert classes(optimized(mod)) == ["conv2d"]
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["main"]
    for n, width in ((2, 33), (1, 1), (3, 16)):
        x, o = (rng.standard_normal((n, c, width)).astype("float32") for c in (6, 40))
        y = functional.conv1d(torch.from_numpy(x), torch.from_numpy(k), padding=1)
        wanted = torch.relu(y + torch.from_numpy(bias)) + torch.from_numpy(o)
        np.testing.assert_allclose(main(x, o), wanted, rtol=1e-4, atol=1e-5)


def test_class_of_other_layouts():
    x = relax.Var("x", relax.TensorStructInfo((2, "w", 6), "float32"))
    weight = np.ones((8, 6, 3), "float32")
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(op.nn.conv1d(x, op.const(weight), data_layout="NWC"))
        bb.emit_func_output(y)
    assert "conv2d" in classes(optimized(bb.get()))
