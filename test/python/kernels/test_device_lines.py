"""Scans and sorts along lines by the kernels of GPUs."""

import functools

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from kernel_programs import write
from mlir import ir
from relax_mlir import op

pytestmark = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)

SHAPES = {
    0: [(3, 0), (0, 3), (3, 1), (2, 33), (40, 7), (1, 1000), (2, 1000), (1, 4097), (2, 9000)],
    1: [(0, 2), (2, 0), (1, 3), (33, 2), (1000, 3), (4097, 1)],
}


@functools.cache
def compiled(function, *types):
    return relax.VirtualMachine(relax.compile(write(function, types), target="cuda"))["main"]


def run(function, *arrays, shapes=(("n", "m"),)):
    """Compile for sizes that are not known, and return the results."""
    types = [(shape, array.dtype.name) for shape, array in zip(shapes, arrays, strict=True)]
    main = compiled(function, *types)
    result = main(*(relax_runtime.tensor(array, "cuda:0") for array in arrays))
    if hasattr(result, "__dlpack__"):
        return np.from_dlpack(relax_runtime.tensor(result, "cpu:0"))
    return [np.from_dlpack(relax_runtime.tensor(each, "cpu:0")) for each in result]


def sum_rows(x):
    return op.cumsum(x, 1)


def sum_columns(x):
    return op.cumsum(x, 0)


def sum_before(x):
    return op.cumsum(x, 1, exclusive=True)


def sum_all(x):
    return op.cumsum(x)


def sum_wide(x):
    return op.cumsum(x, 1, dtype="int64")


def multiply_rows(x):
    return op.cumprod(x, 1)


def multiply_before(x):
    return op.cumprod(x, 0, exclusive=True)


def numbers(shape, dtype):
    random = np.random.default_rng(sum(shape))
    if "int" in dtype:
        return random.integers(0, 100, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def before(total, axis, first):
    """Move what `total` has along an axis by one, to begin with `first`."""
    moved = np.roll(total, 1, axis)
    moved[(slice(None),) * axis + (slice(0, 1),)] = first
    return moved


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "int64", "uint8"])
def test_sums_of_all_before(dtype):
    tolerance = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-9}.get(dtype, 0)
    for shape in SHAPES[0]:
        x = numbers(shape, dtype)
        wide = x.astype("float64" if "float" in dtype else dtype)
        expected = np.cumsum(wide, 1, wide.dtype)
        for function, total in (
            (sum_rows, expected),
            (sum_before, before(expected, 1, 0)),
            (sum_all, np.cumsum(wide, None, wide.dtype)),
        ):
            actual = run(function, x)
            assert actual.dtype == dtype
            np.testing.assert_allclose(actual, total, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_columns(dtype):
    for shape in SHAPES[1]:
        x = numbers(shape, dtype)
        expected = np.cumsum(x, 0, "float64").astype(dtype)
        np.testing.assert_allclose(run(sum_columns, x), expected, rtol=1e-3, atol=1e-3)


def test_integers_that_become_wide():
    x = np.random.default_rng(0).integers(-128, 127, (3, 5000)).astype("int8")
    np.testing.assert_array_equal(run(sum_wide, x), np.cumsum(x, 1, "int64"))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_products_of_all_before(dtype):
    for shape in [(2, 0), (3, 33), (2, 1000), (1, 4097)]:
        x = numbers(shape, dtype)
        x = 1 + x / 100 if dtype == "float32" else 2 * x + 1
        expected = np.cumprod(x, 1)
        np.testing.assert_allclose(run(multiply_rows, x), expected, rtol=1e-2)
        expected = before(np.cumprod(x.T, 0), 0, 1)
        x = np.ascontiguousarray(x.T)
        np.testing.assert_allclose(run(multiply_before, x), expected, rtol=1e-2)


def find_largest(x):
    return op.argmax(x, 1)


def find_smallest_of_all(x):
    return op.argmin(x)


@pytest.mark.parametrize("kind", ["few", "equal", "least", "nan"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
def test_best_elements(dtype, kind):
    """Of equal ones the first counts, whichever threads have found them."""
    is_float = dtype.startswith("float")
    least, none = (-np.inf, np.nan) if is_float else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for shape in [(1, 1), (3, 2), (2, 33), (1, 700), (3, 1025), (1, 5000)]:
        x = np.random.default_rng(sum(shape)).integers(0, 4, shape).astype(dtype)
        if kind == "nan":
            x.flat[x.size // 2 :: 97] = none
        elif kind != "few":
            x[:] = 3 if kind == "equal" else least
        np.testing.assert_array_equal(run(find_largest, x), np.argmax(x, 1))
        np.testing.assert_array_equal(run(find_smallest_of_all, x), np.argmin(x))


LAST = """
relax.func @main(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[n], i64> {
  %0 = relax.call_tir @last(%x) : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n], i64>
  relax.return %0 : !relax.tensor<[n], i64>
}
func.func private @last(%x: tensor<?x?xf32>, %out: tensor<?xi64>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %empty = tensor.empty(%n) : tensor<?xf32>
  %best = linalg.fill ins(%least : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %place = linalg.fill ins(%zero : i64) outs(%out : tensor<?xi64>) -> tensor<?xi64>
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<?x?xf32>) outs(%place, %best : tensor<?xi64>, tensor<?xf32>) {
  ^bb0(%element: f32, %before: i64, %most: f32):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %isBetter = arith.cmpf oge, %element, %most : f32
    %1 = arith.select %isBetter, %here, %before : i64
    %2 = arith.select %isBetter, %element, %most : f32
    linalg.yield %1, %2 : i64, f32
  } -> (tensor<?xi64>, tensor<?xf32>)
  return %0#0 : tensor<?xi64>
}
"""


def test_last_of_the_best_elements():
    """A kernel whose condition is true of equal elements, too."""
    module = ir.Module.parse(LAST, relax.default_context())
    main = relax.VirtualMachine(relax.compile(module, target="cuda"))["main"]
    for shape in [(3, 2), (2, 33), (3, 1025), (1, 5000)]:
        x = np.random.default_rng(sum(shape)).integers(0, 4, shape).astype("float32")
        actual = relax_runtime.tensor(main(relax_runtime.tensor(x, "cuda:0")), "cpu:0")
        expected = shape[1] - 1 - np.argmax(x[:, ::-1], 1)
        np.testing.assert_array_equal(np.from_dlpack(actual), expected)


def sum_of_all(x):
    return op.sum(x)


def mean_of_rows(x):
    return op.mean(op.exp(x), [1])


def largest_of_rows(x):
    return op.max(x, [1])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (sum_of_all, np.sum),
        (mean_of_rows, lambda x: np.exp(x).mean(1)),
        (largest_of_rows, lambda x: x.max(1)),
    ],
)
def test_parts_of_long_rows(function, expected):
    """Several blocks share a row where there are few rows, and the last part may be short."""
    for shape in [(1, 40000), (2, 32768), (3, 65537), (1, 100001), (200, 3), (3, 100), (2, 0)]:
        if 0 in shape and function is not sum_of_all:
            continue
        x = np.random.default_rng(sum(shape)).random(shape, "float32")
        np.testing.assert_allclose(run(function, x), expected(x.astype("float64")), rtol=1e-5)


def test_many_lines():
    """Columns of which there are many have a thread each."""
    x = numbers((20, 17000), "float32")
    np.testing.assert_allclose(run(sum_columns, x), np.cumsum(x, 0), rtol=1e-3, atol=1e-3)


def test_one_number_of_a_line_that_is_none():
    x = np.ones((2, 5000), "float32")
    x[0, 1234] = np.nan
    x[1, 4321] = np.inf
    np.testing.assert_array_equal(run(sum_rows, x), np.cumsum(x, 1))


def scan_of_others(x):
    """A scan between operators that fusion would make one kernel with it."""
    return op.multiply(op.cumsum(op.nn.softmax(op.multiply(x, relax.const(0.5))), 1), x)


def test_a_scan_among_others():
    x = numbers((3, 700), "float32")
    weights = np.exp(0.5 * x.astype("float64"))
    expected = np.cumsum(weights / weights.sum(1, keepdims=True), 1) * x
    np.testing.assert_allclose(run(scan_of_others, x), expected, rtol=1e-4, atol=1e-5)


def sort_all(x):
    return op.tuple(
        op.sort(x, 1),
        op.argsort(x, 1, False, "int64"),
        op.sort(x, 1, True),
        op.argsort(x, 1, True, "int32"),
    )


def sort_columns(x):
    return op.tuple(op.sort(x, 0), op.argsort(x, 0, False, "int64"))


def ties(shape, dtype):
    """Return numbers of which many are equal; floats with NaN, infinities and both zeros."""
    random = np.random.default_rng(sum(shape))
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        few = np.array([info.min, info.max, 0, 1, 2, 3], dtype)
    else:
        few = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2.5, 3], dtype)
    return few[random.integers(0, len(few), shape)]


def descending(x):
    """Return the order of a stable sort from the greatest to the least, along rows."""
    order = np.argsort(x[:, ::-1], 1, kind="stable")[:, ::-1]
    return x.shape[1] - 1 - order


@pytest.mark.parametrize("make", [ties, numbers])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "uint8", "int64"])
def test_sorted_rows(dtype, make):
    for shape in SHAPES[0]:
        x = make(shape, dtype)
        up, up_order, down, down_order = run(sort_all, x)
        expected = np.argsort(x, 1, kind="stable")
        np.testing.assert_array_equal(up_order, expected)
        np.testing.assert_array_equal(up, np.take_along_axis(x, expected, 1))
        expected = descending(x)
        np.testing.assert_array_equal(down_order, expected)
        np.testing.assert_array_equal(down, np.take_along_axis(x, expected, 1))
        if "float" in dtype:
            np.testing.assert_array_equal(
                np.signbit(down), np.signbit(np.take_along_axis(x, expected, 1))
            )


@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_sorted_columns(dtype):
    for shape in SHAPES[1]:
        x = ties(shape, dtype)
        values, order = run(sort_columns, x)
        expected = np.argsort(x, 0, kind="stable")
        np.testing.assert_array_equal(order, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, 0))


def top_50(x):
    return op.topk(x, 50, 1, dtype="int64")


def top_least(x):
    return op.topk(x, 1, 1, "indices", largest=False)


def top_100(x):
    return op.topk(x, 100, 1, "values")


def test_first_elements():
    for shape in [(2, 100), (3, 1000), (1, 5000)]:
        x = ties(shape, "float32")
        order = descending(x)
        values, indices = run(top_50, x)
        np.testing.assert_array_equal(indices, order[:, :50])
        np.testing.assert_array_equal(values, np.take_along_axis(x, order[:, :50], 1))
        np.testing.assert_array_equal(
            run(top_least, x), np.argsort(x, 1, kind="stable")[:, :1].astype("int32")
        )
        np.testing.assert_array_equal(run(top_100, x), np.take_along_axis(x, order[:, :100], 1))


def nucleus(x):
    """Return the tokens whose probabilities together are at most 0.9, as samplers do."""
    probability, order = op.topk(op.nn.softmax(x), 0, 1, dtype="int64")
    kept = op.less_equal(op.cumsum(probability, 1, exclusive=True), relax.const(0.9))
    return op.tuple(op.where(kept, probability, relax.const(0.0)), order)


def test_sampling():
    x = numbers((2, 3000), "float32") * 3
    weights = np.exp(x.astype("float64"))
    weights /= weights.sum(1, keepdims=True)
    order = np.argsort(-weights, 1, kind="stable")
    probability = np.take_along_axis(weights, order, 1)
    kept = np.cumsum(probability, 1) - probability <= 0.9
    values, indices = run(nucleus, x)
    np.testing.assert_array_equal(indices[:, :100], order[:, :100])
    np.testing.assert_allclose(values, np.where(kept, probability, 0), rtol=1e-3, atol=1e-4)


def bounds(x, sorted_keys):
    return op.bucketize(x, sorted_keys)


def test_searches():
    keys = np.sort(numbers((1000,), "float32"))
    x = numbers((3000,), "float32")
    actual = run(bounds, x, keys, shapes=(("n",), ("k",)))
    np.testing.assert_array_equal(actual, np.searchsorted(keys, x))
