# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling of Relay, against PyTorch."""

import numpy as np
import pytest
from relay_programs import run_operator

torch = pytest.importorskip("torch")
F = torch.nn.functional

MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE = {
    ("avg", 1): F.adaptive_avg_pool1d, ("avg", 2): F.adaptive_avg_pool2d,
    ("avg", 3): F.adaptive_avg_pool3d, ("max", 1): F.adaptive_max_pool1d,
    ("max", 2): F.adaptive_max_pool2d, ("max", 3): F.adaptive_max_pool3d,
}  # fmt: skip


def images(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


# Name: kind, shape, symbolic dimensions, attributes, arguments of PyTorch.
CASES = {
    "max1d": ("max", (1, 2, 7), None, {"pool_size": [3], "strides": [2], "padding": [1]},
              {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max2d": ("max", (2, 2, 6, 5), ("n", 2, "h", "w"),
              {"pool_size": [3, 2], "strides": [2, 1], "padding": [1, 0]},
              {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)}),
    "ceil": ("max", (1, 2, 6, 5), None,
             {"pool_size": [3, 3], "strides": [2, 2], "ceil_mode": True, "dilation": [1, 2]},
             {"kernel_size": 3, "stride": 2, "ceil_mode": True, "dilation": (1, 2)}),
    "max3d": ("max", (1, 2, 4, 4, 3), None, {"pool_size": [2, 2, 2], "strides": [2, 1, 1]},
              {"kernel_size": 2, "stride": (2, 1, 1)}),
    "avg1d": ("avg", (1, 2, 7), None,
              {"pool_size": [3], "padding": [1], "count_include_pad": True},
              {"kernel_size": 3, "stride": 1, "padding": 1}),
    "avg2d": ("avg", (2, 2, 6, 5), ("n", 2, 6, 5),
              {"pool_size": [3, 3], "strides": [2, 2], "padding": [1], "ceil_mode": True},
              {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True,
               "count_include_pad": False}),
    "avg3d": ("avg", (1, 2, 4, 4, 3), None, {"pool_size": [2, 2, 2]},
              {"kernel_size": 2, "stride": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_ry06_pools(name, exec_mode):
    kind, shape, symbolic, attrs, options = CASES[name]
    x, count = images(*shape), len(shape) - 2
    wanted = (MAX if kind == "max" else AVG)[count](torch.tensor(x), **options).numpy()
    shapes = None if symbolic is None else [symbolic]
    result = run_operator(f"nn.{kind}_pool{count}d", x, shapes=shapes, **attrs)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_ry06_pool_of_uneven_padding(exec_mode):
    x = images(1, 2, 5, 4)
    result = run_operator("nn.max_pool2d", x, pool_size=[2, 2], padding=[0, 1, 1, 0])
    wide = np.pad(x, [(0, 0), (0, 0), (0, 1), (1, 0)], constant_values=-np.inf)
    np.testing.assert_array_equal(result, MAX[2](torch.tensor(wide), 2, 1).numpy())


def test_ry06_pool_layouts(exec_mode):
    x = images(1, 4, 4, 5)
    wanted = MAX[2](torch.tensor(x), 2, 1).numpy()
    result = run_operator("nn.max_pool2d", last(x), pool_size=[2, 2], layout="NHWC")
    np.testing.assert_array_equal(result, last(wanted))
    blocks = np.ascontiguousarray(x.reshape(1, 2, 2, 4, 5).transpose(0, 1, 3, 4, 2))
    result = run_operator(
        "nn.max_pool2d", blocks, pool_size=[2, 2], layout="NCHW2c", out_layout="NHWC"
    )
    np.testing.assert_array_equal(result, last(wanted))


def test_ry06_global_pools(exec_mode):
    x = images(2, 3, 4, 5)
    result = run_operator("nn.global_avg_pool2d", x, shapes=[("n", 3, "h", "w")])
    np.testing.assert_allclose(result, x.mean((2, 3), keepdims=True), rtol=1e-5, atol=1e-6)
    result = run_operator("nn.global_max_pool2d", last(x), layout="NHWC")
    np.testing.assert_array_equal(result, last(x.max((2, 3), keepdims=True)))


@pytest.mark.parametrize(
    ("kind", "shape", "size"),
    [("avg", (1, 2, 7), [3]), ("avg", (1, 2, 7, 5), [3, 2]), ("avg", (1, 2, 4, 5, 3), [2, 2, 3]),
     ("max", (1, 2, 7), [3]), ("max", (1, 2, 7, 5), [3, 2]), ("max", (1, 2, 4, 5, 3), [2, 2, 3]),
     ("max", (1, 2, 7, 5), [1, 1])],
)  # fmt: skip
def test_ry06_adaptive_pools(kind, shape, size, exec_mode):
    x, count = images(*shape), len(shape) - 2
    wanted = ADAPTIVE[kind, count](torch.tensor(x), size).numpy()
    name = f"nn.adaptive_{kind}_pool{count}d"
    result = run_operator(name, x, shapes=[("n", *shape[1:])], output_size=size)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
    if kind == "max" and count == 2:
        result = run_operator(name, last(x), output_size=size, layout="NHWC")
        np.testing.assert_allclose(result, last(wanted), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_ry06_adaptive_pools_of_one_number_and_of_none(kind, exec_mode):
    x, name = images(1, 2, 4, 6), f"nn.adaptive_{kind}_pool2d"
    wanted = ADAPTIVE[kind, 2](torch.tensor(x), 2).numpy()
    result = run_operator(name, x, output_size=[2])
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(run_operator(name, x, shapes=[(1, 2, "h", "w")]), x)


REFUSED = {
    "rank": ({"pool_size": [2, 2]}, (1, 2, 5), "expected data of rank 4, but got rank 3"),
    "missing": ({}, (1, 2, 5, 4), "needs the attribute 'pool_size'"),
    "padding": ({"pool_size": [2, 2], "padding": [1] * 3}, (1, 2, 5, 4), "expected padding of 1"),
    "layout": ({"pool_size": [2, 2], "layout": "NCH"}, (1, 2, 5, 4), "expected a layout"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_ry06_pools_refused(name):
    attrs, shape, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        run_operator("nn.max_pool2d", images(*shape), **attrs)


def test_ry06_maxima_of_windows_around_the_image(exec_mode):
    x = np.full((1, 1, 2), -np.inf, "float32")
    x[..., 1] = 3
    lowest = np.finfo("float32").min
    maxima = run_operator("nn.max_pool1d", x, pool_size=[2], padding=[3, 2])
    np.testing.assert_array_equal(maxima, [[[lowest, lowest, lowest, 3, 3, lowest]]])
