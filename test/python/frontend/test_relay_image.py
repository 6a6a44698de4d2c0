# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on images of Relay, against PyTorch and NumPy."""

import numpy as np
import pytest
from relay_programs import Known, run_operator, run_operators

torch = pytest.importorskip("torch")
F = torch.nn.functional


def images(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def interpolated(x, size, mode, corners=None):
    return F.interpolate(torch.tensor(x), size, mode=mode, align_corners=corners).numpy()


# Name: shape, size, attributes, mode of PyTorch, corners.
RESIZES = {
    "linear1d": ((1, 2, 5), [8], {}, "linear", False),
    "linear2d": ((1, 2, 4, 6), [7, 3], {}, "bilinear", False),
    "corners2d": ((1, 2, 4, 6), [7, 3], {"coordinate_transformation_mode": "align_corners"},
                  "bilinear", True),
    "linear3d": ((1, 2, 3, 4, 2), [5, 4, 3], {}, "trilinear", False),
    "cubic2d": ((1, 2, 4, 6), [7, 3], {"method": "cubic", "cubic_alpha": -0.75}, "bicubic", False),
    "nearest2d": ((1, 2, 4, 6), [7, 3],
                  {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric",
                   "rounding_method": ""}, "nearest", None),
}  # fmt: skip


@pytest.mark.parametrize("name", RESIZES)
def test_ry06_resizes(name, exec_mode):
    shape, size, attrs, mode, corners = RESIZES[name]
    x = images(*shape)
    wanted = interpolated(x, size, mode, corners)
    operator = f"image.resize{len(size)}d"
    symbolic = [("n", *shape[1:])]
    if name in ("linear1d", "corners2d", "nearest2d"):
        symbolic = [(1, 2, *"hw"[2 - len(size) :])]
    result = run_operator(operator, x, shapes=symbolic, size=size, **attrs)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


PLACES = {
    "half_pixel": lambda at, size, length: (at + 0.5) * size / length - 0.5,
    "asymmetric": lambda at, size, length: at * size / length,
    "align_corners": lambda at, size, length: at * (size - 1) / (length - 1),
    "tf_half_pixel_for_nn": lambda at, size, length: (at + 0.5) * size / length,
    # Of the part from 0.25 to 1.5 of the image.
    "tf_crop_and_resize": lambda at, size, length: (0.25 + at * 1.25 / (length - 1)) * (size - 1),
}
ROUNDINGS = {
    "round": lambda x: np.floor(x + 0.5), "floor": np.floor, "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "rounding"),
    [("half_pixel", "round_prefer_floor"), ("asymmetric", "ceil"), ("align_corners", "round"),
     ("half_pixel", "round_prefer_ceil"), ("tf_half_pixel_for_nn", "floor")],
)  # fmt: skip
def test_ry06_nearest_elements(mode, rounding, exec_mode):
    x, length = images(1, 2, 6), 8
    places = ROUNDINGS[rounding](np.round(PLACES[mode](np.arange(length), 6, length), 6))
    result = run_operator(
        "image.resize1d", x, size=[length], method="nearest_neighbor", rounding_method=rounding,
        coordinate_transformation_mode=mode,
    )  # fmt: skip
    np.testing.assert_array_equal(result, x[:, :, np.clip(places, 0, 5).astype(int)])


def test_ry06_cubic_resize_without_elements_outside(exec_mode):
    x, alpha = images(1, 1, 5), -0.5
    places = PLACES["half_pixel"](np.arange(7), 5, 7)
    wanted = np.zeros(7)
    for i, place in enumerate(places):
        taps = np.arange(np.floor(place) - 1, np.floor(place) + 3)
        near = np.abs(taps - place)
        shares = np.where(
            near <= 1, (alpha + 2) * near**3 - (alpha + 3) * near**2 + 1,
            alpha * near**3 - 5 * alpha * near**2 + 8 * alpha * near - 4 * alpha,
        )  # fmt: skip
        shares[(taps < 0) | (taps > 4)] = 0
        wanted[i] = x[0, 0, np.clip(taps, 0, 4).astype(int)] @ shares / shares.sum()
    result = run_operator("image.resize1d", x, size=[7], method="cubic", cubic_exclude=1)
    np.testing.assert_allclose(result[0, 0], wanted, rtol=1e-5, atol=1e-5)


def test_ry06_resize_of_a_region(exec_mode):
    x, length = images(1, 2, 5), 6
    places = PLACES["tf_crop_and_resize"](np.arange(length), 5, length)
    first = np.clip(np.floor(places), 0, 4).astype(int)
    share = places - np.floor(places)
    wanted = x[..., first] * (1 - share) + x[..., np.clip(first + 1, 0, 4)] * share
    wanted[..., places > 4] = 9
    result = run_operator(
        "image.resize1d", x, size=[length], roi=[0.25, 1.5], extrapolation_value=9.0,
        coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_ry06_resize_layouts_and_types(exec_mode):
    x = images(1, 4, 6, 2)
    wanted = interpolated(x.transpose(0, 3, 1, 2), [3, 8], "bilinear", False)
    result = run_operator("image.resize2d", x, size=[3, 8], layout="NHWC")
    np.testing.assert_allclose(result, wanted.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)
    pixels = np.random.default_rng(0).integers(0, 256, (1, 1, 4, 6)).astype("uint8")
    wanted = interpolated(pixels.astype("float32"), [3, 8], "bilinear", False)
    result = run_operator("image.resize2d", pixels, size=[3, 8])
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, np.floor(wanted + 1e-4))
    result = run_operator("image.resize2d", pixels, size=[3, 8], out_dtype="float32")
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-4)


UPSAMPLINGS = {
    "nearest": ("nn.upsampling", {"scale_h": 2.0, "scale_w": 3.0}, "nearest", None),
    "bilinear": ("nn.upsampling",
                 {"scale_h": 2.0, "scale_w": 1.5, "method": "bilinear", "align_corners": True},
                 "bilinear", True),
    "trilinear": ("nn.upsampling3d",
                  {"scale_d": 2.0, "scale_h": 1.0, "scale_w": 1.5, "method": "trilinear"},
                  "trilinear", False),
}  # fmt: skip


@pytest.mark.parametrize("name", UPSAMPLINGS)
def test_ry06_upsamplings(name, exec_mode):
    operator, attrs, mode, corners = UPSAMPLINGS[name]
    scales = [attrs[key] for key in ("scale_d", "scale_h", "scale_w") if key in attrs]
    x = images(1, 2, *(2, 3, 4)[3 - len(scales) :])
    size = [round(dim * scale) for dim, scale in zip(x.shape[2:], scales, strict=True)]
    wanted = interpolated(x, size, mode, corners)
    shapes = [("n", 2, "h", "w")] if name == "nearest" else None
    result = run_operator(operator, x, shapes=shapes, **attrs)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_ry06_sizes_and_scales_as_operands(exec_mode):
    x = images(1, 2, 4, 6)
    size, roi = Known(np.array([7, 3], "int64")), Known(np.zeros(4, "float32"))
    result = run_operator("dyn.image.resize2d", x, size, roi)
    wanted = interpolated(x, [7, 3], "bilinear", False)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)
    scales = [Known(np.array(scale, "float32")) for scale in (2, 3)]
    result = run_operator("dyn.nn.upsampling", x, *scales)
    np.testing.assert_array_equal(result, interpolated(x, [8, 18], "nearest"))
    x, scales = images(1, 1, 2, 2, 2), [Known(np.array(2, "float32"))] * 3
    result = run_operator("dyn.nn.upsampling3d", x, *scales, method="trilinear")
    wanted = interpolated(x, [4, 4, 4], "trilinear", False)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


SAMPLINGS = [
    ("bilinear", "zeros", True), ("nearest", "reflection", True), ("bicubic", "zeros", False),
]  # fmt: skip


def test_ry06_grid_sample(exec_mode):
    x = images(2, 3, 4, 5)
    grid = np.random.default_rng(1).uniform(-1.3, 1.3, (2, 2, 3, 2)).astype("float32")
    points = torch.tensor(grid.transpose(0, 2, 3, 1).copy())
    names = ("method", "padding_mode", "align_corners")
    results = run_operators(
        [("image.grid_sample", dict(zip(names, one, strict=True))) for one in SAMPLINGS], x, grid,
        shapes=[("n", 3, 4, 5), ("n", 2, 3, 2)],
    )  # fmt: skip
    for options, result in zip(SAMPLINGS, results, strict=True):
        wanted = F.grid_sample(torch.tensor(x), points, *options).numpy()
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_ry06_grid_sample_of_volumes(exec_mode):
    x = images(1, 2, 3, 4, 2)
    grid = np.random.default_rng(1).uniform(-1.3, 1.3, (1, 3, 2, 2, 2)).astype("float32")
    points = torch.tensor(grid.transpose(0, 2, 3, 4, 1).copy())
    options = {"padding_mode": "border", "align_corners": True}
    wanted = F.grid_sample(torch.tensor(x), points, **options).numpy()
    result = run_operator("image.grid_sample", x, grid, layout="NCDHW", **options)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_ry06_affine_grid(exec_mode):
    matrices = images(2, 2, 3)
    wanted = F.affine_grid(torch.tensor(matrices), [2, 1, 3, 4], align_corners=True).numpy()
    result = run_operator("image.affine_grid", matrices, shapes=[("n", 2, 3)], target_shape=[3, 4])
    np.testing.assert_allclose(result, wanted.transpose(0, 3, 1, 2), rtol=1e-5, atol=1e-6)


def cropped(image, y, x, method):
    """Return the value at a place of an image, 7 outside of it."""
    height, width, channels = image.shape
    if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
        return np.full(channels, 7)
    if method == "nearest_neighbor":
        return image[int(y + 0.5), int(x + 0.5)]
    total = np.zeros(channels)
    for row, column in np.ndindex(height, width):
        total += max(0, 1 - abs(y - row)) * max(0, 1 - abs(x - column)) * image[row, column]
    return total


def test_ry06_crop_and_resize(exec_mode):
    x, outer, methods = images(2, 4, 5, 3), (3, 4), ("bilinear", "nearest_neighbor")
    boxes = np.array([[0.1, 0.2, 0.9, 0.8], [0.5, 0.9, -0.2, 1.1]], "float32")
    attrs = {"crop_size": outer, "layout": "NHWC", "extrapolation_value": 7.0}
    results = run_operators(
        [("image.crop_and_resize", {**attrs, "method": method}) for method in methods],
        x, boxes, np.array([1, 0], "int32"), shapes=[("n", 4, 5, 3), ("k", 4), ("k",)],
    )  # fmt: skip
    for method, result in zip(methods, results, strict=True):
        for box, i, j in np.ndindex(2, *outer):
            top, left, bottom, right = boxes[box].astype("float64")
            y, z = (top + (bottom - top) * i / 2) * 3, (left + (right - left) * j / 3) * 4
            wanted = cropped(x[1 - box], y, z, method)
            np.testing.assert_allclose(result[box, i, j], wanted, rtol=1e-4, atol=1e-5)


def test_ry06_dilation(exec_mode):
    x, kernel = images(1, 2, 5, 6), images(2, 2, 3)
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 1)])
    wanted = np.full((1, 2, 3, 3), -np.inf)
    for i, j in np.ndindex(2, 3):
        part = wide[:, :, 2 * i : 2 * i + 5 : 2, j : j + 5 : 2]
        wanted = np.maximum(wanted, part + kernel[:, i, j][:, None, None])
    result = run_operator(
        "image.dilation2d", x.transpose(0, 2, 3, 1).copy(), kernel.transpose(1, 2, 0).copy(),
        strides=[2, 2], padding=[1, 0, 1, 1], dilations=[2, 1], data_layout="NHWC",
        kernel_layout="HWI",
    )  # fmt: skip
    wanted = wanted.transpose(0, 2, 3, 1)
    np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)


REFUSED = {
    "method": ("image.resize2d", {"size": [2, 2], "method": "bilinear"}, ValueError,
               "expected method nearest_neighbor, linear, cubic"),
    "mode": ("image.resize2d", {"size": [2, 2], "coordinate_transformation_mode": "corners"},
             ValueError, "expected coordinate_transformation_mode half_pixel"),
    "rounding": ("image.resize2d", {"size": [2, 2], "rounding_method": "even"}, ValueError,
                 "expected rounding_method round"),
    "size": ("image.resize2d", {"size": [2, 2, 2]}, ValueError, "size of 1 or 2 numbers"),
    "rank": ("image.resize3d", {"size": [2, 2, 2]}, ValueError, "layout NCDHW, but got rank 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_ry06_images_refused(name):
    operator, attrs, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        run_operator(operator, images(1, 2, 4, 4), shapes=[(1, 2, "h", "w")], **attrs)
