"""Products with quantized weights that the kernel unpacks, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from kernel_programs import classes
from relax_mlir import op
from relax_mlir.transform import phase


def quantized(depth, columns, low, high, group, zeros="none", scales="float32", seed=0):
    """Return codes, scale and zero point of a matrix, and the matrix."""
    rng = np.random.default_rng([seed, depth, columns])
    dtype = "uint8" if low >= 0 else "int8"
    codes = rng.integers(low, high + 1, (depth, columns)).astype(dtype)
    codes.flat[:2] = low, high
    groups = -(-depth // group) if group else 1
    scale = (rng.random((groups, columns)) + 0.5).astype(scales) / np.asarray(high, scales)
    zero = np.zeros((), dtype)
    if zeros == "each":
        zero = rng.integers(low, high + 1, (groups, columns)).astype(dtype)
    elif zeros == "one":
        zero = np.asarray((low + high + 1) // 2 + 1, dtype)

    def spread(x):
        return x if x.ndim == 0 else np.repeat(x, group or depth, 0)[:depth].astype("f8")

    plain = (codes.astype("f8") - spread(zero)) * spread(scale)
    return codes, scale, zero, plain


def make(codes, scale, zero, group, bias=None, is_transposed=False):
    """Return a program: x times the matrix, and what follows."""
    depth = codes.shape[0]
    x = relax.Var("x", relax.TensorStructInfo(("n", depth), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            if is_transposed:
                parts = [np.ascontiguousarray(v.T) if v.ndim else v for v in (codes, scale, zero)]
                weights = op.dequantize(*map(op.const, parts), 1, "float32", group or depth)
                weights = op.permute_dims(bb.emit(weights))
            else:
                parts = [op.const(value) for value in (codes, scale, zero)]
                weights = op.dequantize(*parts, 0, "float32", group or depth)
            y = bb.emit(op.matmul(x, bb.emit(weights)))
            if bias is not None:
                y = bb.emit(op.nn.relu(bb.emit(op.add(y, bias))))
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


def is_unpacked_in_kernel(mod):
    """Say whether the only kernel is a product of packed weights."""
    mod = phase("optimize")(mod)
    return classes(mod) == ["matmul"] and "packed_weights" in str(phase("legalize")(mod))


def check(mod, plain, bias=None, rows=(1, 2, 3, 4, 5, 8, 9, 17, 64), mode="compiled", **options):
    main = relax.VirtualMachine(relax.compile(mod, exec_mode=mode, **options))["main"]
    rng = np.random.default_rng(1)
    for n in rows:
        x = rng.standard_normal((n, plain.shape[0])).astype("float32")
        expected = x.astype("f8") @ plain
        size = np.abs(x).astype("f8") @ np.abs(plain)
        if bias is not None:
            expected = np.maximum(expected + bias, 0)
        # Codes are multiplied before zero points are subtracted from sums.
        error = np.abs(np.from_dlpack(main(x)) - expected)
        assert (error <= 3e-6 * (size + 1)).all(), (n, error.max())


FORMATS = [
    (-8, 7, 32, "none"),
    (0, 15, 32, "each"),
    (0, 15, 16, "one"),
    (-8, 7, 0, "none"),
    (-128, 127, 32, "none"),
    (-128, 127, 0, "each"),
    (0, 255, 64, "each"),
]


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize(("low", "high", "group", "zeros"), FORMATS)
def test_formats(low, high, group, zeros, mode):
    codes, scale, zero, plain = quantized(192, 100, low, high, group, zeros)
    mod = make(codes, scale, zero, group)
    assert is_unpacked_in_kernel(mod)
    check(mod, plain, mode=mode)


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize(("depth", "columns"), [(70, 65), (64, 1), (1000, 7), (9, 500), (800, 65)])
def test_sizes(depth, columns, bits):
    for low, high in ((-8, 7), (-128, 127)):
        codes, scale, zero, plain = quantized(depth, columns, low, high, 8)
        check(make(codes, scale, zero, 8), plain, rows=(0, 1, 4, 7, 12, 40), vector_bits=bits)


@pytest.mark.parametrize("scales", ["float16", "float32"])
def test_epilogue_and_transposed_weights(scales):
    codes, scale, zero, plain = quantized(256, 96, -8, 7, 64, scales=scales)
    bias = np.linspace(-2, 2, 96, dtype="float32")
    for is_transposed in (False, True):
        mod = make(codes, scale, zero, 64, bias, is_transposed)
        assert is_unpacked_in_kernel(mod)
        check(mod, plain, bias)


def test_threads_change_no_bit():
    codes, scale, zero, _ = quantized(512, 700, 0, 15, 32, "each")
    main = relax.VirtualMachine(relax.compile(make(codes, scale, zero, 32)))["main"]
    before = relax.runtime.get_num_threads()
    try:
        for n in (1, 6, 50):
            x = np.random.default_rng(n).standard_normal((n, 512)).astype("float32")
            results = []
            for count in (1, 2, 3):
                relax.runtime.set_num_threads(count)
                results.append(np.from_dlpack(main(x)).tobytes())
            assert len(set(results)) == 1
    finally:
        relax.runtime.set_num_threads(before)


def test_small_and_special_numbers():
    codes, scale, zero, plain = quantized(64, 40, -8, 7, 32)
    main = relax.VirtualMachine(relax.compile(make(codes, scale, zero, 32)))["main"]
    for n in (1, 3, 20):
        x = np.full((n, 64), 1e-30, "float32")
        expected = x.astype("f8") @ plain
        np.testing.assert_allclose(np.from_dlpack(main(x)), expected, rtol=1e-4, atol=1e-35)
        x[0, 5] = np.inf
        result = np.from_dlpack(main(x))
        assert not np.isfinite(result[0]).any()
        assert np.isfinite(result[1:]).all()


def test_groups_that_are_no_words_stay_apart():
    codes, scale, zero, plain = quantized(120, 64, -8, 7, 12)
    mod = make(codes, scale, zero, 12)
    assert not is_unpacked_in_kernel(mod)
    check(mod, plain)


def test_weights_that_are_arguments():
    codes, scale, zero, plain = quantized(64, 48, -8, 7, 32)
    x = relax.Var("x", relax.TensorStructInfo(("n", "k"), "float32"))
    q = relax.Var("q", relax.TensorStructInfo(("k", "m"), "int8"))
    s = relax.Var("s", relax.TensorStructInfo(("(k + 31) floordiv 32", "m"), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, q, s]):
        weights = op.dequantize(q, s, op.const(zero), 0, "float32", 32)
        bb.emit_func_output(op.matmul(x, weights))
    main = relax.VirtualMachine(relax.compile(bb.get()))["main"]
    rows = np.random.default_rng(1).standard_normal((3, 64)).astype("float32")
    np.testing.assert_allclose(
        np.from_dlpack(main(rows, codes, scale)), rows @ plain, rtol=1e-4, atol=1e-4
    )
