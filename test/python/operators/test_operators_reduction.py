"""Reductions and scans against NumPy."""

import numpy as np
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
