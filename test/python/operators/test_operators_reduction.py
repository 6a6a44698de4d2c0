"""Reductions and scans against NumPy."""

import numpy as np
import pytest
from operator_tables import FLOATS, INTEGERS, N, check, table_of
from relax_mlir import op

REDUCTIONS = [
    ("variance", op.variance, np.var, FLOATS, [N]),
    ("variance-1", lambda x: op.variance(x, 1), lambda x: x.var(1), FLOATS, [N]),
    (
        "variance-keep",
        lambda x: op.variance(x, [0, -1], True),
        lambda x: x.var((0, 2), keepdims=True),
        ["float32"],
        [("n", 2, 3)],
    ),
    ("std", lambda x: op.std(x, [1]), lambda x: x.std(1), FLOATS, [("n", "m", 2)]),
    (
        "std-keep",
        lambda x: op.std(x, keepdims=True),
        lambda x: x.std(keepdims=True),
        ["float64"],
        [N],
    ),
    ("argmax", op.argmax, np.argmax, (*FLOATS, *INTEGERS), [("n", "m")]),
    ("argmax-1", lambda x: op.argmax(x, 1), lambda x: x.argmax(1), FLOATS, [("n", "m", 2)]),
    (
        "argmax-keep",
        lambda x: op.argmax(x, -1, True),
        lambda x: x.argmax(-1, keepdims=True),
        ["float32"],
        [("n", "m")],
    ),
    ("argmin-0", lambda x: op.argmin(x, 0), lambda x: x.argmin(0), ["int32"], [("k", "m")]),
    (
        "argmin-keep",
        lambda x: op.argmin(x, keepdims=True),
        lambda x: x.argmin().reshape(1, 1),
        ["float32"],
        [("n", "m")],
    ),
    (
        "cumsum",
        lambda x: op.cumsum(x, 1),
        lambda x: np.cumsum(x, 1, x.dtype),
        (*FLOATS, "int32", "uint8"),
        [("n", "m", 2)],
    ),
    ("cumsum-flat", op.cumsum, np.cumsum, FLOATS[:2], [("n", "m")]),
    (
        "cumsum-dtype",
        lambda x: op.cumsum(x, 0, "int64"),
        lambda x: np.cumsum(x, 0, "int64"),
        ["bool", "int8", "uint8"],
        [("k", "m")],
    ),
    (
        "cumsum-exclusive",
        lambda x: op.cumsum(x, -1, exclusive=True),
        lambda x: np.cumsum(x, -1, x.dtype) - x,
        ["int32", "int64"],
        [("n", "m")],
    ),
    (
        "cumprod",
        lambda x: op.cumprod(x, 0),
        lambda x: np.cumprod(x, 0, x.dtype),
        (*FLOATS[:2], "int64"),
        [("k", "m")],
    ),
    (
        "cummax",
        lambda x: op.cummax(x, -1),
        lambda x: np.maximum.accumulate(x, -1),
        (*FLOATS, "int64", "uint8"),
        [("k", "m")],
    ),
    ("cummin-flat", op.cummin, lambda x: np.minimum.accumulate(x.ravel()), FLOATS, [("n", "m")]),
]


@table_of(REDUCTIONS)
def test_reduction(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype])


def test_argmax_of_nan_and_ties(run):
    x = np.array([[1, 3, 3], [np.nan, 5, np.nan], [-np.inf, -np.inf, -np.inf]], "float32")
    for function in (op.argmax, op.argmin):
        name = function.__name__
        result = run(lambda x, f=function: f(x, 1), x, shapes=[("n", 3)])
        np.testing.assert_array_equal(result, getattr(np, name)(x, 1))


def test_empty_scan_and_index(run):
    x = np.zeros((0, 3), "float32")
    assert run(lambda x: op.cumsum(x, 0), x, shapes=[("n", 3)]).shape == (0, 3)
    assert run(lambda x: op.argmax(x, 0), x, shapes=[("n", 3)]).tolist() == [0, 0, 0]


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_scan_of_blocks_and_the_rest(run, dtype, axis, exclusive):
    rng = np.random.default_rng(0)
    for shape in ((2, 7, 37), (1, 3, 16), (3, 2, 150)):
        x = rng.integers(-3, 4, shape).astype(dtype)
        sums = run(lambda x: op.cumsum(x, axis, exclusive=exclusive), x, shapes=[("a", "b", "c")])
        wanted = np.cumsum(x, axis, dtype)
        np.testing.assert_array_equal(sums, wanted - x if exclusive else wanted)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_extremes_of_blocks_and_the_rest(run, name, axis):
    function = {"cummax": np.maximum, "cummin": np.minimum}[name].accumulate
    rng = np.random.default_rng(0)
    for shape in ((2, 7, 37), (1, 3, 16), (3, 2, 15), (2, 0, 3)):
        x = rng.integers(-9, 9, shape).astype("float32")
        x[rng.random(shape) < 0.02] = np.nan
        x[rng.random(shape) < 0.02] = np.inf
        found = run(lambda x: getattr(op, name)(x, axis), x, shapes=[("a", "b", "c")])
        np.testing.assert_array_equal(found, function(x, axis))


@pytest.mark.parametrize(("name", "first"), [("cummax", 0), ("cummin", 255)])
def test_extremes_without_the_element_itself(run, name, first):
    function = {"cummax": np.maximum, "cummin": np.minimum}[name].accumulate
    for dtype in ("int32", "uint8"):
        x = np.random.default_rng(0).integers(0, 256, (3, 150)).astype(dtype)
        found = run(
            lambda x: getattr(op, name)(x, 1, "uint8", exclusive=True), x, shapes=[("n", "m")]
        )
        wanted = np.concatenate([np.full((3, 1), first), function(x, 1)[:, :-1]], 1)
        np.testing.assert_array_equal(found, wanted.astype("uint8"))


def test_scan_of_numbers_that_overflow_together(run, request):
    if request.config.getoption("--device"):
        pytest.skip("totals are those of float32 on devices")
    x = np.array([1e-38, 3e38, 3e38, 1e-38, 1e-38], "float32")
    products = run(lambda x: op.cumprod(x, 0), x, shapes=[("n",)])
    np.testing.assert_allclose(products, np.cumprod(x, dtype="float64").astype("float32"), 1e-6)
    x = np.array([-3e38, 3e38, 3e38, -3e38, 1], "float32")
    sums = run(lambda x: op.cumsum(x, 0), x, shapes=[("n",)])
    np.testing.assert_allclose(sums, np.cumsum(x, dtype="float64").astype("float32"), 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("target", [("n", "m"), (1, "m"), ("n", 1), (1, 1), ("m",), (1,), ()])
def test_collapse_sum(load, write, tensor, target, dtype):
    params = [tensor((3, "n", "m"), dtype, name="x"), tensor(target, "int64", name="y")]
    main = load(
        write(
            lambda x, y: op.tuple(op.collapse_sum_like(x, y), op.collapse_sum_to(x, target)),
            *params,
        )
    )
    for sizes in ({"n": 2, "m": 5}, {"n": 1, "m": 1}, {"n": 4, "m": 1}):
        shape = [sizes.get(dim, dim) for dim in target]
        x = np.random.default_rng(0).integers(0, 9, (3, sizes["n"], sizes["m"])).astype(dtype)
        like, to = main(x, np.zeros(shape, "int64"))
        rank = len(shape)
        axes = tuple(i for i in range(3) if i < 3 - rank or shape[i - 3 + rank] == 1)
        expected = x.sum(axes, keepdims=True, dtype=dtype).reshape(shape)
        for result in (like, to):
            np.testing.assert_array_equal(np.from_dlpack(result), expected)


def test_error_collapse_sum(run):
    x = np.zeros((2, 3), "float32")
    with pytest.raises(ValueError, match="dimensions that broadcast, but got 2 and 3"):
        run(lambda x: op.collapse_sum_to(x, (2,)), x)
    with pytest.raises(ValueError, match="expected a shape of rank 2 or less, but got rank 3"):
        run(lambda x: op.collapse_sum_to(x, (1, 2, 3)), x)
    with pytest.raises(ValueError, match="collapse_sum_like"):
        run(op.collapse_sum_like, x, x[:, :2].copy(), shapes=[("n", "m"), ("n", "k")])
