"""Products of matrices by the kernels of GPUs, at sizes where another one takes over."""

import math

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from kernel_programs import write
from relax_mlir import op

pytestmark = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)

LAYOUTS = {"columns": ("k", "n"), "depth": ("n", "k")}


def product(layout, dtypes, epilogue=False, sizes=("m", "k", "n")):
    """Return `main`: a product whose right matrix is contiguous along its columns or its depth."""
    by_name = dict(zip("mkn", sizes, strict=True))
    names = [("m", "k"), LAYOUTS[layout], *([("n",)] if epilogue else [])]
    shapes = [tuple(by_name[name] for name in shape) for shape in names]

    def function(x, y, *bias):
        z = op.matmul(x, y if layout == "columns" else op.permute_dims(y, [1, 0]))
        return op.nn.gelu(op.add(z, *bias)) if bias else z

    bb = write(function, tuple(zip(shapes, [*dtypes, dtypes[0]], strict=False)))
    return relax.VirtualMachine(relax.compile(bb, target="cuda"))["main"]


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
