"""Kernels that pool images, against NumPy in float64."""

from __future__ import annotations

import functools
import itertools

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
import relax_mlir as relax
import torch
from hypothesis import example, given, settings
from kernel_programs import classes
from relax_mlir import op

UNIT = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10}


def write(kind, options, dtype="float32", image=("h", "w"), steps=()):
    """Build a pool of images of any number, and elementwise operations on it."""
    x = relax.Var("x", relax.TensorStructInfo(("n", "c", *image), dtype))
    other = relax.Var("y", relax.TensorStructInfo(("n", "c", "p", "q"), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, other] if "add" in steps else [x]):
        with bb.dataflow():
            out = bb.emit(getattr(op.nn, kind)(x, **dict(options)))
            for step in steps:
                if step == "relu":
                    out = bb.emit(op.nn.relu(out))
                else:
                    out = bb.emit(op.add(out, bb.match_cast(other, out.type)))
            out = bb.emit_output(out)
        bb.emit_func_output(out)
    return bb


@functools.cache
def load(kind, options, dtype="float32", image=("h", "w"), steps=(), **compile_options):
    text = write(kind, options, dtype, image, steps)
    return relax.VirtualMachine(relax.compile(text, opt_level=1, **compile_options))["main"]


@settings(max_examples=25)
@given(
    st.sampled_from(["max_pool2d", "avg_pool2d"]),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.booleans(),
)
@example("max_pool2d", (2, 2), (1, 1), (1, 1), True)
@example("avg_pool2d", (2, 3), (1, 1), (1, 1), False)
def test_channels_innermost(kind, pool, strides, dilation, known):
    """Windows of which some dimensions lie next to each other in memory, and others do not."""
    options = {"pool_size": pool, "strides": strides, "dilation": dilation}
    shape = ("n", 9, 8, 4) if known else ("n", "h", "w", "c")
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(getattr(op.nn, kind)(x, layout="NHWC", **options))
    main = relax.VirtualMachine(relax.compile(bb, opt_level=1))["main"]
    image = np.random.default_rng(0).standard_normal((2, 9, 8, 4)).astype("float32")
    exact, bound = reference(kind, image.transpose(0, 3, 1, 2), options)
    error = abs(np.from_dlpack(main(image)) - exact.transpose(0, 2, 3, 1))
    assert np.all(error <= bound.transpose(0, 2, 3, 1) + 1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", ["max_pool3d", "avg_pool3d"])
def test_one_window_in_a_dimension(kind, axis):
    """Its windows do not reach the end of the dimension, so they are no row of memory."""
    sizes, pool = [4, 4, 4], [2, 2, 2]
    sizes[axis] = 3  # two elements of three
    options = {"pool_size": pool, "strides": [1 if i != axis else 2 for i in range(3)]}
    x = relax.Var("x", relax.TensorStructInfo(("n", 2, *sizes), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(getattr(op.nn, kind)(x, **options))
    main = relax.VirtualMachine(relax.compile(bb, opt_level=1))["main"]
    image = np.random.default_rng(0).standard_normal((3, 2, *sizes)).astype("float32")
    pools = {"max_pool3d": torch.max_pool3d, "avg_pool3d": torch.nn.functional.avg_pool3d}
    expected = pools[kind](torch.from_numpy(image), pool, options["strides"]).numpy()
    np.testing.assert_allclose(np.from_dlpack(main(image)), expected, rtol=1e-6, atol=1e-6)


def windows(size, window, stride, dilation, before, after, ceil):
    """Return the elements of each window along a dimension, those of the padding too."""
    reach = (window - 1) * dilation + 1
    rest = after - reach
    if ceil:
        rest = min(rest + stride - 1, -1)
    count = max((size + before + rest) // stride + 1, 0)
    return [range(i * stride - before, i * stride - before + reach, dilation) for i in range(count)]


def reference(kind, x, options):
    """Return the result in float64, and how much it may be off."""
    options = dict(options)
    pool = options["pool_size"]
    strides, dilation = options.get("strides", (1, 1)), options.get("dilation", (1, 1))
    padding, ceil = options.get("padding", (0, 0, 0, 0)), options.get("ceil_mode", False)
    height, width = x.shape[2:]
    unit = UNIT.get(str(x.dtype), 0)
    x = x.astype("float64")
    axes = [
        windows(size, pool[i], strides[i], dilation[i], padding[i], padding[i + 2], ceil)
        for i, size in enumerate((height, width))
    ]
    shape = (*x.shape[:2], *map(len, axes))
    out, bound = np.zeros(shape), np.zeros(shape)
    for (p, rows), (q, columns) in itertools.product(*map(enumerate, axes)):
        inside = [i for i in rows if 0 <= i < height], [j for j in columns if 0 <= j < width]
        part = x[:, :, inside[0]][:, :, :, inside[1]]
        part = part.reshape(*x.shape[:2], part.shape[2] * part.shape[3])
        if kind == "max_pool2d":
            out[:, :, p, q] = part.max(-1, initial=-np.inf)
            continue
        count = part.shape[-1]
        if options.get("count_include_pad", False):
            count = len([i for i in rows if i < height + padding[2]]) * len(
                [j for j in columns if j < width + padding[3]]
            )
        out[:, :, p, q] = part.sum(-1) / max(count, 1)
        bound[:, :, p, q] = abs(part).sum(-1) / max(count, 1) * (part.shape[-1] + 2) * unit
    return out, bound


def check(kind, shape, options, dtype="float32", steps=(), static=False, seed=0, **compile_options):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(dtype)
    exact, bound = reference(kind, x, options)
    if 0 in exact.shape[2:]:
        return
    image = tuple(shape[2:]) if static else ("h", "w")
    main = load(kind, tuple(sorted(options.items())), dtype, image, steps, **compile_options)
    inputs = [x]
    if "add" in steps:
        inputs.append(rng.standard_normal(exact.shape).astype(dtype))
    for step in steps:
        exact = np.maximum(exact, 0) if step == "relu" else exact + inputs[1]
        bound = bound + (0 if step == "relu" else 2 * UNIT[dtype] * abs(exact))
    out = np.from_dlpack(main(*inputs))
    assert out.shape == exact.shape and out.dtype == dtype
    # The largest of a window without elements of the image is -inf.
    with np.errstate(invalid="ignore"):
        assert np.all((out == exact) | (abs(out - exact) <= bound))


FORMS = {
    "2x2": {"pool_size": (2, 2), "strides": (2, 2)},
    "3x3-same": {"pool_size": (3, 3), "padding": (1, 1, 1, 1)},
    "resnet": {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)},
    "stride-3": {"pool_size": (2, 4), "strides": (3, 3), "padding": (0, 1, 1, 2)},
    "dilated": {"pool_size": (3, 2), "dilation": (2, 3), "padding": (1, 1, 1, 1)},
    "ceil": {"pool_size": (3, 3), "strides": (2, 2), "ceil_mode": True},
    "ceil-padded": {
        "pool_size": (3, 2), "strides": (4, 5), "padding": (1, 0, 1, 1), "ceil_mode": True,
    },
    "wide": {"pool_size": (1, 20), "strides": (1, 2), "padding": (0, 7, 0, 3)},
    "one": {"pool_size": (1, 1)},
}  # fmt: skip
KINDS = ("max_pool2d", "avg_pool2d")
forms, kinds = st.sampled_from(sorted(FORMS)), st.sampled_from(KINDS)
# Around sizes of vectors.
sizes = st.one_of(st.integers(1, 20), st.sampled_from([31, 32, 33, 35, 48, 65]))


@settings(max_examples=60)
@given(kinds, forms, st.integers(0, 2), st.integers(0, 3), sizes, sizes, st.integers(0, 99))
@example("max_pool2d", "resnet", 1, 2, 112, 112, 0)
@example("avg_pool2d", "resnet", 1, 2, 9, 33, 0)
@example("max_pool2d", "dilated", 1, 1, 3, 2, 0)
def test_images(kind, form, n, c, h, w, seed):
    check(kind, (n, c, h, w), FORMS[form], seed=seed)


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("kind", KINDS)
def test_forms(kind, form):
    for h, w in ((9, 8), (23, 40)):
        check(kind, (2, 3, h, w), FORMS[form])
        check(kind, (2, 3, h, w), FORMS[form], static=True)


@pytest.mark.parametrize("form", ["resnet", "ceil-padded", "stride-3"])
def test_padding_counts(form):
    check("avg_pool2d", (2, 3, 11, 37), FORMS[form] | {"count_include_pad": True})


@settings(max_examples=15)
@given(kinds, forms, sizes, sizes, st.sampled_from([128, 256, 1024]))
def test_other_widths_of_vectors(kind, form, h, w, bits):
    check(kind, (1, 2, h, w), FORMS[form], vector_bits=bits)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("kind", KINDS)
def test_other_floats(kind, dtype):
    check(kind, (1, 2, 13, 37), FORMS["resnet"], dtype=dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "uint8", "int8", "int16", "int64"])
@pytest.mark.parametrize("form", ["resnet", "dilated", "wide", "stride-3"])
def test_largest_of_few_bits(form, dtype, exec_mode):
    """More rows than a task has, and more columns than a vector of bytes."""
    dtype = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    x = (np.random.default_rng(0).standard_normal((2, 3, 21, 140)) * 70).astype(dtype)
    exact, _ = reference("max_pool2d", x, FORMS[form])
    for image in (("h", "w"), (21, 140)):
        code = write("max_pool2d", FORMS[form], np.dtype(dtype).name, image)
        main = relax.VirtualMachine(relax.compile(code, exec_mode=exec_mode))["main"]
        out = main(x).numpy()
        assert out.dtype == dtype
        np.testing.assert_array_equal(out.astype("float64"), exact)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_nan_of_few_bits_is_the_largest(dtype):
    x = np.random.default_rng(0).standard_normal((1, 1, 12, 40)).astype(dtype)
    x[0, 0, 5, 7], x[0, 0, 2, 30] = np.nan, -np.inf
    main = load("max_pool2d", tuple(sorted(FORMS["resnet"].items())), np.dtype(dtype).name)
    with np.errstate(invalid="ignore"):
        exact, _ = reference("max_pool2d", x, FORMS["resnet"])
    np.testing.assert_array_equal(main(x).numpy().astype("float64"), exact)


@settings(max_examples=15)
@given(kinds, forms, sizes, sizes, st.sampled_from([("relu",), ("add",), ("add", "relu")]))
def test_epilogues(kind, form, h, w, steps):
    check(kind, (2, 2, h, w), FORMS[form], steps=steps)


@pytest.mark.parametrize("kind", KINDS)
def test_both_modes(kind, exec_mode):
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 20)).astype("float32")
    main = relax.VirtualMachine(relax.compile(write(kind, FORMS["resnet"])))["main"]
    exact, bound = reference(kind, x, FORMS["resnet"])
    assert np.all(abs(np.from_dlpack(main(x)) - exact) <= bound)


@settings(max_examples=15)
@given(kinds, forms, st.integers(0), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_nan_and_infinity_reach_only_their_windows(kind, form, place, value):
    x = np.random.default_rng(0).standard_normal((2, 3, 11, 22)).astype("float32")
    x.reshape(-1)[place % x.size] = value
    out = np.from_dlpack(load(kind, tuple(sorted(FORMS[form].items())))(x))
    with np.errstate(invalid="ignore"):
        exact, _ = reference(kind, x, FORMS[form])
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(exact))
    np.testing.assert_array_equal(out[~finite], exact[~finite].astype("float32"))
    np.testing.assert_allclose(out[finite], exact[finite], atol=1e-5)


# Cases with one mean, windows, and parts of several sizes; known and not.
ADAPTIVE = [
    ((7, 7), (1, 1)), ((8, 12), (4, 3)), ((7, 10), (3, 4)), ((5, 1), (1, 1)), ((1, 1), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("image", "result"), ADAPTIVE)
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_adaptive(image, result, static, dtype):
    x = np.random.default_rng(0).standard_normal((2, 20, *image)).astype(dtype)
    options = (("output_size", result),)
    main = load("adaptive_avg_pool2d", options, dtype, image if static else ("h", "w"))
    exact = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(x).double(), result)
    out = np.from_dlpack(main(x))
    assert out.dtype == dtype and out.shape == tuple(exact.shape)
    np.testing.assert_allclose(out, exact.numpy(), atol=20 * UNIT[dtype])


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("kind", KINDS)
def test_class(kind, form):
    # A window of one element is not reduced.
    wanted = ["elementwise"] if form == "one" else ["pool2d"]
    assert classes(write(kind, FORMS[form]).get()) == wanted
    assert classes(write(kind, FORMS[form], "float64").get()) == wanted
    assert classes(write(kind, FORMS[form], "float16").get()) != ["pool2d"]  # without AVX-512


@pytest.mark.parametrize("steps", [("relu",), ("add", "relu")])
def test_epilogues_are_in_the_kernel(steps):
    assert classes(write("max_pool2d", FORMS["resnet"], steps=steps).get()) == ["pool2d"]


def test_classes_of_adaptive_pools():
    def adaptive(image, result):
        return classes(write("adaptive_avg_pool2d", {"output_size": result}, image=image).get())

    assert adaptive(("h", "w"), (1, 1)) == ["rows"]
    assert adaptive((8, 12), (4, 3)) == ["pool2d"]
    assert adaptive((7, 12), (4, 3)) != ["pool2d"]
