"""Reductions of Relay, tensors that it makes, and sizes, against NumPy."""

import numpy as np
import pytest
from relay_programs import Case, Known, check_cases, run_operator

RNG = np.random.default_rng(1)
X = RNG.uniform(-2, 2, (2, 3, 4)).astype("float32")
X_0 = np.asarray(X[0, 0, 0])
WHOLE = RNG.integers(-9, 9, (2, 3, 4), "int32")
FLAGS = RNG.uniform(size=(2, 3, 4)) < 0.7
SEVERAL = np.array([[3, 1, 3, 1], [0, 5, 5, 0]], "float32")

AXES = [
    ({}, (0, 1, 2)),
    ({"axis": []}, (0, 1, 2)),
    ({"axis": 1}, (1,)),
    ({"axis": [-1, 0], "keepdims": True}, (0, 2)),
    ({"axis": [1], "exclude": True}, (0, 2)),
    ({"axis": [0, 1, 2], "exclude": True}, ()),
]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "all", "any"])
def test_ry06_reductions(exec_mode, name):
    data = FLAGS if name in ("all", "any") else X
    function = getattr(np, name)
    check_cases([
        Case(name, [data], np.asarray(function(data, axis=axes,
                                               keepdims=attrs.get("keepdims", False))), attrs)
        for attrs, axes in AXES
    ], 1e-4)  # fmt: skip


def test_ry06_reductions_of_integers(exec_mode):
    totals = WHOLE.sum(axis=(0, 2), dtype="int32")
    scalar = np.array(4, "int32")
    check_cases([
        Case("sum", [WHOLE], totals, {"axis": [0, 2]}),
        Case("mean", [WHOLE], np.trunc(totals / 8).astype("int32"), {"axis": [0, 2]}),
        Case("mean", [WHOLE], np.trunc(totals / 8).astype("int32"), {"axis": [0, 2]},
             [("n", 3, "m")]),
        Case("max", [WHOLE], WHOLE.max(1), {"axis": [1]}),
        Case("sum", [scalar], scalar),
    ])  # fmt: skip


def test_ry06_variance(exec_mode):
    mean = X.mean(axis=(0, 2), keepdims=True)
    axes = {"axis": [0, 2]}
    cases = [
        Case("variance", [X, mean], X.var(axis=(0, 2)), axes),
        Case("variance", [X, mean], X.var(axis=(0, 2), ddof=1, keepdims=True),
             {**axes, "unbiased": True, "keepdims": True}, [("n", 3, "m"), (1, 3, 1)]),
        Case("variance", [X, mean], X.var(axis=(0, 2)), {"axis": [1], "exclude": True}),
        Case("variance", [X, X_0], np.asarray(((X - X_0) ** 2).mean())),
    ]  # fmt: skip
    check_cases(cases, 1e-4)


def _last(function, data, axis):
    found = function(np.flip(data, axis), axis=axis)
    return (data.shape[axis] - 1 - found).astype("int32")


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_ry06_places_of_extremes(exec_mode, name):
    function = getattr(np, name)
    moved = X.transpose(1, 0, 2).reshape(3, 8)
    check_cases([
        Case(name, [X], np.asarray(function(X), "int32")),
        Case(name, [X], function(X, axis=1).astype("int32"), {"axis": 1}),
        Case(name, [X], function(moved, axis=1).astype("int32"), {"axis": [0, 2]}),
        Case(name, [X], function(moved, axis=1).astype("int32").reshape(1, 3, 1),
             {"axis": [1], "exclude": True, "keepdims": True}),
        Case(name, [SEVERAL], function(SEVERAL, axis=1).astype("int32"), {"axis": [1]}),
        Case(name, [SEVERAL], _last(function, SEVERAL, 1),
             {"axis": [1], "select_last_index": True}, [("n", "m")]),
        Case(name, [X], np.zeros(X.shape, "int32"), {"axis": [0, 1, 2], "exclude": True}),
    ])  # fmt: skip


def test_ry06_scans(exec_mode):
    whole = np.cumsum(X, 1) - X
    check_cases([
        Case("cumsum", [X], np.cumsum(X, 1), {"axis": 1}),
        Case("cumsum", [X], np.cumsum(X)),
        Case("cumsum", [X], whole, {"axis": -2, "exclusive": 1}, [("n", "m", 4)]),
        Case("cumsum", [WHOLE], np.cumsum(WHOLE, 2, dtype="int64"), {"axis": 2, "dtype": "int64"}),
        Case("cumprod", [X], np.cumprod(X, 0), {"axis": 0, "dtype": ""}),
    ], 1e-4)  # fmt: skip


def test_ry06_made_tensors(exec_mode):
    value = np.array(2.5, "float32")
    shape = Known(np.array([2, 3], "int64"))
    check_cases([
        Case("zeros", [], np.zeros((2, 3), "float32"), {"shape": [2, 3], "dtype": "float32"}),
        Case("ones", [], np.ones((2,), "int8"), {"shape": [2], "dtype": "int8"}),
        Case("full", [value], np.full((2, 3), 2.5, "float32"), {"shape": [2, 3]}),
        Case("full", [value], np.full((2,), 2, "int32"), {"shape": [2], "dtype": "int32"}),
        Case("zeros_like", [X], np.zeros_like(X), {}, [("n", 3, "m")]),
        Case("ones_like", [WHOLE], np.ones_like(WHOLE)),
        Case("full_like", [WHOLE, value], np.full_like(WHOLE, 2)),
        Case("dyn.zeros", [shape], np.zeros((2, 3), "int32"), {"dtype": "int32"}),
        Case("dyn.ones", [shape], np.ones((2, 3), "int32"), {"dtype": "int32"}),
        Case("dyn.full", [value, shape], np.full((2, 3), 2.5, "float32")),
    ])  # fmt: skip


def _range(*numbers, dtype="int32"):
    return [Known(np.array(one, dtype)) for one in numbers]


def test_ry06_ranges_and_grids(exec_mode):
    a, b, c = np.arange(2.0), np.arange(3.0) + 5, np.array(9.0)
    grids = {name: np.meshgrid(a, b, c, indexing=name) for name in ("ij", "xy")}
    check_cases([
        Case("arange", _range(1, 10, 3), np.arange(1, 10, 3, "int32"), {"dtype": "int32"}),
        Case("arange", _range(5, 0, -2), np.arange(5, 0, -2, "int32")),
        Case("arange", _range(0.5, 2, 0.25, dtype="float32"),
             np.arange(0.5, 2, 0.25, "float32"), {"dtype": "float32"}),
        Case("meshgrid", [[a, b, c]], list(grids["ij"])),
        Case("meshgrid", [[a, b, c]], list(grids["xy"]), {"indexing": "xy"}),
    ])  # fmt: skip


def _hot(indices, depth, axis):
    places = np.expand_dims(indices, axis)
    shape = [1] * places.ndim
    shape[axis] = depth
    return np.where(places == np.arange(depth).reshape(shape), 3, -1)


def test_ry06_one_hot(exec_mode):
    indices = np.array([[0, 2], [1, 7]], "int32")
    on, off = np.array(3, "int32"), np.array(-1, "int32")
    depth = Known(np.array(4, "int32"))
    operands = [indices, on, off]
    check_cases([
        Case("one_hot", operands, _hot(indices, 4, -1).astype("float32"),
             {"depth": 4, "dtype": "float32"}),
        Case("one_hot", operands, _hot(indices, 3, 1).astype("int32"), {"depth": 3, "axis": 1},
             [("n", "m"), (), ()]),
        Case("dyn.one_hot", [*operands, depth], _hot(indices, 4, 0).astype("int32"),
             {"axis": 0, "dtype": "int32"}),
    ])  # fmt: skip


def test_ry06_triangles(exec_mode):
    k, known = np.array(1, "int32"), Known(np.array(-1, "int32"))
    check_cases([
        Case("trilu", [X, known], np.triu(X, -1)),
        Case("trilu", [X, known], np.tril(X, -1), {"upper": False}, [("n", 3, "m")]),
        Case("trilu", [X, k], np.triu(X, 1)),
        Case("trilu", [X, k], np.tril(X, 1), {"upper": 0}, [("n", "m", 4), ()]),
    ])  # fmt: skip


def test_ry06_sizes(exec_mode):
    check_cases([
        Case("shape_of", [X], np.array([2, 3, 4], "int32")),
        Case("shape_of", [X], np.array([2, 3, 4], "int64"), {"dtype": "int64"}, [("n", 3, "m")]),
        Case("shape_of", [X_0], np.array(0, "int32")),
        Case("ndarray_size", [X], np.array(24, "int32")),
        Case("ndarray_size", [X], np.array(24, "int64"), {"dtype": "int64"}, [("n", "m", 4)]),
    ])  # fmt: skip


@pytest.mark.parametrize(
    "name, operands, attrs, message",
    [
        ("sum", [X], {"axis": [3]}, "expected an axis from -3 to 2, but got 3"),
        ("sum", [X], {"axis": [1, -2]}, "expected axes that differ"),
        ("sum", [X], {"exclude": True}, "expected an axis with exclude"),
        ("sum", [X], {"axes": [1]}, "sum has no attribute 'axes'; did you mean 'axis'"),
        ("all", [WHOLE], {}, "expected conditions of bool, but got int32"),
        ("argmax", [X_0], {}, "expected a tensor of rank 1 or more"),
        ("cumsum", [X], {"axis": 4}, "expected an axis"),
        ("variance", [X], {}, "expected variance of data, mean, but got 1 operands"),
        ("full", [X[0, 0]], {"shape": [2]}, "expected a fill value of rank 0, but got rank 1"),
        ("zeros", [], {"shape": [2]}, "zeros needs the attribute 'dtype'"),
        ("arange", _range(3, 1, 1), {}, "expected a range of elements"),
        ("meshgrid", [X], {}, "expected a tuple of tensors"),
        ("meshgrid", [[X[0, 0]]], {"indexing": "ji"}, "expected indexing ij, xy, but got 'ji'"),
        ("one_hot", [WHOLE, X_0, X_0], {"depth": 0}, "expected a depth of 1"),
        ("one_hot", [WHOLE, X_0, X_0], {"axis": 4}, "expected an axis from -1 to 3"),
    ],
)
def test_ry06_reductions_reject(name, operands, attrs, message):
    with pytest.raises(ValueError, match=message):
        run_operator(name, *operands, **attrs)


def test_ry06_reductions_of_conditions_are_conditions(exec_mode):
    flags = np.array([[True, True], [True, False], [False, False]])
    check_cases([
        Case("sum", [flags], flags.any(1), {"axis": [1]}),
        Case("max", [flags], flags.any(1), {"axis": [1]}),
        Case("min", [flags], flags.all(1), {"axis": [1]}),
        Case("prod", [flags], flags.all(1), {"axis": [1]}),
    ])  # fmt: skip
