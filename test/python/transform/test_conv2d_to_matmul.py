# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of images of one pixel are products: against NumPy."""

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import Conv2DToMatmul

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def program(weight, shape, **options):
    """Return a convolution with a bias, by a constant or by a parameter of some shape."""
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    params = [x]
    if isinstance(weight, tuple):
        params.append(relax.Var("w", relax.TensorStructInfo(weight, "float32")))
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            by = params[1] if len(params) > 1 else op.const(weight)
            out = bb.emit_output(op.nn.relu(op.nn.conv2d(x, by, **options)))
        bb.emit_func_output(out)
    return bb.get()


def is_product(mod):
    text = str(Conv2DToMatmul()(mod))
    assert ("conv2d" in text) != ("matmul" in text)
    return "matmul" in text


@pytest.mark.parametrize("strides", [1, 2])
@pytest.mark.parametrize("batch", [0, 1, 3])
@pytest.mark.parametrize(("channels", "outputs"), [(20, 37), (1, 1), (3, 64)])
def test_pixels_are_rows(exec_mode, strides, batch, channels, outputs):
    weight = numbers(outputs, channels, 1, 1)
    mod = program(weight, ("n", channels, 1, 1), strides=strides)
    assert is_product(mod)
    x = numbers(batch, channels, 1, 1)
    wanted = np.maximum(x[:, :, 0, 0] @ weight[:, :, 0, 0].T, 0)[:, :, None, None]
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    np.testing.assert_allclose(main(x), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("weight", "shape", "options"),
    [
        ((8, 4, 1, 1), (1, 4, 1, 1), {}),  # a parameter
        (numbers(8, 4, 1, 1), (1, 4, 2, 1), {}),
        (numbers(8, 4, 1, 1), (1, 4, "h", 1), {}),
        (numbers(8, 2, 1, 1), (1, 4, 1, 1), {"groups": 2}),
        (numbers(8, 4, 1, 1), (1, 4, 1, 1), {"padding": 1}),
        (numbers(8, 4, 3, 3), (1, 4, 1, 1), {"padding": 1}),
        (numbers(8, 1, 1, 4), (1, 1, 1, 4), {"data_layout": "NHWC", "kernel_layout": "OHWI"}),
    ],
)
def test_others_are_left(weight, shape, options):
    assert not is_product(program(weight, shape, **options))
