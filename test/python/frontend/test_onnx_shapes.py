# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that models compute, as exporters write them: they are known at import."""

from __future__ import annotations

import functools

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import onnx_models  # noqa: E402
import relax_mlir as relax  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_models import graph, random  # noqa: E402
from relax_mlir.frontend.onnx import InferenceSession, from_onnx  # noqa: E402

check = functools.partial(onnx_models.check, opt_level=0)


def test_view_with_computed_sizes() -> None:
    # x.view(b, s, heads, d // heads).transpose(1, 2), then back.
    model = graph("""(float[b, s, 12] x) => (float[p, q, r] y) {
      zero, one, two = Split<axis = 0, num_outputs = 3>(places)
      shape = Shape(x)
      b = Gather(shape, zero)
      s = Gather(shape, one)
      d = Gather(shape, two)
      heads = Constant<value = int64[1] {3}>()
      each = Div(d, heads)
      wanted = Concat<axis = 0>(b, s, heads, each)
      split = Reshape(x, wanted)
      swapped = Transpose<perm = [0, 2, 1, 3]>(split)
      back = Transpose<perm = [0, 2, 1, 3]>(swapped)
      rows = Mul(b, s)
      flat = Concat<axis = 0>(rows, d)
      matrix = Reshape(back, flat)
      joined = Concat<axis = 0>(b, s, d)
      y = Reshape(matrix, joined)
    }""")
    places = onnx.numpy_helper.from_array(np.arange(3), "places")
    model.graph.initializer.append(places)
    assert "gather" not in str(from_onnx(model))
    check(model, {"x": random(2, 5, 12)}, {"x": random(1, 1, 12)})


def test_masks_that_are_expanded() -> None:
    # mask[:, None, None, :].expand(b, 1, s, t), where -1 keeps a size.
    model = graph("""(float[b, t] mask, float[b, s, 4] x) => (float[p, 1, q, r] y) {
      ones_axes = Constant<value = int64[2] {1, 2}>()
      four = Unsqueeze(mask, ones_axes)
      first = Shape<start = 0, end = 2>(x)
      rank = Constant<value = int64[1] {4}>()
      minus = ConstantOfShape<value = int64[1] {-1}>(rank)
      ones = ConstantOfShape<value = int64[1] {1}>(rank)
      b, s = Split<axis = 0, num_outputs = 2>(first)
      one = Constant<value = int64[1] {1}>()
      keep = Constant<value = int64[1] {-1}>()
      wanted = Concat<axis = 0>(b, one, s, keep)
      is_kept = Equal(wanted, minus)
      sizes = Where(is_kept, ones, wanted)
      wide = Expand(four, sizes)
      top = Constant<value = float {1}>()
      inverted = Sub(top, wide)
      low = Constant<value = float {-10000}>()
      y = Mul(inverted, low)
    }""")
    check(
        model,
        {"mask": random(2, 5), "x": random(2, 3, 4)},
        {"mask": random(1, 2), "x": random(1, 1, 4)},
    )


# token_types[:, :s].expand(b, s) + x, as models of transformers have it.
TABLE = """(float[b, s] x) => (float[p, q] y) {
  begin = Constant<value = int64[1] {0}>()
  along = Constant<value = int64[1] {1}>()
  length = Shape<start = 1, end = 2>(x)
  both = Shape(x)
  cut = Slice(table, begin, length, along)
  wide = Expand(cut, both)
  y = Add(wide, x)
}"""


def test_table_up_to_a_length_is_expanded() -> None:
    model = graph(TABLE)
    model.graph.initializer.append(onnx.numpy_helper.from_array(random(1, 6), "table"))
    assert "select" not in str(from_onnx(model))
    check(model, {"x": random(2, 5)}, {"x": random(3, 1)}, {"x": random(2, 6)})
    ex = relax.compile(from_onnx(model, keep_params_in_input=False), opt_level=0)
    with pytest.raises(ValueError, match="dimension 1 is 6, where s = 7"):
        relax.VirtualMachine(ex)["main"](random(2, 7))


def test_quotient_by_a_size() -> None:
    """A size that something is divided by is not 0."""
    model = graph("""(float[b, s, 4] x) => (float[p, q] y) {
      batch = Shape<start = 0, end = 1>(x)
      length = Shape<start = 1, end = 2>(x)
      all = Mul(length, batch)
      each = Div(all, batch)
      rest = Constant<value = int64[1] {-1}>()
      wanted = Concat<axis = 0>(rest, each)
      y = Reshape(x, wanted)
    }""")
    check(model, {"x": random(2, 3, 4)}, {"x": random(1, 1, 4)})
    vm = relax.VirtualMachine(relax.compile(from_onnx(model), opt_level=0))
    with pytest.raises(ZeroDivisionError, match="the divisor is zero"):
        vm["main"](random(0, 3, 4))


def test_quotient_of_what_may_be_negative() -> None:
    """It is rounded towards zero: that of a tensor of 2 is 0, and the result has one element."""
    model = graph("""(float[s] x) => (int64[p] y) {
      length = Shape(x)
      three, two, one = Split<axis = 0, num_outputs = 3>(numbers)
      less = Sub(length, three)
      half = Div(less, two)
      more = Add(half, one)
      y = Expand(one, more)
    }""")
    numbers = onnx.numpy_helper.from_array(np.array([3, 2, 1]), "numbers")
    model.graph.initializer.append(numbers)
    check(model, *({"x": random(length)} for length in (2, 3, 4, 5, 8)))


def test_part_of_one_row_is_one_row() -> None:
    """The last rows of a bias of one row, as many as there are queries, as MPT has them."""
    model = graph("""(float[s, s] x) => (float[4, p, q] y) {
      length = Shape<start = 0, end = 1>(x)
      zero = Constant<value = int64[1] {0}>()
      one = Constant<value = int64[1] {1}>()
      rows = Sub(one, length)
      first = Max(rows, zero)
      bias = Slice(table, first, one, one)
      y = Add(bias, x)
    }""")
    model.graph.initializer.append(onnx.numpy_helper.from_array(random(4, 1, 1), "table"))
    check(model, {"x": random(5, 5)}, {"x": random(1, 1)})


def test_expand_to_another_symbolic_size() -> None:
    """They have to be equal, as in arithmetic."""
    model = graph("""(float[n] x, float[2, m] y) => (float[p, q] z) {
      shape = Shape(y)
      z = Expand(x, shape)
    }""")
    check(model, {"x": random(3), "y": random(2, 3)}, {"x": random(1), "y": random(2, 1)})
    vm = relax.VirtualMachine(relax.compile(from_onnx(model), opt_level=0))
    with pytest.raises(ValueError, match="dimension 0 is 2, where m = 3"):
        vm["main"](random(2), random(2, 3))


def test_expand_to_a_size_that_is_never_equal() -> None:
    model = graph("""(float[n] x) => (float[p] z) {
      length = Shape(x)
      one = Constant<value = int64[1] {1}>()
      longer = Add(length, one)
      z = Expand(x, longer)
    }""")
    with pytest.raises(NotImplementedError, match=r"sizes that may be equal, but got .*n.*n \+ 1"):
        from_onnx(model)


def test_causal_masks_of_symbolic_lengths() -> None:
    # A triangle by comparing positions, as masks are traced.
    model = graph("""(float[b, past, 4] old, float[b, s, 4] x) => (float[1, 1, s, t] y) {
      i1 = Constant<value = int64 {1}>()
      i0 = Constant<value = int64 {0}>()
      axis = Constant<value = int64[1] {0}>()
      olds = Shape(old)
      news = Shape(x)
      p = Gather(olds, i1)
      s = Gather(news, i1)
      t = Add(p, s)
      positions = Range(p, t, i1)
      keys = Range(i0, t, i1)
      s1 = Unsqueeze(s, axis)
      one = Constant<value = int64[1] {1}>()
      column = Concat<axis = 0>(s1, one)
      rows = Reshape(positions, column)
      seen = LessOrEqual(keys, rows)
      t1 = Unsqueeze(t, axis)
      dims = Concat<axis = 0>(s1, t1)
      low = ConstantOfShape<value = float[1] {-10000}>(dims)
      zero = Constant<value = float {0}>()
      plain = Where(seen, zero, low)
      axes = Constant<value = int64[2] {0, 1}>()
      y = Unsqueeze(plain, axes)
    }""")
    check(
        model,
        {"old": random(1, 3, 4), "x": random(1, 2, 4)},
        {"old": random(2, 0, 4), "x": random(2, 4, 4)},
    )


def test_embeddings_of_positions() -> None:
    model = graph("""(int64[b, s] ids, float[16, 4] table) => (float[b, s, 4] y) {
      shape = Shape(ids)
      i1 = Constant<value = int64 {1}>()
      s = Gather(shape, i1)
      float = Cast<to = 1>(s)
      zero = Constant<value = float {0}>()
      one = Constant<value = float {1}>()
      range = Range(zero, float, one)
      whole = Cast<to = 7>(range)
      axes = Constant<value = int64[1] {0}>()
      row = Unsqueeze(whole, axes)
      positions = Expand(row, shape)
      y = Gather(table, positions)
    }""")
    feeds = [
        {"ids": np.zeros((b, s), "int64"), "table": random(16, 4)} for b, s in ((2, 5), (1, 16))
    ]
    check(model, *feeds)


def test_square_of_a_number_of_positions() -> None:
    # side = int(len(positions) ** 0.5); positions.reshape(1, side, side, -1)
    model = graph("""(float[2, 3] x) => (float[1, s, t, 2] y) {
      count = Constant<value = float {9.0}>()
      half = Constant<value = float {0.5}>()
      root = Pow(count, half)
      side = Cast<to = 7>(root)
      zero = Constant<value = int64[1] {0}>()
      one = Constant<value = int64[1] {1}>()
      rest = Constant<value = int64[1] {-1}>()
      row = Unsqueeze(side, zero)
      wanted = Concat<axis = 0>(one, row, row, rest)
      wide = Concat<axis = 0>(x, x, x)
      y = Reshape(wide, wanted)
    }""")
    check(model, {"x": random(2, 3)})


def test_slices_up_to_computed_places() -> None:
    # A table of positions, cut to the length of the input; and all but the first half.
    model = graph("""(float[b, s, 8] x, float[1, 32, 8] table)
      => (float[b, s, 8] y, float[b, p, 8] z) {
      shape = Shape(x)
      i1 = Constant<value = int64[1] {1}>()
      i0 = Constant<value = int64[1] {0}>()
      two = Constant<value = int64[1] {2}>()
      s = Slice(shape, i1, two, i0)
      cut = Slice(table, i0, s, i1)
      y = Add(x, cut)
      half = Div(s, two)
      z = Slice(x, half, s, i1)
    }""")
    table = random(1, 32, 8)
    check(model, *({"x": random(2, s, 8), "table": table} for s in (5, 4, 1)))


def test_least_and_greatest_sizes() -> None:
    model = graph("""(float[n, 4] x, float[m, 4] w) => (float[p, 4] y, int64[1] z, float[q] e) {
      n = Shape<end = 1>(x)
      m = Shape<end = 1>(w)
      low = Min(n, m)
      high = Max(n, m)
      i0 = Constant<value = int64[1] {0}>()
      y = Slice(x, i0, low, i0)
      three = Constant<value = int64[1] {3}>()
      z = Mod(high, three)
      e = ConstantOfShape(high)
    }""")
    check(model, {"x": random(5, 4), "w": random(3, 4)}, {"x": random(2, 4), "w": random(7, 4)})


def test_repeats_and_paddings_of_computed_sizes() -> None:
    model = graph("""(float[n, 3] x, float[m] w) => (float[p, 3] y, float[q, 3] z, float[n, m] h) {
      m = Shape(w)
      one = Constant<value = int64[1] {1}>()
      counts = Concat<axis = 0>(m, one)
      y = Tile(x, counts)
      zeros = Constant<value = int64[3] {0, 0, 0}>()
      pads = Concat<axis = 0>(m, zeros)
      z = Pad(x, pads)
      n = Shape<end = 1>(x)
      i0 = Constant<value = int64[1] {0}>()
      axes = Constant<value = int64[1] {0}>()
      scalar = Squeeze(n, axes)
      first = Constant<value = int64 {0}>()
      step = Constant<value = int64 {1}>()
      places = Range(first, scalar, step)
      values = Constant<value = float[2] {0, 1}>()
      depth = Squeeze(m, axes)
      h = OneHot(places, depth, values)
    }""")
    check(model, {"x": random(2, 3), "w": random(4)}, {"x": random(3, 3), "w": random(1)})


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
def test_images_are_resized_to_computed_sizes(coordinates: str) -> None:
    rounding = "floor" if coordinates == "asymmetric" else "round_prefer_floor"
    model = graph(
        f"""(float[n, c, h, w] x) => (float[n, c, p, q] y, float[n, c, r, s] z) {{
      shape = Shape(x)
      twice = Constant<value = int64[4] {{1, 1, 2, 3}}>()
      sizes = Mul(shape, twice)
      y = Resize<coordinate_transformation_mode = "{coordinates}", nearest_mode = "{rounding}">(
        x, , , sizes)
      scales = Constant<value = float[4] {{1, 1, 2, 2}}>()
      z = Resize<coordinate_transformation_mode = "{coordinates}", nearest_mode = "{rounding}">(
        x, , scales)
    }}""".replace('""', "")
    )
    check(model, {"x": random(1, 2, 3, 4)}, {"x": random(2, 1, 1, 5)})


def test_batches_are_kept_where_images_are_resized() -> None:
    model = graph("""(float[n, 3, 4, 4] x) => (float[n, 3, 6, 8] y) {
      outer = Shape<end = 2>(x)
      image = Constant<value = int64[2] {6, 8}>()
      sizes = Concat<axis = 0>(outer, image)
      y = Resize<mode = "linear">(x, , , sizes)
    }""")
    check(model, {"x": random(1, 3, 4, 4)}, {"x": random(2, 3, 4, 4)})


def test_places_of_known_elements() -> None:
    model = graph("""(float[n, 4] x) => (float[n, 2] y) {
      flags = Constant<value = int64[4] {0, 1, 0, 1}>()
      places = NonZero(flags)
      axes = Constant<value = int64[1] {0}>()
      row = Squeeze(places, axes)
      y = Gather<axis = 1>(x, row)
    }""")
    assert "unique" not in str(from_onnx(model))
    check(model, {"x": random(2, 4)})


COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
# Attributes of interpolations, besides their coordinates.
KINDS = {
    **{rounding: f'nearest_mode = "{rounding}"' for rounding in ROUNDINGS},
    "linear": 'mode = "linear"',
    "cubic": 'mode = "cubic"',
    "excluding": 'mode = "cubic", exclude_outside = 1, cubic_coeff_a = -0.5',
    "smooth": 'mode = "linear", antialias = 1',
    "smooth_cubic": 'mode = "cubic", antialias = 1',
    "smooth_excluding": 'mode = "cubic", antialias = 1, exclude_outside = 1',
}


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("kind", KINDS)
def test_images_are_resized_like_others(coordinates: str, kind: str) -> None:
    options = f'coordinate_transformation_mode = "{coordinates}", {KINDS[kind]}'
    region = "region" if coordinates == "tf_crop_and_resize" else ""
    model = graph(f"""(float[n, 2, h, w] x, float[n, 2, p, q] o)
      => (float[n, 2, p, q] y, float[n, 2, r, s] z) {{
      region = Constant<value = float[8] {{0, 0, 0.125, 0.25, 1, 1, 0.875, 1.25}}>()
      outer = Shape<end = 2>(x)
      image = Shape<start = 2>(o)
      sizes = Concat<axis = 0>(outer, image)
      y = Resize<{options}>(x, {region}, , sizes)
      scales = Constant<value = float[4] {{1, 1, 1.5, 0.5}}>()
      z = Resize<{options}>(x, {region}, scales)
    }}""")
    # The only element of a result is at 0 in the specification, but not in the reference.
    least = 2 if coordinates == "pytorch_half_pixel" else 1
    check(
        model,
        {"x": random(1, 2, 4, 6), "o": random(1, 2, 7, 4)},
        {"x": random(2, 2, 2, 3 + least), "o": random(2, 2, least, 9)},
    )


@pytest.mark.parametrize("height", ["h", "4"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_is_a_resize_from_the_first_element(mode: str, height: str) -> None:
    options = f'mode = "{mode}"'
    model = graph(f"""(float[n, 2, {height}, 5] x) => (float[n, 2, p, q] y) {{
      s = Constant<value = float[4] {{1, 1, 2, 1.5}}>()
      y = Upsample<{options}>(x, s)
    }}""")
    model.opset_import[0].version = 9
    newer = graph(f"""(float[n, 2, {height}, 5] x) => (float[n, 2, p, q] y) {{
      s = Constant<value = float[4] {{1, 1, 2, 1.5}}>()
      y = Resize<{options}, coordinate_transformation_mode = "asymmetric",
        nearest_mode = "floor">(x, , s)
    }}""")
    feed = {"x": random(1, 2, 4, 5)}
    (ours,) = InferenceSession(model).run(None, feed)
    (wanted,) = ReferenceEvaluator(newer).run(None, feed)
    np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_error_of_symbolic_images() -> None:
    text = "(float[n, 2, h, w] x) => (float[n, 2, p, q] y) {{ {0}\n y = Resize<{1}>(x, , s) }}"
    odd = "s = Constant<value = float[4] {1, 1, 0.3, 0.3}>()"
    with pytest.raises(NotImplementedError, match="expected scales that are quotients of small"):
        from_onnx(graph(text.format(odd, 'mode = "linear"')))
