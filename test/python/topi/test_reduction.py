"""Reductions and scans against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from relax_mlir import te, topi

rng = np.random.default_rng(2)
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean}


@pytest.mark.parametrize("axis, keepdims", [(None, False), (1, False), (-1, True), ((0, 2), True)])
def test_rf11_topi_reductions(run_te, axis, keepdims):
    x = rng.standard_normal((3, 4, 5)).astype("float32")
    results = run_te(lambda A: [getattr(topi, n)(A, axis, keepdims) for n in REDUCTIONS], x)
    for (name, reference), actual in zip(REDUCTIONS.items(), results, strict=True):
        expected = reference(x, axis=axis, keepdims=keepdims)
        assert actual.shape == np.shape(expected), name
        np.testing.assert_allclose(actual, expected, 1e-4, 1e-5, err_msg=name)


def test_rf11_topi_all_any(run_te):
    x = np.array([[True, True], [True, False], [False, False]])
    every, some = run_te(lambda A: [topi.all(A, 1), topi.any(A, 1)], x)
    np.testing.assert_array_equal(every, x.all(1))
    np.testing.assert_array_equal(some, x.any(1))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_rf11_topi_argmax_argmin(run_te, axis):
    x = rng.integers(0, 4, (3, 4, 5)).astype("float32")
    largest, least, last = run_te(
        lambda A: [
            topi.argmax(A, axis),
            topi.argmin(A, axis),
            topi.argmax(A, axis, select_last_index=True),
        ],
        x,
    )
    assert largest.dtype == "int32"
    np.testing.assert_array_equal(largest, np.argmax(x, axis))
    np.testing.assert_array_equal(least, np.argmin(x, axis))
    if axis is not None:
        back = x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis)
        np.testing.assert_array_equal(last, back)


def test_rf11_topi_argmax_of_the_least_values(run_te):
    x = np.full((2, 3), -np.inf, "float32")
    np.testing.assert_array_equal(run_te(lambda A: topi.argmax(A, 1, keepdims=True), x), [[0], [0]])


def test_rf11_topi_max_of_negative_infinities(run_te):
    x = np.full((3,), -np.inf, "float32")
    assert run_te(topi.max, x) == -np.inf


def test_rf11_topi_collapse_sum(run_te):
    x = rng.standard_normal((2, 3, 4)).astype("float32")
    actual = run_te(lambda A: topi.collapse_sum(A, (A.shape[1], 1)), x)
    np.testing.assert_allclose(actual, x.sum((0, 2)).reshape(3, 1), 1e-5)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
def test_rf11_topi_cumsum_cumprod(run_te, axis, exclusive):
    x = rng.standard_normal((3, 4)).astype("float32")
    total, product = run_te(
        lambda A: [
            topi.cumsum(A, axis, exclusive=exclusive),
            topi.cumprod(A, axis, exclusive=exclusive),
        ],
        x,
    )
    for actual, reference, start in ((total, np.cumsum, 0), (product, np.cumprod, 1)):
        expected = reference(x, axis)
        if exclusive:
            at = 0 if axis is None else axis
            moved = np.moveaxis(np.roll(expected, 1, at), at, 0)
            moved[0] = start
            expected = np.moveaxis(moved, 0, at)
        np.testing.assert_allclose(actual, expected, 1e-5, 1e-6)


def test_rf11_topi_cumsum_of_another_data_type(run_te):
    x = np.array([True, True, False, True])
    actual = run_te(lambda A: topi.cumsum(A, dtype="int64"), x)
    assert actual.dtype == "int64"
    np.testing.assert_array_equal(actual, [1, 2, 2, 3])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda A: topi.sum(A, 2), "expected axis from -2 to 1, but got 2"),
        (lambda A: topi.sum(A, (0, 0)), "expected each axis once"),
        (lambda A: topi.cumsum(A, 5), "expected axis from -2 to 1, but got 5"),
        (lambda A: topi.collapse_sum(A, (2, 3)), "expected a shape that broadcasts to"),
        (lambda A: topi.collapse_sum(A, (1, 3, 4)), "expected at most 2 dimensions"),
    ],
)
def test_rf11_topi_invalid_axes(make, message):
    with pytest.raises(ValueError, match=message):
        make(te.placeholder((3, 4)))
