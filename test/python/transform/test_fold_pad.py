# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Zeros around images are the padding of convolutions: against PyTorch."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.transform import FoldPad
from torch.nn import functional

RNG = np.random.default_rng(0)
CONVOLUTIONS = {
    1: (op.nn.conv1d, functional.conv1d),
    2: (op.nn.conv2d, functional.conv2d),
    3: (op.nn.conv3d, functional.conv3d),
}


def program(shape, weight, widths, mode="constant", value=0.0, **options):
    """Return a convolution of a padded image."""
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            conv, _ = CONVOLUTIONS[weight.ndim - 2]
            image = op.nn.pad(x, widths, mode, value)
            out = bb.emit_output(conv(image, op.const(weight), **options))
        bb.emit_func_output(out)
    return bb.get()


def has_pad(mod):
    return "relax.pad" in str(FoldPad()(mod.clone()))


def weights(*shape):
    return RNG.standard_normal(shape).astype("float32")


@pytest.mark.parametrize(
    ("sizes", "symbols", "widths", "options"),
    [
        ((9,), ("w",), (1, 2), {"padding": 1}),
        ((8, 9), ("h", "w"), (0, 1, 0, 1), {"strides": 2}),
        ((8, 9), (8, "w"), (1, 0, 2, 3), {"padding": (0, 1, 2, 0), "dilation": 2}),
        ((5, 6, 7), (5, 6, 7), (1, 0, 0, 1, 2, 2), {"strides": (1, 2, 1)}),
    ],
)
def test_padding_of_each_side(exec_mode, sizes, symbols, widths, options):
    rank = len(sizes)
    weight = weights(4, 3, *[3] * rank)
    mod = program(("n", 3, *symbols), weight, [0] * 4 + list(widths), **options)
    assert not has_pad(mod)
    x = weights(2, 3, *sizes)
    padding = np.array(options.get("padding", 0))
    if padding.ndim == 0:
        padding = np.full(2 * rank, padding)
    around = np.array(widths).reshape(rank, 2) + padding.reshape(2, rank).T
    image = functional.pad(torch.from_numpy(x), around[::-1].flatten().tolist())
    steps = {key: options.get(name, 1) for key, name in
             (("stride", "strides"), ("dilation", "dilation"))}  # fmt: skip
    wanted = CONVOLUTIONS[rank][1](image, torch.from_numpy(weight), **steps)
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["main"]
    np.testing.assert_allclose(main(x), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("widths", "mode", "value"),
    [
        # Other elements than zeros, and padding of the batch or of channels.
        ([0, 0, 0, 0, 1, 1, 1, 1], "constant", 1.0),
        ([0, 0, 0, 0, 1, 1, 1, 1], "replicate", 0.0),
        ([1, 0, 0, 0, 1, 1, 1, 1], "constant", 0.0),
        ([0, 0, 1, 0, 1, 1, 1, 1], "constant", 0.0),
    ],
)
def test_what_is_left_alone(widths, mode, value):
    channels = 2 - widths[2] - widths[3]
    mod = program((1, channels, 8, 8), weights(4, 2, 3, 3), widths, mode, value)
    assert str(FoldPad()(mod.clone())) == str(mod)
