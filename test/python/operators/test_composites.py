# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that others compose: against PyTorch and NumPy, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
import torch.nn.functional as F  # noqa: N812 (as everybody calls it)
import tvm_ffi
from relax_mlir import op
from relax_mlir.composites.arithmetic import erf_inv
from relax_mlir.core.expr import as_tensor
from relax_mlir.script import from_source

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def close(result: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    expected = expected.numpy() if isinstance(expected, torch.Tensor) else np.asarray(expected)
    got = np.asarray(result)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


# ------------------------------------------------------------------------------------------------
# Images
# ------------------------------------------------------------------------------------------------

# TVM's coordinates and method, and PyTorch's mode and corners.
RESIZES = [
    ("linear", "half_pixel", "bilinear", False),
    ("linear", "align_corners", "bilinear", True),
    ("cubic", "half_pixel", "bicubic", False),
    ("nearest_neighbor", "asymmetric", "nearest", None),
]


@pytest.mark.parametrize(("method", "mode", "torch_mode", "corners"), RESIZES)
@pytest.mark.parametrize("size", [(5, 7), (10, 14), (3, 4), (1, 1), (9, 2)])
@pytest.mark.parametrize("dims", [(5, 7), ("h", "w")])
def test_resize2d(run, method, mode, torch_mode, corners, size, dims):
    x = floats(2, 3, 5, 7)
    result = run(
        lambda x: op.image.resize2d(
            x, size, method=method, coordinate_transformation_mode=mode, rounding_method="floor"
        ),
        x,
        shapes=[("n", 3, *dims)],
    )
    expected = F.interpolate(torch.from_numpy(x), size, mode=torch_mode, align_corners=corners)
    close(result, expected, 1e-4)


SYMBOLIC_RESIZES = [
    *itertools.product(
        ("nearest_neighbor", "linear", "cubic"),
        (
            "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
            "tf_half_pixel_for_nn", "tf_crop_and_resize",
        ),
        (0,),
    ),
    ("cubic", "half_pixel", 1),
]  # fmt: skip


@pytest.mark.parametrize(("method", "mode", "excludes"), SYMBOLIC_RESIZES)
def test_resize2d_of_symbolic_sizes(load, write, tensor, method, mode, excludes):
    params = [
        tensor(("n", 2, "h", "w"), name="x"),
        relax.Var("size", relax.ShapeStructInfo(("p", "q"))),
    ]

    def resize(x, size):
        return op.image.resize2d(
            x, size, [0.2, -0.1, 0.8, 1.1], method=method, coordinate_transformation_mode=mode,
            rounding_method="round_prefer_floor", cubic_exclude=excludes, extrapolation_value=3.0,
        )  # fmt: skip

    main = load(write(resize, *params))
    for height, width, p, q in ((5, 7, 10, 3), (5, 7, 5, 7), (1, 1, 4, 2), (4, 6, 1, 1)):
        x = floats(2, 2, height, width)
        known = load(write(lambda x, p=p, q=q: resize(x, (p, q)), tensor(x.shape, name="x")))
        close(main(x, tvm_ffi.Shape((p, q))), known(x), 1e-4)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW2c"])
def test_resize2d_in_layouts(run, layout):
    x = floats(2, 4, 5, 7)
    wanted = F.interpolate(torch.from_numpy(x), (8, 6), mode="bilinear").numpy()

    def arranged(array: np.ndarray) -> np.ndarray:
        if layout == "NHWC":
            return np.ascontiguousarray(array.transpose(0, 2, 3, 1))
        n, c, h, w = array.shape
        return np.ascontiguousarray(array.reshape(n, c // 2, 2, h, w).transpose(0, 1, 3, 4, 2))

    result = run(lambda x: op.image.resize2d(x, (8, 6), layout=layout), arranged(x))
    close(result, arranged(wanted), 1e-4)


def test_resize1d_and_resize3d(run):
    x, y = floats(2, 3, 9), floats(1, 2, 3, 4, 5)
    close(
        run(lambda x: op.image.resize1d(x, 4), x),
        F.interpolate(torch.from_numpy(x), 4, mode="linear"),
        1e-4,
    )
    close(
        run(lambda x: op.image.resize3d(x, (6, 2, 5)), y),
        F.interpolate(torch.from_numpy(y), (6, 2, 5), mode="trilinear"),
        1e-4,
    )


@pytest.mark.parametrize("image", [(5, 6), ("h", 6), ("h", "w")], ids=["known", "height", "both"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("corners", [True, False])
def test_grid_sample(run, method, padding, corners, image):
    x, grid = floats(2, 3, 5, 6), (RNG.random((2, 4, 3, 2)) * 2.4 - 1.2).astype("float32")
    result = run(
        lambda x, grid: op.image.grid_sample(
            x, grid, method, padding_mode=padding, align_corners=corners
        ),
        x,
        grid,
        shapes=[("n", 3, *image), ("n", "p", "q", 2)],
    )
    expected = F.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), method, padding, corners)
    close(result, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
def test_grid_sample_of_one_row(run, padding, corners):
    x, grid = floats(2, 3, 1, 6), (RNG.random((2, 4, 3, 2)) * 2.4 - 1.2).astype("float32")
    result = run(
        lambda x, grid: op.image.grid_sample(x, grid, padding_mode=padding, align_corners=corners),
        x,
        grid,
        shapes=[("n", "c", "h", "w"), ("n", "p", "q", 2)],
    )
    given = torch.from_numpy(x), torch.from_numpy(grid)
    close(result, F.grid_sample(*given, "bilinear", padding, corners), 1e-4, 1e-4)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_of_volumes(run, padding):
    x, grid = floats(2, 3, 4, 5, 6), (RNG.random((2, 4, 3, 2, 3)) * 2.4 - 1.2).astype("float32")
    result = run(
        lambda x, grid: op.image.grid_sample(x, grid, "bilinear", "NCDHW", padding_mode=padding),
        x,
        grid,
        shapes=[("n", 3, "d", "h", "w"), ("n", "p", "q", "r", 3)],
    )
    given = torch.from_numpy(x), torch.from_numpy(grid)
    close(result, F.grid_sample(*given, "bilinear", padding, False), 1e-4, 1e-4)


def test_affine_grid(run):
    theta = floats(3, 2, 3)
    result = run(lambda x: op.image.affine_grid(x, (4, 5)), theta, shapes=[("n", 2, 3)])
    expected = F.affine_grid(torch.from_numpy(theta), [3, 1, 4, 5], align_corners=True)
    close(result, expected.permute(0, 3, 1, 2), 1e-4)


@pytest.mark.parametrize("size", [("h", "w"), ("h", 5), (4, "w")])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_affine_grid_of_a_symbolic_size(run, size, dtype):
    theta = floats(3, 2, 3).astype(dtype)
    dims = [relax.Dim(one) for one in size]
    result = run(
        lambda x, _: op.image.affine_grid(x, dims), theta, floats(4, 5),
        shapes=[("n", 2, 3), ("h", "w")],
    )  # fmt: skip
    wide = torch.from_numpy(theta.astype("float64"))
    expected = F.affine_grid(wide, [3, 1, 4, 5], align_corners=True)
    tolerance = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3}[dtype]
    close(result, expected.permute(0, 3, 1, 2), tolerance, tolerance)


# ------------------------------------------------------------------------------------------------
# Neural networks
# ------------------------------------------------------------------------------------------------

TRANSPOSED = [
    # Dimensions of the data and the weight, strides, padding, output padding, dilation, groups.
    ((2, 4, 9), (4, 3, 3), 2, 1, 1, 1, 1),
    ((2, 4, 5, 6), (4, 3, 3, 2), (2, 3), (1, 0), (1, 0), 1, 1),
    ((1, 6, 5, 6), (6, 2, 3, 3), 1, 1, 0, 2, 3),
    ((1, 4, 1, 1), (4, 5, 4, 4), 4, 0, 0, 1, 2),
    ((1, 2, 3, 4, 5), (2, 3, 2, 2, 2), 2, 0, 0, 1, 1),
    # Two phases of a result that begins with the second one, in each group.
    ((2, 6, 5, 4), (6, 2, 4, 4), 2, 1, 0, 1, 3),
    # Phases that see one element of the window more than others, or none.
    ((1, 4, 7), (4, 3, 5), 3, 2, 2, 1, 1),
    ((1, 4, 7), (4, 3, 2), 5, 0, 1, 1, 1),
    ((1, 4, 7), (4, 3, 1), 2, 0, 1, 1, 1),
    # More is left out than the window reaches.
    ((1, 3, 9, 8), (3, 2, 3, 2), (2, 3), (5, 4), (1, 2), 1, 1),
    ((1, 3, 9), (3, 2, 2), 1, 3, 0, 1, 1),
    # Elements of a dilated window belong to several phases.
    ((1, 4, 6, 5), (4, 3, 3, 2), (2, 1), 1, (1, 0), (2, 3), 2),
    ((1, 2, 3, 4, 3), (2, 3, 3, 1, 4), (2, 1, 3), (1, 0, 2), (0, 0, 1), 1, 1),
]


@pytest.mark.parametrize(
    ("dims", "kernel", "strides", "padding", "extra", "dilation", "groups"), TRANSPOSED
)
def test_transposed_convolution(run, dims, kernel, strides, padding, extra, dilation, groups):
    x, weight = floats(*dims), floats(*kernel)
    count = len(dims) - 2
    ours = getattr(op.nn, f"conv{count}d_transpose")
    theirs = getattr(F, f"conv_transpose{count}d")
    result = run(
        lambda x, w: ours(x, w, strides, padding, extra, dilation, groups),
        x,
        weight,
        shapes=[("n", dims[1], *"hwd"[:count]), kernel],
    )
    expected = theirs(
        torch.from_numpy(x), torch.from_numpy(weight), None, strides, padding, extra, groups,
        dilation,
    )  # fmt: skip
    close(result, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("dims", [(5,), (3, 5), (2, 3, 4)])
def test_cross_entropy_with_logits(run, dims):
    x, y = RNG.standard_normal((2, *dims)).astype("float32")
    count = dims[0] if len(dims) > 1 else 1
    np.testing.assert_allclose(
        run(op.nn.cross_entropy_with_logits, x, y), -(x * y).sum() / count, rtol=1e-5
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dims", [(5,), (2, 5), (2, 5, 3, 4)])
def test_nll_loss(run, dims, weighted, reduction):
    x = np.log(RNG.random(dims) + 0.1).astype("float32")
    shape = (dims[0], *dims[2:]) if len(dims) > 1 else ()
    classes = RNG.integers(0, 5, shape)
    classes = np.where(RNG.random(shape) < 0.3, -100, classes) if len(dims) > 1 else classes
    weights = RNG.random(5).astype("float32") if weighted else None
    arrays = [x, np.asarray(classes), *([weights] if weighted else [])]
    result = run(lambda x, t, w=None: op.nn.nll_loss(x, t, w, reduction), *arrays)
    expected = F.nll_loss(
        torch.from_numpy(x),
        torch.as_tensor(classes),
        None if weights is None else torch.from_numpy(weights),
        reduction=reduction,
    )
    close(result, expected, 1e-4)


def test_dropout_and_batch_flatten(run):
    x = floats(2, 3, 4)
    kept, mask = run(lambda x: op.nn.dropout(x, 0.3), x)
    close(kept, x)
    close(mask, np.ones_like(x))
    close(run(op.nn.batch_flatten, x, shapes=[("n", 3, 4)]), x.reshape(2, 12))


# ------------------------------------------------------------------------------------------------
# Selection
# ------------------------------------------------------------------------------------------------

EINSUMS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
    ("ii->i", [(4, 4)]),
    ("ij->", [(2, 3)]),
    ("...i,...i->...", [(2, 3, 4), (2, 3, 4)]),
    ("i,j,k->kji", [(2,), (3,), (4,)]),
    ("ab,bc,cd", [(2, 3), (3, 4), (4, 2)]),
]


@pytest.mark.parametrize(("subscripts", "shapes"), EINSUMS)
def test_einsum(run, subscripts, shapes):
    arrays = [floats(*shape) for shape in shapes]
    result = run(lambda *xs: op.einsum(list(xs), subscripts), *arrays)
    close(result, np.einsum(subscripts, *arrays), 1e-4)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (0,), (2, 0, 3)])
def test_nonzero(run, shape, dtype):
    x = RNG.integers(0, 2, shape).astype(dtype)
    result = run(op.nonzero, x)
    np.testing.assert_array_equal(np.asarray(result), np.stack(np.nonzero(x)))
    assert np.asarray(result).dtype == "int64"


def test_masked_fill(run):
    x, mask = floats(3, 4), RNG.random((3, 1)) < 0.5
    result = run(lambda x, m: op.masked_fill(x, m, -1.5), x, mask, shapes=[("n", 4), ("n", 1)])
    close(result, np.where(mask, np.float32(-1.5), x))


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 5, 3)])
def test_median(run, shape):
    x = RNG.integers(0, 4, shape).astype("float32")
    close(run(op.median, x), torch.median(torch.from_numpy(x)))
    for axis in range(len(shape)):
        values, places = map(np.asarray, run(lambda x, axis=axis: op.median(x, axis, True), x))
        expected = torch.median(torch.from_numpy(x), axis, True).values.numpy()
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(np.take_along_axis(x, places, axis), expected)


@pytest.mark.parametrize(
    ("start", "end", "step", "axis"),
    [(0, 5, 1, 0), (1, 3, 1, 0), (-2, 5, 1, 0), (0, 5, 2, 0), (1, 2**63 - 1, 3, 1), (2, 2, 1, 1)],
)
def test_slice_scatter(run, start, end, step, axis):
    x = floats(5, 6)
    wanted = x.copy()
    place = (slice(start, end, step), slice(None))[:: 1 if axis == 0 else -1]
    source = floats(*wanted[place].shape)
    wanted[place] = source
    result = run(lambda x, s: op.slice_scatter(x, s, start, end, step, axis), x, source)
    close(result, wanted)


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(run, accumulate):
    x, rows, columns = floats(4, 5, 2), np.array([0, 3, -1, 2]), np.array([[1], [-5]])
    # The same place twice adds up.
    values = floats(2, 4, 2) if accumulate else floats(2)
    wanted = torch.from_numpy(x.copy()).index_put(
        (torch.from_numpy(rows % 4 if accumulate else np.array([0, 3, 1, 2])),
         torch.from_numpy(columns % 5)),
        torch.from_numpy(values), accumulate,
    )  # fmt: skip
    rows = rows if accumulate else np.array([0, 3, 1, 2])
    result = run(
        lambda x, i, j, v: op.index_put(x, (i, j), v, accumulate), x, rows, columns, values
    )
    close(result, wanted)


def test_multinomial_from_uniform(run):
    prob = RNG.dirichlet(np.ones(6), 3).astype("float32")
    uniform = RNG.random((50, 1)).astype("float32")
    rows = RNG.integers(0, 3, (50, 1))
    result = run(
        op.multinomial_from_uniform, prob, uniform, rows,
        shapes=[("b", "v"), ("n", 1), ("n", 1)],
    )  # fmt: skip
    sums = np.cumsum(prob.astype("float64"), 1)[rows[:, 0]]
    expected = np.minimum((sums < uniform).sum(1, keepdims=True), 5)
    # A sum that is as good as the number may be rounded either way.
    far = (np.abs(sums - uniform) > 1e-6).all(1)
    np.testing.assert_array_equal(np.asarray(result)[far], expected[far])


def test_hamming_window(run):
    x = floats(1)
    for count, periodic in ((0, True), (1, False), (8, True), (9, False)):
        result = run(
            lambda x, n=count, p=periodic: op.tuple(x, op.hamming_window(n, p, 0.54, 0.46)), x
        )[1]
        close(result, torch.hamming_window(count, periodic, 0.54, 0.46))


def test_dynamic_strided_slice(run):
    x = floats(5, 6)
    for place in (np.s_[1:4:2, ::-1], np.s_[-2:99:1, 5:0:-2], np.s_[3:1:1, 0:6:1]):
        bounds = [one.indices(size) for one, size in zip(place, x.shape, strict=True)]
        begin, end, strides = (np.array(each) for each in zip(*bounds, strict=True))
        # An end before the first element has no number of its own.
        end = np.where(end < 0, -100, end)
        result = run(op.dynamic_strided_slice, x, begin, end, strides)
        np.testing.assert_array_equal(np.asarray(result), x[place])


def test_shapes_as_tensors(run):
    x = floats(3, 4)
    first, count = run(
        lambda x: op.tuple(op.shape_to_tensor(op.shape_of(x)), op.size(x)), x, shapes=[("n", 4)]
    )
    assert np.asarray(first).tolist() == [3, 4] and int(np.asarray(count)) == 12
    back = run(lambda d: op.tensor_to_shape(d), np.array([2, 0, 5]))
    assert tuple(back) == (2, 0, 5)


def test_wrap_param(run):
    x = floats(3).astype("float16")
    assert np.asarray(run(lambda x: op.wrap_param(x, "float32"), x)).dtype == "float32"


# ------------------------------------------------------------------------------------------------
# Object detection
# ------------------------------------------------------------------------------------------------


def bilinear(image: np.ndarray, y: float, x: float) -> np.ndarray:
    _, height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    a, b = y - top, x - left
    return (
        image[:, top, left] * (1 - a) * (1 - b)
        + image[:, top, right] * (1 - a) * b
        + image[:, bottom, left] * a * (1 - b)
        + image[:, bottom, right] * a * b
    )


def roi_align(x, rois, size, scale, samples, aligned, mode):
    result = np.zeros((len(rois), x.shape[1], *size))
    for r, (batch, *edges) in enumerate(rois.astype("float64")):
        left, top, right, bottom = (edge * scale for edge in edges)
        height, width = bottom - top, right - left
        if not aligned:
            height, width = max(height, 1), max(width, 1)
        for p, q in np.ndindex(*size):
            each = [
                bilinear(
                    x[int(batch)],
                    top + (p + (i + 0.5) / samples) * height / size[0],
                    left + (q + (j + 0.5) / samples) * width / size[1],
                )
                for i, j in np.ndindex(samples, samples)
            ]
            result[r, :, p, q] = np.mean(each, 0) if mode == "avg" else np.max(each, 0)
    return result


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(run, aligned, mode):
    x = np.abs(floats(2, 3, 8, 9))
    rois = np.array([[0, 1, 2, 10, 9], [1, 0, 0, 0.5, 0.5], [0, -5, 3, 30, 20]], "float32")
    result = run(
        lambda x, rois: op.vision.roi_align(x, rois, (2, 3), 0.5, 2, aligned, mode=mode),
        x,
        rois,
        shapes=[("n", 3, 8, 9), ("r", 5)],
    )
    close(result, roi_align(x, rois, (2, 3), 0.5, 2, aligned, mode), 1e-4, 1e-4)


def suppress(boxes, scores, limit, overlap, threshold):
    """Return the boxes that are kept, as rows of batch, class and box."""
    rows = []
    for b, c in np.ndindex(*scores.shape[:2]):
        order = np.argsort(-scores[b, c], kind="stable")
        kept: list[int] = []
        for i in order:
            if scores[b, c, i] <= threshold or len(kept) >= limit:
                continue
            one = boxes[b, i]
            for k in kept:
                other = boxes[b, k]
                low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
                common = np.prod(np.maximum(high - low, 0))
                both = np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - common
                if common / both >= overlap:
                    break
            else:
                kept.append(i)
        rows += [[b, c, i] for i in kept]
    return np.array(rows)


def test_all_class_non_max_suppression(run):
    low = RNG.random((2, 12, 2)).astype("float32")
    boxes = np.concatenate([low, low + 0.2 + RNG.random((2, 12, 2)).astype("float32")], 2)
    scores = RNG.random((2, 3, 12)).astype("float32")
    result, count = run(
        lambda b, s: op.vision.all_class_non_max_suppression(b, s, 4, 0.3, 0.2),
        boxes,
        scores,
        shapes=[("n", "k", 4), ("n", 3, "k")],
    )
    expected = suppress(boxes, scores, 4, 0.3, 0.2)
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert np.asarray(count).tolist() == [len(expected)]


def test_valid_counts_and_suppression(run):
    low = RNG.random((1, 10, 2)).astype("float32")
    corners = np.concatenate([low, low + 0.3 + RNG.random((1, 10, 2)).astype("float32")], 2)
    scores = RNG.random((1, 10, 1)).astype("float32")
    data = np.concatenate([np.zeros_like(scores), scores, corners], 2)

    def write(data):
        found = op.vision.get_valid_counts(data, 0.3)
        count, rows, places = (op.get_item(found, i) for i in range(3))
        return op.vision.non_max_suppression(rows, count, places, -1, 0.4)

    numbers, count = map(np.asarray, run(write, data))
    expected = suppress(corners, scores.transpose(0, 2, 1), 10, 0.4, 0.3)[:, 2]
    assert count.tolist() == [[len(expected)]]
    np.testing.assert_array_equal(numbers[0, : len(expected)], expected)
    assert (numbers[0, len(expected) :] == -1).all()


def test_multibox_transform_loc(run):
    logits, moves = floats(2, 3, 4), floats(2, 16) * 0.1
    low = RNG.random((1, 4, 2)).astype("float32")
    anchors = np.concatenate([low, low + 0.5], 2)
    factors = (0.1, 0.1, 0.2, 0.2)
    boxes, scores = run(
        lambda c, m, a: op.vision.multibox_transform_loc(c, m, a, True, 0.3, factors, False),
        logits, moves, anchors, shapes=[("b", 3, "n"), ("b", "n * 4"), (1, "n", 4)],
    )  # fmt: skip
    each = moves.reshape(2, 4, 4)
    size, middle = anchors[..., 2:] - anchors[..., :2], (anchors[..., 2:] + anchors[..., :2]) / 2
    centre = each[..., :2] * 0.1 * size + middle
    reach = np.exp(each[..., 2:] * 0.2) * size / 2
    expected = np.concatenate([(centre - reach)[..., ::-1], (centre + reach)[..., ::-1]], 2)
    close(boxes, expected.clip(0, 1), 1e-4)
    powers = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    powers = np.where(powers >= 0.3, powers, 0)
    powers[:, 0] = 0
    close(scores, powers, 1e-4)


def test_roi_pool(run):
    x = floats(1, 2, 6, 6)
    rois = np.array([[0, 0, 0, 5, 5], [0, 1, 2, 3, 5]], "float32")
    result = np.asarray(run(lambda x, r: op.vision.roi_pool(x, r, (2, 2), 1.0), x, rois))
    for p, q in np.ndindex(2, 2):
        part = x[0, :, 3 * p : 3 * p + 3, 3 * q : 3 * q + 3]
        np.testing.assert_array_equal(result[0, :, p, q], part.max((1, 2)))
    close(result[1, :, 0, 0], x[0, :, 2:4, 1:3].max((1, 2)))


# ------------------------------------------------------------------------------------------------
# TVMScript, and wrong arguments
# ------------------------------------------------------------------------------------------------


def test_tvmscript_has_them():
    module = from_source("""
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4, 8, 8), "float32"), w: R.Tensor((4, 2, 2, 2), "float32")):
        a = R.image.resize2d(x, R.shape([16, 16]), method="nearest_neighbor",
                             coordinate_transformation_mode="asymmetric", rounding_method="floor")
        b = R.nn.conv2d_transpose(x, w, strides=[2, 2])
        c = R.einsum((x, x), subscripts="nchw,nchw->nc")
        d = R.nonzero(c)
        return (a, b, c, d)
""")
    assert [str(field) for field in module["main"].ret_struct_info.fields] == [
        "!relax.tensor<[n, 4, 16, 16], f32>",
        "!relax.tensor<[n, 2, 16, 16], f32>",
        "!relax.tensor<[n, 4], f32>",
        "!relax.tensor<ndim = 2, i64>",
    ]


X = relax.TensorStructInfo(("n", 3, 5, 5), "float32")
ERRORS = [
    (lambda x: op.image.resize2d(x, (1, 2, 3)), "expected a size of 2 dimensions, but got 3"),
    (lambda x: op.image.resize2d(x, 3, method="lanczos"), "expected method nearest_neighbor"),
    (lambda x: op.image.resize2d(x, 3, layout="NCW"), "expected a tensor of the layout NCW"),
    (lambda x: op.image.grid_sample(x, x, "area"), "expected method nearest, bilinear, bicubic"),
    (lambda x: op.image.affine_grid(x, 3), "expected matrices of 2 rows and 3 columns"),
    (lambda x: op.nn.conv2d_transpose(x, np.ones((4, 2, 2, 2), "float32")), "for 3 channels"),
    (lambda x: op.nn.nll_loss(x, x, reduction="max"), "expected reduction mean, sum, none"),
    (lambda x: op.nn.cross_entropy_with_logits(x, op.sum(x, 0)), "expected labels of rank "),
    (lambda x: op.nn.dropout(x, 1.5), "expected rate to be at least 0 and less than 1"),
    (lambda x: op.einsum([x], "ij->i"), "expected a tensor of rank 2 for 'ij', but got rank 4"),
    (lambda x: op.einsum([x], "nchw,n->n"), "expected 2 operands"),
    (lambda x: op.median(x, 7), "expected an axis from -4 to 3, but got 7"),
    (lambda x: op.slice_scatter(x, x, 0, 2, 1, 1), "expected src of 2 elements along axis 1"),
    (lambda x: op.slice_scatter(x, x, 0, 3, -1, 1), "expected step to be positive"),
    (lambda x: op.vision.roi_align(x, x, 2, 1.0, 2), "expected images of rank 4 and regions"),
    (lambda x: op.dynamic_strided_slice(x, [0], [1], [1]), "expected begin of 4 numbers"),
    (lambda x: op.hamming_window(-1), "expected window_size to be at least 0"),
]


@pytest.mark.parametrize(("write_", "message"), ERRORS)
def test_error_of_arguments(write_, message):
    bb = relax.BlockBuilder()
    x = relax.Var("x", X)
    with bb.function("main", [x]):
        with pytest.raises((ValueError, TypeError), match=message):
            write_(x)
        bb.emit_func_output(x)


def test_error_of_what_depends_on_regions():
    bb = relax.BlockBuilder()
    x, rois = relax.Var("x", X), relax.Var("rois", relax.TensorStructInfo((2, 5), "float32"))
    with bb.function("main", [x, rois]):
        with pytest.raises(NotImplementedError, match="expected sample_ratio of 1 or more"):
            op.vision.roi_align(x, rois, 2, 1.0)
        bb.emit_func_output(x)


def test_error_strides_of_zero(run):
    x, one = floats(3), np.array([0])
    with pytest.raises(ValueError, match="expected strides other than 0"):
        run(op.dynamic_strided_slice, x, one, np.array([2]), one)


# ------------------------------------------------------------------------------------------------
# Formulas
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "rtol"), [("float16", 2e-3), ("float32", 2e-6), ("float64", 1e-14)]
)
def test_inverse_of_erf(run, dtype, rtol):
    depths = np.linspace(0, 8 if dtype != "float64" else 36, 500)
    x = np.concatenate([1 - np.exp(-depths), np.linspace(-1, 1, 501), [1.5, np.nan]]).astype(dtype)
    wanted = torch.erfinv(torch.from_numpy(x.astype("float64"))).numpy()
    close(run(lambda x: erf_inv(as_tensor(x)), x), wanted.astype(dtype), rtol, 0)
