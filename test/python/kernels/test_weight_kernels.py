"""Products with quantized weights that the kernel unpacks, against NumPy in float64."""

from __future__ import annotations

import math
import re
import shutil
import subprocess

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


def make(codes, scale, zero, group, bias=None, is_transposed=False, has_columns=False):
    """Return a program: x, which may lie column by column, times the matrix, and what follows."""
    depth = codes.shape[0]
    shape = (depth, "n") if has_columns else ("n", depth)
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
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
            rows = bb.emit(op.permute_dims(x)) if has_columns else x
            y = bb.emit(op.matmul(rows, bb.emit(weights)))
            if bias is not None:
                y = bb.emit(op.nn.relu(bb.emit(op.add(y, bias))))
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


def is_unpacked_in_kernel(mod):
    """Say whether the only kernel is a product of packed weights."""
    mod = phase("optimize")(mod)
    return classes(mod) == ["matmul"] and "packed_weights" in str(phase("legalize")(mod))


def check(mod, plain, bias=None, rows=(1, 2, 3, 4, 5, 8, 9, 17, 32, 33), **options):
    main = relax.VirtualMachine(relax.compile(mod, **options))["main"]
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


@pytest.mark.parametrize(("low", "high", "group", "zeros"), FORMATS)
def test_formats(low, high, group, zeros, exec_mode):
    codes, scale, zero, plain = quantized(192, 100, low, high, group, zeros)
    mod = make(codes, scale, zero, group)
    assert is_unpacked_in_kernel(mod)
    check(mod, plain)


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


# -- rows that are rounded to 8 bits --------------------------------------------------------------


def rounded(x, group):
    """Round rows as kernels do: each block to bytes, with its largest magnitude / 127 as scale."""
    block = math.gcd(group, 32)
    rows, depth = x.shape
    blocks = -(-depth // block)
    padded = np.zeros((rows, blocks * block), "float32")
    padded[:, :depth] = x
    padded = padded.reshape(rows, blocks, block)
    largest = np.abs(padded).max(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = np.nan_to_num(np.round(padded * (np.float32(127) / largest)))
    values = codes.astype("f8") * (largest * np.float32(1 / 127))
    return values.reshape(rows, blocks * block)[:, :depth]


def multiplies_bytes(bits):
    """Say whether kernels of vectors of so many bits multiply bytes on this processor."""
    needed = {128: "ssse3", 256: "avx2", 512: "avx512bw"}[bits]
    return needed in relax.native.describe_target().features


WIDTHS = [bits for bits in (128, 256, 512) if multiplies_bytes(bits)]


def check_rounded(mod, plain, group, bias=None, has_columns=False, **options):
    built = relax.compile(mod, dynamic_quantization=True, **options)
    main = relax.VirtualMachine(built)["main"]
    for n in (0, 1, 2, 4, 5, 64, 65, 131):
        x = np.random.default_rng(n).standard_normal((n, plain.shape[0])).astype("float32")
        x[n // 2 :, : plain.shape[0] // 2] *= 100
        expected, size = rounded(x, group) @ plain, np.abs(x).astype("f8") @ np.abs(plain)
        if bias is not None:
            expected = np.maximum(expected + bias, 0)
        result = np.from_dlpack(main(np.ascontiguousarray(x.T) if has_columns else x))
        assert (np.abs(result - expected) <= 2e-6 * (size + 1)).all(), n
        if n > 1 and bias is None:
            assert np.abs(result - x @ plain).max() > 1e-4  # it is rounded


@pytest.mark.skipif(not WIDTHS, reason="this processor does not multiply vectors of bytes")
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("group", [8, 16, 32, 40, 64, 0])
@pytest.mark.parametrize(("low", "high", "zeros"), [(-8, 7, "none"), (0, 15, "each")])
def test_rounded_rows(low, high, zeros, group, bits):
    for depth, columns in ((320, 100), (70, 9)):
        codes, scale, zero, plain = quantized(depth, columns, low, high, group, zeros)
        mod = make(codes, scale, zero, group)
        if is_unpacked_in_kernel(mod):
            check_rounded(mod, plain, group, vector_bits=bits)


@pytest.fixture
def rounds_rows(request):
    """Skip a test where the processor that programs are compiled for keeps rows as they are."""
    if request.config.getoption("--device"):
        pytest.skip("kernels of devices keep rows as they are")
    emulated, cpu = map(request.config.getoption, ("--emulate", "--mcpu"))
    if (emulated or cpu or "") in ("aarch64", "x86-64") or not (emulated or cpu or WIDTHS):
        pytest.skip("this processor does not multiply vectors of bytes")


@pytest.mark.parametrize(("low", "high", "group", "zeros"), FORMATS[:4])
def test_rounded_rows_in_both_modes(low, high, group, zeros, exec_mode, rounds_rows):
    codes, scale, zero, plain = quantized(192, 100, low, high, group, zeros)
    check_rounded(make(codes, scale, zero, group), plain, group)


def test_rounded_rows_have_epilogues_and_strides(exec_mode, rounds_rows):
    codes, scale, zero, plain = quantized(200, 96, -8, 7, 40, scales="float16")
    bias = np.linspace(-2, 2, 96, dtype="float32")
    for has_columns in (False, True):
        mod = make(codes, scale, zero, 40, bias, has_columns=has_columns)
        check_rounded(mod, plain, 40, bias, has_columns)


@pytest.mark.skipif(not WIDTHS, reason="this processor does not multiply vectors of bytes")
def test_rounded_rows_of_special_numbers():
    codes, scale, zero, plain = quantized(64, 40, 0, 15, 32, "each")
    built = relax.compile(make(codes, scale, zero, 32), dynamic_quantization=True)
    main = relax.VirtualMachine(built)["main"]
    for n in (1, 5):
        x = np.zeros((n, 64), "float32")
        np.testing.assert_array_equal(np.from_dlpack(main(x)), 0)
        x[0, :40] = 1e-42  # less than 127 divided by it is infinite
        assert np.abs(np.from_dlpack(main(x)) - x @ plain).max() < 1e-38
        x[0, 3] = np.finfo("float32").max
        assert np.isfinite(np.from_dlpack(main(x))[1:]).all()
        for special in (np.inf, -np.inf, np.nan):
            x[0, 5] = special
            result = np.from_dlpack(main(x))
            assert np.isnan(result[0]).all()
            np.testing.assert_array_equal(result[1:], 0)


@pytest.mark.skipif(not WIDTHS, reason="this processor does not multiply vectors of bytes")
def test_threads_change_no_bit_of_rounded_rows():
    codes, scale, zero, _ = quantized(512, 700, 0, 15, 32, "each")
    built = relax.compile(make(codes, scale, zero, 32), dynamic_quantization=True)
    main = relax.VirtualMachine(built)["main"]
    for n in (1, 6, 150):
        x = np.random.default_rng(n).standard_normal((n, 512)).astype("float32")
        results = set()
        for count in (1, 2, 3):
            relax.runtime.set_num_threads(count)
            results.add(np.from_dlpack(main(x)).tobytes())
        assert len(results) == 1


def test_weights_of_8_bits_keep_rows():
    codes, scale, zero, plain = quantized(64, 40, -128, 127, 32)
    check(make(codes, scale, zero, 32), plain, dynamic_quantization=True)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not on PATH")
@pytest.mark.parametrize(
    ("cpu", "instruction"),
    [
        ("x86-64-v2", "pmaddubsw .*xmm"),
        ("x86-64-v3", "vpmaddubsw .*ymm"),
        ("x86-64-v4", "vpmaddubsw .*zmm"),
        ("alderlake", "vpdpbusd .*ymm"),
        ("sapphirerapids", "vpdpbusd .*zmm"),
    ],
)
def test_bytes_are_one_instruction(cpu, instruction, tmp_path):
    """Machine code is made for processors that need not be this one."""
    codes, scale, zero, _ = quantized(64, 40, -8, 7, 32)
    target, path = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}", tmp_path / "model.so"
    built = relax.compile(make(codes, scale, zero, 32), target, dynamic_quantization=True)
    built.export_library(path)
    done = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True)
    assert re.search(instruction, done.stdout)


def test_processors_without_products_of_bytes_keep_rows():
    codes, scale, zero, plain = quantized(64, 40, -8, 7, 32)
    check(make(codes, scale, zero, 32), plain, dynamic_quantization=True, features="sse2")
