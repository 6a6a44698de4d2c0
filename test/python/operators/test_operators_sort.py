"""Operators that order and search: against NumPy and PyTorch, and what is refused."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op

DTYPES = ("float32", "float16", "float64", "int8", "uint8", "int64", "uint64", "bool")
LENGTHS = (0, 1, 2, 15, 16, 17, 63, 100, 192, 193)


def numbers(shape, dtype, seed=0):
    """Return numbers of which many are equal; floats with NaN, infinities and both zeros."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        few = np.array([info.min, info.max, 0, 1, 2, 3], dtype)
        return few[rng.integers(0, len(few), shape)]
    few = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2.5, 3], dtype)
    return few[rng.integers(0, len(few), shape)]


def sort_of_torch(x, axis, descending):
    """Return the values and indices of PyTorch's stable sort."""
    if x.dtype == np.uint64:  # which PyTorch does not sort
        order = np.argsort(x.astype(object), axis, kind="stable")
        if descending:
            flipped = np.argsort(np.flip(x, axis).astype(object), axis, kind="stable")
            order = x.shape[axis] - 1 - np.flip(flipped, axis)
        return np.take_along_axis(x, order, axis), order
    values, indices = torch.sort(torch.from_numpy(x), dim=axis, descending=descending, stable=True)
    return values.numpy(), indices.numpy()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(load, write, tensor, dtype, descending):
    params = [tensor(("n", "m"), dtype, name="x")]
    main = load(
        write(
            lambda x: op.tuple(
                op.sort(x, descending=descending),
                op.sort(x, 0, descending),
                op.argsort(x, -1, descending),
                op.argsort(x, 0, descending, "int64"),
            ),
            *params,
        )
    )
    for length in LENGTHS:
        x = numbers((3, length), dtype, length)
        rows, columns, row_indices, column_indices = map(np.from_dlpack, main(x))
        for axis, values, indices in ((1, rows, row_indices), (0, columns, column_indices)):
            expected, order = sort_of_torch(x, axis, descending)
            np.testing.assert_array_equal(values, expected)
            np.testing.assert_array_equal(np.signbit(values), np.signbit(expected))
            np.testing.assert_array_equal(indices, order)
        assert (row_indices.dtype, column_indices.dtype) == ("int32", "int64")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_of_long_lines(load, write, tensor, dtype, descending):
    main = load(
        write(
            lambda x: op.tuple(
                op.sort(x, 1, descending),
                op.argsort(x, 1, descending),
                op.argsort(x, 0, descending),
            ),
            tensor(("n", "m"), dtype, name="x"),
        )
    )
    rng = np.random.default_rng(0)
    for shape in ((2, 1500), (1200, 2)):
        # Many are equal; the others differ in some bytes, or in all.
        low = rng.integers(0, 100, shape).astype(dtype)
        wide = (1000 * rng.standard_normal(shape)).astype("int64")
        wide = (wide << 40 if dtype == "int64" else wide).astype(dtype)
        for x in (numbers(shape, dtype), low, wide):
            found, along_rows, along_columns = map(np.from_dlpack, main(x))
            values, order = sort_of_torch(x, 1, descending)
            np.testing.assert_array_equal(found, values)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(values))
            np.testing.assert_array_equal(along_rows, order)
            np.testing.assert_array_equal(along_columns, sort_of_torch(x, 0, descending)[1])


@pytest.mark.parametrize("shape", [(1000,), (2, 3000, 2), (40, 300)])
def test_sort_of_many(run, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    axis = 1 if len(shape) > 1 else 0
    result = run(lambda x: op.sort(x, axis), x, shapes=[tuple("abc"[: len(shape)])])
    np.testing.assert_array_equal(result, np.sort(x, axis))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("k", [1, 7, 16, 64, 65, 129, 0])
def test_topk(load, write, tensor, k, dtype, largest):
    main = load(
        write(
            lambda x: op.topk(x, k, 1, largest=largest, dtype="int64"),
            tensor(("n", "m"), dtype, name="x"),
        )
    )
    for length in (7, 8, 16, 100, 129, 130, 400):
        if length < k:
            continue
        x = numbers((4, length), dtype, length)
        values, indices = map(np.from_dlpack, main(x))
        expected, order = sort_of_torch(x, 1, largest)
        count = k or length
        np.testing.assert_array_equal(values, expected[:, :count])
        np.testing.assert_array_equal(indices, order[:, :count])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "bool"])
@pytest.mark.parametrize("axis", [0, 1])
def test_topk_along_an_axis(run, axis, dtype):
    given = "float32" if dtype == "bfloat16" else dtype
    x = numbers((50, 40), given, 1)
    first = run(lambda x: op.astype(op.topk(op.astype(x, dtype), 5, axis, "values"), given), x)
    expected = np.take(sort_of_torch(x, axis, True)[0], range(5), axis)
    np.testing.assert_array_equal(first, expected)


def test_topk_of_one_kind(run):
    x = np.array([[3, 1, 2], [5, 6, 4]], "float32")
    assert run(lambda x: op.topk(x, 2, ret_type="values"), x).tolist() == [[3, 2], [6, 5]]
    indices = run(lambda x: op.topk(x, 2, ret_type="indices"), x)
    assert indices.tolist() == [[0, 2], [1, 0]] and indices.dtype == "int32"


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
@pytest.mark.parametrize("is_known", [True, False])
def test_orders_of_nothing(run, shape, is_known):
    x = np.zeros(shape, "float32")
    shapes = [shape if is_known else ("n", "m")]
    for function in (op.sort, op.argsort, lambda x: op.topk(x, 0, ret_type="indices")):
        assert run(function, x, shapes=shapes).shape == shape
    for function in (lambda x: op.topk(x, 0, 0, "values"), lambda x: op.topk(x, 2, 0, "values")):
        if shape[0]:
            assert run(function, x, shapes=shapes).shape[1] == shape[1]


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("axis", [0, -1])
def test_kth_index(run, axis, dtype):
    given = "float32" if dtype in ("bfloat16", "float8_e4m3fn") else dtype
    for length in (1, 5, 16, 17, 40, 100):
        x = numbers((length, length), given, length)
        if dtype == "float8_e4m3fn":  # which has no infinity
            x = np.clip(x, -100, 100)
        order = sort_of_torch(x, axis, False)[1]
        for k in {1, (length + 1) // 2, length}:
            found = run(lambda x, k=k: op.kth_index(op.astype(x, dtype), k, axis, "int64"), x)
            np.testing.assert_array_equal(found, np.take(order, [k - 1], axis))


def test_kth_index_of_a_symbolic_number(run):
    x = np.random.default_rng(0).standard_normal((4, 31, 3)).astype("float32")
    x[0, 3] = np.nan
    middle = (relax.Dim("m") + 1) // 2
    found = run(lambda x: op.kth_index(x, middle, 1), x, shapes=[("n", "m", 3)])
    np.testing.assert_array_equal(found, np.argsort(x, 1, kind="stable")[:, 15:16])


@pytest.mark.parametrize("size", [0, 2])
def test_error_kth_index_of_more_than_there_are(run, size):
    x = np.zeros((3, size), "float32")
    with pytest.raises(ValueError, match="kth_index"):
        run(lambda x: op.kth_index(x, 3), x, shapes=[("n", "m")])


def test_error_topk_of_more_than_there_are(run):
    x = np.zeros((2, 2), "float32")
    with pytest.raises(ValueError, match="expected k of at most the dimension, 2, but got 3"):
        run(lambda x: op.topk(x, 3), x)
    with pytest.raises(ValueError, match="topk"):
        run(lambda x: op.topk(x, 3), x, shapes=[("n", "m")])


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_bucketize(load, write, tensor, dtype, right):
    params = [tensor(("n", "m"), dtype, name="x"), tensor(("k",), dtype, name="b")]
    main = load(write(lambda x, b: op.bucketize(x, b, right=right), *params))
    narrow = load(write(lambda x, b: op.bucketize(x, b, out_int32=True, right=right), *params))
    for length in LENGTHS:
        x, b = numbers((3, 40), dtype), np.sort(numbers(length, dtype, length))
        expected = np.searchsorted(b, x, "right" if right else "left")
        result = np.from_dlpack(main(x, b))
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == "int64"
        np.testing.assert_array_equal(np.from_dlpack(narrow(x, b)), expected.astype("int32"))


def test_sorts_share_threads():
    """Lines are shared by threads, each with its own part of both copies."""
    from relax_mlir.runtime import set_num_threads

    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", "m"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.argsort(x))
    main = relax.VirtualMachine(relax.compile(bb.get()))["main"]
    data = np.random.default_rng(0).standard_normal((301, 257)).astype("float32")
    for count in (1, 2, 3):
        set_num_threads(count)
        result = np.from_dlpack(main(data))
        np.testing.assert_array_equal(result, np.argsort(data, kind="stable"))


def test_few_long_lines_share_threads(load, write, tensor, request):
    """Threads divide a line where there are fewer lines than threads."""
    if request.config.getoption("--device"):
        pytest.skip("these are threads of the host: devices have one for each element")
    from relax_mlir.runtime import set_num_threads

    rng = np.random.default_rng(0)
    for dtype in ("float32", "int64", "uint16"):
        x = tensor(("n", "m"), dtype, name="x")
        main = load(write(lambda x: op.tuple(op.sort(x), op.argsort(x), op.argsort(x, 1, True)), x))
        # Around the sizes from which lines are divided, into two parts and more.
        for shape in ((1, 32767), (1, 32768), (2, 32769), (1, 49151), (1, 100_003)):
            few = numbers(shape, dtype, shape[1])
            wide = (1000 * rng.standard_normal(shape)).astype("int64")
            wide = (wide << 40 if dtype == "int64" else wide).astype(dtype)
            for data in (few, wide, np.sort(wide), np.full(shape, 3, dtype)):
                given = data.astype("int64") if dtype == "uint16" else data
                values, order = sort_of_torch(given, 1, False)
                down = sort_of_torch(given, 1, True)[1]
                for count in (1, 2, 3):
                    set_num_threads(count)
                    found, places, places_down = map(np.from_dlpack, main(data))
                    np.testing.assert_array_equal(found, values)
                    np.testing.assert_array_equal(np.signbit(found), np.signbit(values))
                    np.testing.assert_array_equal(places, order)
                    np.testing.assert_array_equal(places_down, down)


@pytest.mark.parametrize("shape", [(70_001,), (40_000, 1), (1, 40_000)])
def test_a_long_line_of_known_size_shares_threads(run, shape):
    from relax_mlir.runtime import set_num_threads

    axis = shape.index(max(shape))
    x = np.random.default_rng(0).integers(-50, 50, shape)
    set_num_threads(5)
    result = run(lambda x: op.argsort(x, axis, dtype="int64"), x)
    np.testing.assert_array_equal(result, np.argsort(x, axis, kind="stable"))
