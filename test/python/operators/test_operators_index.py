"""Operators that compute places: against NumPy and PyTorch, what is derived, what is refused."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op

SIZES = ({"n": 1, "m": 4, "k": 2}, {"n": 5, "m": 4, "k": 10})


def arrays_of(shapes, dtypes, sizes):
    """Return arrays of symbolic shapes; integers are from -7 to 7."""
    rng = np.random.default_rng(0)
    arrays = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        dims = [sizes.get(dim, dim) for dim in shape]
        if dtype.startswith("float"):
            arrays.append(rng.standard_normal(dims).astype(dtype))
        else:
            low = 0 if dtype[0] in "ub" else -7
            arrays.append(rng.integers(low, 2 if dtype == "bool" else 8, dims).astype(dtype))
    return arrays


def pack(x):
    """Return a vector in rows of 4, with zeros at the end."""
    rows = np.zeros(((len(x) + 3) // 4, 4), x.dtype)
    rows.flat[: len(x)] = x
    return rows


def one_hot(x, depth, axis):
    hot = np.moveaxis(np.arange(depth) == x[..., None], -1, axis)
    return np.where(hot, np.float32(2), np.float32(-1))


ANY = ("float32", "float16", "int8", "uint8", "int64", "bool")
F = ("float32",)
CASES = [
    ("flip", lambda x: op.flip(x, 0), lambda x: x[::-1], ANY, [("n", "m")]),
    ("flip-1", lambda x: op.flip(x, -1), lambda x: x[..., ::-1], F, [("n", "m", 3)]),
    ("repeat", lambda x: op.repeat(x, 3, 1), lambda x: x.repeat(3, 1), ANY, [("n", "m")]),
    ("repeat-flat", lambda x: op.repeat(x, 2), lambda x: x.repeat(2), F, [("n", "m")]),
    ("repeat-0", lambda x: op.repeat(x, 0, 0), lambda x: x.repeat(0, 0), F, [("n", "m")]),
    ("tile", lambda x: op.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3)), ANY, [("n", "m")]),
    ("tile-less", lambda x: op.tile(x, 2), lambda x: np.tile(x, 2), F, [("n", "m")]),
    ("tile-more", lambda x: op.tile(x, (2, 1, 2)), lambda x: np.tile(x, (2, 1, 2)), F, [("n",)]),
    (
        "stack",
        lambda x, y: op.stack([x, y, x]),
        lambda x, y: np.stack([x, y, x]),
        ANY,
        [("n", "m"), ("n", "m")],
    ),
    (
        "stack-axis",
        lambda x, y: op.stack([x, y], -1),
        lambda x, y: np.stack([x, y], -1),
        F,
        [("n", "m"), ("n", "m")],
    ),
    (
        "one_hot",
        lambda x: op.one_hot(x, np.float32(2), np.float32(-1), 5),
        lambda x: one_hot(x, 5, -1),
        ("int8", "uint8", "int64"),
        [("n", "m")],
    ),
    (
        "one_hot-axis",
        lambda x: op.one_hot(x, np.float32(2), np.float32(-1), 5, 0),
        lambda x: one_hot(x, 5, 0),
        ("int32",),
        [("n",)],
    ),
    (
        "layout_transform",
        lambda x: op.layout_transform(x, lambda i, j: (j // 2, i, j % 2)),
        lambda x: x.reshape(len(x), 2, 2).transpose(1, 0, 2),
        ANY,
        [("n", "m")],
    ),
    (
        "layout_transform-pad",
        lambda x: op.layout_transform(x, lambda i: (i // 4, i % 4)),
        pack,
        F,
        [("k",)],
    ),
    (
        "layout_transform-value",
        lambda x: op.layout_transform(x, lambda i: (i // 4, i % 4), 1.5),
        lambda x: pack(x - np.float32(1.5)) + np.float32(1.5),
        ("float64",),
        [("k",)],
    ),
    (
        "layout_transform-flat",
        lambda x: op.layout_transform(x, lambda *i: [i[0] * 4 + i[1]]),
        np.ravel,
        ("int32",),
        [("n", 4)],
    ),
]


@pytest.mark.parametrize(
    ("function", "reference", "dtype", "shapes"),
    [
        pytest.param(function, reference, dtype, shapes, id=f"{name}-{dtype}")
        for name, function, reference, dtypes, shapes in CASES
        for dtype in dtypes
    ],
)
def test_move(load, write, tensor, function, reference, dtype, shapes):
    params = [tensor(shape, dtype, name=f"x{i}") for i, shape in enumerate(shapes)]
    main = load(write(function, *params))
    for sizes in SIZES:
        arrays = arrays_of(shapes, [dtype] * len(shapes), sizes)
        expected, actual = reference(*arrays), np.from_dlpack(main(*arrays))
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements(run, dtype, axis):
    x = np.arange(20, dtype="float32").reshape(5, 4)
    low = 0 if dtype == "uint8" else -4
    i = np.random.default_rng(0).integers(low, 4, (3, 2)).astype(dtype)
    function = lambda x, i: op.gather_elements(x, i, axis)  # noqa: E731
    result = run(function, x, i, shapes=[("n", "m"), ("a", "b")])
    wrapped = np.where(i.astype("int64") < 0, i.astype("int64") + x.shape[axis], i)
    part = x[:3] if axis else x[:, :2]
    np.testing.assert_array_equal(result, np.take_along_axis(part, wrapped, axis))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
@pytest.mark.parametrize("shape", [(5, 4), ("n", "m")])
def test_take_of_nan_out_of_range(run, dtype, shape):
    x = np.arange(20, dtype="float32").reshape(5, 4)
    last = 2**64 - 1 if dtype == "uint64" else -1
    i = np.array([[0, 4, 5], [3, 100, last]], dtype)
    inside = (i >= 0) & (i < 5)
    expected = np.where(inside[..., None], x[np.where(inside, i, 0).astype("int64")], np.nan)
    result = run(lambda x, i: op.take(x, i, 0, "nan"), x, i, shapes=[shape, ("k", 3)])
    np.testing.assert_array_equal(result, expected)
    if shape == ("n", "m"):
        empty = run(lambda x, i: op.take(x, i, 0, "nan"), x[:0], i, shapes=[shape, ("k", 3)])
        assert np.isnan(empty).all()


def test_take_fast_is_clip(run):
    x, i = np.arange(4, dtype="float32"), np.array([3, 0])
    assert run(lambda x, i: op.take(x, i, mode="fast"), x, i).tolist() == [3, 0]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_split_at_places_that_sizes_say(run, size):
    x, n = np.arange(size * 2, dtype="float32").reshape(size, 2), relax.Dim("n")
    parts = run(lambda x: op.split(x, [n // 2, n - 1], 0), x, shapes=[("n", 2)])
    for part, expected in zip(parts, np.split(x, [size // 2, size - 1]), strict=True):
        np.testing.assert_array_equal(np.from_dlpack(part), expected)


def test_error_split_at_places_out_of_range(run):
    n = relax.Dim("n")
    for size, place in ((0, n - 1), (0, 2 - n), (1, n * 3)):
        with pytest.raises(ValueError, match="expected"):
            run(
                lambda x, place=place: op.split(x, [place], 0),
                np.zeros((size, 2), "float32"), shapes=[("n", 2)],
            )  # fmt: skip


def test_gather_out_of_range(run):
    x = np.arange(4, dtype="float32")
    i = np.array([-100, -4, 3, 100])
    assert run(lambda x, i: op.gather_elements(x, i), x, i).tolist() == [0, 0, 3, 3]
    assert run(lambda x, i: op.gather_nd(x, op.reshape(i, (4, 1))), x, i).tolist() == [0, 0, 3, 3]
    large = np.array([2**64 - 1, 2**63, 1], "uint64")
    assert run(lambda x, i: op.gather_elements(x, i), x, large).tolist() == [3, 3, 1]
    nothing = np.zeros(0, "float32")
    result = run(lambda x, i: op.gather_elements(x, i), nothing, i, shapes=[("n",), (4,)])
    assert result.tolist() == [0] * 4


def test_gather_nd(run):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    i = np.array([[1, 2], [0, -1], [1, 0]])
    shapes = [("a", "b", "c"), ("k", 2)]
    result = run(op.gather_nd, x, i, shapes=shapes)
    np.testing.assert_array_equal(result, x[i[:, 0], i[:, 1]])
    i = np.array([[2], [0]])
    result = run(lambda x, i: op.gather_nd(x, i, 1), x, i, shapes=[("a", 3, "c"), ("a", 1)])
    np.testing.assert_array_equal(result, np.stack([x[0, 2], x[1, 0]]))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_index_tensor(load, write, tensor, dtype):
    params = [tensor(("a", "b", "c"), name="x"), tensor(("k", 1), dtype, name="i")]
    params.append(tensor(("m",), dtype, name="j"))
    main = load(write(lambda x, i, j: op.index_tensor(x, [i, j]), *params))
    x = np.arange(60, dtype="float32").reshape(3, 4, 5)
    rng = np.random.default_rng(0)
    low = 0 if dtype == "uint8" else -3
    for k, m in ((1, 1), (2, 6), (0, 3)):
        i, j = (rng.integers(low, 3, shape).astype(dtype) for shape in ((k, 1), (m,)))
        np.testing.assert_array_equal(np.from_dlpack(main(x, i, j)), x[i, j])


def test_index_tensor_of_each_rank(run):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    rows, columns = np.array([[1, 0]]), np.array([-1, 0])
    one = run(lambda x, i: op.index_tensor(x, [i]), x, rows, shapes=[("n", "m"), (1, "k")])
    np.testing.assert_array_equal(one, x[rows])
    both = run(lambda x, i, j: op.index_tensor(x, [i, j]), x, rows, columns)
    np.testing.assert_array_equal(both, x[rows, columns])
    far = run(lambda x, i: op.index_tensor(x, [i]), x, np.array([9, -9]))
    np.testing.assert_array_equal(far, x[[1, 0]])
    nothing = np.zeros((0, 3), "float32")
    empty = run(lambda x, i: op.index_tensor(x, [i]), nothing, rows, shapes=[("n", "m"), (1, 2)])
    assert empty.tolist() == [[[0] * 3] * 2]


def test_error_index_tensor(run):
    x, i = np.zeros((2, 3), "float32"), np.zeros(2, "int64")
    with pytest.raises(ValueError, match="expected at most 2 tensors of indices, but got 3"):
        run(lambda x, i: op.index_tensor(x, [i, i, i]), x, i)
    with pytest.raises(ValueError, match="expected at least one tensor of indices"):
        run(lambda x: op.index_tensor(x, []), x)
    with pytest.raises(ValueError, match=r"index_tensor: expected .*broadcast"):
        run(lambda x, i, j: op.index_tensor(x, [i, j]), x, i, np.zeros(3, "int64"))


@pytest.mark.parametrize("axes", [(1, 0), (0, 1), (-1, 1)])
def test_reverse_sequence(run, axes):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    seq, batch = axes
    lengths = np.array([9, 2, -1, 1][: x.shape[batch]])
    result = run(
        lambda x, n: op.reverse_sequence(x, n, seq, batch),
        x,
        lengths,
        shapes=[("a", "b", "c"), ("k",)],
    )
    expected = x.copy()
    for index, length in enumerate(lengths):
        count = min(max(length, 0), x.shape[seq])
        part = np.moveaxis(expected, (batch, seq), (0, 1))[index]
        part[:count] = part[:count][::-1].copy()
    np.testing.assert_array_equal(result, expected)


def test_error_reverse_sequence(run):
    x, lengths = np.zeros((2, 3), "float32"), np.zeros(2, "int64")
    with pytest.raises(ValueError, match="a seq_axis that is not the batch_axis, but got 0"):
        run(lambda x, n: op.reverse_sequence(x, n, 0, -2), x, lengths)
    with pytest.raises(ValueError, match="seq_lengths of dimension 3, but got 2"):
        run(lambda x, n: op.reverse_sequence(x, n, 0, 1), x, lengths)
    with pytest.raises(ValueError, match="reverse_sequence"):
        run(lambda x, n: op.reverse_sequence(x, n, 0, 1), x, lengths, shapes=[("n", "m"), ("k",)])


REDUCE = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax", "mean": "mean"}


@pytest.mark.parametrize("reduction", ["update", *REDUCE])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_scatter_elements(run, reduction, axis, dtype):
    rng = np.random.default_rng(1)
    x, u = (rng.integers(1, 5, shape).astype(dtype) for shape in ((5, 4), (3, 2)))
    i = rng.integers(0, 4, (3, 2))
    if reduction == "update":
        i = np.array([[0, 1], [1, 2], [2, 0]])
        expected = torch.from_numpy(x.copy()).scatter(
            axis, torch.from_numpy(i), torch.from_numpy(u)
        )
    else:
        expected = torch.from_numpy(x.astype("float64")).scatter_reduce(
            axis, torch.from_numpy(i), torch.from_numpy(u.astype("float64")), REDUCE[reduction]
        )
    i = np.where(rng.random(i.shape) < 0.5, i, i - x.shape[axis])
    result = run(
        lambda x, i, u: op.scatter_elements(x, i, u, axis, reduction),
        x,
        i,
        u,
        shapes=[("n", "m"), ("a", "b"), ("a", "b")],
    )
    np.testing.assert_allclose(result, expected.numpy().astype(dtype), rtol=2e-3)


@pytest.mark.parametrize("reduction", ["update", *REDUCE])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_scatter_of_many_into_a_vector(load, write, tensor, reduction, dtype, exec_mode, request):
    """Parts of the updates are added up by themselves: the same for any number of threads."""
    params = [
        tensor(("n",), dtype),
        tensor(("m",), "int64", name="i"),
        tensor(("m",), dtype, name="u"),
    ]
    main = load(write(lambda x, i, u: op.scatter_elements(x, i, u, 0, reduction), *params))
    rng = np.random.default_rng(0)
    # Threads of devices share places, and each reads all indices: fewer will do. So they will for
    # the reference, which has no parts.
    has_parts = exec_mode != "reference" and not request.config.getoption("--device")
    share = 1 if has_parts else 100
    # One part, two, three of which the last one is short, and many.
    for size, count in ((1000, 32767), (1024, 32768), (7, 49153), (3, 200_001)):
        count //= share
        x = rng.standard_normal(size).astype(dtype)
        i = rng.integers(-size, size + 1, count)  # some are outside
        u = rng.integers(-1, 2, count).astype(dtype)
        if reduction in ("min", "max"):
            x, u = 100 * x, (1000 * rng.standard_normal(count)).astype(dtype)
        inside = i < size
        places, updates = i[inside] % size, u[inside]
        if reduction == "update":
            expected = x.copy()
            expected[places] = updates
        else:
            expected = torch.from_numpy(x.astype("float64")).scatter_reduce(
                0,
                torch.from_numpy(places),
                torch.from_numpy(updates.astype("float64")),
                REDUCE[reduction],
            )
        found = []
        for threads in (1, 2, 3):
            relax.runtime.set_num_threads(threads)
            found.append(np.from_dlpack(main(x, i, u)))
        np.testing.assert_allclose(found[0], np.asarray(expected).astype(dtype), 2e-2, 1e-2)
        assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_scatter_into_a_vector_keeps_what_has_no_update(run):
    """Adding the sums of parts changes no sign of a zero, and no infinity."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5], "float32")
    i, u = np.full(50_000, 5), np.ones(50_000, "float32")
    result = run(lambda x, i, u: op.scatter_elements(x, i, u, 0, "add"), x, i, u)
    assert result.tobytes() == np.array([*x[:5], 50_001.5], "float32").tobytes()


def test_scatter_out_of_range(run):
    x, i = np.zeros(3, "float32"), np.array([5, -4, -1, 1, 1])
    u = np.arange(1, 6, dtype="float32")
    result = run(lambda x, i, u: op.scatter_elements(x, i, u), x, i, u)
    assert result.tolist() == [0, 5, 3]


@pytest.mark.parametrize("reduction", ["update", "add", "mul", "min", "max"])
def test_scatter_nd(run, reduction):
    rng = np.random.default_rng(1)
    x, u = rng.standard_normal((3, 4, 2)), rng.standard_normal((5, 2))
    i = np.array([[0, 1], [2, 3], [0, 1], [-1, 0], [7, 0]])
    expected = x.copy()
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for place, update in zip(i[:4], u, strict=False):
        old = expected[tuple(place)]
        expected[tuple(place)] = (
            functions[reduction](old, update) if reduction != "update" else update
        )
    result = run(
        lambda x, i, u: op.scatter_nd(x, i, u, reduction),
        x,
        i,
        u,
        shapes=[("a", "b", "c"), ("k", 2), ("k", "c")],
    )
    np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_quantize(run, dtype):
    x = np.linspace(-40, 40, 24, dtype="float32").reshape(6, 4)
    scale, zero = np.array([0.1, 0.2, 0.3, 0.4], "float32"), np.array([1, 2, 3, 4], "int8")
    info = np.iinfo(dtype)
    expected = (np.round(x / scale) + zero).clip(info.min, info.max).astype(dtype)
    shapes = [("n", "m"), ("m",), ("m",)]
    result = run(lambda x, s, z: op.quantize(x, s, z, 1, dtype), x, scale, zero, shapes=shapes)
    np.testing.assert_array_equal(result, expected)
    back = run(op.dequantize, expected, scale, zero, shapes=shapes)
    np.testing.assert_allclose(back, (expected.astype("f") - zero) * scale, rtol=1e-6)


def test_quantize_scalars(run):
    x = np.array([-1000, -0.26, 0.25, 1000], "float16")
    scale, zero = np.float32(0.5), np.int8(0)
    result = run(lambda x: op.quantize(x, op.const(scale), op.const([zero], "int8"), 0), x)
    assert result.tolist() == [-128, -1, 0, 127]
    result = run(lambda x: op.dequantize(x, op.const(scale), op.const(zero), 0, "float16"), result)
    assert result.dtype == "float16"
    assert result.tolist() == [-64, -0.5, 0, 63.5]


def blocks_of(x, block, axis, size):
    return np.take(np.repeat(x, block, axis), range(size), axis)


@pytest.mark.parametrize(
    ("shape", "axis", "block"),
    [
        ((6, 4), 0, 4),
        ((3, 9), -1, 2),
        ((2, 5, 3), 1, 5),
        ((7,), 0, 3),
        ((0, 4), 0, 8),
        ((4, 1), 1, 2),
    ],
)
def test_quantize_blocks(run, shape, axis, block):
    rng = np.random.default_rng(len(shape))
    dims = list(shape)
    dims[axis] = -(-shape[axis] // block)
    x = rng.uniform(-60, 60, shape).astype("float32")
    scale = rng.uniform(0.5, 1.5, dims).astype("float32")
    zero = rng.integers(-5, 5, dims).astype("int8")
    each = [blocks_of(v, block, axis, shape[axis]) for v in (scale, zero)]
    expected = (np.round(x / each[0]) + each[1]).clip(-128, 127).astype("int8")
    result = run(lambda x, s, z: op.quantize(x, s, z, axis, "int8", block), x, scale, zero)
    np.testing.assert_array_equal(result, expected)
    back = run(
        lambda x, s, z: op.dequantize(x, s, z, axis, block_size=block), expected, scale, zero
    )
    np.testing.assert_allclose(back, (expected.astype("f") - each[1]) * each[0], rtol=1e-6)


def test_blocks_of_symbolic_sizes(run):
    x = np.arange(20, dtype="uint8").reshape(10, 2)
    scale, zero = np.array([[0.5], [2.0], [4.0]], "float16"), np.uint8(3)
    shapes = [("n", "m"), ("(n + 3) floordiv 4", 1)]
    result = run(
        lambda x, s: op.dequantize(x, s, op.const(zero), 0, block_size=4), x, scale, shapes=shapes
    )
    np.testing.assert_array_equal(result, (x.astype("f") - 3) * np.repeat(scale, 4, 0)[:10])


DERIVED = [
    (lambda x: op.repeat(x, 2), [("n", "m")], "[m * n * 2]"),
    (lambda x: op.repeat(x, 2), [None], "ndim = 1"),
    (lambda x: op.tile(x, (2, 1, 3)), [("n", 4)], "[2, n, 12]"),
    (lambda x: op.tile(x, 2), [None], "tensor<*, f32>"),
    (lambda x, y: op.stack([x, y], 1), [("n", 3), None], "[n, 2, 3]"),
    (lambda x, y: op.stack([x, y], 1), [None, None], "tensor<*, f32>"),
    (lambda x: op.layout_transform(x, lambda i: (i // 4, i % 4)), [(17,)], "[5, 4]"),
    (lambda x: op.layout_transform(x, lambda i: (i // 4, i % 4)), [(3,)], "[1, 4]"),
    (lambda x: op.layout_transform(x, lambda i: (i // 4, i % 4)), [None], "ndim = 2"),
    (lambda x, s: op.quantize(x, s, op.const(0, "int8")), [("n", 4), (4,)], "[n, 4], i8"),
    (
        lambda x, s: op.quantize(x, s, op.const(0, "int8"), 0, "uint8", 32),
        [("n", 4), ("(n + 31) floordiv 32", 4)],
        "[n, 4], ui8",
    ),
]


@pytest.mark.parametrize(("function", "shapes", "text"), DERIVED)
def test_derivation(write, tensor, function, shapes, text):
    types = []

    def keep(*values):
        types.append(str(function(*values).type))
        return values[0]

    write(keep, *(tensor(shape, name=f"x{i}") for i, shape in enumerate(shapes)))
    assert text in types[0]


def ints(shape):
    return np.zeros(shape, "int64")


X = ("n", 4)
ERRORS = [
    (lambda x: op.flip(x, 2), [X], "expected an axis from -2 to 1"),
    (lambda x: op.repeat(x, -1), [X], "expected repeats of 0 or more"),
    (lambda x: op.repeat(x, 1, 2), [X], "expected an axis from -2 to 1"),
    (lambda x: op.tile(x, [-1]), [X], "expected repeats of 0 or more"),
    (lambda x: op.stack([]), [X], "expected at least one tensor"),
    (lambda x: op.stack([x], 3), [X], "expected an axis from -3 to 2"),
    (lambda x, y: op.stack([x, y]), [X, ("n", 3)], "expected tensors of the same shape"),
    (lambda x: op.one_hot(x, 1, 0, 4), [X], "expected indices of integer data type"),
    (lambda x: op.one_hot(ints(2), 1, 0, 0), [X], "expected a depth of 1 or more"),
    (lambda x: op.one_hot(ints(2), 1, 0.0, 2), [X], "on_value and off_value of the same"),
    (lambda x: op.one_hot(ints(2), 1, 0, 2, 2), [X], "expected an axis from -2 to 1"),
    (lambda x: op.gather_elements(x, x), [X], "expected indices of integer data type"),
    (lambda x: op.gather_elements(x, ints(2)), [X], "expected indices of rank 2"),
    (lambda x: op.gather_elements(x, ints((2, 5)), 0), [X], "indices of dimension 1 up to 4"),
    (lambda x: op.gather_elements(x, ints((2, 2)), 2), [X], "expected an axis from -2 to 1"),
    (lambda x: op.gather_nd(x, ints((2, 3))), [X], "places of up to 2 indices, but got 3"),
    (lambda x: op.gather_nd(x, ints(())), [X], "expected indices of rank 1 or more"),
    (lambda x: op.gather_nd(x, ints((2, 1)), 2), [X], "expected batch_dims from 0 to 1"),
    (lambda x: op.gather_nd(x, ints((3, 1)), 1), [(2, 4)], "indices with batch dimension 2"),
    (
        lambda x: op.scatter_elements(x, ints((2, 2)), np.ones((2, 3), "f")),
        [X],
        "expected updates of the shape of indices",
    ),
    (
        lambda x: op.scatter_elements(x, ints((2, 2)), np.ones((2, 2), "f"), 0, "sub"),
        [X],
        "expected reduction 'update', 'add'",
    ),
    (
        lambda x: op.scatter_nd(x, ints((2, 1)), np.ones((2, 3), "f")),
        [X],
        "expected updates with dimension 4, but got 3",
    ),
    (
        lambda x: op.scatter_nd(x, ints((2, 1)), np.ones(2, "f")),
        [X],
        "expected updates of rank 2",
    ),
    (
        lambda x: op.scatter_nd(x, ints((2, 1)), np.ones((2, 4), "f"), "mean"),
        [X],
        "expected reduction 'update', 'add'",
    ),
    (lambda x: op.layout_transform(x, lambda i: i), [X], "expected x of rank 1"),
    (lambda x: op.layout_transform(x, lambda i, j: i - 1), [X], "expected indices of 0 or more"),
    (
        lambda x: op.layout_transform(x, lambda i, j: i, relax.op.prim_value(1).owner.value),
        [X],
        "expected pad_value of data type 'f32'",
    ),
    (
        lambda x: op.quantize(x, np.ones(3, "f"), op.const(0, "int8")),
        [X],
        "expected scale of size 4",
    ),
    (
        lambda x: op.quantize(x, np.float32(1), op.const([[0]], "int8")),
        [X],
        "expected zero_point of rank 0 or 1",
    ),
    (
        lambda x: op.quantize(x, np.float32(1), op.const(0, "int8"), 2),
        [X],
        "expected an axis from -2 to 1",
    ),
    (
        lambda x: op.quantize(x, np.float32(1), op.const(0, "int8"), 0, "bool"),
        [X],
        "expected out_dtype to be an integer or float",
    ),
    (
        lambda x: op.dequantize(x, np.float32(1), op.const(0, "int8"), 0, "int8"),
        [X],
        "expected out_dtype to be a float",
    ),
    (
        lambda x: op.quantize(x, np.ones(2, "f"), op.const(0, "int8"), 0, block_size=4),
        [X],
        "expected scale of rank 0 or, with block_size, that of data, which is 2",
    ),
    (
        lambda x: op.quantize(x, np.ones((8, 1), "f"), op.const(0, "int8"), 1, block_size=2),
        [(8, 4)],
        "expected scale of size 2, as data has blocks at axis 1, but got 1",
    ),
    (
        lambda x: op.quantize(x, np.float32(1), op.const(0, "int8"), 1, block_size=-2),
        [X],
        "expected block_size of at least 0",
    ),
]


@pytest.mark.parametrize(("function", "shapes", "message"), ERRORS)
def test_error(write, tensor, function, shapes, message):
    params = [tensor(shape, name=f"x{i}") for i, shape in enumerate(shapes)]
    with pytest.raises(ValueError, match=r"relax\.") as caught:
        write(function, *params)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda i: i // 0, "expected a positive number as a divisor"),
        (lambda i: i % i, "expected a positive number as a divisor"),
    ],
)
def test_error_index_map(write, tensor, function, message):
    with pytest.raises(ValueError, match=message):
        write(lambda x: op.layout_transform(x, function), tensor(("n",)))


def test_error_at_run_time(load, write, tensor):
    x, i = tensor(("n", "m")), tensor(("a", "b"), "int64", name="i")
    main = load(write(lambda x, i: op.gather_elements(x, i), x, i))
    assert np.from_dlpack(main(np.ones((2, 3), "f"), ints((4, 3)))).shape == (4, 3)
    with pytest.raises(ValueError, match="gather_elements"):
        main(np.ones((2, 3), "f"), ints((1, 4)))
