"""Kernels of floats of 16 bits, against a reference that computes in f32 and rounds."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op, tir
from relax_mlir.script import from_source

rng = np.random.default_rng(0)


def rounded(array, dtype):
    """Return numbers as the nearest ones of a data type, as float32; of two the even one."""
    array = np.asarray(array, "float32")
    if dtype == "float16":
        return array.astype("float16").astype("float32")
    bits = array.view("uint32").astype("uint64")
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isnan(array), array, bits.astype("uint32").view("float32"))


def run(text, *args, **options):
    function = relax.VirtualMachine(relax.compile(from_source(text), **options))["main"]
    return np.from_dlpack(function(*args))


def erf(x):
    return np.vectorize(__import__("math").erf)(x)


OPERATORS = {
    "add": ("R.add(x, y)", lambda x, y: x + y),
    "multiply": ("R.multiply(x, y)", lambda x, y: x * y),
    "divide": ("R.divide(x, y)", lambda x, y: x / y),
    "negative": ("R.negative(x)", lambda x, y: -x),
    "exp": ("R.exp(x)", lambda x, y: np.exp(x)),
    "tanh": ("R.tanh(x)", lambda x, y: np.tanh(x)),
    "relu": ("R.nn.relu(x)", lambda x, y: np.maximum(x, 0)),
    "gelu": ("R.nn.gelu(x)", lambda x, y: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "matmul": ("R.matmul(x, R.permute_dims(y))", lambda x, y: x @ y.T),
    "sum": ("R.sum(x, axis=[1], keepdims=True)", lambda x, y: x.sum(1, keepdims=True)),
    "max": ("R.max(x, axis=[0])", lambda x, y: x.max(0)),
    "softmax": (
        "R.nn.softmax(x)",
        lambda x, y: (
            np.exp(x - x.max(1, keepdims=True))
            / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
    ),
}


# With instructions for floats of 16 bits, and without.
TARGETS = {"native": "llvm", "v3": "llvm -mcpu=x86-64-v3", "v2": "llvm -mcpu=x86-64-v2"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_compute_in_f32_and_round(name, dtype, target):
    text, reference = OPERATORS[name]
    x = rng.standard_normal((5, 7)).astype("float32") * 2
    y = rng.standard_normal((5, 7)).astype("float32") + 3
    found = run(
        f"""
@R.function
def main(a: R.Tensor(("n", 7), "float32"), b: R.Tensor(("n", 7), "float32")):
    x = R.astype(a, "{dtype}")
    y = R.astype(b, "{dtype}")
    z = {text}
    return R.astype(z, "float32")
""",
        x,
        y,
        target=TARGETS[target],
    )
    wanted = rounded(reference(rounded(x, dtype), rounded(y, dtype)), dtype)
    step = 2.0**-10 if dtype == "float16" else 2.0**-7  # the last digit, for what is not exact
    exact = name in ("add", "multiply", "divide", "negative", "relu", "max")
    np.testing.assert_allclose(found, wanted, rtol=0 if exact else step, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_constants_of_kernels_are_rounded(dtype):
    x = rng.standard_normal(8).astype("float32")
    found = run(
        f"""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] * T.Cast("float32", T.{dtype}(0.1))

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        return R.call_tir(Module.scale, (x,), out_sinfo=R.Tensor((8,), "float32"))
""",
        x,
    )
    tenth = rounded(0.1, dtype)
    assert tenth != np.float32(0.1)
    np.testing.assert_array_equal(found, x * tenth)
    assert tir.FloatImm(dtype, 0.1).value == tenth


def test_nearest_half_is_that_of_numpy():
    numbers = np.concatenate(
        [
            rng.uniform(-1, 1, 2000) * 10.0 ** rng.uniform(-9, 6, 2000),
            [0.0, -0.0, 65504, 65519.99, 65520, 2049, 2051, 2.0**-24, 2.0**-25, 3 * 2.0**-26],
        ]
    )
    with np.errstate(over="ignore"):
        wanted = numbers.astype("float16").astype("float64")
    found = [tir.FloatImm("float16", number).value for number in numbers]
    np.testing.assert_array_equal(found, wanted)
    assert np.isnan(tir.FloatImm("bfloat16", np.nan).value)
    found = [tir.FloatImm("bfloat16", float(x)).value for x in numbers.astype("float32")]
    np.testing.assert_array_equal(found, rounded(numbers, "bfloat16"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_of_64_bits_are_rounded_once(dtype, target):
    """Numbers just above and below the middle of two of 16 bits, which float32 does not have."""
    digits = 11 if dtype == "float16" else 8
    middle = 1 + 2.0**-digits * np.array([1, 3, 5, 7])
    x = np.concatenate([middle, middle + 2.0**-40, middle - 2.0**-40])
    x = np.concatenate([x, -x, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 2.0**-30]])
    found = run(
        f"""
@R.function
def main(x: R.Tensor(("n",), "float64")):
    return R.astype(R.astype(x, "{dtype}"), "float64")
""",
        x,
        target=TARGETS[target],
    )
    step = 2.0 ** (1 - digits)
    wanted = np.round(x[:24] / step) * step  # of two the even one
    np.testing.assert_array_equal(found[:24], wanted)
    np.testing.assert_array_equal(found[24:29], x[24:29])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("low, high", [(0.0, 6.0), (-0.3, 0.3), (-1.0, 1.01), (0.0, 65504.0)])
def test_limits_of_rounded_floats(dtype, low, high):
    """The last rounding stays; limits may be no numbers of the data type."""
    half = "R.nn.relu(half)" if low == 0.0 else "half"
    source = f"""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    with R.dataflow():
        half = R.astype(x, "{dtype}")
        within = R.clip({half}, {low}, {high})
        out = R.astype(within, "float32")
        R.output(out)
    return out
"""
    near = np.float32([low, high])[:, None] * (1 + np.float32(2.0**-13) * np.arange(-40, 41))
    tiny = np.float32([1e-45, -1e-45, 1e-8, -1e-8, np.inf, -np.inf, np.nan, 65520, 65519])
    x = np.concatenate([near.ravel(), tiny, rng.standard_normal(500)]).astype("float32")
    limits = rounded(np.float32([low, high]), dtype)
    with np.errstate(over="ignore"):
        expected = rounded(np.clip(rounded(x, dtype), *limits), dtype)
    np.testing.assert_array_equal(run(source, x), expected)


def test_integers_are_rounded_to_bfloat16_once():
    """Float32 would round 2^30 + 2^22 + 1 to the middle of two numbers."""
    x = np.array([2**30 + 2**22 + 1, 2**30 + 2**22, -(2**30) - 2**22 - 1], "int32")
    found = run(
        """
@R.function
def main(x: R.Tensor(("n",), "int32")):
    return R.astype(R.astype(x, "bfloat16"), "float64")
""",
        x,
    )
    assert found.tolist() == [2**30 + 2**23, 2**30, -(2**30) - 2**23]


@pytest.mark.parametrize("target", TARGETS)
def test_constants_of_modules_are_bfloats(target):
    x = rounded(rng.standard_normal((5, 4)), "bfloat16")
    w = rounded(rng.standard_normal((4, 48)), "bfloat16")
    bb = relax.BlockBuilder()
    param = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    with bb.function("main", [param]):
        with bb.dataflow():
            product = op.matmul(op.astype(param, "bfloat16"), op.astype(op.const(w), "bfloat16"))
            out = bb.emit_output(op.astype(product, "float32"))
        bb.emit_func_output(out)
    function = relax.VirtualMachine(relax.compile(bb, target=TARGETS[target]))["main"]
    np.testing.assert_allclose(
        np.from_dlpack(function(x)), rounded(x @ w, "bfloat16"), rtol=2.0**-7, atol=1e-6
    )
