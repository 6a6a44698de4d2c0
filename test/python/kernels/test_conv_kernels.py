"""Kernels that convolve images, against PyTorch in float64."""

from __future__ import annotations

import functools

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
import torch
import tvm_ffi
from hypothesis import example, given, settings
from kernel_programs import classes
from relax_mlir import op
from relax_mlir.core import expr
from torch.nn import functional

UNIT = 2.0**-23


def write(weight, options, steps=(), constant=None, dtype="float32", image=("h", "w")):
    """Build a convolution of images of any number, and elementwise operations on it.

    With `constant`, the weights are that.
    """
    options = dict(options)
    channels = weight[1] * options.get("groups", 1)
    x = relax.Var("x", relax.TensorStructInfo(("n", channels, *image), dtype))
    params = [x]
    if constant is None:
        params.append(relax.Var("k", relax.TensorStructInfo(weight, dtype)))
    extra = {}
    for step in steps:
        if step == "relu":
            continue
        shape = ("n", weight[0], "p", "q") if step == "residual" else (1, weight[0], 1, 1)
        extra[step] = relax.Var(step, relax.TensorStructInfo(shape, dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [*params, *extra.values()]):
        with bb.dataflow():
            kernel = op.const(constant) if constant is not None else params[1]
            out = bb.emit(op.nn.conv2d(x, kernel, **options))
            for step in steps:
                if step == "relu":
                    out = bb.emit(op.nn.relu(out))
                elif step == "residual":
                    other = bb.match_cast(extra[step], out.type)
                    out = bb.emit(op.add(out, other))
                else:
                    out = bb.emit(op.add(out, extra[step]))
            out = bb.emit_output(out)
        bb.emit_func_output(out)
    return bb


def reference(x, k, options, extra=None, steps=()):
    """Return what PyTorch gives in float64, and how much sums may be off."""
    options = dict(options)
    top, left, bottom, right = options.pop("padding", (0, 0, 0, 0))
    options["stride"] = options.pop("strides", (1, 1))

    def conv(x, k):
        x = functional.pad(torch.from_numpy(x.astype("float64")), (left, right, top, bottom))
        return functional.conv2d(x, torch.from_numpy(k.astype("float64")), **options).numpy()

    exact, bound = conv(x, k), conv(abs(x), abs(k))
    for step in steps:
        if step == "relu":
            exact = np.maximum(exact, 0)
        else:
            exact, bound = exact + extra[step], bound + abs(extra[step])
    return exact, (np.prod(k.shape[1:]) + 8) * UNIT * bound


@functools.cache
def load(weight, options, steps=(), **compile_options):
    text = write(weight, options, steps)
    return relax.VirtualMachine(relax.compile(text, opt_level=1, **compile_options))["main"]


@functools.cache
def load_constant(weight, options, steps=(), image=("h", "w"), **compile_options):
    k = np.random.default_rng(sum(weight)).standard_normal(weight).astype("float32")
    text = write(weight, options, steps, constant=k, image=image)
    return relax.VirtualMachine(relax.compile(text, opt_level=1, **compile_options))["main"], k


def out_size(size, window, stride, dilation, padding):
    return (size + padding - (window - 1) * dilation - 1) // stride + 1


def check(
    weight, n, h, w, options=(), steps=(), seed=0, constant=False, static=False, **compile_options
):
    """Compare with PyTorch, up to what adding up in another order may change.

    The sizes of images are known where they are `static`.
    """
    rng = np.random.default_rng(seed)
    options = tuple(sorted(dict(options).items()))
    groups = dict(options).get("groups", 1)
    strides = dict(options).get("strides", (1, 1))
    dilation = dict(options).get("dilation", (1, 1))
    padding = dict(options).get("padding", (0, 0, 0, 0))
    height = out_size(h, weight[2], strides[0], dilation[0], padding[0] + padding[2])
    width = out_size(w, weight[3], strides[1], dilation[1], padding[1] + padding[3])
    if height <= 0 or width <= 0:
        return
    x = rng.standard_normal((n, weight[1] * groups, h, w)).astype("float32")
    if constant:
        image = (h, w) if static else ("h", "w")
        # Its errors are those of tiles: test_winograd_kernels.py.
        compile_options = {"winograd": False} | compile_options
        main, k = load_constant(weight, options, tuple(steps), image, **compile_options)
        inputs = [x]
    else:
        main = load(weight, options, tuple(steps), **compile_options)
        k = rng.standard_normal(weight).astype("float32")
        inputs = [x, k]
    shapes = {"bias": (1, weight[0], 1, 1), "residual": (n, weight[0], height, width)}
    extra = {s: rng.standard_normal(shapes[s]).astype("float32") for s in steps if s != "relu"}
    exact, bound = reference(x, k, options, extra, steps)
    out = np.from_dlpack(main(*inputs, *extra.values()))
    assert out.shape == exact.shape and out.dtype == np.float32
    assert np.all(abs(out - exact) <= bound)


# A program each: what is static.
FORMS = {
    "3x3": ((10, 3, 3, 3), {"padding": (1, 1, 1, 1)}),
    "3x3-inside": ((10, 3, 3, 3), {}),
    "stride-2": ((9, 4, 3, 3), {"padding": (1, 1, 1, 1), "strides": (2, 2)}),
    "stride-3": ((5, 2, 2, 2), {"padding": (0, 1, 2, 3), "strides": (1, 3)}),
    "stride-4-rows": ((5, 2, 3, 2), {"padding": (2, 0, 1, 0), "strides": (4, 1)}),
    "stem": ((20, 3, 7, 7), {"padding": (3, 3, 3, 3), "strides": (2, 2)}),
    "1x1": ((17, 9, 1, 1), {}),
    "1x1-one-channel": ((3, 1, 1, 1), {}),
    "1x1-stride-2": ((8, 5, 1, 1), {"strides": (2, 2)}),
    "1x1-padded": ((8, 5, 1, 1), {"padding": (0, 0, 1, 1)}),
    "dilated": ((6, 2, 3, 3), {"padding": (2, 2, 2, 2), "dilation": (2, 2)}),
    "dilated-strided": (
        (6, 2, 3, 2),
        {"padding": (1, 2, 3, 0), "dilation": (2, 3), "strides": (3, 2)},
    ),
    "groups": ((6, 2, 3, 3), {"padding": (1, 1, 1, 1), "groups": 3}),
    "groups-1x1": ((8, 3, 1, 1), {"groups": 2}),
    "depthwise": ((5, 1, 3, 3), {"padding": (1, 1, 1, 1), "groups": 5}),
    "depthwise-stride-2": ((5, 1, 3, 3), {"padding": (1, 1, 0, 0), "groups": 5, "strides": (2, 2)}),
    "depthwise-multiplier": ((9, 1, 3, 3), {"padding": (0, 2, 1, 0), "groups": 3}),
    "depthwise-inside": ((4, 1, 2, 5), {"groups": 4, "strides": (1, 2)}),
    "depthwise-7x7": ((3, 1, 7, 7), {"padding": (3, 3, 3, 3), "groups": 3}),
    "depthwise-dilated": (
        (4, 1, 3, 5),
        {"padding": (5, 2, 1, 7), "groups": 4, "dilation": (3, 2), "strides": (3, 1)},
    ),
    "depthwise-stride-3": ((4, 1, 1, 4), {"padding": (0, 3, 0, 3), "groups": 4, "strides": (2, 3)}),
    "depthwise-padding-beyond": ((3, 1, 2, 2), {"padding": (5, 5, 5, 5), "groups": 3}),
    "depthwise-large": ((2, 1, 9, 9), {"padding": (4, 4, 4, 4), "groups": 2}),
    "one-output": ((1, 4, 5, 1), {"padding": (4, 0, 4, 0)}),
    "padding-beyond": ((4, 2, 2, 2), {"padding": (5, 5, 5, 5)}),
}
forms = st.sampled_from(sorted(FORMS))
# Around sizes of vectors and panels.
sizes = st.one_of(st.integers(1, 20), st.sampled_from([31, 32, 33, 47, 48, 49, 65]))


@settings(max_examples=60)
@given(forms, st.integers(0, 3), sizes, sizes, st.integers(0, 99))
@example("3x3", 1, 1, 1, 0)
@example("3x3", 2, 7, 7, 0)
@example("stem", 1, 64, 64, 0)
def test_images(form, n, h, w, seed):
    weight, options = FORMS[form]
    check(weight, n, h, w, options, seed=seed)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_forms(form):
    weight, options = FORMS[form]
    for h, w in ((9, 8), (14, 14), (5, 50)):
        check(weight, 2, h, w, options)


@settings(max_examples=25)
@given(forms, st.integers(0, 2), sizes, sizes)
def test_constant_weights(form, n, h, w):
    weight, options = FORMS[form]
    check(weight, n, h, w, options, constant=True)


@pytest.mark.parametrize("groups", [1, 4])
def test_channels_of_unknown_number(groups):
    """As many output channels for each input channel, or group of them, as a call says."""
    x = relax.Var("x", relax.TensorStructInfo(("n", 4, "h", "w"), "float32"))
    k = relax.Var("k", relax.TensorStructInfo((f"c * {groups}", 4 // groups, 3, 3), "float32"))
    count = relax.Var("count", relax.ShapeStructInfo(("c",)))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, k, count]):
        with bb.dataflow():
            out = bb.emit_output(op.nn.conv2d(x, k, groups=groups))
        bb.emit_func_output(out)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    rng = np.random.default_rng(0)
    image = rng.standard_normal((2, 4, 9, 11)).astype("float32")
    for c in (1, 3):
        weights = rng.standard_normal((c * groups, 4 // groups, 3, 3)).astype("float32")
        exact, bound = reference(image, weights, {"groups": groups})
        out = np.from_dlpack(main(image, weights, tvm_ffi.Shape((c,))))
        assert np.all(abs(out - exact) <= bound)


# Enough output channels for panels of them, and not.
WIDE = {
    "3x3": ((64, 5, 3, 3), {"padding": (1, 1, 1, 1)}),
    "tail": ((40, 3, 3, 3), {"padding": (0, 1, 2, 3)}),
    "few": ((9, 3, 3, 3), {"padding": (1, 1, 1, 1)}),
    "too-few": ((3, 3, 3, 3), {"padding": (1, 1, 1, 1)}),
    "stem": ((64, 3, 7, 7), {"padding": (3, 3, 3, 3), "strides": (2, 2)}),
    "stride-3": ((48, 4, 2, 2), {"strides": (3, 3), "padding": (1, 1, 0, 0)}),
    "1x1": ((96, 9, 1, 1), {}),
    "1x1-stride-2": ((64, 5, 1, 1), {"strides": (2, 2)}),
    "1x1-padded-stride-3": ((33, 5, 1, 1), {"strides": (3, 3), "padding": (2, 1, 0, 4)}),
    "row": ((32, 4, 1, 5), {"padding": (0, 2, 0, 2), "strides": (2, 1)}),
    "column-dilated": ((32, 4, 4, 1), {"padding": (3, 0, 3, 0), "dilation": (2, 1)}),
    "dilated": ((64, 4, 3, 2), {"padding": (2, 3, 1, 0), "dilation": (2, 3), "strides": (2, 1)}),
    "groups": ((64, 3, 3, 3), {"padding": (1, 1, 1, 1), "groups": 2}),
    "groups-of-a-tail": ((40, 3, 3, 3), {"padding": (1, 1, 1, 1), "groups": 2}),
    "groups-of-many-vectors": ((160, 3, 3, 3), {"groups": 2}),
    "padding-beyond": ((32, 2, 2, 2), {"padding": (5, 5, 5, 5)}),
    # As many as make pixels the lanes.
    "stride-2-many": ((130, 5, 3, 3), {"padding": (1, 1, 1, 1), "strides": (2, 2)}),
    "stride-3-many": ((129, 3, 2, 3), {"padding": (1, 0, 2, 3), "strides": (1, 3)}),
    "1x1-stride-2-many": ((128, 7, 1, 1), {"strides": (2, 2)}),
    "1x1-groups": ((48, 6, 1, 1), {"groups": 4}),
    "1x1-groups-of-a-tail": ((30, 6, 1, 1), {"groups": 3}),
}


@pytest.mark.parametrize("form", sorted(WIDE))
@pytest.mark.parametrize("static", [False, True])
def test_panels(form, static):
    weight, options = WIDE[form]
    for h, w in ((7, 7), (14, 16), (9, 57), (4, 1)):
        check(weight, 2, h, w, options, ("bias", "relu"), constant=True, static=static)


@pytest.mark.parametrize("form", ["1x1", "1x1-groups", "1x1-groups-of-a-tail"])
@pytest.mark.parametrize("h, w", [(1, 1), (1, 2), (3, 5), (7, 7), (23, 1), (14, 14), (9, 31)])
def test_pointwise_tiles_end_with_the_image(form, h, w):
    """The last one computes some pixels again, to which the residual is added once."""
    weight, options = WIDE[form]
    for n in (1, 3):
        check(weight, n, h, w, options, ("residual", "relu"), constant=True, static=True)


@settings(max_examples=40)
@given(st.sampled_from(sorted(WIDE)), st.integers(0, 3), sizes, sizes)
def test_panels_of_any_size(form, n, h, w):
    weight, options = WIDE[form]
    check(weight, n, h, w, options, ("residual", "relu"), constant=True)


@pytest.mark.parametrize("form", sorted(WIDE))
@pytest.mark.parametrize("bits", [128, 256, 1024])
def test_panels_of_other_vectors(form, bits):
    weight, options = WIDE[form]
    for h, w in ((7, 7), (8, 30)):
        check(weight, 1, h, w, options, constant=True, vector_bits=bits)


@settings(max_examples=15)
@given(
    st.sampled_from(["3x3", "1x1", "dilated"]), st.integers(0), st.sampled_from([np.nan, np.inf])
)
def test_nan_and_infinity_in_panels(form, place, value):
    weight, options = WIDE[form]
    main, k = load_constant(weight, tuple(sorted(options.items())))
    x = np.random.default_rng(0).standard_normal((2, weight[1], 9, 19)).astype("float32")
    x.reshape(-1)[place % x.size] = value
    out = np.from_dlpack(main(x))
    exact, _ = reference(x, k, options)
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(exact))
    np.testing.assert_allclose(out[finite], exact[finite], atol=1e-3)


def test_a_constant_of_two_panels():
    """The same weights are packed for rows of two widths."""
    k = np.random.default_rng(0).standard_normal((64, 4, 3, 3)).astype("float32")
    bb = relax.BlockBuilder()
    images = [relax.Var(f"x{w}", relax.TensorStructInfo((1, 4, 9, w), "float32")) for w in (6, 16)]
    with bb.function("main", images):
        kernel = op.const(k)
        outs = [bb.emit(op.nn.conv2d(x, kernel)) for x in images]
        bb.emit_func_output(expr.tuple(*outs))
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((1, 4, 9, w)).astype("float32") for w in (6, 16)]
    for x, out in zip(inputs, main(*inputs), strict=True):
        exact, bound = reference(x, k, {})
        assert np.all(abs(np.from_dlpack(out) - exact) <= bound)


@settings(max_examples=15)
@given(forms, sizes, sizes, st.sampled_from([128, 256, 1024]))
def test_other_widths_of_vectors(form, h, w, bits):
    weight, options = FORMS[form]
    check(weight, 1, h, w, options, vector_bits=bits)


# More channels than a block has, and a depth of several blocks.
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(
    ("weight", "options", "size"),
    [
        ((30, 200, 3, 3), {"padding": (1, 1, 1, 1)}, 9),
        ((600, 5, 1, 1), {}, 12),
        ((40, 1700, 1, 1), {}, 10),
        ((24, 300, 3, 3), {"strides": (2, 2)}, 15),
        ((24, 300, 3, 3), {"groups": 2}, 12),
    ],
)
def test_blocks(weight, options, size, constant):
    check(weight, 2, size, size, options, steps=("bias", "relu"), constant=constant)


STEPS = [("bias",), ("bias", "relu"), ("residual", "relu"), ("bias", "residual", "relu")]


@settings(max_examples=20)
@given(forms, st.integers(1, 2), sizes, sizes, st.sampled_from(STEPS))
def test_epilogues(form, n, h, w, steps):
    weight, options = FORMS[form]
    check(weight, n, h, w, options, steps=steps)


@pytest.mark.parametrize("form", ["1x1", "3x3", "groups", "depthwise"])
def test_both_modes(form, exec_mode):
    weight, options = FORMS[form]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, weight[1] * options.get("groups", 1), 9, 20)).astype("float32")
    k = rng.standard_normal(weight).astype("float32")
    main = relax.VirtualMachine(relax.compile(write(weight, options)))["main"]
    exact, bound = reference(x, k, options)
    assert np.all(abs(np.from_dlpack(main(x, k)) - exact) <= bound)


@settings(max_examples=15)
@given(
    st.sampled_from(["1x1", "3x3", "stride-2", "stride-3", "dilated", "depthwise-7x7"]),
    st.integers(5, 20),
    st.integers(0),
    st.sampled_from([np.nan, np.inf, -np.inf]),
)
def test_nan_and_infinity_reach_only_their_windows(form, size, place, value):
    weight, options = FORMS[form]
    rng = np.random.default_rng(size)
    channels = weight[1] * options.get("groups", 1)
    x = rng.standard_normal((2, channels, size, size)).astype("float32")
    x.reshape(-1)[place % x.size] = value
    k = rng.standard_normal(weight).astype("float32")
    out = np.from_dlpack(load(weight, tuple(sorted(options.items())))(x, k))
    exact, _ = reference(x, k, options)
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(exact))
    np.testing.assert_array_equal(out[~finite], exact[~finite].astype("float32"))
    np.testing.assert_allclose(out[finite], exact[finite], atol=1e-3)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_class(form):
    weight, options = FORMS[form]
    # A sum of one product is no sum.
    wanted = ["elementwise"] if np.prod(weight[1:]) == 1 else ["conv2d"]
    assert classes(write(weight, options).get()) == wanted
    constant = np.ones(weight, "float32")
    assert classes(write(weight, options, constant=constant).get()) == wanted


@pytest.mark.parametrize("form", ["1x1", "3x3", "stem", "groups", "depthwise"])
@pytest.mark.parametrize("steps", STEPS)
def test_epilogues_are_in_the_kernel(form, steps):
    weight, options = FORMS[form]
    assert classes(write(weight, options, steps).get()) == ["conv2d"]


@pytest.mark.parametrize("form", ["1x1", "3x3", "depthwise"])
@pytest.mark.parametrize(("axis", "begin", "end"), [(1, 0, 2), (1, 1, 4), (2, 1, 5), (3, 0, 6)])
def test_slices_are_kernels_of_their_own(exec_mode, form, axis, begin, end):
    """With a slice behind it, a convolution would be no kernel of that class."""
    weight, options = FORMS[form]
    rng = np.random.default_rng(0)
    k = rng.standard_normal(weight, dtype=np.float32)
    channels = weight[1] * options.get("groups", 1)
    x = relax.Var("x", relax.TensorStructInfo(("n", channels, 9, 11), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            active = bb.emit(op.nn.relu(bb.emit(op.nn.conv2d(x, op.const(k), **options))))
            out = bb.emit_output(op.strided_slice(active, [axis], [begin], [end]))
        bb.emit_func_output(out)
    assert "conv2d" in classes(bb.get())
    images = rng.standard_normal((2, channels, 9, 11), dtype=np.float32)
    exact, _ = reference(images, k, options)
    exact = np.maximum(exact, 0).take(range(begin, end), axis)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_allclose(main(images), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_groups_of_other_layouts_with_epilogues(dtype):
    x = relax.Var("x", relax.TensorStructInfo(("n", "h", "w", 6), dtype))
    k = relax.Var("k", relax.TensorStructInfo((4, 3, 3, 3), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, k]):
        out = bb.emit(op.nn.conv2d(x, k, data_layout="NHWC", kernel_layout="OIHW", groups=2))
        bb.emit_func_output(bb.emit(op.nn.relu(bb.emit(op.add(out, out)))))
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape).astype(dtype) for shape in [(2, 6, 7, 6), (4, 3, 3, 3)]]
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    out = np.from_dlpack(main(*inputs))
    exact, _ = reference(inputs[0].transpose(0, 3, 1, 2).copy(), inputs[1], {"groups": 2})
    exact = np.maximum(2 * exact, 0).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(out, exact, atol=1e-4 if dtype == "float32" else 0.1)


def test_other_classes():
    weight, options = FORMS["3x3"]
    assert classes(write(weight, options, dtype="float16").get()) != ["conv2d"]
    assert classes(write(weight, options, dtype="float64").get()) != ["conv2d"]
    layouts = {"data_layout": "NHWC", "kernel_layout": "OIHW"}
    x = relax.Var("x", relax.TensorStructInfo(("n", "h", "w", 3), "float32"))
    k = relax.Var("k", relax.TensorStructInfo(weight, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, k]):
        bb.emit_func_output(op.nn.conv2d(x, k, **layouts))
    assert classes(bb.get()) != ["conv2d"]
