# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of Relay, against PyTorch."""

import numpy as np
import pytest
from relay_programs import run_operator

torch = pytest.importorskip("torch")

CONVOLUTIONS = {
    1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d,
}  # fmt: skip
TRANSPOSED = {
    1: torch.nn.functional.conv_transpose1d, 2: torch.nn.functional.conv_transpose2d,
    3: torch.nn.functional.conv_transpose3d,
}  # fmt: skip


def arrays(*shapes, dtype="float32"):
    rng = np.random.default_rng(0)
    if dtype.startswith("int"):
        return [rng.integers(-9, 9, shape).astype(dtype) for shape in shapes]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def turned(x, source, target):
    return np.ascontiguousarray(x.transpose([source.index(letter) for letter in target]))


def blocked(x, axis, block):
    """Return an array with one dimension split, its blocks last."""
    shape = [*x.shape[:axis], x.shape[axis] // block, block, *x.shape[axis + 1 :]]
    return np.ascontiguousarray(np.moveaxis(x.reshape(shape), axis + 1, -1))


def padded(x, padding):
    """Return an array with zeros before each spatial dimension, and after each."""
    count = x.ndim - 2
    return np.pad(x, [(0, 0), (0, 0), *zip(padding[:count], padding[count:], strict=True)])


def reference(x, weight, padding, **options):
    function = CONVOLUTIONS[x.ndim - 2]
    wide = torch.tensor(padded(x, padding).astype("float64"))
    return function(wide, torch.tensor(weight.astype("float64")), **options).numpy()


# Name: shapes of data and weight, symbolic dimensions of the data, attributes, padding, options of
# PyTorch.
CASES = {
    "plain1d": ((2, 3, 7), (4, 3, 3), None, {"padding": [1]}, [1, 1], {"padding": [1]}),
    "uneven1d": ((1, 3, 7), (4, 3, 3), None, {"padding": [2, 1], "strides": [2]}, [2, 1],
                 {"stride": 2}),
    "one_number": ((1, 2, 5, 4), (3, 2, 3, 3), ("n", 2, "h", "w"), {"padding": [1]}, [1] * 4, {}),
    "two_numbers": ((1, 2, 5, 4), (3, 2, 3, 3), ("n", 2, 5, 4), {"padding": [2, 1]}, [2, 1, 2, 1],
                    {}),
    "four_numbers": ((1, 2, 5, 4), (3, 2, 3, 3), None,
                     {"padding": [0, 1, 2, 3], "dilation": [2, 1]}, [0, 1, 2, 3],
                     {"dilation": (2, 1)}),
    "groups": ((1, 4, 5, 4), (6, 2, 3, 3), None,
               {"groups": 2, "channels": 6, "kernel_size": [3, 3]}, [0] * 4, {"groups": 2}),
    "plain3d": ((1, 2, 4, 4, 3), (3, 2, 2, 2, 2), None, {"padding": [1, 0, 1, 0, 1, 0]},
                [1, 0, 1, 0, 1, 0], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_ry06_convolutions(name, exec_mode):
    data, kernel, symbolic, attrs, padding, options = CASES[name]
    x, weight = arrays(data, kernel)
    options = {key: value for key, value in options.items() if key != "padding"}
    shapes = None if symbolic is None else [symbolic, kernel]
    result = run_operator(f"nn.conv{x.ndim - 2}d", x, weight, shapes=shapes, **attrs)
    wanted = reference(x, weight, padding, **options)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


LAYOUTS = [
    (1, "NWC", "WIO", ""), (2, "NHWC", "HWIO", ""), (2, "NHWC", "OHWI", "NCHW"),
    (3, "NDHWC", "DHWIO", ""),
]  # fmt: skip


@pytest.mark.parametrize(("count", "layout", "kernel", "out"), LAYOUTS)
def test_ry06_convolution_layouts(count, layout, kernel, out, exec_mode):
    plain, order = "NC" + "DHW"[3 - count :], "OI" + "DHW"[3 - count :]
    x, weight = arrays((2, 3, *[4] * count), (5, 3, *[2] * count))
    result = run_operator(
        f"nn.conv{count}d", turned(x, plain, layout), turned(weight, order, kernel),
        data_layout=layout, kernel_layout=kernel, out_layout=out,
    )  # fmt: skip
    wanted = turned(reference(x, weight, [0] * 2 * count), plain, out or layout)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_ry06_convolution_of_blocks(exec_mode):
    x, weight = arrays((1, 4, 5, 5), (4, 4, 3, 3))
    kernel = blocked(blocked(weight, 1, 2), 0, 2)
    result = run_operator(
        "nn.contrib_conv2d_NCHWc", blocked(x, 1, 2), kernel, data_layout="NCHW2c",
        kernel_layout="OIHW2i2o", channels=4, kernel_size=[3, 3],
    )  # fmt: skip
    wanted = blocked(reference(x, weight, [0] * 4), 1, 2)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_ry06_convolution_with_several_filters_of_a_channel(exec_mode):
    x, weight = arrays((1, 3, 5, 4), (6, 1, 2, 2))
    # Of the dimensions height, width, channel and filter.
    kernel = weight.reshape(3, 2, 2, 2).transpose(2, 3, 0, 1).copy()
    result = run_operator(
        "nn.conv2d", turned(x, "NCHW", "NHWC"), kernel, data_layout="NHWC", kernel_layout="HWOI",
        groups=3, channels=6, kernel_size=[2, 2],
    )  # fmt: skip
    wanted = turned(reference(x, weight, [0] * 4, groups=3), "NCHW", "NHWC")
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_ry06_convolution_of_groups_as_a_dimension(exec_mode):
    x, weight = arrays((1, 4, 5, 4), (6, 2, 2, 2))
    kernel = weight.reshape(2, 3, 2, 2, 2)
    result = run_operator(
        "nn.conv2d", x, kernel, kernel_layout="GOIHW", groups=2, channels=6, kernel_size=[2, 2]
    )
    np.testing.assert_allclose(
        result, reference(x, weight, [0] * 4, groups=2), rtol=1e-5, atol=1e-5
    )


def test_ry06_convolution_of_integers(exec_mode):
    x, weight = arrays((1, 2, 5, 4), (3, 2, 3, 3), dtype="int8")
    x, weight = x * np.int8(14), weight * np.int8(14)
    result = run_operator("nn.conv2d", x.view("uint8"), weight, out_dtype="int32")
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, reference(x.view("uint8"), weight, [0] * 4))


TRANSPOSED_CASES = {
    "plain1d": (1, (2, 3, 4), (3, 2, 3), {}, {}),
    "strides": (2, (1, 4, 3, 4), (4, 2, 3, 2),
                {"strides": [2, 3], "padding": [1, 0], "output_padding": [1, 0]},
                {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 0)}),
    "groups": (2, (1, 4, 3, 4), (4, 2, 3, 2), {"groups": 2, "channels": 4, "dilation": [2, 1]},
               {"groups": 2, "dilation": (2, 1)}),
    "plain3d": (3, (1, 2, 3, 2, 3), (2, 2, 2, 2, 2), {"dilation": [1, 2, 1]},
                {"dilation": (1, 2, 1)}),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSPOSED_CASES)
def test_ry06_transposed_convolutions(name, exec_mode):
    count, data, kernel, attrs, options = TRANSPOSED_CASES[name]
    x, weight = arrays(data, kernel)
    wanted = TRANSPOSED[count](torch.tensor(x), torch.tensor(weight), **options).numpy()
    shapes = [("n", *data[1:]), kernel]
    result = run_operator(f"nn.conv{count}d_transpose", x, weight, shapes=shapes, **attrs)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_ry06_transposed_convolution_of_uneven_padding(exec_mode):
    x, weight = arrays((1, 3, 4, 4), (3, 2, 3, 3))
    result = run_operator(
        "nn.conv2d_transpose", turned(x, "NCHW", "NHWC"), turned(weight, "IOHW", "HWOI"),
        padding=[0, 1, 1, 0], strides=[2, 2], data_layout="NHWC", kernel_layout="HWOI",
    )  # fmt: skip
    whole = torch.nn.functional.conv_transpose2d(torch.tensor(x), torch.tensor(weight), stride=2)
    wanted = turned(whole.numpy()[:, :, :-1, 1:], "NCHW", "NHWC")
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def sampled(image, y, x):
    """Return the value between elements of an image, which has zeros around it."""
    total = np.zeros(image.shape[0])
    for row in (int(np.floor(y)), int(np.floor(y)) + 1):
        for column in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= row < image.shape[1] and 0 <= column < image.shape[2]:
                share = (1 - abs(y - row)) * (1 - abs(x - column))
                total += share * image[:, row, column]
    return total


def test_ry06_deformable_convolution(exec_mode):
    x, weight, offset = arrays((1, 4, 4, 5), (3, 4, 2, 2), (1, 16, 3, 2))
    result = run_operator(
        "nn.deformable_conv2d", x, offset, weight, strides=[1, 2], padding=[0, 1],
        dilation=[1, 2], deformable_groups=2,
    )  # fmt: skip
    shifts = offset[0].reshape(2, 2, 2, 2, 3, 2)
    wanted = np.zeros((1, 3, 3, 2))
    for group, i, j, row, column in np.ndindex(2, 2, 2, 3, 2):
        down, right = shifts[group, i, j, :, row, column]
        part = x[0, 2 * group : 2 * group + 2]
        place = row + i + down, 2 * column - 1 + 2 * j + right
        values = sampled(part, *place) if min(place) >= 0 else np.zeros(2)
        factors = weight[:, 2 * group : 2 * group + 2, i, j]
        wanted[0, :, row, column] += factors @ values
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


REFUSED = {
    "padding": ({"padding": [1, 2, 3]}, ValueError, "expected padding of 1, 2 or 4 numbers"),
    "strides": ({"strides": [1, 2, 3]}, ValueError, "expected strides of 1 or 2 numbers"),
    "layout": ({"data_layout": "NCWX"}, ValueError, "expected a layout of the dimensions NCHW"),
    "kernel_size": ({"kernel_size": [5, 5]}, ValueError, r"kernel_size=\[5, 5\], but got one"),
    "channels": ({"channels": 8}, ValueError, "a weight for channels=8, but got one for 3"),
    "rewritten": ({"meta_schedule_original_shape": [3, 2, 3, 3]}, NotImplementedError,
                  "meta_schedule rewrote"),
    "unknown": ({"dilations": [1, 1]}, ValueError, "did you mean 'dilation'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_ry06_convolutions_refused(name):
    attrs, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        run_operator("nn.conv2d", *arrays((1, 2, 5, 4), (3, 2, 3, 3)), **attrs)
