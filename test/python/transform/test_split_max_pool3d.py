# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maximum pools over volumes are two over images: against PyTorch."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op
from relax_mlir.transform import SplitMaxPool3D
from torch.nn import functional


def program(shape, dtype="float32", **options):
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.nn.max_pool3d(x, **options))
        bb.emit_func_output(out)
    return bb.get()


def is_split(mod):
    text = str(SplitMaxPool3D()(mod))
    assert ("max_pool3d" in text) != ("max_pool2d" in text)
    return "max_pool2d" in text


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(
    ("pool_size", "strides", "padding", "dilation"),
    [
        (3, 2, 1, 1),
        ((1, 3, 3), (1, 2, 2), (0, 1, 1), 1),
        ((3, 1, 2), (2, 1, 3), (1, 0, 1), (2, 1, 1)),
        (2, 1, 0, (1, 2, 3)),
    ],
)
@pytest.mark.parametrize("size", [(2, 9, 8, 10), (1, 7, 7, 11), (0, 7, 8, 9)])
def test_slices_then_what_is_behind(
    exec_mode, pool_size, strides, padding, dilation, ceil_mode, size
):
    options = {"strides": strides, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
    mod = program(("n", 3, "d", "h", "w"), pool_size=pool_size, **options)
    assert is_split(mod)
    x = np.random.default_rng(0).standard_normal((size[0], 3, *size[1:])).astype("float32")
    if x.size:
        x[0, 1, 3, 4, 5] = np.nan
        x[0, 2] = -np.inf
    tensor = torch.from_numpy(x)
    wanted = functional.max_pool3d(tensor, pool_size, strides, padding, dilation, ceil_mode)
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode))["main"]
    np.testing.assert_array_equal(main(x), wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float64", "float16"])
def test_other_types(dtype):
    options = {"pool_size": 3, "strides": 2, "padding": 1}
    mod = program((1, 2, 6, 7, 8), dtype, **options)
    assert is_split(mod)
    x = np.random.default_rng(0).integers(0, 100, (1, 2, 6, 7, 8)).astype(dtype)
    wanted = functional.max_pool3d(torch.from_numpy(x.astype("float64")), 3, 2, 1)
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    np.testing.assert_array_equal(main(x), wanted.numpy().astype(dtype))


@pytest.mark.parametrize(
    "options",
    [
        {"shape": (1, 2, 8, 32, 32), "pool_size": 2, "strides": 2},  # side by side
        {"shape": (1, 8, 8, 9, 2), "pool_size": 3, "layout": "NDHWC"},
        {"shape": (1, 2, 8, 8, 9), "pool_size": 3, "out_layout": "NDHWC"},
    ],
)
def test_others_are_left_alone(options):
    assert not is_split(program(**options))
