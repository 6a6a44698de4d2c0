"""Products of matrices by the kernels of GPUs, at sizes where another one takes over."""

import math
import os

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import torch
from kernel_programs import write
from relax_mlir import op

pytestmark = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)

LAYOUTS = {"columns": ("k", "n"), "depth": ("n", "k")}


def product(layout, dtypes, epilogue=False, sizes=("m", "k", "n"), target="cuda", **options):
    """Return `main`: a product whose right matrix is contiguous along its columns or its depth."""
    by_name = dict(zip("mkn", sizes, strict=True))
    names = [("m", "k"), LAYOUTS[layout], *([("n",)] if epilogue else [])]
    shapes = [tuple(by_name[name] for name in shape) for shape in names]

    def function(x, y, *bias):
        z = op.matmul(x, y if layout == "columns" else op.permute_dims(y, [1, 0]))
        return op.nn.gelu(op.add(z, *bias)) if bias else z

    bb = write(function, tuple(zip(shapes, [*dtypes, dtypes[0]], strict=False)))
    return relax.VirtualMachine(relax.compile(bb, target=target, **options))["main"]


def check(main, layout, dtypes, m, k, n, bias=False):
    random = np.random.default_rng(m * 1000 + n)
    shapes = {"m": m, "k": k, "n": n}
    left = random.standard_normal((m, k)).astype(dtypes[0])
    right = random.standard_normal([shapes[name] for name in LAYOUTS[layout]]).astype(dtypes[1])
    args = [left, right]
    if bias:
        args.append(random.standard_normal(n).astype(dtypes[0]))
    moved = [relax_runtime.tensor(arg, "cuda:0") for arg in args]
    actual = np.from_dlpack(relax_runtime.tensor(main(*moved), "cpu:0")).astype("float64")
    matrix = right if layout == "columns" else right.T
    expected = left.astype("float64") @ matrix.astype("float64")
    if bias:
        expected += args[2].astype("float64")
        expected *= 0.5 * (1 + np.vectorize(math.erf)(expected / math.sqrt(2)))
    tolerance = 2e-2 if "float16" in dtypes else 1e-4
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * k**0.5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_from_one_on(layout, dtype):
    """One row, few, and as many as tiles take; aligned to 16 bytes and not; none at all."""
    main = product(layout, (dtype, dtype))
    for m, k, n in [(1, 264, 136), (3, 512, 40), (8, 520, 72), (9, 64, 40), (2, 33, 50),
                    (5, 8, 8), (4, 40, 65), (0, 16, 16), (3, 0, 8)]:  # fmt: skip
        check(main, layout, (dtype, dtype), m, k, n)


@pytest.mark.parametrize("m", [1, 6])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_few_rows_of_known_sizes(layout, m):
    main = product(layout, ("float32", "float32"), sizes=(m, 128, 96))
    check(main, layout, ("float32", "float32"), m, 128, 96)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_epilogue_at_the_edges_of_tiles(layout, dtype):
    main = product(layout, (dtype, dtype), epilogue=True)
    for m, n in ((1, 132), (7, 136), (130, 136)):
        check(main, layout, (dtype, dtype), m, 72, n, bias=True)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_deep_product_is_split(layout, dtype):
    """From a depth of 512 on there are parts, of which the last one may have less, or nothing."""
    main = product(layout, (dtype, dtype), epilogue=True)
    for m, k, n in [(9, 511, 8), (9, 512, 8), (16, 1288, 72), (70, 2120, 16), (9, 1001, 13)]:
        check(main, layout, (dtype, dtype), m, k, n, bias=True)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_deep_products_of_a_batch_are_split(dtype):
    """Each product has parts of its own as long as there are few tiles; then there are none."""
    shapes = (("b", "m", "k"), ("b", "k", "n"))
    bb = write(op.matmul, tuple((shape, dtype) for shape in shapes))
    main = relax.VirtualMachine(relax.compile(bb, target="cuda"))["main"]
    random = np.random.default_rng(0)
    for batch, m, k, n in [(3, 12, 640, 24), (70, 9, 520, 8), (0, 9, 520, 8)]:
        left = random.standard_normal((batch, m, k)).astype(dtype)
        right = random.standard_normal((batch, k, n)).astype(dtype)
        result = main(*(relax_runtime.tensor(each, "cuda:0") for each in (left, right)))
        actual = np.from_dlpack(relax_runtime.tensor(result, "cpu:0"))
        expected = left.astype("float64") @ right.astype("float64")
        tolerance = 2e-2 if dtype == "float16" else 1e-4
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=25 * tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_tiles_of_rows_that_are_aligned_and_not(layout, dtype):
    """Many products have large tiles; threads load vectors of two matrices, or elements."""
    transposed = layout == "depth"
    shapes = (("b", "m", "k"), ("b", *LAYOUTS[layout]))
    bb = write(
        lambda x, y: op.matmul(x, op.permute_dims(y, [0, 2, 1]) if transposed else y),
        tuple((shape, dtype) for shape in shapes),
    )
    main = relax.VirtualMachine(relax.compile(bb, target="cuda"))["main"]
    random = np.random.default_rng(0)
    for m, k, n in [(9, 12, 12), (9, 11, 12), (9, 12, 11), (9, 4, 8)]:
        left = random.standard_normal((128, m, k)).astype(dtype)
        right = random.standard_normal((128, k, n)).astype(dtype)
        given = np.ascontiguousarray(right.swapaxes(1, 2)) if transposed else right
        result = main(*(relax_runtime.tensor(each, "cuda:0") for each in (left, given)))
        actual = np.from_dlpack(relax_runtime.tensor(result, "cpu:0"))
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(actual, left @ right, rtol=tolerance, atol=10 * tolerance)


def rounded(x):
    """Return numbers with 11 bits of their significands, ties away from zero."""
    return ((x.view("int32") + 0x1000) & ~0x1FFF).view("float32").astype("float64")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_by_tf32(layout):
    """Each element is rounded once, wherever a matrix begins and ends; sums are of float32."""
    main = product(layout, ("float32", "float32"), tf32=True)
    random = np.random.default_rng(0)
    for m, k, n in [(40, 64, 72), (130, 20, 136), (9, 33, 13), (16, 1288, 24), (9, 0, 8)]:
        left = random.standard_normal((m, k)).astype("float32")
        right = random.standard_normal((k, n)).astype("float32")
        given = right if layout == "columns" else np.ascontiguousarray(right.T)
        result = main(*(relax_runtime.tensor(each, "cuda:0") for each in (left, given)))
        actual = np.from_dlpack(relax_runtime.tensor(result, "cpu:0"))
        expected = rounded(left) @ rounded(right)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=5e-5)
        if k:
            assert np.abs(actual - left.astype("float64") @ right).max() > 1e-4


def test_few_rows_are_exact_with_tf32():
    main = product("columns", ("float32", "float32"), tf32=True)
    check(main, "columns", ("float32", "float32"), 8, 64, 40)


def test_infinities_and_nan_with_tf32():
    main = product("columns", ("float32", "float32"), tf32=True)
    left = np.eye(12, 16, dtype="float32")
    right = np.zeros((16, 8), "float32")
    right[0], right[1, 0], right[2, 0] = np.inf, np.nan, 3.4e38
    result = main(*(relax_runtime.tensor(each, "cuda:0") for each in (left[:, :3], right[:3])))
    actual = np.from_dlpack(relax_runtime.tensor(result, "cpu:0"))
    assert np.isnan(actual[1, 0])
    assert np.isinf(actual[0, 1])


@pytest.mark.parametrize("pads", [0, 1])
def test_convolutions_by_tf32(pads):
    shapes = (((2, 5, 9, 11), "float32"), ((12, 5, 3, 3), "float32"))
    bb = write(lambda x, w: op.nn.conv2d(x, w, padding=pads), shapes)
    main = relax.VirtualMachine(relax.compile(bb, target="cuda", tf32=True))["main"]
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype(dtype) for shape, dtype in shapes)
    result = main(*(relax_runtime.tensor(each, "cuda:0") for each in (x, w)))
    actual = np.from_dlpack(relax_runtime.tensor(result, "cpu:0"))
    expected = torch.conv2d(*map(torch.from_numpy, map(rounded, (x, w))), padding=pads)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.fixture
def warpgroups(monkeypatch):
    """Return a target with wgmma; the interpreter of PTX is such a device then."""
    if "relax_ptx_driver" not in os.environ.get("RELAX_CUDA_DRIVER", ""):
        pytest.skip("needs the interpreter of PTX, as code for sm_90a runs on few devices")
    monkeypatch.setenv("RELAX_PTX_ARCH", "90")
    return "cuda -arch=sm_90a"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_warpgroups(layout, warpgroups):
    """By wgmma: full tiles and the last ones, one step of the depth and several.

    There are tiles of 128 x 128 where they are 32 at least, and of 128 x 256 where they are 100.
    """
    main = product(layout, ("float16", "float16"), epilogue=True, target=warpgroups)
    for m, k, n in [(640, 72, 904), (768, 8, 1032), (1664, 136, 2056)]:
        check(main, layout, ("float16", "float16"), m, k, n, bias=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_warpgroups_of_bfloat16(layout, warpgroups):
    main = product(layout, ("bfloat16", "bfloat16"), target=warpgroups)
    torch.manual_seed(0)
    x, y = torch.randn(640, 72).bfloat16(), torch.randn(72, 904).bfloat16()
    matrices = (x, y if layout == "columns" else y.T.contiguous())
    result = main(*(relax_runtime.tensor(each, "cuda:0") for each in matrices))
    actual = torch.from_dlpack(relax_runtime.tensor(result, "cpu:0")).double()
    torch.testing.assert_close(actual, x.double() @ y.double(), rtol=1e-2, atol=1e-1)


def test_products_of_warpgroups_are_not_for_all_sizes(warpgroups):
    """Few tiles, and rows that are not aligned, are for other kernels of the same program."""
    main = product("columns", ("float16", "float16"), target=warpgroups)
    for m, k, n in [(70, 72, 72), (640, 67, 904), (640, 72, 901), (640, 0, 904), (0, 8, 8)]:
        check(main, "columns", ("float16", "float16"), m, k, n)


def test_batches_of_warpgroups(warpgroups):
    """Tiles of all batches count."""
    shapes = (("b", "m", "k"), ("b", "k", "n"))
    bb = write(op.matmul, tuple((shape, "float16") for shape in shapes))
    main = relax.VirtualMachine(relax.compile(bb, target=warpgroups))["main"]
    random = np.random.default_rng(0)
    for batch, m, k, n in [(33, 20, 64, 120), (3, 520, 24, 264)]:
        left = random.standard_normal((batch, m, k)).astype("float16")
        right = random.standard_normal((batch, k, n)).astype("float16")
        result = main(*(relax_runtime.tensor(each, "cuda:0") for each in (left, right)))
        actual = np.from_dlpack(relax_runtime.tensor(result, "cpu:0"))
        expected = left.astype("float64") @ right.astype("float64")
        np.testing.assert_allclose(actual, expected, rtol=2e-2, atol=2e-1)
