# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and pools of layouts with blocks, and of windows of any size: against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
import torch.nn.functional as F  # noqa: N812 (as everybody calls it)
import tvm_ffi
from relax_mlir import op
from relax_mlir.composites.windows import sliding_windows
from relax_mlir.core.expr import as_tensor
from relax_mlir.core.ir import TensorStructInfo
from relax_mlir.script import from_source

RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def blocked(x: Any, block: int) -> np.ndarray:
    """Return images with channels in blocks, which are the last dimension."""
    x = np.asarray(x)
    split = x.reshape(x.shape[0], x.shape[1] // block, block, *x.shape[2:])
    return np.ascontiguousarray(np.moveaxis(split, 2, -1))


# ------------------------------------------------------------------------------------------------
# Layouts with blocks
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dims", [(7, 6, 5), (3, 3, 3)])
def test_convolutions(run, count, dims):
    letters = "DHW"[3 - count :]
    x, weight = floats(2, 8, *dims[:count]), floats(6, 8, *[3] * count)
    expected = getattr(F, f"conv{count}d")(torch.from_numpy(x), torch.from_numpy(weight), padding=1)
    # The weights have blocks of 4 input channels, and in them blocks of 2 output channels.
    parts = weight.reshape(3, 2, 2, 4, *[3] * count)
    turned = np.transpose(parts, (0, 2, *range(4, 4 + count), 3, 1))
    result = run(
        lambda x, w: getattr(op.nn, f"conv{count}d")(
            x, w, padding=1, data_layout=f"NC{letters}4c", kernel_layout=f"OI{letters}4i2o",
            out_layout=f"NC{letters}2c",
        ),
        blocked(x, 4), np.ascontiguousarray(turned),
        shapes=[("n", 2, *letters.lower(), 4), turned.shape],
    )  # fmt: skip
    np.testing.assert_allclose(result, blocked(expected, 2), rtol=1e-4, atol=1e-4)


def test_depthwise_convolution_of_blocks(run):
    x, weight = floats(1, 8, 5, 5), floats(8, 1, 3, 3)
    expected = F.conv2d(torch.from_numpy(x), torch.from_numpy(weight), groups=8)
    result = run(
        lambda x, w: op.nn.conv2d(
            x, w, groups=8, data_layout="NCHW4c", kernel_layout="OIHW1i4o", out_layout="NHWC"
        ),
        blocked(x, 4), np.ascontiguousarray(blocked(weight.transpose(1, 0, 2, 3), 4).transpose(
            1, 0, 2, 3, 4)[..., None, :]),
    )  # fmt: skip
    np.testing.assert_allclose(result, expected.permute(0, 2, 3, 1), rtol=1e-4, atol=1e-4)


POOLS = [
    ("max_pool2d", lambda x: F.max_pool2d(x, 2, 2), (2, 2)),
    ("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 1), (3, 1)),
    ("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (2, 3)), ((2, 3),)),
    ("max_pool1d", lambda x: F.max_pool1d(x, 2, 2), (2, 2)),
    ("avg_pool3d", lambda x: F.avg_pool3d(x, 2, 1), (2, 1)),
]


@pytest.mark.parametrize(("name", "theirs", "args"), POOLS)
def test_pools(run, name, theirs, args):
    count = int(name[-2])
    letters = "DHW"[3 - count :]
    x = floats(2, 8, *(6, 7, 5)[:count])
    result = run(
        lambda x: getattr(op.nn, name)(x, *args, layout=f"NC{letters}4c"),
        blocked(x, 4), shapes=[("n", 2, *letters.lower(), 4)],
    )  # fmt: skip
    expected = blocked(theirs(torch.from_numpy(x)), 4)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_blocks_in_tvmscript():
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2, 8, 8, 4), "float32"), w: R.Tensor((4, 2, 3, 3, 4, 4), "float32")):
        y = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1], data_layout="NCHW4c",
                        kernel_layout="OIHW4i4o", out_layout="NCHW4c", out_dtype="float32")
        z = R.nn.max_pool2d(y, pool_size=[2, 2], strides=[2, 2], layout="NCHW4c")
        return z
""")
    assert str(module["main"].ret_struct_info) == "!relax.tensor<[n, 4, 4, 4, 4], f32>"


# ------------------------------------------------------------------------------------------------
# Windows of sizes that are found when the program runs
# ------------------------------------------------------------------------------------------------

# Arguments of PyTorch's pool other than the size.
OPEN = [
    {"stride": 1},
    {"stride": (2, 1), "padding": 1},
    {"stride": 2, "padding": 1, "ceil_mode": True},
]
SIZES = [(2, 2), (3, 2), (2, 4)]


def open_pool(load, write, tensor, name, dtype, arguments):
    """Return a compiled pool whose window is a shape that it is called with."""
    given = {"strides" if key == "stride" else key: value for key, value in arguments.items()}
    size = (relax.Dim("p"), relax.Dim("q"))
    return load(
        write(
            lambda x, s: getattr(op.nn, name)(x, size, **given),
            tensor(("n", "c", "h", "w"), dtype, name="x"),
            relax.Var("s", relax.ShapeStructInfo(("p", "q"))),
        )
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("arguments", OPEN)
def test_max_pools_of_any_window(load, write, tensor, arguments, dtype):
    main = open_pool(load, write, tensor, "max_pool2d", dtype, arguments)
    x = (floats(2, 3, 6, 7) * 20).astype(dtype)
    for size in SIZES:
        expected = F.max_pool2d(torch.from_numpy(x.astype("float32")), size, **arguments)
        np.testing.assert_array_equal(np.from_dlpack(main(x, tvm_ffi.Shape(size))), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("arguments", OPEN)
def test_mean_pools_of_any_window(load, write, tensor, arguments, counts, dtype):
    arguments = {**arguments, "count_include_pad": counts}
    main = open_pool(load, write, tensor, "avg_pool2d", dtype, arguments)
    x = floats(2, 3, 6, 7).astype(dtype)
    for size in SIZES:
        expected = F.avg_pool2d(torch.from_numpy(x.astype("float32")), size, **arguments)
        np.testing.assert_allclose(
            np.from_dlpack(main(x, tvm_ffi.Shape(size))), expected.numpy().astype(dtype),
            rtol=1e-3 if dtype == "float16" else 1e-5, atol=1e-6,
        )  # fmt: skip


def test_mean_pool_of_integers_is_rounded_towards_zero(load, write, tensor):
    main = open_pool(load, write, tensor, "avg_pool2d", "int32", {"stride": 2})
    x = np.array([[[[-5, 0], [0, 0]]], [[[5, 1], [1, 0]]]], "int32")
    result = main(x, tvm_ffi.Shape((2, 2)))
    assert np.from_dlpack(result).ravel().tolist() == [-1, 1]


def test_dimensions_of_any_window():
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3, "h", "w"), "float32"), s: R.Shape(["k"])):
        k = T.int64()
        y = R.nn.avg_pool2d(x, pool_size=[k, 2], strides=[1, 2], padding=[1, 0, 1, 0])
        return y
""")
    assert str(module["main"].ret_struct_info) == (
        "!relax.tensor<[n, 3, h - k + 3, w floordiv 2], f32>"
    )


X = relax.TensorStructInfo((2, 6, "h", 4, 2), "float32")
W = relax.TensorStructInfo((6, 12, 3, 3), "float32")
ERRORS = [
    (lambda x, w: op.nn.conv2d(x, w, data_layout="NCHW2x"), "expected a layout of the dimensions"),
    (lambda x, w: op.nn.conv2d(w, w, data_layout="NCHW2c"), "expected a tensor of the layout NCHW"),
    (lambda x, w: op.nn.conv2d(x, w, data_layout="NCHW2c", out_layout="NCHW4c"), "expected C as a"),
    (
        lambda x, w: op.nn.conv2d(x, w, data_layout="NCHW2c", kernel_layout="OIHW4o"),
        "of the layout",
    ),
    (lambda x, w: op.nn.max_pool2d(x, 2, layout="NCHW"), "expected data of rank 4"),
    (lambda x, w: op.nn.max_pool2d(w, (relax.Dim("h"), 0)), "expected pool_size from 1"),
    (lambda x, w: op.nn.max_pool2d(w, [relax.Dim("h")] * 3), "expected 2 numbers as pool_size"),
    (lambda x, w: op.nn.max_pool2d(w, relax.Dim("h"), strides=0), "expected strides from 1"),
    (lambda x, w: op.nn.max_pool2d(w, relax.Dim("z")), "shape variables that are known here"),
]


@pytest.mark.parametrize(("write_", "message"), ERRORS)
def test_error_of_arguments(write_, message):
    bb = relax.BlockBuilder()
    x, w = relax.Var("x", X), relax.Var("w", W)
    with bb.function("main", [x, w]):
        with pytest.raises(ValueError, match=message):
            write_(x, w)
        bb.emit_func_output(x)


@pytest.mark.parametrize("size, step", [(4, 1), (6, 4), (2, 3), (5, 5)])
def test_windows_of_signals_and_their_gradients(size: int, step: int) -> None:
    x = np.random.default_rng(size).standard_normal((2, 17, 3)).astype("float32")
    count = (17 - size) // step + 1
    weights = np.random.default_rng(step).standard_normal((2, count, 3, size)).astype("float32")
    param = relax.Var("x", TensorStructInfo(x.shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [param]):
        with builder.dataflow():
            made = sliding_windows(as_tensor(param), 1, weights.shape, step)
            loss = op.sum(op.multiply(made, relax.const(weights, "float32")))
            output = builder.emit_output(loss)
        builder.emit_func_output(output)
    mod = relax.transform.Gradient("main")(builder.finalize())
    loss, (gradient,) = relax.VirtualMachine(relax.compile(mod))["main_adjoint"](x)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, 1)[:, ::step]
    wanted = np.zeros_like(x)
    for i in range(count):
        wanted[:, i * step : i * step + size] += weights[:, i].transpose(0, 2, 1)
    np.testing.assert_allclose(loss.numpy(), (windows * weights).sum(), rtol=1e-4)
    np.testing.assert_allclose(gradient.numpy(), wanted, rtol=1e-5, atol=1e-5)
