"""Convolutions by the algorithm of Winograd, against PyTorch in float64."""

from __future__ import annotations

import functools
import re

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import example, given, settings
from relax_mlir import op
from relax_mlir.transform import phase
from test_conv_kernels import UNIT, reference, write

PADDED = {"padding": (1, 1, 1, 1)}
# Weights, options, and sizes of images: "h" and "w" are not known.
FORMS = {
    "square": ((32, 16, 3, 3), PADDED, ("h", "w")),
    "more-channels": ((80, 48, 3, 3), PADDED, ("h", "w")),
    "tail-of-channels": ((37, 16, 3, 3), PADDED, ("h", "w")),
    "tail-of-inputs": ((32, 41, 3, 3), PADDED, ("h", "w")),
    "few-inputs": ((32, 12, 3, 3), PADDED, ("h", "w")),
    "inside": ((32, 16, 3, 3), {}, ("h", "w")),
    "uneven-padding": ((32, 16, 3, 3), {"padding": (0, 4, 3, 1)}, ("h", "w")),
    "known-width": ((32, 16, 3, 3), PADDED, ("h", 14)),
    "several-tasks": ((32, 256, 3, 3), PADDED, ("h", "w")),
    "small-tiles": ((64, 64, 3, 3), PADDED, (7, 7)),
    "small-tiles-tail": ((64, 64, 3, 3), PADDED, (6, 5)),
    # One dimension is transformed.
    "rows": ((32, 16, 3, 1), {"padding": (1, 0, 1, 0)}, ("h", "w")),
    "rows-uneven-padding": ((37, 41, 3, 1), {"padding": (0, 1, 3, 2)}, ("h", "w")),
    "columns": ((32, 16, 1, 3), {"padding": (0, 1, 0, 1)}, ("h", "w")),
    "columns-tail": ((37, 41, 1, 3), {"padding": (2, 0, 1, 4)}, ("h", "w")),
    "small-tiles-rows": ((64, 64, 3, 1), {}, (4, 30)),
    # Weights are read once, and inputs are larger than the cache.
    "many-inputs": ((32, 2048, 3, 3), PADDED, (28, 26)),
}
# Around sizes of tiles and of vectors of pixels.
sizes = st.one_of(st.integers(1, 18), st.sampled_from([23, 24, 25, 31, 32, 33, 63, 64, 65]))


@functools.cache
def load(form, steps=(), scale=1.0, **options):
    weight, conv, image = FORMS[form]
    rng = np.random.default_rng(sum(weight))
    k = (rng.standard_normal(weight) * scale).astype("float32")
    text = write(weight, conv, steps, constant=k, image=image)
    compiled = relax.compile(text, **{"opt_level": 1} | options)
    return relax.VirtualMachine(compiled)["main"], k


def tile_bound(bound):
    """Return how much results may be off by, where the definition allows `bound`.

    Errors are those of a tile, the largest of which counts for the others: at most six elements lie
    between two that have one in common.
    """
    height, width = bound.shape[2:]
    padded = np.pad(bound, ((0, 0), (0, 0), (5, 5), (5, 5)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (11, 11), axis=(2, 3))
    return 4 * windows.max(axis=(4, 5))[:, :, :height, :width]


def check(form, n, h, w, steps=(), seed=0, **options):
    weight, conv, image = FORMS[form]
    h, w = (
        given if known in ("h", "w") else known for given, known in zip((h, w), image, strict=True)
    )
    main, k = load(form, tuple(steps), **options)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, weight[1], h, w)).astype("float32")
    top, left, bottom, right = conv.get("padding", (0, 0, 0, 0))
    height, width = h + top + bottom - weight[2] + 1, w + left + right - weight[3] + 1
    if height <= 0 or width <= 0:
        return
    shapes = {"bias": (1, weight[0], 1, 1), "residual": (n, weight[0], height, width)}
    extra = {s: rng.standard_normal(shapes[s]).astype("float32") for s in steps if s != "relu"}
    out = np.from_dlpack(main(x, *extra.values()))
    exact, bound = reference(x, k, conv, extra, steps)
    assert out.shape == exact.shape and out.dtype == np.float32
    if exact.size:
        assert np.all(abs(out - exact) <= tile_bound(bound))


def tiles(form, **options):
    """Return how many results a tile has in a dimension; nothing for windows by definition."""
    weight, conv, image = FORMS[form]
    k = np.ones(weight, "float32")
    mod = write(weight, conv, constant=k, image=image)
    for name in ("normalize", "optimize", "legalize"):
        mod = phase(name, **options)(mod)
    return re.findall(r"relax\.winograd = (\d)", str(mod))


def test_forms_are_of_both_tiles():
    for form in FORMS:
        found = tiles(form, vector_bits=512)
        assert found == ["2" if form.startswith("small") else "4"]


def test_the_option():
    assert tiles("square", winograd=True)
    assert not tiles("square", winograd=False)


@settings(max_examples=60)
@given(st.sampled_from(sorted(FORMS)), st.integers(0, 3), sizes, sizes, st.integers(0, 99))
@example("square", 1, 4, 4, 0)
@example("square", 1, 1, 1, 0)
@example("square", 1, 5, 1, 0)
@example("several-tasks", 2, 33, 65, 0)
def test_images(form, n, h, w, seed):
    check(form, n, h, w, seed=seed)


@settings(max_examples=15)
@given(st.sampled_from(sorted(FORMS)), st.integers(1, 2), sizes, sizes)
def test_epilogues(form, n, h, w):
    check(form, n, h, w, ("bias", "residual", "relu"))


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_other_vectors(form, bits):
    check(form, 1, 9, 21, vector_bits=bits)


def test_both_modes(exec_mode):
    check("square", 2, 13, 18, ("bias", "relu"), exec_mode=exec_mode, opt_level=3)


def test_wide_images_in_several_tasks():
    check("more-channels", 1, 6, 1500)


@settings(max_examples=30)
@given(
    st.sampled_from(["square", "inside", "uneven-padding", "small-tiles", "rows", "columns-tail"]),
    st.integers(0),
    st.sampled_from([np.nan, np.inf, -np.inf, 2e37, -1e30]),
)
def test_nan_infinity_and_large_reach_only_their_windows(form, place, value):
    weight, conv, image = FORMS[form]
    main, k = load(form)
    h, w = image if form == "small-tiles" else (13, 19)
    x = np.random.default_rng(0).standard_normal((2, weight[1], h, w)).astype("float32")
    without = x.copy()
    without.reshape(-1)[place % x.size] = 0
    x.reshape(-1)[place % x.size] = value
    out = np.from_dlpack(main(x))
    exact, _ = reference(x, k, conv)
    # Weights are rounded as those of a window, the largest of which counts for the others.
    largest = np.broadcast_to(abs(k).max(axis=(2, 3), keepdims=True), k.shape)
    bound = reference(x, largest, conv)[1] + tile_bound(reference(without, k, conv)[1])
    usual = abs(exact) < np.finfo("float32").max
    np.testing.assert_array_equal(np.isnan(out), np.isnan(exact))
    assert np.all(abs(out[usual] - exact[usual]) <= bound[usual])
    unusual = ~usual & ~np.isnan(exact)
    np.testing.assert_array_equal(out[unusual], np.sign(exact[unusual]) * np.inf)


def test_weights_that_overflow_take_the_definition(tmp_path):
    weight, conv, image = FORMS["square"]
    for value in (np.inf, np.nan, 1e6):
        k = np.ones(weight, "float32")
        k[0, 0, 1, 1] = value
        folder = tmp_path / str(value)
        relax.compile(write(weight, conv, constant=k, image=image), dump_phases=folder)
        (phase,) = folder.glob("*-legalize.mlir")
        assert "relax.winograd" not in phase.read_text()


def test_zeros_stay_zeros():
    main, _ = load("square")
    out = np.from_dlpack(main(np.zeros((1, 16, 9, 9), "float32")))
    np.testing.assert_array_equal(out, np.zeros((1, 32, 9, 9), "float32"))


def test_a_program_of_two_sizes_of_tiles():
    """The same weights are transformed for images of two sizes."""
    k = np.random.default_rng(0).standard_normal((64, 64, 3, 3)).astype("float32")
    bb = relax.BlockBuilder()
    shapes = [(1, 64, 7, 7), (1, 64, 28, 28)]
    images = [relax.Var(f"x{s[2]}", relax.TensorStructInfo(s, "float32")) for s in shapes]
    with bb.function("main", images):
        kernel = op.const(k)
        outs = [bb.emit(op.nn.conv2d(x, kernel, **PADDED)) for x in images]
        bb.emit_func_output(relax.op.tuple(*outs))
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    inputs = [np.random.default_rng(1).standard_normal(s).astype("float32") for s in shapes]
    for x, out in zip(inputs, main(*inputs), strict=True):
        exact, bound = reference(x, k, PADDED)
        assert np.all(abs(np.from_dlpack(out) - exact) <= tile_bound(bound))


def test_errors_are_about_twice_those_of_the_definition():
    """The mean error, for weights and images of the same distribution."""
    _, conv, _ = FORMS["several-tasks"]
    x = np.random.default_rng(3).standard_normal((1, 256, 28, 28)).astype("float32")
    errors = []
    for winograd in (True, False):
        main, k = load("several-tasks", winograd=winograd)
        exact, _ = reference(x, k, conv)
        errors.append(np.sqrt(np.mean((np.from_dlpack(main(x)) - exact) ** 2)))
    assert errors[0] <= 2.5 * errors[1]
    assert errors[0] <= 256 * 9 * UNIT
