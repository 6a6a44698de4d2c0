"""Products of quantized tensors become products of integers."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import FakeQuantizationToInteger, FoldConstant

RANGES = {"int8": (-128, 127), "uint8": (0, 255)}


def program(build, shape, dtype="uint8"):
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(build(x))
        bb.emit_func_output(y)
    return bb.get()


def run(mod, *inputs, **options):
    return np.from_dlpack(relax.VirtualMachine(relax.compile(mod, **options))["main"](*inputs))


def codes(rng, shape, dtype):
    low, high = RANGES[dtype]
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def quantized(numbers, scale, zero, dtype):
    low, high = RANGES[dtype]
    return np.clip(np.rint(numbers / scale) + zero, low, high).astype(dtype)


def check_steps(result, exact, scale, zero, dtype):
    """Codes are those of the exact numbers, or one step off where these are between two codes."""
    wanted = quantized(exact, scale, zero, dtype).astype(int)
    steps = np.abs(result.astype(int) - wanted)
    assert steps.max() <= 1
    distance = np.abs(exact / scale - np.floor(exact / scale) - 0.5)
    assert (distance[steps > 0] < 1e-3).all()


def is_of_integers(mod, count=1):
    text = str(mod)
    return text.count("out_dtype = i32") == count and "dequantize" not in text


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(
    ("dtype", "zero"), [("uint8", 0), ("uint8", 131), ("int8", 0), ("int8", -7)]
)
def test_products(dtype, zero, per_channel, mode):
    rng = np.random.default_rng(0)
    weight = codes(rng, (70, 45), "int8")
    scales = rng.uniform(0.001, 0.01, 45 if per_channel else ()).astype("float32")
    bias = rng.standard_normal(45).astype("float32")
    step, out_step, out_zero = np.float32(0.02), np.float32(0.05), np.array(3, dtype)

    def build(x):
        rows = op.dequantize(x, step, np.array(zero, dtype))
        product = op.matmul(rows, op.dequantize(weight, scales, np.int8(0), 1))
        return op.quantize(op.nn.relu(op.add(product, bias)), out_step, out_zero, -1, dtype)

    mod = program(build, ("n", 70), dtype)
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    for rows in (0, 1, 5, 33):
        x = codes(rng, (rows, 70), dtype)
        total = (x.astype("int64") - zero) @ weight.astype("int64")
        exact = np.maximum(total * (step.astype("f8") * scales) + bias, 0)
        result = run(mod, x, exec_mode=mode)
        assert result.shape == exact.shape
        if rows:
            check_steps(result, exact, out_step.astype("f8"), 3, dtype)


@pytest.mark.parametrize("zero", [np.uint8(128), np.uint8(3), np.arange(9, dtype="uint8") * 30])
def test_weights_with_zero_points(zero):
    rng = np.random.default_rng(1)
    weight = codes(rng, (24, 9), "uint8")
    scales = rng.uniform(0.001, 0.01, 9).astype("float32")
    x = codes(rng, (4, 24), "int8")

    def build(x):
        return op.matmul(
            op.dequantize(x, np.float32(0.5), np.int8(5)), op.dequantize(weight, scales, zero, 1)
        )

    mod = program(build, (4, 24), "int8")
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    exact = (x.astype(int) - 5) @ (weight.astype(int) - zero) * (0.5 * scales.astype("f8"))
    np.testing.assert_allclose(run(mod, x), exact, rtol=1e-6)


def test_scales_of_running_programs():
    """Dynamic quantization: scale and zero point are values."""
    rng = np.random.default_rng(2)
    weight = codes(rng, (32, 16), "int8")
    infos = [(("n", 32), "uint8"), ((), "float32"), ((1,), "uint8")]
    params = [relax.Var(f"a{i}", relax.TensorStructInfo(*info)) for i, info in enumerate(infos)]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        rows = op.dequantize(*params)
        bb.emit_func_output(op.matmul(rows, op.dequantize(weight, np.float32(0.1), np.int8(0))))
    mod = bb.get()
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    x = codes(rng, (7, 32), "uint8")
    exact = (x.astype(int) - 77) @ weight.astype(int) * (0.25 * float(np.float32(0.1)))
    result = run(mod, x, np.array(0.25, "float32"), np.array([77], "uint8"))
    np.testing.assert_allclose(result, exact, rtol=1e-6)


@pytest.mark.parametrize("scale", [0.05, 3.0, 1e-40])
def test_scales_of_results_are_multiplied(scale):
    """A denormal scale has no reciprocal."""
    rng = np.random.default_rng(9)
    weight, step = codes(rng, (64, 32), "int8"), np.float32(scale)

    def product(x):
        rows = op.dequantize(x, np.float32(0.02), np.uint8(9))
        return op.nn.relu(op.matmul(rows, op.dequantize(weight, np.float32(0.1), np.int8(0))))

    def divided(x):
        return op.astype(op.clip(op.round(op.divide(product(x), step)), 0, 255), "uint8")

    def with_quantize(x):
        return op.quantize(product(x), step, np.uint8(0), -1, "uint8")

    x = codes(rng, (17, 64), "uint8")
    exact = np.maximum((x.astype(int) - 9) @ weight.astype(int), 0) * (0.02 * 0.1)
    for build in (divided, with_quantize):
        mod = program(build, ("n", 64))
        text = str(FakeQuantizationToInteger()(mod))
        assert ("relax.divide" in text) == (build is divided and scale < 1e-38)
        check_steps(run(mod, x), exact, float(step), 0, "uint8")


def convolved(x, weight, strides, padding, dilation):
    """Return the convolution of integers, by definition."""
    count = x.ndim - 2
    width = list(zip(padding[:count], padding[count:], strict=True))
    x = np.pad(x, [(0, 0), (0, 0), *width])
    reach = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, 2 + count)))
    pick = tuple(slice(None, None, s) for s in strides)
    inner = tuple(slice(None, None, d) for d in dilation)
    windows = windows[(slice(None), slice(None), *pick, *inner)]
    order = list(range(2, 2 + count)) + list(range(2 + count, 2 + 2 * count))
    letters = "".join(chr(ord("e") + i) for i in order)
    places, inside = letters[:count], letters[count:]
    return np.einsum(f"nc{places}{inside},oc{inside}->no{places}", windows, weight)


@pytest.mark.parametrize(
    ("channels", "window", "groups", "is_narrow"),
    [
        (6, (6, 1, 3, 3), 6, True),  # depthwise
        (4, (12, 1, 3, 2), 4, True),
        (8, (16, 4, 3, 3), 2, True),
        (8, (12, 4, 3, 3), 2, False),  # no whole panels
        (6, (16, 3, 3, 3), 2, False),  # no whole words
        (6, (6, 1, 9, 9), 6, False),  # too large to be unrolled
    ],
)
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 0), ("uint8", 131), ("int8", -7)])
def test_groups(channels, window, groups, is_narrow, dtype, zero):
    rng = np.random.default_rng(4)
    weight = codes(rng, window, "int8")
    scales = rng.uniform(0.001, 0.01, window[0]).astype("float32")
    step, padding = np.float32(0.02), [1, 2, 0, 1]

    def build(x):
        data = op.dequantize(x, step, np.array(zero, dtype))
        filters = op.dequantize(weight, scales, np.int8(0), 0)
        return op.nn.conv2d(data, filters, 2, padding, 1, groups)

    mod = program(build, ("n", channels, "h", "w"), dtype)
    integers = FakeQuantizationToInteger(has_byte_convolutions=True)(mod)
    assert ("out_dtype = i32" in str(integers)) == is_narrow
    x = codes(rng, (2, channels, 11, 12), dtype)
    exact = run(mod, x, integer_products=False)
    result = run(integers, x)
    np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())


CONVOLUTIONS = [
    ((2, 5, 9, 8), (6, 5, 1, 1), {}),
    ((2, 5, 9, 8), (6, 5, 1, 1), {"strides": (2, 1)}),
    ((1, 4, 9, 8), (7, 4, 3, 3), {"padding": (1, 0, 2, 1), "strides": (2, 2)}),
    ((2, 3, 9, 9), (4, 3, 3, 2), {"dilation": (2, 3), "padding": (1, 1, 1, 1)}),
    ((2, 3, 12), (4, 3, 3), {"padding": (1, 1)}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), {"padding": (1, 0, 0, 0, 1, 1)}),
]


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize(("shape", "window", "given"), CONVOLUTIONS)
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 131), ("int8", -7)])
def test_convolutions(shape, window, given, dtype, zero, mode):
    rng = np.random.default_rng(3)
    count = len(shape) - 2
    weight = codes(rng, window, "int8")
    scales = rng.uniform(0.001, 0.01, window[0]).astype("float32")
    bias = rng.standard_normal((window[0], *[1] * count)).astype("float32")
    convolve = getattr(op.nn, f"conv{count}d")

    def build(x):
        data = op.dequantize(x, np.float32(0.02), np.array(zero, dtype))
        result = convolve(data, op.dequantize(weight, scales, np.int8(0), 0), **given)
        return op.quantize(op.add(result, bias), np.float32(0.05), np.int8(3), -1, "int8")

    mod = program(build, ("n", *shape[1:]), dtype)
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    x = codes(rng, shape, dtype)
    full = {"strides": (1,) * count, "padding": (0,) * 2 * count, "dilation": (1,) * count} | given
    total = convolved(x.astype(int) - zero, weight.astype(int), **full)
    factor = scales.astype("f8").reshape(-1, *[1] * count) * np.float32(0.02).astype("f8")
    exact = total * factor + bias
    check_steps(run(mod, x, exec_mode=mode), exact, np.float32(0.05).astype("f8"), 3, "int8")


def test_pixels_of_dynamic_images():
    weight = np.arange(-3, 3, dtype="int8").reshape(2, 3, 1, 1)

    def build(x):
        data = op.dequantize(x, np.float32(0.5), np.uint8(9))
        return op.nn.relu(op.nn.conv2d(data, op.dequantize(weight, np.float32(2), np.int8(0))))

    mod = program(build, ("n", 3, "h", "w"))
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    x = codes(np.random.default_rng(4), (2, 3, 5, 7), "uint8")
    exact = np.einsum("nchw,oc->nohw", x.astype(int) - 9, weight[..., 0, 0])
    np.testing.assert_array_equal(run(mod, x), np.maximum(exact, 0))


def test_what_follows_is_in_the_kernel_of_the_product():
    """A residual block: bias, sum, relu and quantization are computed of matrices."""
    rng = np.random.default_rng(5)
    weights = [codes(rng, (8, 8, 1, 1), "int8") for _ in range(2)]
    bias = rng.standard_normal((8, 1, 1)).astype("float32")

    def layer(x, weight):
        data = op.dequantize(x, np.float32(0.05), np.uint8(128))
        made = op.nn.conv2d(data, op.dequantize(weight, np.float32(0.01), np.int8(0)))
        return op.add(made, bias)

    def build(x):
        inner = op.quantize(layer(x, weights[0]), np.float32(0.05), np.uint8(128), -1, "uint8")
        residual = op.dequantize(inner, np.float32(0.05), np.uint8(128))
        made = op.nn.relu(op.add(layer(inner, weights[1]), residual))
        return op.quantize(made, np.float32(0.1), np.uint8(0), -1, "uint8")

    mod = program(build, (1, 8, 6, 6))
    text = str(FakeQuantizationToInteger()(mod))
    assert text.count("out_dtype = i32") == 2
    for cpu, anchor in (("x86-64-v3", "matmul"), ("alderlake", "matmul"), ("znver4", "conv2d")):
        target = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"
        kernels = relax.compile(mod, target, exec_mode="bytecode").kernels
        assert sum(anchor in name for name in kernels) == 2
        others = ("add", "relu", "quantize", "dequantize", "astype")
        assert not any(name.startswith(others) for name in kernels)
    x = codes(rng, (1, 8, 6, 6), "uint8")
    steps = run(mod, x).astype(int) - run(mod, x, integer_products=False)
    assert np.abs(steps).max() <= 1


def test_linear_layers_as_exports_have_them():
    """Weights are transposed after they became floats."""
    weight = codes(np.random.default_rng(6), (5, 12), "int8")
    scales = np.linspace(0.1, 0.2, 5, dtype="float32")

    def build(x):
        matrix = op.permute_dims(op.dequantize(weight, scales, np.int8(0), 0))
        return op.matmul(op.dequantize(x, np.float32(1), np.uint8(4)), matrix)

    mod = program(build, (3, 12))
    assert "out_dtype = i32" in str(FakeQuantizationToInteger()(mod))
    x = codes(np.random.default_rng(7), (3, 12), "uint8")
    exact = (x.astype(int) - 4) @ weight.astype(int).T * scales.astype("f8")
    np.testing.assert_allclose(run(mod, x), exact, rtol=1e-6)


def test_weights_that_are_floats():
    """Some quantizers keep them so, and round them in the model."""
    weight = np.random.default_rng(6).standard_normal((40, 8)).astype("float32")
    step = np.float32(0.03)

    def build(x):
        codes = op.clip(op.round(op.divide(weight, step)), -128, 127)
        matrix = op.dequantize(op.astype(codes, "int8"), step, np.int8(0))
        return op.matmul(op.dequantize(x, np.float32(1), np.uint8(4)), matrix)

    mod = program(build, (3, 40))
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    x = codes(np.random.default_rng(7), (3, 40), "uint8")
    matrix = np.clip(np.rint(weight / step), -128, 127)
    exact = (x.astype("f8") - 4) @ matrix * step.astype("f8")
    np.testing.assert_allclose(run(mod, x), exact, rtol=1e-6, atol=1e-6)


def matmul_of(weight, scales, zero, axis=-1, block=0):
    def build(x):
        rows = op.dequantize(x, np.float32(1), np.uint8(4))
        return op.matmul(rows, op.dequantize(weight, scales, zero, axis, "float32", block))

    return program(build, ("n", weight.shape[0]))


def conv_of(weight, shape, **given):
    def build(x):
        data = op.dequantize(x, np.float32(1), np.uint8(4))
        return op.nn.conv2d(data, op.dequantize(weight, np.float32(1), np.int8(0)), **given)

    return program(build, shape)


ONES = np.ones((16, 4), "int8")


@pytest.mark.parametrize(
    "mod",
    [
        matmul_of(ONES, np.ones(16, "float32"), np.int8(0), 0),
        matmul_of(ONES, np.ones((2, 4), "float32"), np.int8(0), 0, 8),
        matmul_of(np.full((1 << 17, 1), 100, "int8"), np.float32(1), np.int8(0)),
        matmul_of(ONES, np.float32(1), np.float32(0.5)),
        conv_of(np.ones((4, 4, 9, 8), "int8"), ("n", 4, 9, 9)),
        conv_of(np.ones((4, 1, 3, 3), "int8"), ("n", 4, 8, 8), groups=4),
        conv_of(np.ones((4, 4, 3, 3), "int8"), ("n", 4, "h", 8)),
        conv_of(
            np.ones((4, 3, 3, 8), "int8"),
            ("n", 8, 8, 8),
            data_layout="NHWC",
            kernel_layout="OHWI",
        ),
    ],
    ids=["rows", "blocks", "overflow", "zero", "window", "groups", "dynamic", "layout"],
)
def test_products_that_stay(mod):
    assert "out_dtype = i32" not in str(FakeQuantizationToInteger()(mod))


def test_sums_that_just_fit():
    """Both signs of the largest sums of 32 bits."""
    depth = (1 << 31) // (255 * 127) - 1
    weight = np.full((depth, 2), 127, "int8") * np.array([1, -1], "int8")
    mod = program(
        lambda x: op.matmul(
            op.dequantize(x, np.float32(1), np.uint8(0)),
            op.dequantize(weight, np.float32(1), np.int8(0)),
        ),
        (1, depth),
    )
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    result = run(mod, np.full((1, depth), 255, "uint8"))
    np.testing.assert_array_equal(result, np.float32([[1, -1]]) * np.float32(255 * 127 * depth))


def test_check_and_worthwhile():
    mod = conv_of(np.ones((16, 16, 3, 3), "int8"), ("n", 16, 9, 9))
    assert is_of_integers(FakeQuantizationToInteger()(mod))
    assert not is_of_integers(FakeQuantizationToInteger(worthwhile=True)(mod))
    seen = []
    assert not is_of_integers(FakeQuantizationToInteger(seen.append)(mod))
    assert [each.name for each in seen] == ["relax.conv2d"]


def test_compile_decides_by_features():
    mod = matmul_of(ONES, np.float32(1), np.int8(0))
    plain = relax.compile(mod, features="sse2").kernels
    assert all("astype" in name for name in plain if "matmul" in name)
    for options in ({"integer_products": False}, {"fold_constants": False}):
        kernels = relax.compile(mod, features="sse2", **options).kernels
        assert not any("matmul_subtract" in name for name in kernels)


def test_weights_of_float_convolutions_are_folded():
    """Kernels of convolutions unpack no weights."""
    mod = conv_of(codes(np.random.default_rng(8), (64, 64, 3, 3), "int8"), ("n", 64, 9, 9))
    assert str(FoldConstant()(mod)).count("relax.dequantize") == 1
    x = codes(np.random.default_rng(9), (1, 64, 9, 9), "uint8")
    result = run(mod, x)
    np.testing.assert_allclose(result, run(FakeQuantizationToInteger()(mod), x), rtol=1e-3, atol=1)


def pooled(shape, dtype, scales, **window):
    """Return a program that pools a quantized tensor, with scales before and after it."""
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    zero = np.array(3, dtype)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        numbers = op.dequantize(x, np.float32(scales[0]), zero)
        largest = op.nn.max_pool2d(numbers, **window)
        out = op.quantize(largest, np.float32(scales[1]), zero, -1, dtype)
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("scales", [(0.02, 0.02), (0.02, 0.03), (1e-30, 1e-30)])
def test_pools_of_codes(dtype, scales, exec_mode):
    window = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)}
    shape = (2, 3, 19, 24)
    x = codes(np.random.default_rng(0), shape, dtype)
    mod = pooled(("n", 3, "h", "w"), dtype, scales, **window)
    text = str(FakeQuantizationToInteger()(mod))
    assert f"{'ui8' if dtype == 'uint8' else 'i8'}>" in next(
        line for line in text.splitlines() if "max_pool2d" in line
    )
    assert ("relax.quantize" not in text) == (scales[0] == scales[1])
    found, wanted = (
        np.from_dlpack(
            relax.VirtualMachine(relax.compile(mod, exec_mode=exec_mode, **options))["main"](x)
        )
        for options in ({}, {"integer_products": False})
    )
    np.testing.assert_array_equal(found, wanted)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.iinfo(dtype).min)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    if scales[0] == scales[1]:
        np.testing.assert_array_equal(found, windows.max((-1, -2)))


@pytest.mark.parametrize(
    ("scale", "window"),
    [
        (-0.5, {"pool_size": (2, 2)}),  # orders numbers the other way round
        (0.0, {"pool_size": (2, 2)}),
        (0.5, {"pool_size": (1, 1), "padding": (1, 1, 1, 1)}),  # has windows without elements
        (0.5, {"pool_size": (2, 2), "strides": (3, 3), "ceil_mode": True}),
        (0.5, {"pool_size": (2, 2), "padding": (1, 1, 1, 1), "dilation": (8, 8)}),
    ],
)
def test_pools_that_stay(scale, window):
    mod = pooled((1, 2, 7, 7), "uint8", (scale, 0.5), **window)
    assert str(FakeQuantizationToInteger()(mod)) == str(mod)
