# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ONNX at symbolic sizes, and what they refuse."""

from __future__ import annotations

import functools

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import onnx_models  # noqa: E402
from onnx_models import RNG, random  # noqa: E402
from relax_mlir.frontend.onnx import InferenceSession, from_onnx  # noqa: E402

graph = functools.partial(onnx_models.graph, opset=20)
check = functools.partial(onnx_models.check, opt_level=0)


def test_places_that_hold_of_symbolic_sizes() -> None:
    model = graph("""(float[n, m] x, bool[m] c) => (int64[2, k] i, float[n, j] y, float[k] z) {
      zero = Constant<value = float {0}>()
      positive = Greater(x, zero)
      i = NonZero(positive)
      y = Compress<axis = 1>(x, c)
      places = Transpose(i)
      z = GatherND(x, places)
    }""")
    flags = np.array([True, False, True])
    feeds = [{"x": random(4, 3), "c": flags}, {"x": -abs(random(2, 3)), "c": ~flags}]
    check(model, *feeds, {"x": random(1, 3), "c": np.zeros(3, bool)})


def test_error_of_too_many_conditions() -> None:
    model = graph("(float[2] x, bool[3] c) => (float[k] y) { y = Compress(x, c) }")
    with pytest.raises(ValueError, match="'y', Compress of opset 20: expected up to 2 conditions"):
        from_onnx(model)


SUPPRESSION = """(float[n, b, 4] boxes, float[n, c, b] scores%s) => (int64[k, 3] y) {
  %s
  overlap = Constant<value = float[1] {0.3}>()
  least = Constant<value = float[1] {0.2}>()
  y = NonMaxSuppression(boxes, scores, most, overlap, least)
}"""


@pytest.mark.parametrize(
    ("given", "constant"),
    [("", "most = Constant<value = int64[1] {3}>()"), (", int64[1] most", "")],
    ids=["constant", "input"],
)
def test_suppression_of_symbolic_boxes(given: str, constant: str) -> None:
    model = graph(SUPPRESSION % (given, constant))
    for n, c, b in ((1, 1, 20), (2, 3, 7), (1, 2, 1)):
        begin, size = RNG.random((n, b, 2), "float32"), RNG.random((n, b, 2), "float32")
        boxes = np.concatenate([begin, begin + size], 2)
        feed = {"boxes": boxes, "scores": RNG.random((n, c, b), "float32")}
        check(model, feed | ({"most": np.array([4])} if given else {}))


def test_frames_of_a_symbolic_length() -> None:
    model = graph("""(float[n, l, 1] x) => (float[n, f, 9, 2] y) {
      step = Constant<value = int64 {4}>()
      size = Constant<value = int64 {16}>()
      window = HannWindow(size)
      y = STFT(x, step, window)
    }""")
    check(model, {"x": random(2, 64, 1)}, {"x": random(1, 19, 1)})


@pytest.mark.parametrize("length", [5, 8, 12])
@pytest.mark.parametrize("inverse", [0, 1])
def test_fourier_transforms_of_other_lengths(length: int, inverse: int) -> None:
    model = graph(f"""(float[n, 8, 2] x) => (float[n, p, 2] y) {{
      length = Constant<value = int64 {{{length}}}>()
      y = DFT<inverse = {inverse}>(x, length)
    }}""")
    check(model, {"x": random(2, 8, 2)})


def test_fourier_transforms_of_a_length_that_is_not_known() -> None:
    model = graph("(float[1, n, 2] x) => (float[1, n, 2] y) { y = DFT<axis = 1>(x) }", opset=19)
    session = InferenceSession(model)
    for length in (1, 6, 131):
        x = np.random.default_rng(length).standard_normal((1, length, 2)).astype("float32")
        wanted = np.fft.fft(x[..., 0] + 1j * x[..., 1])
        (got,) = session.run(None, {"x": x})
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], wanted, rtol=1e-4, atol=1e-4)


def test_error_of_fourier_transforms() -> None:
    model = graph("(float[1, 8, 2] x) => (float[1, 5, 2] y) { y = DFT<onesided = 1>(x) }")
    with pytest.raises(NotImplementedError, match="expected a real signal for onesided=1"):
        from_onnx(model)


@pytest.mark.parametrize("kinds", [("float16", "int16"), ("uint16", "float16")])
def test_bits_of_half_precision(kinds: tuple[str, str]) -> None:
    source, target = kinds
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target))
    model = graph(
        f"({source}[n] x) => ({target}[n] y) {{ y = BitCast<to = {number}>(x) }}", opset=26
    )
    # Among them are denormal numbers, infinities and NaN.
    x = np.arange(1 << 16, dtype="uint16").view(source)
    (y,) = InferenceSession(model, opt_level=0).run(None, {"x": x})
    np.testing.assert_array_equal(y.view("uint16"), x.view("uint16"))


def test_error_of_bits() -> None:
    model = graph("(float[n] x) => (int64[n] y) { y = BitCast<to = 7>(x) }", opset=26)
    with pytest.raises(ValueError, match="expected a data type of 4 bytes, but got int64"):
        from_onnx(model)


def test_windows_of_symbolic_batches() -> None:
    model = graph("""(float[n, 8, 9] x) => (float[n, 2, 4, 4] y) {
      image = Constant<value = int64[2] {4, 4}>()
      block = Constant<value = int64[2] {2, 2}>()
      y = Col2Im(x, image, block)
    }""")
    check(model, {"x": random(2, 8, 9)}, {"x": random(1, 8, 9)})


@pytest.mark.parametrize("order", [0, 1])
def test_places_of_largest_elements(order: int) -> None:
    model = graph(f"""(float[n, 2, 7, 6] x) => (float[n, 2, p, q] y, int64[n, 2, p, q] i) {{
      y, i = MaxPool<kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 1],
                     dilations = [1, 2], storage_order = {order}>(x)
    }}""")
    x = random(3, 2, 7, 6)
    y, i = InferenceSession(model, opt_level=0).run(None, {"x": x})
    rows = x if order == 0 else x.transpose(0, 1, 3, 2)
    np.testing.assert_array_equal(rows.reshape(-1)[i], y)
    # Of equal elements the first one counts.
    _, i = InferenceSession(model, opt_level=0).run(None, {"x": np.zeros((1, 2, 7, 6), "float32")})
    assert i[0, 0, 0, 0] == 0 and i[0, 0, 1, 1] == (7 if order == 0 else 8)


def test_different_elements_in_order() -> None:
    model = graph("""(float[n, 2] x) => (float[k, 2] y, int64[k] i, int64[n] j, int64[k] c) {
      y, i, j, c = Unique<axis = 0, sorted = 0>(x)
    }""")
    x = np.array([[3, 1], [0, 5], [3, 1], [1, 1]], "float32")
    y, i, j, c = InferenceSession(model, opt_level=0).run(None, {"x": x})
    np.testing.assert_array_equal(y, x[[0, 1, 3]])
    assert (i.tolist(), j.tolist(), c.tolist()) == ([0, 1, 3], [0, 1, 0, 2], [2, 1, 1])


def test_caches_of_symbolic_length() -> None:
    model = graph("""(float[b, 2, t, 3] past, float[b, 2, s, 3] x, int64[b] i)
      => (float[b, 2, t, 3] y) {
      y = TensorScatter<mode = "circular">(past, x, i)
    }""", opset=24)  # fmt: skip
    for b, t, s in ((2, 6, 3), (1, 4, 1)):
        feed = {"past": random(b, 2, t, 3), "x": random(b, 2, s, 3), "i": np.arange(b) + t - 2}
        check(model, feed)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_of_symbolic_images(mode: str) -> None:
    model = graph(f"""(float[n, 3, h, w] x, float[r, 4] b, int64[r] i) => (float[r, 3, 2, 3] y) {{
      y = RoiAlign<mode = "{mode}", output_height = 2, output_width = 3, sampling_ratio = 2,
                   spatial_scale = 0.5>(x, b, i)
    }}""")
    boxes = np.array([[1, 2, 9, 7], [-6, 0, 30, 5], [3, 3, 3, 3]], "float32")
    images = np.array([0, 1, 0])
    check(
        model,
        {"x": random(2, 3, 6, 5), "b": boxes, "i": images},
        {"x": random(1, 3, 4, 8), "b": boxes[:1], "i": images[:1]},
    )


def test_error_of_regions() -> None:
    model = graph("""(float[1, 3, 4, 4] x, float[r, 4] b, int64[r] i) => (float[r, 3, 1, 1] y) {
      y = RoiAlign(x, b, i)
    }""")
    with pytest.raises(NotImplementedError, match="expected sampling_ratio of 1 or more"):
        from_onnx(model)


def test_deformed_windows_of_symbolic_batches() -> None:
    model = graph("""(float[n, 4, 5, 6] x, float[2, 2, 2, 3] w, float[n, 24, p, q] o,
      float[n, 12, p, q] m) => (float[n, 2, p, q] y) {
      y = DeformConv<group = 2, offset_group = 2, pads = [1, 0, 0, 2], strides = [2, 1],
                     dilations = [1, 2]>(x, w, o, , m)
    }""")
    feeds = [
        {
            "x": random(n, 4, 5, 6), "w": random(2, 2, 2, 3), "o": 3 * random(n, 24, 3, 4),
            "m": random(n, 12, 3, 4),
        }
        for n in (2, 1)
    ]  # fmt: skip
    check(model, *feeds)


def test_deformed_windows_of_symbolic_images() -> None:
    model = graph("""(float[n, 4, h, w] x, float[2, 2, 2, 3] k, float[n, 24, p, q] o,
      float[n, 12, p, q] m) => (float[n, 2, p, q] y) {
      y = DeformConv<group = 2, offset_group = 2, pads = [1, 0, 0, 2], strides = [2, 1],
                     dilations = [1, 2]>(x, k, o, , m)
    }""")
    feeds = [
        {
            "x": random(n, 4, h, w), "k": random(2, 2, 2, 3), "o": 3 * random(n, 24, p, q),
            "m": random(n, 12, p, q),
        }
        for n, h, w, p, q in ((2, 5, 6, 3, 4), (1, 8, 5, 4, 3))
    ]  # fmt: skip
    check(model, *feeds)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_samples_of_symbolic_images(mode: str, padding: str, corners: int) -> None:
    how = f'mode = "{mode}", padding_mode = "{padding}", align_corners = {corners}'
    model = graph(f"""(float[n, 2, h, w] x, float[n, p, q, 2] grid) => (float[n, 2, p, q] y) {{
      y = GridSample<{how}>(x, grid)
    }}""")
    # Beyond its border, the cubic samples of the reference are not those of PyTorch.
    span = 2 if (mode, padding) == ("cubic", "border") else 3
    feeds = [
        {"x": random(n, 2, h, w), "grid": span * random(n, 3, 4, 2)}
        for n, h, w in ((2, 4, 5), (1, 6, 3))
    ]
    check(model, *feeds)


@pytest.mark.parametrize("corners", [0, 1])
def test_points_of_symbolic_images(corners: int) -> None:
    model = graph(f"""(float[n, 2, 3] t, float[n, c, h, w] x, float[n, 3, 4] u,
      float[n, c, h, 3, w] z) => (float[n, p, q, 2] y, float[n, r, s, t, 3] v) {{
      image = Shape(x)
      y = AffineGrid<align_corners = {corners}>(t, image)
      volume = Shape(z)
      v = AffineGrid<align_corners = {corners}>(u, volume)
    }}""")
    feeds = [
        {"t": random(n, 2, 3), "x": random(n, 1, *size), "u": random(n, 3, 4),
         "z": random(n, 1, size[0], 3, size[1])}
        for n, size in ((2, (4, 5)), (1, (7, 2)))
    ]  # fmt: skip
    check(model, *feeds)


def test_error_of_points() -> None:
    model = graph("""(float[n, 2, 3] t) => (float[n, 4, 5, 6, 3] y) {
      shape = Constant<value = int64[5] {1, 1, 4, 5, 6}>()
      y = AffineGrid(t, shape)
    }""")
    with pytest.raises(ValueError, match="expected matrices of 3 rows and 4 columns, but got"):
        from_onnx(model)


def test_slices_between_places_from_data() -> None:
    model = graph("""(float[n, 7] x, int64[2] a, int32 l) => (float[p, q] y, float[r, 7] z) {
      ends = Constant<value = int64[2] {100, -1}>()
      axes = Constant<value = int64[2] {0, 1}>()
      steps = Constant<value = int64[2] {1, 2}>()
      y = Slice(x, a, ends, axes, steps)
      axis = Constant<value = int64[1] {0}>()
      begin = Constant<value = int32[1] {0}>()
      last = Unsqueeze(l, axis)
      z = Slice(x, begin, last)
    }""")
    for n, begins, last in ((5, [1, 2], 3), (4, [-2, -9], -1), (3, [7, 0], 0), (1, [0, 5], 9)):
        check(model, {"x": random(n, 7), "a": np.array(begins), "l": np.array(last, "int32")})


def test_largest_elements_of_unknown_number() -> None:
    model = graph("""(float[n, 3] x, int64[1] k) => (float[p, 3] y, int64[p, 3] i, float[q, 3] z) {
      y, i = TopK<axis = 0>(x, k)
      shape = Shape<end = 1>(x)
      most = Constant<value = int64[1] {4}>()
      least = Min(shape, most)
      z, j = TopK<axis = 0, largest = 0>(x, least)
    }""")
    for n, k in ((6, 2), (3, 3), (5, 1)):
        check(model, {"x": random(n, 3), "k": np.array([k])})


def test_error_of_too_large_counts() -> None:
    model = graph("""(float[3] x) => (float[4] y, int64[4] i) {
      k = Constant<value = int64[1] {4}>()
      y, i = TopK(x, k)
    }""")
    with pytest.raises(ValueError, match="expected k of at most the dimension, 3, but got 4"):
        from_onnx(model)
