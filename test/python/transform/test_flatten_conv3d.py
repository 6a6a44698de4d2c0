# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions over volumes are those of their slices: against PyTorch."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.transform import FlattenConv3D
from torch.nn import functional

RNG = np.random.default_rng(0)


def program(weight, shape=("n", 4, "d", "h", "w"), dtype="float32", **options):
    """Return a convolution by a constant."""
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.nn.conv3d(x, op.const(weight), **options))
        bb.emit_func_output(out)
    return bb.get()


def weights(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def is_flat(mod):
    text = str(FlattenConv3D()(mod))
    assert ("conv3d" in text) != ("conv2d" in text)
    return "conv2d" in text


@pytest.mark.parametrize(
    ("kernel", "strides", "padding", "dilation"),
    [
        ((3, 3, 3), 1, 1, 1),
        ((1, 3, 3), 1, 0, 1),
        ((3, 1, 1), (1, 2, 1), (2, 0, 1), 1),
        ((2, 3, 4), (3, 1, 2), (1, 2, 0), (2, 1, 1)),
        ((5, 2, 2), (2, 2, 2), (0, 1, 1), (1, 2, 3)),
        ((3, 1, 1), (2, 1, 1), (1, 0, 0), (2, 1, 1)),
        ((1, 1, 1), 1, 0, 1),
    ],
)
@pytest.mark.parametrize("size", [(2, 9, 8, 10), (1, 6, 7, 7), (0, 6, 7, 7)])
def test_slices_are_images(exec_mode, kernel, strides, padding, dilation, size):
    weight = weights(5, 4, *kernel)
    mod = program(weight, strides=strides, padding=padding, dilation=dilation)
    assert is_flat(mod)
    x = weights(size[0], 4, *size[1:])
    wanted = functional.conv3d(
        torch.from_numpy(x), torch.from_numpy(weight), None, strides, padding, dilation
    )
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    np.testing.assert_allclose(main(x), wanted, rtol=1e-4, atol=1e-4)


def test_slices_are_rows_where_windows_are_over_time_alone():
    text = str(FlattenConv3D()(program(weights(5, 4, 3, 1, 1), padding=(1, 0, 0))))
    assert "relax.conv2d" in text
    assert not any(copy in text for copy in ("concat", "permute_dims", "relax.pad"))


@pytest.mark.parametrize(
    ("kernel", "padding"), [((2, 2, 2), (1, 0, 2, 0, 3, 1)), ((3, 1, 1), (2, 0, 0, 1, 0, 0))]
)
def test_padding_differs_before_and_after(kernel, padding):
    weight = weights(3, 4, *kernel)
    mod = program(weight, padding=padding)
    assert is_flat(mod)
    x = weights(1, 4, 5, 6, 7)
    front, top, left, back, bottom, right = padding
    padded = functional.pad(torch.from_numpy(x), (left, right, top, bottom, front, back))
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    wanted = functional.conv3d(padded, torch.from_numpy(weight))
    np.testing.assert_allclose(main(x), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layouts", [("NDHWC", "DHWIO"), ("NCDHW", "DHWIO")])
def test_layouts_are_converted_before(layouts):
    weight = weights(4, 3, 2, 2, 2)
    turned = weight.transpose(2, 3, 4, 1, 0)
    x = weights(2, 3, 5, 6, 7)
    given = x.transpose(0, 2, 3, 4, 1) if layouts[0] == "NDHWC" else x
    shape = ("n", *given.shape[1:])
    options = {"data_layout": layouts[0], "kernel_layout": layouts[1]}
    mod = program(np.ascontiguousarray(turned), shape, **options)
    assert not is_flat(mod)
    out = np.from_dlpack(relax.VirtualMachine(relax.compile(mod))["main"](given.copy()))
    wanted = functional.conv3d(torch.from_numpy(x), torch.from_numpy(weight)).numpy()
    if layouts[0] == "NDHWC":
        wanted = wanted.transpose(0, 2, 3, 4, 1)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


def test_what_has_no_kernel_is_left_alone():
    assert not is_flat(program(weights(4, 2, 3, 3, 3), groups=2))
    halves = weights(4, 4, 3, 3, 3, dtype="float16")
    assert not is_flat(program(halves, dtype="float16"))
