"""Functions of neural networks against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from relax_mlir import te, topi

rng = np.random.default_rng(4)
nn = topi.nn


def floats(*shape, dtype="float32"):
    return rng.standard_normal(shape).astype(dtype)


def check(actual, expected, tolerance=1e-4):
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, tolerance, tolerance)


# ---------------------------------------------------------------------------------------------
# Activations, softmax, normalizations
# ---------------------------------------------------------------------------------------------


def test_rf11_topi_activations(run_te):
    x, slope = floats(3, 4), floats(4)
    erf = np.vectorize(math.erf, otypes="f")

    def function(A, S):
        return [
            nn.relu(A),
            nn.leaky_relu(A, 0.1),
            nn.prelu(A, S, 1),
            nn.softplus(A),
            nn.gelu(A),
            nn.gelu_tanh(A),
            nn.silu(A),
            nn.scale_shift(A, S, S, 1),
        ]

    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    expected = [
        np.maximum(x, 0),
        np.where(x > 0, x, x * np.float32(0.1)),
        np.where(x > 0, x, x * slope),
        np.log1p(np.exp(x)),
        0.5 * x * (1 + erf(x * np.float32(math.sqrt(0.5)))),
        0.5 * x * (1 + np.tanh(inner)),
        x / (1 + np.exp(-x)),
        x * slope + slope,
    ]
    for actual, each in zip(run_te(function, x, slope), expected, strict=True):
        check(actual, each, 1e-5)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_rf11_topi_softmax(run_te, axis):
    x = floats(3, 4, 5) * 30
    plain, logarithm = run_te(lambda A: [nn.softmax(A, axis), nn.log_softmax(A, axis)], x)
    check(plain, softmax(x, axis), 1e-5)
    top = x.max(axis, keepdims=True)
    check(logarithm, x - top - np.log(np.exp(x - top).sum(axis, keepdims=True)))


def test_rf11_topi_softmax_of_small_floats(run_te):
    x = floats(2, 1000, dtype="float16")
    actual = run_te(nn.softmax, x)
    assert actual.dtype == "float16"
    np.testing.assert_allclose(actual, softmax(x.astype("float32"), -1), 2e-3, 1e-6)


def normalized(x, axes, epsilon=1e-5):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon)


def test_rf11_topi_layer_norm(run_te):
    x, gamma, beta = floats(2, 3, 4), floats(4), floats(4)
    check(
        run_te(lambda *args: nn.layer_norm(*args, axis=-1), x, gamma, beta),
        normalized(x, -1) * gamma + beta,
    )
    plain = run_te(lambda A: nn.layer_norm(A, None, None, (1, 2), 0.1), x)
    check(plain, normalized(x, (1, 2), 0.1))


def test_rf11_topi_rms_norm(run_te):
    x, weight = floats(2, 3, 4), floats(4)
    expected = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight
    check(run_te(lambda A, W: nn.rms_norm(A, W, [2]), x, weight), expected)


def test_rf11_topi_instance_norm(run_te):
    x, gamma, beta = floats(2, 3, 4, 4), floats(3), floats(3)
    expected = normalized(x, (2, 3)) * gamma[:, None, None] + beta[:, None, None]
    check(run_te(lambda *args: nn.instance_norm(*args, 1, [2, 3]), x, gamma, beta), expected)


def test_rf11_topi_group_norm(run_te):
    x, gamma, beta = floats(2, 6, 3, 3), floats(6), floats(6)
    groups = normalized(x.reshape(2, 2, 3, 3, 3), (2, 3, 4)).reshape(x.shape)
    expected = groups * gamma[:, None, None] + beta[:, None, None]
    check(run_te(lambda *args: nn.group_norm(*args, 2, 1, [2, 3]), x, gamma, beta), expected)


def test_rf11_topi_batch_norm(run_te):
    x, gamma, beta, mean = floats(2, 3, 4), floats(3), floats(3), floats(3)
    var = np.abs(floats(3))

    def at(v):
        return v[:, None]

    out, new_mean, new_var = run_te(nn.batch_norm, x, gamma, beta, mean, var)
    check(out, (x - at(mean)) / np.sqrt(at(var) + 1e-5) * at(gamma) + at(beta))
    check(new_mean, mean)
    check(new_var, var)
    out, new_mean, new_var = run_te(
        lambda *args: nn.batch_norm(*args, training=True, momentum=0.3, scale=False),
        x, gamma, beta, mean, var,
    )  # fmt: skip
    check(out, normalized(x, (0, 2)) + at(beta))
    check(new_mean, 0.7 * mean + 0.3 * x.mean((0, 2)))
    check(new_var, 0.7 * var + 0.3 * x.var((0, 2)))


# ---------------------------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------------------------


def test_rf11_topi_dense(run_te):
    x, weight, bias = floats(2, 4), floats(3, 4), floats(3)
    check(run_te(nn.dense, x, weight, bias), x @ weight.T + bias)
    check(run_te(lambda A, B: nn.matmul(A, B, transpose_a=True), x.T.copy(), weight.T.copy()),
          x @ weight.T)  # fmt: skip


def test_rf11_topi_dense_of_integers(run_te):
    x, weight = np.full((2, 300), 100, "int8"), np.full((1, 300), 100, "int8")
    actual = run_te(lambda A, B: nn.dense(A, B, out_dtype="int32"), x, weight)
    np.testing.assert_array_equal(actual, np.full((2, 1), 3_000_000, "int32"))


def test_rf11_topi_batch_matmul(run_te):
    x, y = floats(2, 3, 4), floats(2, 5, 4)
    check(run_te(nn.batch_matmul, x, y), x @ y.transpose(0, 2, 1))
    one = floats(1, 4, 5)
    check(run_te(lambda A, B: nn.batch_matmul(A, B, transpose_b=False), x, one), x @ one)


def test_rf11_topi_flatten(run_te):
    x = floats(2, 3, 4)
    check(run_te(nn.flatten, x), x.reshape(2, 12))


# ---------------------------------------------------------------------------------------------
# Padding
# ---------------------------------------------------------------------------------------------


def test_rf11_topi_pad(run_te):
    x = floats(3, 4)
    border = ((1, 0), (2, 3))

    def function(A):
        return [
            nn.pad(A, [1, 2], [0, 3], -1.0),
            nn.mirror_pad(A, [1, 2], [0, 3]),
            nn.reflect_pad(A, [1, 2], [0, 3]),
            nn.replicate_pad(A, [1, 2], [0, 3]),
            nn.circular_pad(A, [1, 2], [0, 3]),
        ]

    modes = [{"constant_values": -1}, "symmetric", "reflect", "edge", "wrap"]
    for actual, mode in zip(run_te(function, x), modes, strict=True):
        options = {"mode": mode} if isinstance(mode, str) else mode
        check(actual, np.pad(x, border, **options))


def test_rf11_topi_dilate(run_te):
    x = floats(2, 3)
    expected = np.zeros((4 - 1, 7), "float32")
    expected[::2, ::3] = x
    check(run_te(lambda A: nn.dilate(A, [2, 3]), x), expected)


# ---------------------------------------------------------------------------------------------
# Convolution and pooling
# ---------------------------------------------------------------------------------------------


def windows(x, kernel, stride, dilation):
    """The windows of the last dimensions, as further dimensions."""
    count = len(kernel)
    sizes = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, sizes, tuple(range(x.ndim - count, x.ndim)))
    slices = [slice(None)] * (x.ndim - count)
    slices += [slice(None, None, step) for step in (*stride, *dilation)]
    return view[tuple(slices)]


def conv2d(x, w, stride, pads, dilation, groups=1):
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    parts = []
    for xs, ws in zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True):
        parts.append(np.einsum("ncijhw,ochw->noij", windows(xs, w.shape[2:], stride, dilation), ws))
    return np.concatenate(parts, 1)


@pytest.mark.parametrize(
    "stride, padding, dilation, groups",
    [
        (1, 0, 1, 1),
        ((2, 1), (1, 2), 1, 1),
        (2, (0, 1, 2, 1), (2, 1), 1),
        (1, 1, 1, 2),
        (2, 1, 1, 4),
    ],
)
def test_rf11_topi_conv2d(run_te, stride, padding, dilation, groups):
    x, w = floats(2, 4, 9, 8), floats(8, 4 // groups, 3, 3)
    values = [padding] * 4 if isinstance(padding, int) else list(padding)
    pads = values * 2 if len(values) == 2 else values
    steps = [stride] * 2 if isinstance(stride, int) else stride
    holes = [dilation] * 2 if isinstance(dilation, int) else dilation
    expected = conv2d(x, w, steps, pads, holes, groups)

    def first(A, W):
        return nn.conv2d(A, W, stride, padding, dilation, "NCHW", groups=groups)

    def last(A, W):
        return nn.conv2d(A, W, stride, padding, dilation, "NHWC", groups=groups)

    check(run_te(first, x, w), expected)
    actual = run_te(last, x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy())
    check(actual.transpose(0, 3, 1, 2), expected)


def test_rf11_topi_conv2d_same_and_out_dtype(run_te):
    x, w = floats(1, 2, 5, 5), floats(3, 2, 3, 3)
    expected = conv2d(x, w, (1, 1), (1, 1, 1, 1), (1, 1))
    # The size of the filter has to be known.
    padding = 1 if run_te.is_symbolic else "SAME"
    check(run_te(lambda A, W: nn.conv2d_nchw(A, W, 1, padding, 1), x, w), expected)
    ints = np.full((1, 2, 5, 5), 100, "int8")
    actual = run_te(lambda A, W: nn.conv2d_nchw(A, W, 1, 0, 1, "int32"), ints, ints[:, :, :3, :3])
    assert actual.dtype == "int32" and actual[0, 0, 0, 0] == 18 * 100 * 100


def test_rf11_topi_conv1d_and_conv3d(run_te):
    x, w = floats(2, 3, 7), floats(4, 3, 3)
    expected = np.einsum("ncik,ock->noi", windows(x, (3,), (2,), (1,)), w)
    check(run_te(lambda A, W: nn.conv1d(A, W, 2), x, w), expected)
    x, w = floats(1, 2, 4, 4, 4), floats(3, 2, 2, 2, 2)
    expected = np.einsum("ncijkxyz,ocxyz->noijk", windows(x, (2,) * 3, (1,) * 3, (1,) * 3), w)
    check(run_te(lambda A, W: nn.conv3d(A, W, 1, 0, 1), x, w), expected)


def pool2d(x, kernel, stride, dilation, pads, kind, ceil_mode, count_include_pad):
    """Windows one by one, from what they mean."""
    n, c, height, width = x.shape
    sizes = []
    for i, size in enumerate((height, width)):
        span = size + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilation[i] - 1
        number = (math.ceil if ceil_mode else math.floor)(span / stride[i]) + 1
        sizes.append(number - (ceil_mode and (number - 1) * stride[i] - pads[i] >= size))
    out = np.zeros((n, c, *sizes), "float32")
    for i, j in np.ndindex(*sizes):
        values, count = [], 0
        for a, b in np.ndindex(*kernel):
            row = i * stride[0] - pads[0] + a * dilation[0]
            column = j * stride[1] - pads[1] + b * dilation[1]
            inside = 0 <= row < height and 0 <= column < width
            bordered = row < height + pads[2] and column < width + pads[3]
            if inside:
                values.append(x[:, :, row, column])
            if inside or (count_include_pad and bordered):
                count += 1
        if kind == "max":
            out[:, :, i, j] = np.max(values, 0)
        else:
            out[:, :, i, j] = np.sum(values, 0) / count
    return out


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    "kernel, stride, dilation, pads, ceil_mode, include",
    [
        ((2, 2), (2, 2), (1, 1), (0, 0, 0, 0), False, True),
        ((3, 2), (2, 1), (1, 1), (1, 0, 1, 1), False, True),
        ((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), False, False),
        ((3, 3), (2, 2), (1, 1), (0, 0, 0, 0), True, True),
        ((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), True, False),
        ((3, 2), (2, 3), (1, 1), (1, 1, 1, 0), True, True),
        ((2, 2), (1, 1), (2, 2), (1, 1, 1, 1), False, False),
    ],
)
def test_rf11_topi_pool2d(run_te, kind, kernel, stride, dilation, pads, ceil_mode, include):
    x = floats(2, 3, 8, 6)
    expected = pool2d(x, kernel, stride, dilation, pads, kind, ceil_mode, include)

    def function(A):
        return nn.pool2d(A, kernel, stride, dilation, pads, kind, ceil_mode, "NCHW", include)

    check(run_te(function, x), expected, 1e-5)


def test_rf11_topi_pool_of_other_layouts_and_ranks(run_te):
    x = floats(2, 3, 8, 6)
    last = x.transpose(0, 2, 3, 1).copy()
    expected = x.reshape(2, 3, 4, 2, 3, 2).max((3, 5))
    actual = run_te(lambda A: nn.pool2d(A, 2, 2, 1, 0, "max", layout="NHWC"), last)
    check(actual.transpose(0, 3, 1, 2), expected)
    row = floats(2, 3, 8)
    check(run_te(lambda A: nn.pool1d(A, 2, 2, 1, 0, "avg"), row), row.reshape(2, 3, 4, 2).mean(3))
    cube = floats(1, 2, 4, 4, 4)
    expected = cube.reshape(1, 2, 2, 2, 2, 2, 2, 2).max((3, 5, 7))
    check(run_te(lambda A: nn.pool3d(A, 2, 2, 1, 0, "max"), cube), expected)


@pytest.mark.parametrize("size", [(4, 3), (3, 4), (1, 1)])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_rf11_topi_adaptive_pool(run_te, kind, size):
    x = floats(2, 3, 8, 6)
    reference = np.max if kind == "max" else np.mean
    expected = np.empty((2, 3, *size), "float32")
    for i, j in np.ndindex(*size):
        rows = slice(i * 8 // size[0], -(-(i + 1) * 8 // size[0]))
        columns = slice(j * 6 // size[1], -(-(j + 1) * 6 // size[1]))
        expected[:, :, i, j] = reference(x[:, :, rows, columns], (2, 3))
    check(run_te(lambda A: nn.adaptive_pool(A, size, kind), x), expected, 1e-5)


def test_rf11_topi_global_pool(run_te):
    x = floats(2, 3, 4, 5)
    check(run_te(lambda A: nn.global_pool(A, "avg"), x), x.mean((2, 3), keepdims=True), 1e-5)


A = te.placeholder((1, 4, 8, 8), name="A")
W = te.placeholder((8, 4, 3, 3), name="W")
V = te.placeholder((5,), name="V")
INTS = te.placeholder((2, 2), "int32")


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: nn.conv2d(A, W, 1, 0, 1, "NCWX"), "expected a data_layout of the letters NCHW"),
        (lambda: nn.conv2d(A, W, 1, 0, 1, "NCHW", "OIXX"), "a kernel_layout of the letters OIHW"),
        (lambda: nn.conv2d(A, W, 1, 0, 1, groups=3), "expected channels that fit 3 groups"),
        (lambda: nn.conv2d(A, V, 1, 0, 1), "expected tensors of rank 3 to 5"),
        (lambda: nn.conv2d(V, V, 1, 0, 1), "expected a tensor of rank 4"),
        (lambda: nn.conv2d(A, W, 0, 0, 1), "stride, dilation and groups from 1 on"),
        (lambda: nn.conv2d(A, W, (1, 2, 3), 0, 1), "an integer or 2 of them as stride"),
        (lambda: nn.conv2d(A, W, 1, -1, 1), "expected padding from 0 on"),
        (lambda: nn.conv2d(A, W, 1, "X", 1), "expected padding 'SAME' or 'VALID'"),
        (
            lambda: nn.conv2d(A, te.placeholder((8, 4, "k", 3)), 1, "SAME", 1),
            "expected a filter of known size with padding 'SAME'",
        ),
        (lambda: nn.conv2d(A, W, 1, 0, 9), "expected a filter that is not larger"),
        (lambda: nn.pool2d(A, 2, 2, 1, 0, "min"), "expected pool_type 'max' or 'avg'"),
        (lambda: nn.pool2d(A, 2, 2, 1, 0, "max", layout="NCW"), "a layout of the letters NCHW"),
        (
            lambda: nn.pool2d(A, 20, 2, 1, 0, "max"),
            "a kernel that is not larger than the padded input",
        ),
        (lambda: nn.pool2d(A, 0, 2, 1, 0, "max"), "kernel, stride and dilation from 1 on"),
        (lambda: nn.adaptive_pool(A, (1, 2, 3), "avg"), "expected 2 sizes of the output"),
        (lambda: nn.pad(A, [1, 1]), "expected 4 sizes of a border"),
        (lambda: nn.mirror_pad(A, [1] * 4, mode="X"), "expected mode 'SYMMETRIC' or 'REFLECT'"),
        (lambda: nn.dilate(INTS, [0, 1]), "expected strides from 1 on"),
        (lambda: nn.softmax(INTS), "expected a tensor of floats in softmax"),
        (lambda: nn.layer_norm(A, V, None, -1), r"expected gamma of shape \(8\), but got"),
        (lambda: nn.group_norm(A, None, None, 3, 1, [2, 3]), "to be 3 equal groups"),
        (lambda: nn.batch_norm(A, V, V, V, V), r"expected gamma of shape \(4\)"),
        (lambda: nn.batch_norm(A, V, V, V, V, momentum=2), "expected a momentum from 0 to 1"),
        (lambda: nn.dense(INTS, V), "expected two matrices"),
        (lambda: nn.dense(INTS, te.placeholder((2, 3), "int32")), "expected matrices that fit"),
        (lambda: nn.dense(INTS, INTS, V), "expected a bias of"),
        (lambda: nn.batch_matmul(INTS, INTS), "expected two batches of matrices"),
        (lambda: nn.prelu(A, INTS), "expected a slope of rank 1"),
    ],
)
def test_rf11_topi_invalid_networks(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
