# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of Relay on quantized tensors, against NumPy and PyTorch."""

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.frontend.relay.converters.registry import CONVERTERS
from relay_programs import Known, run_operator, run_operators

torch = pytest.importorskip("torch")


def scales(*values):
    return Known(np.array(values[0] if len(values) == 1 else values, "float32"))


def zeros(*values):
    return Known(np.array(values[0] if len(values) == 1 else values, "int32"))


def integers(*shapes, dtype="int8"):
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    return [rng.integers(info.min, info.max + 1, shape).astype(dtype) for shape in shapes]


def saturated(x, dtype):
    info = np.iinfo(dtype)
    return np.clip(x, info.min, info.max).astype(dtype)


def up(x):
    return np.floor(x + 0.5)


def away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def moved(x, source, target, dtype, rounding=up):
    """Return a quantized tensor with another scale and zero point, by exact arithmetic."""
    numbers = (x.astype("float64") - source[1]) * np.float32(source[0]) / np.float32(target[0])
    return saturated(rounding(numbers) + target[1], dtype)


# -- scales -------------------------------------------------------------------------------------


def test_ry06_quantize(exec_mode):
    x = np.array([[-1.25, 0.25, 0.75, 300, -300, 0.5]], "float32")
    result = run_operator("qnn.quantize", x, scales(0.5), zeros(3), out_dtype="int8")
    np.testing.assert_array_equal(result, saturated(away(x / 0.5) + 3, "int8"))
    x = np.random.default_rng(0).standard_normal((2, 3)).astype("float32")
    steps, shifts = np.array([0.1, 0.2, 0.3], "float32"), np.array([1, 2, 3], "int32")
    result = run_operator(
        "qnn.quantize", x, scales(*steps), zeros(*shifts), shapes=[("n", 3)], axis=1,
        out_dtype="uint8",
    )  # fmt: skip
    np.testing.assert_array_equal(result, saturated(away(x / steps) + shifts, "uint8"))


def test_ry06_dequantize(exec_mode):
    (x,) = integers((2, 3))
    result = run_operator("qnn.dequantize", x, scales(0.25), zeros(-5))
    np.testing.assert_array_equal(result, (x.astype("float32") + 5) * np.float32(0.25))
    steps, shifts = np.array([0.1, 0.2], "float32"), np.array([1, 2], "int32")
    result = run_operator("qnn.dequantize", x, scales(*steps), zeros(*shifts), axis=0)
    wanted = (x - shifts[:, None]).astype("float32") * steps[:, None]
    np.testing.assert_array_equal(result, wanted)
    result = run_operator("qnn.dequantize", x, scales(1e4), zeros(0), out_dtype="float16")
    wanted = np.clip(x.astype("float32") * np.float32(1e4), -65504, 65504).astype("float16")
    np.testing.assert_array_equal(result, wanted)


CHANGES = [((2.5, 0), (1, 0)), ((3, 7), (1, -2)), ((0.213, 9), (0.73, 4))]


@pytest.mark.parametrize(
    ("rounding", "compute"),
    [("UPWARD", "int64"), ("TONEAREST", "int64"), ("UPWARD", "float32"), ("TONEAREST", "float64")],
)
def test_ry06_requantize(rounding, compute, exec_mode):
    x = np.arange(-700, 700, 3, "int32").reshape(1, -1)
    function = up if rounding == "UPWARD" else away
    # With halves; a factor of more than 1; neither.
    for source, target in CHANGES[: 3 if compute == "int64" else 1]:
        result = run_operator(
            "qnn.requantize", x, scales(source[0]), zeros(source[1]), scales(target[0]),
            zeros(target[1]), rounding=rounding, compute_dtype=compute, out_dtype="int8",
        )  # fmt: skip
        np.testing.assert_array_equal(result, moved(x, source, target, "int8", function))


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_ry06_requantize_by_channel(rounding, exec_mode):
    (x,) = integers((2, 3, 4), dtype="int16")
    steps = np.array([0.3, 1.5, 0.01], "float32")
    result = run_operator(
        "qnn.requantize", x.astype("int32"), scales(*steps), zeros(0), scales(2.0), zeros(1),
        shapes=[("n", 3, "m")], axis=1, rounding=rounding, out_dtype="int32",
    )  # fmt: skip
    numbers = x.astype("float64") * (steps.astype("float64") / 2)[:, None]
    np.testing.assert_array_equal(result, (up if rounding == "UPWARD" else away)(numbers) + 1)


# -- elements -----------------------------------------------------------------------------------

PARAMETERS = [(0.05, 3), (0.07, -2), (0.11, 5)]


def operands(first, second, target):
    (a, az), (b, bz), (c, cz) = first, second, target
    return scales(a), zeros(az), scales(b), zeros(bz), scales(c), zeros(cz)


@pytest.mark.parametrize("name", ["qnn.add", "qnn.subtract"])
def test_ry06_sums(name, exec_mode):
    x, y = integers((2, 3, 4), (3, 1))
    result = run_operator(name, x, y, *operands(*PARAMETERS), shapes=[("n", 3, 4), (3, 1)])
    target, sign = PARAMETERS[2], 1 if name == "qnn.add" else -1
    left, right = (
        moved(one, source, target, "int32") for one, source in zip((x, y), PARAMETERS, strict=False)
    )
    wanted = left + sign * right - sign * target[1]
    np.testing.assert_array_equal(result, saturated(wanted, "int8"))
    if sign == -1:
        return
    # Without a change of parameters nothing is rounded.
    result = run_operator(name, x, y, *operands(*[(0.1, 7)] * 3))
    wanted = x.astype("int32") + y.astype("int32") - 7
    np.testing.assert_array_equal(result, saturated(wanted, "int8"))


def test_ry06_mul(exec_mode):
    x, y = integers((2, 3, 4), (3, 4), dtype="uint8")
    result = run_operator("qnn.mul", x, y, *operands(*PARAMETERS))
    (a, az), (b, bz), target = PARAMETERS
    product = (x.astype("int64") - az) * (y.astype("int64") - bz)
    step = np.float32(np.float32(a) * np.float32(b))
    np.testing.assert_array_equal(result, moved(product, (step, 0), target, "uint8"))


def test_ry06_mul_by_channel(exec_mode):
    x, y = integers((2, 3), (2, 3))
    steps = [np.array([0.1, 0.2, 0.3], "float32"), np.array([0.3, 0.1, 0.7], "float32")]
    result = run_operator(
        "qnn.mul", x, y, scales(*steps[0]), zeros(1, 2, 3), scales(*steps[1]), zeros(0),
        scales(0.9), zeros(2), lhs_axis=1, rhs_axis=1,
    )  # fmt: skip
    product = (x.astype("int64") - [1, 2, 3]) * y
    step = np.float32(steps[0].astype("float64") * steps[1])
    wanted = up(product * step.astype("float64") / np.float32(0.9)) + 2
    np.testing.assert_array_equal(result, saturated(wanted, "int8"))


UNARY = {
    "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": lambda x: torch.erf(torch.tensor(x)).numpy(), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "log": np.log, "abs": np.abs,
}  # fmt: skip


@pytest.mark.parametrize("is_positive", [False, True])
def test_ry06_functions(is_positive, exec_mode):
    # Some have no result for 0 or less.
    names = [name for name in UNARY if (name in ("sqrt", "rsqrt", "log")) == is_positive]
    x = np.arange(11 if is_positive else 0, 256).astype("uint8")
    calls = [(f"qnn.{name}", {}) for name in names]
    results = run_operators(calls, x, scales(0.037), zeros(10), scales(0.041), zeros(90))
    for name, result in zip(names, results, strict=True):
        real = UNARY[name]((x.astype("float64") - 10) * np.float32(0.037))
        exact = real / np.float32(0.041)
        wanted = saturated(away(exact) + 90, "uint8")
        # Where the exact number is nearly between two, float32 may take the other one.
        clear = np.abs(exact - np.floor(exact) - 0.5) > 1e-3
        np.testing.assert_array_equal(result[clear], wanted[clear], err_msg=name)
        assert np.abs(result.astype(int) - wanted).max() <= 1


def test_ry06_leaky_relu(exec_mode):
    x = np.arange(-128, 128).astype("int8")
    source, target, alpha = (0.1, 5), (0.13, -9), 0.2718
    result = run_operator(
        "qnn.leaky_relu", x, scales(source[0]), zeros(source[1]), scales(target[0]),
        zeros(target[1]), alpha=alpha,
    )  # fmt: skip
    positive = moved(x, source, target, "int32")
    negative = up(alpha * positive) + up((1 - alpha) * target[1])
    wanted = np.where(x < source[1], negative, positive)
    np.testing.assert_array_equal(result, saturated(wanted, "int8"))


def test_ry06_softmax(exec_mode):
    (x,) = integers((4, 6))
    x = (x // 4).astype("int8")
    result = run_operator("qnn.softmax", x, scales(0.1), zeros(4), scales(1 / 256), zeros(-128))
    real = torch.softmax(torch.tensor((x.astype("float64") - 4) * 0.1), -1).numpy()
    # The shares have 7 bits, and straight lines in place of powers.
    np.testing.assert_allclose((result.astype(float) + 128) / 256, real, atol=0.04)
    np.testing.assert_array_equal(result.argmax(-1), real.argmax(-1))


def test_ry06_concatenate(exec_mode):
    x, y = integers((2, 3), (2, 2), dtype="uint8")
    builder = relax.BlockBuilder()
    params = [
        relax.Var(name, relax.TensorStructInfo(one.shape, "uint8"))
        for name, one in (("x", x), ("y", y))
    ]
    (a, az), (b, bz), (c, cz) = target = [(0.1, 3), (0.2, 4), (0.2, 4)]
    steps = [np.array(one, "float32") for one in (a, b, c)]
    shifts = [np.array(one, "int32") for one in (az, bz, cz)]
    with builder.function("main", params):
        tensors = [one.value for one in params]
        result = CONVERTERS["qnn.concatenate"](
            {"axis": 1}, [tensors, steps[:2], shifts[:2], steps[2], shifts[2]]
        )
        builder.emit_func_output(builder.emit(result))
    result = np.from_dlpack(relax.VirtualMachine(relax.compile(builder))["main"](x, y))
    wanted = np.concatenate([moved(x, (a, az), target[2], "uint8"), y], 1)
    np.testing.assert_array_equal(result, wanted)


# -- products -----------------------------------------------------------------------------------


def convolved(x, weight, **options):
    wide, kernel = torch.tensor(x.astype("float64")), torch.tensor(weight.astype("float64"))
    return torch.nn.functional.conv2d(wide, kernel, **options).numpy().astype("int32")


def test_ry06_convolution(exec_mode):
    x, weight = integers((2, 3, 4, 5), (4, 3, 3, 2))
    data, shifts = x.view("uint8"), np.array([1, -2, 3, 0], "int32")
    wanted = convolved(
        data.astype("int32") - 130, weight.astype("int32") - shifts[:, None, None, None],
        padding=(1, 0), stride=(1, 2),
    )  # fmt: skip
    attrs = {"channels": 4, "kernel_size": [3, 2], "padding": [1, 0], "strides": [1, 2]}
    result = run_operator(
        "qnn.conv2d", data, weight, zeros(130), zeros(*shifts), scales(0.1), scales(0.2),
        shapes=[("n", 3, 4, 5), weight.shape], **attrs,
    )  # fmt: skip
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, wanted)
    result = run_operator(
        "qnn.conv2d", data.transpose(0, 2, 3, 1).copy(), weight.transpose(2, 3, 1, 0).copy(),
        zeros(130), zeros(*shifts), scales(0.1), scales(0.2), data_layout="NHWC",
        kernel_layout="HWIO", **attrs,
    )  # fmt: skip
    np.testing.assert_array_equal(result, wanted.transpose(0, 2, 3, 1))


def test_ry06_convolution_of_each_channel(exec_mode):
    x, weight = integers((1, 3, 4, 4), (6, 1, 2, 2))
    wanted = convolved(x.astype("int32") - 3, weight.astype("int32") + 4, groups=3)
    result = run_operator(
        "qnn.conv2d", x.transpose(0, 2, 3, 1).copy(),
        weight.reshape(3, 2, 2, 2).transpose(2, 3, 0, 1).copy(), zeros(3), zeros(-4), scales(0.1),
        scales(0.2), groups=3, channels=6, kernel_size=[2, 2], data_layout="NHWC",
        kernel_layout="HWOI",
    )  # fmt: skip
    np.testing.assert_array_equal(result, wanted.transpose(0, 2, 3, 1))


def test_ry06_transposed_convolution(exec_mode):
    x, weight = integers((1, 3, 3, 4), (3, 2, 3, 3))
    wide, kernel = (torch.tensor(one.astype("float64")) for one in (x, weight))
    wanted = torch.nn.functional.conv_transpose2d(wide - 7, kernel + 2, padding=1)
    result = run_operator(
        "qnn.conv2d_transpose", x, weight, zeros(7), zeros(-2), scales(0.1), scales(0.2),
        padding=[1, 1], channels=2, kernel_size=[3, 3],
    )  # fmt: skip
    np.testing.assert_array_equal(result, wanted.numpy())


def test_ry06_products(exec_mode):
    x, y = integers((3, 8), (4, 8))
    data, shifts = x.view("uint8"), np.array([1, -2, 3, 0], "int32")
    wanted = (data.astype("int32") - 130) @ (y.astype("int32") - shifts[:, None]).T
    common = (zeros(130), zeros(*shifts), scales(0.1), scales(0.2))
    result = run_operator("qnn.dense", data, y, *common, shapes=[("n", 8), (4, 8)], units=4)
    np.testing.assert_array_equal(result, wanted)
    packed = y.reshape(2, 2, 8).transpose(0, 2, 1).copy()
    result = run_operator("qnn.contrib_dense_pack", data, packed, *common, weight_layout="NC2n")
    np.testing.assert_array_equal(result, wanted)
    x, y = integers((2, 3, 8), (2, 4, 8))
    result = run_operator(
        "qnn.batch_matmul", x, y, zeros(3), zeros(-4), scales(0.1), scales(0.2), transpose_b=True
    )
    wanted = (x.astype("int32") - 3) @ (y.astype("int32") + 4).swapaxes(1, 2)
    np.testing.assert_array_equal(result, wanted)


def test_ry06_average_pool(exec_mode):
    (x,) = integers((1, 2, 4, 4), dtype="uint8")
    source, target = (0.1, 3), (0.15, 2)
    result = run_operator(
        "qnn.avg_pool2d", x, scales(source[0]), zeros(source[1]), scales(target[0]),
        zeros(target[1]), pool_size=[2, 2], strides=[2, 2],
    )  # fmt: skip
    numbers = moved(x, source, target, "int32").reshape(1, 2, 2, 2, 2, 2)
    wanted = np.trunc(numbers.sum((3, 5)) / 4)
    np.testing.assert_array_equal(result, saturated(wanted, "uint8"))


# -- errors -------------------------------------------------------------------------------------

X, ONE, NONE = np.zeros((2, 3), "int8"), scales(1.0), zeros(0)
REQUANTIZE = ("qnn.requantize", [X, ONE, NONE, ONE, NONE])
REFUSED = {
    "dtype": (*REQUANTIZE, {"out_dtype": "float32"}, ValueError, "out_dtype of int8, uint8"),
    "missing": (*REQUANTIZE, {}, ValueError, "needs the attribute 'out_dtype'"),
    "rounding": (*REQUANTIZE, {"out_dtype": "int8", "rounding": "DOWN"}, ValueError,
                 "expected rounding UPWARD or TONEAREST"),
    "compute": (*REQUANTIZE, {"out_dtype": "int8", "compute_dtype": "int8"}, ValueError,
                "expected compute_dtype int64"),
    "several": ("qnn.requantize", [X, ONE, NONE, scales(1.0, 2.0), NONE], {"out_dtype": "int8"},
                ValueError, "one number as the scale of the result, but got 2"),
    "zero": ("qnn.requantize", [X, ONE, NONE, scales(0.0), NONE], {"out_dtype": "int8"},
             ValueError, "a scale of the result that is not 0"),
    "data": ("qnn.requantize", [X, np.ones((), "float32"), NONE, ONE, NONE],
             {"out_dtype": "int8"}, NotImplementedError, "scales that is known at import"),
    "floats": ("qnn.conv2d", [np.zeros((1, 1, 2, 2), "float32")] * 2 + [NONE, NONE, ONE, ONE], {},
               ValueError, "quantized tensors of 8 or 16 bits, but got float32"),
    "axes": ("qnn.mul", [X, X, scales(1.0, 2.0, 3.0), NONE, ONE, NONE, ONE, NONE],
             {"lhs_axis": 1, "rhs_axis": 0}, NotImplementedError, "scales along one axis"),
    "softmax": ("qnn.softmax", [X, scales(2.0), NONE, ONE, NONE], {}, ValueError,
                "a scale of data up to 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_ry06_quantized_refused(name):
    operator, values, attrs, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        run_operator(operator, *values, **attrs)


def test_ry06_depthwise_zero_points_of_channels_that_are_taken(exec_mode):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 255, (1, 2, 4, 4), "uint8")
    weight = rng.integers(0, 255, (2, 3, 1, 1), "uint8")
    zeros = np.array([3, 200], "int32")
    result = run_operator(
        "qnn.conv2d", x, weight, Known(np.array(7, "int32")), Known(zeros),
        Known(np.float32(1)), Known(np.float32(1)), groups=2, channels=6, kernel_size=[1, 1],
    )  # fmt: skip
    factors = weight.astype("int32")[..., 0, 0] - zeros[:, None]
    expected = np.einsum("nchw,cm->ncmhw", x.astype("int32") - 7, factors)
    np.testing.assert_array_equal(result, expected.reshape(1, 6, 4, 4))
